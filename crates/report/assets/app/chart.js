// A chart with heading, legend, text alternative and downloads. It is made when it comes into view.

const seen = new IntersectionObserver(
  (entries) => {
    for (const { isIntersecting, target } of entries) if (isIntersecting) target.chart.draw();
  },
  { rootMargin: "400px 0px" },
);

const PRINTED_WIDTH = 680; // px: A4 less its margins at 96 dpi

/**
 * A figure with a chart. `spec`: `title`; `view` and `policies` (of the legend); `option(width)` of ECharts;
 * `height(width)`; `describe()` for screen readers; `table()` with the `columns` and `rows` behind it; `controls`;
 * `note()`; `link`: charts with one name zoom together; `drawn(instance)` after each drawing.
 */
class Chart {
  constructor(spec) {
    this.spec = spec;
    this.canvas = h("div", { class: "chart", role: "img" });
    this.caption = h("p", { class: "caption" });
    this.legend = h("div", { class: "legend", role: "group", "aria-label": "Policies shown" });
    const id = freshId("chart");
    const heading = h(`h${spec.level ?? 3}`, { id }, short(spec.title(), 160));
    this.heading = heading;
    const tools = h(
      "div",
      { class: "tools", role: "group", "aria-label": "Save this chart" },
      button("data as CSV", () => download(`${this.name()}.csv`, "text/csv", csv(spec.table()))),
      button("PNG", () => this.save("png")),
      button("SVG", () => this.save("svg")),
    );
    this.data = folded(
      "data as a table",
      () => (this.dataTable = h("div", { class: "scroll" }, shortTable(spec.table()))),
      { class: "data" },
    );
    this.element = h(
      "figure",
      { "aria-labelledby": id, class: "figure" },
      h("div", { class: "figure-head" }, heading, tools),
      spec.controls?.length ? h("div", { class: "controls" }, spec.controls) : null,
      this.legend,
      this.canvas,
      this.caption,
      this.data,
    );
    this.element.chart = this;
    spec.view?.watch(() => this.update());
    painted.add(this);
    this.paintLegend();
    this.canvas.style.height = `${spec.height?.(600) ?? 320}px`;
    seen.observe(this.element);
  }

  name() {
    return `headway-${slug(this.spec.title())}`;
  }

  width() {
    return appearance.printing ? PRINTED_WIDTH : Math.max(240, this.canvas.clientWidth);
  }

  draw() {
    if (this.instance || !this.canvas.isConnected || (!this.canvas.clientWidth && !appearance.printing)) return;
    seen.unobserve(this.element);
    this.instance = echarts.init(this.canvas, null, { renderer: "svg", width: this.width(), height: this.height() });
    if (this.spec.link) {
      this.instance.group = this.spec.link;
      echarts.connect(this.spec.link);
    }
    this.resizes = new ResizeObserver(() => {
      if (
        this.canvas.clientWidth &&
        Math.abs(this.canvas.clientWidth - this.instance.getWidth()) > 1 &&
        !appearance.printing
      )
        this.resize();
    });
    this.resizes.observe(this.canvas);
    this.show();
  }

  height() {
    const height = this.spec.height?.(this.width()) ?? 320;
    this.canvas.style.height = `${height}px`;
    return height;
  }

  resize() {
    if (!this.instance) return;
    this.instance.resize({ width: this.width(), height: this.height() });
    this.show();
  }

  show() {
    this.instance.setOption(decorated(this.spec.option(this.width())), { notMerge: true });
    this.canvas.setAttribute("aria-label", this.spec.describe());
    this.canvas.dataset.drawn = "true";
    this.caption.textContent = this.spec.note?.() ?? "";
    this.spec.drawn?.(this.instance);
  }

  /** After a change of what is shown. */
  update() {
    this.heading.textContent = short(this.spec.title(), 160);
    this.paintLegend();
    this.dataTable?.replaceChildren(shortTable(this.spec.table()));
    if (this.instance) this.resize();
  }

  repaint() {
    if (!this.element.isConnected) return;
    this.paintLegend();
    if (this.instance) this.show();
  }

  paintLegend() {
    const { view, policies } = this.spec;
    const shown = policies?.() ?? [];
    const had = [...this.legend.children].indexOf(document.activeElement);
    this.legend.replaceChildren(...shown.map((policy) => legendEntry(view, policy)));
    this.legend.children[had]?.focus();
    this.legend.hidden = !shown.length;
  }

  save(kind) {
    const { view, policies } = this.spec;
    const [width, height] = [960, Math.max(440, this.spec.height?.(960) ?? 0)];
    const instance = echarts.init(h("div"), null, { renderer: "svg", width, height });
    instance.setOption(decorated(this.spec.option(width)));
    const picture = titled(
      instance.renderToSVGString(),
      this.spec.title(),
      (policies?.() ?? []).filter((each) => !view.hidden.has(each)).map((each) => view.styles[each]),
      width,
      height,
    );
    instance.dispose();
    savePicture(picture, kind, this.name());
  }
}

const MARKER_PATHS = {
  circle: "M8 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
  rect: "M8.5-3.5h7v7h-7z",
  triangle: "M12-4.5l4.5 8h-9z",
  diamond: "M12-5l5 5-5 5-5-5z",
};

/** A line with its marker, 24 wide, around y = 0. */
function sample(style) {
  const colour = colourOf(style);
  const marker = MARKERS[style.marker % MARKERS.length];
  const empty = marker.startsWith("empty");
  const shape = empty ? marker[5].toLowerCase() + marker.slice(6) : marker;
  const dash = DASHES[style.dash];
  return s(
    "g",
    { stroke: colour, fill: empty ? theme().ground : colour, "stroke-width": 2 },
    s("path", { d: "M0 0H24", "stroke-dasharray": Array.isArray(dash) ? dash.join(" ") : null }),
    s("path", { d: MARKER_PATHS[shape], "stroke-width": empty ? 1.5 : 0 }),
  );
}

function legendEntry(view, policy) {
  const style = view.styles[policy];
  return button(
    [s("svg", { width: 24, height: 12, viewBox: "0 -6 24 12", "aria-hidden": "true" }, sample(style)), style.name],
    () => view.toggle(policy),
    {
      class: "entry",
      "aria-pressed": String(!view.hidden.has(policy)),
      title: "Show or hide in every chart of this run",
    },
  );
}

/** A chart's SVG under its title, over its legend, on the ground that it is drawn for. */
function titled(svg, title, styles, width, height) {
  const chart = new DOMParser().parseFromString(svg, "image/svg+xml").documentElement;
  const font = { "font-family": "system-ui, sans-serif", fill: theme().text };
  const entries = [];
  let [x, y] = [24, height + 56];
  for (const style of styles) {
    const name = short(style.name, 60);
    const wide = 44 + name.length * 7.2;
    if (x + wide > width - 10 && x > 24) [x, y] = [24, y + 22];
    entries.push(
      s(
        "g",
        { transform: `translate(${x} ${y})` },
        sample(style),
        s("text", { ...font, x: 32, y: 4.5, "font-size": 13 }, name),
      ),
    );
    x += wide;
  }
  const total = styles.length ? y + 20 : height + 44;
  chart.setAttribute("y", "40");
  return s(
    "svg",
    { xmlns: "http://www.w3.org/2000/svg", width, height: total, viewBox: `0 0 ${width} ${total}` },
    s("rect", { width, height: total, fill: theme().ground }),
    s("text", { ...font, x: 24, y: 28, "font-size": 18, "font-weight": 600 }, short(title, 90)),
    chart,
    entries,
  );
}

/** SVG as it is, PNG from it at twice the size. */
function savePicture(svg, kind, name) {
  const source = new XMLSerializer().serializeToString(svg);
  if (kind === "svg") return download(`${name}.svg`, "image/svg+xml", source);
  const image = new Image();
  image.onload = () => {
    const canvas = h("canvas", { width: image.width * 2, height: image.height * 2 });
    const context = canvas.getContext("2d");
    context.scale(2, 2);
    context.drawImage(image, 0, 0);
    canvas.toBlob((blob) => download(`${name}.png`, "image/png", blob));
  };
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(source)}`;
}

/** The parts that all charts have alike. */
function decorated(option) {
  const { text: colour, muted, line, ground } = theme();
  const axis = (each) => ({
    nameTextStyle: { color: muted },
    nameGap: 30,
    ...each,
    nameLocation: "middle",
    axisLine: { show: true, lineStyle: { color: muted } },
    axisTick: { lineStyle: { color: muted }, ...each.axisTick },
    axisLabel: { color: muted, hideOverlap: true, ...each.axisLabel },
    splitLine: { show: each.splitLine?.show ?? true, lineStyle: { color: line } },
    minorSplitLine: { show: false },
  });
  const axes = (value) => (Array.isArray(value) ? value.map(axis) : axis(value));
  return {
    animation: false,
    backgroundColor: "transparent",
    textStyle: { fontFamily: "system-ui, sans-serif", color: colour },
    ...option,
    xAxis: axes(option.xAxis),
    yAxis: axes(option.yAxis),
    tooltip: option.tooltip && {
      confine: true,
      transitionDuration: 0,
      backgroundColor: ground,
      borderColor: muted,
      textStyle: { color: colour, fontSize: 12 },
      axisPointer: { type: "line", lineStyle: { color: muted }, label: { backgroundColor: muted, color: ground } },
      ...option.tooltip,
    },
  };
}

/** A tooltip's content: a heading, then lines of colour, name and value. */
function tip(heading, lines) {
  return h(
    "div",
    { class: "tip" },
    h("strong", {}, heading),
    lines.map(({ colour, name, value }) =>
      h("div", {}, h("span", { class: "dot", style: `background:${colour}` }), `${name} `, h("b", {}, value)),
    ),
  );
}

/** How a policy's line is drawn. */
function lineStyle(style, width = 2) {
  return {
    itemStyle: { color: colourOf(style) },
    lineStyle: { color: colourOf(style), type: DASHES[style.dash], width },
    symbol: MARKERS[style.marker % MARKERS.length],
  };
}

/** Up to 300 rows as a table that screen readers can walk through. */
function shortTable({ columns, rows }) {
  const most = 300;
  return [
    h(
      "table",
      { class: "plain" },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          columns.map((name) => h("th", { scope: "col" }, name)),
        ),
      ),
      h(
        "tbody",
        {},
        rows.slice(0, most).map((row) =>
          h(
            "tr",
            {},
            row.map((cell) =>
              h(
                "td",
                { class: typeof cell === "number" ? "number" : null },
                typeof cell === "number" ? decimal(cell) : text(cell),
              ),
            ),
          ),
        ),
      ),
    ),
    rows.length > most ? h("p", {}, `${counted(rows.length - most, "further row")} are in the CSV.`) : null,
  ].filter(Boolean);
}
