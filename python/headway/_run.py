"""Runs of scenarios into folders."""

from __future__ import annotations

import os
import shutil
import tempfile
import warnings
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path

from headway import _native
from headway._errors import Interrupted
from headway._own import CongestionControl, Judge, policies
from headway._progress import Meter, listener
from headway._result import Result
from headway._sweep import run_on

# the largest numbers that the native part takes
_MOST = {"seed": 2**64 - 1, "repeats": 100_000, "threads": 4096}


def run_scenario(
    source: _native.Source,
    out: str | os.PathLike[str] | None,
    settings: Mapping[str, int | None],
    *,
    progress: bool | Callable[[int, int], object] | None,
    resume: bool,
    verify: bool,
    report: bool,
    own: _native.Policies | None = None,
) -> Result:
    """Run `source` into `out`, or into a temporary folder that the result owns."""
    checked = {name: number(name, value) for name, value in settings.items()}
    told = listener(progress)
    if out is None:
        if resume:
            raise TypeError("resume needs the folder of the interrupted run: out")
        parent = tempfile.mkdtemp(prefix="headway-")
        try:
            return _run(
                source, "new", Path(parent) / "results", checked, told, verify, own, report=False, owned=Path(parent)
            )
        except Interrupted as stopped:
            shutil.rmtree(parent, ignore_errors=True)
            raise Interrupted(str(stopped), stopped.done, stopped.total) from None
        except BaseException:
            shutil.rmtree(parent, ignore_errors=True)
            raise
    path = Path(out)
    goes_on = resume and (path / "manifest.json").exists()
    try:
        place = "resume" if goes_on else "new"
        return _run(source, place, path, checked, told, verify, own, report=report, owned=None)
    except KeyboardInterrupt as raised:
        if raised.__cause__ is not None:
            raise  # by a callback, whose place its cause names
        raise KeyboardInterrupt(f"what is complete is kept in {path}; resume=True goes on with it") from None


def _run(
    source: _native.Source,
    place: str,
    path: Path,
    settings: Mapping[str, int | None],
    told: Meter | Callable[[int, int], object] | None,
    verify: bool,
    own: _native.Policies | None,
    *,
    report: bool,
    owned: Path | None,
) -> Result:
    with told if isinstance(told, Meter) else nullcontext():
        folder, failed = _native.run(
            source,
            place,
            path,
            seed=settings["seed"],
            repeats=settings["repeats"],
            threads=settings["threads"],
            verify=verify,
            report=report,
            command=[],
            progress=told,
            own=own,
        )
    if failed is not None:
        warnings.warn(f"the results are complete, but have no report: {failed}", RuntimeWarning, stacklevel=4)
    return Result(folder, owned=owned)


def sweep_scenario(
    source: _native.Source,
    out: str | os.PathLike[str] | None,
    settings: Mapping[str, int | None],
    *,
    progress: bool | Callable[[int, int], object] | None,
    executor: object,
    store: str | os.PathLike[str] | None,
    controls: Mapping[str, type[CongestionControl]] | None = None,
    judges: Mapping[str, type[Judge]] | None = None,
) -> Result:
    """Run `source` on `executor`, or on threads, with the runs that `store` has taken from there."""
    checked = {name: number(name, value) for name, value in settings.items()}
    told = listener(progress)
    classes = policies(controls, judges)
    own = None if classes is None else (dict(controls or {}), dict(judges or {}))
    owned = Path(tempfile.mkdtemp(prefix="headway-")) if out is None else None
    path = Path(out) if owned is None and out is not None else Path(owned or "") / "results"
    try:
        session = _native.Session(
            source,
            "new",
            path,
            seed=checked["seed"],
            repeats=checked["repeats"],
            verify=False,
            report=owned is None,
            store=None if store is None else Path(store),
            command=[],
            own=classes,
        )
        with told if isinstance(told, Meter) else nullcontext():
            if executor is None:
                with ThreadPoolExecutor(checked["threads"]) as threads:
                    whole = run_on(threads, session, told, own)
            else:
                whole = run_on(executor, session, told, own)
        if not whole:
            done, total = session.counts()
            raise Interrupted(f"interrupted after {done} of {total} runs", done, total, None if owned else path)
        folder, failed = session.finish()
    except BaseException:
        if owned is not None:
            shutil.rmtree(owned, ignore_errors=True)
        raise
    if failed is not None:
        warnings.warn(f"the results are complete, but have no report: {failed}", RuntimeWarning, stacklevel=3)
    return Result(folder, owned=owned)


def number(name: str, value: int | None) -> int | None:
    """Check the setting `name`: a whole number in its range, or None."""
    if value is None:
        return None
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} is a whole number, not {value!r}")
    number = value.__index__()
    least = 0 if name == "seed" else 1
    if not least <= number <= _MOST[name]:
        raise ValueError(f"{name} is from {least} to {_MOST[name]}, unlike {number}")
    return number
