"""Fixtures for pictures: nothing is shown, and what can be read is measured."""

from __future__ import annotations

import sys
from itertools import combinations

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg

mpl.use("Agg")


@pytest.fixture(autouse=True)
def close_figures():
    """Close what pyplot holds, if another test has loaded it."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture
def partition(rng):
    """Return a function that makes labels of `n_clusters` clusters of very different sizes, none of them empty."""

    def draw(n_clusters: int, n_items: int):
        shares = rng.dirichlet(np.full(n_clusters, 0.7))
        labels = np.concatenate([np.arange(n_clusters), rng.choice(n_clusters, n_items - n_clusters, p=shares)])
        return rng.permutation(labels)

    return draw


@pytest.fixture
def assert_legible():
    """Return a function that fails if texts of a figure overlap or leave it, or a legend lies on its Axes."""

    def check(figure):
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        axes = figure.findobj(Axes)
        texts = {text: text.get_window_extent(canvas.get_renderer()) for ax in axes for text in visible_texts(ax)}
        for text, box in texts.items():
            assert figure.bbox.x0 - 1 <= box.x0, f"{text} is cut off on the left"
            assert box.x1 <= figure.bbox.x1 + 1, f"{text} is cut off on the right"
            assert figure.bbox.y0 - 1 <= box.y0, f"{text} is cut off below"
            assert box.y1 <= figure.bbox.y1 + 1, f"{text} is cut off above"
        for (text, box), (other, other_box) in combinations(texts.items(), 2):
            assert not overlap(box, other_box), f"{text} and {other} overlap"
        for ax in axes:
            if ax.get_legend() is not None:
                assert not overlap(ax.get_legend().get_window_extent(canvas.get_renderer()), ax.get_window_extent())

    return check


def visible_texts(ax):
    """All texts of an Axes that are drawn: names, numbers along the axes, what is in it and in its legend."""
    texts = [ax.title, ax.xaxis.label, ax.yaxis.label, *ax.texts]
    for axis in (ax.xaxis, ax.yaxis):
        low, high = sorted(axis.get_view_interval())
        for tick in axis.get_major_ticks() + axis.get_minor_ticks():
            if low <= tick.get_loc() <= high:
                texts += [tick.label1, tick.label2]
    if ax.get_legend() is not None:
        texts += [*ax.get_legend().get_texts(), ax.get_legend().get_title()]
    return [text for text in texts if text.get_visible() and text.get_text().strip()]


def overlap(box, other, slack: float = 1.0) -> bool:
    """Whether two boxes share more than a rim of `slack` pixels."""
    width = min(box.x1, other.x1) - max(box.x0, other.x0)
    height = min(box.y1, other.y1) - max(box.y0, other.y0)
    return width > slack and height > slack
