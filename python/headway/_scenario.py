"""Scenarios: read, built, changed, checked."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from headway import _html, _native, records
from headway._errors import ScenarioError
from headway._own import CongestionControl, Judge, policies
from headway._plain import Plain, inline, plain, whole
from headway._run import number, run_scenario, sweep_scenario
from headway._topology import Topology

if TYPE_CHECKING:
    from headway._result import Result

_BUNDLED: dict[str, str] = dict(_native.bundled())

#: A scenario has at most so many bytes of text, as the command's.
_LARGEST = 4_000_000


class _Changes(NamedTuple):
    """Changes to a text, as the command line's options make them."""

    sets: tuple[str, ...] = ()
    policies: tuple[str, ...] = ()
    hosts: str | None = None
    kernel: str | None = None
    quick: bool = False


class Scenario:
    """A scenario: a network, its traffic, and the policies to compare.

    It does not change: what changes it gives another one. It is checked at every sweep point when it is made, so there
    is none that is wrong. Two are equal, and have one hash, if :meth:`to_toml` gives the same text. It can be pickled.

    Make one by :func:`headway.load`, :meth:`parse` or :meth:`build`.

    Examples
    --------
    >>> import headway
    >>> scenario = headway.load("example-incast").set("repeats", 3)
    >>> scenario.repeats
    3
    """

    __slots__ = ("__dict__", "_changes", "_folder", "_name", "_owner", "_text")

    def __init__(
        self, text: str, name: str, folder: str, changes: _Changes | None = None, *, owner: object = None
    ) -> None:
        """Read and check; use :func:`headway.load`, :meth:`parse` or :meth:`build`."""
        self._text = text
        # removes the folder when nothing holds it any more
        self._owner = owner
        self._name = name
        self._folder = folder
        self._changes = changes or _Changes()
        # so that what is wrong is an error here and now
        _ = self._facts

    @classmethod
    def parse(cls, text: str, *, folder: str | os.PathLike[str] = ".") -> Scenario:
        """Read a scenario's text.

        Parameters
        ----------
        text : str
            TOML, see docs/scenario-file.
        folder : path
            Where files that it names are looked for.

        Returns
        -------
        Scenario
            Checked.

        Raises
        ------
        ScenarioError
            If anything is wrong with it, with all that is.
        """
        if not isinstance(text, str):
            raise TypeError(f"a scenario is text, not {type(text).__name__}; headway.load reads files")
        return cls(whole(text), "<text>", os.fspath(folder))

    @classmethod
    def build(
        cls, record: records.Scenario | Mapping[str, object], *, folder: str | os.PathLike[str] = "."
    ) -> Scenario:
        """Make a scenario of records.

        Parameters
        ----------
        record : headway.records.Scenario or mapping
            The scenario; a mapping has the keys of files.
        folder : path
            Where files that it names are looked for.

        Returns
        -------
        Scenario
            Checked.

        Raises
        ------
        ScenarioError
            If anything is wrong with it. Places are those in the TOML that it makes.
        """
        table = plain(record)
        if not isinstance(table, dict):
            raise TypeError(f"a scenario is a record or a mapping, not {type(record).__name__}")
        return cls(_native.to_toml(json.dumps(table)), "<record>", os.fspath(folder))

    @cached_property
    def _source(self) -> _native.Source:
        changes = self._changes
        return _native.Source(
            self._text,
            self._name,
            self._folder,
            changes.sets,
            changes.policies,
            changes.hosts,
            changes.kernel,
            changes.quick,
        )

    @cached_property
    def _facts(self) -> dict[str, Any]:
        facts: dict[str, Any] = json.loads(self._source.facts())
        return facts

    @property
    def name(self) -> str:
        """Its name."""
        return str(self._facts["name"])

    @property
    def about(self) -> str:
        """A line on it."""
        return str(self._facts["about"])

    @property
    def source(self) -> str | None:
        """The paper and section that it repeats, if it does."""
        source: str | None = self._facts["source"]
        return source

    @property
    def duration(self) -> str:
        """New flows start before this time, such as ``"4s"``."""
        return str(self._facts["duration"])

    @property
    def repeats(self) -> int:
        """Runs of each policy at each point."""
        return int(self._facts["repeats"])

    @property
    def seed(self) -> int:
        """Where all random numbers start from."""
        return int(self._facts["seed"])

    @property
    def policies(self) -> list[str]:
        """Names of the policies, in order."""
        return list(self._facts["policies"])

    @property
    def traffics(self) -> list[str]:
        """Names by which flows are reported, in order."""
        return list(self._facts["traffics"])

    @property
    def sweep(self) -> dict[str, list[bool | int | float | str]]:
        """The values of every swept name."""
        return {name: list(values) for name, values in self._facts["sweep"]}

    @property
    def points(self) -> int:
        """How many sweep points there are; 1 without a sweep."""
        return int(self._facts["points"])

    @property
    def claims(self) -> int:
        """How many claims it makes."""
        return int(self._facts["claims"])

    @property
    def left_out_claims(self) -> list[str]:
        """The texts of claims that changes left without a policy or a point."""
        return list(self._facts["left_out_claims"])

    @cached_property
    def _toml(self) -> str:
        return self._source.kept()

    def to_toml(self) -> str:
        """Give the scenario as TOML.

        Returns
        -------
        str
            The text that was read, if nothing changes it; otherwise the changed scenario with every default. Reads
            back to an equal scenario.
        """
        return self._toml

    def show(self) -> str:
        """Give the scenario as TOML with every default written out, as ``headway show`` prints it.

        Returns
        -------
        str
            The same for any two texts that mean the same.
        """
        return self._source.show()

    def to_dict(self) -> dict[str, Plain]:
        """Give the tables of :meth:`to_toml`.

        Returns
        -------
        dict
            By key; text, numbers, True and False, lists and dictionaries.
        """
        table: dict[str, Plain] = json.loads(_native.from_toml(self._toml, self._name))
        return table

    def to_record(self) -> records.Scenario:
        """Give the scenario as records, with what :meth:`to_toml` writes.

        Returns
        -------
        headway.records.Scenario
            From which :meth:`build` makes a scenario that means the same.
        """
        return records.read(self.to_dict())

    def topology(self) -> Topology:
        """Build its network.

        Returns
        -------
        Topology
            At the first sweep point.
        """
        return Topology(json.loads(_native.topology(self._source)), self.name)

    def set(self, key: str | Mapping[str, object], value: object = None, /) -> Scenario:
        """Give the scenario with other values, as ``--set`` does.

        Parameters
        ----------
        key : str or mapping
            A key with dots, such as ``"topology.link.delay"`` or ``"policy.tcp.transport.initial-window"``; or several
            keys with their values, which are set together.
        value : object
            The value: text, a number, True or False, a quantity, a list, a mapping or a record.

        Returns
        -------
        Scenario
            Another one.

        Raises
        ------
        ScenarioError
            If the key is unknown or the value does not fit.
        """
        if isinstance(key, Mapping):
            if value is not None:
                raise TypeError("a mapping has the values in it")
            pairs = dict(key)
        elif isinstance(key, str):
            pairs = {key: value}
        else:
            raise TypeError(f"a key is text, not {key!r}")
        sets = []
        for name, new in pairs.items():
            if not isinstance(name, str):
                raise TypeError(f"a key is text, not {name!r}")
            if "=" in name:
                raise ValueError(f"a key has no '=': {name!r}")
            sets.append(f"{name}={inline(new)}")
        return self._with(sets=(*self._changes.sets, *sets))

    def with_sweep(self, values: Mapping[str, object], /) -> Scenario:
        """Give the scenario with keys varied together.

        Parameters
        ----------
        values : mapping of str to list
            The values of each key, such as ``{"topology.link.delay": ["1us", "5us"]}``. A name of the scenario's own
            sweep takes these values instead of its own.

        Returns
        -------
        Scenario
            Another one. A key ``a.b.c`` is swept by the name ``c``, or ``a-b-c`` where ``c`` is taken.

        Raises
        ------
        ScenarioError
            If a key is unknown or a value does not fit.
        """
        if not isinstance(values, Mapping):
            raise TypeError(f"a sweep is a mapping of keys to values, not {values!r}")
        own = set(self.sweep)
        taken = set(own)
        sets: dict[str, object] = {}
        for key, several in values.items():
            if not isinstance(key, str):
                raise TypeError(f"a key is text, not {key!r}")
            if isinstance(several, str | bytes) and ".." not in str(several):
                raise TypeError(f"{key} needs a list of values, not {several!r}")
            if key in own:
                sets[f"sweep.{key}"] = several
                continue
            name = _swept_name(key, taken)
            taken.add(name)
            sets[f"sweep.{name}"] = several
            sets[key] = f"${name}"
        return self.set(sets)

    def with_policies(self, *names: str) -> Scenario:
        """Give the scenario with these policies alone, as ``--policy`` does.

        Parameters
        ----------
        *names : str
            Policies that it has; at least one.

        Returns
        -------
        Scenario
            Another one. Claims about other policies are left out, see :attr:`left_out_claims`.

        Raises
        ------
        ScenarioError
            If there is no such policy.
        """
        if not names:
            raise TypeError("name at least one policy")
        for name in names:
            if not isinstance(name, str):
                raise TypeError(f"a policy is named by text, not {name!r}")
        return self._with(policies=names)

    def with_hosts(self, kind: str, *, kernel: str | None = None) -> Scenario:
        """Give the scenario with all hosts of one kind, as ``--hosts`` does.

        Parameters
        ----------
        kind : {"modelled", "linux", "namespaces"}
            The kind.
        kernel : str or None
            The image of kernel hosts; the newest unpatched one if None.

        Returns
        -------
        Scenario
            Another one.

        Raises
        ------
        ScenarioError
            If the scenario cannot be run on such hosts.
        ValueError
            If there is no such kind.
        """
        return self._with(hosts=kind, kernel=kernel)

    def quick(self) -> Scenario:
        """Give the scenario in quick size, as ``--quick`` does.

        Returns
        -------
        Scenario
            Another one; what was and will be set goes before it.
        """
        return self._with(quick=True)

    def check(
        self,
        *,
        seed: int | None = None,
        repeats: int | None = None,
        controls: Mapping[str, type[CongestionControl]] | None = None,
        judges: Mapping[str, type[Judge]] | None = None,
    ) -> None:
        """Check all that can be checked without a run: plans at every point, files that are named.

        Parameters
        ----------
        seed, repeats : int or None
            In place of the scenario's own.
        controls, judges : mapping of str to class, or None
            As of :meth:`run`.

        Raises
        ------
        ScenarioError
            If something cannot work.
        """
        seed, repeats = number("seed", seed), number("repeats", repeats)
        self._source.check(seed, repeats, policies(controls, judges))

    def run(
        self,
        out: str | os.PathLike[str] | None = None,
        *,
        seed: int | None = None,
        repeats: int | None = None,
        threads: int | None = None,
        progress: bool | Callable[[int, int], object] | None = None,
        resume: bool = False,
        verify: bool = False,
        report: bool = True,
        controls: Mapping[str, type[CongestionControl]] | None = None,
        judges: Mapping[str, type[Judge]] | None = None,
    ) -> Result:
        """Run every policy at every sweep point.

        Other Python threads go on meanwhile. Ctrl-C ends it as soon as the runs under way are over, on kernel hosts at
        the second press at once.

        Parameters
        ----------
        out : path or None
            The folder for results, new or empty. Without one they are in a temporary folder, which is removed with the
            result; see :meth:`Result.keep`.
        seed : int or None
            The root of all random numbers; the scenario's if None.
        repeats : int or None
            Runs of each policy at each point; as many as the scenario says if None.
        threads : int or None
            Runs at a time; one for each core if None. Results do not depend on it.
        progress : bool or callable or None
            True for a line on stderr; or a function of the numbers of complete and of all runs, which may return False
            to stop. If it is an object with a method ``within``, that is called twice a second with a dict: ``runs``
            under way, the sum ``passed`` of the parts of them that are over, ``now_s`` of ``end_s`` virtual seconds of
            the one furthest behind, ``flows`` that have ended, ``packet_hops``.
        resume : bool
            Go on with the interrupted run in `out`, if there is one.
        verify : bool
            Make every run twice and compare.
        report : bool
            Write ``report.html`` into `out`. Temporary folders get none, but see :meth:`Result.report`.
        controls : mapping of str to subclass of CongestionControl, or None
            The congestion controls that the scenario names ``own:NAME``, by name.
        judges : mapping of str to subclass of Judge, or None
            The judges that the scenario names ``{ kind = "own", name = NAME }``, by name.

        Returns
        -------
        Result
            With the folder's tables.

        Raises
        ------
        ScenarioError
            If the scenario cannot be run.
        ResultsError
            If the folder cannot be made, or holds something else.
        KernelError
            If kernel hosts cannot be had or go on.
        PolicyError
            If one of `controls` or `judges` answers nonsense. An exception of theirs comes out as it was raised, with a
            PolicyError as its cause.
        Interrupted
            If `progress` stopped it.
        KeyboardInterrupt
            At Ctrl-C. Complete runs are kept in `out`, for `resume`.
        """
        settings = {"seed": seed, "repeats": repeats, "threads": threads}
        own = policies(controls, judges)
        return run_scenario(
            self._source, out, settings, progress=progress, resume=resume, verify=verify, report=report, own=own
        )

    def _with(self, **changes: Any) -> Scenario:
        changed = self._changes._replace(**changes)
        return Scenario(self._text, self._name, self._folder, changed, owner=self._owner)

    def __eq__(self, other: object) -> bool:
        return self._toml == other._toml if isinstance(other, Scenario) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._toml)

    def __reduce__(self) -> tuple[Callable[..., Scenario], tuple[str, str, str, _Changes]]:
        return Scenario, (self._text, self._name, self._folder, self._changes)

    def __repr__(self) -> str:
        size = f"{len(self.policies)} policies × {self.points} points × {self.repeats} repeats"
        return f"<Scenario {self.name}: {size}>"

    def _repr_html_(self) -> str:
        rows = [("about", self.about)]
        if self.source:
            rows.append(("source", self.source))
        rows += [
            ("duration", self.duration),
            ("policies", _html.short(self.policies)),
            ("traffic", _html.short(self.traffics)),
        ]
        rows += [
            (f"sweep.{name}", _html.short([str(value) for value in values])) for name, values in self.sweep.items()
        ]
        rows += [
            ("size", f"{len(self.policies)} policies × {self.points} points × {self.repeats} repeats"),
            ("seed", str(self.seed)),
            ("claims", str(self.claims)),
        ]
        return _html.facts(self.name, rows)


def _swept_name(key: str, taken: set[str]) -> str:
    parts = [part for part in key.lower().replace("_", "-").split(".") if part]
    if not parts:
        raise ValueError("a key is not empty")
    return parts[-1] if parts[-1] not in taken and not parts[-1].isdigit() else "-".join(parts)


def load(scenario: str | os.PathLike[str]) -> Scenario:
    """Read a scenario from a file, a folder of results, or those that come with Headway.

    Parameters
    ----------
    scenario : path or str
        A file; a folder with ``scenario.toml``, such as one of results; or, if there is neither, the name of a bundled
        scenario, see :func:`bundled`.

    Returns
    -------
    Scenario
        Checked.

    Raises
    ------
    ScenarioError
        If there is no such scenario, or it is wrong.
    """
    path = Path(scenario)
    if path.is_dir():
        path = path / "scenario.toml"
    try:
        about = path.stat()
        # A device or a pipe may never end, and what is too large is not read either.
        if not stat.S_ISREG(about.st_mode):
            raise ScenarioError(f"cannot read {path}: it is not a regular file")
        if about.st_size > _LARGEST:
            raise ScenarioError(f"{path} is too large: a scenario has at most {_LARGEST // 1_000_000} MB of text")
        text = path.read_bytes().decode("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return _load_bundled(os.fspath(scenario))
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise ScenarioError(f"{path} is not text: line {line} is not UTF-8") from None
    except OSError as error:
        raise ScenarioError(f"cannot read {path}: {error.strerror}") from None
    return Scenario(text, str(path), str(path.parent.absolute()))


def _load_bundled(name: str) -> Scenario:
    known = _BUNDLED.get(name.removesuffix(".toml"))
    if known is None:
        near = get_close_matches(Path(name).stem.replace("_", "-"), _BUNDLED, n=1)
        hint = f"did you mean {near[0]!r}?" if near else "headway.bundled() has the bundled ones"
        raise ScenarioError(f"there is no file {name} and no bundled scenario of that name; {hint}")
    return Scenario(known, f"{name.removesuffix('.toml')}.toml (bundled)", ".")


def bundled() -> list[str]:
    """Give the names of the scenarios that come with Headway.

    Returns
    -------
    list of str
        In alphabetical order, for :func:`load`.
    """
    return list(_BUNDLED)


def sweep(
    scenario: Scenario,
    values: Mapping[str, Sequence[object]] | None = None,
    /,
    *,
    out: str | os.PathLike[str] | None = None,
    seed: int | None = None,
    repeats: int | None = None,
    threads: int | None = None,
    progress: bool | Callable[[int, int], object] | None = None,
    resume: bool = False,
    verify: bool = False,
    report: bool = True,
    executor: object = None,
    store: str | os.PathLike[str] | None = None,
    controls: Mapping[str, type[CongestionControl]] | None = None,
    judges: Mapping[str, type[Judge]] | None = None,
) -> Result:
    """Run a scenario with keys varied together: every combination with every policy.

    Parameters
    ----------
    scenario : Scenario
        The scenario.
    values : mapping of str to sequence or None
        The values of each key, such as ``{"topology.link.delay": ["1us", "5us"]}``, see :meth:`Scenario.with_sweep`;
        None for the scenario's own sweep.
    out, seed, repeats, threads, progress, resume, verify, report, controls, judges
        As of :meth:`Scenario.run`. `threads` is for sweeps without an executor. A sweep that was interrupted can be
        resumed another way than it began: on other executors, or on none.
    executor : concurrent.futures.Executor or dask.distributed.Client or None
        Where runs take place: processes, or a cluster whose workers have this version of Headway; None for threads of
        this process. Results do not depend on it.
    store : path-like or None
        A store of runs: those that are there are not done again. Runs with `controls` or `judges` are not kept in one,
        since code is not compared; executors get the classes by reference, so their modules must be there.

    Returns
    -------
    Result
        Of all combinations.

    Raises
    ------
    ScenarioError
        If a key is unknown or a value does not fit; and what :meth:`Scenario.run` raises.
    Exception
        Of the executor, such as ``BrokenProcessPool``, if it cannot go on. What is complete is kept in `out` and in
        `store`.

    Examples
    --------
    >>> import headway
    >>> scenario = headway.load("example-incast").quick()
    >>> result = headway.sweep(scenario, {"topology.link.delay": ["1us", "5us"]}, repeats=1)
    >>> sorted(set(result.flows["sweep_delay"]))
    ['1us', '5us']
    """
    if not isinstance(scenario, Scenario):
        raise TypeError(f"a sweep is of a Scenario, not of {scenario!r}; headway.load reads one")
    varied = scenario if values is None else scenario.with_sweep(values)
    if executor is None and store is None:
        return varied.run(
            out,
            seed=seed,
            repeats=repeats,
            threads=threads,
            progress=progress,
            resume=resume,
            verify=verify,
            report=report,
            controls=controls,
            judges=judges,
        )
    settings = {"seed": seed, "repeats": repeats, "threads": threads}
    return sweep_scenario(
        varied._source,
        out,
        settings,
        progress=progress,
        executor=executor,
        store=store,
        resume=resume,
        verify=verify,
        report=report,
        controls=controls,
        judges=judges,
    )
