// Flow completion times as distributions, and slowdown by size.

/** Choosers of point and traffic among `entries`, and which of them are chosen. */
function cellChoosers(view, entries, changed, first) {
  const chosen = { point: first?.point ?? entries[0].point, traffic: first?.traffic ?? entries[0].traffic };
  const points = present(entries, "point", view.pointName);
  const traffics = present(entries, "traffic", view.trafficName);
  const controls = [
    ...(points.length > 1
      ? [chooser("Point", points, chosen.point, (value) => ((chosen.point = value), changed()))]
      : []),
    ...(traffics.length > 1
      ? [chooser("Traffic", traffics, chosen.traffic, (value) => ((chosen.traffic = value), changed()))]
      : []),
  ];
  const title = () =>
    [
      traffics.length > 1 || view.traffics.length > 1 ? view.trafficName(chosen.traffic) : "",
      points.length > 1 ? view.pointName(chosen.point) : "",
    ]
      .filter(Boolean)
      .join(", ");
  const matching = () => entries.filter((entry) => entry.point === chosen.point && entry.traffic === chosen.traffic);
  return { chosen, controls, title, matching };
}

/** The smallest x at which the share reaches `share`. */
function quantileOf(entry, share) {
  const at = list(entry.y).findIndex((y) => y >= share);
  return at < 0 ? null : entry.x[at];
}

function distributionSection(view, place) {
  const title = "Distribution of flow completion times";
  const entries = view.cdf.filter((entry) => list(entry.x).length);
  if (!entries.length)
    return section(place, title, absent("No flow of a known size finished, or the folder has no flows.parquet."));
  const shape = { kind: "cdf" };
  const cell = cellChoosers(
    view,
    entries,
    () => chart.update(),
    entries.reduce((a, b) => (b.point > a.point || (b.point === a.point && b.n > a.n) ? b : a)),
  );
  const shown = () => view.shown(cell.matching());
  const data = (entry) => {
    const points = entry.x.map((x, i) => [x, entry.y[i]]).filter(([x, y]) => x > 0 && isNumber(y));
    if (shape.kind === "cdf") return points.length ? [[points[0][0], 0], ...points] : [];
    return points.length ? [[points[0][0], 1], ...points.map(([x, y]) => [x, 1 - y])].filter(([, y]) => y > 1e-9) : [];
  };
  const shares = [
    [0.5, "median"],
    [0.99, "p99"],
  ];
  const chart = new Chart({
    view,
    level: place.level + 1,
    controls: [
      segments(
        "Shape",
        [
          ["cdf", "CDF"],
          ["tail", "tail (1 − CDF, log–log)"],
        ],
        "cdf",
        (kind) => ((shape.kind = kind), chart.update()),
      ),
      ...cell.controls,
    ],
    title: () => [shape.kind === "cdf" ? "CDF of FCT" : "Tail of FCT", cell.title()].filter(Boolean).join(", "),
    policies: () => [...new Set(cell.matching().map((entry) => entry.policy))],
    height: (width) => (width < 500 ? 320 : 400),
    note: () => {
      const unfinished = shown().filter((entry) => entry.unfinished > 0);
      return `${counted(
        shown().reduce((sum, entry) => sum + (entry.n || 0), 0),
        "flow",
      )} over all repeats.${unfinished.length ? ` Unfinished: ${unfinished.map((entry) => `${view.styles[entry.policy].name} ${decimal(entry.unfinished)}`).join(", ")}.` : ""}`;
    },
    describe: () =>
      shown()
        .map(
          (entry) =>
            `${view.styles[entry.policy].name}: ${shares.map(([share, name]) => `${name} ${quantity(quantileOf(entry, share), "ns")}`).join(", ")}.`,
        )
        .join(" ") || "Nothing is shown.",
    table: () => ({
      columns: ["policy", "point", "traffic", "fct_ns", shape.kind === "cdf" ? "share_at_most" : "share_longer"],
      rows: shown().flatMap((entry) =>
        data(entry).map(([x, y]) => [
          view.styles[entry.policy].name,
          text(view.points[entry.point]?.text),
          view.trafficName(entry.traffic),
          x,
          y,
        ]),
      ),
    }),
    option: (width) => ({
      grid: { left: 78, right: 26, top: 16, bottom: 44 },
      xAxis: valueAxis(
        "ns",
        "flow completion time",
        "log",
        logRange(shown().flatMap((entry) => [entry.x.find((x) => x > 0), entry.x.at(-1)])),
      ),
      yAxis:
        shape.kind === "cdf"
          ? {
              type: "value",
              min: 0,
              max: 1,
              name: width < 500 ? "" : "share of flows",
              nameGap: 52,
              axisLabel: { formatter: (value) => `${Math.round(value * 100)} %` },
            }
          : {
              type: "log",
              max: 1,
              name: width < 500 ? "" : "share that takes longer",
              nameGap: 58,
              axisLabel: { formatter: (value) => `${Number((value * 100).toPrecision(3))} %` },
            },
      tooltip: {
        trigger: "axis",
        axisPointer: { snap: false },
        formatter: (hits) => {
          const x = hits[0]?.axisValue;
          return tip(
            quantity(x, "ns"),
            shown().map((entry) => {
              const after = entry.x.findIndex((each) => each > x);
              const y = after === 0 ? 0 : entry.y[after < 0 ? entry.y.length - 1 : after - 1];
              return {
                colour: colourOf(view.styles[entry.policy]),
                name: view.styles[entry.policy].name,
                value: shape.kind === "cdf" ? `${decimal(y * 100)} %` : `${decimal((1 - y) * 100)} %`,
              };
            }),
          );
        },
      },
      series: shown().map((entry) => ({
        type: "line",
        step: "end",
        name: view.styles[entry.policy].name,
        data: data(entry),
        ...lineStyle(view.styles[entry.policy]),
        showSymbol: false,
        emphasis: { disabled: true },
      })),
    }),
  });
  return section(place, title, chart.element);
}

/** The limits of a logarithmic axis: at 1, 2 or 5 × 10ⁿ around the values. */
function logRange(values, format = (value) => tick(value, "ns")) {
  const known = values.filter((value) => isNumber(value) && value > 0);
  if (!known.length) return {};
  const round = (value, up) => {
    const power = 10 ** Math.floor(Math.log10(value));
    const steps = [1, 2, 5, 10].map((step) => step * power);
    return up ? steps.find((step) => step >= value * 0.9999) : steps.findLast((step) => step <= value * 1.0001);
  };
  const [min, max] = [round(Math.min(...known), false), round(Math.max(...known), true)];
  // Without a power of ten between them the axis would have no tick.
  const multiples = max / min > 5 ? [1, 2, 5] : [1, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9];
  const ticks = multiples
    .flatMap((step) => Array.from({ length: 24 }, (_, power) => step * 10 ** (power - 6)))
    .filter((tick) => tick >= min && tick <= max)
    .sort((a, b) => a - b);
  const few =
    max / min <= 1000 ? ticks : ticks.filter((tick) => Number.isInteger(Math.round(Math.log10(tick) * 1e6) / 1e6));
  return {
    min,
    max: max > min ? max : min * 10,
    axisTick: { customValues: few },
    axisLabel: { customValues: few, formatter: format },
  };
}

const PERCENTILES = [
  ["p50", "median"],
  ["p95", "p95"],
  ["p99", "p99"],
  ["p999", "p99.9"],
];

function slowdownSection(view, place) {
  const title = "Slowdown by flow size";
  const entries = view.slowdown.filter((entry) => list(entry.bins).length);
  if (!entries.length)
    return section(
      place,
      title,
      absent("The FCT on an idle network is not known for any flow, so there is no slowdown."),
    );
  const cell = cellChoosers(
    view,
    entries,
    () => chart.update(),
    entries.reduce((a, b) =>
      b.point > a.point || (b.point === a.point && list(b.bins).length > list(a.bins).length) ? b : a,
    ),
  );
  const shown = () => view.shown(cell.matching());
  const kinds = () =>
    PERCENTILES.filter(([key]) => shown().some((entry) => entry.bins.some((bin) => isNumber(bin[key]))));
  const columnsOf = (width) => (width < 560 ? 1 : Math.min(2, kinds().length || 1));
  const rowHeight = 240;
  const chart = new Chart({
    view,
    level: place.level + 1,
    controls: cell.controls,
    title: () => ["Slowdown by flow size", cell.title()].filter(Boolean).join(", "),
    policies: () => [...new Set(cell.matching().map((entry) => entry.policy))],
    height: (width) => 6 + rowHeight * Math.max(1, Math.ceil(kinds().length / columnsOf(width))),
    note: () =>
      "Slowdown: FCT over the FCT on an idle network. A percentile is drawn where enough flows are behind it.",
    describe: () =>
      shown()
        .map(
          (entry) =>
            `${view.styles[entry.policy].name}: ${PERCENTILES.map(([key, name]) => [
              name,
              Math.max(...entry.bins.map((bin) => bin[key]).filter(isNumber)),
            ])
              .filter(([, most]) => Number.isFinite(most))
              .map(([name, most]) => `${name} at most ${decimal(most)}`)
              .join(", ")}.`,
        )
        .join(" ") || "Nothing is shown.",
    table: () => ({
      columns: [
        "policy",
        "point",
        "traffic",
        "from_bytes",
        "to_bytes",
        "flows",
        ...PERCENTILES.map(([, name]) => name),
      ],
      rows: shown().flatMap((entry) =>
        entry.bins.map((bin) => [
          view.styles[entry.policy].name,
          text(view.points[entry.point]?.text),
          view.trafficName(entry.traffic),
          bin.from,
          bin.to,
          bin.n,
          ...PERCENTILES.map(([key]) => bin[key] ?? null),
        ]),
      ),
    }),
    option: (width) => slowdownOption(view, shown(), kinds(), columnsOf(width), width, rowHeight),
  });
  return section(place, title, chart.element);
}

const middleOf = (bin) => Math.sqrt(Math.max(1, bin.from) * Math.max(1, bin.to));

function slowdownOption(view, shown, kinds, columns, width, rowHeight) {
  const [left, right] = [56, 16];
  const wide = width / columns;
  const middles = shown.flatMap((entry) => entry.bins.map(middleOf));
  const range = logRange(middles, (value) => tick(value, "B"));
  const grids = kinds.map((_, i) => ({
    left: (i % columns) * wide + left,
    width: wide - left - right,
    top: Math.floor(i / columns) * rowHeight + 18,
    height: rowHeight - 74,
  }));
  return {
    grid: grids,
    xAxis: kinds.map((_, i) => valueAxis("B", "flow size", "log", { gridIndex: i, nameGap: 26, ...range })),
    yAxis: kinds.map(([, name], i) => ({
      gridIndex: i,
      type: "log",
      ...logRange([1, ...shown.flatMap((entry) => entry.bins.map((bin) => bin[kinds[i][0]]))], (value) => tick(value)),
      name,
      nameTextStyle: { color: theme().text, fontWeight: 600 },
      nameGap: 38,
    })),
    tooltip: {
      trigger: "item",
      formatter: ({ seriesName, data, seriesIndex }) =>
        tip(`${kinds[Math.floor(seriesIndex / shown.length)][1]}, ${tick(data[2], "B")} – ${tick(data[3], "B")}`, [
          { colour: colourOf(view.styles[data[5]]), name: seriesName, value: decimal(data[1]) },
          { colour: "transparent", name: "flows", value: decimal(data[4]) },
        ]),
    },
    series: kinds.flatMap(([key], i) =>
      shown.map((entry) => ({
        type: "line",
        name: view.styles[entry.policy].name,
        xAxisIndex: i,
        yAxisIndex: i,
        symbolSize: 6,
        showAllSymbol: true,
        data: entry.bins
          .filter((bin) => isNumber(bin[key]) && bin[key] > 0)
          .map((bin) => [middleOf(bin), bin[key], bin.from, bin.to, bin.n, entry.policy]),
        ...lineStyle(view.styles[entry.policy]),
        emphasis: { disabled: true },
      })),
    ),
  };
}
