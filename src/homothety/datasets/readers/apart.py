"""Files read in a process of their own, because the libraries that read them can crash, hang or take all memory.

MATLAB's, HDF5's and Parquet's readers are compiled code that one changed byte can crash; others run for ever on files
of two kilobytes. The process that reads has limits of time and memory. It sends back numbers and texts, never
pickles: a process that a hostile file has taken over can send wrong numbers, but execute nothing here.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import warnings
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import fields
from importlib import import_module
from math import prod
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from homothety import errors
from homothety.archives import check_text, in_words, limit_for, memory_limit
from homothety.datasets.sets import MatrixSet, SequenceSet
from homothety.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

SECONDS, _BYTES_PER_SECOND = 8.0, 10**5  # time limit of a file: 8 s, and 1 s more for every 100 kB
_SECONDS_TO_START = 120.0  # time limit for importing the libraries, before a file is read
_MAX_TEXT = 10**8  # bytes of an answer besides its arrays
_PLAIN = "biufcU"  # kinds of arrays that are sent as they are
_BOOT = (
    "import json, sys; sys.path[:] = json.loads(sys.stdin.buffer.readline()); "
    "from homothety.datasets.readers import apart, dispatch; apart.serve(dispatch.read_here)"
)
_SETS: dict[str, Any] = {cls.__name__: cls for cls in (MatrixSet, SequenceSet)}

_reader: ContextVar[Reader | None] = ContextVar("reader", default=None)


@contextmanager
def reading_apart() -> Iterator[Reader]:
    """Give the process that reads files; all that are read while the outermost such context lasts share it."""
    outer = _reader.get()
    if outer is not None:
        yield outer
        return
    reader = Reader()
    token = _reader.set(reader)
    try:
        yield reader
    finally:
        _reader.reset(token)
        reader.close()


class Reader:
    """A process that reads files: started when the first one comes, and again after one that it did not survive."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def read(self, what: str, path: Path, needs: Sequence[str], arguments: Mapping[str, Any]) -> Any:
        """Return what the other process reads, or raise what it raises.

        Parameters
        ----------
        what : str
            Which reader, a name that the other process knows.
        path : Path
        needs : sequence of str
            Modules to import before time is counted.
        arguments : mapping
            Numbers, texts and arrays that the reader takes besides the path.
        """
        n_bytes = _size_of(path)
        seconds, limit = SECONDS + n_bytes / _BYTES_PER_SECOND, limit_for(n_bytes)
        request: dict[str, Any] = {"what": what, "path": os.fspath(path), "needs": list(needs)}
        request |= {"arguments": dict(arguments)}
        request |= {"seconds": seconds, "limit": limit, "cwd": os.getcwd(), "blocked": _blocked()}
        began = time.monotonic()
        try:
            source, sink = self._pipes()
            _send(sink, request)
            with self._killed_after(_SECONDS_TO_START):
                _receive(source, _MAX_TEXT)
            began = time.monotonic()
            with self._killed_after(seconds):
                answer = _receive(source, limit)
        except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
            is_late = time.monotonic() - began >= seconds
            reason = f"took more than {seconds:.0f} s" if is_late else f"crashed, or needed more than {in_words(limit)}"
            self.close()
            raise InputError(
                f"{path} cannot be read: the program for such files {reason}. The file is damaged or hostile, or very "
                "large: export it again, or raise the limit of memory with --max-memory."
            ) from error
        except BaseException:  # an interrupt leaves half an answer in the pipe
            self.close()
            raise
        return _outcome(answer, path, limit)

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            for pipe in (process.stdin, process.stdout):
                with suppress(OSError):
                    pipe.close()  # type: ignore[union-attr]
            process.wait()

    def _pipes(self) -> tuple[BinaryIO, BinaryIO]:
        """Return where answers come from and requests go to, of a process that is started if there is none."""
        if self._process is None or self._process.poll() is not None:
            self.close()
            # With -P, nothing is imported from the folder that happens to be the current one.
            command = [sys.executable, "-P", "-c", _BOOT]
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
            self._process.stdin.write(json.dumps(sys.path).encode() + b"\n")  # type: ignore[union-attr]
        return self._process.stdout, self._process.stdin  # type: ignore[return-value]

    @contextmanager
    def _killed_after(self, seconds: float) -> Iterator[None]:
        """End the process if it has not answered by then: whoever waits for it finds the end of the file."""
        timer = Timer(seconds, self._process.kill)  # type: ignore[union-attr]
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()


def _size_of(path: Path) -> int:
    """Return the bytes of a file, or of all files in a folder."""
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(one.stat().st_size for one in files if one.is_file())


def _blocked() -> list[str]:
    """Return the modules that must not be imported in this process, so that they are not in the other one either."""
    return [name for name, module in list(sys.modules.items()) if module is None]


def _outcome(answer: Mapping[str, Any], path: Path, limit: int) -> Any:
    """Issue the warnings of an answer, and return or raise what it holds."""
    try:
        for category, text in answer["warnings"]:
            warnings.warn(text, _named(category, Warning, UserWarning), stacklevel=5)
        if "error" not in answer:
            return _SETS[answer["set"]](**answer["fields"])
        kind, text, named = str(answer["error"]), str(answer["text"]), map(str, answer["parameters"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{path} cannot be read: the program for such files answers nonsense.") from error
    if kind == "MemoryError":
        raise InputError(
            f"{path} cannot be read: that takes more than {in_words(limit)} of memory. If you trust the file, "
            "allow more with --max-memory."
        )
    raise ImportError(text) if kind == "ImportError" else _named(kind, InputError, InputError)(text, *named)


def _named(name: str, base: type[Any], otherwise: type[Any]) -> type[Any]:
    """Return a class of this library by its name, if it is of a kind."""
    found = getattr(errors, name, None)
    return found if isinstance(found, type) and issubclass(found, base) else otherwise


# --- in the other process ---------------------------------------------------------------------------------------------


def serve(read: Callable[[str, Path, Mapping[str, Any]], Any]) -> None:
    """Read files as asked for on stdin, until there is nobody to ask."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever asks hears of it, and ends this process
    source, sink = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what libraries print is no answer
    while True:
        try:
            request = _receive(source, sys.maxsize)
        except EOFError:
            return
        os.chdir(request["cwd"])
        before = {name: sys.modules.pop(name, None) for name in request["blocked"]}
        sys.modules.update(dict.fromkeys(request["blocked"]))
        for name in request["needs"]:
            with suppress(ImportError):  # the reader says what is missing
                import_module(name)
        _send(sink, {})
        _limit_resources(request["seconds"], request["limit"])
        _send(sink, _answer(read, request))
        _limit_resources(None, None)
        for name, module in before.items():
            del sys.modules[name]
            if module is not None:
                sys.modules[name] = module


def _answer(read: Callable[[str, Path, Mapping[str, Any]], Any], request: dict[str, Any]) -> dict[str, Any]:
    """Return what was read, or what was wrong, with the warnings on the way."""
    with warnings.catch_warnings(record=True) as caught, memory_limit(request["limit"]):
        warnings.simplefilter("always")
        answer: dict[str, Any]
        try:
            found = read(request["what"], Path(request["path"]), request["arguments"])
            parts = {field.name: getattr(found, field.name) for field in fields(found)}
            answer = {"set": type(found).__name__, "fields": parts}
        except (InputError, ImportError, MemoryError) as error:
            answer = {"error": type(error).__name__, "text": str(error), "parameters": getattr(error, "parameters", ())}
        except RecursionError as error:
            answer = {"error": "InputError", "text": f"{request['path']} cannot be read: {error}.", "parameters": ()}
    own = [(one.category.__name__, str(one.message)) for one in caught if hasattr(errors, one.category.__name__)]
    return answer | {"warnings": own}


def _limit_resources(seconds: float | None, n_bytes: int | None) -> None:
    """Limit the time and memory of this process from now on, or lift the limits; where there are such limits."""
    try:
        import resource
    except ImportError:  # Windows has none: the time alone is limited there, by whoever asks
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    now = used.ru_utime + used.ru_stime
    _limit(resource, resource.RLIMIT_CORE, 0)
    _limit(resource, resource.RLIMIT_CPU, None if seconds is None else int(now + 2 * seconds) + 1)
    statm = Path("/proc/self/statm")
    if statm.exists():
        taken = int(statm.read_text().split()[0]) * resource.getpagesize()
        _limit(resource, resource.RLIMIT_AS, None if n_bytes is None else taken + n_bytes)


def _limit(resource: Any, kind: int, value: int | None) -> None:
    """Set a soft limit, as far as the hard one allows."""
    _, hard = resource.getrlimit(kind)
    if value is None or (hard != resource.RLIM_INFINITY and value > hard) or value > 2**62:
        value = hard
    with suppress(OSError, ValueError):
        resource.setrlimit(kind, (value, hard))


# --- messages: a text in JSON, then the bytes of all arrays in turn ---------------------------------------------------


def _send(sink: BinaryIO, value: Any) -> None:
    """Send numbers, texts, arrays and their containers."""
    arrays: list[NDArray[Any]] = []
    text = json.dumps(_encode(value, arrays)).encode()
    sink.write(len(text).to_bytes(8, "big") + text)
    for array in arrays:
        sink.write(array.reshape(-1).view(np.uint8).data)
    sink.flush()


def _receive(source: BinaryIO, limit: int) -> Any:
    """Return what was sent, or raise EOFError if nothing more comes and ValueError if it is more than `limit` bytes."""
    n_text = int.from_bytes(_exactly(source, 8), "big")
    if n_text > max(limit, _MAX_TEXT):
        raise ValueError(f"a text of {n_text} bytes")
    return _decode(json.loads(_exactly(source, n_text)), source, limit)


def _exactly(source: BinaryIO, n_bytes: int) -> bytes:
    content = source.read(n_bytes)
    if len(content) < n_bytes:
        raise EOFError("nothing more comes")
    return content


def _encode(value: Any, arrays: list[NDArray[Any]]) -> Any:
    """Return a value as what JSON can hold; arrays go to the end of a list, in the order in which they are met."""
    if isinstance(value, np.ndarray) and value.dtype.kind in _PLAIN:
        arrays.append(np.ascontiguousarray(value))
        return {"array": value.dtype.str, "shape": list(value.shape)}
    if isinstance(value, np.ndarray):
        return {"objects": [_encode(item, arrays) for item in value.ravel()], "shape": list(value.shape)}
    if isinstance(value, np.generic):
        return _encode(value.item(), arrays)
    if isinstance(value, list | tuple):
        return {"items": [_encode(item, arrays) for item in value], "tuple": isinstance(value, tuple)}
    if isinstance(value, dict):
        return {"dict": {key: _encode(item, arrays) for key, item in value.items()}}
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _decode(code: Any, source: BinaryIO, limit: int) -> Any:
    if not isinstance(code, dict):
        return code
    if "array" in code:
        return _array(np.dtype(code["array"]), code["shape"], source, limit)
    if "objects" in code:
        array = np.empty(len(code["objects"]), dtype=object)
        array[:] = [_decode(item, source, limit) for item in code["objects"]]
        return array.reshape(code["shape"])
    if "items" in code:
        items = [_decode(item, source, limit) for item in code["items"]]
        return tuple(items) if code["tuple"] else items
    return {key: _decode(item, source, limit) for key, item in code["dict"].items()}


def _array(dtype: np.dtype[Any], shape: list[int], source: BinaryIO, limit: int) -> NDArray[Any]:
    """Return the next array of a message."""
    if dtype.kind not in _PLAIN or min(shape, default=0) < 0 or prod(shape) * dtype.itemsize > limit:
        raise ValueError(f"an array of {dtype}, shape {shape}")
    array = np.empty(shape, dtype)
    view = array.reshape(-1).view(np.uint8).data
    n_read = 0
    while n_read < len(view):
        n_more = source.readinto(view[n_read:])  # type: ignore[attr-defined]
        if not n_more:
            raise EOFError("nothing more comes")
        n_read += n_more
    check_text(array, "an array")
    return array
