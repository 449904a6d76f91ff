from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import FrozenInstanceError, fields
from pathlib import Path

import pytest

import headway
from headway import _native
from headway import records as r
from headway.units import B, Gbps, KiB, Quantity, us


def test_the_classes_are_those_of_the_schema(root: Path) -> None:
    script = root / "python" / "tools" / "generate_records.py"
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def test_every_key_of_the_schema_has_a_field() -> None:
    schema = json.loads(_native.schema())
    keys = {key.replace("-", "_") for key in schema["properties"]}
    assert keys == {field.name for field in fields(r.Scenario)}
    kinds = {
        one["properties"]["kind"]["const"]
        for one in schema["$defs"]["topology"]["anyOf"]
        if "const" in one.get("properties", {}).get("kind", {})
    }
    classes = [value for name, value in vars(r).items() if name.endswith("Topology")]
    assert {one._kind for one in classes} == kinds


def scenario() -> r.Scenario:
    return r.Scenario(
        name="built",
        about="Made of records",
        duration="10ms",
        topology=r.DumbbellTopology(
            left=2,
            right=1,
            link=r.Link(rate=10 * Gbps, delay="$delay"),
            bottleneck=r.LinkChange(rate="1Gbps"),
            queue=r.RedQueue(limit="64KB", ecn=True),
        ),
        hosts={"all": r.Hosts(count=3)},
        traffic=[
            r.FlowsTraffic(
                name="bulk",
                to="all",
                size=r.ExponentialSize(mean=64 * KiB),
                arrival=r.PoissonArrival(mean=100 * us),
            )
        ],
        policy=[
            r.Policy(name="tcp", transport=r.TcpTransport(control="dctcp", ecn=True)),
            r.Policy(name="pair", transport=r.TcpTransport(), replicate=r.Replicate(below="100KB")),
        ],
        sweep={"delay": ["1us", "5us"]},
        measure=r.Measure(series=["queue"], interval="1ms"),
    )


def test_records_make_a_scenario() -> None:
    built = headway.Scenario.build(scenario())
    assert built.policies == ["tcp", "pair"]
    assert built.sweep == {"delay": ["1us", "5us"]}
    assert built.to_dict()["topology"]["link"]["rate"] == "10Gbps"  # type: ignore[index, call-overload]
    topology = built.to_record().topology
    assert isinstance(topology, r.DumbbellTopology)
    assert topology.queue == r.RedQueue(limit="64KB", ecn=True)


def test_a_mapping_makes_the_same_scenario() -> None:
    built = headway.Scenario.build(scenario())
    assert headway.Scenario.build(scenario().to_dict()) == built
    assert headway.Scenario.build(built.to_dict()) == built


def test_records_that_are_wrong_are_scenario_errors() -> None:
    wrong = r.Scenario(
        name="wrong",
        about="",
        duration="1ms",
        topology="dumbbell",
        traffic=[],
        policy=[r.Policy(name="a", transport="tcp")],
    )
    with pytest.raises(headway.ScenarioError) as caught:
        headway.Scenario.build(wrong)
    assert caught.value.path == "<record>"


def test_records_do_not_change() -> None:
    link = r.Link(rate="1Gbps")
    with pytest.raises(FrozenInstanceError):
        link.rate = "2Gbps"  # type: ignore[misc]
    assert r.Measure(series=["queue"]) == r.Measure(series=("queue",))


def test_quantities_are_numbers_with_units() -> None:
    assert str(2.5 * us) == "2.5us"
    assert str(1e-7 * us) == "0.0000001us"
    assert str(10**15 * B) == "1000000000000000B"
    for number in (-1, float("inf"), float("nan")):
        with pytest.raises(ValueError, match="finite and not negative"):
            number * us
    with pytest.raises(TypeError):
        Quantity("1", "us")  # type: ignore[arg-type]
