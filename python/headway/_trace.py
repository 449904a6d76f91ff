"""Packet captures as traffic."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import weakref
from collections.abc import Sequence
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

from headway import _html, _native
from headway._errors import CaptureError, ResultsError
from headway._plain import plain
from headway._scenario import Scenario
from headway.units import Quantity

# the largest numbers that the native part takes
_MOST = {"burst": 2**16 - 1, "max_flows": 2**32}


class Trace:
    """Flows of packet captures; made by :func:`trace`. docs/traffic-analysis.md has the definitions.

    Attributes
    ----------
    path : pathlib.Path
        The folder: ``flows.parquet``, ``series.parquet``, ``report.json``, ``sizes.csv``, ``traffic.toml``,
        ``scenario.toml``.
    report : dict
        The numbers, as ``headway trace --json`` prints them; times in ns, sizes in B.
    """

    def __init__(self, path: Path, report: dict[str, Any], *, owned: bool) -> None:
        self.path = path
        self.report = report
        self._remove = weakref.finalize(self, shutil.rmtree, path, ignore_errors=True) if owned else None

    @property
    def warnings(self) -> list[str]:
        """What to look at before one trusts the numbers."""
        return list(self.report["warnings"])

    @property
    def errors(self) -> list[str]:
        """Where files were damaged; what stands before is in the numbers."""
        return list(self.report["errors"])

    @cached_property
    def traffic(self) -> str:
        """The traffic as ``[[traffic]]`` of a scenario, as TOML."""
        return self._text("traffic.toml")

    def scenario(self) -> Scenario:
        """Give a scenario that sends traffic like this.

        Returns
        -------
        Scenario
            To be changed: its network is a guess. Its distributions of sizes are files of the folder, which stays as
            long as the scenario or one made of it by changes is there. A copy in another process, or one made of its
            text, needs `out`.

        Raises
        ------
        CaptureError
            If there are too few flows for one.
        """
        text = self._text("scenario.toml")
        return Scenario(text, str(self.path / "scenario.toml"), str(self.path.absolute()), owner=self)

    def _text(self, name: str) -> str:
        try:
            return (self.path / name).read_text(encoding="utf-8")
        except FileNotFoundError:
            raise CaptureError("the captures have too few flows to make traffic of them") from None

    def __repr__(self) -> str:
        return f"<Trace: {self.report['packets']['all']} packets>"

    def _repr_html_(self) -> str:
        packets = self.report["packets"]
        rows = [(name, str(packets[name])) for name in ("all", "wire_bytes", "tcp", "udp")]
        return _html.facts("captures", rows + [("warning", text) for text in self.warnings[:5]])


def trace(
    files: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    out: str | os.PathLike[str] | None = None,
    idle: str | timedelta | Quantity = "60s",
    short: str | Quantity = "100KB",
    long: str | Quantity = "1MB",
    window: str | timedelta | Quantity = "1ms",
    burst: int = 4,
    interval: str | timedelta | Quantity = "10us",
    host: str | None = None,
    max_flows: int = 1_000_000,
) -> Trace:
    """Read packet captures and tell what traffic is in them, as ``headway trace`` does.

    Parameters
    ----------
    files : path or sequence of paths
        Captures: pcap or pcapng, plain or compressed by gzip or zstd, in order of time.
    out : path or None
        The folder for tables, new or empty; a temporary one, removed with the object and its scenarios, if None.
    idle : time
        A connection that is silent for longer is over.
    short, long : amount
        Flows of up to `short` are short, of more than `long` long.
    window : time
        Flows to one destination that start within it are looked at together.
    burst : int
        Senders in a window that make it a burst, at least 1.
    interval : time
        Of the series.
    host : str or None
        An address by which flows are told apart: to it, from it, others.
    max_flows : int
        The most connections in memory.

    Returns
    -------
    Trace
        Numbers, tables and a scenario.

    Raises
    ------
    CaptureError
        If a file cannot be read.
    ValueError
        If a setting does not fit.
    """
    several = [files] if isinstance(files, str | os.PathLike) else list(files)
    if not several:
        raise ValueError("name at least one capture")
    for name, number in (("burst", burst), ("max_flows", max_flows)):
        if isinstance(number, bool) or not isinstance(number, int):
            raise TypeError(f"{name} is a whole number, not {number!r}")
        if not 1 <= number <= _MOST[name]:
            raise ValueError(f"{name} is from 1 to {_MOST[name]}, unlike {number}")
    paths = [os.fspath(path) for path in several]
    if "-" in paths:
        raise ValueError("captures are files; the standard input is not read")
    owned = out is None
    folder = Path(tempfile.mkdtemp(prefix="headway-")) if out is None else Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise ResultsError(f"{folder} is not empty; name a new or an empty folder", folder)
    except OSError as error:
        raise ResultsError(f"cannot make {folder}: {error.strerror}", folder) from None
    try:
        report = _native.trace(
            paths,
            folder,
            idle=str(plain(idle)),
            short=str(plain(short)),
            long=str(plain(long)),
            window=str(plain(window)),
            burst=burst,
            interval=str(plain(interval)),
            max_flows=max_flows,
            host=host,
        )
    except BaseException:
        if owned:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    return Trace(folder, json.loads(report), owned=owned)
