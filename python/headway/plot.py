"""Figures of results, with matplotlib (``pip install 'headway[plot]'``).

Every function takes ``ax=``, the axes to draw on (a new figure's if None), and gives the axes back. Colours are those
of Okabe and Ito, which the colour-blind can tell apart (jfly.uni-koeln.de/color), and each policy has a marker, too.
Times are drawn in ms, rates in Mbit/s, amounts in KB.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from headway import _native
from headway._result import Result
from headway._table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

__all__ = ["cdf", "fct", "series", "slowdown"]

_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#b8a800")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")

# the unit of tables: the unit drawn, and what to divide by
_DRAWN = {
    "s": ("ms", 1e-3),
    "ns": ("ms", 1e6),
    "bit/s": ("Mbit/s", 1e6),
    "bps": ("Mbit/s", 1e6),
    "B": ("KB", 1e3),
    "bytes": ("KB", 1e3),
    "ratio": ("", 1.0),
}


class _Place(NamedTuple):
    """A row of the summary that is a point of a line."""

    policy: str
    at: tuple[str, ...]
    x: float | None
    value: float
    low: float
    high: float
    unit: str


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(layout="constrained")[1]


def _style(index: int) -> dict[str, Any]:
    return {"color": _COLOURS[index % len(_COLOURS)], "marker": _MARKERS[index % len(_MARKERS)]}


def _chosen(result: Result, policies: Sequence[str] | None) -> list[str]:
    if policies is None:
        return result.policies
    if isinstance(policies, str):
        raise TypeError("policies is a list of names")
    unknown = [name for name in policies if name not in result.policies]
    if unknown:
        raise ValueError(f"there is no policy {unknown[0]!r}; there are {', '.join(result.policies)}")
    return list(policies)


def _only(kind: str, wanted: str | None, known: Iterable[str]) -> str:
    """Give the wanted name, or the only one that there is."""
    names = list(dict.fromkeys(known))
    if wanted is None:
        if not names:
            raise ValueError(f"the result has no {kind}")
        if len(names) > 1:
            raise ValueError(f"name one {kind} of {', '.join(names)}")
        return names[0]
    if wanted not in names:
        raise ValueError(f"there is no {kind} {wanted!r}; there are {', '.join(names)}")
    return wanted


def _text_column(table: Table, name: str) -> list[str]:
    """Give the swept values of a table as the scenario writes them."""
    text = f"sweep_{name}_text"
    return [str(value) for value in table[text if text in table else f"sweep_{name}"]]


def _number_column(table: Table, name: str) -> tuple[list[float | None], str]:
    """Give the swept values of a table as numbers, where they are some, and their unit."""
    if f"sweep_{name}_text" in table:
        return list(table.floats(f"sweep_{name}")), ""
    for unit in ("ns", "bps", "bytes"):
        if f"sweep_{name}_{unit}" in table:
            drawn, scale = _DRAWN[unit]
            return [value / scale for value in table.floats(f"sweep_{name}_{unit}")], drawn
    return [None] * len(table), ""


def _at(result: Result, at: Mapping[str, object] | None, free: str | None = None) -> dict[str, str]:
    """Give a value for every swept name but `free`: as asked, else the first."""
    wanted = {name: str(value) for name, value in (at or {}).items()}
    for name, value in wanted.items():
        if name not in result.sweep:
            raise ValueError(f"nothing is swept by the name {name!r}; there are {', '.join(result.sweep) or 'none'}")
        if value not in result.sweep[name]:
            raise ValueError(f"{name} does not take {value!r}; it takes {', '.join(result.sweep[name])}")
    return {name: wanted.get(name, values[0]) for name, values in result.sweep.items() if name != free}


def _rows_at(table: Table, at: Mapping[str, str]) -> NDArray[np.bool_]:
    rows = np.ones(len(table), dtype=bool)
    for name, value in at.items():
        rows &= np.asarray(_text_column(table, name), dtype=object) == value
    return rows


def _title(at: Mapping[str, str]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in at.items())


def fct(
    result: Result,
    ax: Axes | None = None,
    *,
    metric: str = "fct.mean",
    traffic: str | None = None,
    sweep: str | None = None,
    at: Mapping[str, object] | None = None,
    policies: Sequence[str] | None = None,
    published: bool = True,
) -> Axes:
    """Draw a metric against a swept value: a line for each policy with its 95 % band.

    Parameters
    ----------
    result : Result
        The results.
    ax : matplotlib.axes.Axes or None
        Where to draw.
    metric : str
        A metric of the summary, such as ``"fct.mean"``, ``"fct.p99"``, ``"goodput.mean"``.
    traffic : str or None
        The traffic; needed if several have the metric.
    sweep : str or None
        The swept name of the axis; the first one if None. Without a sweep, policies are drawn side by side.
    at : mapping or None
        Values of the other swept names; the first of each if left out.
    policies : sequence of str or None
        The policies, in order; all if None.
    published : bool
        Draw the numbers that the scenario's claims quote for this metric as hollow markers.

    Returns
    -------
    matplotlib.axes.Axes
        With times in ms, rates in Mbit/s.

    Raises
    ------
    ValueError
        If there is no such metric, traffic, policy or swept value.
    """
    chosen = _chosen(result, policies)
    name = None if not result.sweep and sweep is None else sweep or next(iter(result.sweep))
    if name is not None and name not in result.sweep:
        raise ValueError(f"nothing is swept by the name {name!r}; there are {', '.join(result.sweep) or 'none'}")
    fixed = _at(result, at, name)
    summary = result.summary
    metrics = [str(value) for value in summary["metric"]]
    _only("metric", metric, metrics)
    traffics = [str(value) for value in summary["traffic"]]
    has = [one for one, own in zip(traffics, metrics, strict=True) if own == metric]
    traffic = _only("traffic", traffic, has)
    rows = _rows_at(summary, fixed)
    rows &= (np.asarray(metrics, dtype=object) == metric) & (np.asarray(traffics, dtype=object) == traffic)
    places = _places(summary, rows, name)
    axes = _axes(ax)
    unit, scale = _DRAWN.get(places[0].unit, (places[0].unit, 1.0)) if places else ("", 1.0)
    values = result.sweep[name] if name is not None else [""]
    numbers = {place.at[0]: place.x for place in places} if name is not None else {}
    is_number = bool(numbers) and all(value is not None for value in numbers.values())
    for index, policy in enumerate(chosen):
        own = [place for place in places if place.policy == policy]
        xs = [_x(place, values, is_number) if name is not None else float(index) for place in own]
        _draw_line(axes, policy, index, xs, own, scale, alone=name is None)
    if published:
        _draw_published(result, axes, metric, traffic, name, fixed, chosen, values, numbers, scale)
    if name is None:
        axes.set_xticks(range(len(chosen)), chosen)
    else:
        if not is_number:
            axes.set_xticks(range(len(values)), values)
        axes.set_xlabel(f"{name}{_in(_number_column(summary, name)[1]) if is_number else ''}")
        axes.legend()
    axes.set_ylabel(f"{traffic}: {metric}{_in(unit)}")
    axes.set_title(_title(fixed))
    return axes


def _draw_line(
    axes: Axes, policy: str, index: int, xs: list[float], places: list[_Place], scale: float, *, alone: bool
) -> None:
    """Draw the points of a policy with their intervals: a line with a band, or bars if there is no sweep."""
    ys = np.asarray([place.value for place in places]) / scale
    low, high = (np.asarray([getattr(place, end) for place in places]) / scale for end in ("low", "high"))
    # Repeats that agree have no interval: the band has no width there, and no gap.
    low, high = (np.where(np.isnan(end), ys, end) for end in (low, high))
    style = _style(index)
    if alone:
        error = np.nan_to_num(np.vstack([ys - low, high - ys]))
        axes.errorbar(xs, ys, yerr=error, label=policy, capsize=3, **style)
    else:
        axes.plot(xs, ys, label=policy, markersize=4, **style)
        axes.fill_between(xs, low, high, color=style["color"], alpha=0.2, linewidth=0)


def _in(unit: str) -> str:
    return f" in {unit}" if unit else ""


def _x(place: _Place, values: list[str], is_number: bool) -> float:
    return place.x if is_number and place.x is not None else float(values.index(place.at[0]))


def _places(summary: Table, rows: NDArray[np.bool_], name: str | None) -> list[_Place]:
    texts = _text_column(summary, name) if name is not None else [""] * len(summary)
    numbers = _number_column(summary, name)[0] if name is not None else [None] * len(summary)
    columns = [summary.floats(column) for column in ("value", "ci95_low", "ci95_high")]
    policies, units = summary["policy"], summary["unit"]
    return [
        _Place(str(policies[i]), (texts[i],), numbers[i], columns[0][i], columns[1][i], columns[2][i], str(units[i]))
        for i in np.flatnonzero(rows)
    ]


def _draw_published(
    result: Result,
    axes: Axes,
    metric: str,
    traffic: str,
    name: str | None,
    fixed: Mapping[str, str],
    chosen: list[str],
    values: list[str],
    numbers: Mapping[str, float | None],
    scale: float,
) -> None:
    """Draw what claims say that the source printed, once for each policy and point; paler where it is doubtful."""
    points: dict[tuple[str, str], tuple[float, bool]] = {}
    for policy, at, value, suspect in _published(result, metric, traffic):
        if policy in chosen and all(at.get(other, own) == own for other, own in fixed.items()):
            points.setdefault((policy, at.get(name, "") if name else ""), (value, suspect))
    for index, policy in enumerate(chosen):
        for doubtful, label in ((False, f"{policy}, published"), (True, f"{policy}, published, doubtful")):
            xs, ys = [], []
            for (own, text), (value, suspect) in points.items():
                if own != policy or suspect != doubtful or (name is not None and text not in values):
                    continue
                number = numbers.get(text)
                x = float(index) if name is None else float(values.index(text)) if number is None else number
                xs.append(x)
                ys.append(value / scale)
            if xs:
                style = _style(index) | {"linestyle": "", "markerfacecolor": "none", "markersize": 8}
                axes.plot(xs, ys, label=label, alpha=0.4 if doubtful else 1.0, **style)


def _published(result: Result, metric: str, traffic: str) -> Iterable[tuple[str, dict[str, str], float, bool]]:
    """Give policy, point, number (in the unit of the summary) and doubt of what claims quote for a metric."""
    written = json.loads(_native.from_toml(result.scenario_toml, "scenario.toml")).get("claim", [])
    tables = {claim.get("text"): claim for claim in written}
    for claim in result.claims:
        table = tables.get(claim.text, {})
        sides = table.get("less") or table.get("greater") or [table.get("near") or table.get("between") or {}]
        sides = [side for side in sides if isinstance(side, dict)]  # the other one is a value
        for case in claim.cases:
            printed = case.published or claim.published
            point = dict(part.split(" = ", 1) for part in case.point.split(", ") if " = " in part)
            for side, one in zip(sides, printed, strict=False):
                plain = side.get("value") == metric and "minus" not in side and side.get("traffic", traffic) == traffic
                if plain and one.value is not None:
                    own = {name: str(value) for name, value in side.get("at", {}).items()}
                    yield side.get("policy", ""), point | own, one.value, case.suspect


def cdf(
    result: Result,
    ax: Axes | None = None,
    *,
    traffic: str | None = None,
    at: Mapping[str, object] | None = None,
    policies: Sequence[str] | None = None,
) -> Axes:
    """Draw the shares of flows that finished within a time.

    Flows that did not finish count: a curve then ends below 1.

    Parameters
    ----------
    result : Result
        The results; flows of all repeats are taken together.
    ax : matplotlib.axes.Axes or None
        Where to draw.
    traffic : str or None
        The traffic; needed if there are several.
    at : mapping or None
        Values of swept names; the first of each if left out.
    policies : sequence of str or None
        The policies, in order; all if None.

    Returns
    -------
    matplotlib.axes.Axes
        With a logarithmic axis of ms.

    Raises
    ------
    ValueError
        If there is no such traffic, policy or swept value.
    """
    chosen = _chosen(result, policies)
    flows = result.flows
    traffic = _only("traffic", traffic, map(str, flows["traffic"]))
    fixed = _at(result, at)
    rows = _rows_at(flows, fixed) & (np.asarray(flows["traffic"], dtype=object) == traffic)
    times = np.asarray(flows.floats("fct_ps")) / 1e9
    names = np.asarray(flows["policy"], dtype=object)
    axes = _axes(ax)
    for index, policy in enumerate(chosen):
        own = times[rows & (names == policy)]
        finished = np.sort(own[~np.isnan(own)])
        if not len(finished):
            continue
        shares = np.arange(1, len(finished) + 1) / len(own)
        axes.step(finished, shares, where="post", label=policy, color=_style(index)["color"])
    axes.set_xscale("log")
    axes.set_ylim(0, 1.02)
    axes.set_xlabel("FCT in ms")
    axes.set_ylabel(f"share of flows of {traffic}")
    axes.set_title(_title(fixed))
    axes.legend()
    return axes


def slowdown(
    result: Result,
    ax: Axes | None = None,
    *,
    traffic: str | None = None,
    at: Mapping[str, object] | None = None,
    policies: Sequence[str] | None = None,
    bins: int = 12,
) -> Axes:
    """Draw slowdown (FCT over that on an idle network) by size of flow: median and 99th percentile.

    Parameters
    ----------
    result : Result
        The results; flows of all repeats are taken together. Unfinished flows count as slower than all others, so a
        line has a gap where its percentile falls among them.
    ax : matplotlib.axes.Axes or None
        Where to draw.
    traffic : str or None
        The traffic; needed if there are several.
    at : mapping or None
        Values of swept names; the first of each if left out.
    policies : sequence of str or None
        The policies, in order; all if None.
    bins : int
        Classes of sizes, of equal widths on a logarithmic axis.

    Returns
    -------
    matplotlib.axes.Axes
        With logarithmic axes, sizes in KB.

    Raises
    ------
    ValueError
        If there is no such traffic, policy or swept value, or no flow with a known slowdown.
    """
    if bins < 1:
        raise ValueError(f"there is at least one class of sizes, unlike {bins}")
    chosen = _chosen(result, policies)
    flows = result.flows
    traffic = _only("traffic", traffic, map(str, flows["traffic"]))
    fixed = _at(result, at)
    rows = _rows_at(flows, fixed) & (np.asarray(flows["traffic"], dtype=object) == traffic)
    ideals = np.asarray(flows.floats("ideal_ps"))
    ratios = np.asarray(flows.floats("fct_ps")) / ideals
    sizes = np.asarray(flows.floats("bytes")) / 1e3
    rows &= np.isfinite(ideals) & np.isfinite(sizes)
    if not rows.any():
        raise ValueError(f"no flow of {traffic} has a known slowdown here")
    least, most = sizes[rows].min(), sizes[rows].max()
    edges = np.geomspace(least, most * (1 + 1e-9), bins + 1) if most > least else np.asarray([least, least * 1.01])
    names = np.asarray(flows["policy"], dtype=object)
    axes = _axes(ax)
    for index, policy in enumerate(chosen):
        own = rows & (names == policy)
        classes = np.digitize(sizes[own], edges) - 1
        style = _style(index)
        for share, line, label in ((50, "-", policy), (99, ":", f"{policy}, p99")):
            places, heights = [], []
            for number in np.unique(classes):
                inside = ratios[own][classes == number]
                places.append(float(np.median(sizes[own][classes == number])))
                heights.append(_percentile(inside, share))
            axes.plot(places, heights, linestyle=line, label=label, markersize=4, **style)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("size in KB")
    axes.set_ylabel(f"slowdown of {traffic}")
    axes.set_title(_title(fixed))
    axes.legend()
    return axes


def _percentile(values: NDArray[np.float64], share: float) -> float:
    """Interpolate linearly, as in summaries; nan counts as larger than all, and is what falls among them."""
    finished = np.sort(values[np.isfinite(values)])
    rank = (len(values) - 1) * share / 100
    low, part = int(rank), rank % 1
    if low + (part > 0) >= len(finished):
        return float("nan")
    return float(finished[low] + (part * (finished[low + 1] - finished[low]) if part else 0))


def series(
    result: Result,
    metric: str,
    ax: Axes | None = None,
    *,
    entities: Sequence[str] | None = None,
    at: Mapping[str, object] | None = None,
    policies: Sequence[str] | None = None,
    repeat: int = 0,
    most: int = 8,
) -> Axes:
    """Draw samples over time.

    Parameters
    ----------
    result : Result
        The results.
    metric : str
        A metric of the series, such as ``"queue_bytes"``, ``"cwnd_bytes"``, ``"goodput_bps"``.
    ax : matplotlib.axes.Axes or None
        Where to draw.
    entities : sequence of str or None
        What was sampled: ports such as ``"a>b"``, flows such as ``"bulk/0"``; those with the largest values if None.
    at : mapping or None
        Values of swept names; the first of each if left out.
    policies : sequence of str or None
        The policies; the first one if None.
    repeat : int
        The repeat, from 0.
    most : int
        So many entities are drawn if they are not named.

    Returns
    -------
    matplotlib.axes.Axes
        Over time in ms; the metric in KB, Mbit/s, ms or its own unit.

    Raises
    ------
    ValueError
        If there is no such metric, policy or swept value.
    """
    chosen = _chosen(result, policies)[: None if policies is not None else 1]
    table = result.series
    _only("metric", metric, map(str, table["metric"]))
    fixed = _at(result, at)
    rows = _rows_at(table, fixed) & (np.asarray(table["metric"], dtype=object) == metric)
    rows &= np.asarray(table["repeat"]) == repeat
    times, values = np.asarray(table.floats("time_ps")) / 1e9, np.asarray(table.floats("value"))
    names, all_entities = np.asarray(table["policy"], dtype=object), np.asarray(table["entity"], dtype=object)
    unit, scale = _DRAWN.get(metric.rsplit("_", 1)[-1], ("", 1.0))
    axes = _axes(ax)
    for number, policy in enumerate(chosen):
        own = rows & (names == policy)
        peaks = {str(one): float(values[own & (all_entities == one)].max()) for one in np.unique(all_entities[own])}
        drawn = entities if entities is not None else sorted(peaks, key=lambda one: (-peaks[one], one))[:most]
        for index, entity in enumerate(drawn):
            one = own & (all_entities == entity)
            label = f"{policy}: {entity}" if len(chosen) > 1 else entity
            line = ("-", "--", ":", "-.")[number % 4]
            axes.plot(times[one], values[one] / scale, line, label=label, color=_style(index)["color"], linewidth=1)
    axes.set_xlabel("time in ms")
    axes.set_ylabel(f"{metric.rsplit('_', 1)[0].replace('_', ' ')}{_in(unit)}")
    axes.set_title(_title(fixed))
    axes.legend(fontsize="small")
    return axes
