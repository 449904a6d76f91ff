"""Headway: which lever makes my flows finish sooner, and by how much.

A scenario describes a network, its traffic and the policies to compare. Every policy is run on the same traffic, and
the numbers come with their intervals.

>>> import headway
>>> scenario = headway.load("example-incast").quick()
>>> result = scenario.run(repeats=2)
>>> result.policies
['tcp', 'tcp-10ms']

docs/python.md has examples and a table of what is here; docs/scenario-file has every key of a scenario.
"""

from headway import records, units
from headway._errors import (
    CaptureError,
    Error,
    Interrupted,
    KernelError,
    PolicyError,
    Problem,
    ResultsError,
    ScenarioError,
)
from headway._native import Ack, Congestion, Delivery, Flow, Seen, Sibling, Start
from headway._native import version as _version
from headway._own import CongestionControl, Judge
from headway._result import Case, Claim, Estimate, Published, Result, open, report  # noqa: A004 # as headway.open
from headway._scenario import Scenario, bundled, load, sweep
from headway._table import Table
from headway._topology import Link, Node, Topology
from headway._trace import Trace, trace

__version__ = _version()

__all__ = [
    "Ack",
    "CaptureError",
    "Case",
    "Claim",
    "Congestion",
    "CongestionControl",
    "Delivery",
    "Error",
    "Estimate",
    "Flow",
    "Interrupted",
    "Judge",
    "KernelError",
    "Link",
    "Node",
    "PolicyError",
    "Problem",
    "Published",
    "Result",
    "ResultsError",
    "Scenario",
    "ScenarioError",
    "Seen",
    "Sibling",
    "Start",
    "Table",
    "Topology",
    "Trace",
    "__version__",
    "bundled",
    "load",
    "open",
    "records",
    "report",
    "sweep",
    "trace",
    "units",
]
