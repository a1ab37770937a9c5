from __future__ import annotations

import numpy as np
import pytest

from fabricated import make_framed_segmentation, make_recordings
from homothety.errors import InputError
from homothety.viz import plot_aligned


def drawn(ax):
    """All points of all curves, without the dots at the beginnings."""
    curves = [line.get_data_3d() if ax.name == "3d" else line.get_data() for line in ax.lines[:-1]]
    points = np.concatenate([np.stack(curve, axis=1) for curve in curves])
    return points[~np.isnan(points).any(axis=1)]


@pytest.mark.parametrize("n_dims", [2, 3])
def test_recordings_are_drawn_as_recorded_and_in_one_frame(n_dims):
    recordings = make_recordings(n_dims=n_dims)
    model = make_framed_segmentation(recordings)
    recorded, aligned = plot_aligned(model, recordings)
    assert (recorded.get_title(), aligned.get_title()) == ("as recorded", "aligned in one frame")
    assert recorded.name == ("3d" if n_dims == 3 else "rectilinear")
    for ax, steps in ((recorded, recordings.sequences), (aligned, model.aligned(recordings))):
        together = np.concatenate(steps)
        np.testing.assert_allclose(drawn(ax).max(axis=0), together.max(axis=0))
        np.testing.assert_allclose(drawn(ax).min(axis=0), together.min(axis=0))
        assert ax.get_xlabel() == "x"


def test_actions_of_another_number_can_be_drawn():
    recordings = make_recordings()
    model = make_framed_segmentation(recordings)
    _, aligned = plot_aligned(model, recordings, labels=model.actions_at(2))
    assert [text.get_text() for text in aligned.get_legend().get_texts()] == ["0", "1"]


def test_positions_are_found_among_other_channels():
    recordings = make_recordings(n_dims=5)
    model = make_framed_segmentation(recordings)
    assert model.blocks_.kinds == ("point", "plain", "plain")
    recorded, _ = plot_aligned(model, recordings)
    assert recorded.get_zlabel() == "z"
    with pytest.raises(InputError, match="block is 1, but the recordings have 1 position"):
        plot_aligned(model, recordings, block=1)
    with pytest.raises(InputError, match="axes has 1 Axes, needed 2"):
        plot_aligned(model, recordings, axes=[recorded])
