"""Figures written to files."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from matplotlib.backends.backend_agg import FigureCanvasAgg

from homothety.files import written_aside

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure

RESOLUTION = 150  # dots per inch


def write_figure(path: Path, figure: Figure) -> None:
    """Write a figure as PNG, and close it."""
    figure.set_dpi(RESOLUTION)
    canvas: Any = FigureCanvasAgg(figure)
    with written_aside(path) as aside:
        canvas.print_png(aside)  # savefig would draw twice to lay out once
    if "matplotlib.pyplot" in sys.modules:  # only then does anything else hold on to it
        sys.modules["matplotlib.pyplot"].close(figure)
