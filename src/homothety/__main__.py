"""Run as ``python -m homothety``."""

import sys

from homothety.cli import main

if __name__ == "__main__":
    sys.exit(main())
