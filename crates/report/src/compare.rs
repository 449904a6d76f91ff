//! Two results folders side by side.

use std::fmt::Write as _;

use headway_results::{Comparison, Estimate, Finished, Manifest, Pair, Row, compare};

use crate::grid::{Align, Cell, Column, render};
use crate::number::{Scale, three_digits};
use crate::{Layout, counted, harmless};

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

/// Both folders, what differs in how they were run, the rows that differ with the change from A to B, and the
/// rows that only one has. Equal rows are counted.
///
/// Values are means over the repeats ± half the width of their 95 % intervals.
pub fn comparison(a: &Finished, b: &Finished, layout: Layout) -> String {
    let mut text = String::new();
    for (letter, folder) in [("A", a), ("B", b)] {
        let m = &folder.manifest;
        let path = harmless(&folder.path.display().to_string());
        let about = format!("{}, seed {}, {}, version {}", m.scenario, m.seed, repeats(m), m.version);
        let _ = writeln!(text, "{letter}: {path} ({})", harmless(&about));
    }
    for difference in differences(&a.manifest, &b.manifest) {
        let _ = writeln!(text, "{}", layout.bold(&format!("note: {}", harmless(&difference))));
    }
    let Comparison { both, only_a, only_b } = compare(&a.summary, &b.summary);
    let (equal, different): (Vec<&Pair>, Vec<&Pair>) = both.iter().partition(|pair| pair.a.estimate == pair.b);
    if !different.is_empty() {
        let change = |pair: &Pair| {
            let sign = |change: f64| if change > 0.0 { "+" } else { "" };
            pair.change().map(|c| format!("{}{} %", sign(c), three_digits(c))).unwrap_or_default()
        };
        let _ = write!(text, "\n{}", table(&different, ["A", "B", "change"], &change, layout));
    }
    text.push('\n');
    if !different.is_empty() {
        let apart = different.iter().filter(|pair| pair.overlap() == Some(false)).count();
        let line = format!(
            "{} differ{}, {apart} of them by more than their 95 % intervals",
            counted(different.len(), "row"),
            if different.len() == 1 { "s" } else { "" }
        );
        let _ = writeln!(text, "{line}");
    }
    if !equal.is_empty() {
        let _ = writeln!(
            text,
            "{} equal",
            if equal.len() == 1 { "1 row is".into() } else { format!("{} rows are", equal.len()) }
        );
    }
    for (letter, rows) in [("A", only_a), ("B", only_b)] {
        if !rows.is_empty() {
            let _ = writeln!(text, "{} only in {letter}:", counted(rows.len(), "row"));
            for line in grouped(&rows) {
                let _ = writeln!(text, "  {}", harmless(&line));
            }
        }
    }
    text
}

fn repeats(manifest: &Manifest) -> String {
    counted(manifest.repeats as usize, "repeat")
}

/// A row for each of `pairs`: the two estimates under the first two of `names`, how they differ under the third.
pub(crate) fn table(pairs: &[&Pair], names: [&str; 3], differ: &dyn Fn(&Pair) -> String, layout: Layout) -> String {
    let column = |name: &str, align: Align, of: &dyn Fn(&Pair) -> Cell| {
        Column::new(&[name], align, pairs.iter().map(|pair| of(pair)).collect())
    };
    let scale =
        |pair: &Pair| Scale::fitting(pair.a.metric, [pair.a.estimate.value, pair.b.value].into_iter().flatten());
    let value = |pair: &Pair, estimate: &Estimate| match scale(pair).show(estimate) {
        Some((value, half)) => Cell { value, half, mark: "" },
        None => Cell::from("–".to_owned()),
    };
    let mut columns = vec![column("policy", Align::Left, &|pair| Cell::from(pair.a.policy.clone()))];
    if pairs.iter().any(|pair| !pair.a.sweep.is_empty()) {
        columns.push(column("at", Align::Left, &|pair| Cell::from(pair.a.sweep.to_string())));
    }
    columns.push(column("traffic", Align::Left, &|pair| Cell::from(pair.a.traffic.clone())));
    columns.push(column("metric", Align::Left, &|pair| Cell::from(pair.a.metric.to_string())));
    let labels = columns.len();
    columns.push(column(names[0], Align::Right, &|pair| value(pair, &pair.a.estimate)));
    columns.push(column(names[1], Align::Right, &|pair| value(pair, &pair.b)));
    columns.push(column("", Align::Left, &|pair| Cell::from(scale(pair).name.to_owned())));
    columns.push(column(names[2], Align::Right, &|pair| Cell::from(differ(pair))));
    columns.push(column("intervals", Align::Left, &|pair| {
        let text = match pair.overlap() {
            Some(true) => "overlap",
            Some(false) => "apart",
            None => "none",
        };
        Cell::from(text.to_owned())
    }));
    render(&columns, labels, layout)
}

/// A line for each policy, point and traffic with its metrics.
fn grouped(rows: &[Row]) -> Vec<String> {
    let mut lines: Vec<(String, String)> = Vec::new();
    for row in rows {
        let at = if row.sweep.is_empty() { String::new() } else { format!(" at {}", row.sweep) };
        let group = format!("{}{at}, {}", row.policy, row.traffic);
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
mod tests {
    use headway_results::{Cell, Summary, SweepPoint};

    use super::*;

    fn folder(path: &str, seed: u64, text: &str, rows: &[(&str, i64, &str, Estimate)]) -> Finished {
        let row = |&(policy, n, metric, estimate): &(&str, i64, &str, Estimate)| Row {
            policy: policy.into(),
            sweep: SweepPoint::new().with("senders", n),
            traffic: "short".into(),
            metric: metric.parse().unwrap(),
            estimate,
        };
        let cells = vec![Cell { index: 0, policy: "tcp".into(), sweep: SweepPoint::new().with("senders", 1) }];
        let manifest = Manifest::new("queue-buildup", text, seed, 2, "0.1.0", cells);
        let summary = Summary { sweep: vec!["senders".into()], rows: rows.iter().map(row).collect() };
        Finished { path: path.into(), manifest, summary }
    }

    fn estimate(value: f64, half: f64) -> Estimate {
        Estimate { value: Some(value), low: Some(value - half), high: Some(value + half), n: 2 }
    }

    fn a() -> Finished {
        let rows = [
            ("tcp", 1, "fct.mean", estimate(0.012, 0.001)),
            ("tcp", 1, "goodput.mean", estimate(94e6, 1e6)),
            ("tcp", 1, "flows", estimate(240.0, 0.0)),
            ("tcp", 1, "fct.p99", Estimate { n: 1, ..Estimate::default() }),
            ("tcp", 8, "fct.mean", estimate(0.3, 0.1)),
            ("tcp", 8, "fct.p95", estimate(0.6, 0.1)),
        ];
        folder("results/a", 1, "a", &rows)
    }

    #[test]
    fn rows_that_differ_are_shown_with_the_change() {
        let rows = [
            ("tcp", 1, "fct.mean", estimate(0.009, 0.001)),
            ("tcp", 1, "goodput.mean", estimate(95e6, 1e6)),
            ("tcp", 1, "flows", estimate(240.0, 0.0)),
            ("tcp", 1, "fct.p99", Estimate { value: Some(0.02), low: None, high: None, n: 1 }),
            ("mptcp", 1, "fct.mean", estimate(0.3, 0.1)),
        ];
        let b = folder("results/b", 2, "a", &rows);
        let expected = "\
A: results/a (queue-buildup, seed 1, 2 repeats, version 0.1.0)
B: results/b (queue-buildup, seed 2, 2 repeats, version 0.1.0)
note: the seeds differ: 1 and 2

policy  at         traffic  metric                 A            B         change  intervals
tcp     senders=1  short    fct.mean      12.0 ± 1.0  9.00 ± 1.00  ms    -25.0 %  apart
tcp     senders=1  short    goodput.mean  94.0 ± 1.0  95.0 ± 1.0   Mb/s  +1.06 %  overlap
tcp     senders=1  short    fct.p99          –        20.0         ms             none

3 rows differ, 1 of them by more than their 95 % intervals
1 row is equal
2 rows only in A:
  tcp at senders=8, short: fct.mean, fct.p95
1 row only in B:
  mptcp at senders=1, short: fct.mean
";
        let text = comparison(&a(), &b, Layout::PLAIN);
        assert_eq!(text, expected, "\n{text}");
    }

    #[test]
    fn equal_folders_are_said_to_be_equal() {
        let text = comparison(&a(), &a(), Layout::PLAIN);
        assert!(text.ends_with(")\n\n6 rows are equal\n"), "\n{text}");
    }

    #[test]
    fn another_text_of_one_name_is_noticed() {
        let (a, b) = (a(), folder("results/b", 1, "b", &[]));
        let found = differences(&a.manifest, &b.manifest);
        assert_eq!(found, ["the scenarios have the same name, but different texts"]);
        assert!(differences(&a.manifest, &a.manifest).is_empty());
    }
}
