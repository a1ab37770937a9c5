"""Attacks on the library: damaged files, hostile arrays, kills at any moment. Not installed; see SECURITY.md.

``python -m hardening fuzz``, ``chaos`` and ``soak`` are what `make fuzz`, `make chaos` and `make soak` run.
"""
