"""Work handed to the workers of a dask cluster, or shared out as joblib is told to; else done here, in order.

A cluster is in use inside ``joblib.parallel_config(backend="dask")``, or inside `use_cluster`. Work that is itself done
by a worker stays there: what it consists of is not handed on, so no worker ever waits for another.

Jobs travel together, as bytes that are opened once in each process. The scheduler keeps these bytes, so that work can
be done again whichever worker dies. joblib's own way would send the data along with every job, and lose what it spreads
beforehand with the worker that holds it.
"""

from __future__ import annotations

import platform
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

from homothety._version import __version__
from homothety.errors import ClusterError, InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_Result = TypeVar("_Result")

_PATIENCE = 5.0  # seconds until a scheduler that does not answer is given up


@contextmanager
def use_cluster(address: str, *, patience: float = _PATIENCE) -> Iterator[Any]:
    """Hand all work that can be divided to the workers of a dask cluster, while the context lasts.

    Parameters
    ----------
    address : str
        Of the scheduler, as ``dask scheduler`` prints it: ``tcp://host:8786``.
    patience : float
        Seconds to wait for an answer.

    Yields
    ------
    client : distributed.Client

    Raises
    ------
    InputError
        If nothing answers at the address, or dask is not installed.
    """
    from joblib import parallel_config

    with _connect(address, patience) as client, parallel_config(backend="dask", client=client):
        yield client


def cluster_in_use() -> Any:
    """Return joblib's backend if it is a dask cluster and this is not one of its workers; else None."""
    if "distributed" not in sys.modules:
        return None
    from joblib.parallel import get_active_backend

    backend, _ = get_active_backend()
    return backend if hasattr(backend, "client") and not is_worker() else None


def is_worker() -> bool:
    """Say whether this very call is the work of a dask worker."""
    if "distributed" not in sys.modules:
        return False
    from distributed import get_worker

    try:
        get_worker()
    except ValueError:
        return False
    return True


def n_workers() -> int:
    """Return how much can be done at once in this context: 1 unless it says otherwise."""
    cluster = cluster_in_use()
    if cluster is not None:
        return max(1, sum(cluster.client.nthreads().values()))
    if is_worker() or "joblib" not in sys.modules:  # whoever has set a context has loaded it, which takes a while
        return 1
    from joblib import effective_n_jobs

    return int(effective_n_jobs(None))


def run_all(jobs: Sequence[Callable[[], _Result]]) -> list[_Result]:
    """Return what each of some functions returns."""
    return list(run_in_order(jobs))


def run_in_order(jobs: Sequence[Callable[[], _Result]]) -> Iterator[_Result]:
    """Yield what each of some functions returns, in order: one that is done early is held back."""
    early: dict[int, _Result] = {}
    n_yielded = 0
    for number, result in run_as_completed(jobs):
        early[number] = result
        while n_yielded in early:
            yield early.pop(n_yielded)
            n_yielded += 1


def run_as_completed(jobs: Sequence[Callable[[], _Result]]) -> Iterator[tuple[int, _Result]]:
    """Yield the number of each of some functions and what it returns, in the order they are done.

    Whoever stops listening, or is interrupted, takes the rest of the work back.

    Parameters
    ----------
    jobs : sequence of callable
        What they have in common is sent once, not once for each.

    Raises
    ------
    ClusterError
        If the work, or the scheduler, was lost on the way.
    """
    cluster = cluster_in_use()
    if cluster is not None:
        yield from _run_on(cluster.client, jobs, cluster.submit_kwargs)
    elif n_workers() > 1:
        from joblib import Parallel, delayed

        side_by_side = Parallel(prefer="threads", return_as="generator_unordered")
        yield from side_by_side(delayed(_do_one)(number, job) for number, job in enumerate(jobs))
    else:
        yield from (_do_one(number, job) for number, job in enumerate(jobs))


def run_in_threads(jobs: Sequence[Callable[[], _Result]]) -> list[_Result]:
    """Return what each of some functions returns, which run side by side in threads of this process.

    For compiled work inside a chain, which gives up the interpreter's lock. As many threads as numba would use, that
    is one per core unless its NUMBA_NUM_THREADS says otherwise; one on a dask worker, whose neighbours have work too.
    """
    from numba import get_num_threads

    n_threads = 1 if is_worker() else min(get_num_threads(), len(jobs))
    if n_threads == 1:
        return [job() for job in jobs]
    with ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(_do_this, jobs))


@contextmanager
def listening(handle: Callable[[Any], None]) -> Iterator[str]:
    """Show a function what workers `tell` while the context lasts; yield the topic they have to name."""
    client, topic = cluster_in_use().client, f"homothety-{uuid4().hex}"
    client.subscribe_topic(topic, lambda event: handle(event[1]))
    try:
        yield topic
    finally:
        client.unsubscribe_topic(topic)


def tell(topic: str, news: Any) -> None:
    """Send numbers and texts from a worker to whoever listens; they may come late, or not at all."""
    from distributed import get_worker

    get_worker().log_event(topic, news)


def is_wanted() -> bool:
    """Say whether anybody still waits for what this worker does in this thread."""
    from distributed import get_worker

    worker = get_worker()
    task = worker.state.tasks.get(worker.get_current_task())
    return task is not None and task.state != "cancelled"


class _Parcel:
    """Jobs on their way: bytes between processes, opened once in each.

    Parameters
    ----------
    content : bytes
    version : str
        Of homothety where they were packed: another one might come to other numbers, and nobody would notice.
    """

    def __init__(self, content: bytes, version: str) -> None:
        self.content, self.version = content, version
        self._lock = Lock()
        self._jobs: list[Callable[[], Any]] | None = None

    def __reduce__(self) -> tuple[type[_Parcel], tuple[bytes, str]]:
        # What has been opened may have changed since, and need not be fit to travel.
        return _Parcel, (self.content, self.version)

    def __sizeof__(self) -> int:
        return len(self.content)

    def job(self, number: int) -> Callable[[], Any]:
        """Return one of the jobs."""
        with self._lock:
            if self._jobs is None:
                self._jobs = self._open()
            return self._jobs[number]

    def _open(self) -> list[Callable[[], Any]]:
        from cloudpickle import loads

        if self.version != __version__:
            raise ClusterError(
                f"The worker on {platform.node()} has homothety {__version__}, the work is of homothety "
                f"{self.version}. Install the same version everywhere."
            )
        return list(loads(self.content))


def _run_on(
    client: Any, jobs: Sequence[Callable[[], _Result]], options: dict[str, Any]
) -> Iterator[tuple[int, _Result]]:
    """Have jobs done by the workers of a client."""
    from distributed import as_completed

    numbers: dict[Any, int] = {}
    with _losses_explained():
        parcel = _send(client, jobs)
        try:
            futures = client.map(_do, range(len(jobs)), parcel=parcel, key=_keys("job", len(jobs)), **options)
            numbers = {future: number for number, future in enumerate(futures)}
            del futures  # a result is let go of, here and at its worker, as soon as it has been handed over
            for future in as_completed(list(numbers), loop=client.loop):
                yield numbers.pop(future), future.result()
        finally:
            client.cancel(list(numbers))


@contextmanager
def _losses_explained() -> Iterator[None]:
    """Say in one line what to do about work that a cluster has lost."""
    from concurrent.futures import CancelledError

    from distributed import KilledWorker

    try:
        yield
    except KilledWorker as error:
        raise ClusterError(
            f"Workers died one after the other over the same piece of work: {_one_line(error)} They may have run out "
            "of memory."
        ) from error
    except CancelledError as error:
        raise ClusterError(
            f"The cluster has lost the work: {_one_line(error)} Run it again; chains with a checkpoint go on from "
            "there."
        ) from error


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())


def _send(client: Any, jobs: Sequence[Callable[[], Any]]) -> Any:
    """Send jobs to all workers there are; return the future of the parcel. Waits for the first worker."""
    import dask
    from cloudpickle import dumps

    content = dumps(list(jobs))
    # The warning is about data in a graph, which are sent with every part of it. These are a part of their own.
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": len(content) + 10**7}):
        (parcel,) = client.map(_Parcel, [content], version=__version__, key=_keys("jobs", 1))
    client.replicate([parcel])  # tasks are put where their input is: otherwise all would start out at one worker
    return parcel


def _keys(kind: str, number: int) -> list[str]:
    """Return names of work that no two runs share."""
    run = uuid4().hex
    return [f"homothety-{kind}-{run}-{i}" for i in range(number)]


def _do_this(job: Callable[[], _Result]) -> _Result:
    return job()


def _do_one(number: int, job: Callable[[], _Result]) -> tuple[int, _Result]:
    return number, job()


def _do(number: int, *, parcel: _Parcel) -> Any:
    return parcel.job(number)()


def _connect(address: str, patience: float) -> Any:
    """Return a client of the scheduler at an address."""
    try:
        from distributed import Client
        from distributed.comm import get_address_host_port
    except ImportError as error:
        raise InputError(
            "A cluster needs dask, which is not installed. Install homothety[dask], here and where workers run."
        ) from error
    try:
        get_address_host_port(address)  # a client would choke on what is no address
        return Client(address, timeout=patience, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError(
            f"No dask scheduler answers at {address!r} ({error}). Start one with 'dask scheduler', and give the "
            "address it prints, such as tcp://host:8786."
        ) from error
