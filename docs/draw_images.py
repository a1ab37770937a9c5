"""Draw the pictures of README and guide into docs/images. Run: python docs/draw_images.py."""

from __future__ import annotations

import runpy
from itertools import islice
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from homothety import ICSCHMM, SPCMMixture, pairwise_similarity
from homothety.covariance.embedding import count_columns, spectral_embedding
from homothety.covariance.spectra import eigenvalues
from homothety.datasets import make_toy_2d, make_toy_6d, make_wishart_families
from homothety.distributions import NIW
from homothety.models import ddcrp
from homothety.sampling import iterate
from homothety.viz import cluster_colors, plot_coclustering, plot_ellipses, plot_trace, plot_transforms

IMAGES = Path(__file__).parent / "images"
EXAMPLES = Path(__file__).parents[1] / "examples"


def rotated(angle: float, *variances: float) -> np.ndarray:
    """Return a 2 x 2 covariance with the given variances along axes turned by `angle` degrees."""
    cosine, sine = np.cos(np.deg2rad(angle)), np.sin(np.deg2rad(angle))
    axes = np.array([[cosine, -sine], [sine, cosine]])
    return axes @ np.diag(variances) @ axes.T


def draw_ratios() -> Figure:
    """Draw what 'same shape' means: the ratios of the axis lengths of two matrices are all equal, or they are not."""
    first, same, other = rotated(0, 4, 1), rotated(60, 9, 2.25), rotated(20, 9, 8)
    figure = Figure(figsize=(10, 2.4), layout="constrained")
    panels = figure.subplots(1, 4, width_ratios=(2, 1.3, 2, 1.3))
    for ax, second, title in zip(panels[::2], (same, other), ("same shape", "other shape"), strict=True):
        plot_ellipses([first, second], means=[[0, 0], [6, 0]], ax=ax)
        ax.set(title=title, xlabel="", ylabel="", xticks=[], yticks=[], xlim=(-2.5, 9.5))
    for ax, second in zip(panels[1::2], (same, other), strict=True):
        ratios = np.sqrt(eigenvalues([second])[0] / eigenvalues([first])[0])
        ax.bar(["short axis", "long axis"], ratios, color=cluster_colors(2)[1], width=0.5)
        ax.set(title="ratio of axis lengths", ylim=(0, 3.2))
    return figure


def draw_scale() -> Figure:
    """Draw the similarity of two fixed shapes while one of them grows, by every reading of the measure."""
    factors = np.geomspace(0.01, 100, 200)
    first, second = np.diag([1.0, 4.0, 9.0]), np.diag([1.0, 1.0, 4.0])
    ax = Figure(figsize=(6, 3.4), layout="compressed").add_subplot()
    for variant in ("paper", "published", "scale-free", "log"):
        similarity = pairwise_similarity([first], factors[:, None, None] * second, variant=variant)[0]
        ax.semilogx(factors, similarity, label=variant, linewidth=2)
    ax.set(xlabel="size of diag(1, 1, 4) relative to diag(1, 4, 9)", ylabel="similarity", ylim=(0, 1))
    ax.legend(title="variant", frameon=False)
    return ax.figure


def draw_spectrum() -> Figure:
    """Draw the Laplacian eigenvalues of two similarity matrices, and how many columns each rule keeps."""
    sets = {
        "3 shapes, no noise": make_toy_6d(random_state=0),
        "3 shapes, 50 samples per matrix": make_wishart_families(3, 3, dof=50, random_state=1),
    }
    figure = Figure(figsize=(8, 3), layout="compressed")
    for ax, (title, matrices) in zip(figure.subplots(1, 2, sharey=True), sets.items(), strict=True):
        embedding = spectral_embedding(pairwise_similarity(matrices.matrices, variant="log"))
        ax.plot(np.arange(1, 13), embedding.eigenvalues[:12], "o-", color="black", markersize=4)
        for rule, color in zip(("paper", "published", "damped"), cluster_colors(3), strict=True):
            n_kept = count_columns(embedding.eigenvalues, rule)
            shift = {"paper": -0.12, "published": 0.0, "damped": 0.12}[rule]
            ax.axvline(n_kept + 0.5 + shift, color=color, linewidth=2, label=f"{rule}: keeps {n_kept}")
        ax.set(title=title, xlabel="column", ylabel="Laplacian eigenvalue")
        ax.legend(framealpha=1, loc="center right")
    return figure


def draw_links() -> Figure:
    """Draw one state of the chain: who links to whom, and the tables that result."""
    matrices = make_wishart_families(3, 3, n_per_family=6, dof=100, random_state=1).matrices
    similarity = pairwise_similarity(matrices, variant="log")
    points = spectral_embedding(similarity, n_components=3).points
    base = NIW(points.mean(axis=0), 1.0, points.var(axis=0).mean() * np.eye(3), dof=5.0)
    model = ddcrp.Model.from_similarity(points, similarity, base)
    chain = iterate(np.random.default_rng(0), model, ddcrp.init_state(model), ddcrp.default_sweep())
    state, _ = next(islice(chain, 49, None))
    places = ring_around_tables(state.labels)
    ax = Figure(figsize=(6.5, 2.8), layout="compressed").add_subplot()
    for (x, y), target in zip(places, places[state.links], strict=True):
        ax.annotate("", target, (x, y), arrowprops={"arrowstyle": "->", "color": "grey", "shrinkA": 4, "shrinkB": 4})
    ax.scatter(*places.T, c=cluster_colors(state.n_clusters)[state.labels], s=60, zorder=3)
    alone = places[state.links == np.arange(model.n_items)]
    ax.scatter(*alone.T, s=180, facecolors="none", edgecolors="black", label="links to itself")
    ax.set(xticks=[], yticks=[], aspect="equal", ylim=(-1.3, 1.3))
    ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1))
    return ax.figure


def ring_around_tables(labels: np.ndarray) -> np.ndarray:
    """Return a place for each item: those of one table on a circle, tables side by side."""
    places = np.empty((len(labels), 2))
    for table in np.unique(labels):
        angles = np.linspace(0, 2 * np.pi, (labels == table).sum(), endpoint=False)
        places[labels == table] = np.column_stack([np.cos(angles) + 3 * table, np.sin(angles)])
    return places


def draw_posterior() -> Figure:
    """Draw what the posterior says of a noisy set: the number of clusters by chain, and who belongs together."""
    matrices = make_wishart_families(3, 3, dof=30, random_state=0).matrices
    model = SPCMMixture(variant="log", n_sweeps=200, random_state=0).fit(matrices)
    figure = Figure(figsize=(9, 3.2), layout="compressed")
    left, right = figure.subplots(1, 2)
    plot_trace(model.trace_["n_clusters"], n_burn=model.n_burn_, quantity="clusters", ax=left)
    plot_coclustering(model.coclustering_, model.labels_, ax=right)
    return figure


def draw_transforms() -> Figure:
    """Draw how the states of the toy series are turned, resized and moved."""
    toy = make_toy_2d(random_state=0, n_steps=200)
    model = ICSCHMM(n_chains=2, n_sweeps=100, random_state=0).fit(toy.sequences)
    return plot_transforms(model.transforms_)[0].figure


def draw_segment_toy() -> Figure:
    """Draw the figure of an example: a recording in segments."""
    return figure_of_example("segment_toy")


def draw_find_actions() -> Figure:
    """Draw the figure of an example: recordings in three frames, and in one."""
    return figure_of_example("find_actions")


def figure_of_example(name: str) -> Figure:
    """Return the figure that an example shows."""
    mpl.use("agg")
    plt.close("all")
    plt.show = lambda: None
    runpy.run_path(str(EXAMPLES / f"{name}.py"))
    return plt.gcf()


def main() -> None:
    """Draw all pictures."""
    of_guide = (draw_ratios, draw_scale, draw_spectrum, draw_links, draw_posterior, draw_transforms)
    for draw in (*of_guide, draw_segment_toy, draw_find_actions):
        name = draw.__name__.removeprefix("draw_")
        # No date and no version of matplotlib: the same picture is the same file.
        draw().savefig(IMAGES / f"{name}.png", dpi=90, metadata={"Software": None})
        print(f"docs/images/{name}.png")


if __name__ == "__main__":
    main()
