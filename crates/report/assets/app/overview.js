// What was run, warnings, claims.

const VERDICTS = {
  held: ["held", "✓"],
  "not held": ["not held", "✗"],
  known: ["known not to hold", "≠"],
  undecided: ["not evaluated", "–"],
};

function badge(verdict) {
  const [name, sign] = VERDICTS[verdict] ?? [text(verdict), "?"];
  return h("span", { class: `badge ${slug(verdict)}` }, h("span", { "aria-hidden": "true" }, `${sign} `), name);
}

/** How many claims have which verdict. */
function tally(runs, brief) {
  const count = new Map();
  for (const run of runs) {
    for (const claim of run.claims) count.set(claim.verdict, (count.get(claim.verdict) ?? 0) + 1);
    if (run.left_out.length) count.set("undecided", (count.get("undecided") ?? 0) + run.left_out.length);
  }
  if (!count.size) return null;
  const order = Object.keys(VERDICTS).filter((verdict) => count.has(verdict));
  return h(
    "p",
    { class: "tally" },
    order.map((verdict) =>
      h(
        "span",
        { class: `badge ${slug(verdict)}` },
        h("span", { "aria-hidden": "true" }, `${VERDICTS[verdict][1]} `),
        `${count.get(verdict)}`,
        h("span", { class: brief ? "off-screen" : null }, ` ${VERDICTS[verdict][0]}`),
      ),
    ),
  );
}

function facts(pairs) {
  return h(
    "dl",
    { class: "facts" },
    pairs
      .filter(([, value]) => value !== null && value !== "")
      .map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))),
  );
}

function runSection(run, place) {
  const { machine = {}, kernel } = run;
  const command = h("code", {}, text(run.command));
  const scenario = () => {
    const from = button("copy", () => copy(String(run.toml), from));
    return h(
      "div",
      { class: "code" },
      from,
      h("pre", { tabindex: 0, "aria-label": "Scenario file" }, h("code", {}, text(run.toml))),
    );
  };
  return section(
    place,
    "What was run",
    facts([
      ["Scenario", text(run.scenario)],
      ["Source", text(run.source)],
      [
        "Size",
        `${counted(run.policies.length, "policy").replace("policys", "policies")} × ${counted(run.points.length, "point")} × ${counted(run.repeats ?? 1, "repeat")}${run.quick ? ", quick size" : ""}`,
      ],
      ["Seed", text(run.seed)],
      ["Headway", text(run.version)],
      ["Started", run.started ? moment(run.started) : ""],
      ["Took", isNumber(run.wall_s) && run.wall_s > 0 ? duration(run.wall_s) : ""],
      [
        "Machine",
        [machine.os, machine.arch, machine.cpus ? counted(machine.cpus, "processor") : ""].filter(Boolean).join(", "),
      ],
      ["Kernel of hosts", kernel ? [text(kernel.name), `Linux ${text(kernel.version)}`, text(kernel.changes)].filter(Boolean).join(", ") : ""],
    ]),
    run.command
      ? h(
          "p",
          { class: "command" },
          command,
          " ",
          button("copy", (event) => copy(String(run.command), event.currentTarget)),
        )
      : null,
    run.toml ? folded("Scenario file with every default", scenario, { class: "scenario" }) : null,
  );
}

function warningSection(run, place) {
  if (!run.warnings.length && !run.notes.length) return null;
  const items = (texts, name) =>
    texts.length
      ? h(
          "ul",
          { class: name },
          texts.map((each) => h("li", {}, text(each))),
        )
      : null;
  return section(
    place,
    run.warnings.length ? "Warnings and notes" : "Notes",
    items(run.warnings, "warnings"),
    items(run.notes, "notes"),
  );
}

/** What the source printed beside what was measured, where it printed something for the point. */
function publishedCells(line) {
  const ratios = list(line.ratios).filter((ratio) => ratio !== null);
  return {
    published: list(line.published).join("; "),
    ours: text(line.ours),
    ratio: ratios.map((ratio) => decimal(ratio)).join(" and "),
  };
}

function claimLines(claim) {
  const lines = list(claim.lines);
  if (!lines.length) return null;
  const beside = lines.some((line) => list(line.published).length || line.ours);
  const manyPoints = lines.some((line) => line.at);
  if (lines.length === 1 && !beside) {
    const [{ at, text: numbers, held }] = lines;
    return h(
      "p",
      { class: held === false ? "fails" : "" },
      at ? h("strong", {}, `${text(at)}: `) : null,
      text(numbers),
    );
  }
  const columns = [
    manyPoints && "point",
    "numbers",
    beside && "published",
    beside && "measured",
    beside && "÷",
    "holds",
  ].filter(Boolean);
  return h(
    "div",
    { class: "scroll" },
    h(
      "table",
      { class: "plain" },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          columns.map((name) =>
            h("th", { scope: "col" }, name === "÷" ? h("abbr", { title: "measured ÷ published" }, name) : name),
          ),
        ),
      ),
      h(
        "tbody",
        {},
        lines.map((line) => {
          const { published, ours, ratio } = publishedCells(line);
          const cells = [
            manyPoints && text(line.at),
            text(line.text),
            beside && published,
            beside && ours,
            beside && ratio,
            line.held === null || line.held === undefined ? "not judged" : line.held ? "yes" : "no",
          ];
          return h(
            "tr",
            { class: line.held === false ? "fails" : null },
            cells.filter((cell) => cell !== false).map((cell) => h("td", {}, cell)),
          );
        }),
      ),
    ),
  );
}

function claimItem(claim) {
  const lines = list(claim.lines);
  const published = list(claim.published);
  const few = lines.length <= 4;
  const failing = lines.filter((line) => line.held === false).length;
  return h(
    "li",
    { class: `claim ${slug(claim.verdict)}` },
    h("p", { class: "claim-head" }, badge(claim.verdict), " ", text(claim.text)),
    claim.known
      ? h(
          "p",
          { class: "known" },
          h("strong", {}, claim.verdict === "held" ? "Known not to hold, but it does: " : "Known: "),
          text(claim.known),
        )
      : null,
    published.length ? h("p", {}, h("strong", {}, "Published: "), published.map(text).join("; ")) : null,
    claim.skipped
      ? h("p", {}, `Not evaluated at ${counted(claim.skipped, "further point")}, which were not run.`)
      : null,
    few
      ? claimLines(claim)
      : folded(`${counted(lines.length, "point")}${failing ? `, fails at ${failing}` : ""}`, () => claimLines(claim), {
          "data-print": true,
        }),
  );
}

function claimSection(run, place) {
  if (!run.claims.length && !run.left_out.length)
    return section(place, "Claims", absent("The scenario makes no claims."));
  return section(
    place,
    "Claims",
    tally([run]),
    h(
      "ul",
      { class: "claims" },
      run.claims.map(claimItem),
      run.left_out.length
        ? h(
            "li",
            { class: "claim undecided" },
            h("p", { class: "claim-head" }, badge("undecided"), " Nothing was run that these are about:"),
            h(
              "ul",
              {},
              run.left_out.map((claim) => h("li", {}, text(claim))),
            ),
          )
        : null,
    ),
  );
}

/** Every claim of every run in one table. */
function allClaims(runs, groups, place) {
  const rows = [];
  const paper = (index) => text(groups.find((group) => list(group.runs).includes(index))?.title);
  runs.forEach((run, index) => {
    for (const claim of run.claims) {
      const lines = list(claim.lines);
      const beside = lines.filter((line) => list(line.published).length || line.ours);
      const entry = {
        run,
        paper: paper(index),
        verdict: text(claim.verdict),
        claim: text(claim.text),
        known: text(claim.known),
      };
      if (!beside.length)
        rows.push({
          ...entry,
          point: "",
          published: list(claim.published).map(text).join("; "),
          ours:
            lines.length > 1
              ? `${lines.filter((line) => line.held).length} of ${lines.length} points hold`
              : text(lines[0]?.text),
          ratio: lines.length === 1 ? publishedCells(lines[0]).ratio : "",
        });
      for (const line of beside)
        rows.push({ ...entry, point: text(line.at), ...publishedCells(line), held: line.held });
    }
    for (const claim of run.left_out)
      rows.push({
        run,
        paper: paper(index),
        verdict: "undecided",
        claim: text(claim),
        known: "",
        point: "",
        published: "",
        ours: "not run",
        ratio: "",
      });
  });
  if (!rows.length) return section(place, "All claims", absent("No experiment makes a claim."));
  const chosen = { paper: null, verdict: null, words: "" };
  const body = h("div");
  const count = h("p", { class: "caption", role: "status" });
  const show = () => {
    const words = chosen.words.toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = rows.filter(
      (row) =>
        (chosen.paper === null || row.paper === chosen.paper) &&
        (chosen.verdict === null || row.verdict === chosen.verdict) &&
        words.every((word) =>
          [row.run.label, row.claim, row.point, row.published, row.ours, row.known]
            .join(" ")
            .toLowerCase()
            .includes(word),
        ),
    );
    const columns = ["experiment", "verdict", "claim", "point", "published", "measured", "measured ÷ published"].map(
      (name, i) => ({ name, number: i === 6 }),
    );
    const cells = wanted.map((row) => [
      plainCell(row.run.label),
      {
        node: [badge(row.verdict), row.held === false ? h("div", { class: "small" }, "fails here") : ""],
        key: row.verdict,
      },
      { node: [row.claim, row.known ? h("div", { class: "small" }, row.known) : ""], key: row.claim },
      plainCell(row.point),
      plainCell(row.published),
      plainCell(row.ours),
      { node: row.ratio, key: row.ratio === "" ? null : parseFloat(row.ratio) },
    ]);
    body.replaceChildren(sortable("All claims", columns, cells));
    count.textContent = `${counted(wanted.length, "row")} of ${rows.length}`;
  };
  const choices = (values, name) => [[null, "all"], ...[...new Set(values)].map((value) => [value, name(value)])];
  const search = h("input", { type: "search", input: () => ((chosen.words = search.value), show()) });
  show();
  return section(
    place,
    "All claims",
    tally(runs),
    h(
      "div",
      { class: "controls" },
      groups.length > 1 &&
        chooser(
          "Paper",
          choices(
            rows.map((row) => row.paper),
            (value) => value || "–",
          ),
          null,
          (value) => ((chosen.paper = value), show()),
        ),
      chooser(
        "Verdict",
        choices(
          rows.map((row) => row.verdict),
          (value) => VERDICTS[value]?.[0] ?? value,
        ),
        null,
        (value) => ((chosen.verdict = value), show()),
      ),
      h("label", { class: "chooser" }, h("span", {}, "Words "), search),
      button("data as CSV", () =>
        download(
          "headway-claims.csv",
          "text/csv",
          csv({
            columns: ["experiment", "paper", "verdict", "claim", "point", "published", "measured", "ratio", "known"],
            rows: rows.map((row) => [
              text(row.run.label),
              row.paper,
              row.verdict,
              row.claim,
              row.point,
              row.published,
              row.ours,
              row.ratio,
              row.known,
            ]),
          }),
        ),
      ),
    ),
    count,
    body,
  );
}
