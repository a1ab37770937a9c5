"""The page paper/results.md: one part for each table or figure; parts that are not computed again stay as they are.

Rows and figures of data whose terms ask for permission before publication (marked with a double dagger) are left out.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from PIL import Image

from paper import convergence, segmentation_convergence, sensitivity, table2, table3, table4

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

    from matplotlib.figure import Figure

    from paper.plan import Report

TABLES: dict[str, ModuleType] = {  # in the order of the page
    "2": table2,
    "3": table3,
    "4": table4,
    "convergence": convergence,
    "segmentation-convergence": segmentation_convergence,
    "sensitivity": sensitivity,
}
UNPUBLISHED = "‡"
RESOLUTION = 150  # dots per inch
MOST_PIXELS, N_COLORS = 1100, 64  # of a picture: a fraction of the size, and no visible difference on a page

INTRODUCTION = """# The paper's tables and figures, again

Written by `make paper` (`python -m paper`). Matrices are clustered by the SPCM-CRP mixture
(`model="links"`); "default" are its settings in this library. Set by set, this is where the numbers differ from the
paper's, and why:

- **Toy 3D and toy 6D.** The same for our method. Of the mixture models it is compared with, the GMM does better here on
  toy 3D than in the paper; the CRP mixture, started from one cluster as there, stays in it more often.
- **The four other similarity functions** do far better with spectral clustering here. The paper does not say how their
  distances became similarities; here
  they are a Gaussian of the distance with the median distance as its width.
- **Task ellipsoids.** Equal within the paper's spread, and better with the default settings.
- **Synthetic diffusion tensors.** Better here. The chains the authors recorded ran on an embedding that had collapsed
  to rounding noise; with one that has not, the five regions are found.
- **ETH-80.** Better in F and in the number of clusters with the default settings; the paper's CRP column holds a score
  of 1.8, which no score can be.
- **Sensitivity.** The score is flat over a wider range of the concentration than in the paper, because a cluster's
  prior is set to the size of the data. That a larger tolerance raises similarities, as the text says, contradicts its
  formula.
- **Convergence.** A sweep takes a hundredth of the time of the authors' program or less. With the default settings
  chains come within 1 % of where they stay in a dozen sweeps; with the published ones, on synthetic diffusion tensors,
  that takes about a hundred, and some chains stay at a lower level.
"""

ON_SEGMENTATION = """\
- **Segmentation.** Table 4 calls its sets by what was recorded; what was run is less. Both are here: the inputs of the
  table, to compare like with like, and the full ones, which are what a user has. Beside the methods stands what calling
  everything one state comes to, since some of these scores flatter it.
"""


def write_part(page: Path, title: str, notes: list[str], report: Report) -> None:
    """Put a table or figure into the page, in the place of the former one; its pictures go to the folder pictures."""
    parts = parts_of(page.read_text(encoding="utf-8")) if page.exists() else {}
    parts[title] = part_of(title, notes, report, page.parent / "pictures")
    introduction = INTRODUCTION + ON_SEGMENTATION * (table4.TITLE in parts)
    ordered = [parts[table.TITLE] for table in TABLES.values() if table.TITLE in parts]
    page.write_text("\n\n".join([introduction, *ordered]), encoding="utf-8")


def parts_of(text: str) -> dict[str, str]:
    """Return what is below each heading of the second level, with the heading, by title."""
    parts = re.split(r"^(?=## )", text, flags=re.MULTILINE)[1:]
    return {part.split("\n", 1)[0].removeprefix("## "): part.strip() + "\n" for part in parts}


def part_of(title: str, notes: list[str], report: Report, folder: Path) -> str:
    """Return the part of the page about a table or figure, without what may not be published, and draw its pictures."""
    lines = re.sub("^#", "##", markdown_of(notes, report), flags=re.MULTILINE).splitlines()
    published = [line for line in lines if UNPUBLISHED not in line]
    blocks = [f"## {title}", "\n".join(published).strip()]
    if len(published) == len(lines):
        for name, draw in report.figures.items():
            write_picture(folder / f"{name}.png", draw())
            blocks.append(f"![{title}]({folder.name}/{name}.png)")
    return "\n\n".join(blocks) + "\n"


def markdown_of(notes: list[str], report: Report) -> str:
    """Return a report below what there is to say of its data."""
    return "\n\n".join([*notes, report.markdown])


def write_picture(path: Path, figure: Figure) -> None:
    """Write a figure no wider than a page, with few colours."""
    path.parent.mkdir(exist_ok=True)
    figure.set_dpi(RESOLUTION)
    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    picture = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
    picture.thumbnail((MOST_PIXELS, MOST_PIXELS))
    picture.quantize(N_COLORS).save(path, optimize=True)
