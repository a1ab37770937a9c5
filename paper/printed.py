"""What the paper printed, to be set beside what is measured here.

N. Figueroa and A. Billard, "Transform-Invariant Non-Parametric Clustering of Covariance Matrices and its Application
to Unsupervised Joint Segmentation and Action Discovery". Cells are text as printed: mean (standard deviation) of ten
runs. Rows and columns stand as in the paper, so that they can be proofread against it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeAlias

# Text of a cell by (data set, method, metric).
Cells: TypeAlias = Mapping[tuple[str, str, str], str]

METRICS = ("NMI", "purity", "F", "K")
SEGMENTATION_METRICS = ("Hamming", "GCE", "VI", "purity", "NMI", "F", "K", "K_Z")
AT_MOST_ONE = ("Hamming", "GCE", "purity", "NMI", "F")
MEASURES = ("airm", "lerm", "kldm", "jbld", "bspcm")


def _read_table(text: str, columns: tuple[str, ...]) -> Cells:
    """Return the cells of a table written as lines of "set | row | one cell per column", without the empty ones (-)."""
    cells = {}
    for line in text.strip().splitlines():
        name, row, *values = (cell.strip() for cell in line.split("|"))
        pairs = zip(columns, values, strict=True)
        cells.update({(name, row, column): value for column, value in pairs if value != "-"})
    return MappingProxyType(cells)


def _read_cells(text: str, methods: tuple[str, ...]) -> Cells:
    """Return the cells of a table that has a row per metric and a column per method."""
    cells = _read_table(text, methods)
    return MappingProxyType({(name, method, metric): value for (name, metric, method), value in cells.items()})


TABLE_2 = _read_cells(
    """
    toy-3d|NMI   |0.65|0.65|0.65|0.65|1.00|0.29 (0.1) |0.26 (0.09)|0.26 (0.09)|0.28 (0.09)|1.00
    toy-3d|purity|1.00|1.00|1.00|1.00|1.00|0.77 (0.11)|0.66 (0.10)|0.66 (0.10)|0.68 (0.10)|1.00
    toy-3d|F     |0.57|0.57|0.57|0.57|1.00|0.70 (0.09)|0.66 (0.08)|0.66 (0.08)|0.68 (0.09)|1.00
    toy-3d|K     |5   |5   |5   |5   |2   |2          |2          |2          |2          |2
    toy-6d|NMI   |0.19|0.19|0.19|0.19|0.40|0.12 (0.03)|0.14 (0.03)|0.10 (0.03)|0.12 (0.08)|1.00
    toy-6d|purity|0.55|0.55|0.55|0.55|0.63|0.39 (0.02)|0.40 (0.02)|0.39 (0.03)|0.40 (0.06)|1.00
    toy-6d|F     |0.58|0.58|0.58|0.58|0.68|0.49       |0.49       |0.49 (0.01)|0.51 (0.05)|1.00
    toy-6d|K     |2   |2   |2   |2   |2   |3          |3          |3          |3          |3
    task  |NMI   |0.73|0.73|0.73|0.73|0.64|1.00       |0.03       |0.07 (0.04)|1.00       |0.77 (0.07)
    task  |purity|0.79|0.79|0.79|0.79|1.00|1.00       |0.60       |0.60       |1.00       |0.82 (0.04)
    task  |F     |0.85|0.85|0.85|0.85|0.53|1.00       |0.58       |0.55 (0.02)|1.00       |0.84 (0.05)
    task  |K     |2   |2   |2   |2   |11  |3          |3          |3          |3          |3
    dti   |NMI   |0.56|0.56|0.56|0.56|0.62|0.12 (0.10)|0.25 (0.20)|0.14 (0.07)|0.08 (0.02)|0.46 (0.19)
    dti   |purity|0.55|0.55|0.55|0.55|0.55|0.32 (0.02)|0.40 (0.10)|0.35 (0.04)|0.32 (0.01)|0.53 (0.11)
    dti   |F     |0.58|0.58|0.58|0.58|0.59|0.38 (0.03)|0.46 (0.09)|0.40 (0.04)|0.37       |0.53 (0.10)
    dti   |K     |2   |2   |2   |2   |2   |5          |5          |5          |5          |5
    rat   |NMI   |0.17|0.15|0.00|0.20|0.23|0.08 (0.14)|0.05 (0.01)|0.03       |0.03 (0.01)|0.02
    rat   |purity|0.41|0.42|0.33|0.44|0.49|0.36 (0.09)|0.35 (0.01)|0.33       |0.34       |0.33
    rat   |F     |0.43|0.42|0.43|0.46|0.52|0.45 (0.07)|0.43       |0.43       |0.43       |0.43
    rat   |K     |2   |3   |1   |2   |2   |4          |4          |4          |4          |4
    """,
    tuple(f"{algorithm}-{measure}" for algorithm in ("ap", "sc") for measure in MEASURES),
)
"""Table 2: similarity functions with affinity propagation ("ap") and spectral clustering ("sc")."""

DAMPING = MappingProxyType({"toy-3d": 0.15, "toy-6d": 0.5, "task": 0.5, "dti": 0.5, "rat": 0.5})
"""Table 2, first column: damping factor of affinity propagation."""

TABLE_3 = _read_cells(
    """
    toy-3d | NMI    | 0.807 (0.018) | 0.298 (0.316) | 1.00
    toy-3d | purity | 1.00          | 0.74 (0.135)  | 1.00
    toy-3d | F      | 0.877 (0.006) | 0.738 (0.111) | 1.00
    toy-3d | K      | 3             | 1.8 (0.789)   | 2
    toy-6d | NMI    | 1.00          | 0.633 (0.342) | 1.00
    toy-6d | purity | 1.00          | 0.633 (0.189) | 1.00
    toy-6d | F      | 1.00          | 0.744 (0.146) | 1.00
    toy-6d | K      | 3             | 1.900 (0.568) | 3
    task   | NMI    | 0.893 (0.129) | 0.599 (0.417) | 0.984 (0.050)
    task   | purity | 0.952 (0.080) | 0.759 (0.126) | 0.980 (0.063)
    task   | F      | 0.943 (0.100) | 0.794 (0.151) | 0.987 (0.042)
    task   | K      | 3             | 1.800 (0.632) | 2.900 (0.316)
    dti    | NMI    | 0.804         | 0.640 (0.089) | 0.730 (0.102)
    dti    | purity | 0.701         | 0.536 (0.087) | 0.620 (0.105)
    dti    | F      | 0.750         | 0.536 (0.087) | 0.679 (0.097)
    dti    | K      | 3             | 2.200 (0.422) | 2.700 (0.675)
    rat    | NMI    | 0.585         | 0.502 (0.197) | 0.633 (0.039)
    rat    | purity | 0.696         | 0.652 (0.137) | 0.745 (0.036)
    rat    | F      | 0.705         | 0.502 (0.197) | 0.740 (0.046)
    rat    | K      | 3             | 3.100 (0.994) | 4.600 (0.699)
    eth80  | NMI    | 0.541         | 1.800 (0.632) | 0.486 (0.091)
    eth80  | purity | 0.325         | 0.214 (0.061) | 0.265 (0.038)
    eth80  | F      | 0.441         | 0.338 (0.080) | 0.386 (0.038)
    eth80  | K      | 3             | 1.800 (0.632) | 2.889 (0.333)
    """,
    ("gmm", "crp", "spcm"),
)
"""Table 3: mixtures on the spectral embedding; "spcm" is the paper's own approach."""

TABLE_4 = _read_table(
    """
    toy-2d  | hmm       | 0.385 (0.016) | 0.026 (0.082) | 1.025 (0.229) | 0.977 (0.074) | 0.679 (0.109) | 0.752 (0.041) | 4          | -
    toy-2d  | hdp       | 0.379 (0.000) | 0.000 (0.001) | 0.956 (0.006) | 1.000 (0.000) | 0.713 (0.002) | 0.765 (0.000) | 4          | -
    toy-2d  | ibp       | 0.379 (0.000) | 0.000 (0.000) | 0.953 (0.000) | 1.000 (0.000) | 0.714 (0.000) | 0.765 (0.000) | 4          | -
    toy-2d  | two-stage | 0.000 (0.000) | 0.000 (0.000) | 0.000 (0.000) | 1.000 (0.000) | 1.000 (0.000) | 1.000 (0.000) | 4 (0.0)    | 2 (0.0)
    toy-2d  | icsc      | 0.000 (0.000) | 0.000 (0.000) | 0.000 (0.000) | 1.000 (0.000) | 1.000 (0.000) | 1.000 (0.000) | 4 (0.0)    | 2 (0.0)
    grating | hmm       | 0.542 (0.009) | 0.215 (0.022) | 1.827 (0.043) | 0.874 (0.015) | 0.318 (0.037) | 0.596 (0.010) | 5          | -
    grating | hdp       | 0.299 (0.190) | 0.150 (0.029) | 1.213 (0.403) | 0.908 (0.023) | 0.502 (0.092) | 0.766 (0.119) | 4.7 (0.8)  | -
    grating | ibp       | 0.336 (0.170) | 0.094 (0.029) | 1.208 (0.364) | 0.940 (0.024) | 0.573 (0.066) | 0.769 (0.100) | 5.1 (1.28) | -
    grating | two-stage | 0.122 (0.044) | 0.107 (0.045) | 0.755 (0.114) | 0.897 (0.050) | 0.572 (0.203) | 0.879 (0.059) | 5.1 (1.28) | 3.0 (0.94)
    grating | icsc      | 0.126 (0.075) | 0.108 (0.031) | 0.751 (0.231) | 0.918 (0.022) | 0.633 (0.069) | 0.890 (0.039) | 4.6 (1.07) | 3.4 (1.07)
    rolling | hmm       | 0.463 (0.036) | 0.188 (0.024) | 1.897 (0.108) | 0.865 (0.031) | 0.547 (0.026) | 0.667 (0.036) | 6          | -
    rolling | hdp       | 0.630 (0.039) | 0.176 (0.037) | 2.611 (0.144) | 0.874 (0.031) | 0.497 (0.027) | 0.525 (0.038) | 11.9 (1.59)| -
    rolling | ibp       | 0.587 (0.046) | 0.224 (0.022) | 2.507 (0.141) | 0.838 (0.022) | 0.471 (0.021) | 0.555 (0.038) | 9.5 (1.5)  | -
    rolling | two-stage | 0.362 (0.106) | 0.226 (0.161) | 1.586 (0.514) | 0.687 (0.071) | 0.473 (0.109) | 0.699 (0.093) | 9.5 (1.5)  | 3.1 (1.6)
    rolling | icsc      | 0.354 (0.083) | 0.180 (0.099) | 1.367 (0.298) | 0.673 (0.050) | 0.489 (0.102) | 0.713 (0.076) | 9.3 (1.05) | 3.0 (1.15)
    peeling | hmm       | 0.514 (0.030) | 0.400 (0.005) | 2.452 (0.087) | 0.673 (0.003) | 0.420 (0.009) | 0.545 (0.039) | 6          | -
    peeling | hdp       | 0.453 (0.055) | 0.386 (0.045) | 2.306 (0.228) | 0.670 (0.018) | 0.392 (0.042) | 0.612 (0.054) | 6.3 (0.95) | -
    peeling | ibp       | 0.413 (0.026) | 0.390 (0.019) | 2.492 (0.071) | 0.712 (0.017) | 0.413 (0.019) | 0.640 (0.018) | 8.4 (0.89) | -
    peeling | two-stage | 0.397 (0.126) | 0.206 (0.154) | 1.853 (0.329) | 0.633 (0.138) | 0.385 (0.207) | 0.649 (0.112) | 8.4 (0.89) | 4.8 (1.92)
    peeling | icsc      | 0.390 (0.088) | 0.211 (0.108) | 1.913 (0.183) | 0.640 (0.090) | 0.375 (0.126) | 0.647 (0.070) | 6.4 (1.26) | 4.2 (1.31)
    """,  # noqa: E501
    SEGMENTATION_METRICS,
)
"""Table 4: segmentations; "two-stage" is the IBP-HMM with its states clustered afterwards, "icsc" the coupled model."""

SECONDS = MappingProxyType({"toy-6d": (0.234, 0.055, 28.0), "task": (0.706, 0.106, 53.0), "dti": (69.2, 2.70, 1416.0)})
"""Time of the first sweep, of a later one and of 500, by data set.

Not printed: from the recordings behind the figure of sampler tests, on an Intel Core i7-3770.
"""

SEGMENTATION_SECONDS = MappingProxyType({"toy-2d": "630 ms", "grating-7d": "500 to 1100 ms"})
"""Time of an iteration of the authors' coupled sampler, by data set; not printed, and run again under GNU Octave."""


def cell_value(text: str) -> float:
    """Return the mean in a printed cell.

    Examples
    --------
    >>> cell_value("0.807 (0.018)")
    0.807
    """
    return float(text.split()[0])


def is_impossible(metric: str, text: str) -> bool:
    """Say whether a printed cell cannot be right: scores are at most one; numbers of clusters and VI are not.

    Examples
    --------
    >>> is_impossible("NMI", "1.800 (0.632)"), is_impossible("K", "1.800 (0.632)")
    (True, False)
    """
    return metric in AT_MOST_ONE and cell_value(text) > 1
