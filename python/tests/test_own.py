"""Congestion controls and judges written in Python."""

from __future__ import annotations

import math
import pickle
import signal
import subprocess
import sys
import textwrap
import traceback
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import ClassVar, Literal

import pytest

import headway
from headway import CongestionControl, Judge

BASE = """
name = "own"
about = "Flows of two hosts share a bottleneck"
duration = "30ms"
drain = "2s"
repeats = 2

[topology]
kind = "dumbbell"
left = 2
right = 1
link = { rate = "1Gbps", delay = "10us" }
bottleneck = { rate = "50Mbps" }
queue = { kind = "drop-tail", limit = "30KB" }

[hosts]
sender = { count = 2 }
receiver = { count = 1 }

[[traffic]]
name = "bulk"
from = "sender"
to = "receiver"
size = "90KB"
arrival = { kind = "poisson", mean = "5ms" }

[measure]
series = ["cwnd"]
interval = "1ms"

[[policy]]
name = "built-in"
transport = { kind = "tcp", min-rto = "10ms" }

[[policy]]
name = "own"
transport = { kind = "tcp", min-rto = "10ms", control = "own:mine" }
"""

LANES = """
name = "own-lanes"
about = "A flow over two paths"
duration = "300ms"
repeats = 1

[topology]
kind = "parallel-paths"
paths = 2
link = { rate = "20Mbps", delay = "100us" }
queue = { kind = "drop-tail", limit = "64KB" }

[hosts]
client = { count = 1 }
server = { count = 1 }

[[traffic]]
name = "bulk"
from = "client"
to = "server"
size = "unlimited"
arrival = "once"

[measure]
series = ["goodput"]
interval = "10ms"

[[policy]]
name = "built-in"
transport = { kind = "mptcp", lanes = { judge = { kind = "bytes-sent", threshold = "100KB" } } }

[[policy]]
name = "own"
transport = { kind = "mptcp", lanes = { judge = { kind = "own", name = "mine" } } }
"""


class Reno(CongestionControl):
    """NewReno by the letter: RFC 5681 §3.1, eq. 2 and 4, counting bytes."""

    def __init__(self) -> None:
        self.earned = 0

    def on_ack(self, ack: headway.Ack) -> None:
        if self.cwnd < self.ssthresh:
            self.cwnd = min(self.cwnd + min(ack.acked, self.mss), self.ssthresh)
            return
        per = int(self.cwnd)
        self.earned += ack.acked
        if self.earned >= per:
            self.earned -= per
            self.cwnd += self.mss

    def on_congestion(self, event: headway.Congestion) -> None:
        self.ssthresh = max(event.flight // 2, 2 * self.mss)
        self.earned = 0


class Large(Judge):
    defaults: ClassVar[dict[str, float]] = {"threshold": 100_000}

    def is_long(self, age: float, seen: headway.Seen) -> bool:
        assert age >= 0
        return seen.acked >= self.parameters["threshold"]


def _rows(result: headway.Result, policy: str) -> list[tuple[object, ...]]:
    flows = result.flows
    columns = [name for name in flows.column_names if name not in ("policy", "cell")]
    rows = zip(flows["policy"], *(flows[name] for name in columns), strict=True)
    return [row[1:] for row in rows if row[0] == policy]


def check_alike(result: headway.Result) -> None:
    own = _rows(result, "own")
    assert own
    assert own == _rows(result, "built-in")


@pytest.mark.parametrize("threads", [1, 3])
def test_new_reno_in_python_gives_the_same_flows_as_the_built_in_one(threads: int) -> None:
    scenario = headway.Scenario.parse(BASE)
    check_alike(scenario.run(controls={"mine": Reno}, threads=threads, verify=True))


def test_a_judge_in_python_decides_as_the_built_in_one() -> None:
    result = headway.Scenario.parse(LANES).run(judges={"mine": Large})
    check_alike(result)
    assert all(time is not None for time in result.flows["switched_ps"])


class Costs(Judge):
    age = 0.01
    compares_lanes = True

    def congestion(self, before: float | None, delay: float) -> float:
        return delay if before is None else (3 * before + delay) / 4

    def cost(self, role: Literal["short", "long"], congestion: float, age: float) -> float:
        assert role in ("short", "long")
        return congestion + (age if role == "short" else 0)

    def is_long(self, age: float, seen: headway.Seen) -> bool:
        return None not in (seen.short, seen.long) and seen.long < seen.short  # type: ignore[operator]


def test_a_judge_compares_costs_of_lanes() -> None:
    result = headway.Scenario.parse(LANES).with_policies("own").run(judges={"mine": Costs})
    assert all(time is not None for time in result.flows["switched_ps"])


class Divides(Reno):
    def on_ack(self, ack: headway.Ack) -> None:
        self.cwnd = ack.acked / (ack.total // 10_000_000)


def test_an_exception_comes_out_as_it_was_raised_with_the_place_as_its_cause() -> None:
    scenario = headway.Scenario.parse(BASE)
    with pytest.raises(ZeroDivisionError) as caught:
        scenario.run(controls={"mine": Divides}, threads=2)
    assert "self.cwnd = ack.acked /" in "".join(traceback.format_exception(caught.value))
    place = caught.value.__cause__
    assert isinstance(place, headway.PolicyError)
    for part in ("policy `own`, repeat", "of `bulk`", "congestion control `mine`", "on_ack"):
        assert part in str(place)


def wrong(value: object, *, at: str = "cwnd", **needs: bool) -> type[CongestionControl]:
    def on_ack(self: CongestionControl, ack: headway.Ack) -> None:
        setattr(self, at, value)

    return type("Wrong", (Reno,), {"on_ack": on_ack, **needs})


@pytest.mark.parametrize(
    ("control", "text"),
    [
        (wrong(0), "cwnd is 0"),
        (wrong(-1.5), "cwnd is -1.5"),
        (wrong(math.nan), "cwnd is not a number"),
        (wrong(math.inf), "cwnd is 18446744073709551615; it must be 1 to"),
        (wrong("much"), "cwnd is 'much'; it must be a number"),
        (wrong(None), "cwnd is None"),
        (wrong(math.nan, at="ssthresh"), "ssthresh is not a number"),
        (wrong(-1, at="pacing_rate", paces=True), "pacing_rate is -1"),
        (wrong(1, at="pacing_rate", paces=True), "a pace of 1bps"),
        (type("Returns", (Reno,), {"on_ack": lambda self, ack: 3}), "it returned 3; set self.cwnd"),
        (type("Keeps", (Reno,), {"on_congestion": lambda self, event: None}), "congestion must bring it down"),
    ],
)
def test_wrong_answers_are_errors(control: type[CongestionControl], text: str) -> None:
    with pytest.raises(headway.PolicyError) as caught:
        headway.Scenario.parse(BASE).run(controls={"mine": control}, repeats=1)
    assert text in str(caught.value)
    assert "policy `own`, repeat 0, flow" in str(caught.value)


def test_a_control_without_its_callbacks_says_which_is_missing() -> None:
    with pytest.raises(TypeError, match="Empty has no on_ack"):
        headway.Scenario.parse(BASE).run(controls={"mine": type("Empty", (CongestionControl,), {})})


def test_fractions_of_a_window_are_kept() -> None:
    seen: list[tuple[float, float]] = []

    class Fraction(Reno):
        def on_ack(self, ack: headway.Ack) -> None:
            before = self.cwnd
            self.cwnd += 0.25
            seen.append((before, self.cwnd))

    headway.Scenario.parse(BASE).run(controls={"mine": Fraction}, repeats=1, threads=1)
    assert any(before % 1 == 0.75 for before, _ in seen)


def test_parameters_and_random_numbers_come_from_the_scenario() -> None:
    seen = set()

    class Gain(Reno):
        defaults: ClassVar[dict[str, float]] = {"gain": 1.0, "loss": 0.5}

        def __init__(self) -> None:
            super().__init__()
            seen.add((self.parameters["gain"], self.parameters["loss"], self.flow.id, self.random.random()))

    scenario = headway.Scenario.parse(BASE).set({"policy.own.transport.control-parameters": {"gain": 2}})
    scenario.run(controls={"mine": Gain}, repeats=1, verify=True)
    assert {row[:2] for row in seen} == {(2.0, 0.5)}
    assert len({row[2] for row in seen}) == len({row[3] for row in seen}) == len(seen)
    with pytest.raises(headway.ScenarioError, match="it has no parameter `gain`"):
        scenario.check(controls={"mine": Reno})


def test_verification_finds_a_control_with_a_memory() -> None:
    count = [0]

    class Remembers(Reno):
        def on_ack(self, ack: headway.Ack) -> None:
            count[0] += 1
            self.cwnd = self.mss * (1 + count[0] % 17)

    with pytest.raises(headway.PolicyError, match="two runs with one seed differ"):
        headway.Scenario.parse(BASE).run(controls={"mine": Remembers}, verify=True, threads=1)


def test_what_a_scenario_names_must_be_given() -> None:
    scenario = headway.Scenario.parse(BASE)
    with pytest.raises(headway.ScenarioError, match="no program gives one here"):
        scenario.run()
    with pytest.raises(headway.ScenarioError, match="did you mean `mime`"):
        scenario.check(controls={"mime": Reno})
    scenario.check(controls={"mine": Reno})


def test_arguments_of_other_types_are_type_errors() -> None:
    scenario = headway.Scenario.parse(BASE)
    for controls in (["mine"], {"mine": Reno()}, {"mine": int}, {1: Reno}):
        with pytest.raises(TypeError):
            scenario.run(controls=controls)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"headway\.Judge"):
        scenario.run(judges={"mine": Reno})  # type: ignore[dict-item]
    with pytest.raises(ValueError, match="is no name"):
        scenario.run(controls={"a name": Reno})
    with pytest.raises(TypeError, match="paces is True or False"):
        scenario.run(controls={"mine": type("Odd", (Reno,), {"paces": 3})})


def test_classes_and_errors_go_to_other_processes_by_reference() -> None:
    assert pickle.loads(pickle.dumps({"mine": Reno, "judge": Large})) == {"mine": Reno, "judge": Large}
    error = pickle.loads(pickle.dumps(headway.PolicyError("there")))
    assert isinstance(error, headway.PolicyError)
    assert str(error) == "there"


@pytest.mark.parametrize("rest", ["time.sleep(0.2)", "while True: pass"], ids=["slow", "never-returns"])
def test_ctrl_c_ends_a_run_in_a_callback(tmp_path: Path, rest: str) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent(
            f"""
            import sys, time
            import headway

            class Slow(headway.CongestionControl):
                def on_ack(self, ack):
                    print("asked", flush=True)
                    {rest}
                def on_congestion(self, event):
                    self.ssthresh = event.flight / 2

            scenario = headway.Scenario.parse(open(sys.argv[1]).read()).with_policies("own")
            try:
                scenario.run(controls={{"mine": Slow}}, threads=2)
            except KeyboardInterrupt:
                print("interrupted", flush=True)
            """
        )
    )
    text = tmp_path / "own.toml"
    text.write_text(BASE)
    with subprocess.Popen([sys.executable, program, text], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert "asked" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        try:
            output, _ = process.communicate(timeout=60)
        finally:
            process.kill()
    assert output.splitlines()[-1].endswith("interrupted")
    assert len(output.splitlines()) < 200


def test_callbacks_that_nobody_calls_are_refused() -> None:
    class Typo(headway.CongestionControl):
        def on_ack(self, ack: headway.Ack) -> None:
            self.cwnd += ack.acked

        def on_congestoin(self, event: headway.Congestion) -> None:
            self.ssthresh = event.flight / 2

    scenario = headway.Scenario.parse(BASE).with_policies("own")
    with pytest.raises(TypeError, match=r"Typo has on_congestoin, which nobody calls; there are on_ack, on_congestion"):
        scenario.run(controls={"mine": Typo})


def test_a_sweep_on_processes_gives_the_bytes_of_one_on_threads() -> None:
    scenario = headway.Scenario.parse(BASE)
    values = {"topology.link.delay": ["10us", "30us"]}
    here = headway.sweep(scenario, values, repeats=1, controls={"mine": Reno})
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes:
        there = headway.sweep(scenario, values, repeats=1, controls={"mine": Reno}, executor=processes)
        assert _rows(here, "own") == _rows(there, "own") != []
        with pytest.raises(ZeroDivisionError) as caught:
            headway.sweep(scenario, values, repeats=1, controls={"mine": Divides}, executor=processes)
    assert "congestion control `mine` failed in on_ack" in "".join(traceback.format_exception(caught.value))


def test_runs_with_own_policies_are_not_kept_in_a_store(tmp_path: Path) -> None:
    scenario = headway.Scenario.parse(BASE).with_policies("own")
    made: list[int] = []

    class Counts(Reno):
        def __init__(self) -> None:
            super().__init__()
            made.append(self.flow.id)

    for _ in range(2):
        headway.sweep(scenario, repeats=1, controls={"mine": Counts}, store=tmp_path / "store")
    assert made[: len(made) // 2] == made[len(made) // 2 :] != []
