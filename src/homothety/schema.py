"""Types of what is read from files, written as annotations are: whether a value is of such a type."""

from __future__ import annotations

import ast
from functools import cache
from typing import Any

import numpy as np

ARRAYS = {"IntArray": "iu", "FloatArray": "f", "BoolArray": "b", "ndarray": "biufcUM", "NDArray": "biufcUM"}
KINDS = {"i": "iu", "f": "f", "b": "b"}  # "f2" is an array of floats with two axes
NUMBERS = {"int", "float", "bool"}


def fits(value: Any, annotation: str) -> bool:
    """Say whether a value is of the type that an annotation names; names that are not known here say nothing.

    Parameters
    ----------
    value : object
    annotation : str
        Such as ``"float | None"``, ``"list[IntArray]"``, ``"tuple[int, ...]"``, or ``"f2"`` for an array of floats with
        two axes.

    Examples
    --------
    >>> fits([1, 2], "list[int]"), fits(np.zeros(3), "f1 | None"), fits("x", "float | Literal['x']"), fits(1.5, "int")
    (True, True, True, False)
    """
    return _fits(value, _parsed(annotation))


@cache
def _parsed(annotation: str) -> ast.expr:
    return ast.parse(annotation, mode="eval").body


def _fits(value: Any, node: ast.expr) -> bool:
    if isinstance(node, ast.BinOp):
        return _fits(value, node.left) or _fits(value, node.right)
    if isinstance(node, ast.Subscript):
        inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return _is_filled(value, ast.unparse(node.value), inner)
    if isinstance(node, ast.Constant):
        return value is None if node.value is None else bool(type(value) is type(node.value) and value == node.value)
    return _is_of(value, ast.unparse(node).rpartition(".")[2])


def is_deep(told: Any, most: int) -> bool:
    """Say whether more than so many containers of JSON are inside each other: what shows them could not go so deep."""
    level = [told] if isinstance(told, dict | list) else []
    for _ in range(most):
        level = [item for one in level for item in (one.values() if isinstance(one, dict) else one)]
        level = [item for item in level if isinstance(item, dict | list)]
    return bool(level)


def _is_of(value: Any, name: str) -> bool:
    """Say whether a value is of a type that one word names."""
    if name in ARRAYS:
        return isinstance(value, np.ndarray) and value.dtype.kind in ARRAYS[name]
    if len(name) == 2 and name[0] in KINDS and name[1].isdigit():
        return isinstance(value, np.ndarray) and value.dtype.kind in KINDS[name[0]] and value.ndim == int(name[1])
    if name in NUMBERS:  # one written for another is as good; texts and containers are not
        return isinstance(value, bool | int | float) and (name == "float" or float(value).is_integer())
    if name in ("str", "Path"):
        return isinstance(value, str)
    if name in ("list", "tuple", "Sequence"):
        return isinstance(value, list | tuple)
    if name in ("dict", "Mapping"):
        return isinstance(value, dict)
    if name in CLASSES:
        return name in {cls.__name__ for cls in type(value).__mro__}
    return True


def _is_filled(value: Any, name: str, inner: list[ast.expr]) -> bool:
    """Say whether a value is such a container of what stands in brackets."""
    if name == "Literal":
        return any(_fits(value, one) for one in inner)
    if not _is_of(value, name):
        return False
    if name in ("list", "Sequence") or (name == "tuple" and ast.unparse(inner[-1]) == "..."):
        return all(_fits(item, inner[0]) for item in value)
    if name == "tuple":
        return len(value) == len(inner) and all(map(_fits, value, inner))
    if name in ("dict", "Mapping"):
        return all(_fits(key, inner[0]) and _fits(item, inner[1]) for key, item in value.items())
    return True


CLASSES = {
    "Blocks",
    "BoundaryInterval",
    "Chains",
    "ChannelBlocks",
    "Embedding",
    "FittedPreprocessing",
    "FrameTable",
    "IntervalFactors",
    "Labels",
    "Landmarks",
    "NIW",
    "NormalGamma",
    "Partition",
    "PathDraws",
    "Preprocessing",
    "Provenance",
    "SPCMVariant",
    "Saveable",
    "Segmentation",
    "StateModel",
    "TransformTable",
}
"""Classes of saved models that annotations name."""

FITTED = {
    "bandwidth_": "float | None",
    "base_": "NIW | NormalGamma",
    "basis_": "f2",
    "block_weights_": "f1",
    "blocks_": "ChannelBlocks",
    "cluster_sizes_": "i1",
    "clusters_": "list[NIW | NormalGamma]",
    "covariances_": "f3",
    "criteria_": "f1 | dict[int, float]",
    "eigenvalues_": "f1",
    "embedding_": "f2",
    "fit_score_": "float",
    "fit_score_spread_": "float",
    "has_path_": "bool",
    "interval_factors_": "IntervalFactors",
    "landmarks_": "Landmarks | None",
    "least_looks_": "int",
    "least_steps_": "int | str",
    "line_axes_": "f2",
    "matrices_": "f3",
    "means_": "f2",
    "middle_orientations_": "list[ndarray]",
    "model_": "str",
    "n_components_": "int",
    "n_features_in_": "int",
    "order_": "i1",
    "origin_": "f1",
    "paths_": "list[i1]",
    "place_mean_": "f2",
    "place_spread_": "f1",
    "prepared_blocks_": "Blocks",
    "recordings_digest_": "str",
    "reference_middle_": "f1",
    "representatives_": "f2",
    "represented_": "i1",
    "result_": "Partition | Segmentation",
    "sample_": "i1",
    "segmenter_": "Saveable",
    "similarity_": "f2",
    "solver_": "str",
    "spans_": "tuple[int, ...]",
    "spectral_": "Embedding | None",
    "step_weight_": "float",
    "weights_": "f1",
}
"""What a fit may set, by name, and its type: nothing else is read from the file of a model."""
