from __future__ import annotations

import gc
import json
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headway
from headway import Result


def test_columns_are_those_of_the_file_and_swept_values_once_more(result: Result) -> None:
    file = pq.read_table(result.path / "flows.parquet")
    flows = result.flows
    assert [name for name in flows.column_names if name in file.column_names] == file.column_names
    assert set(flows.column_names) - set(file.column_names) == {"sweep_delay_ns", "sweep_window_text"}
    for name in file.column_names:
        assert flows.column(name) == file.column(name).to_pylist(), name


def test_swept_values_are_numbers_as_well_as_text(result: Result) -> None:
    for table in (result.flows, result.series, result.summary):
        assert set(zip(table["sweep_delay"], table["sweep_delay_ns"], strict=True)) == {
            ("1us", 1000.0),
            ("20us", 20000.0),
        }
        assert set(zip(table["sweep_window"], table["sweep_window_text"], strict=True)) == {
            (2.0, "2"),
            (10.0, "10"),
        }


def test_pyarrow_takes_tables_without_a_copy(result: Result) -> None:
    one, other = pa.table(result.flows), pa.table(result.flows)
    addresses = [
        [buffer.address for chunk in table.column("fct_ps").chunks for buffer in chunk.buffers() if buffer]
        for table in (one, other)
    ]
    # both look at the memory of the one table
    assert addresses[0] == addresses[1] != []
    assert one.schema == pa.schema(result.flows)
    assert result.flows.to_pyarrow() == one


def test_memory_lives_as_long_as_anybody_looks_at_it(small: headway.Scenario) -> None:
    table = pa.table(small.run(repeats=1).flows)
    gc.collect()
    assert table.num_rows > 0
    assert min(value for value in table.column("fct_ps").to_pylist() if value is not None) > 0


def test_pandas_computes_the_summary(result: Result) -> None:
    flows = result.flows.to_pandas()
    assert isinstance(flows, pd.DataFrame)
    assert flows["fct_ps"].dtype == np.float64 or flows["fct_ps"].dtype == np.uint64
    means = flows.groupby(["policy", "sweep_delay", "sweep_window", "repeat"])["fct_ps"].mean()
    ours = means.groupby(level=["policy", "sweep_delay", "sweep_window"]).mean() / 1e12
    summary = result.summary.to_pandas()
    rows = summary[(summary["metric"] == "fct.mean") & (summary["traffic"] == "bulk")]
    assert len(rows) == 8
    for row in rows.itertuples():
        value = ours[(row.policy, row.sweep_delay, row.sweep_window)]
        assert row.unit == "s"
        assert value == pytest.approx(row.value, rel=1e-9)


def test_polars_and_duckdb_see_the_same_rows(result: Result) -> None:
    frame = result.flows.to_polars()
    assert isinstance(frame, pl.DataFrame)
    assert frame.shape == result.flows.shape
    total = frame["bytes"].sum()
    flows = pa.table(result.flows)
    assert total == sum(flows.column("bytes").to_pylist())
    rows = result.flows
    row = duckdb.connect().execute("SELECT count(*), sum(bytes) FROM rows").fetchone()
    assert row == (len(rows), total)


def test_numpy_gets_columns_as_floats(result: Result) -> None:
    values = np.asarray(result.flows.floats("fct_ps"))
    assert values.shape == (len(result.flows),)
    assert np.isnan(values).sum() == sum(value is None for value in result.flows["fct_ps"])
    with pytest.raises(TypeError):
        result.flows.floats("policy")


def test_tables_have_the_two_methods_of_the_interface(result: Result) -> None:
    assert type(result.flows.__arrow_c_schema__()).__name__ == "PyCapsule"
    assert type(result.flows.__arrow_c_stream__()).__name__ == "PyCapsule"
    # a capsule that nobody takes is freed
    for _ in range(1000):
        result.flows.__arrow_c_stream__()


def test_columns_that_are_not_there_are_key_errors(result: Result) -> None:
    with pytest.raises(KeyError, match="fct"):
        result.flows.column("fct")
    with pytest.raises(TypeError):
        result.flows[0]  # type: ignore[index]
    assert "fct_ps" in result.flows
    assert "fct" not in result.flows


def test_a_run_without_programs_has_no_commands(result: Result) -> None:
    commands = result.commands
    assert commands.num_rows == 0
    assert commands.column_names[:2] == ["policy", "sweep_delay"]
    assert commands.column_types["code"] == "Int32"


def test_commands_are_read(result: Result, tmp_path: Path) -> None:
    copy = result.keep(tmp_path / "copy")
    header = (
        "policy,sweep_delay,sweep_window,repeat,traffic,host,start_ns,end_ns,code,ended,"
        "stdout_bytes,stderr_bytes,output"
    )
    file = copy.path / "commands.csv"
    file.write_text(f'{header}\ntcp,1us,2,0,"a,b",h0,5,7,-9,true,1,2,commands/0-0/x\n')
    table = copy.commands
    assert table["code"] == [-9]
    assert table["ended"] == [True]
    assert table["traffic"] == ["a,b"]
    assert table["sweep_delay_ns"] == [1000.0]
    file.write_text(f"{header}\ntcp,1us,2,0,a,h0,5,x,0,true,1,2,o\n")
    with pytest.raises(headway.ResultsError, match=r"commands\.csv is damaged.*end_ns"):
        _ = headway.open(copy.path).commands


def test_pages_for_notebooks_are_small_and_escaped(result: Result, tmp_path: Path) -> None:
    copy = result.keep(tmp_path / "copy")
    manifest = copy.path / "manifest.json"
    changed = json.loads(manifest.read_text())
    changed["warnings"] = ["<script>x</script>"]
    manifest.write_text(json.dumps(changed))
    for page in (headway.open(copy.path)._repr_html_(), result.flows._repr_html_()):
        assert "<script" not in page
        assert len(page) < 50_000
    assert "&lt;script&gt;" in headway.open(copy.path)._repr_html_()
    assert "16 runs" in repr(result)
