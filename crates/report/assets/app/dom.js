// Elements of the page. Text from the data only ever becomes a text node or an attribute's value.

/** An element: `h("p", { class: "note" }, "text", child)`. Functions among the attributes are listeners. */
function h(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** The same in SVG. */
function s(tag, attributes, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name, value);
    else element.setAttribute(name, value === true ? "" : text(value));
  }
  const present = children.flat(3).filter((child) => child !== null && child !== undefined && child !== false);
  element.append(...present.map((child) => (child instanceof Node ? child : text(child))));
  return element;
}

let lastId = 0;

/** An id that no other element has. */
function freshId(stem) {
  lastId += 1;
  return `${stem}-${lastId}`;
}

/** A section with its heading, as a landmark. */
function section(place, title, ...children) {
  const id = `${place.prefix}${slug(title)}`;
  const heading = h(`h${place.level}`, { id }, title);
  place.contents?.push({ id, title });
  return h("section", { "aria-labelledby": id }, heading, ...children);
}

/** Why there is nothing here. */
function absent(text) {
  return h("p", { class: "absent" }, text);
}

function button(text, onclick, attributes) {
  return h("button", { type: "button", ...attributes, click: onclick }, text);
}

/** A labelled `select`; `options` are `[value, text]`. One option is shown as text. */
function chooser(label, options, selected, onchange) {
  if (options.length < 2) {
    return h("span", { class: "chooser" }, h("span", {}, `${label} `), h("strong", {}, options[0]?.[1] ?? "–"));
  }
  const select = h(
    "select",
    { "aria-label": label, change: () => onchange(options[select.selectedIndex][0]) },
    options.map(([value, text]) => h("option", { selected: value === selected }, text)),
  );
  return h("label", { class: "chooser" }, h("span", {}, `${label} `), select);
}

/** Buttons of which one is on; `options` are `[value, text]`. */
function segments(label, options, selected, onchange) {
  const buttons = options.map(([value, text]) =>
    button(
      text,
      () => {
        buttons.forEach((each, i) => each.setAttribute("aria-pressed", String(options[i][0] === value)));
        onchange(value);
      },
      { "aria-pressed": String(value === selected) },
    ),
  );
  return h("span", { class: "segments", role: "group", "aria-label": label }, buttons);
}

/** Something that unfolds; `make` gives its children when it is opened first. */
function folded(summary, make, attributes) {
  const details = h("details", attributes, h("summary", {}, summary));
  let made = false;
  const open = () => {
    if (made) return;
    made = true;
    details.append(...[make()].flat());
  };
  details.addEventListener("toggle", () => details.open && open());
  details.unfold = () => {
    open();
    details.open = true;
  };
  return details;
}

/** Gives the reader a file that the page holds. */
function download(name, type, content) {
  const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

/** RFC 4180, and no cell that a spreadsheet takes for a formula. */
function csv({ columns, rows }) {
  const cell = (value) => {
    if (value === null || value === undefined) return "";
    if (typeof value === "number") return Number.isFinite(value) ? String(value) : "";
    const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [columns, ...rows].map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}

/** Copies text and says so on the button for a moment. */
async function copy(text, from) {
  const before = from.textContent;
  try {
    await navigator.clipboard.writeText(text);
    from.textContent = "copied";
  } catch {
    // No clipboard from file:// in some browsers.
    const area = h("textarea", { class: "off-screen", readonly: true }, text);
    document.body.append(area);
    area.select();
    from.textContent = document.execCommand("copy") ? "copied" : "select and copy it yourself";
    area.remove();
    from.focus();
  }
  setTimeout(() => (from.textContent = before), 2000);
}
