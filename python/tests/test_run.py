from __future__ import annotations

import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

import headway
from headway import Interrupted, Result, ResultsError, Scenario
from headway._progress import Meter


def same_tables(one: Result, other: Result) -> bool:
    return all(
        (one.path / name).read_bytes() == (other.path / name).read_bytes()
        for name in ("flows.parquet", "series.parquet", "summary.csv")
    )


def test_a_result_says_what_was_run(small: Scenario, result: Result) -> None:
    assert result.name == "small"
    assert result.policies == ["tcp", "cubic"]
    assert result.sweep == {"delay": ["1us", "20us"], "window": ["2", "10"]}
    assert result.manifest["repeats"] == 2
    assert result.scenario_toml == small.to_toml()
    assert headway.load(result.path) == small
    assert not result.temporary
    assert [claim.text for claim in result.claims] == ["Larger windows finish sooner"]
    claim = result.claims[0]
    assert len(claim.cases) == 2
    assert claim.held == all(case.held for case in claim.cases)
    # the mean FCT of 30 KB at 100 Mb/s is more than what the bottleneck alone takes: 2.4 ms
    assert all(case.first.value is not None and case.first.value > 2.4e-3 for case in claim.cases)


def test_results_do_not_depend_on_threads(small: Scenario, result: Result) -> None:
    alone = small.run(threads=1)
    assert alone.temporary
    assert same_tables(alone, result)


def test_seed_and_repeats_are_those_of_the_call(small: Scenario, result: Result) -> None:
    other = small.run(seed=7, repeats=1)
    assert other.manifest["seed"] == 7
    assert other.manifest["repeats"] == 1
    assert other.flows["fct_ps"] != result.flows["fct_ps"]


def test_the_command_gives_the_same_results(small: Scenario, result: Result, tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(small.to_toml())
    command = [sys.executable, "-m", "headway", "run", "small.toml", "--out", "out", "--quiet"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=60, stdout=subprocess.DEVNULL)
    assert same_tables(headway.open(tmp_path / "out"), result)


def test_a_temporary_folder_goes_with_its_result(small: Scenario, tmp_path: Path) -> None:
    one = small.run(repeats=1)
    folder = one.path
    assert folder.exists()
    kept = one.keep(tmp_path / "kept")
    with pytest.raises(TypeError, match="keep"):
        pickle.dumps(one)
    flows = one.flows
    del one
    assert not folder.exists()
    assert flows.num_rows == kept.flows.num_rows > 0
    assert pickle.loads(pickle.dumps(kept)).summary["value"] == kept.summary["value"]
    with pytest.raises(ResultsError):
        kept.keep(tmp_path / "kept")


def test_folders_that_are_taken_are_not_touched(small: Scenario, result: Result, tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match="already holds finished results") as caught:
        small.run(result.path)
    assert caught.value.path == str(result.path)
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(ResultsError, match="not empty"):
        small.run(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_progress_is_told_until_all_runs_are_done(small: Scenario) -> None:
    told: list[tuple[int, int]] = []
    small.run(progress=lambda done, total: told.append((done, total)))
    assert told == sorted(told)
    assert told[-1] == (16, 16)


def test_a_meter_writes_to_stderr(small: Scenario, capfd: pytest.CaptureFixture[str]) -> None:
    small.run(repeats=1, progress=True)
    written = capfd.readouterr()
    assert written.err.splitlines()[-1].startswith("8 of 8 runs")
    assert written.out == ""


def test_progress_stops_a_run_that_is_gone_on_with(small: Scenario, result: Result, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(Interrupted) as caught:
        small.run(out, threads=1, progress=lambda done, total: done < 1)
    error = caught.value
    assert error.total == 16
    assert error.done is not None
    assert error.done < 16
    assert error.path == str(out)
    with pytest.raises(Interrupted):
        headway.open(out)
    with pytest.raises(Interrupted):
        small.run(out)
    with pytest.raises(ResultsError, match="cannot resume"):
        small.run(out, seed=5, resume=True)
    first: list[int] = []
    again = small.run(out, resume=True, progress=lambda done, total: first.append(done))
    assert first[0] >= error.done
    assert same_tables(again, result)


def test_a_temporary_run_that_is_stopped_leaves_nothing(
    small: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(Interrupted) as caught:
        small.run(progress=lambda done, total: False)
    assert caught.value.path is None
    assert list(tmp_path.iterdir()) == []


def test_what_progress_raises_comes_out(small: Scenario) -> None:
    def fail(done: int, total: int) -> None:
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        small.run(progress=fail)


def test_other_threads_go_on_meanwhile(small: Scenario) -> None:
    counted = most = 0
    ended = threading.Event()

    def count() -> None:
        nonlocal counted
        while not ended.is_set():
            counted += 1
            time.sleep(0.001)

    def told(done: int, total: int) -> bool:
        nonlocal counted, most
        if done:
            most = max(most, counted)
        counted = 0
        return most < 10

    thread = threading.Thread(target=count)
    thread.start()
    try:
        # with the lock held for a run, the other thread comes to one or two while this one is in Python
        with pytest.raises(Interrupted):
            small.set("duration", "2s").run(repeats=20, threads=1, progress=told)
    finally:
        ended.set()
        thread.join()
    assert most >= 10


def test_ctrl_c_ends_a_run_and_keeps_what_is_complete(tmp_path: Path) -> None:
    script = textwrap.dedent(
        """
        import sys
        import headway
        sys.path.insert(0, sys.argv[2])
        from tests.conftest import SMALL
        scenario = headway.Scenario.parse(SMALL).set({"duration": "100ms", "repeats": 2000})
        def told(done, total):
            if done:
                print(done, flush=True)
        try:
            scenario.run(sys.argv[1], threads=2, progress=told)
        except KeyboardInterrupt as interrupt:
            print("interrupted:", interrupt)
            sys.exit(42)
        """
    )
    out = tmp_path / "out"
    python = Path(__file__).resolve().parents[1]
    process = subprocess.Popen([sys.executable, "-c", script, str(out), str(python)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline().strip().isdigit()
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate(timeout=60)
    assert process.returncode == 42, rest
    assert f"interrupted: what is complete is kept in {out}" in rest
    assert any((out / "parts").iterdir())


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"seed": -1}, ValueError),
        ({"seed": 2**64}, ValueError),
        ({"seed": "1"}, TypeError),
        ({"repeats": 0}, ValueError),
        ({"repeats": 1.5}, TypeError),
        ({"repeats": True}, TypeError),
        ({"threads": 0}, ValueError),
        ({"progress": 3}, TypeError),
        ({"resume": True}, TypeError),
        ({"out": 3}, TypeError),
    ],
)
def test_settings_that_do_not_fit_are_errors(
    small: Scenario, settings: dict[str, object], error: type[Exception]
) -> None:
    with pytest.raises(error):
        small.run(**settings)  # type: ignore[arg-type]
    if settings.keys() <= {"seed", "repeats"}:
        with pytest.raises(error):
            small.check(**settings)  # type: ignore[arg-type]


def test_a_sweep_is_of_a_scenario() -> None:
    with pytest.raises(TypeError, match=r"headway\.load"):
        headway.sweep("example-incast")  # type: ignore[arg-type]


def test_a_sweep_runs_every_combination(small: Scenario) -> None:
    result = headway.sweep(
        small.with_policies("tcp"),
        {"topology.bottleneck.rate": ["50Mbps", "100Mbps"], "window": [4], "delay": ["1us"]},
        repeats=1,
    )
    assert result.sweep == {"delay": ["1us"], "window": ["4"], "rate": ["50Mbps", "100Mbps"]}
    means = {
        rate: value
        for rate, metric, value in zip(
            result.summary["sweep_rate_bps"], result.summary["metric"], result.summary["value"], strict=True
        )
        if metric == "fct.mean"
    }
    # at half the rate a flow takes longer
    assert means[50e6] > means[100e6]  # type: ignore[operator]


def test_a_report_is_in_the_folder_and_where_it_is_asked_for(small: Scenario, result: Result, tmp_path: Path) -> None:
    assert (result.path / "report.html").stat().st_size < 1_500_000
    page = small.run(repeats=1).report(tmp_path / "page.html")
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    small.run(tmp_path / "without", repeats=1, report=False)
    assert not (tmp_path / "without" / "report.html").exists()
    both = headway.report([result, tmp_path / "without"], tmp_path / "both.html")
    assert "without" in both.read_text(encoding="utf-8")
    with pytest.raises(ResultsError, match="cannot write"):
        result.report(tmp_path / "nowhere" / "page.html")
    with pytest.raises(ResultsError, match="no manifest"):
        headway.report([tmp_path], tmp_path / "none.html")
    with pytest.raises(TypeError):
        headway.report(result, tmp_path / "none.html")  # type: ignore[arg-type]


def test_a_report_takes_results_that_nobody_else_holds(small: Scenario, tmp_path: Path) -> None:
    page = headway.report((small.run(repeats=1, seed=seed) for seed in (1, 2)), tmp_path / "both.html")
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_damaged_folders_are_errors(result: Result, tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match="no manifest"):
        headway.open(tmp_path)
    copy = result.keep(tmp_path / "copy")
    whole = (copy.path / "flows.parquet").read_bytes()
    (copy.path / "flows.parquet").write_bytes(whole[: len(whole) // 2])
    (copy.path / "series.parquet").unlink()
    again = headway.open(copy.path)
    with pytest.raises(ResultsError, match=r"flows\.parquet is damaged"):
        _ = again.flows
    with pytest.raises(ResultsError, match=r"cannot read .*series\.parquet"):
        _ = again.series
    manifest = copy.path / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"format": 1', '"format": 99'))
    with pytest.raises(ResultsError, match="format 99"):
        headway.open(copy.path)


@pytest.mark.parametrize("place", [0.1, 0.3, 0.5, 0.7, 0.9, 0.95, 0.99])
def test_a_changed_byte_of_a_table_is_an_error_or_other_numbers(result: Result, tmp_path: Path, place: float) -> None:
    copy = result.keep(tmp_path / "copy")
    changed = bytearray((copy.path / "flows.parquet").read_bytes())
    changed[int(place * len(changed))] ^= 0xFF
    (copy.path / "flows.parquet").write_bytes(changed)
    try:
        rows = copy.flows.num_rows
    except ResultsError:
        rows = result.flows.num_rows
    assert rows == result.flows.num_rows


def test_a_meter_tells_how_far_runs_are(capfd: pytest.CaptureFixture[str]) -> None:
    look = {"runs": 1, "passed": 0.25, "now_s": 2.5, "end_s": 10.0, "flows": 1200, "packet_hops": 5e6}
    meter = Meter()
    meter._told -= 20  # the last line is long ago
    meter(0, 1)
    capfd.readouterr()
    meter._told -= 20
    meter.within(look)
    line = capfd.readouterr().err
    assert line.startswith("0 of 1 runs, 0 s, about 0 s left, at 2.5 of 10 s, 1200 flows, ")
    assert line.endswith(" M hops/s\n")
