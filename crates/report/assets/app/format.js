// Numbers as text: readable prefixes, sensible digits.

const PREFIXES = {
  ns: [
    [1e9, "s"],
    [1e6, "ms"],
    [1e3, "µs"],
    [1, "ns"],
  ],
  s: [
    [1, "s"],
    [1e-3, "ms"],
    [1e-6, "µs"],
    [1e-9, "ns"],
  ],
  bps: [
    [1e12, "Tb/s"],
    [1e9, "Gb/s"],
    [1e6, "Mb/s"],
    [1e3, "kb/s"],
    [1, "b/s"],
  ],
  B: [
    [1e12, "TB"],
    [1e9, "GB"],
    [1e6, "MB"],
    [1e3, "KB"],
    [1, "B"],
  ],
  share: [[0.01, "%"]],
  "1/s": [[1, "/s"]],
};

/** What to divide by, and the unit's name, for numbers around `magnitude`. */
function scaleFor(magnitude, unit) {
  const prefixes = PREFIXES[unit];
  if (!prefixes) return { divisor: 1, name: unit === "1" || !unit ? "" : String(unit) };
  if (magnitude === 0 && unit === "ns") return { divisor: 1e9, name: "s" };
  const size = Math.abs(magnitude);
  const [divisor, name] = prefixes.find(([at]) => size >= at * 0.9995) ?? prefixes.at(-1);
  return { divisor, name };
}

/** With `decimals`, or three significant digits; thousands grouped. */
function decimal(value, decimals) {
  if (!Number.isFinite(value)) return "–";
  if (decimals === undefined) {
    const size = Math.abs(value);
    if (size !== 0 && (size >= 1e9 || size < 1e-3)) return value.toExponential(2).replace("e+", "e");
    if (size >= 1000) return Math.round(value).toLocaleString("en-US");
    if (size < 1000 && Number.isInteger(value)) return String(value);
    decimals = Math.min(6, Math.max(0, 2 - Math.floor(Math.log10(size))));
  }
  return value.toLocaleString("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
}

/** `20.6 ms`. */
function quantity(value, unit) {
  if (typeof value !== "number" || !Number.isFinite(value)) return "–";
  const { divisor, name } = scaleFor(value, unit);
  return name ? `${decimal(value / divisor)} ${name}` : decimal(value);
}

/** For axes: no digits that say nothing. */
function tick(value, unit) {
  if (value === 0) return unit === "share" ? "0 %" : "0";
  const { divisor, name } = scaleFor(value, unit);
  const number = Number((value / divisor).toPrecision(6));
  const text = Math.abs(number) >= 1e6 ? number.toExponential().replace("e+", "e") : number.toLocaleString("en-US");
  return name ? `${text} ${name}` : text;
}

/**
 * An estimate with its 95 % interval: `20.6 ± 0.4 ms`, with the digits that the interval leaves meaning; or `20.6 [15.1, 28.1] ms`
 * where one side is longer than the other by a tenth, as the command prints it.
 */
function estimate(entry, unit) {
  const star = entry?.partial ? "*" : "";
  return `${estimateText(entry, unit)}${star}`;
}

function estimateText(entry, unit) {
  const { value, low, high } = entry ?? {};
  if (typeof value !== "number" || !Number.isFinite(value)) return "–";
  if (typeof low !== "number" || typeof high !== "number") return quantity(value, unit);
  const half = (high - low) / 2;
  const { divisor, name } = scaleFor(value === 0 ? half : value, unit);
  if (half === 0) return quantity(value, unit);
  if (Math.abs(high + low - 2 * value) > 0.1 * half) {
    const ends = `${decimal(value / divisor)} [${decimal(low / divisor)}, ${decimal(high / divisor)}]`;
    return name ? `${ends} ${name}` : ends;
  }
  const scaled = half / divisor;
  const byHalf = scaled > 0 ? 1 - Math.floor(Math.log10(scaled)) : 2;
  const byValue = value === 0 ? byHalf : 3 - Math.floor(Math.log10(Math.abs(value / divisor)));
  const decimals = Math.min(6, Math.max(0, Math.min(byHalf, byValue)));
  const text = `${decimal(value / divisor, decimals)} ± ${decimal(scaled, decimals)}`;
  return name ? `${text} ${name}` : text;
}

/** `1 run`, `3 runs`. */
function counted(count, noun) {
  return `${decimal(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/** Seconds of real time: `850 ms`, `12.3 s`, `4 min 5 s`, `2 h 7 min`. */
function duration(seconds) {
  if (typeof seconds !== "number" || !Number.isFinite(seconds)) return "–";
  if (seconds < 60) return quantity(seconds, "s");
  const whole = Math.round(seconds);
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}

/** A time of day as the reader's machine writes it, or the text itself if it is none. */
function moment(value) {
  const date = new Date(value);
  return Number.isNaN(date.getTime()) ? text(value) : date.toLocaleString(undefined, { timeZoneName: "short" });
}

/** A part of a file's name. */
function slug(text) {
  return (
    String(text)
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, "-")
      .replace(/^-+|-+$/g, "")
      .slice(0, 60) || "headway"
  );
}
