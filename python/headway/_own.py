"""Congestion controls and judges of lanes written in Python."""

from __future__ import annotations

import ctypes
import inspect
import math
import random
import sys
import threading
from collections.abc import Mapping
from functools import cached_property
from typing import ClassVar, Literal

from headway import _native
from headway._native import Ack, Congestion, Flow, Seen, Start

_CONTROL_CALLS = ("observe", "on_timeout", "on_recovered", "on_undo", "on_restart")
_CONTROL_NEEDS = ("coupled", "delivery", "manages_cwnd", "grows_app_limited", "dctcp_ecn", "paces")
_JUDGE_NEEDS = ("only_age", "compares_lanes", "common_base")

# Threads of runs that made a control or a judge. One that ended may be there still.
_callers: set[int] = set()


def entered() -> None:
    """Note that this thread calls policies. The native part does so for every one that it makes."""
    _callers.add(threading.get_ident())


def interrupt() -> None:
    """Raise KeyboardInterrupt in callbacks that are under way, which would keep a run from its end."""
    python = {thread.ident for thread in threading.enumerate() if not isinstance(thread, threading._DummyThread)}
    inside = _callers & sys._current_frames().keys()
    _callers.intersection_update(inside)
    for ident in inside - python:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(ident), ctypes.py_object(KeyboardInterrupt))


class _Policy:
    """What controls and judges have alike."""

    defaults: ClassVar[Mapping[str, float]] = {}

    flow: Flow
    mss: int
    parameters: dict[str, float]

    @cached_property
    def random(self) -> random.Random:
        """Random numbers that follow from the scenario's seed and the flow."""
        return random.Random(self.flow.seed)


class CongestionControl(_Policy):
    """A congestion control, to be subclassed: one instance for each subflow.

    Give the class to :meth:`Scenario.run` as ``controls={"mine": Mine}``, and name it in the scenario:
    ``control = "own:mine"``. A callback reads and sets the attributes `cwnd`, `ssthresh` and, with ``paces = True``,
    `pacing_rate`. The attributes `flow`, `mss` and `parameters` are there in ``__init__`` already, which takes no
    arguments; the others from `on_start` on. What instances decide must follow from what they are told and from
    `random`: instances are made on several threads, in any order.

    Attributes
    ----------
    cwnd : float
        Congestion window, in bytes. Fractions are kept for as long as the transport does not change the window. Below
        one segment it counts as one.
    ssthresh : float
        Slow-start threshold, in bytes; infinite until the first congestion unless the scenario says otherwise. Below
        two segments it counts as two.
    pacing_rate : float or None
        The rate at which to send, in bits per second; None, the default, for no pace.
    mss : int
        Largest payload of a segment, in bytes.
    flow : Flow
        The subflow that it decides for, with a seed.
    parameters : dict of str to float
        `defaults` with the scenario's ``control-parameters``.
    random : random.Random
        Random numbers that follow from the scenario's seed and the flow.
    defaults : mapping of str to float
        Of the class: its parameters, with their defaults.
    coupled : bool
        Of the class: it looks at ``ack.siblings``. For MPTCP.
    delivery : bool
        Of the class: it looks at ``ack.delivery``. For Linux' loss recovery.
    manages_cwnd : bool
        Of the class: it alone sets `cwnd`, in `observe`, as BBR does. For Linux' loss recovery.
    grows_app_limited : bool
        Of the class: `on_ack` is called also when the window was not what kept the sender from sending.
    dctcp_ecn : bool
        Of the class: the receiver echoes marks exactly, for `observe` to count. For transports with ECN.
    paces : bool
        Of the class: it sets `pacing_rate`.

    Examples
    --------
    >>> import headway
    >>> class Reno(headway.CongestionControl):
    ...     def on_ack(self, ack):
    ...         if self.cwnd < self.ssthresh:
    ...             self.cwnd += min(ack.acked, self.mss)
    ...         else:
    ...             self.cwnd += self.mss * ack.acked / self.cwnd
    ...
    ...     def on_congestion(self, event):
    ...         self.ssthresh = event.flight / 2
    >>> scenario = headway.load("example-incast").quick().with_policies("tcp")
    >>> scenario = scenario.set({"policy.tcp.transport.control": "own:reno"})
    >>> result = scenario.run(repeats=1, controls={"reno": Reno})
    """

    coupled: ClassVar[bool] = False
    delivery: ClassVar[bool] = False
    manages_cwnd: ClassVar[bool] = False
    grows_app_limited: ClassVar[bool] = False
    dctcp_ecn: ClassVar[bool] = False
    paces: ClassVar[bool] = False

    cwnd: float
    ssthresh: float
    pacing_rate: float | None = None

    def on_start(self, start: Start) -> None:
        """Begin: the connection is established.

        Parameters
        ----------
        start : Start
            The time, and the round trip of the handshake.
        """

    def observe(self, ack: Ack) -> None:
        """Measure: news of any kind arrived, in any state. Comes before growth and reduction.

        Parameters
        ----------
        ack : Ack
            What is known of the acknowledgement.
        """

    def on_ack(self, ack: Ack) -> None:
        """Grow `cwnd`: new data was acknowledged, the window was full, and nothing is being repaired.

        Parameters
        ----------
        ack : Ack
            What is known of the acknowledgement.
        """
        raise NotImplementedError(f"{type(self).__name__} has no on_ack")

    def on_congestion(self, event: Congestion) -> None:
        """Set `ssthresh`: there is congestion. `cwnd` comes down to it by itself.

        Parameters
        ----------
        event : Congestion
            Its cause, and the bytes to be reduced.
        """
        raise NotImplementedError(f"{type(self).__name__} has no on_congestion")

    def on_timeout(self, lost: int) -> None:
        """Take note that the retransmission timer has fired.

        Parameters
        ----------
        lost : int
            Bytes ever found lost.
        """

    def on_recovered(self, now: float) -> None:
        """Take note that the reduction is complete: `cwnd` has come down, and what was lost is repaired.

        Parameters
        ----------
        now : float
            The time, in seconds.
        """

    def on_undo(self, now: float) -> None:
        """Take note that the last congestion was none: `cwnd` and `ssthresh` are as before it.

        Parameters
        ----------
        now : float
            The time, in seconds.
        """

    def on_restart(self, now: float, idle: float) -> None:
        """Begin again: data flows after nothing was outstanding for a while.

        Parameters
        ----------
        now : float
            The time, in seconds.
        idle : float
            The while, in seconds.
        """


class Judge(_Policy):
    """A judge of lanes, to be subclassed: one instance for each connection.

    Give the class to :meth:`Scenario.run` as ``judges={"mine": Mine}``, and name it in the scenario:
    ``judge = { kind = "own", name = "mine" }``. It decides when a connection is long and leaves the short lanes.

    Attributes
    ----------
    mss : int
        Largest payload of a segment, in bytes.
    flow : Flow
        The connection that it decides for, with a seed.
    parameters : dict of str to float
        `defaults` with the scenario's ``judge.parameters``.
    random : random.Random
        Random numbers that follow from the scenario's seed and the flow.
    defaults : mapping of str to float
        Of the class: its parameters, with their defaults.
    age : float or None
        Of the class: the age of a connection, in seconds, at which it is asked even without an acknowledgement.
    only_age : bool
        Of the class: the age alone decides, so that it is not asked before `age`.
    compares_lanes : bool
        Of the class: lanes have costs, see `congestion` and `cost`.
    window : float or None
        Of the class: the time, in seconds, over which ``seen.rate`` is averaged; None for no rate.
    common_base : bool
        Of the class: queueing delay counts from the shortest round trip of all subflows, not of its own.

    Examples
    --------
    >>> import headway
    >>> class Large(headway.Judge):
    ...     defaults = {"threshold": 100_000}
    ...
    ...     def is_long(self, age, seen):
    ...         return seen.acked >= self.parameters["threshold"]
    """

    age: ClassVar[float | None] = None
    only_age: ClassVar[bool] = False
    compares_lanes: ClassVar[bool] = False
    window: ClassVar[float | None] = None
    common_base: ClassVar[bool] = False

    def congestion(self, before: float | None, delay: float) -> float:
        """Give the congestion of a lane after a sample. Called with ``compares_lanes = True``.

        Parameters
        ----------
        before : float or None
            Its congestion before; None at the first sample.
        delay : float
            Its queueing delay, in seconds.

        Returns
        -------
        float
            A pure number; the delay in seconds unless overridden.
        """
        return delay

    def cost(self, role: Literal["short", "long"], congestion: float, age: float) -> float:
        """Give the cost of a lane. Called with ``compares_lanes = True``.

        Parameters
        ----------
        role : {"short", "long"}
            Whether it is for short or for long flows.
        congestion : float
            Its congestion.
        age : float
            The connection's age, in seconds.

        Returns
        -------
        float
            A pure number; the congestion unless overridden.
        """
        return congestion

    def is_long(self, age: float, seen: Seen) -> bool:
        """Decide whether the connection is long.

        Parameters
        ----------
        age : float
            Its age, in seconds.
        seen : Seen
            Bytes, rate and costs.

        Returns
        -------
        bool
            True once it should leave the short lanes.
        """
        raise NotImplementedError(f"{type(self).__name__} has no is_long")


def policies(
    controls: Mapping[str, type[CongestionControl]] | None, judges: Mapping[str, type[Judge]] | None
) -> _native.Policies | None:
    """Check the classes and hand them to the native part; None if there are none."""
    if not controls and not judges:
        return None
    given: object
    for what, given, base in (("controls", controls, CongestionControl), ("judges", judges, Judge)):
        table: object = given or {}
        if not isinstance(table, Mapping):
            raise TypeError(f"{what} is a mapping of names to classes, not {given!r}")
        for name, class_ in table.items():
            if not isinstance(name, str):
                raise TypeError(f"{what} has the name {name!r}, which is no text")
            if not (inspect.isclass(class_) and issubclass(class_, base)):
                raise TypeError(f"{what}[{name!r}] is a subclass of headway.{base.__name__}, not {class_!r}")
    return _native.Policies(
        [(name, class_, _control(class_), _defaults(class_)) for name, class_ in (controls or {}).items()],
        [(name, class_, _judge(class_), _defaults(class_), _times(class_)) for name, class_ in (judges or {}).items()],
    )


def _overridden(class_: type, base: type, names: tuple[str, ...]) -> set[str]:
    return {name for name in names if getattr(class_, name) is not getattr(base, name)}


def _needs(class_: type, names: tuple[str, ...]) -> set[str]:
    for name in names:
        if not isinstance(getattr(class_, name), bool):
            raise TypeError(f"{class_.__name__}.{name} is True or False, not {getattr(class_, name)!r}")
    return {name for name in names if getattr(class_, name)}


def _control(class_: type[CongestionControl]) -> set[str]:
    if class_.on_ack is CongestionControl.on_ack:
        raise TypeError(f"{class_.__name__} has no on_ack")
    for name in dir(class_):
        if name.startswith("on_") and not hasattr(CongestionControl, name):
            known = ", ".join(own for own in dir(CongestionControl) if own.startswith("on_"))
            raise TypeError(f"{class_.__name__} has {name}, which nobody calls; there are {known}")
    return _overridden(class_, CongestionControl, _CONTROL_CALLS) | _needs(class_, _CONTROL_NEEDS)


def _judge(class_: type[Judge]) -> set[str]:
    needs = _needs(class_, _JUDGE_NEEDS)
    if "only_age" in needs and class_.age is None:
        raise ValueError(f"{class_.__name__}.only_age is True, and its age is None")
    return _overridden(class_, Judge, ("congestion", "cost")) | needs


def _defaults(class_: type[_Policy]) -> list[tuple[str, float]]:
    found: object = class_.defaults
    if not isinstance(found, Mapping):
        raise TypeError(f"{class_.__name__}.defaults is a mapping of names to numbers, not {found!r}")
    for name, value in found.items():
        if not isinstance(name, str) or isinstance(value, bool) or not isinstance(value, int | float):
            raise TypeError(f"{class_.__name__}.defaults has {name!r}: {value!r}, which is no name with a number")
    return [(name, float(value)) for name, value in found.items()]


def _times(class_: type[Judge]) -> tuple[float | None, float | None]:
    def time(name: str, least: float) -> float | None:
        value = getattr(class_, name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise TypeError(f"{class_.__name__}.{name} is seconds or None, not {value!r}")
        if not (math.isfinite(value) and least <= value <= 1e6):
            raise ValueError(f"{class_.__name__}.{name} is from {least} to 1e6 seconds, unlike {value}")
        return float(value)

    return time("age", 0.0), time("window", 1e-12)
