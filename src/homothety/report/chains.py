"""What is told of chains: whether they agree, in words and numbers, and what they did sweep by sweep."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from homothety.estimators.sampled import (
    LABEL_FREE,
    MAX_R_HAT,
    MAX_R_HAT_OF_DENSITY,
    MIN_ESS,
    r_hat_limits,
    unstack_traces,
    weights_in_words,
)
from homothety.report.document import Answer, Chart, Section, Table, Text
from homothety.report.downsampling import as_codes, extremes, packed
from homothety.sampling.diagnostics import judge

if TYPE_CHECKING:
    from collections.abc import Mapping

    from homothety.arrays import FloatArray
    from homothety.sampling.diagnostics import Diagnosis, Verdict

QUESTION = "Do the chains agree?"

MAX_BINS = 600  # of a trace
EDGE = 1e-3  # of the range of a trace, to either side, for what is outside of it
MAX_COUNTS = 4  # different numbers named in a sentence

UNKNOWN = Answer(QUESTION, "This is not known.", "pip install 'homothety[diagnostics]' brings what tells it.")
NO_CHAINS = Answer(
    QUESTION, "There are no chains.", "This is one fit by EM, and nothing is known of how sure its answer is."
)
ONE_CHAIN = Answer(
    QUESTION, "This cannot be told.", "There is one chain only, and nothing to compare it with. Run several."
)
CUT_SHORT = "The run was interrupted, and rests on fewer sweeps than asked for."


def is_sampled(model: Any) -> bool:
    """Say whether there are chains to report on."""
    return hasattr(model, "trace_")


def verdict_of(model: Any) -> Verdict | None:
    """Return whether the chains agree; None if what tells it is not installed."""
    try:
        verdict: Verdict = model.diagnose()
    except ImportError:
        return None
    return verdict


def answer(model: Any) -> Answer:
    """Return in plain words whether the chains agree."""
    if not is_sampled(model):
        return NO_CHAINS
    verdict = verdict_of(model)
    found = UNKNOWN if verdict is None else _in_words(verdict, len(model.trace_["log_joint"]))
    parts = [CUT_SHORT] * bool(model.interrupted_) + [found.text, weights_in_words(model)]
    return replace(found, text=" ".join(part for part in parts if part))


def _in_words(verdict: Verdict, n_chains: int) -> Answer:
    if verdict.agree:
        return Answer(QUESTION, "Yes.", _sentence(verdict.text.removeprefix("chains agree: ")))
    if n_chains == 1:
        return ONE_CHAIN
    troubled = [row for row in verdict.table if row.trouble]
    troubles = [_sentence(f"the {LABEL_FREE.get(row.name, row.name)} {row.trouble}") for row in troubled]
    return Answer(QUESTION, "Not yet.", "Another run may say something else: let it run longer.", troubles)


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:].rstrip('.')}."


def counts_in_words(traced: FloatArray, n_burn: int) -> str:
    """Return how many there are in the kept sweeps, the most frequent number first.

    Examples
    --------
    >>> counts_in_words(np.array([[9, 3, 3, 4], [9, 3, 3, 3]]), 1)
    '3 in 83 % and 4 in 17 % of the kept sweeps'
    """
    kept = traced[:, n_burn:]
    found, counts = np.unique(kept[np.isfinite(kept)], return_counts=True)
    order = np.argsort(-counts, kind="stable")
    shares = [f"{found[i]:.0f} in {counts[i] / counts.sum():.0%}".replace("%", " %") for i in order[:MAX_COUNTS]]
    rest = ["others in the rest"] * (len(order) > MAX_COUNTS)
    return f"{' and '.join([', '.join(shares[:-1]), shares[-1]] if len(shares) > 1 else shares)} of the kept sweeps" + (
        f", {rest[0]}" if rest else ""
    )


def section(model: Any) -> Section:
    """Return the part of a page about chains."""
    if not is_sampled(model):
        return Section("chains", "Chains", [Text(f"{NO_CHAINS.short} {NO_CHAINS.text}")])
    n_chains, n_sweeps = model.trace_["log_joint"].shape
    drawn = Chart(
        "traces",
        "traces",
        f"Traces of {n_chains} chains over {n_sweeps} sweeps, one picture for each traced number.",
        f"What the {n_chains} chains did, sweep by sweep; each has its own colour and dashes. The first "
        f"{model.n_burn_} sweeps, shaded, are not kept. Chains that agree are mixed up with each other after these.",
    )
    return Section("chains", "Chains", [drawn, *_tables(model)])


def _tables(model: Any) -> list[Table]:
    found = {row.name: row for row in _diagnoses(model)}
    rows = []
    for name in (name for name in LABEL_FREE if name in model.trace_):
        kept = model.trace_[name][:, model.n_burn_ :]
        means = ", ".join(f"{mean:.4g}" for mean in _means(kept))
        numbers = [_rounded(found[name].r_hat, 3), _rounded(found[name].ess, 0)] if name in found else [None, None]
        rows.append([LABEL_FREE[name], means, *numbers])
    caption = (
        f"Means of every chain over its kept sweeps; R-hat (1 if chains agree; at most {MAX_R_HAT} is fine, and "
        f"{MAX_R_HAT_OF_DENSITY} for the log joint density) and how many independent draws all kept sweeps are worth. "
        "Empty: always the same value, or not known"
    )
    return [Table(caption, ["traced", "mean in each chain", "R-hat", "independent draws"], rows)]


def _diagnoses(model: Any) -> tuple[Diagnosis, ...]:
    """Return what is found of all traced numbers, those too in which chains need not agree."""
    names = [name for name in LABEL_FREE if name in model.trace_]
    traces = unstack_traces(model.trace_, model.n_burn_)
    try:
        return judge(traces, names=names, max_r_hat=r_hat_limits(names), min_ess=MIN_ESS).table
    except ImportError:
        return ()


def _means(kept: FloatArray) -> list[float]:
    return [float(chain[np.isfinite(chain)].mean()) if np.isfinite(chain).any() else np.nan for chain in kept]


def _rounded(value: float, digits: int) -> float | str | None:
    if np.isnan(value):
        return None
    return "infinite" if np.isinf(value) else round(value, digits)


def trace_data(traces: Mapping[str, FloatArray], n_burn: int) -> list[dict[str, Any]]:
    """Return the traces as the script draws them."""
    return [_one_trace(title, traces[name], n_burn) for name, title in LABEL_FREE.items() if name in traces]


def _one_trace(title: str, values: FloatArray, n_burn: int) -> dict[str, Any]:
    """Return one traced number, (n_chains, n_sweeps); what is drawn is the range of all but the first few sweeps.

    Chains start anywhere: drawn over the whole range, all that matters would be a flat line. Numbers outside of it have
    the first or the last code, and all others have none of these two.
    """
    n_sweeps = values.shape[1]
    settled = values[:, min(max(n_burn // 4, 1), n_sweeps - 1) :]
    drawn = float(np.nanmin(settled)), float(np.nanmax(settled))
    edge = EDGE * ((drawn[1] - drawn[0]) or 1.0)
    low, high = drawn[0] - edge, drawn[1] + edge
    size = -(-n_sweeps // MAX_BINS)
    lows, highs = extremes(values.T, size)
    return {
        "title": title,
        "low": low,
        "high": high,
        "drawn": {"low": drawn[0], "high": drawn[1]},
        "sweeps": n_sweeps,
        "burn": n_burn,
        "every": size,
        "chains": [
            {"low": packed(as_codes(least, low, high)), "high": packed(as_codes(most, low, high))}
            for least, most in zip(lows.T, highs.T, strict=True)
        ],
    }
