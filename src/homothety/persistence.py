"""Saving and loading fitted models and results: a zip of one JSON text and plain arrays. Reading one executes nothing.

The file holds class names, constructor parameters, fitted attributes and the version that wrote it. Arrays
are stored in NumPy's own format and read with ``allow_pickle=False``. Only what a fit sets is set, and only
if it is of the right type: `_FITTED` has the names.
"""

from __future__ import annotations

import ast
import importlib
import io
import json
import os
import zipfile
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from homothety._version import __version__
from homothety.archives import array_of, opened_archive, read_member
from homothety.errors import InputError
from homothety.files import printable, written_aside

FORMAT = 3
HEADER = "model.json"
_MAX_DEPTH = 100  # of containers inside each other; models have about 20
_OWN = "checkpoint"  # a parameter that names a folder of this machine, which is of no use elsewhere

# Only these can be in a file; a name in a file is looked up here and nowhere else.
_SAVEABLE = {
    "SPCMMixture": "homothety.estimators.spcm",
    "SimilarityMixture": "homothety.estimators.similarity",
    "CRPMixture": "homothety.estimators.baselines",
    "GMMSelection": "homothety.estimators.baselines",
    "ActionHMM": "homothety.estimators.action_hmm",
    "Blocks": "homothety.models.frames.frames",
    "ChannelBlocks": "homothety.channels",
    "FrameTable": "homothety.summaries.frames",
    "IntervalFactors": "homothety.models.frames.intervals",
    "IBPHMM": "homothety.estimators.hmm",
    "ICSCHMM": "homothety.estimators.hmm",
    "TwoStageHMM": "homothety.estimators.baselines",
    "StickyHDPHMM": "homothety.estimators.hmm",
    "HMMSelection": "homothety.estimators.hmm",
    "SpectralEmbedding": "homothety.estimators.similarity",
    "Embedding": "homothety.covariance.embedding",
    "Landmarks": "homothety.covariance.embedding",
    "SPCMVariant": "homothety.covariance.measures",
    "NIW": "homothety.distributions.niw",
    "NormalGamma": "homothety.distributions.niw",
    "StateModel": "homothety.models.hmm.states",
    "ShapeGrouping": "homothety.models.icsc.grouping",
    "LinkGrouping": "homothety.models.icsc.grouping",
    "PathDraws": "homothety.summaries.paths",
    "BoundaryInterval": "homothety.summaries.paths",
    "Chains": "homothety.summaries.chains",
    "Labels": "homothety.summaries.result",
    "Partition": "homothety.summaries.result",
    "Provenance": "homothety.summaries.result",
    "Segmentation": "homothety.summaries.result",
    "TransformTable": "homothety.summaries.transforms",
    "Preprocessing": "homothety.preprocessing",
    "FittedPreprocessing": "homothety.preprocessing",
}


class Saveable:
    """Estimators that can be written to disk and read back by `load`."""

    def save(self, path: str | Path) -> None:
        """Write the fitted model to one file without pickle; `homothety.load` reads it."""
        check_is_fitted(self)
        write_value(self, Path(path))


def write_value(value: Any, path: Path) -> None:
    """Write a fitted estimator or a result, first aside and then renamed: a full disk never leaves half a file."""
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    header = {"format": FORMAT, "version": __version__, "value": _encode(value, arrays)}
    with written_aside(path) as aside, zipfile.ZipFile(aside, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(HEADER, json.dumps(header, indent=1))
        for name, array in arrays.items():
            buffer = io.BytesIO()
            np.save(buffer, array, allow_pickle=False)
            archive.writestr(name, buffer.getvalue())


def load(path: str | Path) -> Any:
    """Return the fitted model, or the result, that `save` wrote.

    Parameters
    ----------
    path : str or Path

    Raises
    ------
    InputError
        If the file is missing, damaged, or not written by this library.
    """
    path = Path(path)
    try:
        with path.open("rb") as file, opened_archive(file, str(path)) as archive:
            header = json.loads(read_member(archive, HEADER))
            if header["format"] != FORMAT:
                raise InputError(
                    f"{path} has format {header['format']}, this version of homothety reads {FORMAT}. "
                    f"It was written by homothety {header['version']}: use that version, or fit the model again."
                )
            if _is_deep(header, _MAX_DEPTH):
                raise InputError("its parts are too deep inside each other")
            value = _Decoder(archive).decode(header["value"])
    except FileNotFoundError as error:
        raise InputError(f"{path} does not exist. Give the path that was passed to save().") from error
    except MemoryError:
        raise
    except Exception as error:  # a damaged file can make zipfile, json and NumPy raise nearly anything
        reason = printable(" ".join(str(error).split()))
        if isinstance(error, InputError) and str(path) in reason:
            raise
        raise InputError(f"{path} is not a model saved by homothety, or is damaged: {reason.rstrip('.')}.") from error
    return value


def _saveable(name: str) -> Any:
    """Return a class by its name, if it is one of those that can be in a file."""
    if name not in _SAVEABLE:
        raise InputError(f"The file holds a {name!r}; known are {', '.join(sorted(_SAVEABLE))}.")
    return getattr(importlib.import_module(_SAVEABLE[name]), name)


def _encode_model(model: Any, arrays: dict[str, np.ndarray[Any, Any]]) -> dict[str, Any]:
    """Return an estimator as what JSON can hold: its class, its parameters and what a fit has set."""
    fitted = {name: value for name, value in vars(model).items() if name.endswith("_") and not name.startswith("_")}
    parameters = model.get_params(deep=False)
    if _OWN in parameters:
        parameters[_OWN] = None
    return {
        "class": type(model).__name__,
        "parameters": _encode(parameters, arrays),
        "fitted": _encode(fitted, arrays),
    }


def _encode(value: Any, arrays: dict[str, np.ndarray[Any, Any]]) -> Any:
    """Return `value` as what JSON can hold; arrays go into `arrays` and are referred to by name."""
    if isinstance(value, np.ndarray):
        known = (name for name, array in arrays.items() if array is value)  # results share arrays with their models
        name = next(known, f"array-{len(arrays)}.npy")
        arrays[name] = value
        return {"array": name}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, dict) and not all(isinstance(key, str) for key in value):
        return {"items": [[_encode(key, arrays), _encode(item, arrays)] for key, item in value.items()]}
    if isinstance(value, dict):
        return {"dict": {key: _encode(item, arrays) for key, item in value.items()}}
    if _is_row(value):
        parts = {name: _encode(item, arrays) for name, item in value._asdict().items()}
        return {"object": type(value).__name__, "fields": parts}
    if isinstance(value, list) and value and _is_row(value[0]) and len({type(row) for row in value}) == 1:
        columns = zip(*value, strict=True)  # many small objects, such as intervals of changes
        return {"rows": type(value[0]).__name__, "columns": [_encode(list(column), arrays) for column in columns]}
    if isinstance(value, list | tuple):
        return {"list": [_encode(item, arrays) for item in value], "tuple": isinstance(value, tuple)}
    if isinstance(value, Saveable):
        return {"model": _encode_model(value, arrays)}
    if is_dataclass(value) and type(value).__name__ in _SAVEABLE:
        parts = {part.name: _encode(getattr(value, part.name), arrays) for part in fields(value)}
        return {"object": type(value).__name__, "fields": parts}
    if value is None or isinstance(value, str | int | float | bool):
        return value
    raise InputError(
        f"Cannot save a {type(value).__name__} ({value!r}): only numbers, texts, arrays and their containers. "
        "If it is a parameter that is no longer needed, replace it first: model.set_params(random_state=None)."
    )


def _is_row(value: Any) -> bool:
    """Say whether a value is a named tuple that can be in a file."""
    return isinstance(value, tuple) and hasattr(value, "_asdict") and type(value).__name__ in _SAVEABLE


class _Decoder:
    """Undo `_encode`, reading arrays from an open archive."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive

    def decode_model(self, code: dict[str, Any]) -> Any:
        """Return an estimator with the parameters and fitted attributes that the file may set."""
        cls = _saveable(code["class"])
        if not (isinstance(cls, type) and issubclass(cls, Saveable)):
            raise InputError(f"The file holds a {code['class']} in the place of a model.")
        parameters, fitted = self.decode(code["parameters"]), self.decode(code["fitted"])
        types: dict[str, str] = {field.name: str(field.type) for field in fields(cls)} if is_dataclass(cls) else {}
        _check_parts(cls.__name__, parameters, types | {_OWN: "None"})
        _check_parts(cls.__name__, fitted, _FITTED)
        model = cls(**parameters)
        vars(model).update(fitted)
        return model

    def decode(self, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        if "model" in value:
            return self.decode_model(value["model"])
        if "array" in value:
            return array_of(read_member(self._archive, value["array"]), f"array {value['array']!r}")
        if "items" in value:
            return {self.decode(key): self.decode(item) for key, item in value["items"]}
        if "dict" in value:
            return {key: self.decode(item) for key, item in value["dict"].items()}
        if "rows" in value:
            names, columns = _saveable(value["rows"])._fields, [self.decode(column) for column in value["columns"]]
            rows = (dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True))
            return [self._decode_object(value["rows"], row) for row in rows]
        if "list" in value:
            items = [self.decode(item) for item in value["list"]]
            return tuple(items) if value["tuple"] else items
        return self._decode_object(value["object"], {name: self.decode(item) for name, item in value["fields"].items()})

    def _decode_object(self, name: str, parts: dict[str, Any]) -> Any:
        """Return what is no model: a dataclass or named tuple, each part of its type."""
        cls = _saveable(name)
        types: dict[str, Any] = cls.__annotations__
        if is_dataclass(cls):
            types = {field.name: field.type for field in fields(cls)}
        _check_parts(name, parts, {part: getattr(kind, "__forward_arg__", str(kind)) for part, kind in types.items()})
        return cls(**parts)


def _check_parts(owner: str, parts: dict[str, Any], types: dict[str, str]) -> None:
    """Raise for a part that is not in a schema, or is of another type than that says."""
    for name, value in parts.items():
        if name not in types:
            raise InputError(f"The file sets {name!r} of {owner}, which is nothing that a model of homothety has.")
        if not fits(value, types[name]):
            raise InputError(f"The file sets {name} of {owner} to {_described(value)}, needed {types[name]}.")


def _described(value: Any) -> str:
    """Return in a few words what a value is."""
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype}, shape {value.shape}"
    text = repr(value) if value is None or isinstance(value, bool | int | float | str) else ""
    return f"a {type(value).__name__} {text[:40]}".rstrip()


# Types of what is read from files


_ARRAYS = {"IntArray": "iu", "FloatArray": "f", "BoolArray": "b", "ndarray": "biufcUM", "NDArray": "biufcUM"}
_KINDS = {"i": "iu", "f": "f", "b": "b"}  # "f2" is an array of floats with two axes
_NUMBERS = {"int", "float", "bool"}


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


def _is_deep(told: Any, most: int) -> bool:
    """Say whether containers of JSON are nested more than `most` levels deep: decoding them would recurse as deeply."""
    level = [told] if isinstance(told, dict | list) else []
    for _ in range(most):
        level = [item for one in level for item in (one.values() if isinstance(one, dict) else one)]
        level = [item for item in level if isinstance(item, dict | list)]
    return bool(level)


def _is_of(value: Any, name: str) -> bool:
    """Say whether a value is of a type that one word names."""
    if name in _ARRAYS:
        return isinstance(value, np.ndarray) and value.dtype.kind in _ARRAYS[name]
    if len(name) == 2 and name[0] in _KINDS and name[1].isdigit():
        return isinstance(value, np.ndarray) and value.dtype.kind in _KINDS[name[0]] and value.ndim == int(name[1])
    if name in _NUMBERS:  # one written for another is as good; texts and containers are not
        return isinstance(value, bool | int | float) and (name == "float" or float(value).is_integer())
    if name in ("str", "Path"):
        return isinstance(value, str)
    if name in ("list", "tuple", "Sequence"):
        return isinstance(value, list | tuple)
    if name in ("dict", "Mapping"):
        return isinstance(value, dict)
    if name in _CLASSES:
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


_CLASSES = {
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

_FITTED = {
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
