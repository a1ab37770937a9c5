"""Pictures of clusterings, segmentations and actions: functions that draw on matplotlib Axes and return them.

Functions that plot take ``ax=`` and make a figure of their own where none is given. They show no window, write no file
and leave matplotlib's settings as they are; `write_figure` writes a figure as PNG. A cluster has the same colour in all
figures, see `cluster_colors`. Legends and colour bars stand beside the Axes: for Axes of your own, make the figure with
``layout="compressed"``, which leaves room for them.
"""

try:
    import matplotlib as _matplotlib  # noqa: F401
except ImportError as error:
    raise ImportError(
        "homothety.viz draws with matplotlib, which is not installed. Run: pip install homothety[plot]",
        name="matplotlib",
    ) from error

from homothety.palette import cluster_colors
from homothety.viz._figures import write_figure
from homothety.viz.covariances import plot_ellipses, plot_ellipsoids, plot_spectra
from homothety.viz.fields import plot_label_comparison, plot_label_image
from homothety.viz.matrices import plot_coclustering, plot_embedding, plot_heatmap, plot_similarity
from homothety.viz.segments import (
    match_truth,
    plot_actions,
    plot_change_probability,
    plot_paths,
    plot_segmentation,
    plot_segments,
)
from homothety.viz.states import plot_coaction, plot_features, plot_state_ellipses, plot_transforms, plot_transitions
from homothety.viz.traces import plot_trace, plot_traces
from homothety.viz.trajectories import plot_aligned, plot_trajectories, plot_trajectory

__all__ = [
    "cluster_colors",
    "match_truth",
    "plot_actions",
    "plot_aligned",
    "plot_change_probability",
    "plot_coaction",
    "plot_coclustering",
    "plot_ellipses",
    "plot_ellipsoids",
    "plot_embedding",
    "plot_features",
    "plot_heatmap",
    "plot_label_comparison",
    "plot_label_image",
    "plot_paths",
    "plot_segmentation",
    "plot_segments",
    "plot_similarity",
    "plot_spectra",
    "plot_state_ellipses",
    "plot_trace",
    "plot_traces",
    "plot_trajectories",
    "plot_trajectory",
    "plot_transforms",
    "plot_transitions",
    "write_figure",
]
