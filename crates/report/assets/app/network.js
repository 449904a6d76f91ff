// The network as a picture: one group of marks for each direction of a link, recoloured at every step.

// px from the middle line: the two directions of a link run side by side, on the right as seen by frames.
const SPACING = 3.8;
const NODE = { host: 6, switch: 11 };
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
    // Names that do not fit beside each other stand upright; where even those do not fit, only pointing shows them.
    this.upright = this.nodes.some(
      (node) => node.kind === "host" && onRow(node) > 1 && room(node) < this.label(node).length * 6.4 + 6,
    );
    this.crowded = this.nodes.some((node) => onRow(node) > 1 && room(node) < 12);
    this.below = this.crowded ? 14 : this.upright ? Math.min(110, 18 + longest * 6.2) : 26;
    const side = Math.min(70, this.crowded || this.upright ? 24 : 16 + longest * 3.2);
    this.height = Math.round(Math.max(230, Math.min(440, this.width * 0.6), Math.min(700, busiest * 26)) + this.below);
    this.at = this.nodes.map((node) => [
      side + clampShare(node.x) * (this.width - 2 * side),
      24 + clampShare(node.y) * (this.height - 24 - this.below - 12),
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
    this.svg.append(lines, marks, hits);
  }

  drawNodes() {
    const group = s("g", { class: "nodes" });
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
      const lowest = clampShare(node.y) > 0.9;
      const name = this.label(node);
      const upright = this.upright && lowest;
      const label = boxed
        ? s("text", { class: "inside", x, y: y + 4, "text-anchor": "middle" }, name)
        : this.crowded && node.kind === "host"
          ? null
          : upright
            ? s("text", { x, y: y + size + 6, transform: `rotate(90 ${x} ${y + size + 6})`, dy: "0.35em" }, name)
            : s(
                "text",
                { x, y: lowest || clampShare(node.y) > 0.4 ? y + size + 14 : y - size - 5, "text-anchor": "middle" },
                name,
              );
      group.append(
        s("g", { class: text(node.kind) === "host" ? "host" : "switch" }, shape, label, s("title", {}, name)),
      );
    });
    this.svg.append(group);
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

  /** Shows a step: `states` maps a link's place to `{ sent, queue, drops }`; others are idle. */
  show(states, picked) {
    const { idle, queue, alarm } = theme();
    this.marks.forEach((mark, index) => {
      const state = states.get(index);
      mark.line.setAttribute("stroke", state && state.sent > 0 ? utilisationColour(state.sent / 1000) : idle);
      mark.line.setAttribute(
        "stroke-width",
        picked === index ? mark.wide + 4 : state && state.sent > 0 ? mark.wide : Math.min(2, mark.wide),
      );
      const share = state && this.queueMost > 0 ? state.queue / this.queueMost : 0;
      mark.queue.setAttribute("r", share > 0 ? (1.5 + (QUEUE_RADIUS - 1.5) * Math.sqrt(share)).toFixed(2) : 0);
      mark.queue.setAttribute("fill", queue);
      mark.drop.setAttribute("visibility", state?.drops > 0 ? "visible" : "hidden");
      mark.drop.setAttribute("stroke", alarm);
    });
  }
}

const clampShare = (value) => (isNumber(value) ? Math.min(1, Math.max(0, value)) : 0.5);
