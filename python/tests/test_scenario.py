from __future__ import annotations

import os
import pickle
from datetime import timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import headway
from headway import Scenario, ScenarioError
from headway.units import Mbps, us

from .conftest import SMALL


def test_bundled_scenarios_are_those_of_the_folder(root: Path) -> None:
    files = sorted(path.name for path in (root / "scenarios").glob("*.toml"))
    assert headway.bundled() == [name.removesuffix(".toml") for name in files]


def test_a_scenario_says_its_parts(small: Scenario) -> None:
    assert (small.name, small.duration, small.repeats, small.seed) == ("small", "10ms", 2, 1)
    assert small.policies == ["tcp", "cubic"]
    assert small.traffics == ["bulk"]
    assert small.sweep == {"delay": ["1us", "20us"], "window": [2, 10]}
    assert (small.points, small.claims, small.source) == (4, 1, None)


def test_a_file_a_folder_and_a_name_are_loaded(tmp_path: Path) -> None:
    (tmp_path / "scenario.toml").write_text(SMALL)
    assert headway.load(tmp_path) == headway.load(tmp_path / "scenario.toml") == Scenario.parse(SMALL)
    assert headway.load("example-incast").name == "example-incast"
    assert headway.load("example-incast.toml") == headway.load("example-incast")


def test_what_is_not_there_is_an_error_with_a_hint(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="did you mean 'example-incast'"):
        headway.load("example-incats")
    (tmp_path / "latin.toml").write_bytes(b'name = "a"\nabout = "caf\xe9"\n')
    with pytest.raises(ScenarioError, match="line 2 is not UTF-8"):
        headway.load(tmp_path / "latin.toml")


def test_what_is_no_file_or_too_large_is_refused_unread(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, Path("/dev/zero")):
        with pytest.raises(ScenarioError, match="it is not a regular file"):
            headway.load(path)
    huge = tmp_path / "huge.toml"
    with huge.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(ScenarioError, match="at most 4 MB"):
        headway.load(huge)


def test_an_error_has_the_place_of_each_problem() -> None:
    text = SMALL.replace("left = 2", "lefd = 2").replace('"100Mbps"', '"100"')
    with pytest.raises(ScenarioError) as caught:
        Scenario.parse(text)
    error = caught.value
    lines = text.splitlines()
    assert error.path == "<text>"
    # `left` is missing in the table, and `lefd` is unknown
    assert (error.line, error.column) == (lines.index("[topology]") + 1, 1)
    assert lines.index("lefd = 2") + 1 in [problem.line for problem in error.problems]
    assert [problem.line for problem in error.problems] == sorted(problem.line or 0 for problem in error.problems)
    rate = next(problem for problem in error.problems if "100" in problem.message)
    assert lines[(rate.line or 0) - 1].startswith("bottleneck")
    assert "lefd = 2" in str(error)
    assert "`left`" in error.problems[0].message
    assert isinstance(error, headway.Error)


def test_errors_can_be_pickled() -> None:
    with pytest.raises(ScenarioError) as caught:
        Scenario.parse("name = 3")
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.problems, again.line) == (
        str(caught.value),
        caught.value.problems,
        caught.value.line,
    )
    stopped = pickle.loads(pickle.dumps(headway.Interrupted("stopped", 1, 2, "folder")))
    assert (str(stopped), stopped.done, stopped.total, stopped.path) == ("stopped", 1, 2, "folder")


@pytest.mark.parametrize("name", headway.bundled())
def test_every_bundled_scenario_makes_the_round_trip(name: str) -> None:
    scenario = headway.load(name)
    assert Scenario.parse(scenario.to_toml()) == scenario
    assert pickle.loads(pickle.dumps(scenario)) == scenario
    assert hash(scenario) == hash(headway.load(name))
    built = Scenario.build(scenario.to_record())
    assert built.show() == scenario.show()
    assert Scenario.build(built.to_record()) == built
    assert built.to_record() == scenario.to_record()


def test_a_changed_scenario_makes_the_round_trip(small: Scenario) -> None:
    changed = small.set("topology.bottleneck.rate", 10 * Mbps).quick().with_policies("cubic")
    assert changed != small
    assert changed.policies == ["cubic"]
    again = Scenario.parse(changed.to_toml())
    assert again == changed
    assert hash(again) == hash(changed)
    assert pickle.loads(pickle.dumps(changed)) == changed
    assert small.policies == ["tcp", "cubic"]


@pytest.mark.parametrize("delay", ["5us", 5 * us, timedelta(microseconds=5)])
def test_quantities_are_text_numbers_with_units_and_timedeltas(small: Scenario, delay: object) -> None:
    changed = small.set("topology.bottleneck.delay", delay)
    assert changed.to_dict()["topology"]["bottleneck"]["delay"] == "5us"  # type: ignore[index, call-overload]


def test_arrays_and_numbers_of_numpy_are_values(small: Scenario) -> None:
    changed = small.with_sweep({"window": np.arange(2, 5)}).set("topology.link.loss", np.float64(0.25))
    assert changed.sweep["window"] == [2, 3, 4]
    assert small.with_sweep({"window": pd.Series([3, 4])}).sweep["window"] == [3, 4]


def test_several_keys_are_set_together(small: Scenario) -> None:
    # neither of the two alone is a scenario: the sweep would be of a name that nothing uses
    changed = small.set({"topology.link.delay": "1us", "sweep": {"window": [4]}})
    assert changed.sweep == {"window": [4]}


def test_a_key_that_is_unknown_is_an_error_with_its_place(small: Scenario) -> None:
    with pytest.raises(ScenarioError) as caught:
        small.set("topology.link.dealy", "5us")
    assert caught.value.path == "--set"
    assert "delay" in str(caught.value)


@pytest.mark.parametrize(
    ("key", "value", "error"),
    [
        (3, 1, TypeError),
        ("repeats", None, TypeError),
        ("repeats", object(), TypeError),
        ("repeats", b"3", TypeError),
        ("measure.series", {"queue", "cwnd"}, TypeError),
        ("about", "\ud800", ValueError),
        ("a=b", 1, ValueError),
        ("topology.link.loss", float("nan"), ValueError),
        ("repeats", 0, ScenarioError),
        ("repeats", "three", ScenarioError),
        ("topology.link.delay", 5, ScenarioError),
    ],
)
def test_values_that_do_not_fit_are_errors(small: Scenario, key: str, value: object, error: type[Exception]) -> None:
    with pytest.raises(error):
        small.set(key, value)


def test_text_with_quotes_and_markup_stays_text(small: Scenario) -> None:
    about = 'a "quoted" \\ <b>text</b>\twith = signs'
    changed = small.set("about", about)
    assert changed.about == about
    assert Scenario.parse(changed.to_toml()).about == about


def test_policies_that_are_not_there_are_errors(small: Scenario) -> None:
    with pytest.raises(ScenarioError, match="there is no policy `cubik`"):
        small.with_policies("cubik")
    with pytest.raises(TypeError):
        small.with_policies()
    only = small.with_policies("cubic")
    assert only.left_out_claims == ["Larger windows finish sooner"]


def test_hosts_are_of_a_known_kind(small: Scenario) -> None:
    with pytest.raises(ValueError, match="modelled, linux, namespaces"):
        small.with_hosts("windows")


def test_keys_are_swept(small: Scenario) -> None:
    varied = small.with_sweep({"topology.bottleneck.rate": ["10Mbps", 100 * Mbps], "window": [4]})
    assert varied.sweep == {"delay": ["1us", "20us"], "window": [4], "rate": ["10Mbps", "100Mbps"]}
    # a name that is taken becomes longer
    longer = small.with_sweep({"topology.bottleneck.delay": ["1us", "2us"]})
    assert longer.sweep["topology-bottleneck-delay"] == ["1us", "2us"]
    with pytest.raises(ScenarioError):
        small.with_sweep({"topology.bottleneck.rat": ["10Mbps"]})
    with pytest.raises(TypeError):
        small.with_sweep({"topology.bottleneck.rate": "10Mbps"})


def test_half_a_character_is_a_value_error(small: Scenario) -> None:
    with pytest.raises(ValueError, match="half a character"):
        Scenario.parse("name = '\ud800'")
    with pytest.raises(ValueError, match="half a character"):
        small.set("about", "\ud800")
    with pytest.raises(ValueError, match="half a character"):
        Scenario.build({"name": "\udc00"})


def test_check_finds_what_only_plans_find(small: Scenario) -> None:
    small.check()
    missing = small.set("traffic.bulk.size", {"kind": "cdf", "file": "not-there.csv"})
    with pytest.raises(ScenarioError, match=r"not-there\.csv"):
        missing.check()


def test_the_topology_says_hosts_and_links(small: Scenario) -> None:
    topology = small.topology()
    assert len(topology.hosts) == 3
    assert len(topology.switches) == 2
    assert len(topology.links) == 2 * 4
    assert len(topology.groups["sender"]) == 2
    assert set(topology.groups["sender"]) <= set(topology.hosts)
    slowest = [link for link in topology.links if link.rate == "100Mbps"]
    assert {link.source for link in slowest} == set(topology.switches)
    assert all(link.limit == "64KB" for link in slowest)


@pytest.mark.parametrize("name", ["small", "example-websearch"])
def test_pages_for_notebooks_have_no_markup_of_the_scenario(small: Scenario, name: str) -> None:
    scenario = small if name == "small" else headway.load(name)
    scenario = scenario.set("about", "<script>alert(1)</script> & more")
    pages = [scenario._repr_html_(), scenario.topology()._repr_html_()]
    for page in pages:
        assert "<script" not in page
        assert len(page) < 100_000
    assert "&lt;script&gt;" in pages[0]
    assert "<svg" in small.topology()._repr_html_()


def test_parse_wants_text() -> None:
    with pytest.raises(TypeError):
        Scenario.parse(b"name")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        Scenario.build(3)  # type: ignore[arg-type]
    with pytest.raises(ScenarioError):
        Scenario.parse("x" * 5_000_000)
