"""Sweeps on executors give the bytes of local runs."""

from __future__ import annotations

import os
import signal
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
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


def test_progress_can_stop_a_sweep(scenario: headway.Scenario, tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as threads, pytest.raises(headway.Interrupted):
        headway.sweep(
            scenario, POINTS, out=tmp_path / "cut", repeats=3, executor=threads, progress=lambda done, _: done < 2
        )


def test_other_things_are_no_executors(scenario: headway.Scenario) -> None:
    with pytest.raises(TypeError, match="executor"):
        headway.sweep(scenario, POINTS, repeats=1, executor="threads")


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
        killed = 0
        last = time.monotonic()

        def kill(done: int, total: int) -> None:
            nonlocal killed, last
            if killed < 2 and done > 0 and time.monotonic() - last > 0.3:
                pids = list(client.run(os.getpid).values())
                os.kill(pids[0], signal.SIGKILL)
                killed += 1
                last = time.monotonic()

        headway.sweep(scenario, POINTS, out=tmp_path / "cluster", repeats=repeats, executor=client, progress=kill)
    assert killed > 0
    assert same(tmp_path / "local", tmp_path / "cluster")
