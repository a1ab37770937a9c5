"""Parts of documents (texts, tables, names of charts), and the sections that all documents share."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from homothety.phrases import enumerated
from homothety.summaries.chains import LABEL_FREE, MAX_R_HAT, MAX_R_HAT_OF_DENSITY, troubles_in_words, weights_in_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from homothety.arrays import FloatArray
    from homothety.summaries.chains import Chains
    from homothety.summaries.result import Provenance, Result


@dataclass(frozen=True)
class Answer:
    """A question with its answer in a few words, in sentences, and as a list of points."""

    question: str
    short: str
    text: str = ""
    points: Sequence[str] = ()


@dataclass(frozen=True)
class Text:
    """A paragraph; if `brief`, it is shown on the terminal too."""

    text: str
    brief: bool = False


@dataclass(frozen=True)
class Bullets:
    """A list of sentences."""

    points: Sequence[str]


@dataclass(frozen=True)
class Code:
    """Something to copy."""

    text: str


@dataclass(frozen=True)
class Table:
    """A table.

    Parameters
    ----------
    caption : str
    header : sequence of str
    rows : sequence of sequences
        Texts and numbers; None is an empty cell. The first cell of a row is its header.
    folded : bool
        Whether it is shown only when asked for, under its caption.
    shaded : bool
        Whether numbers from 0 to 1 are also shown by how dark their cell is.
    places : sequence of (recording, start, end) or None, optional
        Where the charts of recordings can show each row, if they do.
    file : str
        Name, without ending, of the file that has all rows; empty if there is none.
    brief : bool
        Whether the table is on the terminal too.
    """

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[Any]]
    folded: bool = False
    shaded: bool = False
    places: Sequence[tuple[int, int, int] | None] | None = None
    file: str = ""
    brief: bool = False


@dataclass(frozen=True)
class Chart:
    """A chart that the script of the HTML page draws.

    Parameters
    ----------
    name : str
        Which part of the data of the document is drawn.
    kind : str
        How: "series", "space", "aligned", "matrix" or "traces".
    label : str
        The same in words, for those who do not see it.
    caption : str
    """

    name: str
    kind: str
    label: str
    caption: str


@dataclass(frozen=True)
class Picture:
    """A picture that is part of the document.

    Parameters
    ----------
    title : str
    source : str
        Address that holds it, of the kind ``data:image/png``.
    label : str
        The same in words, for those who do not see it.
    size : (width, height)
        In any unit that all pictures side by side share.
    letters : tuple of str
        At the left, right, top and bottom edge; empty ones are left out.
    """

    title: str
    source: str
    label: str
    size: tuple[float, float]
    letters: tuple[str, str, str, str] = ("", "", "", "")


@dataclass(frozen=True)
class Pictures:
    """Pictures side by side, to one scale.

    Parameters
    ----------
    pictures : sequence of Picture
    legend : sequence of (name, first color, last color)
        What colours mean. Each is a range between two, written as ``#rrggbb``.
    caption : str
    """

    pictures: Sequence[Picture]
    legend: Sequence[tuple[str, str, str]]
    caption: str


Block: TypeAlias = Text | Bullets | Code | Table | Chart | Pictures


@dataclass(frozen=True)
class Section:
    """A part of a document, by a name that links can lead to."""

    name: str
    title: str
    blocks: Sequence[Block]
    is_first: bool = False
    """Whether a page shows it above the answers."""


@dataclass(frozen=True, repr=False)
class Document:
    """A document about a result: answers, sections and the data of charts.

    Parameters
    ----------
    title : str
        The outcome in one sentence.
    subtitle : str
        What was done, with what and for how long.
    banner : str
        What readers have to know before anything else; empty if there is nothing.
    answers : sequence of Answer
        What most readers want to know first.
    sections : sequence of Section
    data : mapping
        What the charts draw, as what JSON can hold.
    """

    title: str
    subtitle: str
    answers: Sequence[Answer]
    sections: Sequence[Section]
    data: Mapping[str, Any] = field(default_factory=dict)
    banner: str = ""

    def __repr__(self) -> str:
        """Return the title only, because the data of charts are long."""
        return f"<Document: {self.title}>"

    def _repr_html_(self) -> str:
        """Return the answers, for notebooks."""
        answers = "".join(
            f"<li><b>{escape(one.question)}</b> {escape(one.short)} {escape(one.text)}</li>" for one in self.answers
        )
        banner = f"<p><b>{escape(self.banner)}</b></p>" if self.banner else ""
        return f"<p>{escape(self.title)}.</p>{banner}<ul>{answers}</ul>"


# Parts that documents about segmentations and partitions share


MAX_POINTS = 4  # in an answer; the rest is further down
MAX_ROWS = 1000  # of a table of segments or items; the least sure ones come first
_MAX_COUNTS = 4  # different numbers named in a sentence
NOT_KNOWN = ("This is not known.", "The model does not say how sure it is.")

_AGREE = "Do the chains agree?"
_CUT_SHORT = "The run was interrupted, and rests on fewer sweeps than asked for."


def subtitle(result: Result) -> str:
    """Return the subtitle: model, data and time of the fit."""
    made, chains = result.provenance, result.chains
    parts = [f"Source: {made.source}"] * bool(made.source) + [made.model]
    if chains is not None:
        parts.append(f"{chains.n_chains} chains of {chains.n_sweeps} sweeps, {chains.n_kept} kept")
    if made.seconds is not None:
        parts.append(f"{made.seconds:.1f} s")
    seed = "no seed" if made.seed is None else f"seed {made.seed}"
    return "; ".join([*parts, seed, f"homothety {made.versions['homothety']}"]) + "."


def banner_of(result: Result) -> str:
    """Return a warning that the chains do not agree or that the run was interrupted; empty otherwise."""
    chains = result.chains
    if chains is None:
        return ""
    if chains.interrupted:
        return _CUT_SHORT
    if chains.n_chains > 1 and not chains.verdict.agree:
        return "The chains do not agree yet: another run may give another result. What to do is said below."
    return ""


def listing(things: str, count: int, *, by_doubt: bool) -> str:
    """Return the caption of a table that has at most `MAX_ROWS` rows.

    Examples
    --------
    >>> listing("segments", 30, by_doubt=True), listing("segments", 3000, by_doubt=True)
    ('All segments, the least sure first', 'The 1000 least sure segments')
    >>> listing("segments", 3000, by_doubt=False)
    'The first 1000 segments'
    """
    if count <= MAX_ROWS:
        return f"All {things}{', the least sure first' if by_doubt else ''}"
    return f"The {MAX_ROWS} least sure {things}" if by_doubt else f"The first {MAX_ROWS} {things}"


def count_in_words(chains: Chains | None, name: str) -> str:
    """Return the numbers of states, actions or clusters in the kept sweeps, the most frequent first.

    The text is empty if that number is not traced.
    """
    if chains is None or name not in chains.trace:
        return ""
    kept = chains.trace[name][:, chains.n_burn :]
    found, counts = np.unique(kept[np.isfinite(kept)], return_counts=True)
    order = np.argsort(-counts, kind="stable")
    shares = [f"{found[i]:.0f} in {counts[i] / counts.sum():.0%}".replace("%", " %") for i in order[:_MAX_COUNTS]]
    rest = ", others in the rest" if len(order) > _MAX_COUNTS else ""
    return f"Their number is {enumerated(shares)} of the kept sweeps{rest}."


def chains_answer(chains: Chains | None) -> Answer:
    """Return the answer on the agreement of chains, with a remedy if they do not agree."""
    if chains is None:
        return Answer(
            _AGREE, "There are no chains.", "This is one fit by EM: nothing is known of how sure its answer is."
        )
    verdict = chains.verdict
    notes = [_CUT_SHORT] * chains.interrupted
    if verdict.agree:
        said = _sentence(verdict.text.removeprefix("chains agree: "))
        return Answer(_AGREE, "Yes.", " ".join([*notes, said]))
    if int(np.isfinite(chains.trace["log_joint"][:, chains.n_burn :]).any(axis=1).sum()) == 1:
        said = "Only one chain has kept sweeps: there is nothing to compare it with. Run several to their end."
        return Answer(_AGREE, "This cannot be told.", " ".join([*notes, said]))
    points = [_sentence(trouble) for trouble in troubles_in_words(verdict)]
    twice = 2 * chains.n_sweeps
    said = (
        f"Another run may say something else. Run longer: n_sweeps={twice}, or homothety resume with --sweeps {twice}."
    )
    weighted = [weights_in_words(chains)] * bool(weights_in_words(chains))
    return Answer(_AGREE, "Not yet.", " ".join([*notes, said, *weighted]), points)


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:].rstrip('.')}."


def chains_section(chains: Chains | None) -> Section:
    """Return the part of a document about chains."""
    if chains is None:
        return Section("chains", "Chains", [Text(chains_answer(None).text)])
    drawn = Chart(
        "traces",
        "traces",
        f"Traces of {chains.n_chains} chains over {chains.n_sweeps} sweeps, one picture for each traced number.",
        f"The {chains.n_chains} chains, sweep by sweep; each has its own colour and dashes. The first {chains.n_burn} "
        "sweeps, shaded, are not kept. After these, the lines of chains that agree overlap.",
    )
    caption = (
        f"Means of each chain over its kept sweeps, R-hat (1 if chains agree; needed at most {MAX_R_HAT}, and "
        f"{MAX_R_HAT_OF_DENSITY} for the log joint density) and the effective sample size of all chains together. "
        "Empty: always the same value, or not known"
    )
    header = ["traced", "mean in each chain", "R-hat", "effective sample size"]
    return Section("chains", "Chains", [drawn, Table(caption, header, _trace_rows(chains))])


def _trace_rows(chains: Chains) -> list[list[Any]]:
    found, rows = {row.name: row for row in chains.verdict.table}, []
    for name, title in LABEL_FREE.items():
        if name in chains.trace:
            means = ", ".join(f"{mean:.4g}" for mean in _means(chains.trace[name][:, chains.n_burn :]))
            row = found.get(name)
            rows.append(
                [title, means, None if row is None else _number(row.r_hat, 3), _whole(row.ess) if row else None]
            )
    return rows


def _means(kept: FloatArray) -> list[float]:
    return [float(chain[np.isfinite(chain)].mean()) if np.isfinite(chain).any() else np.nan for chain in kept]


def _number(value: float, digits: int) -> float | str | None:
    if np.isnan(value):
        return None
    return "infinite" if np.isinf(value) else round(value, digits)


def _whole(value: float) -> int | None:
    return None if np.isnan(value) else round(value)


def settings_section(made: Provenance, fitted_to: str, preparation: dict[str, Any] | None = None) -> Section:
    """Return the part of a document that says how to repeat the fit."""
    settings = [[name, repr(value)] for name, value in made.settings.items() if name != "preprocessing"]
    blocks: list[Block] = [
        Text(
            "With the same data, settings, seed and versions, the same numbers come out. Settings that are not named "
            "here have their defaults, which are in the table."
        ),
        Code(f"from homothety import {made.model}\n\nmodel = {made.call}\nmodel.fit({fitted_to})"),
        Table(f"Settings of {made.model}", ["setting", "value"], settings, folded=True),
    ]
    if preparation is not None:
        rows = [[name, repr(value)] for name, value in preparation.items()]
        blocks.append(Table("How recordings were prepared", ["setting", "value"], rows, folded=True))
    blocks.append(Table("Versions", ["library", "version"], list(made.versions.items()), folded=True))
    return Section("settings", "How to repeat this run", blocks)
