// The topology player: what every link carried, step by step, policies side by side.

const SPEEDS = [2, 5, 10, 20, 40]; // steps a second

function playerSection(view, place) {
  const title = "The network over time";
  const films = view.films.filter((film) => list(film.t).length && view.topologies[film.topology]);
  if (!films.length)
    return section(
      place,
      title,
      absent(
        "No record of links over time is in the results: the run was made without one, its hosts were real kernels in namespaces, the network has more links than films are made of, or the folder is older.",
      ),
    );
  const player = new Player(view, films, place);
  return section(place, title, player.element);
}

class Player {
  constructor(view, films, place) {
    Object.assign(this, { view, films, place, step: 0, playing: false, speed: 10, picked: null });
    // Sweeps mostly rise, so the last point shows most.
    this.chosen = { point: Math.max(...films.map((film) => film.point)) };
    this.chosen.repeat = films.find((film) => film.point === this.chosen.point).repeat;
    this.panels = h("div", { class: "panels" });
    this.controls = this.makeControls();
    this.legend = h("div", { class: "player-legend" });
    this.choices = h("div", { class: "controls" });
    this.where = h("p", { class: "where" });
    this.detail = h("div");
    this.element = h(
      "div",
      { class: "player", keydown: (event) => this.key(event) },
      this.choices,
      this.where,
      this.controls,
      this.legend,
      this.panels,
      this.detail,
    );
    view.watch(() => this.rebuild());
    painted.add(this);
    this.makeChoices();
    const visible = new IntersectionObserver(
      (entries) => {
        if (!entries.some((entry) => entry.isIntersecting)) return;
        visible.disconnect();
        this.rebuild();
        new ResizeObserver(() => this.fit()).observe(this.panels);
      },
      { rootMargin: "400px 0px" },
    );
    visible.observe(this.element);
    this.element.player = this;
    this.element.chart = { draw: () => this.built || this.rebuild() };
  }

  makeChoices() {
    const points = present(this.films, "point", this.view.pointName);
    const repeats = present(
      this.films.filter((film) => film.point === this.chosen.point),
      "repeat",
      text,
    );
    const change = (name) => (value) => {
      this.chosen[name] = value;
      if (name === "point") this.chosen.repeat = this.films.find((film) => film.point === value).repeat;
      this.makeChoices();
      this.step = 0;
      this.rebuild();
    };
    const policies = [...new Set(this.films.map((film) => film.policy))];
    this.choices.replaceChildren(
      ...(points.length > 1 ? [chooser("Point", points, this.chosen.point, change("point"))] : []),
      ...(repeats.length > 1 ? [chooser("Repeat", repeats, this.chosen.repeat, change("repeat"))] : []),
      h(
        "div",
        { class: "legend", role: "group", "aria-label": "Policies shown" },
        policies.length > 1 ? policies.map((policy) => legendEntry(this.view, policy)) : [],
      ),
    );
  }

  makeControls() {
    this.play = button("▶ Play", () => this.toggle(), { class: "play", title: "Space" });
    this.slider = h("input", {
      type: "range",
      min: 0,
      max: 0,
      step: 1,
      value: 0,
      "aria-label": "Time",
      input: () => this.go(Number(this.slider.value)),
    });
    this.clock = h("output", { class: "clock" });
    const speeds = chooser(
      "Speed",
      SPEEDS.map((speed) => [speed, `${speed} steps/s`]),
      this.speed,
      (speed) => (this.speed = speed),
    );
    return h(
      "div",
      { class: "player-bar", role: "group", "aria-label": "Player" },
      this.play,
      button("◀", () => this.go(this.step - 1), { "aria-label": "One step back", title: "←" }),
      button("▶", () => this.go(this.step + 1), { "aria-label": "One step on", title: "→" }),
      this.slider,
      this.clock,
      speeds,
    );
  }

  /** The films of what is chosen, and one clock for all: every time at which some film's step ends. */
  rebuild() {
    this.built = true;
    this.makeChoices();
    this.now = this.films.filter(
      (film) =>
        film.point === this.chosen.point && film.repeat === this.chosen.repeat && !this.view.hidden.has(film.policy),
    );
    this.times = [...new Set(this.now.flatMap((film) => film.t))].sort((a, b) => a - b);
    this.step = Math.min(this.step, Math.max(0, this.times.length - 1));
    this.slider.max = Math.max(0, this.times.length - 1);
    this.queueMost = Math.max(
      0,
      ...this.now.flatMap((film) =>
        list(film.links).map((link) => list(link.queue).reduce((a, b) => Math.max(a, b), 0)),
      ),
    );
    const many = [...new Set(this.films.map((film) => film.repeat))].length > 1;
    const place = [text(this.view.points[this.chosen.point]?.text), many ? `repeat ${this.chosen.repeat}` : ""];
    this.where.textContent = place.filter(Boolean).join(", ");
    this.fit(true);
    this.paintLegend();
    this.buildDetail();
  }

  /** Draws the pictures anew if the room for them has changed. */
  fit(always) {
    const whole = appearance.printing ? PRINTED_WIDTH : this.panels.clientWidth;
    const columns = Math.max(1, Math.min(this.now.length, whole < 620 ? 1 : whole > 1050 ? 3 : 2));
    const width = Math.max(260, Math.floor((whole - (columns - 1) * 16) / columns) - 26);
    if (!always && width === this.drawnWidth) return;
    this.drawnWidth = width;
    this.pictures = this.now.map((film) => {
      const picture = new NetworkPicture(this.view.topologies[film.topology], width, {
        queueMost: this.queueMost,
        pick: (link) => this.pick(link),
        tell: (link) => this.tell(film, link),
      });
      return {
        film,
        picture,
        byLink: new Map(list(film.links).map((link) => [link.link, link])),
        counts: h("p", { class: "counts" }),
        told: h("p", { class: "counts link-state" }),
      };
    });
    this.panels.style.setProperty("--columns", columns);
    this.panels.replaceChildren(
      ...this.pictures.map(({ film, picture, counts, told }) =>
        h(
          "figure",
          { class: "panel", "aria-label": this.view.styles[film.policy].name },
          h(
            "figcaption",
            {},
            s(
              "svg",
              { width: 24, height: 12, viewBox: "0 -6 24 12", "aria-hidden": "true" },
              sample(this.view.styles[film.policy]),
            ),
            this.view.styles[film.policy].name,
            h(
              "span",
              {
                class: "tools",
                role: "group",
                "aria-label": `Save the picture of ${this.view.styles[film.policy].name}`,
              },
              button("PNG", () => this.save(film, picture, "png")),
              button("SVG", () => this.save(film, picture, "svg")),
            ),
          ),
          picture.element,
          counts,
          told,
        ),
      ),
    );
    if (!this.now.length) this.panels.replaceChildren(absent("All policies of this point are hidden."));
    this.show();
  }

  save(film, picture, kind) {
    const name = this.view.styles[film.policy].name;
    const title = `${name} at ${quantity(this.times[this.step], "ns")}`;
    const svg = titled(new XMLSerializer().serializeToString(picture.copy()), title, [], picture.width, picture.height);
    savePicture(svg, kind, `headway-network-${slug(title)}`);
  }

  /** For paper: the step with most in its queues, if nobody has chosen one. */
  showBusiest() {
    if (!this.built || this.touched) return;
    const total = (now) =>
      this.now.reduce((sum, film) => {
        const at = film.t.findIndex((end) => end >= now);
        return sum + (at < 0 ? 0 : list(film.links).reduce((queues, link) => queues + (link.queue[at] ?? 0), 0));
      }, 0);
    const totals = this.times.map(total);
    this.stepOnScreen = this.step;
    this.step = Math.max(0, totals.indexOf(Math.max(0, ...totals)));
  }

  /** After printing the screen shows the step that it showed before. */
  showAgain() {
    if (this.stepOnScreen === undefined) return;
    this.step = this.stepOnScreen;
    this.stepOnScreen = undefined;
  }

  repaint() {
    if (!this.built || !this.element.isConnected) return;
    this.makeChoices();
    this.fit(true);
    this.paintLegend();
  }

  paintLegend() {
    const stops = Array.from({ length: 21 }, (_, i) => utilisationColour(i / 20));
    const size = (share) => 1.5 + (QUEUE_RADIUS - 1.5) * Math.sqrt(share);
    const { queue, alarm, idle } = theme();
    const parts = [
      h(
        "span",
        {},
        "utilisation of the link 0 ",
        h("span", { class: "gradient", style: `background:linear-gradient(90deg, ${stops.join(",")})` }),
        " 100 %",
      ),
      h("span", {}, h("span", { class: "idle", style: `background:${idle}` }), " idle"),
      this.queueMost > 0
        ? h(
            "span",
            {},
            "queue ",
            [0.1, 1].map((share) => [
              s(
                "svg",
                { width: 24, height: 24, viewBox: "-12 -12 24 24", "aria-hidden": "true" },
                s("circle", { r: size(share), fill: queue, class: "queue" }),
              ),
              quantity(share * this.queueMost, "B"),
            ]),
          )
        : null,
      h(
        "span",
        {},
        s(
          "svg",
          { width: 14, height: 14, viewBox: "-7 -7 14 14", "aria-hidden": "true" },
          s("path", { d: "M-5-5L5 5M5-5L-5 5", stroke: alarm, "stroke-width": 2.5 }),
        ),
        " drops",
      ),
      this.films.some((film) => list(film.switched).length)
        ? h(
            "span",
            {},
            s(
              "svg",
              { width: 24, height: 22, viewBox: "-12 -11 24 22", "aria-hidden": "true" },
              s("path", { class: "moved", d: MOVED, stroke: theme().text }),
            ),
            " flows of this sender moved to another lane",
          )
        : null,
      h("span", { class: "small" }, "Frames drive on the right. Click a link for its course."),
    ];
    // what there is none of is not shown
    this.legend.replaceChildren(...parts.filter(Boolean));
  }

  /** The place in a film of the clock's time, or -1 when it has ended. */
  placeIn(film) {
    const now = this.times[this.step];
    const at = film.t.findIndex((end) => end >= now);
    return at;
  }

  state(film, link) {
    const at = this.placeIn(film);
    return at < 0 || !link
      ? null
      : {
          sent: link.sent[at] ?? 0,
          queue: link.queue[at] ?? 0,
          drops: link.drops[at] ?? 0,
          flows: link.flows[at] ?? 0,
        };
  }

  linkName(index, film = this.now[0]) {
    const topology = this.view.topologies[film?.topology];
    const link = topology?.links[index];
    return link ? `${text(topology.nodes[link.from]?.name)} → ${text(topology.nodes[link.to]?.name)}` : "";
  }

  tell(film, index) {
    const link = this.view.topologies[film.topology].links[index];
    const state = this.state(
      film,
      list(film.links).find((each) => each.link === index),
    );
    const facts = `${quantity(link.rate_bps, "bps")}, ${quantity(link.delay_ns, "ns")}${link.limit_bytes ? `, room for ${quantity(link.limit_bytes, "B")}` : ""}`;
    if (!state) return [this.linkName(index, film), facts, "idle"];
    return [
      this.linkName(index, film),
      facts,
      `utilisation ${decimal(state.sent / 10)} %`,
      `queue at most ${quantity(state.queue, "B")}`,
      `${counted(state.drops, "drop")}, ${counted(state.flows, "flow")}`,
    ];
  }

  show() {
    const now = this.times[this.step] ?? 0;
    this.slider.value = this.step;
    this.clock.textContent = `${quantity(now, "ns")}`;
    this.slider.setAttribute("aria-valuetext", `${quantity(now, "ns")}, step ${this.step + 1} of ${this.times.length}`);
    this.element.dataset.step = this.step;
    for (const { film, picture, byLink, counts, told: linkState } of this.pictures ?? []) {
      const states = new Map();
      for (const [index, link] of byLink) {
        const state = this.state(film, link);
        if (state) states.set(index, state);
      }
      linkState.textContent = this.linkState(film);
      picture.show(states, this.picked, new Set(this.moves(film).map(([, , sender]) => sender)));
      const told = this.counts(film, states);
      counts.textContent = told;
      picture.svg.setAttribute(
        "aria-label",
        `Network under ${this.view.styles[film.policy].name} at ${quantity(now, "ns")}: ${told}`,
      );
    }
    this.moveCursor();
  }

  counts(film, states) {
    const at = this.placeIn(film);
    if (at < 0) return `The run ended at ${quantity(film.t.at(-1), "ns")}.`;
    const active = list(film.active).map(([name, ...counts]) => [name, counts.flat()[at] ?? 0]);
    const flows = active.length
      ? `flows: ${active.map(([name, count]) => `${active.length > 1 || name ? `${text(name)} ` : ""}${decimal(count)}`).join(", ")}`
      : `flows on the busiest link: ${Math.max(0, ...[...states.values()].map((state) => state.flows))}`;
    const switches = list(film.switched).filter(([time]) => time <= film.t[at]).length;
    const moves = this.moves(film);
    const traffics = [...new Set(moves.map(([, traffic]) => traffic))].map(
      (traffic) => `${this.view.trafficName(traffic)} ${decimal(moves.filter((move) => move[1] === traffic).length)}`,
    );
    const moved = moves.length ? `${decimal(moves.length)} (${traffics.join(", ")})` : "0";
    const drops = [...states.values()].reduce((sum, state) => sum + state.drops, 0);
    return `${flows} · lane switches in this step: ${moved} · lane switches so far: ${decimal(switches)} · drops in this step: ${decimal(drops)}`;
  }

  /** The moves to another lane in the film's step at the clock's time. */
  moves(film) {
    const at = this.placeIn(film);
    if (at < 0) return [];
    const begin = at > 0 ? film.t[at - 1] : -Infinity;
    return list(film.switched).filter(([time]) => time > begin && time <= film.t[at]);
  }

  /** The numbers of the link that is picked, for those who do not point at it. */
  linkState(film) {
    if (this.picked === null || this.placeIn(film) < 0 || !this.linkName(this.picked, film)) return "";
    const [name, , ...facts] = this.tell(film, this.picked);
    return `${name}: ${facts.join(", ")}`;
  }

  toggle() {
    this.playing = !this.playing;
    this.play.textContent = this.playing ? "❚❚ Pause" : "▶ Play";
    this.element.dataset.playing = this.playing;
    if (!this.playing) return;
    if (this.step >= this.times.length - 1) this.go(0);
    let before = performance.now();
    let due = 0;
    const frame = (time) => {
      if (!this.playing) return;
      due += (Math.max(0, time - before) / 1000) * this.speed;
      before = time;
      const steps = Math.floor(due);
      due -= steps;
      if (steps > 0) this.go(this.step + steps);
      if (this.step >= this.times.length - 1 || !this.element.isConnected) this.toggle();
      else requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  }

  go(step) {
    if (!this.times) return;
    this.touched = true;
    this.step = Math.min(Math.max(0, step), this.times.length - 1);
    this.show();
  }

  key(event) {
    const own = event.target.closest("button, select, summary, input:not([type=range]), pre");
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    // There arrows scroll the table.
    if (event.target.closest(".scroll")) return;
    if (event.key === " " && (!own || own === this.play)) this.toggle();
    else if (own?.matches("select, input")) return;
    else if (event.key === "ArrowRight") this.go(this.step + 1);
    else if (event.key === "ArrowLeft") this.go(this.step - 1);
    else if (event.key === "Home") this.go(0);
    else if (event.key === "End") this.go(this.times.length - 1);
    else return;
    event.preventDefault();
  }

  pick(index) {
    this.picked = index;
    this.buildDetail();
    this.show();
  }

  /** A link's course over the whole film, under all policies shown. */
  buildDetail() {
    const used = [...new Set(this.now.flatMap((film) => list(film.links).map((link) => link.link)))];
    if (!used.length) return this.detail.replaceChildren();
    if (this.picked === null || !this.linkName(this.picked)) this.picked = this.busiest();
    const options = used
      .map((index) => [index, this.linkName(index)])
      .sort((a, b) => a[1].localeCompare(b[1], "en", { numeric: true }));
    if (!used.includes(this.picked)) options.unshift([this.picked, `${this.linkName(this.picked)} (idle)`]);
    const choose = chooser("Link", options, this.picked, (index) => this.pickFromList(index));
    this.course?.element.remove();
    painted.delete(this.course);
    this.cursor = h("div", { class: "cursor", hidden: true });
    this.course = new Chart(this.courseSpec([choose]));
    this.course.canvas.append(this.cursor);
    this.detail.replaceChildren(this.course.element);
    this.course.draw();
  }

  pickFromList(index) {
    this.pick(index);
    this.detail.querySelector("select")?.focus();
  }

  /** The link with the longest queue of what is shown, else the one that sends most. */
  busiest() {
    const best = { link: null, queue: -1, sent: -1 };
    for (const link of this.now.flatMap((film) => list(film.links))) {
      const queue = list(link.queue).reduce((a, b) => Math.max(a, b), 0);
      const sent = list(link.sent).reduce((a, b) => a + b, 0);
      if (queue > best.queue || (queue === best.queue && sent > best.sent))
        Object.assign(best, { link: link.link, queue, sent });
    }
    return best.link;
  }

  courseSpec(controls) {
    const rows = () =>
      this.now
        .map((film) => ({
          film,
          style: this.view.styles[film.policy],
          link: list(film.links).find((each) => each.link === this.picked),
        }))
        .filter((row) => row.link);
    const parts = [
      ["sent", "utilisation", "share", (value) => value / 1000],
      ["queue", "queue", "B", (value) => value],
      ["drops", "drops", "1", (value) => value],
    ];
    const [top, each, gap] = [12, 96, 26];
    return {
      controls,
      level: this.place.level + 1,
      title: () => `Link ${this.linkName(this.picked)} over time`,
      height: () => top + 3 * each + 2 * gap + 56,
      note: () =>
        rows().length
          ? "Of each step: utilisation of the line, the most bytes in the queue, frames dropped. The upright line is the player's time."
          : "No frame was sent over this link.",
      describe: () =>
        rows()
          .map(
            ({ style, link }) =>
              `${style.name}: utilisation at most ${decimal(Math.max(...link.sent) / 10)} %, queue at most ${quantity(Math.max(...link.queue), "B")}, ${counted(
                link.drops.reduce((a, b) => a + b, 0),
                "drop",
              )}.`,
          )
          .join(" ") || "This link was idle.",
      table: () => ({
        columns: ["policy", "link", "step_end_ns", "utilisation", "queue_bytes", "drops", "flows"],
        rows: rows().flatMap(({ film, style, link }) =>
          film.t.map((t, i) => [
            style.name,
            this.linkName(this.picked, film),
            t,
            link.sent[i] / 1000,
            link.queue[i],
            link.drops[i],
            link.flows[i],
          ]),
        ),
      }),
      drawn: () => this.moveCursor(),
      option: () => ({
        grid: parts.map((_, i) => ({ left: 84, right: 24, top: top + i * (each + gap), height: each })),
        xAxis: parts.map((_, i) =>
          valueAxis("ns", i === 2 ? "time" : "", "value", {
            gridIndex: i,
            min: 0,
            max: this.times.at(-1) ?? 1,
            nameGap: 26,
            splitLine: { show: false },
            axisLabel: { show: i === 2, formatter: (value) => tick(value, "ns") },
          }),
        ),
        yAxis: parts.map(([, name, unit], i) =>
          valueAxis(unit, name, "value", {
            gridIndex: i,
            nameGap: 62,
            splitNumber: 2,
            max: unit === "share" ? 1 : undefined,
            minInterval: unit === "1" ? 1 : undefined,
            min: 0,
          }),
        ),
        tooltip: {
          trigger: "axis",
          formatter: (hits) => {
            const part = parts[hits[0]?.axisIndex ?? 0];
            return tip(
              `t = ${quantity(hits[0]?.axisValue, "ns")}, ${part[1]}`,
              hits.map(({ seriesName, color, data }) => ({
                colour: color,
                name: seriesName,
                value: quantity(data[1], part[2]),
              })),
            );
          },
        },
        series: parts.flatMap(([key, , , scaled], i) =>
          rows().map(({ film, style, link }) => ({
            type: "line",
            step: "start",
            xAxisIndex: i,
            yAxisIndex: i,
            name: style.name,
            // The first step has its beginning, too.
            data: [
              [Math.max(0, 2 * film.t[0] - (film.t[1] ?? film.t[0] * 2)), scaled(link[key][0] ?? 0)],
              ...film.t.map((t, at) => [t, scaled(link[key][at] ?? 0)]),
            ],
            ...lineStyle(style, 1.6),
            showSymbol: false,
            emphasis: { disabled: true },
          })),
        ),
      }),
    };
  }

  moveCursor() {
    const chart = this.course?.instance;
    if (!chart || !this.times.length) return;
    const x = chart.convertToPixel({ xAxisIndex: 0 }, this.times[this.step]);
    this.cursor.hidden = !Number.isFinite(x);
    this.cursor.style.transform = `translateX(${x}px)`;
  }
}
