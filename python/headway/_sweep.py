"""Sweeps on executors: threads, processes, clusters."""

from __future__ import annotations

import hashlib
import os
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, wait
from contextlib import suppress
from typing import Any, NamedTuple

from headway import _native
from headway._errors import Error
from headway._own import CongestionControl, Judge, policies

Job = tuple[int, int]
"""A run: its cell and its repeat."""

Work = tuple[str, str, list[tuple[str, bytes, bool]], tuple[str, int, tuple[str, str] | None], bool]

Own = tuple[dict[str, type[CongestionControl]], dict[str, type[Judge]]]
"""Controls and judges of the caller, by name: classes are pickled by reference."""

BATCH_S = 0.5
"""A batch takes about so long: sending it then costs little, and losing it as well."""

LARGEST = 256
"""Runs of a batch at most."""

TRIES = 4
"""A batch is given to workers at most so often, if they are lost."""

# what a process knows of the scenarios that it had runs of; the oldest goes first
_workers: OrderedDict[str, tuple[Own | None, _native.Worker]] = OrderedDict()
_MOST_WORKERS = 4


def run_batch(key: str, work: Work, jobs: list[Job], own: Own | None = None) -> tuple[float, list[bytes]]:
    """Do `jobs` here, with the caller's classes: the seconds that they took, and their outcomes.

    `key` is the same for the same `work`.
    """
    began = time.monotonic()
    known, worker = _workers.get(key, (None, None))
    # a class may have been changed under its name
    if worker is None or known != own:
        worker = _native.Worker(work, None if own is None else policies(*own))
        _workers[key] = own, worker
        while len(_workers) > _MOST_WORKERS:
            _workers.popitem(last=False)
    outcomes = [worker.run(cell, repeat) for cell, repeat in jobs]
    return time.monotonic() - began, outcomes


class Place(NamedTuple):
    """Where runs are done."""

    executor: Any
    """Has ``submit``."""

    most: int
    """Batches that it has at a time: more than it has workers."""


def place(given: Any) -> Place:
    """`given` as a place for runs; :class:`TypeError` if it is none."""
    if callable(getattr(given, "get_executor", None)):
        cores = sum(given.ncores().values())
        # every batch anew, also one that was given before
        return Place(given.get_executor(pure=False), 3 * max(cores, 4))
    if isinstance(given, Executor) or callable(getattr(given, "submit", None)):
        workers = getattr(given, "_max_workers", None) or os.cpu_count() or 1
        return Place(given, 3 * max(workers, 4))
    raise TypeError(f"executor is a concurrent.futures.Executor or a Dask client, not {type(given).__name__}")


class Held:
    """A session that can be let go.

    Its folder is in use as long as it is there, and the frames of an exception would keep it.
    """

    def __init__(self, session: _native.Session) -> None:
        self.session = session

    def let_go(self) -> None:
        """Close the folder, which keeps what is complete."""
        del self.session


Batch = Future[tuple[float, list[bytes]]]
"""Runs under way."""


def run_on(where: Place, held: Held, told: Callable[[int, int], object] | None, own: Own | None = None) -> bool:
    """Have the runs that `held` lacks done there; tells `told`. False if that said to stop.

    Whatever a worker's loss takes with it is done again, alone, up to ``TRIES`` times. When it is stopped, no further
    batches begin; `held` gets what was under way, except from Dask, whose futures can always be cancelled.
    """
    executor, most = where
    work = held.session.work()
    key = hashlib.sha256(repr(work).encode()).hexdigest()
    waiting: deque[tuple[Job, int]] = deque((job, 1) for job in held.session.missing())
    flying: dict[Batch, tuple[list[Job], int]] = {}
    size = 1
    goes_on = _tell(told, held)
    try:
        while goes_on and (waiting or flying):
            while waiting and len(flying) < most:
                jobs, tries = _next(waiting, size)
                flying[executor.submit(run_batch, key, work, jobs, own)] = jobs, tries
            done, _ = wait(flying, timeout=0.2, return_when=FIRST_COMPLETED)
            for future in done:
                jobs, tries = flying.pop(future)
                try:
                    seconds, outcomes = future.result()
                except Error:
                    raise
                except (Exception, CancelledError) as lost:
                    if tries >= TRIES or not _is_loss(lost):
                        raise
                    waiting.extendleft((job, tries + 1) for job in reversed(jobs))
                    continue
                for outcome in outcomes:
                    held.session.take(outcome)
                each = max(seconds / len(jobs), 1e-6)
                size = max(1, min(LARGEST, 2 * size, int(BATCH_S / each)))
            if done:
                goes_on = _tell(told, held)
    except BaseException as error:
        # the error says more than a further one on the way out
        with suppress(Exception):
            _land(flying, held, waits=isinstance(error, KeyboardInterrupt))
        raise
    _land(flying, held, waits=True)
    return goes_on


def _land(flying: dict[Batch, tuple[list[Job], int]], held: Held, *, waits: bool) -> None:
    """Cancel batches that have not begun; give `held` those that are complete, and with `waits` those under way."""
    under_way = [future for future in flying if not future.cancel()]
    done, _ = wait(under_way, timeout=None if waits else 0)
    for future in done:
        if not future.cancelled() and future.exception() is None:
            for outcome in future.result()[1]:
                held.session.take(outcome)


def _next(waiting: deque[tuple[Job, int]], size: int) -> tuple[list[Job], int]:
    """Take a batch off `waiting`; a run that was lost goes alone, for it may be the reason."""
    job, tries = waiting.popleft()
    jobs = [job]
    while tries == 1 and waiting and len(jobs) < size and waiting[0][1] == 1:
        jobs.append(waiting.popleft()[0])
    return jobs, tries


def _is_loss(error: BaseException) -> bool:
    """Whether a worker was lost, and others are there: its executor goes on."""
    names = {kind.__name__ for kind in type(error).__mro__}
    return bool(names & {"CancelledError", "KilledWorker", "CommClosedError", "FutureCancelledError"})


def _tell(told: Callable[[int, int], object] | None, held: Held) -> bool:
    return told is None or told(*held.session.counts()) is not False
