// Samples over time. The charts of all metrics zoom together.

const SERIES = {
  goodput_bps: "Goodput",
  cwnd_bytes: "Congestion window",
  rtt_ns: "RTT, smoothed",
  ssthresh_bytes: "Slow-start threshold",
  alpha: "Average share of marks (α)",
  link_cost: "Cost of the link",
  queue_bytes: "Queue",
  arrivals_bps: "Arrivals",
  marks: "Frames marked",
  core_share: "Core at work",
  limit_bps: "Rate limit",
};
const seriesName = (metric) =>
  SERIES[metric] ??
  text(metric)
    .replace(/_(bps|bytes|ns|share)$/, "")
    .replaceAll("_", " ");
const MOST_ENTITIES = 6;

let lastLink = 0;

function seriesSection(view, place) {
  const title = "Time series";
  const entries = view.series.filter((entry) => list(entry.t).length);
  if (!entries.length)
    return section(
      place,
      title,
      absent(
        'The run sampled nothing over time. [measure] series = ["queue", "goodput"] in the scenario asks for samples.',
      ),
    );
  const chosen = { point: Math.max(...entries.map((entry) => entry.point)) };
  chosen.repeat = entries.find((entry) => entry.point === chosen.point).repeat;
  const link = `zoom-${(lastLink += 1)}`;
  const zoom = { start: 0, end: 100 };
  const metrics = [...new Set(entries.map((entry) => text(entry.metric)))];
  const charts = metrics.map(
    (metric) =>
      new SeriesChart(
        view,
        place,
        entries.filter((entry) => text(entry.metric) === metric),
        chosen,
        metric,
        link,
        zoom,
      ),
  );
  const points = present(entries, "point", view.pointName);
  const repeats = present(entries, "repeat", (repeat) => text(repeat));
  const update = () => charts.forEach((chart) => chart.update());
  const controls = [
    ...(points.length > 1
      ? [chooser("Point", points, chosen.point, (value) => ((chosen.point = value), update()))]
      : []),
    ...(repeats.length > 1
      ? [chooser("Repeat", repeats, chosen.repeat, (value) => ((chosen.repeat = value), update()))]
      : []),
  ];
  return section(
    place,
    title,
    h("div", { class: "controls" }, controls, zoomButtons(zoom, charts)),
    h(
      "p",
      { class: "caption" },
      "Drag the bar below a chart to zoom, or use the buttons; all charts of this section follow. Colour is the policy; where several entities are shown, the line's style is the entity.",
    ),
    charts.map((chart) => chart.element),
  );
}

const LEAST_ZOOM = 0.01; // per cent of the time

/** What the bar below the charts does, for the keyboard: half or twice the time that is shown, earlier, later, all. */
function zoomButtons(zoom, charts) {
  const to = (start, end) => {
    const wide = Math.min(100, Math.max(LEAST_ZOOM, end - start));
    zoom.start = Math.min(Math.max(0, start), 100 - wide);
    zoom.end = zoom.start + wide;
    charts.forEach((chart) => chart.zoom());
    const shown = charts.find((chart) => chart.range())?.range();
    told.textContent = shown ?? "";
  };
  const around = (factor) => {
    const [middle, half] = [(zoom.start + zoom.end) / 2, ((zoom.end - zoom.start) / 2) * factor];
    to(middle - half, middle + half);
  };
  const along = (share) => {
    const by = (zoom.end - zoom.start) * share;
    to(zoom.start + by, zoom.end + by);
  };
  const told = h("span", { class: "small", role: "status" });
  return h(
    "span",
    { class: "zoom", role: "group", "aria-label": "Time shown in the time series" },
    button("+", () => around(0.5), { "aria-label": "Zoom in", title: "Zoom in" }),
    button("−", () => around(2), { "aria-label": "Zoom out", title: "Zoom out" }),
    button("◀", () => along(-0.5), { "aria-label": "Earlier", title: "Earlier" }),
    button("▶", () => along(0.5), { "aria-label": "Later", title: "Later" }),
    button("all", () => to(0, 100), { "aria-label": "All of the time", title: "All of the time" }),
    told,
  );
}

/** The chart of one metric, with a choice of entities. `zoom` is the part of the time that is shown, in per cent. */
class SeriesChart {
  constructor(view, place, entries, chosen, metric, link, zoom) {
    Object.assign(this, { view, entries, chosen, metric, zoomed: zoom });
    this.unit = entries[0].unit;
    const peak = (entry) => entry.v.reduce((most, value) => (value > most ? value : most), -Infinity);
    const peaks = new Map();
    for (const entry of entries) peaks.set(entry.entity, Math.max(peaks.get(entry.entity) ?? -Infinity, peak(entry)));
    // The entity with the highest samples is the one that a reader asks for first; names decide among equals.
    this.entities = [...peaks.keys()].sort(
      (a, b) => peaks.get(b) - peaks.get(a) || text(a).localeCompare(text(b), "en", { numeric: true }),
    );
    this.picked = new Set(this.entities.slice(0, view.policies.length > 3 ? 1 : 2));
    this.picker = h("div", { class: "picker" });
    this.chart = new Chart({
      view,
      level: place.level + 1,
      link,
      controls: [this.picker],
      title: () => this.title(),
      policies: () => [...new Set(this.matching().map((entry) => entry.policy))],
      height: (width) => (width < 500 ? 280 : 320),
      note: () => this.note(),
      describe: () =>
        this.shown()
          .map(
            (entry) =>
              `${view.styles[entry.policy].name}, ${text(entry.entity)}: between ${quantity(
                entry.v.reduce((a, b) => Math.min(a, b)),
                this.unit,
              )} and ${quantity(peak(entry), this.unit)}.`,
          )
          .join(" ") || "Nothing is shown.",
      table: () => ({
        columns: ["policy", "point", "repeat", "entity", "time_s", text(metric)],
        rows: this.shown().flatMap((entry) =>
          entry.t.map((t, i) => [
            view.styles[entry.policy].name,
            text(view.points[entry.point]?.text),
            entry.repeat,
            text(entry.entity),
            t,
            entry.v[i],
          ]),
        ),
      }),
      option: () => this.option(),
      drawn: (instance) => {
        // The bar and the wheel move it, too.
        instance.off("datazoom");
        instance.on("datazoom", (event) => {
          const { start, end } = event.batch?.[0] ?? event;
          if (isNumber(start) && isNumber(end)) Object.assign(this.zoomed, { start, end });
        });
      },
    });
    this.element = this.chart.element;
    this.paintPicker();
  }

  matching() {
    return this.entries.filter(
      (entry) =>
        entry.point === this.chosen.point && entry.repeat === this.chosen.repeat && this.picked.has(entry.entity),
    );
  }

  shown() {
    return this.view.shown(this.matching());
  }

  zoom() {
    const { start, end } = this.zoomed;
    this.chart.instance?.dispatchAction({ type: "dataZoom", start, end }, { silent: true });
  }

  /** The time that is shown, in words. */
  range() {
    const times = this.shown().flatMap((entry) => [entry.t[0], entry.t.at(-1)]);
    if (!times.length) return "";
    const [first, last] = [Math.min(...times), Math.max(...times)];
    const at = (share) => quantity(first + ((last - first) * share) / 100, "s");
    return `${at(this.zoomed.start)} to ${at(this.zoomed.end)}`;
  }

  title() {
    const names = [...this.picked].map(text);
    return `${seriesName(this.metric)} of ${names.length ? names.join(", ") : "nothing"}`;
  }

  note() {
    const thinned = this.shown().filter((entry) => entry.of > entry.t.length);
    return thinned.length
      ? `Thinned with the peaks kept: ${decimal(thinned[0].t.length)} of ${decimal(thinned[0].of)} samples.`
      : "";
  }

  update() {
    this.paintPicker();
    this.chart.update();
  }

  /** Boxes for a few entities; with many, a field that filters them. */
  paintPicker() {
    if (this.entities.length < 2) return;
    if (!this.filter) {
      const change = () => this.paintPicker();
      this.filter =
        this.entities.length > 12
          ? h(
              "label",
              { class: "chooser" },
              h("span", {}, "Find "),
              (this.words = h("input", { type: "search", input: change })),
            )
          : null;
      this.boxes = h("div", { class: "boxes", role: "group", "aria-label": `Entities of ${seriesName(this.metric)}` });
      this.picker.append(...[this.filter, this.boxes].filter(Boolean));
      this.filter ??= true;
    }
    const words = (this.words?.value ?? "").toLowerCase();
    const found = this.entities.filter((entity) => text(entity).toLowerCase().includes(words));
    const visible = [...new Set([...this.picked, ...found])].slice(0, 24);
    const entityDash = [...this.picked];
    this.boxes.replaceChildren(
      ...visible.map((entity) => {
        const box = h("input", {
          type: "checkbox",
          checked: this.picked.has(entity),
          disabled: !this.picked.has(entity) && this.picked.size >= MOST_ENTITIES,
          change: () => {
            if (box.checked) this.picked.add(entity);
            else this.picked.delete(entity);
            this.update();
            [...this.boxes.querySelectorAll("input")].find((each) => each.name === text(entity))?.focus();
          },
          name: text(entity),
        });
        const dash = DASHES[entityDash.indexOf(entity) % DASHES.length];
        const mark =
          this.picked.size > 1 && this.picked.has(entity)
            ? s(
                "svg",
                { width: 26, height: 8, "aria-hidden": "true" },
                s("path", {
                  d: "M0 4H26",
                  stroke: "currentColor",
                  "stroke-width": 2,
                  "stroke-dasharray": Array.isArray(dash) ? dash.join(" ") : null,
                }),
              )
            : null;
        return h("label", {}, box, " ", text(entity), " ", mark);
      }),
      found.length > visible.length
        ? h("span", { class: "small" }, `and ${decimal(found.length - visible.length)} more`)
        : "",
    );
  }

  option() {
    const shown = this.shown();
    const entities = [...this.picked];
    const end = shown.reduce((most, entry) => Math.max(most, entry.t.at(-1)), 0);
    return {
      grid: { left: 84, right: 24, top: 14, bottom: 82 },
      xAxis: valueAxis("s", "time", "value", {
        min: "dataMin",
        max: "dataMax",
        nameGap: 24,
        axisLabel: { showMaxLabel: false, formatter: (value) => tick(value, "s") },
      }),
      yAxis: valueAxis(this.unit, "", "value", { scale: this.metric === "rtt_ns" }),
      dataZoom: [
        { type: "inside", ...this.zoomed, zoomOnMouseWheel: "ctrl", moveOnMouseMove: true, minValueSpan: end / 1e5 },
        {
          type: "slider",
          ...this.zoomed,
          height: 22,
          bottom: 8,
          left: 84,
          right: 24,
          borderColor: theme().line,
          textStyle: { color: theme().muted },
          labelFormatter: (value) => tick(value, "s"),
          brushSelect: false,
          fillerColor: "rgba(120,140,170,0.2)",
          handleStyle: { color: theme().ground, borderColor: theme().muted },
          moveHandleStyle: { color: theme().muted },
          dataBackground: {
            lineStyle: { color: theme().muted, opacity: 0.5 },
            areaStyle: { color: theme().muted, opacity: 0.15 },
          },
          selectedDataBackground: {
            lineStyle: { color: theme().muted },
            areaStyle: { color: theme().muted, opacity: 0.3 },
          },
        },
      ],
      tooltip: {
        trigger: "axis",
        formatter: (hits) =>
          tip(
            `t = ${quantity(hits[0]?.axisValue, "s")}`,
            hits.slice(0, 16).map(({ seriesIndex, data }) => ({
              colour: colourOf(this.view.styles[shown[seriesIndex].policy]),
              name: `${this.view.styles[shown[seriesIndex].policy].name}${entities.length > 1 ? `, ${text(shown[seriesIndex].entity)}` : ""}`,
              value: quantity(data[1], this.unit),
            })),
          ),
      },
      series: shown.map((entry) => {
        const style = this.view.styles[entry.policy];
        const dash = entities.length > 1 ? entities.indexOf(entry.entity) % DASHES.length : style.dash;
        return {
          type: "line",
          name: `${style.name} ${text(entry.entity)}`,
          data: entry.t.map((t, i) => [t, entry.v[i]]),
          ...lineStyle({ ...style, dash }, 1.5),
          showSymbol: entry.t.length < 3,
          emphasis: { disabled: true },
          sampling: undefined,
        };
      }),
    };
  }
}
