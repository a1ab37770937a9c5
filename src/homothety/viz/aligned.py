"""Recordings as they were recorded, and in one frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from homothety.errors import InputError
from homothety.sequences import check_sequences
from homothety.viz._channels import axis_names
from homothety.viz._figure import axes_for_dims, legend_beside
from homothety.viz._looks import looks_of
from homothety.viz.trajectories import PANEL, _check_labels, _curve_handles, _draw_curves, _label_dims, _side_by_side
from homothety.words import number_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

N_TICKS = 4  # of each axis, at most: curves are long, and boxes may be narrow
TITLES = ("as recorded", "aligned in one frame")


def plot_aligned(
    model: Any,
    recordings: Any,
    *,
    labels: Any = None,
    block: int = 0,
    channels: Sequence[str] | None = None,
    axes: Sequence[Axes] | None = None,
) -> list[Axes]:
    """Draw recordings as they were recorded, and beside it the same recordings in one frame, coloured by action.

    Parameters
    ----------
    model : ActionHMM
        Fitted.
    recordings : list of array-like of shape (n_steps_i, n_dims)
        What the model was fitted to.
    labels : list of array-like of shape (n_steps_i,), optional
        Action of every step; ``model.actions_`` by default. ``model.actions_at(k)`` has k actions.
    block : int, default=0
        Which of the positions to draw, if the recordings have several.
    channels : sequence of str, optional
        Names of the channels of the recordings; taken from `recordings` if it has names.
    axes : sequence of two Axes, optional
        Where to draw, with ``projection="3d"`` for positions in three dimensions; by default on a new figure.

    Returns
    -------
    axes : list of two Axes
        All axes have one scale. A dot marks where each recording begins.

    Examples
    --------
    >>> from homothety import ActionHMM
    >>> from homothety.datasets import make_demonstrations
    >>> demonstrations = make_demonstrations(0, n_per_frame=1)
    >>> model = ActionHMM(n_chains=1, n_sweeps=10, subsample=10, random_state=0).fit(demonstrations)
    >>> recorded, aligned = plot_aligned(model, demonstrations)
    >>> aligned.get_title()
    'aligned in one frame'
    """
    places = [one for one, kind in enumerate(model.blocks_.kinds) if kind == "point"]
    if not 0 <= block < len(places):
        raise InputError(
            f"block is {block}, but the recordings have {number_of(len(places), 'position')} to draw, counted from 0."
        )
    sequences = check_sequences(recordings, allow_constant=True, min_steps=1)
    columns = list(model.blocks_.channels[places[block]])
    columns_aligned = list(range(*model.blocks_.slices[places[block]].indices(sequences.n_dims)))
    numbers, names = _check_labels(model.actions_ if labels is None else labels, sequences, "labels")
    looks = looks_of(names)
    axes = _side_by_side(2, len(columns)) if axes is None else list(axes)
    if len(axes) != 2:
        raise InputError(f"axes has {len(axes)} Axes, needed 2: as recorded, and aligned.")
    called = axis_names(channels or sequences.channels, columns, sequences.n_dims)
    aligned = check_sequences(model.aligned(recordings), allow_constant=True, min_steps=1)
    for ax, title, drawn, dims in zip(axes, TITLES, (sequences, aligned), (columns, columns_aligned), strict=True):
        axes_for_dims(ax, len(dims), PANEL)
        _draw_curves(ax, drawn, numbers, dims, looks)
        _label_dims(ax, called, "equal")
        ax.locator_params(nbins=N_TICKS)
        ax.set_title(title)
    handles = _curve_handles(numbers, looks)
    legend_beside(axes[1], handles, "action")
    return axes
