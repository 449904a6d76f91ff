// Tables that sort by click and keyboard, and the summary in two of them.

/**
 * `columns`: `{ name, number }`. `rows`: arrays of `{ node, key }`, a key being what the column sorts by. A column's heading
 * is a button: first press rising, second falling, third as it was.
 */
function sortable(caption, columns, rows) {
  const body = h("tbody");
  let order = { column: -1, falling: false };
  const original = rows.map((row, index) => ({ row, index }));
  const empty = (key) => key === null || key === undefined || key === "" || Number.isNaN(key);
  const compare = (a, b) => {
    const [left, right] = [a.row[order.column].key, b.row[order.column].key];
    if (empty(left) || empty(right)) return empty(left) - empty(right) || a.index - b.index;
    const side =
      typeof left === "number" && typeof right === "number"
        ? left - right
        : text(left).localeCompare(text(right), "en", { numeric: true });
    return (order.falling ? -side : side) || a.index - b.index;
  };
  const show = () => {
    const sorted = order.column < 0 ? original : original.toSorted(compare);
    body.replaceChildren(
      ...sorted.map(({ row }) =>
        h(
          "tr",
          { class: row.mark ?? null },
          row.map((cell, i) =>
            h(
              i === 0 ? "th" : "td",
              {
                scope: i === 0 ? "row" : null,
                class: [columns[i].number && "number", cell.class].filter(Boolean).join(" ") || null,
              },
              cell.node,
            ),
          ),
        ),
      ),
    );
    heads.forEach((head, i) => {
      if (i === order.column) head.setAttribute("aria-sort", order.falling ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
  };
  const heads = columns.map(({ name, number }, column) =>
    h(
      "th",
      { scope: "col", class: number ? "number" : null },
      button(
        name,
        () => {
          if (order.column !== column) order = { column, falling: false };
          else if (!order.falling) order = { column, falling: true };
          else order = { column: -1, falling: false };
          show();
        },
        { title: `Sort by ${name}` },
      ),
    ),
  );
  show();
  return h(
    "div",
    { class: "scroll", tabindex: 0, role: "group", "aria-label": caption },
    h("table", { class: "sortable" }, h("caption", {}, caption), h("thead", {}, h("tr", {}, heads)), body),
  );
}

const plainCell = (value) => ({ node: text(value), key: typeof value === "number" ? value : text(value) });

/** An estimate in a cell, marked if it is the best, or not told apart from it. */
function estimateCell(entry, unit, rank) {
  const mark =
    rank === "best"
      ? h("span", { class: "off-screen" }, " (best)")
      : rank === "tied"
        ? h("span", { class: "off-screen" }, " (interval meets the best's)")
        : null;
  return {
    node: [h("span", {}, estimate(entry, unit)), mark].filter(Boolean),
    key: isNumber(entry?.value) ? entry.value : null,
    class: rank || null,
  };
}

/** Cells of the summary as columns and numbers, for a file. */
function summaryTable(view, rows) {
  return {
    columns: [
      "policy",
      ...view.sweep.map((parameter) => text(parameter.name)),
      "traffic",
      "metric",
      "unit",
      "value",
      "ci95_low",
      "ci95_high",
      "repeats",
    ],
    rows: rows.map(([policy, point, traffic, metric, value, low, high, n]) => [
      view.styles[policy].name,
      ...view.sweep.map((parameter, i) => text(parameter.values[view.points[point]?.at?.[i]]?.text)),
      view.trafficName(traffic),
      text(view.metrics[metric]?.name),
      text(view.metrics[metric]?.unit),
      value,
      low,
      high,
      n,
    ]),
  };
}

function summarySection(view, place) {
  if (!view.summary.length) return section(place, "Summary", absent("The results have no summary."));
  const body = h("div");
  const swept = view.points.length > 1;
  const chosen = { traffic: firstOf(view, 2), metric: firstOf(view, 3), rows: "grid" };
  const traffics = present(
    view.summary.map((row) => ({ key: row[2] })),
    "key",
    view.trafficName,
  );
  const metrics = present(
    view.summary.map((row) => ({ key: row[3] })),
    "key",
    (metric) => text(view.metrics[metric]?.label || view.metrics[metric]?.name),
  );
  const controls = h("div", { class: "controls" });
  const show = () => {
    const every = chosen.rows === "all";
    const any = [[null, "all"]];
    controls.replaceChildren(
      segments(
        "Form of the table",
        [
          ["grid", swept ? "points × policies" : "policies × metrics"],
          ["all", "all rows"],
        ],
        chosen.rows,
        (value) => {
          Object.assign(chosen, { rows: value, traffic: firstOf(view, 2), metric: firstOf(view, 3) });
          show();
          controls.querySelector("[aria-pressed=true]").focus();
        },
      ),
      every || swept
        ? chooser(
            "Metric",
            every ? any.concat(metrics) : metrics,
            every ? ((chosen.any ??= null), chosen.anyMetric ?? null) : chosen.metric,
            (value) => {
              if (every) chosen.anyMetric = value;
              else chosen.metric = value;
              table();
            },
          )
        : "",
      chooser(
        "Traffic",
        every ? any.concat(traffics) : traffics,
        every ? (chosen.anyTraffic ?? null) : chosen.traffic,
        (value) => {
          if (every) chosen.anyTraffic = value;
          else chosen.traffic = value;
          table();
        },
      ),
      button("data as CSV", () =>
        download(
          `headway-summary-${slug(view.label ?? "comparison")}.csv`,
          "text/csv",
          csv(summaryTable(view, view.summary)),
        ),
      ),
    );
    table();
  };
  const table = () => {
    const kind = chosen.rows === "all" ? allRows : swept ? pointsByPolicies : policiesByMetrics;
    body.replaceChildren(kind(view, chosen));
  };
  show();
  const repeats = view.summary.some((row) => isNumber(row[5]));
  return section(
    place,
    "Summary",
    controls,
    body,
    h(
      "p",
      { class: "caption" },
      `${repeats ? "± half, or [ ] around, the 95 % interval of the mean over repeats. " : "No intervals: one repeat, or repeats that agree. "}Shaded: the best; dotted: its interval meets the best's.${partialNote([...view.estimates.values()])}`,
    ),
  );
}

/** The metric or traffic that a reader wants first: mean FCT if it is there, else one with published values. */
function firstOf(view, column) {
  const mean = view.metrics.findIndex((metric) => metric.name === "fct.mean");
  const wanted = mean < 0 ? view.published[0]?.metric : mean;
  const row =
    view.summary.find((each) => each[3] === wanted && isNumber(each[4])) ??
    view.summary.find((each) => isNumber(each[4])) ??
    view.summary[0];
  return row[column];
}

function pointsByPolicies(view, { traffic, metric }) {
  const { unit, better, label, name } = view.metrics[metric] ?? {};
  const columns = [
    ...view.sweep.map((parameter) => ({ name: text(parameter.name) })),
    ...view.styles.map((style) => ({ name: style.name, number: true })),
  ];
  if (!view.sweep.length) columns.unshift({ name: "point" });
  const rows = [];
  view.points.forEach((point, index) => {
    const entries = view.policies.map((_, policy) => view.estimate(policy, index, traffic, metric));
    // a point where no flow finished has no completion times, and is the one to be seen
    if (!entries.some(Boolean) && !view.policies.some((_, policy) => view.unfinished(policy, index, traffic))) return;
    const rank = ranking(entries, better);
    const where = view.sweep.length
      ? view.sweep.map((parameter, i) => {
          const value = parameter.values[point.at?.[i]];
          return { node: text(value?.text), key: isNumber(value?.number) ? value.number : text(value?.text) };
        })
      : [plainCell(point.text)];
    rows.push([...where, ...entries.map((entry) => estimateCell(entry, unit, rank(entry)))]);
  });
  return sortable(`${label || name}, ${view.trafficName(traffic)}${direction(better)}`, columns, rows);
}

const direction = (better) => (better === "less" ? " (less is better)" : better === "more" ? " (more is better)" : "");

function policiesByMetrics(view, { traffic }) {
  const metrics = view.metrics
    .map((_, metric) => metric)
    .filter((metric) => view.policies.some((_, policy) => view.estimate(policy, 0, traffic, metric)));
  const ranks = metrics.map((metric) =>
    ranking(
      view.policies.map((_, policy) => view.estimate(policy, 0, traffic, metric)),
      view.metrics[metric].better,
    ),
  );
  const columns = [
    { name: "policy" },
    ...metrics.map((metric) => ({ name: text(view.metrics[metric].label || view.metrics[metric].name), number: true })),
  ];
  const rows = view.styles.map((style, policy) => [
    plainCell(style.name),
    ...metrics.map((metric, i) => {
      const entry = view.estimate(policy, 0, traffic, metric);
      return estimateCell(entry, view.metrics[metric].unit, ranks[i](entry));
    }),
  ]);
  return sortable(`Summary, ${view.trafficName(traffic)}`, columns, rows);
}

function allRows(view, { anyTraffic = null, anyMetric = null }) {
  const most = 2000;
  const rows = view.summary.filter(
    (row) => (anyTraffic === null || row[2] === anyTraffic) && (anyMetric === null || row[3] === anyMetric),
  );
  const columns = [
    { name: "policy" },
    ...(view.points.length > 1 ? [{ name: "point" }] : []),
    { name: "traffic" },
    { name: "metric" },
    { name: "value", number: true },
    { name: "repeats", number: true },
  ];
  const cells = rows
    .slice(0, most)
    .map(([policy, point, traffic, metric, value, low, high, n]) => [
      plainCell(view.styles[policy].name),
      ...(view.points.length > 1 ? [plainCell(view.pointName(point))] : []),
      plainCell(view.trafficName(traffic)),
      plainCell(view.metrics[metric]?.label || view.metrics[metric]?.name),
      estimateCell({ value, low, high }, view.metrics[metric]?.unit),
      { node: decimal(n), key: n },
    ]);
  return h(
    "div",
    {},
    sortable("All rows of the summary", columns, cells),
    rows.length > most
      ? h("p", {}, `${counted(rows.length - most, "further row")}: choose a metric or a traffic.`)
      : null,
  );
}

/** Of a comparison: each policy of later runs against the same policy of the first. */
function differenceSection(view, runs, place) {
  if (!view.summary.length) return section(place, "Differences", absent("The results have no summary to compare."));
  const chosen = { traffic: firstOf(view, 2), metric: firstOf(view, 3) };
  const body = h("div");
  const pairs = [];
  view.styles.forEach((style, policy) => {
    const base = view.styles.findIndex((other) => other.run === 0 && other.policy === style.policy);
    if (style.run > 0 && base >= 0) pairs.push([base, policy]);
  });
  const title = "Differences";
  if (!pairs.length)
    return section(
      place,
      title,
      absent("No policy has the same name in the first run and in another, so there is nothing to set side by side."),
    );
  const show = () => body.replaceChildren(differences(view, runs, pairs, chosen));
  show();
  const traffics = present(
    view.summary.map((row) => ({ key: row[2] })),
    "key",
    view.trafficName,
  );
  const metrics = present(
    view.summary.map((row) => ({ key: row[3] })),
    "key",
    (metric) => text(view.metrics[metric]?.label || view.metrics[metric]?.name),
  );
  return section(
    place,
    title,
    h(
      "div",
      { class: "controls" },
      chooser("Metric", metrics, chosen.metric, (value) => ((chosen.metric = value), show())),
      chooser("Traffic", traffics, chosen.traffic, (value) => ((chosen.traffic = value), show())),
    ),
    body,
    h(
      "p",
      { class: "caption" },
      `Against ${text(runs[0].label)}. A difference has its 95 % interval: within each repeat where the seed is the same, else of two independent samples. “overlap”: it has zero in it. Of 100 rows that do not differ, about 5 say “differs” by chance.`,
    ),
  );
}

const JUDGEMENTS = {
  same: "same",
  differ: "differs",
  overlap: "overlap",
  unjudged: "no interval",
  "one-sided": "value on one side",
};

/** A difference with its sign and the ends of its interval: `+1.20 ms [+0.80, +1.60]`. */
function signedEstimate(value, low, high, unit) {
  if (!isNumber(value)) return "–";
  const signed = (number) => `${number > 0 ? "+" : number < 0 ? "−" : ""}${quantity(Math.abs(number), unit)}`;
  return isNumber(low) && isNumber(high) ? `${signed(value)} [${signed(low)}, ${signed(high)}]` : signed(value);
}

function differences(view, runs, pairs, { traffic, metric }) {
  const { unit, better, label, name } = view.metrics[metric] ?? {};
  const columns = [
    { name: "policy" },
    { name: "point" },
    { name: "run" },
    { name: text(runs[0].label), number: true },
    { name: "this run", number: true },
    { name: "difference", number: true },
    { name: "change", number: true },
    { name: "judgement" },
  ];
  const rows = [];
  for (const [base, policy] of pairs) {
    view.points.forEach((point, index) => {
      const [before, after] = [base, policy].map((each) => view.estimate(each, index, traffic, metric));
      if (!isNumber(before?.value) && !isNumber(after?.value)) return;
      const [value, low, high, judgement] = list(after?.against);
      const change = isNumber(value) && before?.value ? value / Math.abs(before.value) : null;
      const apart = judgement === "differ";
      const good = change !== null && better && apart ? ((better === "less") === change < 0 ? "good" : "bad") : null;
      rows.push([
        plainCell(view.styles[policy].policy),
        plainCell(point.text || "–"),
        plainCell(runs[view.styles[policy].run].label),
        estimateCell(before, unit),
        estimateCell(after, unit),
        { node: signedEstimate(value, low, high, unit), key: value ?? null },
        {
          node:
            change === null
              ? "–"
              : `${change > 0 ? "+" : change < 0 ? "−" : ""}${decimal(Math.abs(change) * 100, 1)} %`,
          key: change,
          class: good,
        },
        plainCell(JUDGEMENTS[judgement] ?? "–"),
      ]);
    });
  }
  if (!rows.length) return absent("No point has this metric in both runs.");
  return sortable(`${label || name}, ${view.trafficName(traffic)}${direction(better)}`, columns, rows);
}
