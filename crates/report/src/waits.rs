//! The queues where packets waited most, as a table.

use headway_results::{LongestWait, Manifest};

use crate::number::three_digits;
use crate::text::wrapped;
use crate::{Layout, harmless, listing};

/// More rows say less.
const MOST: usize = 12;

/// Seconds with a unit that gives three digits.
pub(crate) fn time(seconds: f64) -> String {
    let units = [(1.0, "s"), (1e-3, "ms"), (1e-6, "us")];
    let (factor, unit) = units.into_iter().find(|(factor, _)| seconds >= *factor).unwrap_or((1e-9, "ns"));
    format!("{} {unit}", three_digits(seconds / factor))
}

/// For each policy the queue where packets waited most (the sum of their waiting), of the sweep point with the longest mean; empty if
/// none waited.
pub fn waits(manifest: &Manifest, layout: Layout) -> String {
    let rows = rows(manifest);
    if rows.is_empty() {
        return String::new();
    }
    let swept = manifest.cells.iter().any(|cell| !cell.sweep.is_empty());
    let row = |row: &&LongestWait| {
        let cell = &manifest.cells[row.cell as usize];
        let of = if row.host { "host" } else { "switch" };
        let share = |share: f64| format!("{:.0} %", share * 100.0);
        let mean = time(row.mean_wait_ns / 1e9);
        let words = vec![cell.policy.clone(), row.port.clone(), of.to_owned(), mean, share(row.share)];
        let sweep = if swept { cell.sweep.to_string() } else { String::new() };
        ([words, vec![share(row.hosts_share)]].concat(), sweep)
    };
    let shown: Vec<_> = rows.iter().take(MOST).map(row).collect();
    let head = ["policy", "port", "of", "wait", "share", "hosts' own", "at"];
    let head = if swept { &head[..] } else { &head[..6] };
    let more = match rows.len().saturating_sub(MOST) {
        0 => String::new(),
        more => format!("and {more} more in manifest.json\n"),
    };
    let mut table = listing(head, &shown, layout);
    // long names leave no room for columns
    if table.lines().any(|line| line.chars().count() > layout.width) {
        let lines = sentences(manifest).into_iter().flat_map(|sentence| wrapped(&sentence, layout.width, 2));
        table = lines.map(|line| line + "\n").collect();
    }
    format!("where packets waited most: mean wait at that port, share of all waiting\n{table}{more}")
}

/// The same as sentences.
pub(crate) fn sentences(manifest: &Manifest) -> Vec<String> {
    let sentence = |row: &LongestWait| {
        let cell = &manifest.cells[row.cell as usize];
        let at = if cell.sweep.is_empty() { String::new() } else { format!(" at {}", cell.sweep) };
        let text = format!(
            "Policy {}{at}: packets waited most at {}, {} on average and {:.0} % of all waiting; the share of hosts' own \
             queues is {:.0} %.",
            cell.policy,
            row.port,
            time(row.mean_wait_ns / 1e9),
            row.share * 100.0,
            row.hosts_share * 100.0
        );
        harmless(&text)
    };
    rows(manifest).into_iter().take(MOST).map(sentence).collect()
}

/// One of each policy, in their order: the one of the longest mean.
fn rows(manifest: &Manifest) -> Vec<&LongestWait> {
    let mut rows: Vec<&LongestWait> = Vec::new();
    let policy = |row: &LongestWait| manifest.cells.get(row.cell as usize).map(|cell| cell.policy.as_str());
    for row in manifest.waits.iter().filter(|row| policy(row).is_some()) {
        match rows.iter_mut().find(|own| policy(own) == policy(row)) {
            Some(own) if own.mean_wait_ns < row.mean_wait_ns => *own = row,
            Some(_) => {}
            None => rows.push(row),
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use headway_results::{Cell, SweepPoint};

    use super::*;

    fn wait(cell: u32, port: &str, mean_wait_ns: f64) -> LongestWait {
        LongestWait {
            cell,
            port: port.to_owned(),
            host: port.starts_with("host"),
            mean_wait_ns,
            share: 0.84,
            hosts_share: 0.031,
            hosts_mean_wait_ns: 10.0,
            switches_mean_wait_ns: 20.0,
        }
    }

    fn manifest(sweeps: &[Option<i64>]) -> Manifest {
        let point = |sweep: &Option<i64>| sweep.map_or_else(SweepPoint::new, |n| SweepPoint::new().with("n", n));
        let policies = ["tcp", "dctcp"];
        let cells = sweeps.iter().flat_map(|sweep| policies.map(|policy| (policy.to_owned(), point(sweep))));
        let cells = (0..).zip(cells).map(|(index, (policy, sweep))| Cell { index, policy, sweep });
        Manifest::new("s", "", 1, 1, "0", cells.collect())
    }

    #[test]
    fn each_policy_has_the_queue_of_its_worst_sweep_point() {
        let mut own = manifest(&[Some(1), Some(2)]);
        assert_eq!(waits(&own, Layout::PLAIN), "");
        own.waits = vec![wait(0, "leaf>host0", 1200.0), wait(1, "host0>leaf", 5e6), wait(2, "leaf>host1", 3.25e5)];
        let text = waits(&own, Layout::PLAIN);
        let lines: Vec<Vec<&str>> = text.lines().skip(2).map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[0], ["tcp", "leaf>host1", "switch", "325", "us", "84", "%", "3", "%", "n=2"]);
        assert_eq!(lines[1], ["dctcp", "host0>leaf", "host", "5.00", "ms", "84", "%", "3", "%", "n=1"]);
        assert_eq!(lines.len(), 2, "{text}");
    }

    #[test]
    fn long_names_make_sentences() {
        let mut own = manifest(&[None]);
        own.waits = vec![wait(0, &format!("leaf>{}", "h".repeat(60)), 12.0)];
        let text = waits(&own, Layout { width: 80, colour: false });
        assert!(text.lines().all(|line| line.chars().count() <= 80) && text.contains("Policy tcp"), "{text}");
    }

    #[test]
    fn without_a_sweep_there_is_no_column_of_it() {
        let mut own = manifest(&[None]);
        own.waits = vec![wait(0, "leaf>host0", 12.0)];
        let text = waits(&own, Layout::PLAIN);
        let head = text.lines().nth(1).unwrap_or_default();
        assert!(text.contains("12.0 ns") && head.ends_with("own"), "{text}");
    }
}
