// A metric against the swept value, with bands; without a sweep, bars.

/** An axis for what `unit` is in. */
function valueAxis(unit, name, type, extra) {
  return { type, name, axisLabel: { formatter: (value) => tick(value, unit) }, ...extra };
}

/** Entries of the summary of one metric and traffic. */
function metricSection(view, place) {
  const title = view.sweep.length ? "Metrics against the swept value" : "Metrics of the policies";
  if (!view.summary.some((row) => isNumber(row[4])))
    return section(place, title, absent("The summary has no numbers to draw."));
  return section(place, title, view.sweep.length ? sweepChart(view, place) : barChart(view, place));
}

function metricChoosers(view, chosen, changed) {
  const named = view.summary.filter((row) => isNumber(row[4]));
  const metrics = () =>
    present(
      named.map((row) => ({ key: row[3] })),
      "key",
      (metric) => text(view.metrics[metric]?.label || view.metrics[metric]?.name),
    );
  const traffics = present(
    named.map((row) => ({ key: row[2] })),
    "key",
    view.trafficName,
  );
  return [
    chooser("Metric", metrics(), chosen.metric, (value) => ((chosen.metric = value), changed())),
    chooser("Traffic", traffics, chosen.traffic, (value) => ((chosen.traffic = value), changed())),
  ];
}

const metricTitle = (view, chosen) => {
  const { label, name } = view.metrics[chosen.metric] ?? {};
  return `${text(label || name)}${view.traffics.length > 1 ? `, ${view.trafficName(chosen.traffic)}` : ""}`;
};

/** Published values of what is chosen. */
const publishedFor = (view, chosen) =>
  view.published.filter(
    (entry) =>
      entry.metric === chosen.metric &&
      (entry.traffic === null || entry.traffic === undefined || entry.traffic === chosen.traffic),
  );

/** The spacing that shows all values of a parameter: even where they are no numbers or are crowded. */
function spacingOf(parameter) {
  const numbers = list(parameter?.values).map((value) => value.number);
  if (numbers.length < 2 || !numbers.every(isNumber) || new Set(numbers).size < numbers.length) return ["even"];
  const positive = numbers.filter((number) => number > 0);
  const wide = positive.length > 1 && Math.max(...positive) / Math.min(...positive) >= 20;
  if (wide) return positive.length === numbers.length ? ["log", "even", "linear"] : ["even", "linear"];
  return positive.length === numbers.length ? ["linear", "even", "log"] : ["linear", "even"];
}

function sweepChart(view, place) {
  const chosen = { traffic: firstOf(view, 2), metric: firstOf(view, 3), x: 0, fixed: [], scale: "linear" };
  const widest = view.sweep.map((parameter) => list(parameter.values).length);
  chosen.x = widest.indexOf(Math.max(...widest));
  fixWhereData(view, chosen);
  chosen.spacing = spacingOf(view.sweep[chosen.x])[0];
  const controls = h("div", { class: "controls" });
  const build = () => {
    const others = view.sweep.map((_, i) => i).filter((i) => i !== chosen.x && list(view.sweep[i].values).length > 1);
    const spacings = spacingOf(view.sweep[chosen.x]);
    controls.replaceChildren(
      ...metricChoosers(view, chosen, () => chart.update()),
      ...(view.sweep.length > 1
        ? [
            chooser(
              "x axis",
              view.sweep.map((parameter, i) => [i, text(parameter.name)]),
              chosen.x,
              (value) => {
                chosen.x = value;
                chosen.spacing = spacingOf(view.sweep[value])[0];
                if (!hasData(view, chosen)) fixWhereData(view, chosen);
                build();
                chart.update();
              },
            ),
          ]
        : []),
      ...others.map((i) =>
        chooser(
          text(view.sweep[i].name),
          [
            ...list(view.sweep[i].values).map((value, at) => [at, text(value.text)]),
            // Of several runs, not all may sweep it.
            ...(view.points.some((point) => (point.at?.[i] ?? null) === null) ? [[null, "not swept"]] : []),
          ],
          chosen.fixed[i],
          (value) => ((chosen.fixed[i] = value), chart.update()),
        ),
      ),
      ...(spacings.length > 1
        ? [
            chooser(
              "spacing",
              spacings.map((each) => [each, each]),
              chosen.spacing,
              (value) => ((chosen.spacing = value), chart.update()),
            ),
          ]
        : []),
      chooser(
        "y axis",
        [
          ["linear", "linear"],
          ["log", "log"],
        ],
        chosen.scale,
        (value) => ((chosen.scale = value), chart.update()),
      ),
    );
  };
  const chart = new Chart(sweepSpec(view, place, chosen, [controls]));
  build();
  return chart.element;
}

const hasData = (view, { traffic, metric, ...chosen }) =>
  pointsOnLine(view, chosen).some(({ index }) =>
    view.policies.some((_, policy) => view.estimate(policy, index, traffic, metric)),
  );

/** Fixes the other parameters at the first point that has the metric and a value of the x parameter. */
function fixWhereData(view, { traffic, metric, x, ...rest }) {
  const found = view.points.find(
    (point, index) =>
      (point.at?.[x] ?? null) !== null &&
      view.policies.some((_, policy) => view.estimate(policy, index, traffic, metric)),
  );
  view.sweep.forEach((_, i) => (rest.fixed[i] = (found ?? view.points[0]).at?.[i] ?? null));
}

/** The points on the line that is chosen: their index and the place of the x parameter's value. */
function pointsOnLine(view, chosen) {
  const points = [];
  view.points.forEach((point, index) => {
    const at = list(point.at);
    const fits = (_, i) => i === chosen.x || (at[i] ?? null) === (chosen.fixed[i] ?? null);
    if ((at[chosen.x] ?? null) !== null && view.sweep.every(fits)) points.push({ index, at: at[chosen.x] });
  });
  return points.sort((a, b) => a.at - b.at);
}

function sweepSpec(view, place, chosen, controls) {
  const unit = () => view.metrics[chosen.metric]?.unit;
  const parameter = () => view.sweep[chosen.x];
  const value = (at) => list(parameter()?.values)[at] ?? {};
  const xOf = (at) => (chosen.spacing === "even" ? at : value(at).number);
  const fixed = () =>
    view.sweep
      .map((each, i) =>
        i !== chosen.x && list(each.values).length > 1 && chosen.fixed[i] !== null
          ? `${text(each.name)} = ${text(list(each.values)[chosen.fixed[i]]?.text)}`
          : null,
      )
      .filter(Boolean)
      .join(", ");
  const positive = (number) => isNumber(number) && (chosen.scale !== "log" || number > 0);
  const lines = () => {
    const points = pointsOnLine(view, chosen);
    return view.shown(
      view.styles.map((style, policy) => ({
        style,
        policy,
        at: points
          .map((point) => ({
            ...point,
            x: xOf(point.at),
            ...view.estimate(policy, point.index, chosen.traffic, chosen.metric),
          }))
          .filter((entry) => positive(entry.value)),
      })),
    );
  };
  const published = () => {
    const where = new Map(pointsOnLine(view, chosen).map((point) => [point.index, xOf(point.at)]));
    return publishedFor(view, chosen)
      .filter((entry) => entry.policy === null || !view.hidden.has(entry.policy))
      .map((entry) => ({
        ...entry,
        at: list(entry.points)
          .filter(([point, number]) => where.has(point) && positive(number))
          .map(([point, number]) => [where.get(point), number]),
      }))
      .filter((entry) => entry.at.length);
  };
  const xAxis = () => {
    const values = list(parameter()?.values);
    const name = text(parameter()?.name);
    if (chosen.spacing === "even")
      return {
        type: "category",
        data: values.map((each) => short(each.text, 18)),
        name: short(name, 60),
        boundaryGap: false,
        splitLine: { show: false },
        axisLabel: { interval: "auto" },
      };
    const numbers = values.map((each) => each.number);
    const named = new Map(values.map((each) => [each.number, short(each.text, 18)]));
    return {
      type: chosen.spacing === "log" ? "log" : "value",
      name: short(name, 60),
      min: Math.min(...numbers),
      max: Math.max(...numbers),
      splitLine: { show: false },
      axisTick: { customValues: numbers },
      axisLabel: { customValues: numbers, formatter: (number) => named.get(number) ?? tick(number) },
    };
  };
  return {
    view,
    level: place.level + 1,
    controls,
    title: () => `${metricTitle(view, chosen)} against ${text(parameter()?.name)}${fixed() ? ` (${fixed()})` : ""}`,
    policies: () => view.policies.map((_, i) => i),
    height: (width) => (width < 500 ? 320 : 400),
    note: () =>
      `${lines().some((line) => line.at.some((entry) => isNumber(entry.low))) ? "Bands: 95 % interval of the mean over repeats." : "No intervals: one repeat, or repeats that agree."}${partialNote(lines().flatMap((line) => line.at))}${published().length ? ` Large hollow markers: published (${[...new Set(published().map((entry) => text(entry.source || entry.label)))].join("; ")}).` : ""}`,
    describe: () =>
      describeLines(
        lines().map((line) => ({
          name: line.style.name,
          from: line.at[0],
          to: line.at.at(-1),
          least: extreme(line.at, Math.min),
          most: extreme(line.at, Math.max),
        })),
        unit(),
        (entry) => text(value(entry.at).text),
        text(parameter()?.name),
      ),
    table: () => ({
      columns: [
        "policy",
        ...view.sweep.map((each) => text(each.name)),
        `value (${unit()})`,
        "ci95_low",
        "ci95_high",
        "repeats",
        "published",
      ],
      rows: [
        ...lines().flatMap((line) =>
          line.at.map((entry) => [
            line.style.name,
            ...view.sweep.map((each, i) => text(list(each.values)[view.points[entry.index].at[i]]?.text)),
            entry.value,
            entry.low ?? null,
            entry.high ?? null,
            entry.n,
            "",
          ]),
        ),
        ...published().flatMap((entry) =>
          entry.at.map(([x, number]) => [
            entry.policy === null ? "" : view.styles[entry.policy].name,
            ...view.sweep.map((each, i) => (i === chosen.x ? x : text(list(each.values)[chosen.fixed[i]]?.text))),
            number,
            null,
            null,
            null,
            text(entry.source),
          ]),
        ),
      ],
    }),
    option: (width) => ({
      grid: { left: 84, right: 22, top: 16, bottom: 44 },
      xAxis: xAxis(),
      yAxis: valueAxis(
        unit(),
        width < 500 ? "" : short(metricTitle(view, chosen), 44),
        chosen.scale === "log" ? "log" : "value",
        { nameGap: 66 },
      ),
      tooltip: {
        trigger: "axis",
        formatter: (entries) => sweepTip(view, lines(), published(), entries, unit(), chosen, value),
      },
      series: [
        ...lines().map((line) => band(line)),
        ...lines().map((line) => ({
          type: "line",
          name: line.style.name,
          data: line.at.map((entry) => [entry.x, entry.value]),
          symbolSize: 7,
          showAllSymbol: true,
          ...lineStyle(line.style),
          emphasis: { disabled: true },
        })),
        ...published().map((entry) => publishedMarks(view, entry)),
      ],
    }),
  };
}

const extreme = (entries, of) => (entries.length ? of(...entries.map((entry) => entry.value)) : null);

/** A sentence for each line. */
function describeLines(lines, unit, where, along) {
  const told = lines.filter((line) => line.from);
  if (!told.length) return "Nothing is shown.";
  return told
    .map(
      (line) =>
        `${line.name}: ${quantity(line.from.value, unit)} at ${along} ${where(line.from)}, ${quantity(line.to.value, unit)} at ${where(line.to)}; between ${quantity(line.least, unit)} and ${quantity(line.most, unit)}.`,
    )
    .join(" ");
}

function sweepTip(view, lines, published, entries, unit, chosen, value) {
  const x = entries[0]?.axisValue;
  const at = (candidate) =>
    chosen.spacing === "even" ? short(value(candidate).text, 18) === text(x) : candidate === x;
  const rows = lines.flatMap((line) =>
    line.at
      .filter((entry) => at(chosen.spacing === "even" ? entry.at : entry.x))
      .map((entry) => ({ colour: colourOf(line.style), name: line.style.name, value: estimate(entry, unit) })),
  );
  const printed = published.flatMap((entry) =>
    entry.at
      .filter(([place]) => at(place))
      .map(([, number]) => ({
        colour: "transparent",
        name: `published${entry.policy === null ? "" : `, ${view.styles[entry.policy].name}`}`,
        value: quantity(number, unit),
      })),
  );
  const name =
    chosen.spacing === "even" ? x : list(view.sweep[chosen.x].values).find((each) => each.number === x)?.text;
  return tip(`${text(view.sweep[chosen.x].name)} = ${text(name)}`, [...rows, ...printed]);
}

/** The interval around a line, as one shape. */
function band(line) {
  // Repeats that agree have no interval: the band has no width there, and no gap.
  const known = line.at
    .map((entry) => (isNumber(entry.low) || !(entry.n > 1) ? entry : { ...entry, low: entry.value, high: entry.value }))
    .filter((entry) => isNumber(entry.low) && isNumber(entry.high));
  return {
    type: "custom",
    name: `${line.style.name} interval`,
    silent: true,
    clip: true,
    tooltip: { show: false },
    z: 1,
    data: known.map((entry) => [entry.x, entry.low, entry.high]),
    encode: { x: 0, y: [1, 2] },
    renderItem: (parameters, api) => {
      if (parameters.dataIndex > 0) return undefined;
      const { y, height } = parameters.coordSys;
      const inside = (at) => [
        at[0],
        Number.isFinite(at[1]) ? Math.min(Math.max(at[1], y - 50), y + height + 50) : y + height + 50,
      ];
      const points = [
        ...known.map((entry) => api.coord([entry.x, entry.high])),
        ...known.toReversed().map((entry) => api.coord([entry.x, entry.low])),
      ].map(inside);
      const style = { fill: colourOf(line.style), opacity: themeName() === "dark" ? 0.25 : 0.16 };
      if (known.length > 1) return { type: "polygon", shape: { points }, style, silent: true };
      const [[x, top], [, bottom]] = points;
      return { type: "rect", shape: { x: x - 5, y: top, width: 10, height: bottom - top }, style, silent: true };
    },
  };
}

function publishedMarks(view, entry) {
  const colour =
    entry.policy === null || entry.policy === undefined ? theme().text : colourOf(view.styles[entry.policy]);
  return {
    type: "line",
    name: `published ${text(entry.label)}`,
    data: entry.at,
    symbol: "emptyDiamond",
    symbolSize: 15,
    showAllSymbol: true,
    z: 5,
    lineStyle: { color: colour, width: 1, type: [1, 4] },
    itemStyle: { color: colour, borderWidth: 2 },
    emphasis: { disabled: true },
  };
}

/** No sweep: a bar for each policy, with its interval and published values. */
function barChart(view, place) {
  const chosen = { traffic: firstOf(view, 2), metric: firstOf(view, 3) };
  const unit = () => view.metrics[chosen.metric]?.unit;
  const bars = () =>
    view.styles
      .map((style, policy) => ({ style, policy, ...view.estimate(policy, 0, chosen.traffic, chosen.metric) }))
      .filter((bar) => isNumber(bar.value) && !view.hidden.has(bar.policy));
  const published = () =>
    publishedFor(view, chosen)
      .flatMap((entry) => list(entry.points).map(([, number]) => ({ ...entry, number })))
      .filter((entry) => isNumber(entry.number));
  const controls = metricChoosers(view, chosen, () => chart.update());
  const chart = new Chart({
    view,
    level: place.level + 1,
    controls,
    title: () => `${metricTitle(view, chosen)} by policy`,
    policies: () => view.policies.map((_, i) => i),
    height: () => 70 + 40 * Math.max(1, bars().length),
    note: () =>
      `${bars().some((bar) => isNumber(bar.low)) ? "Whiskers: 95 % interval of the mean over repeats." : "No intervals: one repeat, or repeats that agree."}${partialNote(bars())}${published().length ? ` Hollow diamonds: published (${[...new Set(published().map((entry) => text(entry.source || entry.label)))].join("; ")}).` : ""}`,
    describe: () =>
      bars()
        .map((bar) => `${bar.style.name}: ${estimate(bar, unit())}.`)
        .join(" ") || "Nothing is shown.",
    table: () => ({
      columns: ["policy", `value (${unit()})`, "ci95_low", "ci95_high", "repeats", "published"],
      rows: bars().map((bar) => [
        bar.style.name,
        bar.value,
        bar.low ?? null,
        bar.high ?? null,
        bar.n,
        published()
          .filter((entry) => entry.policy === bar.policy)
          .map((entry) => entry.number)[0] ?? null,
      ]),
    }),
    option: (width) => barOption(view, bars(), published(), unit(), short(metricTitle(view, chosen), 60), width),
  });
  return chart.element;
}

function barOption(view, bars, published, unit, name, width) {
  const names = bars.map((bar) => bar.style.name);
  const left = Math.min(width * 0.4, 24 + 7 * Math.max(6, ...names.map((each) => each.length)));
  const marks = published
    .map((entry) => ({ ...entry, row: bars.findIndex((bar) => bar.policy === entry.policy) }))
    .filter((entry) => entry.row >= 0);
  return {
    grid: { left, right: 30, top: 8, bottom: 52 },
    xAxis: valueAxis(unit, name, "value", {
      axisLabel: { showMaxLabel: false, formatter: (value) => tick(value, unit) },
      max: (extent) =>
        Math.max(extent.max, ...bars.map((bar) => bar.high ?? 0), ...marks.map((mark) => mark.number)) * 1.03 || 1,
    }),
    yAxis: {
      type: "category",
      data: names,
      inverse: true,
      axisTick: { show: false },
      splitLine: { show: false },
      axisLabel: { width: left - 16, overflow: "truncate", interval: 0 },
    },
    tooltip: {
      trigger: "item",
      formatter: ({ dataIndex }) =>
        tip(names[dataIndex], [
          { colour: colourOf(bars[dataIndex].style), name, value: estimate(bars[dataIndex], unit) },
          ...marks
            .filter((mark) => mark.row === dataIndex)
            .map((mark) => ({ colour: "transparent", name: "published", value: quantity(mark.number, unit) })),
        ]),
    },
    series: [
      {
        type: "custom",
        data: bars.map((bar, row) => [bar.value, row]),
        encode: { x: 0, y: 1 },
        renderItem: (parameters, api) => {
          const bar = bars[parameters.dataIndex];
          const at = (number) => api.coord([number, parameters.dataIndex]);
          const [zero, end] = [at(0), at(bar.value)];
          const half = Math.min(13, api.size([0, 1])[1] * 0.35);
          const ink = theme().text;
          const children = [
            {
              type: "rect",
              shape: {
                x: Math.min(zero[0], end[0]),
                y: end[1] - half,
                width: Math.max(1, Math.abs(end[0] - zero[0])),
                height: 2 * half,
              },
              style: { fill: colourOf(bar.style), opacity: 0.85 },
            },
          ];
          if (isNumber(bar.low) && isNumber(bar.high)) {
            const [low, high] = [at(bar.low)[0], at(bar.high)[0]];
            const line = (x1, y1, x2, y2) => ({
              type: "line",
              shape: { x1, y1, x2, y2 },
              style: { stroke: ink, lineWidth: 1.5 },
            });
            children.push(
              line(low, end[1], high, end[1]),
              line(low, end[1] - 5, low, end[1] + 5),
              line(high, end[1] - 5, high, end[1] + 5),
            );
          }
          for (const mark of marks.filter((each) => each.row === parameters.dataIndex)) {
            const [x, y] = at(mark.number);
            children.push({
              type: "polygon",
              shape: {
                points: [
                  [x, y - 8],
                  [x + 8, y],
                  [x, y + 8],
                  [x - 8, y],
                ],
              },
              style: { fill: theme().ground, stroke: ink, lineWidth: 2 },
            });
          }
          return { type: "group", children };
        },
      },
    ],
  };
}
