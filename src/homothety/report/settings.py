"""What it takes to repeat a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from homothety.report.document import Code, Section, Table, Text

if TYPE_CHECKING:
    from homothety.report.document import Block
    from homothety.report.runs import Run

LEFT_OUT = ("progress", "preprocessing")  # how it was watched; and what has a table of its own


def subtitle(run: Run) -> str:
    """Return what was fitted to what, and for how long."""
    model = run.model
    parts = [f"Source: {run.source}"] * bool(run.source) + [type(model).__name__]
    if hasattr(model, "trace_"):
        parts.append(f"{model.n_chains} chains of {model.n_sweeps_} sweeps, {len(model.draws_)} kept")
    if run.seconds is not None:
        parts.append(f"{run.seconds:.1f} s")
    seed = f"seed {model.random_state}" if model.random_state is not None else "no seed"
    return "; ".join([*parts, seed, f"homothety {run.versions['homothety']}"]) + "."


def section(run: Run, fitted_to: str) -> Section:
    """Return the part of a page that says how to do all this again."""
    model = run.model
    name = type(model).__name__
    blocks: list[Block] = [
        Text(
            "With the same data, settings, seed and versions, the same numbers come out. Settings that are not named "
            "here have their defaults, which are in the table."
        ),
        Code(f"from homothety import {name}\n\nmodel = {model.__repr__(N_CHAR_MAX=10**6)}\nmodel.fit({fitted_to})"),
        Table(f"Settings of {name}", ["setting", "value"], _settings(model), folded=True),
    ]
    prepared = getattr(getattr(model, "segmenter_", model), "preprocessing_", None)
    if prepared is not None:
        rows = [[key, _shown(value)] for key, value in prepared.to_record()["settings"].items()]
        blocks.append(Table("How recordings were prepared", ["setting", "value"], rows, folded=True))
    blocks.append(Table("Versions", ["of", "version"], list(run.versions.items())))
    return Section("settings", "How to repeat this run", blocks)


def _settings(model: Any) -> list[list[str]]:
    return [[name, _shown(value)] for name, value in model.get_params(deep=False).items() if name not in LEFT_OUT]


def _shown(value: Any) -> str:
    return repr(value)
