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
from headway._errors import Interrupted, PolicyError
from headway._own import CongestionControl, Judge, policies
from headway._progress import Meter, listener
from headway._result import Result
from headway._sweep import Held, place, run_on

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
        mode = "resume" if goes_on else "new"
        return _run(source, mode, path, checked, told, verify, own, report=report, owned=None)
    except KeyboardInterrupt as raised:
        if raised.__cause__ is not None:
            raise  # by a callback, whose place its cause names
        raise KeyboardInterrupt(f"what is complete is kept in {path}; resume=True goes on with it") from None


def _run(
    source: _native.Source,
    mode: str,
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
            mode,
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
    resume: bool,
    verify: bool,
    report: bool,
    controls: Mapping[str, type[CongestionControl]] | None = None,
    judges: Mapping[str, type[Judge]] | None = None,
) -> Result:
    """Run `source` on `executor`, or on threads, with the runs that `store` has taken from there."""
    checked = {name: number(name, value) for name, value in settings.items()}
    told = listener(progress)
    # before there is a folder
    given = None if executor is None else place(executor)
    if given is not None and checked["threads"] is not None:
        raise TypeError("threads are of this process; an executor has workers of its own")
    if out is None and resume:
        raise TypeError("resume needs the folder of the interrupted run: out")
    classes = policies(controls, judges)
    own = None if classes is None else (dict(controls or {}), dict(judges or {}))
    owned = Path(tempfile.mkdtemp(prefix="headway-")) if out is None else None
    path = Path(out) if owned is None and out is not None else Path(owned or "") / "results"
    kept = _kept(out, store)
    held: Held | None = None
    try:
        held = Held(
            _native.Session(
                source,
                "resume" if resume and (path / "manifest.json").exists() else "new",
                path,
                seed=checked["seed"],
                repeats=checked["repeats"],
                verify=verify,
                report=report and owned is None,
                store=None if store is None else Path(store),
                command=[],
                own=classes,
            )
        )
        with told if isinstance(told, Meter) else nullcontext():
            if given is None:
                with ThreadPoolExecutor(checked["threads"] or len(os.sched_getaffinity(0))) as threads:
                    whole = run_on(place(threads), held, told, own)
            else:
                whole = run_on(given, held, told, own)
        if not whole:
            done, total = held.session.counts()
            text = f"interrupted after {done} of {total} runs{f'; {kept}' if kept else ''}"
            raise Interrupted(text, done, total, None if owned else path)
        folder, failed = held.session.finish()
    except BaseException as raised:
        if held is not None:
            held.let_go()
        if owned is not None:
            shutil.rmtree(owned, ignore_errors=True)
        if isinstance(raised, KeyboardInterrupt) and not isinstance(raised.__cause__, PolicyError) and kept:
            raise KeyboardInterrupt(kept) from None
        raise
    if failed is not None:
        warnings.warn(f"the results are complete, but have no report: {failed}", RuntimeWarning, stacklevel=3)
    return Result(folder, owned=owned)


def _kept(out: str | os.PathLike[str] | None, store: str | os.PathLike[str] | None) -> str | None:
    """Say where runs are kept of a sweep that is interrupted, if they are."""
    if out is not None:
        return f"what is complete is kept in {os.fspath(out)}; resume=True goes on with it"
    if store is not None:
        return f"what is complete is kept in {os.fspath(store)}; the same call goes on with it"
    return None


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
