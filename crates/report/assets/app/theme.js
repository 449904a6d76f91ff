// Colours and line styles. ECharts and exported pictures cannot read CSS, so charts take their colours from here.

// Okabe and Ito's colours, moved until any two differ for readers with protanopia, deuteranopia and tritanopia as well, and
// each stands out from its ground (tests/browser/test_colours.py computes both).
const THEMES = {
  light: {
    ground: "#ffffff",
    text: "#1c2430",
    muted: "#566171",
    line: "#d5dae1",
    alarm: "#b3261e",
    queue: "#f08c00",
    idle: "#c9d0d9",
    node: "#3d4756",
    policies: ["#1172af", "#b85815", "#009b6e", "#bd80ad", "#0898f8", "#d08200", "#1e232f", "#654500"],
  },
  dark: {
    ground: "#161a20",
    text: "#e8ebf0",
    muted: "#a3adba",
    line: "#39424e",
    alarm: "#ff8a80",
    queue: "#ffa94d",
    idle: "#39424e",
    node: "#b9c2ce",
    policies: ["#2385f5", "#d46c33", "#1dae82", "#c689b5", "#82c9f6", "#e8a104", "#f1f1f1", "#f5e946"],
  },
};

// Viridis (Smith and van der Walt, matplotlib, CC0) at 0, 1/8, … 1: even steps of lightness.
const VIRIDIS = [
  [68, 1, 84],
  [71, 44, 122],
  [59, 81, 139],
  [44, 113, 142],
  [33, 144, 141],
  [39, 173, 129],
  [92, 200, 99],
  [170, 220, 50],
  [253, 231, 37],
];

const DASHES = ["solid", [7, 4], [2, 3], [10, 3, 2, 3]];
const MARKERS = ["circle", "rect", "triangle", "diamond", "emptyCircle", "emptyRect", "emptyTriangle", "emptyDiamond"];

const systemDark = matchMedia("(prefers-color-scheme: dark)");
const calm = matchMedia("(prefers-reduced-motion: reduce)");
const appearance = { chosen: null, printing: false };

function themeName() {
  if (appearance.printing) return "light";
  return appearance.chosen ?? (systemDark.matches ? "dark" : "light");
}

const theme = () => THEMES[themeName()];
const colourOf = (style) => theme().policies[style.colour];

/** Utilisation from 0 to 1: idle is near the ground's lightness, full is far from it. */
function utilisationColour(share) {
  const x = Math.min(1, Math.max(0, share));
  const at = (themeName() === "dark" ? 0.12 + 0.88 * x : 0.88 * (1 - x)) * (VIRIDIS.length - 1);
  const from = Math.min(VIRIDIS.length - 2, Math.floor(at));
  const channel = (i) => Math.round(VIRIDIS[from][i] + (at - from) * (VIRIDIS[from + 1][i] - VIRIDIS[from][i]));
  return `rgb(${channel(0)}, ${channel(1)}, ${channel(2)})`;
}

/** Everything that must be drawn anew with other colours. */
const painted = new Set();

function applyTheme() {
  document.documentElement.dataset.theme = themeName();
  for (const each of painted) each.repaint();
}

systemDark.addEventListener("change", () => appearance.chosen ?? applyTheme());

/** A switch between light and dark; the reader's system decides at first. */
function themeSwitch() {
  const name = () => (themeName() === "dark" ? "Light" : "Dark");
  const it = button(
    name(),
    () => {
      appearance.chosen = themeName() === "dark" ? "light" : "dark";
      applyTheme();
      it.textContent = name();
    },
    { class: "theme", title: "Switch between light and dark" },
  );
  systemDark.addEventListener("change", () => (it.textContent = name()));
  return it;
}
