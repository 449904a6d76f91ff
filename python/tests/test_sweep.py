"""Sweeps on executors give the bytes of local runs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path

import pytest

import headway

POINTS = {"topology.link.delay": ["1us", "2us", "5us"]}


@pytest.fixture
def scenario() -> headway.Scenario:
    """A small one."""
    return headway.load("example-incast").quick()


@pytest.fixture
def local(scenario: headway.Scenario, tmp_path: Path) -> Path:
    """The folder of a run in this process."""
    headway.sweep(scenario, POINTS, out=tmp_path / "local", repeats=3)
    return tmp_path / "local"


def same(one: Path, other: Path) -> bool:
    """Whether two folders have the same results."""
    files = ["flows.parquet", "series.parquet", "summary.csv", "scenario.toml"]
    return all((one / name).read_bytes() == (other / name).read_bytes() for name in files)


def test_threads_and_processes_give_the_same(scenario: headway.Scenario, local: Path, tmp_path: Path) -> None:
    with ThreadPoolExecutor(2) as threads:
        headway.sweep(scenario, POINTS, out=tmp_path / "threads", repeats=3, executor=threads)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes:
        headway.sweep(scenario, POINTS, out=tmp_path / "processes", repeats=3, executor=processes)
    assert same(local, tmp_path / "threads")
    assert same(local, tmp_path / "processes")


def test_a_store_is_filled_and_used(scenario: headway.Scenario, local: Path, tmp_path: Path) -> None:
    counts: list[tuple[int, int]] = []

    def progress(done: int, total: int) -> None:
        counts.append((done, total))

    for name in ["first", "second"]:
        counts.clear()
        headway.sweep(scenario, POINTS, out=tmp_path / name, repeats=3, store=tmp_path / "store", progress=progress)
        assert same(local, tmp_path / name)
    total = counts[-1][1]
    assert counts == [(total, total)]


def local_places() -> Iterator[Executor | None]:
    """This process' threads, and processes."""
    yield None
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes:
        yield processes


def test_a_sweep_that_was_stopped_is_gone_on_with(scenario: headway.Scenario, local: Path, tmp_path: Path) -> None:
    for number, place in enumerate(local_places()):
        out, store = tmp_path / f"out-{number}", tmp_path / f"store-{number}"
        with pytest.raises(headway.Interrupted, match="resume=True") as stopped:
            headway.sweep(
                scenario,
                POINTS,
                out=out,
                repeats=3,
                executor=place,
                store=store,
                progress=lambda done, total: done < 2,
            )
        done, total = stopped.value.done, stopped.value.total
        assert done is not None
        assert total is not None
        assert 2 <= done < total
        assert stopped.value.path == str(out)
        with pytest.raises(headway.Interrupted, match="resume=True"):
            headway.sweep(scenario, POINTS, out=out, repeats=3, executor=place, store=store)
        told: list[int] = []
        headway.sweep(
            scenario,
            POINTS,
            out=out,
            repeats=3,
            executor=place,
            store=store,
            resume=True,
            verify=True,
            report=False,
            progress=lambda done, total, told=told: told.append(done),  # type: ignore[misc]
        )
        # what was under way when it stopped is kept, too
        assert told[0] == done
        assert same(local, out)
        assert not (out / "report.html").exists()


def test_a_sweep_without_an_executor_is_gone_on_with(scenario: headway.Scenario, local: Path, tmp_path: Path) -> None:
    with pytest.raises(headway.Interrupted):
        headway.sweep(scenario, POINTS, out=tmp_path / "out", repeats=3, progress=lambda done, _: done < 2)
    headway.sweep(scenario, POINTS, out=tmp_path / "out", repeats=3, resume=True)
    assert same(local, tmp_path / "out")


@pytest.mark.parametrize("place", ["None", "ProcessPoolExecutor(2, mp_context=get_context('spawn'))"])
def test_ctrl_c_keeps_what_is_complete(scenario: headway.Scenario, tmp_path: Path, place: str) -> None:
    script = textwrap.dedent(
        f"""
        import sys
        import headway
        from concurrent.futures import ProcessPoolExecutor
        from multiprocessing import get_context
        scenario = headway.load("example-incast").quick()
        def told(done, total):
            print(done, flush=True)
        try:
            headway.sweep(
                scenario, {POINTS!r}, out=sys.argv[1], store=sys.argv[2], repeats=2000, executor={place}, progress=told
            )
        except KeyboardInterrupt as interrupt:
            print("interrupted:", interrupt, flush=True)
        """
    )
    out = tmp_path / "out"
    command = [sys.executable, "-c", script, str(out), str(tmp_path / "store")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        while int(process.stdout.readline()) == 0:
            pass
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=120)
    *counts, last = rest.splitlines()
    assert last == f"interrupted: what is complete is kept in {out}; resume=True goes on with it"
    kept: list[int] = []

    def stop(done: int, total: int) -> bool:
        kept.append(done)
        return False

    with pytest.raises(headway.Interrupted):
        headway.sweep(scenario, POINTS, out=out, repeats=2000, resume=True, progress=stop)
    assert kept[0] >= max(int(count) for count in [*counts, "1"])


def test_a_pool_that_breaks_ends_the_sweep_and_the_rest_is_kept(
    scenario: headway.Scenario, local: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes:
        killed = False

        def kill(done: int, total: int) -> None:
            nonlocal killed
            if not killed and done >= 4:
                os.kill(next(iter(processes._processes)), signal.SIGKILL)
                killed = True

        with pytest.raises(BrokenProcessPool):
            headway.sweep(scenario, POINTS, out=out, repeats=3, executor=processes, progress=kill)
    told: list[tuple[int, int]] = []
    headway.sweep(
        scenario, POINTS, out=out, repeats=3, resume=True, progress=lambda done, total: told.append((done, total))
    )
    first, total = told[0]
    assert 4 <= first < total
    assert same(local, out)


def test_other_things_are_no_executors(scenario: headway.Scenario, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="executor"):
        headway.sweep(scenario, POINTS, out=tmp_path / "out", repeats=1, executor="threads")
    # so the folder is free for the call that is meant
    assert not (tmp_path / "out").exists()


def test_settings_that_do_not_go_together_are_errors(scenario: headway.Scenario, tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as threads, pytest.raises(TypeError, match="threads"):
        headway.sweep(scenario, POINTS, repeats=1, executor=threads, threads=2)
    with pytest.raises(TypeError, match="resume"):
        headway.sweep(scenario, POINTS, repeats=1, store=tmp_path / "store", resume=True)
    assert list(tmp_path.iterdir()) == []


def test_a_cluster_that_loses_workers_gives_the_same(scenario: headway.Scenario, tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    repeats = 40
    headway.sweep(scenario, POINTS, out=tmp_path / "local", repeats=repeats)
    with (
        distributed.LocalCluster(
            n_workers=3, processes=True, threads_per_worker=1, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        pids = list(client.run(os.getpid).values())
        lost: list[int] = []
        runs = 0

        def kill(done: int, total: int) -> None:
            nonlocal runs
            runs = total
            # early, while every worker has runs
            if len(lost) < 2 and done >= (len(lost) + 1) * total / 10:
                os.kill(pids[len(lost)], signal.SIGKILL)
                lost.append(done)

        headway.sweep(scenario, POINTS, out=tmp_path / "cluster", repeats=repeats, executor=client, progress=kill)
    assert len(lost) == 2
    assert all(done < runs for done in lost)
    assert same(tmp_path / "local", tmp_path / "cluster")
