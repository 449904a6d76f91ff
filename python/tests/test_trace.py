from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

import headway
from headway import CaptureError, ResultsError
from headway.units import KB

CAPTURE = Path(__file__).resolve().parents[1] / "notebooks" / "rack.pcap.gz"


def test_the_capture_is_what_its_script_says() -> None:
    trace = headway.trace(CAPTURE)
    # the front-end and the store of python/tools/make_capture.py, and eight servers
    assert trace.report["hosts"] == 10
    (view,) = trace.report["flows"]
    classes = {row["class"]: row for row in view["classes"]}
    assert classes["long"]["flows"] == 6
    assert (classes["burst"]["receivers"], classes["long"]["receivers"]) == (1, 1)
    assert trace.warnings == []
    assert trace.errors == []
    assert "[[traffic]]" in trace.traffic
    assert "<script" not in trace._repr_html_()


def test_a_scenario_of_a_capture_can_be_run() -> None:
    trace = headway.trace([CAPTURE])
    scenario = trace.scenario().set({"repeats": 1, "duration": "50ms"})
    assert scenario.run().flows.num_rows > 10


def test_tables_are_kept_in_a_folder_that_is_named(tmp_path: Path) -> None:
    trace = headway.trace(CAPTURE, out=tmp_path / "out", short=50 * KB)
    assert trace.path == tmp_path / "out"
    rows = pq.read_table(trace.path / "flows.parquet").num_rows
    assert rows == sum(row["flows"] for row in trace.report["flows"][0]["classes"])
    with pytest.raises(ResultsError, match="not empty"):
        headway.trace(CAPTURE, out=tmp_path / "out")


def test_a_temporary_folder_goes_with_the_trace() -> None:
    trace = headway.trace(CAPTURE)
    folder = trace.path
    assert folder.exists()
    del trace
    assert not folder.exists()


def test_a_scenario_keeps_the_folder_of_its_trace() -> None:
    scenario = headway.trace(CAPTURE).scenario().set({"repeats": 1, "duration": "50ms"})
    folder = Path(scenario._folder)
    assert folder.exists()
    assert scenario.run().flows.num_rows > 10
    del scenario
    assert not folder.exists()


def test_what_is_no_capture_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="nowhere"):
        headway.trace(tmp_path / "nowhere.pcap")
    (tmp_path / "text.pcap").write_text("not a capture at all, but long enough to be looked at")
    with pytest.raises(CaptureError):
        headway.trace(tmp_path / "text.pcap")


@pytest.mark.parametrize(
    "settings",
    [
        {"idle": "0s"},
        {"short": "2MB"},
        {"window": "1 parsec"},
        {"host": "example"},
        {"max_flows": 0},
        {"burst": 70_000},
    ],
)
def test_settings_that_do_not_fit_are_value_errors(settings: dict[str, object]) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 # each has a message of its own
        headway.trace(CAPTURE, **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize("settings", [{"burst": "4"}, {"burst": True}, {"max_flows": 1e6}])
def test_numbers_that_are_none_are_type_errors(settings: dict[str, object]) -> None:
    with pytest.raises(TypeError, match="whole number"):
        headway.trace(CAPTURE, **settings)  # type: ignore[arg-type]


def test_no_capture_is_an_error() -> None:
    with pytest.raises(ValueError, match="at least one"):
        headway.trace([])
    with pytest.raises(ValueError, match="standard input"):
        headway.trace("-")
