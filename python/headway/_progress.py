"""A line that tells how far runs are."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Mapping
from types import TracebackType


class Meter:
    """A line on stderr, drawn anew on a terminal and at most every ten seconds elsewhere."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._told = self._began
        self._drawn = False
        self._counts = (0, 0)
        # complete at the first call: done by an earlier process, which says nothing of this one's speed
        self._earlier: int | None = None

    def __call__(self, done: int, total: int) -> None:
        """Tell that `done` of `total` runs are complete."""
        self._counts = (done, total)
        if self._earlier is None:
            self._earlier = done
        self._tell(f"{done} of {total} runs, {time.monotonic() - self._began:.0f} s", at_once=done == total)

    def within(self, look: Mapping[str, float]) -> None:
        """Tell how far the runs under way are."""
        done, total = self._counts
        passed = min(done + look["passed"], total)
        made = passed - (self._earlier or 0)
        elapsed = time.monotonic() - self._began
        left = f"about {elapsed / made * (total - passed):.0f} s left" if made >= 0.005 else "time left unknown"
        speed = look["packet_hops"] / max(elapsed, 1e-3) / 1e6
        self._tell(
            f"{done} of {total} runs, {elapsed:.0f} s, {left}, at {look['now_s']:.4g} of {look['end_s']:.4g} s, "
            f"{look['flows']:.0f} flows, {speed:.1f} M hops/s"
        )

    def _tell(self, line: str, *, at_once: bool = False) -> None:
        now = time.monotonic()
        if sys.stderr.isatty():
            # a longer line would leave its beginning behind
            columns = shutil.get_terminal_size().columns
            sys.stderr.write(f"\r\x1b[K{line[: columns - 1]}")
            sys.stderr.flush()
            self._drawn = True
        elif now - self._told >= 10 or at_once:
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
