"""Colours and names of the clusters in a label image, as viewers of brain images read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from homothety.files import write_text
from homothety.palette import cluster_colors
from homothety.phrases import cluster_number

if TYPE_CHECKING:
    from pathlib import Path

FSLEYES_TABLE, FREESURFER_TABLE = "labels.lut", "labels_lut.txt"


def write_lookup_tables(folder: Path, n_clusters: int) -> list[str]:
    """Write the lookup tables of a label image into a folder, and return the names of the files.

    Parameters
    ----------
    folder : Path
    n_clusters : int
        Clusters have the colours of the report.

    Returns
    -------
    names : list of str
        ``labels.lut`` for FSLeyes, ``labels_lut.txt`` for FreeSurfer and MRtrix.
    """
    write_text(folder / FSLEYES_TABLE, fsleyes_table(n_clusters))
    write_text(folder / FREESURFER_TABLE, freesurfer_table(n_clusters))
    return [FSLEYES_TABLE, FREESURFER_TABLE]


def fsleyes_table(n_clusters: int) -> str:
    """Return a lookup table of FSLeyes: value, red, green and blue from 0 to 1, name.

    Examples
    --------
    >>> print(fsleyes_table(2), end="")
    1 0.90196 0.62353 0.00000 cluster-1
    2 0.33725 0.70588 0.91373 cluster-2
    """
    return "".join(
        f"{cluster_number(label)} {red:.5f} {green:.5f} {blue:.5f} {_name(label)}\n"
        for label, (red, green, blue) in enumerate(cluster_colors(n_clusters).tolist())
    )


def freesurfer_table(n_clusters: int) -> str:
    """Return a colour table of FreeSurfer: value, name, red, green, blue and transparency from 0 to 255.

    The last column is 0 (not transparent) in all rows, as in FreeSurfer's own table.

    Examples
    --------
    >>> print(freesurfer_table(2), end="")
    0 background 0 0 0 0
    1 cluster-1 230 159 0 0
    2 cluster-2 86 180 233 0
    """
    rows = [
        f"{cluster_number(label)} {_name(label)} {red:.0f} {green:.0f} {blue:.0f} 0\n"
        for label, (red, green, blue) in enumerate((255 * cluster_colors(n_clusters)).tolist())
    ]
    return "".join(["0 background 0 0 0 0\n", *rows])


def _name(label: int) -> str:
    return f"cluster-{cluster_number(label)}"  # without a space, which would end the name
