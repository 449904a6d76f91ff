"""A line that tells how far runs are."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType


class Meter:
    """A line on stderr, drawn anew on a terminal and at most every ten seconds elsewhere."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._told = self._began
        self._drawn = False

    def __call__(self, done: int, total: int) -> None:
        """Tell that `done` of `total` runs are complete."""
        now = time.monotonic()
        line = f"{done} of {total} runs, {now - self._began:.0f} s"
        if sys.stderr.isatty():
            sys.stderr.write(f"\r\x1b[K{line}")
            sys.stderr.flush()
            self._drawn = True
        elif now - self._told >= 10 or done == total:
            self._told = now
            sys.stderr.write(f"{line}\n")

    def __enter__(self) -> Meter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def listener(
    progress: bool | Callable[[int, int], object] | None,
) -> Meter | Callable[[int, int], object] | None:
    """Give what is called with the numbers of runs."""
    if progress is None or progress is False:
        return None
    if progress is True:
        return Meter()
    if not callable(progress):
        raise TypeError(f"progress is True, False or a function of two numbers, not {progress!r}")
    return progress
