//! Commands, failures and counters of all runs, and the warnings that follow from them.

use std::collections::{BTreeMap, BTreeSet};

use headway_results::{CommandRecord, Counters, Job, Metric, Outcome, Output, Row, Summary, Warning};

/// The outcome of a command, and its run.
#[derive(Debug, Clone, PartialEq)]
pub struct Ended {
    /// The run.
    pub job: Job,
    /// Its outcome, without its output but for the first line, see [`Ended::line`].
    pub command: CommandRecord,
    /// The first line it wrote: to its standard error if it failed, otherwise to its standard output. Of a daemon the last
    /// lines.
    pub line: String,
}

/// Commands and failures of all runs.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    commands: Vec<Ended>,
    /// Flows that failed, by traffic and reason.
    failed: BTreeMap<(String, String), u64>,
    /// Sums over all runs.
    counters: Counters,
}

impl Tally {
    pub fn add(&mut self, outcome: &Outcome) {
        self.counters += outcome.counters;
        for failed in &outcome.failed {
            *self.failed.entry((failed.traffic.clone(), failed.reason.clone())).or_default() += failed.flows;
        }
        for command in &outcome.commands {
            let line = if command.daemon().is_some() { last_lines(command) } else { first_line(command) };
            let mut command = command.clone();
            command.stdout.kept = Vec::new();
            command.stderr.kept = Vec::new();
            self.commands.push(Ended { job: outcome.job, command, line });
        }
    }

    pub fn finish(mut self) -> (Vec<Ended>, Vec<Warning>) {
        type Counted = (u64, fn(u64) -> Warning);

        self.commands.sort_by_key(|ended| ended.job);
        let failed = |((traffic, reason), &flows): (&(String, String), &u64)| Warning::Failed {
            traffic: traffic.clone(),
            reason: reason.clone(),
            flows,
        };
        let mut warnings: Vec<Warning> = self.failed.iter().map(failed).collect();
        let counters: [Counted; 5] = [
            (self.counters.overruns, Warning::CardOverruns),
            (self.counters.astray, Warning::Astray),
            (self.counters.ring_drops, Warning::RingFull),
            (self.counters.backlog_drops, Warning::BacklogFull),
            (self.counters.card_drops, Warning::PacingQueueFull),
        ];
        warnings.extend(counters.into_iter().filter(|&(count, _)| count > 0).map(|(count, warning)| warning(count)));
        warnings.extend(of_commands(&self.commands));
        (self.commands, warnings)
    }
}

/// Commands that failed, daemons that ended early, and outputs that were cut.
fn of_commands(commands: &[Ended]) -> Vec<Warning> {
    // By traffic: how many failed, and one of them.
    let mut wrong: BTreeMap<&str, (usize, &Ended)> = BTreeMap::new();
    // By daemon and host: in how many runs it ended by itself, and one of them.
    let mut early: BTreeMap<(&str, &str), (usize, &Ended)> = BTreeMap::new();
    let mut cut = BTreeSet::new();
    for ended in commands {
        let command = &ended.command;
        if let Some(daemon) = command.daemon() {
            if !command.ended {
                early.entry((daemon, &*command.host)).or_insert((0, ended)).0 += 1;
            }
            continue;
        }
        // a command that was told to end dies of that
        if command.code != 0 && !(command.ended && [128 + 15, 128 + 9].contains(&command.code)) {
            wrong.entry(&command.traffic).or_insert((0, ended)).0 += 1;
        }
        if command.stdout.bytes.max(command.stderr.bytes) > Output::MAX_KEPT as u64 {
            cut.insert(&*command.traffic);
        }
    }
    let failed = |(traffic, (count, first)): (&str, (usize, &Ended))| Warning::CommandFailed {
        traffic: traffic.to_owned(),
        host: first.command.host.to_string(),
        code: first.command.code,
        more: count - 1,
        line: first.line.clone(),
    };
    let ended = |((daemon, host), (count, first)): ((&str, &str), (usize, &Ended))| Warning::DaemonEnded {
        daemon: daemon.to_owned(),
        host: host.to_owned(),
        at: first.command.end,
        code: first.command.code,
        more: count - 1,
        line: first.line.clone(),
    };
    let mut warnings: Vec<Warning> = wrong.into_iter().map(failed).collect();
    warnings.extend(early.into_iter().map(ended));
    warnings.extend(cut.into_iter().map(|traffic| Warning::OutputCut { traffic: traffic.to_owned() }));
    warnings
}

/// As one line of at most so many bytes for a message.
fn printable(text: &[u8], most: usize) -> String {
    let text = String::from_utf8_lossy(&text[..text.len().min(most)]);
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// The first line of its output: of its standard error if it failed.
fn first_line(command: &CommandRecord) -> String {
    let failed = command.code != 0 && !command.stderr.kept.is_empty();
    let wrote = if failed { &command.stderr.kept } else { &command.stdout.kept };
    printable(wrote.split(|&byte| byte == b'\n').next().unwrap_or_default(), 400)
}

/// The last lines of its output, of its standard error if there is something, with ` | ` between.
fn last_lines(command: &CommandRecord) -> String {
    const MOST: usize = 3;
    let (out, error) = (&command.stdout.kept, &command.stderr.kept);
    let wrote = if error.is_empty() { out } else { error };
    let lines: Vec<&[u8]> = wrote.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).collect();
    let last = &lines[lines.len().saturating_sub(MOST)..];
    last.iter().map(|line| printable(line, 200)).collect::<Vec<_>>().join(" | ")
}

/// Warnings of flows that did not finish, by traffic.
pub(crate) fn unfinished(summary: &Summary) -> Vec<Warning> {
    let mut traffics: Vec<&str> = Vec::new();
    for row in &summary.rows {
        if !traffics.contains(&row.traffic.as_str()) {
            traffics.push(&row.traffic);
        }
    }
    traffics.into_iter().filter_map(|traffic| unfinished_of(summary, traffic)).collect()
}

fn unfinished_of(summary: &Summary, traffic: &str) -> Option<Warning> {
    let value = |row: &Row| row.estimate.value.unwrap_or(0.0);
    let of = |metric| summary.rows.iter().filter(move |row| row.traffic == traffic && row.metric == metric);
    let cells = of(Metric::Unfinished).count();
    let touched: Vec<&Row> = of(Metric::Unfinished).filter(|row| value(row) > 0.0).collect();
    let worst = *touched.iter().max_by(|a, b| value(a).total_cmp(&value(b)))?;
    let flows = of(Metric::Flows).find(|row| row.policy == worst.policy && row.sweep == worst.sweep).map_or(0.0, value);
    Some(Warning::Unfinished {
        traffic: traffic.to_owned(),
        touched: touched.len(),
        cells,
        policy: worst.policy.clone(),
        sweep: worst.sweep.clone(),
        unfinished: value(worst),
        flows,
    })
}

#[cfg(test)]
mod tests {
    use headway_results::{Estimate, SweepPoint};

    use super::*;

    #[test]
    fn unfinished_flows_are_pointed_out_where_they_are_worst() {
        let row = |policy: &str, n: i64, traffic: &str, metric: Metric, value: f64| Row {
            policy: policy.into(),
            sweep: SweepPoint::new().with("n", n),
            traffic: traffic.into(),
            metric,
            estimate: Estimate::of(&[value]),
        };
        let mut rows = vec![row("tcp", 1, "long", Metric::Unfinished, 0.0)];
        for (policy, n, left) in [("tcp", 1, 0.0), ("tcp", 2, 3.5), ("mptcp", 2, 1.0)] {
            rows.push(row(policy, n, "short", Metric::Flows, 240.0));
            rows.push(row(policy, n, "short", Metric::Unfinished, left));
        }
        let warnings = unfinished(&Summary { sweep: vec!["n".into()], rows });
        let expected = "traffic short: not all flows finished in 2 of 3 cells, worst with policy tcp at n=2: 3.50 of \
                        240 flows in a run; a longer `drain` gives them time";
        assert_eq!(warnings.iter().map(headway_report::warning).collect::<Vec<_>>(), [expected]);
    }
}
