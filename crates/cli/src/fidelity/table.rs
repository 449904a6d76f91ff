//! What the terminal shows.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::json;

use super::compare::{Line, Metric, Verdict};
use super::count;

/// The metrics that have a column, with its head.
const COLUMNS: [(Metric, &str); 10] = [
    (Metric::Throughput, "throughput"),
    (Metric::FctMedian, "fct p50"),
    (Metric::FctP99, "fct p99"),
    (Metric::Retransmissions, "retrans"),
    (Metric::Timeouts, "timeouts"),
    (Metric::Fairness, "fairness"),
    (Metric::RttMean, "rtt"),
    (Metric::RttPath, "rtt(t)"),
    (Metric::CwndMean, "cwnd"),
    (Metric::CwndPath, "cwnd(t)"),
];

/// `+12.3%`; beyond ten times as a factor.
pub fn percent(error: f64) -> String {
    match error {
        e if e.is_infinite() => "unfinished".to_owned(),
        e if e.abs() >= 10.0 => format!("{e:+.0}×"),
        e => format!("{:+.1}%", e * 100.0),
    }
}

/// An error with its verdict; counts as they are.
pub fn cell(line: &Line) -> String {
    let mark = match line.verdict {
        Verdict::Missed => " !",
        Verdict::Noise => " ~",
        Verdict::Met | Verdict::Told => "",
    };
    match line.metric {
        Metric::Retransmissions | Metric::Timeouts => format!("{}→{}{mark}", line.kernel, line.model),
        Metric::RttPath | Metric::CwndPath => format!("{:.1}%", line.error * 100.0),
        _ => format!("{}{mark}", percent(line.error)),
    }
}

/// Lines by point and traffic.
pub fn grouped(lines: &[Line]) -> Vec<(&str, &str, BTreeMap<Metric, &Line>)> {
    let mut groups: Vec<(&str, &str, BTreeMap<Metric, &Line>)> = Vec::new();
    for line in lines {
        match groups.last_mut().filter(|group| group.0 == line.point && group.1 == line.traffic) {
            Some(group) => _ = group.2.insert(line.metric, line),
            None => groups.push((&line.point, &line.traffic, [(line.metric, line)].into())),
        }
    }
    groups
}

/// Heads and cells, one row for each point and traffic.
pub fn cells(lines: &[Line]) -> Vec<Vec<String>> {
    let mut rows: Vec<Vec<String>> =
        vec![["point", "traffic"].into_iter().chain(COLUMNS.map(|(_, head)| head)).map(str::to_owned).collect()];
    for (point, traffic, own) in grouped(lines) {
        let values = COLUMNS.map(|(metric, _)| own.get(&metric).map_or_else(String::new, |line| cell(line)));
        rows.push([point.to_owned(), traffic.to_owned()].into_iter().chain(values).collect());
    }
    rows
}

/// The table.
pub fn rows(lines: &[Line]) -> String {
    let rows = cells(lines);
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..rows[0].len()).map(width).collect();
    let line = |row: &Vec<String>| {
        let cell = |(index, (cell, width)): (usize, (&String, &usize))| {
            if index < 2 { format!("{cell:width$}") } else { format!("{cell:>width$}") }
        };
        format!("{}\n", row.iter().zip(&widths).enumerate().map(cell).collect::<Vec<_>>().join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

/// ` (94.6 %)`: what is within the goal, of all that is compared; chance excuses nothing.
pub fn share(met: usize, all: usize) -> String {
    if all == 0 { String::new() } else { format!(" ({:.1} %)", 100.0 * met as f64 / all as f64) }
}

/// How many goals are met.
pub fn summary(lines: &[Line]) -> String {
    let mut text = "error = model against kernel; ~ beyond the goal but within noise, ! missed\n".to_owned();
    for metric in Metric::ALL {
        let Some(goal) = metric.goal() else { continue };
        let [met, noise, missed] = count(lines.iter().filter(|line| line.metric == metric));
        let all = met + noise + missed;
        let goal = goal * 100.0;
        let share = share(met, all);
        let _ = writeln!(
            text,
            "{metric}: {met} of {all}{share} within {goal} %, {noise} more within noise, {missed} missed"
        );
    }
    text
}

/// A line of JSON for each number.
pub fn json(lines: &[Line]) -> String {
    let line = |line: &Line| {
        let value = json!({
            "point": line.point,
            "traffic": line.traffic,
            "metric": line.metric.name(),
            "kernel": line.kernel,
            "model": line.model,
            "error": line.error,
            "goal": line.metric.goal(),
            "verdict": line.verdict.word(),
        });
        format!("{value}\n")
    };
    lines.iter().map(line).collect()
}

/// `notes` with those of the same reason in one line.
pub fn folded(notes: &[String]) -> Vec<String> {
    let mut reasons: BTreeMap<&str, (usize, &str)> = BTreeMap::new();
    for note in notes {
        let (point, reason) = note.rsplit_once(": ").unwrap_or(("", note));
        reasons.entry(reason).or_insert((0, point)).0 += 1;
    }
    let line = |(reason, (count, point)): (&str, (usize, &str))| match (count, point) {
        (_, "") => reason.to_owned(),
        (1, point) => format!("left out {point}: {reason}"),
        (count, _) => format!("left out {count} points: {reason}"),
    };
    reasons.into_iter().map(line).collect()
}
