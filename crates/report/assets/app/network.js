// The network as a picture: one group of marks for each direction of a link, recoloured at every step.

// px from the middle line: the two directions of a link run side by side, on the right as seen by frames.
const SPACING = 3.8;
const NODE = { host: 6, switch: 11 };
// Two arrows past each other: flows that this node sends moved to another lane.
const MOVED = "M-10-4H9M4-9L10-4L4 1M10 5H-9M-4 0L-10 5L-4 10";
const QUEUE_RADIUS = 11; // px at the largest queue of what is shown

/** A drawing of `topology` `width` px wide. `pick(link)` is called for a click, `tell(link)` gives a tooltip's lines. */
class NetworkPicture {
  constructor(topology, width, { pick, tell, queueMost }) {
    Object.assign(this, { topology, width, pick, tell, queueMost });
    this.nodes = list(topology.nodes);
    this.links = list(topology.links);
    this.layOut();
    this.svg = s("svg", {
      class: "network",
      viewBox: `0 0 ${width} ${this.height}`,
      width,
      height: this.height,
      role: "img",
    });
    this.drawLinks();
    this.drawNodes();
    this.listen();
  }

  layOut() {
    const rows = new Map();
    const columns = new Map();
    for (const node of this.nodes) {
      for (const [lines, key] of [
        [rows, node.y],
        [columns, node.x],
      ])
        lines.set(key, (lines.get(key) ?? 0) + 1);
    }
    const busiest = Math.max(1, ...columns.values());
    const longest = Math.max(1, ...this.nodes.map((node) => this.label(node).length));
    const onRow = (node) => rows.get(node.y) ?? 1;
    const room = (node) => (this.width - 60) / Math.max(1, onRow(node) - 1);
    this.room = room;
    // Hosts' names that do not fit beside each other stand upright; where even those do not fit, only pointing shows them.
    const hosts = this.nodes.filter((node) => node.kind === "host" && onRow(node) > 1);
    const tight = hosts.filter((node) => room(node) < this.label(node).length * 6.4 + 6);
    this.crowded = hosts.some((node) => room(node) < 12);
    this.uprightRows = new Set(this.crowded ? [] : tight.map((node) => node.y));
    const depth = (row) => {
      const names = tight.filter((node) => row(clampShare(node.y))).map((node) => this.label(node).length);
      return this.crowded || !names.length ? 26 : Math.min(150, 18 + Math.max(...names) * 6.2);
    };
    const [above, below] = [depth((y) => y < 0.1), depth((y) => y > 0.9)];
    const side = Math.min(70, this.crowded || tight.length ? 24 : 16 + longest * 3.2);
    const inner = Math.max(190, Math.min(400, this.width * 0.55), (rows.size - 1) * 80, Math.min(700, busiest * 26));
    this.height = Math.round(above + inner + below);
    this.at = this.nodes.map((node) => [
      side + clampShare(node.x) * (this.width - 2 * side),
      above + clampShare(node.y) * (inner - 6),
    ]);
  }

  label(node) {
    return node.count > 1 ? `${short(node.name, 24)} (×${node.count})` : short(node.name, 24);
  }

  /** Both ends of a link's line, moved to its side; later links between the same two nodes further out. */
  ends(link, parallel) {
    const [[x1, y1], [x2, y2]] = [this.at[link.from] ?? [0, 0], this.at[link.to] ?? [0, 0]];
    const length = Math.hypot(x2 - x1, y2 - y1) || 1;
    const [dx, dy] = [(x2 - x1) / length, (y2 - y1) / length];
    const [ox, oy] = [-dy * SPACING * (1 + 2 * parallel), dx * SPACING * (1 + 2 * parallel)];
    const cut = (node) => Math.min(length / 3, (NODE[node?.kind] ?? 6) + 3);
    const [a, b] = [cut(this.nodes[link.from]), cut(this.nodes[link.to])];
    return [x1 + ox + dx * a, y1 + oy + dy * a, x2 + ox - dx * b, y2 + oy - dy * b];
  }

  drawLinks() {
    const slowest = Math.min(...this.links.map((link) => link.rate_bps).filter((rate) => rate > 0));
    const seenPairs = new Map();
    const [lines, marks, hits] = [s("g"), s("g"), s("g")];
    this.marks = this.links.map((link, index) => {
      const pair = `${link.from}>${link.to}`;
      const parallel = seenPairs.get(pair) ?? 0;
      seenPairs.set(pair, parallel + 1);
      const [x1, y1, x2, y2] = this.ends(link, parallel);
      const wide = link.rate_bps > 0 ? Math.min(6, 3.2 + Math.log10(link.rate_bps / slowest) * 1.6) : 3.2;
      const line = s("line", { x1, y1, x2, y2, "stroke-width": wide, "stroke-linecap": "round" });
      // Frames wait at the port that sends, so the queue is drawn there.
      const [qx, qy] = [x1 + (x2 - x1) * 0.16, y1 + (y2 - y1) * 0.16];
      const queue = s("circle", { class: "queue", cx: qx, cy: qy, r: 0 });
      const drop = s("path", { class: "drop", d: `M${qx - 5} ${qy - 5}l10 10m0-10l-10 10`, visibility: "hidden" });
      const hit = s("line", {
        x1,
        y1,
        x2,
        y2,
        "stroke-width": 9,
        stroke: "transparent",
        "data-link": index,
        class: "hit",
      });
      lines.append(line);
      marks.append(queue, drop);
      hits.append(hit);
      return { line, queue, drop, wide };
    });
    this.halo = s("line", { class: "halo", "stroke-linecap": "round", visibility: "hidden" });
    this.svg.append(this.halo, lines, marks, hits);
  }

  drawNodes() {
    const group = s("g", { class: "nodes" });
    this.moved = [];
    this.nodes.forEach((node, i) => {
      const [x, y] = this.at[i];
      const size = NODE[node.kind] ?? 6;
      // A switch is a box with its name inside, where its row has room for that.
      const boxed = node.kind !== "host" && this.label(node).length * 6.4 + 24 < this.room(node);
      const half = boxed ? this.label(node).length * 3.2 + 6 : size;
      const shape =
        node.kind === "host"
          ? s("circle", { cx: x, cy: y, r: size })
          : s("rect", { x: x - half, y: y - 9, width: 2 * half, height: 18, rx: 4 });
      const name = this.label(node);
      group.append(
        s(
          "g",
          { class: node.kind === "host" ? "host" : "switch" },
          shape,
          boxed
            ? s("text", { class: "inside", x, y: y + 4, "text-anchor": "middle" }, name)
            : this.nameBeside(node, x, y, size),
          s("title", {}, name),
        ),
      );
      this.moved[i] = s("path", { class: "moved", d: MOVED, transform: `translate(${x} ${y})`, visibility: "hidden" });
    });
    group.append(...this.moved);
    this.svg.append(group);
  }

  /** A name above its node in the upper half, else below. */
  nameBeside(node, x, y, size) {
    if (this.crowded && node.kind === "host") return null;
    const up = clampShare(node.y) < 0.4;
    const name = this.label(node);
    if (!this.uprightRows.has(node.y) || node.kind !== "host")
      return s("text", { x, y: up ? y - size - 5 : y + size + 14, "text-anchor": "middle" }, name);
    const start = up ? y - size - 6 : y + size + 6;
    return s("text", { x, y: start, transform: `rotate(${up ? -90 : 90} ${x} ${start})`, dy: "0.35em" }, name);
  }

  listen() {
    const linkOf = (event) => event.target.dataset?.link;
    const bubble = h("div", { class: "bubble", hidden: true });
    this.element = h("div", { class: "picture" }, this.svg, bubble);
    this.svg.addEventListener("click", (event) => linkOf(event) !== undefined && this.pick(Number(linkOf(event))));
    const move = (event) => {
      const link = linkOf(event);
      bubble.hidden = link === undefined;
      if (link === undefined) return;
      const [heading, ...lines] = this.tell(Number(link));
      bubble.replaceChildren(h("strong", {}, heading), ...lines.map((line) => h("div", {}, line)));
      const box = this.element.getBoundingClientRect();
      const left = Math.min(event.clientX - box.left + 12, box.width - bubble.offsetWidth - 4);
      bubble.style.left = `${Math.max(0, left)}px`;
      bubble.style.top = `${event.clientY - box.top + 14}px`;
    };
    this.svg.addEventListener("pointermove", move);
    this.svg.addEventListener("pointerleave", () => (bubble.hidden = true));
  }

  /** Shows a step: `states` maps a link's place to `{ sent, queue, drops }`; others are idle. `senders` are nodes whose flows moved. */
  show(states, picked, senders) {
    const { idle, queue, alarm, text: ink } = theme();
    this.moved.forEach((mark, node) => {
      mark.setAttribute("visibility", senders?.has(node) ? "visible" : "hidden");
      mark.setAttribute("stroke", ink);
    });
    this.marks.forEach((mark, index) => {
      const state = states.get(index);
      const share = state?.sent > 0 ? Math.min(1, state.sent / 1000) : 0;
      mark.line.setAttribute("stroke", share > 0 ? utilisationColour(share) : idle);
      // A little thinner when little is sent, so that busy links catch the eye.
      mark.line.setAttribute("stroke-width", share > 0 ? (mark.wide * (0.6 + 0.4 * share)).toFixed(2) : 1.6);
      const filled = state && this.queueMost > 0 ? state.queue / this.queueMost : 0;
      mark.queue.setAttribute("r", filled > 0 ? (1.5 + (QUEUE_RADIUS - 1.5) * Math.sqrt(filled)).toFixed(2) : 0);
      mark.queue.setAttribute("fill", queue);
      mark.drop.setAttribute("visibility", state?.drops > 0 ? "visible" : "hidden");
      mark.drop.setAttribute("stroke", alarm);
      if (index !== picked) return;
      for (const name of ["x1", "y1", "x2", "y2"]) this.halo.setAttribute(name, mark.line.getAttribute(name));
      this.halo.setAttribute("stroke-width", mark.wide + 7);
      this.halo.setAttribute("stroke", ink);
      this.halo.setAttribute("visibility", "visible");
    });
  }

  /** The picture by itself, with the colours that style sheets give it here. */
  copy() {
    const copy = this.svg.cloneNode(true);
    const [here, there] = [this.svg, copy].map((svg) => [...svg.querySelectorAll("*")]);
    const names = ["fill", "stroke", "stroke-width", "opacity", "font-size", "font-family", "paint-order"];
    here.forEach((element, i) => {
      const style = getComputedStyle(element);
      for (const name of names) there[i].setAttribute(name, style.getPropertyValue(name));
    });
    return copy;
  }
}

const clampShare = (value) => (isNumber(value) ? Math.min(1, Math.max(0, value)) : 0.5);
