from __future__ import annotations

from collections.abc import Iterator

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axes import Axes

import headway
import headway.plot
from headway import Result

mpl.use("agg")


@pytest.fixture
def axes() -> Iterator[Axes]:
    import matplotlib.pyplot as plt

    figure, one = plt.subplots()
    yield one
    plt.close(figure)


@pytest.fixture(scope="module")
def quoted(small: headway.Scenario) -> Result:
    """Results whose claims quote numbers for two of the four points."""
    claims = [
        {
            "text": f"about the number of windows of {window}",
            "at": {"window": window},
            "near": {"policy": "cubic", "value": "fct.mean", "factor": 1000},
            "published": {"value": f"{value}ms", "source": "figure 1"},
        }
        for window, value in ((2, 8), (10, 5))
    ]
    return small.set("claim", claims).run()


def test_fct_draws_the_summary(result: Result, axes: Axes) -> None:
    assert headway.plot.fct(result, axes, sweep="window") is axes
    lines = {line.get_label(): line for line in axes.lines}
    assert list(lines) == ["tcp", "cubic"]
    rows = result.summary.to_pandas()
    rows = rows[(rows["metric"] == "fct.mean") & (rows["policy"] == "tcp") & (rows["sweep_delay"] == "1us")]
    np.testing.assert_array_equal(lines["tcp"].get_xdata(), [2, 10])
    np.testing.assert_allclose(np.asarray(lines["tcp"].get_ydata(), float), rows["value"] * 1e3)
    assert axes.get_title() == "delay = 1us"
    assert axes.get_ylabel() == "bulk: fct.mean in ms"
    # a band for each policy
    assert len(axes.collections) == 2


def test_swept_text_with_a_unit_is_drawn_as_numbers(result: Result, axes: Axes) -> None:
    headway.plot.fct(result, axes, at={"window": 10}, policies=["cubic"])
    np.testing.assert_allclose(np.asarray(axes.lines[0].get_xdata(), float), [0.001, 0.02])
    assert axes.get_xlabel() == "delay in ms"


def test_published_numbers_are_hollow_markers(quoted: Result, axes: Axes) -> None:
    headway.plot.fct(quoted, axes, sweep="window", at={"delay": "20us"})
    published = [line for line in axes.lines if "published" in str(line.get_label())]
    assert [line.get_label() for line in published] == ["cubic, published"]
    np.testing.assert_allclose(np.asarray(published[0].get_xdata(), float), [2, 10])
    np.testing.assert_allclose(np.asarray(published[0].get_ydata(), float), [8, 5])
    assert published[0].get_markerfacecolor() == "none"
    headway.plot.fct(quoted, axes, sweep="window", published=False, policies=["tcp"])


def test_without_a_sweep_policies_stand_side_by_side(small: headway.Scenario, axes: Axes) -> None:
    windows = {f"policy.{name}.transport.initial-window": 4 for name in small.policies}
    result = small.set({"sweep": {}, "claim": [], "topology.link.delay": "1us", **windows}).run()
    headway.plot.fct(result, axes)
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["tcp", "cubic"]


def test_a_cdf_ends_at_the_share_that_finished(result: Result, axes: Axes) -> None:
    headway.plot.cdf(result, axes, at={"delay": "20us", "window": 10})
    line = axes.lines[0]
    heights = np.asarray(line.get_ydata(), float)
    assert (np.diff(heights) > 0).all()
    assert heights[-1] == pytest.approx(1)
    flows = result.flows.to_pandas()
    own = flows[(flows["policy"] == "tcp") & (flows["sweep_delay"] == "20us") & (flows["sweep_window"] == 10)]
    assert len(heights) == len(own)
    assert axes.get_xscale() == "log"


def test_slowdown_is_at_least_one(result: Result, axes: Axes) -> None:
    headway.plot.slowdown(result, axes)
    for line in axes.lines:
        assert (np.asarray(line.get_ydata(), float) >= 1).all()
    assert len(axes.lines) == 4


def test_unfinished_flows_are_slower_than_all_others(axes: Axes) -> None:
    # by hand: of three flows the slowest is not finished; the median is the second, p99 lies behind it
    assert headway.plot._percentile(np.asarray([4.0, np.nan, 2.0]), 50) == 4
    assert headway.plot._percentile(np.asarray([4.0, 1.0, 2.0]), 75) == 3
    assert np.isnan(headway.plot._percentile(np.asarray([4.0, np.nan, 2.0]), 51))
    assert np.isnan(headway.plot._percentile(np.asarray([np.nan]), 0))
    # the run ends while flows wait for time-outs of 200 ms
    cut = headway.load("example-incast").set({"drain": "400ms", "repeats": 1}).with_policies("tcp").run()
    rows = cut.flows.to_pandas()
    unfinished = rows[rows["sweep_buffer"] == "64KB"]["fct_ps"].isna()
    assert 0.01 < unfinished.mean() < 0.5
    headway.plot.slowdown(cut, axes, at={"buffer": "64KB"})
    median, tail = (np.asarray(line.get_ydata(), float) for line in axes.lines)
    assert np.isfinite(median).all()
    assert np.isnan(tail).all()


def test_series_are_drawn_over_time(result: Result, axes: Axes) -> None:
    headway.plot.series(result, "queue_bytes", axes, most=2, policies=["tcp", "cubic"])
    assert len(axes.lines) == 4
    assert axes.get_ylabel() == "queue in KB"
    times = np.asarray(axes.lines[0].get_xdata(), float)
    # samples are 1 ms apart
    np.testing.assert_allclose(np.diff(times), 1)


@pytest.mark.parametrize(
    ("draw", "settings", "message"),
    [
        ("fct", {"metric": "fct.meen"}, "there is no metric 'fct.meen'"),
        ("fct", {"traffic": "none"}, "there is no traffic 'none'"),
        ("fct", {"sweep": "none"}, "nothing is swept by the name 'none'"),
        ("fct", {"at": {"window": 3}}, "window does not take '3'"),
        ("cdf", {"policies": ["reno"]}, "there is no policy 'reno'"),
        ("cdf", {"at": {"none": 3}}, "nothing is swept by the name 'none'"),
        ("slowdown", {"bins": 0}, "at least one"),
        ("series", {"metric": "rtt_ns"}, "there is no metric 'rtt_ns'"),
    ],
)
def test_names_that_are_not_there_are_errors(
    result: Result, axes: Axes, draw: str, settings: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        getattr(headway.plot, draw)(result, ax=axes, **settings)


def test_a_figure_of_its_own_is_made(result: Result) -> None:
    import matplotlib.pyplot as plt

    axes = headway.plot.cdf(result)
    assert axes.lines
    plt.close("all")
