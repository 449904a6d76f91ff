"""What several tests share: a small scenario and its results."""

from __future__ import annotations

from pathlib import Path

import pytest

import headway

SMALL = """
name = "small"
about = "Two policies, two delays, three flows"
duration = "10ms"
drain = "1s"
repeats = 2

[topology]
kind = "dumbbell"
left = 2
right = 1
link = { rate = "1Gbps", delay = "$delay" }
bottleneck = { rate = "100Mbps" }
queue = { kind = "drop-tail", limit = "64KB" }

[hosts]
sender = { count = 2 }
receiver = { count = 1 }

[[traffic]]
name = "bulk"
from = "sender"
to = "receiver"
size = "30KB"
arrival = { kind = "poisson", mean = "4ms" }

[[policy]]
name = "tcp"
transport = { kind = "tcp", control = "new-reno", initial-window = "$window" }

[[policy]]
name = "cubic"
transport = { kind = "tcp", control = "cubic", initial-window = "$window" }

[sweep]
delay = ["1us", "20us"]
window = [2, 10]

[measure]
series = ["cwnd", "queue"]
interval = "1ms"

[[claim]]
text = "Larger windows finish sooner"
at = { window = 10 }
less = [{ policy = "tcp", value = "fct.mean" }, { policy = "tcp", value = "fct.mean", at = { window = 2 } }]
"""


@pytest.fixture(scope="session")
def small() -> headway.Scenario:
    return headway.Scenario.parse(SMALL)


@pytest.fixture(scope="session")
def result(small: headway.Scenario, tmp_path_factory: pytest.TempPathFactory) -> headway.Result:
    return small.run(tmp_path_factory.mktemp("results") / "small")


@pytest.fixture(scope="session")
def root() -> Path:
    return Path(__file__).resolve().parents[2]
