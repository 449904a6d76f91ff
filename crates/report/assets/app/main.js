// The page of each kind, and printing.

/** All sections of one view, below `place.level`. */
function chartSections(view, place) {
  return [summarySection, metricSection, distributionSection, slowdownSection, seriesSection, playerSection].map(
    (make) => make(view, place),
  );
}

function runPage(data, place) {
  const run = complete(data.runs[0]);
  return [
    runSection(run, place),
    warningSection(run, place),
    claimSection(run, place),
    ...chartSections(viewOf(run), place),
  ];
}

function comparisonPage(data, place) {
  const runs = data.runs.map(complete);
  const each = { ...place, level: 3, contents: null };
  const whole = section(
    place,
    "What was run",
    runs.map((run, i) =>
      folded(
        `${text(run.label)}: ${text(run.scenario)}`,
        () =>
          [
            run.about ? h("p", {}, text(run.about)) : null,
            runSection(run, { ...each, prefix: `run${i}-` }),
            warningSection(run, { ...each, prefix: `run${i}-` }),
            claimSection(run, { ...each, prefix: `run${i}-` }),
          ].filter(Boolean),
        { class: "experiment", "data-print": true },
      ),
    ),
  );
  const warned = runs.filter((run) => run.warnings.length);
  const view = merged(runs);
  return [
    whole,
    warned.length
      ? section(
          place,
          "Warnings",
          h(
            "ul",
            { class: "warnings" },
            warned.flatMap((run) =>
              run.warnings.map((each) => h("li", {}, h("strong", {}, `${text(run.label)}: `), text(each))),
            ),
          ),
        )
      : null,
    runs.some((run) => run.claims.length || run.left_out.length) ? allClaims(runs, [], place) : null,
    differenceSection(view, runs, place),
    ...chartSections(view, place),
  ];
}

function reproductionPage(data, place) {
  const runs = data.runs.map(complete);
  const groups = list(data.groups).length ? list(data.groups) : [{ title: "Experiments", runs: runs.map((_, i) => i) }];
  const anchors = runs.map((_, i) => `experiment-${i}`);
  const index = section(
    place,
    "Index",
    groups.map((group) => [
      h("h3", {}, text(group.title)),
      h(
        "ul",
        { class: "index" },
        list(group.runs)
          .filter((i) => runs[i])
          .map((i) =>
            h(
              "li",
              {},
              h(
                "a",
                { href: `#${anchors[i]}`, click: () => document.getElementById(anchors[i])?.unfold() },
                text(runs[i].label),
              ),
              " ",
              tally([runs[i]], true) ?? h("span", { class: "small" }, "no claims"),
            ),
          ),
      ),
    ]),
  );
  const claims = allClaims(runs, groups, place);
  const experiments = section(
    place,
    "Experiments",
    groups.map((group) => [
      h("h3", {}, text(group.title)),
      list(group.runs)
        .filter((i) => runs[i])
        .map((i) => experiment(runs[i], i, anchors[i])),
    ]),
  );
  return [index, claims, experiments];
}

/** An experiment, whose charts are drawn when it is opened. */
function experiment(run, number, id) {
  const place = { prefix: `e${number}-`, level: 4, contents: null };
  return folded(
    [
      h("strong", {}, text(run.label)),
      " ",
      h("span", { class: "small" }, text(run.about).slice(0, 160)),
      tally([run]) ?? "",
    ].filter(Boolean),
    () =>
      [
        run.about ? h("p", {}, text(run.about)) : null,
        runSection(run, place),
        warningSection(run, place),
        claimSection(run, place),
        ...chartSections(viewOf(run), place),
      ].filter(Boolean),
    { class: "experiment", id },
  );
}

const KINDS = { run: runPage, comparison: comparisonPage, reproduction: reproductionPage };

function build(data) {
  const place = { prefix: "", level: 2, contents: [] };
  const runs = list(data.runs).map(complete);
  const sections = KINDS[data.kind](data, place).filter(Boolean);
  const contents = h(
    "nav",
    { class: "contents", "aria-label": "Contents" },
    h(
      "ul",
      {},
      place.contents.map(({ id, title }) => h("li", {}, h("a", { href: `#${id}` }, title))),
    ),
  );
  const about = data.kind === "run" ? text(runs[0]?.about) : "";
  document.body.append(
    h("a", { class: "skip", href: "#main" }, "Skip to the report"),
    h(
      "header",
      { class: "top" },
      h("div", { class: "brand" }, "Headway", themeSwitch()),
      h("h1", {}, text(data.title)),
      about ? h("p", { class: "about" }, about) : null,
      tally(runs),
    ),
    contents,
    h("main", { id: "main", tabindex: -1 }, sections),
    h(
      "footer",
      {},
      `Made by Headway ${[...new Set(runs.map((run) => text(run.version)))].join(", ")}. Charts: Apache ECharts ${echarts.version}, Apache License 2.0.`,
    ),
  );
}

/** On paper everything is light, unfolded where it matters, and drawn, whether it was in view or not. */
const unfoldedForPrint = [];

addEventListener("beforeprint", () => {
  appearance.printing = true;
  document.documentElement.dataset.theme = "light";
  for (const details of document.querySelectorAll("details[data-print]:not([open])")) {
    details.unfold();
    unfoldedForPrint.push(details);
  }
  for (const element of document.querySelectorAll(".figure, .player")) element.chart?.draw();
  for (const element of document.querySelectorAll(".player")) element.player.showBusiest();
  for (const each of painted) if (each.element.isConnected) each instanceof Chart ? each.resize() : each.repaint();
});

addEventListener("afterprint", () => {
  appearance.printing = false;
  for (const details of unfoldedForPrint.splice(0)) details.open = false;
  for (const element of document.querySelectorAll(".player")) element.player.showAgain();
  document.documentElement.dataset.theme = themeName();
  for (const each of painted) if (each.element.isConnected) each instanceof Chart ? each.resize() : each.repaint();
});

function start() {
  document.documentElement.dataset.theme = themeName();
  let data;
  try {
    data = JSON.parse(document.getElementById("headway-data").textContent);
    if (data.format !== 1) throw new Error(`the data has format ${text(data.format)}, and this page reads format 1`);
    if (!KINDS[data.kind] || !list(data.runs).length) throw new Error("the data names no run");
  } catch (error) {
    document.body.append(
      h("main", {}, h("h1", {}, "This report cannot be shown"), h("p", { role: "alert" }, error.message)),
    );
    return;
  }
  build(data);
  document.documentElement.dataset.ready = "true";
}

start();
