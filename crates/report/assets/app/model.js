// The data: what is missing becomes empty, what is a number stays one. A view is a run, or several as one.

const list = (value) => (Array.isArray(value) ? value : []);
// Characters that would turn the text around them, or none at all; a name may have any.
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const text = (value) => (value === null || value === undefined ? "" : String(value).replace(UNSEEN, "\ufffd"));
/** At most `most` characters, for places that cannot grow. */
const short = (value, most) => (text(value).length > most ? `${text(value).slice(0, most - 1)}…` : text(value));
const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

const LISTS = [
  "warnings",
  "notes",
  "policies",
  "traffics",
  "sweep",
  "points",
  "claims",
  "left_out",
  "metrics",
  "summary",
  "published",
  "cdf",
  "slowdown",
  "series",
  "topologies",
  "films",
];

/** A run with every list there. */
function complete(run) {
  const whole = { ...run };
  for (const name of LISTS) whole[name] = list(run?.[name]);
  if (!whole.points.length) whole.points = [{ text: "", at: [] }];
  whole.films = whole.films.map((film) => ({
    ...film,
    links: list(film.links).map((link) => filled(link, list(film.t).length)),
  }));
  return whole;
}

/** A link of a film with a value for each of its `steps`: the lists end with their last value that is not 0. */
function filled(link, steps) {
  const whole = { ...link };
  for (const name of ["sent", "queue", "drops", "flows"])
    whole[name] = Array.from({ length: steps }, (_, at) => list(link[name])[at] ?? 0);
  return whole;
}

/** Colour, dash and marker of the policy at `place`: all three only repeat together after many. */
function styleAt(place) {
  const round = Math.floor(place / 8);
  return { colour: place % 8, dash: (place + round) % 4, marker: place + round };
}

/** Completion times and slowdowns where flows did not finish: of those that did, hence too low (as tables of the command say). */
function markPartial(view) {
  const counted = view.metrics.findIndex((metric) => metric.name === "unfinished");
  view.unfinished = (policy, point, traffic) => view.estimate(policy, point, traffic, counted)?.value > 0;
  const touched = new Set(view.metrics.flatMap(({ name }, i) => (/^(fct|slowdown)\./.test(name) ? [i] : [])));
  for (const [policy, point, traffic, metric] of view.summary) {
    if (!touched.has(metric) || !view.unfinished(policy, point, traffic)) continue;
    view.estimate(policy, point, traffic, metric).partial = true;
  }
}

const PARTIAL_NOTE =
  " * Not all flows finished: means are over those that did, hence too low; a percentile that falls among the unfinished has no value.";

/** The note on unfinished flows, if one of `entries` is touched by them. */
function partialNote(entries) {
  return entries.some((entry) => entry?.partial) ? PARTIAL_NOTE : "";
}

// Units of swept values, as factors within their kind. They order values; nothing is computed with them.
const UNITS = [
  { "%": 0.01, "": 1 },
  { ps: 1, ns: 1e3, us: 1e6, ms: 1e9, s: 1e12 },
  { B: 1, KB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 },
  { bps: 1, kbps: 1e3, Mbps: 1e6, Gbps: 1e9, Tbps: 1e12 },
  { pkt: 1 },
];

/** The kind of a value's unit and its size, or nothing if it is no number with a unit. */
function magnitude(value) {
  const [, number, unit] = /^\s*([+-]?[\d_.]+(?:e[+-]?\d+)?)\s*([A-Za-z%]*)\s*$/i.exec(text(value?.text)) ?? [];
  const kind = UNITS.findIndex((units) => Object.hasOwn(units, unit ?? "?"));
  const size = Number((number ?? "").replaceAll("_", ""));
  return number && kind >= 0 && Number.isFinite(size) ? { kind, size: size * UNITS[kind][unit] } : null;
}

/** Swept values that are quantities of one kind stand in the order of their size, whatever order they were written in. */
function inOrder(view) {
  const places = view.sweep.map((parameter) => {
    const values = list(parameter.values);
    const sizes = values.map(magnitude);
    const order = values.map((_, i) => i);
    if (sizes.every((size) => size !== null && size.kind === sizes[0].kind))
      order.sort((a, b) => sizes[a].size - sizes[b].size || a - b);
    const place = [];
    order.forEach((from, to) => (place[from] = to));
    return { values: order.map((i) => values[i]), place };
  });
  view.sweep = view.sweep.map((parameter, i) => ({ ...parameter, values: places[i].values }));
  view.points = view.points.map((point) => ({
    ...point,
    at: list(point.at).map((value, i) => places[i]?.place[value] ?? value),
  }));
}

/** A run as the charts want it: styles of policies, look-ups, and which policies are hidden. */
function viewOf(run, styles) {
  const view = complete(run);
  inOrder(view);
  view.styles = styles ?? view.policies.map((name, i) => ({ name: text(name), ...styleAt(i) }));
  view.estimates = new Map();
  for (const [policy, point, traffic, metric, value, low, high, n, against] of view.summary) {
    view.estimates.set([policy, point, traffic, metric].join(), { value, low, high, n, against });
  }
  view.estimate = (policy, point, traffic, metric) => view.estimates.get([policy, point, traffic, metric].join());
  markPartial(view);
  view.hidden = new Set();
  view.watchers = [];
  view.watch = (watcher) => view.watchers.push(watcher);
  view.toggle = (policy) => {
    if (!view.hidden.delete(policy)) view.hidden.add(policy);
    view.watchers.forEach((watcher) => watcher());
  };
  view.shown = (entries) => entries.filter((entry) => !view.hidden.has(entry.policy));
  view.pointName = (point) => text(view.points[point]?.text) || "the only point";
  view.trafficName = (traffic) => text(view.traffics[traffic]) || "all traffic";
  return view;
}

/** Several runs as one view, whose policies are run × policy. Parameters, points, traffics and metrics meet by name. */
function merged(runs) {
  const whole = complete({ points: [{ text: "" }] });
  whole.points = [];
  const styles = [];
  const names = [];
  const place = (target, item, key) => {
    const at = target.findIndex((other) => key(other) === key(item));
    return at < 0 ? target.push(item) - 1 : at;
  };
  const manyPolicies = runs.some((run) => run.policies.length > 1);
  runs.forEach((run, number) => {
    const offset = whole.policies.length;
    for (const policy of run.policies) {
      const known = place(names, policy, text);
      const name = `${text(run.label)} · ${text(policy)}`;
      whole.policies.push(name);
      styles.push({
        name,
        colour: (manyPolicies ? known : number) % 8,
        dash: number % 4,
        marker: manyPolicies ? number : known,
        run: number,
        policy: text(policy),
      });
    }
    const parameters = run.sweep.map((parameter) => {
      const at = place(whole.sweep, { name: parameter.name, values: [] }, (item) => text(item.name));
      return {
        at,
        values: list(parameter.values).map((value) => place(whole.sweep[at].values, value, (item) => text(item.text))),
      };
    });
    const points = run.points.map((point) => {
      const coordinates = [];
      list(point.at).forEach(
        (value, i) => parameters[i] && (coordinates[parameters[i].at] = parameters[i].values[value]),
      );
      return place(whole.points, { text: point.text, at: coordinates }, (item) => text(item.text));
    });
    const traffics = run.traffics.map((traffic) => place(whole.traffics, traffic, text));
    const metrics = run.metrics.map((metric) => place(whole.metrics, metric, (item) => text(item.name)));
    const topologies = run.topologies.map((topology) => whole.topologies.push(topology) - 1);
    const policyOf = (policy) => (policy === null || policy === undefined ? null : policy + offset);
    const trafficOf = (traffic) => (traffic === null || traffic === undefined ? null : traffics[traffic]);
    const move = (entry) => ({
      ...entry,
      policy: policyOf(entry.policy),
      point: points[entry.point],
      traffic: trafficOf(entry.traffic),
    });
    for (const [policy, point, traffic, metric, ...rest] of run.summary) {
      whole.summary.push([policyOf(policy), points[point], trafficOf(traffic), metrics[metric], ...rest]);
    }
    for (const entry of run.published) {
      whole.published.push({
        ...move(entry),
        metric: metrics[entry.metric],
        points: list(entry.points).map(([point, value]) => [points[point], value]),
      });
    }
    for (const name of ["cdf", "slowdown", "series"]) whole[name].push(...run[name].map(move));
    whole.films.push(
      ...run.films.map((film) => ({
        ...move(film),
        topology: topologies[film.topology],
        switched: list(film.switched).map(([time, traffic, sender]) => [time, trafficOf(traffic), sender]),
      })),
    );
  });
  return viewOf(whole, styles);
}

/** Pairs `[index, text]` for a chooser, of what `entries` have under `key`. */
function present(entries, key, name) {
  const found = new Set(entries.map((entry) => entry[key]));
  return [...found].sort((a, b) => (a ?? -1) - (b ?? -1)).map((index) => [index, name(index)]);
}

/** Where numbers of an interval part a policy from the best: `best`, `tied` (their intervals meet), or nothing. */
function ranking(entries, better) {
  const known = entries.filter((entry) => isNumber(entry?.value));
  if (!better || known.every((entry) => entry.value === known[0].value)) return () => "";
  const sign = better === "less" ? 1 : -1;
  const best = known.reduce((a, b) => (sign * b.value < sign * a.value ? b : a));
  const bounds = (entry) => [
    isNumber(entry.low) ? entry.low : entry.value,
    isNumber(entry.high) ? entry.high : entry.value,
  ];
  const [low, high] = bounds(best);
  return (entry) => {
    if (!isNumber(entry?.value)) return "";
    if (entry === best || entry.value === best.value) return "best";
    const [from, to] = bounds(entry);
    return isNumber(best.low) && from <= high && to >= low ? "tied" : "";
  };
}
