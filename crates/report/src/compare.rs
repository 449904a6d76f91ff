//! Two sets of results side by side: folders, or values of a swept name.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use headway_results::{Difference, Differences, Judgement, Manifest, Method, Metric, Row, Side};

use crate::grid::{Align, Cell, Column, render};
use crate::number::{Scale, three_digits};
use crate::text::wrapped;
use crate::{Layout, counted, harmless};

/// So many rows that only one side has are named; of more the number is told.
const NAMED: usize = 10;

/// What identifies two runs and differs between them, as sentences without a full stop.
pub fn differences(a: &Manifest, b: &Manifest) -> Vec<String> {
    let mut all = Vec::new();
    let mut add = |what: &str, a: &dyn std::fmt::Display, b: &dyn std::fmt::Display| {
        let (a, b) = (a.to_string(), b.to_string());
        if a != b {
            all.push(format!("the {what} differ: {a} and {b}"));
        }
    };
    add("scenarios", &a.scenario, &b.scenario);
    add("seeds", &a.seed, &b.seed);
    add("numbers of repeats", &a.repeats, &b.repeats);
    add("versions of Headway", &a.version, &b.version);
    // The text holds the seed and the number of repeats: of another name or number it cannot be the same.
    if all.is_empty() && a.scenario_sha256 != b.scenario_sha256 {
        all.push("the scenarios have the same name, but different texts".to_owned());
    }
    all
}

/// Both sides, what differs in how they were run, the rows that differ, and the rows that only one has.
///
/// There is a table for each traffic and metric, or one for each traffic if nothing else tells rows apart. Each row has A,
/// B, and B − A with its 95 % interval. Rows that do not differ, and those that cannot be judged because the seeds differ
/// and there is one repeat, are counted, and shown if `all` are wanted.
pub fn comparison(a: &Side<'_>, b: &Side<'_>, found: &Differences, all: bool, layout: Layout) -> String {
    let mut text = String::new();
    for (letter, side) in [("A", a), ("B", b)] {
        for line in wrapped(&format!("{letter}: {}", harmless(&about(side))), layout.width, 3) {
            let _ = writeln!(text, "{line}");
        }
    }
    let same_seed = a.folder.manifest.seed == b.folder.manifest.seed;
    let mut notes = differences(&a.folder.manifest, &b.folder.manifest);
    let older = [a, b].into_iter().find(|side| !side.has_repeats());
    notes
        .extend(older.map(|side| format!("{} has no repeats.csv: pairs cannot be formed", side.folder.path.display())));
    for note in notes {
        for line in wrapped(&format!("note: {}", harmless(&note)), layout.width, 6) {
            let _ = writeln!(text, "{}", layout.bold(&line));
        }
    }
    let wanted = |row: &&Difference| match row.judgement {
        Judgement::Differ | Judgement::OneSided => true,
        Judgement::Unjudged => same_seed || all,
        Judgement::Same | Judgement::Overlap => all,
    };
    let shown: Vec<&Difference> = found.both.iter().filter(wanted).collect();
    text.push_str(&tables(&shown, layout));
    text.push('\n');
    for line in tally(&found.both, &shown) {
        for line in wrapped(&line, layout.width, 2) {
            let _ = writeln!(text, "{line}");
        }
    }
    for (letter, rows, others) in [("A", &found.only_a, &found.only_b), ("B", &found.only_b, &found.only_a)] {
        let policies = missing_policies(rows, others, &found.both);
        text.push_str(&only(letter, rows, &policies, all, layout));
    }
    text
}

/// `results/a, buffer=4MB (web, seed 1, 3 repeats, version 0.1.0)`.
fn about(side: &Side<'_>) -> String {
    let m = &side.folder.manifest;
    let mut text = side.folder.path.display().to_string();
    for (name, value) in &side.choice {
        let _ = write!(text, ", {name}={value}");
    }
    let repeats = counted(m.repeats as usize, "repeat");
    format!("{text} ({}, seed {}, {repeats}, version {})", m.scenario, m.seed, m.version)
}

/// The tables, and what their marks mean.
fn tables(shown: &[&Difference], layout: Layout) -> String {
    let mut text = String::new();
    let mut traffics: Vec<&str> = Vec::new();
    for row in shown {
        if !traffics.contains(&row.a.traffic.as_str()) {
            traffics.push(&row.a.traffic);
        }
    }
    for traffic in traffics {
        let rows: Vec<&Difference> = shown.iter().copied().filter(|row| row.a.traffic == traffic).collect();
        let place = |row: &Difference| (row.a.policy.clone(), row.a.sweep.to_string());
        if rows.iter().all(|row| place(row) == place(rows[0])) {
            let mut title = vec![harmless(traffic)];
            title.extend(Some(harmless(&rows[0].a.policy)).filter(|policy| !policy.is_empty()));
            title.extend(Some(harmless(&rows[0].a.sweep.to_string())).filter(|at| !at.is_empty()));
            let _ = write!(text, "\n{}\n{}", layout.bold(&title.join(", ")), by_metric(&rows, layout));
            continue;
        }
        let mut metrics: Vec<Metric> = Vec::new();
        for row in &rows {
            if !metrics.contains(&row.a.metric) {
                metrics.push(row.a.metric);
            }
        }
        for metric in metrics {
            let rows: Vec<&Difference> = rows.iter().copied().filter(|row| row.a.metric == metric).collect();
            let scale = scale(&rows);
            let unit = if scale.name.is_empty() { String::new() } else { format!(" in {}", scale.name) };
            let title = format!("{}: {metric}{unit}", harmless(traffic));
            let _ = write!(text, "\n{}\n{}", layout.bold(&title), by_place(&rows, scale, layout));
        }
    }
    text
}

/// The unit of all of `rows`.
fn scale(rows: &[&Difference]) -> Scale {
    let values = rows.iter().flat_map(|row| [row.a.estimate.value, row.b.value]).flatten();
    Scale::fitting(rows[0].a.metric, values)
}

/// A row for each policy and point, of one metric.
fn by_place(rows: &[&Difference], scale: Scale, layout: Layout) -> String {
    let column = |name: &str, of: &dyn Fn(&Difference) -> String| {
        Column::new(&[name], Align::Left, rows.iter().map(|row| Cell::from(of(row))).collect())
    };
    let mut columns = Vec::new();
    if rows.iter().any(|row| !row.a.policy.is_empty()) {
        columns.push(column("policy", &|row| row.a.policy.clone()));
    }
    for name in rows[0].a.sweep.names() {
        let value = |row: &Difference| row.a.sweep.get(name).map(|value| value.text.clone()).unwrap_or_default();
        columns.push(column(name, &value));
    }
    let labels = columns.len();
    columns.extend(numbers(rows, &|_| scale));
    render(&columns, labels, layout)
}

/// A row for each metric, of one policy and point.
fn by_metric(rows: &[&Difference], layout: Layout) -> String {
    let names = rows.iter().map(|row| Cell::from(row.a.metric.to_string())).collect();
    let units = rows.iter().map(|row| Cell::from(scale(&[row]).name.to_owned())).collect();
    let mut columns = vec![Column::new(&["metric"], Align::Left, names), Column::new(&["unit"], Align::Left, units)];
    columns.extend(numbers(rows, &|row| scale(&[row])));
    render(&columns, 2, layout)
}

/// A, B, the difference with its interval, and the change in per cent.
fn numbers(rows: &[&Difference], scale: &dyn Fn(&Difference) -> Scale) -> Vec<Column> {
    let column = |name: &str, of: &dyn Fn(&Difference) -> Cell| {
        Column::new(&[name], Align::Right, rows.iter().map(|row| of(row)).collect())
    };
    let value = |row: &Difference, value: Option<f64>| {
        Cell::from(value.map_or_else(|| "–".to_owned(), |value| scale(row).number(value)))
    };
    let signed = |value: f64, text: String| if value > 0.0 { format!("+{text}") } else { text };
    let difference = |row: &Difference| {
        let mark = mark(row.judgement);
        let Some((difference, value)) = row.difference.and_then(|all| Some((all, all.value?))) else {
            let side = if row.a.estimate.value.is_none() { "A" } else { "B" };
            let both = row.a.estimate.value.or(row.b.value).is_none();
            return Cell::from(if both { String::new() } else { format!("no value in {side}") });
        };
        let show = |value: f64| signed(value, scale(row).number(value));
        let ends = difference.low.zip(difference.high);
        let half = ends.map(|(low, high)| format!("[{}, {}]", show(low), show(high)));
        Cell { value: show(value), half, mark }
    };
    let change = |row: &Difference| {
        let share = row.relative().filter(|share| *share != 0.0);
        Cell::from(share.map(|share| signed(share, format!("{} %", three_digits(share * 100.0)))).unwrap_or_default())
    };
    vec![
        column("A", &|row| value(row, row.a.estimate.value)),
        column("B", &|row| value(row, row.b.value)),
        column("B − A [95 %]", &difference),
        column("change", &change),
    ]
}

/// Behind a difference that is none to rely on.
fn mark(judgement: Judgement) -> &'static str {
    match judgement {
        Judgement::Overlap => " ~",
        Judgement::Unjudged => " ?",
        Judgement::Same | Judgement::Differ | Judgement::OneSided => "",
    }
}

/// How many rows differ, and how sure that is.
fn tally(all: &[Difference], shown: &[&Difference]) -> Vec<String> {
    let count = |wanted: Judgement| all.iter().filter(|row| row.judgement == wanted).count();
    let (differ, overlap, same) = (count(Judgement::Differ), count(Judgement::Overlap), count(Judgement::Same));
    let (one_sided, unjudged) = (count(Judgement::OneSided), count(Judgement::Unjudged));
    let hidden = if shown.len() < all.len() { "; --all shows every row" } else { "" };
    let mut lines = Vec::new();
    if differ + overlap > 0 {
        let verb = if differ == 1 { "differs" } else { "differ" };
        lines.push(format!("{differ} of {} {verb}{hidden}", counted(all.len(), "row")));
    } else if same == all.len() {
        lines.push(if same == 1 { "1 row is equal".to_owned() } else { format!("{same} rows are equal") });
    }
    let are = |n: usize| if n == 1 { "1 row".to_owned() } else { format!("{n} rows") };
    if overlap > 0 {
        lines.push(format!("{} ~: the interval has 0 in it, so these repeats show no difference", are(overlap)));
    }
    if one_sided > 0 {
        lines.push(format!("{} with a value on one side only: a percentile among unfinished flows", are(one_sided)));
    }
    if unjudged > 0 {
        lines.push(format!("{} ?: changed, but one repeat has no interval{hidden}", are(unjudged)));
    }
    if same > 0 && same < all.len() {
        lines.push(format!("{} equal", if same == 1 { "1 row is".to_owned() } else { format!("{same} rows are") }));
    }
    let judged = all.iter().filter(|row| row.by_interval()).count();
    if judged > 0 {
        let paired = all.iter().filter(|row| row.by_interval() && row.method == Method::Paired).count();
        lines.push(match judged - paired {
            0 => "Intervals are of differences within each repeat (paired): both have the same seed".to_owned(),
            _ if paired == 0 => "Intervals are of two independent samples (Welch)".to_owned(),
            rest => format!("Intervals are of differences within each repeat, but of two samples in {}", are(rest)),
        });
        let chance = (judged as f64 * 0.05).round();
        if judged >= 20 {
            lines.push(format!(
                "If nothing differed, about {chance} of the {judged} rows with intervals would by chance"
            ));
        }
    }
    lines
}

/// The policies of `rows`, which one side has alone, that the other side has nothing of: neither among its own `others` nor
/// in `both`.
fn missing_policies<'a>(rows: &'a [Row], others: &[Row], both: &[Difference]) -> Vec<&'a str> {
    let matched: BTreeSet<&str> = both.iter().map(|row| &row.a).chain(others).map(|row| row.policy.as_str()).collect();
    let mut missing: Vec<&str> = Vec::new();
    for row in rows {
        let policy = row.policy.as_str();
        if !policy.is_empty() && !matched.contains(policy) && !missing.contains(&policy) {
            missing.push(policy);
        }
    }
    missing
}

/// The rows that one side has alone; those of whole policies are named by these.
fn only(letter: &str, rows: &[Row], policies: &[&str], all: bool, layout: Layout) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let named = |row: &&Row| !all && policies.contains(&row.policy.as_str());
    let rest: Vec<Row> = rows.iter().filter(|row| !named(row)).cloned().collect();
    let mut lines = grouped(&rest);
    if rest.len() < rows.len() {
        let word = if policies.len() == 1 { "policy" } else { "policies" };
        lines.insert(0, format!("all of {word} {}", policies.join(", ")));
    }
    let mut text = format!("{} only in {letter}:\n", counted(rows.len(), "row"));
    let most = if all { lines.len() } else { NAMED };
    for line in lines.iter().take(most) {
        for line in wrapped(&format!("  {}", harmless(line)), layout.width, 4) {
            let _ = writeln!(text, "{line}");
        }
    }
    if lines.len() > most {
        let _ = writeln!(text, "  and of {}; --all names them", counted(lines.len() - most, "other cell"));
    }
    text
}

/// A line for each policy, point and traffic with its metrics.
fn grouped(rows: &[Row]) -> Vec<String> {
    let mut lines: Vec<(String, String)> = Vec::new();
    for row in rows {
        let at = if row.sweep.is_empty() { String::new() } else { format!(" at {}", row.sweep) };
        let group = match format!("{}{at}", row.policy) {
            place if place.is_empty() => row.traffic.clone(),
            place => format!("{}, {}", place.trim_start(), row.traffic),
        };
        match lines.last_mut() {
            Some((last, metrics)) if *last == group => {
                let _ = write!(metrics, ", {}", row.metric);
            }
            _ => lines.push((group, row.metric.to_string())),
        }
    }
    lines.into_iter().map(|(group, metrics)| format!("{group}: {metrics}")).collect()
}

#[cfg(test)]
mod tests;
