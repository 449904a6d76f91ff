"""Exceptions of the package, all below one class."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass


class Error(Exception):
    """Anything that Headway itself refuses or fails at.

    Wrong types of arguments raise :class:`TypeError`, wrong values of arguments that are no part of a scenario
    :class:`ValueError`, as everywhere in Python. Ctrl-C raises :class:`KeyboardInterrupt`.
    """


@dataclass(frozen=True)
class Problem:
    """One mistake in a scenario.

    Attributes
    ----------
    path : str
        The text that it is in: a file, or an option such as ``--set`` for a change made by :meth:`Scenario.set`.
    line, column : int or None
        The place, both from 1; None if the text as a whole is meant.
    message : str
        The mistake, in a sentence.
    help : str or None
        The remedy.
    point : str or None
        The sweep point at which it appears, if it does not appear at all of them.
    """

    path: str
    line: int | None
    column: int | None
    message: str
    help: str | None = None
    point: str | None = None


class ScenarioError(Error):
    """A scenario is wrong. Its text shows every problem with an excerpt.

    Parameters
    ----------
    text : str
        The message.
    problems : sequence of Problem
        The problems, in the order of the file; none if the mistake has no place in its text.

    Attributes
    ----------
    problems : tuple of Problem
        As above.
    path : str or None
        The text with the first problem.
    line, column : int or None
        Its place, from 1.
    """

    def __init__(self, text: str, problems: Sequence[Problem] = ()) -> None:
        super().__init__(text, tuple(problems))
        self.problems = tuple(problems)
        first = self.problems[0] if self.problems else None
        self.path = first.path if first else None
        self.line = first.line if first else None
        self.column = first.column if first else None

    def __str__(self) -> str:
        return str(self.args[0])


class ResultsError(Error):
    """A folder of results cannot be made, written or read.

    Parameters
    ----------
    text : str
        The message.
    path : path or None
        The folder or the file.

    Attributes
    ----------
    path : str or None
        As above.
    """

    def __init__(self, text: str, path: str | os.PathLike[str] | None = None) -> None:
        super().__init__(text, path)
        self.path = None if path is None else os.fspath(path)

    def __str__(self) -> str:
        return str(self.args[0])


class KernelError(Error):
    """Kernel hosts cannot be had on this machine, or cannot go on."""


class PolicyError(Error):
    """A congestion control or judge of the caller gave no answer, a wrong one, or not the same one twice.

    Its text names the policy, the sweep point, the repeat, the flow, the callback and the time. If a callback raised an
    exception, that one comes out, with this as its ``__cause__``.
    """


class CaptureError(Error):
    """A packet capture cannot be read."""


class Interrupted(Error):
    """Runs were stopped before all were complete, by a ``progress`` that returned False or in an earlier process.

    Ctrl-C is not this but :class:`KeyboardInterrupt`.

    Parameters
    ----------
    text : str
        The message.
    done, total : int or None
        Runs that are complete, and all runs; None if unknown.
    path : path or None
        The folder that keeps what is complete, if it is kept.

    Attributes
    ----------
    done, total : int or None
        As above.
    path : str or None
        As above.
    """

    def __init__(
        self,
        text: str,
        done: int | None = None,
        total: int | None = None,
        path: str | os.PathLike[str] | None = None,
    ) -> None:
        super().__init__(text, done, total, path)
        self.done = done
        self.total = total
        self.path = None if path is None else os.fspath(path)

    def __str__(self) -> str:
        return str(self.args[0])
