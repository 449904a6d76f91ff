"""Results of runs."""

from __future__ import annotations

import json
import os
import shutil
import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from headway import _html, _native
from headway._errors import ResultsError
from headway._table import Table


@dataclass(frozen=True)
class Estimate:
    """A mean over repeats.

    Attributes
    ----------
    value : float or None
        In s, bit/s, or without a unit; None if it fell among unfinished flows.
    low, high : float or None
        The ends of its 95 % interval; None with one repeat, and where all repeats gave the same.
    repeats : int
        Repeats that gave a value.
    """

    value: float | None
    low: float | None
    high: float | None
    repeats: int


@dataclass(frozen=True)
class Published:
    """What the source of a scenario printed.

    Attributes
    ----------
    text : str
        For people: a number with its unit and where it stands, or words.
    value : float or None
        The number in s, bit/s, or without a unit, if it is one.
    """

    text: str
    value: float | None


@dataclass(frozen=True)
class Case:
    """A claim at a sweep point.

    Attributes
    ----------
    point : str
        The point, such as ``"senders = 4"``; empty without a sweep.
    held : bool
        Whether the claim holds there.
    numbers : str
        What was compared, for people.
    first : Estimate
        The value that the claim is about.
    second : Estimate or None
        What it was compared with, if the claim compares two.
    published : tuple of Published
        What the source printed for this point, if that is another value at each.
    suspect : bool
        Whether the published table marks that value as doubtful; then the claim is not judged by it.
    """

    point: str
    held: bool
    numbers: str
    first: Estimate
    second: Estimate | None
    published: tuple[Published, ...]
    suspect: bool


@dataclass(frozen=True)
class Claim:
    """A claim of the scenario, held against the results.

    Attributes
    ----------
    text : str
        The claim.
    held : bool
        Whether it holds at every point that judges it.
    known : str or None
        Why it is known not to hold, if it is.
    published : tuple of Published
        What the source printed, if that is the same at all points.
    skipped_points : int
        Points that it is also about and that were not run.
    cases : tuple of Case
        The points one by one.
    """

    text: str
    held: bool
    known: str | None
    published: tuple[Published, ...]
    skipped_points: int
    cases: tuple[Case, ...]


class Result:
    """The results of a run, in a folder; see docs/results.md for its files.

    Tables are read from the folder when they are first asked for.

    Parameters
    ----------
    path : path
        The folder.
    owned : path or None
        A folder to remove with this object.

    Raises
    ------
    ResultsError
        If it is no folder of results, or is damaged.
    Interrupted
        If the run in it was not finished.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        owned: Path | None = None,
    ) -> None:
        self._folder = _native.Folder(path)
        self._path = Path(path)
        self._remove = None if owned is None else weakref.finalize(self, shutil.rmtree, owned, ignore_errors=True)

    @property
    def path(self) -> Path:
        """The folder."""
        return self._path

    @property
    def temporary(self) -> bool:
        """Whether the folder is removed with this object."""
        return self._remove is not None and self._remove.alive

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """``manifest.json``: version, seed, repeats, cells, machine, times, totals of each run."""
        manifest: dict[str, Any] = json.loads(self._folder.manifest())
        return manifest

    @property
    def name(self) -> str:
        """The scenario's name."""
        return str(self.manifest["scenario"])

    @property
    def policies(self) -> list[str]:
        """Names of the policies, in the scenario's order."""
        return list(dict.fromkeys(cell["policy"] for cell in self.manifest["cells"]))

    @property
    def sweep(self) -> dict[str, list[str]]:
        """The values of every swept name as text, in order."""
        values: dict[str, dict[str, None]] = {}
        for cell in self.manifest["cells"]:
            for parameter in cell["sweep"]:
                values.setdefault(parameter["name"], {})[parameter["text"]] = None
        return {name: list(texts) for name, texts in values.items()}

    @property
    def warnings(self) -> list[str]:
        """What to look at before one trusts the results."""
        return list(self.manifest["warnings"])

    @property
    def left_out_claims(self) -> list[str]:
        """Texts of claims that changes left without a policy or a point."""
        return list(self.manifest.get("not_evaluated", []))

    @cached_property
    def claims(self) -> list[Claim]:
        """The scenario's claims with their verdicts."""
        try:
            return [_claim(claim) for claim in self.manifest["claims"] or []]
        except (KeyError, TypeError) as error:
            raise ResultsError(f"{self._path / 'manifest.json'} is damaged: claims: {error!r}", self._path) from None

    @cached_property
    def scenario_toml(self) -> str:
        """``scenario.toml``, the scenario as it was run; :func:`headway.load` reads it from the folder."""
        try:
            return (self._path / "scenario.toml").read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ResultsError(f"cannot read {self._path / 'scenario.toml'}: {error}", self._path) from None

    @cached_property
    def flows(self) -> Table:
        """One row a flow: policy, sweep, repeat, traffic, sizes (B), times (ps)."""
        return Table(self._folder.table("flows.parquet"))

    @cached_property
    def series(self) -> Table:
        """One row a sample: policy, sweep, repeat, ``time_ps``, ``entity``, ``metric`` (its unit last), ``value``."""
        return Table(self._folder.table("series.parquet"))

    @cached_property
    def links(self) -> Table:
        """One row a link and step of time: what it sent, queued and dropped.

        Raises
        ------
        ResultsError
            If the run kept none.
        """
        return Table(self._folder.table("links.parquet"))

    @cached_property
    def paths(self) -> Table:
        """One row a path of a connection: the nodes that it passed, forth and back.

        Raises
        ------
        ResultsError
            If the run kept none.
        """
        return Table(self._folder.table("paths.parquet"))

    @cached_property
    def summary(self) -> Table:
        """One row for each policy, sweep point, traffic and metric: ``value`` in ``unit``, with its 95 % interval."""
        return Table(self._folder.summary())

    @cached_property
    def commands(self) -> Table:
        """One row for each program that a host ran; none without programs."""
        return Table(self._folder.commands())

    def report(self, path: str | os.PathLike[str] | None = None) -> Path:
        """Write the report: one page for a browser, which needs no network.

        Parameters
        ----------
        path : path or None
            The file; ``report.html`` in the folder if None.

        Returns
        -------
        pathlib.Path
            The file.

        Raises
        ------
        ResultsError
            If a table is damaged, or the file cannot be written.
        """
        return report([self], self._path / "report.html" if path is None else path)

    def keep(self, path: str | os.PathLike[str]) -> Result:
        """Copy the folder.

        Parameters
        ----------
        path : path
            A folder that is not there yet.

        Returns
        -------
        Result
            Of the copy, which is not temporary.

        Raises
        ------
        ResultsError
            If something is there already, or it cannot be written.
        """
        try:
            shutil.copytree(self._path, path)
        except OSError as error:
            raise ResultsError(f"cannot copy {self._path} to {os.fspath(path)}: {error}", path) from None
        return Result(path)

    def __reduce__(self) -> tuple[Callable[[str], Result], tuple[str]]:
        if self.temporary:
            raise TypeError("a temporary result cannot be pickled: run with out=, or keep() it first")
        return open, (str(self._path.absolute()),)

    def __repr__(self) -> str:
        rows = len(self.manifest["cells"]) * int(self.manifest["repeats"])
        where = "a temporary folder" if self.temporary else str(self._path)
        return f"<Result of {self.name}: {rows} runs, in {where}>"

    def _repr_html_(self) -> str:
        manifest = self.manifest
        points = len(manifest["cells"]) // max(len(self.policies), 1)
        size = f"{len(self.policies)} policies × {points} points × {manifest['repeats']} repeats"
        held = sum(claim.held for claim in self.claims)
        rows = [
            ("size", size),
            ("seed", f"{manifest['seed']}{', quick' if manifest['quick'] else ''}"),
            ("version", str(manifest["version"])),
            ("took", f"{manifest['wall_s']:.1f} s"),
            ("folder", "temporary" if self.temporary else str(self._path)),
        ]
        if self.claims:
            rows.append(("claims", f"{held} of {len(self.claims)} held"))
        rows += [("warning", text) for text in self.warnings[:5]]
        return _html.facts(self.name, rows) + self.summary._repr_html_()


def report(results: Iterable[Result | str | os.PathLike[str]], path: str | os.PathLike[str]) -> Path:
    """Write one report over several results, side by side.

    Parameters
    ----------
    results : iterable of Result or path
        Results or their folders; at least one.
    path : path
        The file to write.

    Returns
    -------
    pathlib.Path
        The file.

    Raises
    ------
    ResultsError
        If a folder is none of results or damaged, or the file cannot be written.
    """
    if isinstance(results, str | os.PathLike | Result):
        raise TypeError("results is a sequence; a Result has report()")
    # a temporary result takes its folder with it
    results = list(results)
    folders = [one.path if isinstance(one, Result) else Path(one) for one in results]
    if not folders:
        raise ValueError("a report is of at least one result")
    _native.report(folders, path)
    return Path(path)


def _claim(claim: dict[str, Any]) -> Claim:
    cases = tuple(
        Case(
            point=case["point"],
            held=case["held"],
            numbers=case["numbers"],
            first=_estimate(case["first"]),
            second=_estimate(case["second"]) if case["second"] else None,
            published=_published(case["published"]["printed"]) if case["published"] else (),
            suspect=bool(case["published"] and case["published"]["suspect"]),
        )
        for case in claim["cases"]
    )
    return Claim(
        text=claim["text"],
        held=claim["held"],
        known=claim["known"],
        published=_published(claim["published"]),
        skipped_points=claim["skipped_points"],
        cases=cases,
    )


def _estimate(estimate: dict[str, Any]) -> Estimate:
    return Estimate(estimate["value"], estimate["ci95_low"], estimate["ci95_high"], estimate["repeats"])


def _published(printed: list[dict[str, Any]]) -> tuple[Published, ...]:
    return tuple(Published(one["text"], one["value"]) for one in printed)


def open(path: str | os.PathLike[str]) -> Result:  # noqa: A001 # as headway.open
    """Open a folder of results that is there.

    Parameters
    ----------
    path : path
        The folder, as ``headway run --out`` or :meth:`Scenario.run` made it.

    Returns
    -------
    Result
        Its tables are read when they are asked for.

    Raises
    ------
    ResultsError
        If it is no folder of results, or is damaged.
    Interrupted
        If the run in it was not finished.
    """
    return Result(path)
