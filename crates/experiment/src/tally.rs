//! Commands, failures and counters of all runs, and the warnings that follow from them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use headway_results::{
    Cell, CommandRecord, Counters, CutCapture, FlowRecord, Job, LongestWait, Metric, Outcome, Output, Row, Summary,
    Waits, Warning,
};
use headway_units::Time;

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
    /// Flows that were reset and did not finish: of each run that has any, by cell and traffic.
    reset: BTreeMap<(u32, Arc<str>), Vec<u64>>,
    /// Unfinished flows that got nothing any more, by traffic.
    stuck: BTreeMap<Arc<str>, u64>,
    /// Sums over all runs.
    counters: Counters,
    /// Of the first run that had a circular wait: the run, when, and the ports.
    deadlock: Option<(Job, Time, String)>,
    /// Captures that were cut: the first one of the first run that had any, and how many there are.
    cut: Option<(Job, CutCapture)>,
    cuts: usize,
    /// Where frames waited, by cell.
    waits: BTreeMap<u32, Waits>,
}

impl Tally {
    pub fn add(&mut self, outcome: &Outcome) {
        self.counters += outcome.counters;
        self.cuts += outcome.cut.len();
        if let Some(cut) = outcome.cut.first()
            && self.cut.as_ref().is_none_or(|(job, _)| outcome.job < *job)
        {
            self.cut = Some((outcome.job, cut.clone()));
        }
        if let Some(waits) = &outcome.waits {
            self.waits.entry(outcome.job.cell).or_default().add(waits);
        }
        if let Some((at, ports)) = &outcome.deadlock
            && self.deadlock.as_ref().is_none_or(|(job, ..)| outcome.job < *job)
        {
            self.deadlock = Some((outcome.job, *at, ports.clone()));
        }
        for failed in &outcome.failed {
            *self.failed.entry((failed.traffic.clone(), failed.reason.clone())).or_default() += failed.flows;
        }
        for flow in outcome.flows.iter().filter(|flow| is_stuck(flow, outcome)) {
            *self.stuck.entry(Arc::clone(&flow.traffic)).or_default() += 1;
        }
        let mut reset: BTreeMap<&Arc<str>, u64> = BTreeMap::new();
        for flow in outcome.flows.iter().filter(|flow| flow.resets > 0 && flow.bytes.is_some() && flow.end.is_none()) {
            *reset.entry(&flow.traffic).or_default() += 1;
        }
        for (traffic, flows) in reset {
            self.reset.entry((outcome.job.cell, Arc::clone(traffic))).or_default().push(flows);
        }
        for command in &outcome.commands {
            let line = if command.daemon().is_some() { last_lines(command) } else { first_line(command) };
            let mut command = command.clone();
            command.stdout.kept = Vec::new();
            command.stderr.kept = Vec::new();
            self.commands.push(Ended { job: outcome.job, command, line });
        }
    }

    /// The warnings of flows that did not finish: those for want of time, then those that were reset. `cells` are those
    /// of `summary`. Of `datagrams` those that lost something never do, which [`Metric::Undelivered`] tells.
    pub fn unfinished(&self, summary: &Summary, cells: &[Cell], datagrams: &[&str]) -> Vec<Warning> {
        let mut flows = ResetFlows::new();
        // by traffic: flows and runs
        let mut sums: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        for ((cell, traffic), counts) in &self.reset {
            let cell = &cells[*cell as usize];
            let count: u64 = counts.iter().sum();
            flows.insert((cell.policy.clone(), cell.sweep.to_string(), traffic.to_string()), count);
            let sum = sums.entry(traffic).or_default();
            *sum = (sum.0 + count, sum.1 + counts.len() as u64);
        }
        let of =
            |(traffic, (flows, runs)): (&str, (u64, u64))| Warning::Reset { traffic: traffic.to_owned(), flows, runs };
        let mut warnings = unfinished(summary, &flows, &self.stuck);
        let is_datagrams = |of: &str| datagrams.iter().any(|traffic| is_of(of, traffic));
        warnings.retain(|warning| !matches!(warning, Warning::Unfinished { traffic, .. } if is_datagrams(traffic)));
        warnings.extend(sums.into_iter().map(of));
        warnings
    }

    /// By cell the queue where frames waited most.
    pub fn longest(&self) -> Vec<LongestWait> {
        self.waits.iter().filter_map(|(&cell, waits)| waits.longest(cell)).collect()
    }

    /// The warning about hosts' own queues, if these decide the answer in some cell; `frame_time` says how many seconds a
    /// full frame takes at a port of a cell.
    pub fn host_queue(&self, cells: &[Cell], frame_time: impl Fn(u32, &str) -> Option<f64>) -> Option<Warning> {
        // bursts of a few packets, such as initial windows, wait for each other in any host
        const FRAMES: f64 = 10.0;
        const SHARE: f64 = 0.5;
        let mut touched = Vec::new();
        for (&cell, waits) in &self.waits {
            let (Some(port), Some(longest)) = (waits.ports.iter().find(|port| port.host), waits.longest(cell)) else {
                continue;
            };
            let long = frame_time(cell, &port.port).is_some_and(|frame| waits.hosts.mean() >= FRAMES * frame);
            if long && longest.hosts_share >= SHARE {
                touched.push((cell, port, longest.hosts_share, port.waited.mean()));
            }
        }
        let &(cell, port, share, mean) = touched.iter().max_by(|(.., a), (.., b)| a.total_cmp(b))?;
        let own = &cells[cell as usize];
        Some(Warning::HostQueue {
            touched: touched.len(),
            cells: cells.len(),
            policy: own.policy.clone(),
            sweep: own.sweep.clone(),
            port: port.port.to_string(),
            mean,
            share,
        })
    }

    pub fn finish(mut self, cells: &[Cell]) -> (Vec<Ended>, Vec<Warning>) {
        type Counted = (u64, fn(u64) -> Warning);

        self.commands.sort_by_key(|ended| ended.job);
        let failed = |((traffic, reason), &flows): (&(String, String), &u64)| Warning::Failed {
            traffic: traffic.clone(),
            reason: reason.clone(),
            flows,
        };
        let mut warnings: Vec<Warning> = self.failed.iter().map(failed).collect();
        let counters: [Counted; 9] = [
            (self.counters.overruns, Warning::CardOverruns),
            (self.counters.astray, Warning::Astray),
            (self.counters.ring_drops, Warning::RingFull),
            (self.counters.backlog_drops, Warning::BacklogFull),
            (self.counters.card_drops, Warning::PacingQueueFull),
            (self.counters.headroom_drops, Warning::HeadroomFull),
            (self.counters.syns_dropped, Warning::SynsDropped),
            (self.counters.accept_overflows, Warning::AcceptQueueFull),
            (self.counters.refused, Warning::Refused),
        ];
        warnings.extend(counters.into_iter().filter(|&(count, _)| count > 0).map(|(count, warning)| warning(count)));
        warnings.extend(self.deadlock.take().map(|(job, at, ports)| Warning::Deadlock {
            count: self.counters.deadlocks,
            at,
            policy: cells[job.cell as usize].policy.clone(),
            ports,
        }));
        let more = self.cuts.saturating_sub(1);
        warnings.extend(self.cut.take().map(|(_, cut)| Warning::CaptureCut {
            name: cut.name.to_string(),
            at: cut.at,
            more,
        }));
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

/// By policy, sweep point (as text) and traffic: flows that were reset and did not finish, in all repeats together.
pub(crate) type ResetFlows = BTreeMap<(String, String, String), u64>;

/// Warnings of flows that did not finish though they were not among those that were `reset`, by traffic.
fn unfinished(summary: &Summary, reset: &ResetFlows, stuck: &BTreeMap<Arc<str>, u64>) -> Vec<Warning> {
    let mut traffics: Vec<&str> = Vec::new();
    for row in &summary.rows {
        if !traffics.contains(&row.traffic.as_str()) {
            traffics.push(&row.traffic);
        }
    }
    traffics.into_iter().filter_map(|traffic| unfinished_of(summary, reset, stuck, traffic)).collect()
}

fn unfinished_of(
    summary: &Summary,
    reset: &ResetFlows,
    stuck: &BTreeMap<Arc<str>, u64>,
    traffic: &str,
) -> Option<Warning> {
    let value = |row: &Row| row.estimate.value.unwrap_or(0.0);
    let of = |metric| summary.rows.iter().filter(move |row| row.traffic == traffic && row.metric == metric);
    // On average in a run. Counted in all repeats first: then none left over is exactly none.
    let left = |row: &Row| {
        let reset = reset.get(&(row.policy.clone(), row.sweep.to_string(), traffic.to_owned())).copied().unwrap_or(0);
        let repeats = row.estimate.n.max(1) as f64;
        if reset == 0 { value(row) } else { ((value(row) * repeats).round() - reset as f64).max(0.0) / repeats }
    };
    let cells = of(Metric::Unfinished).count();
    let touched: Vec<(&Row, f64)> =
        of(Metric::Unfinished).map(|row| (row, left(row))).filter(|&(_, left)| left > 0.0).collect();
    let &(worst, unfinished) = touched.iter().max_by(|(_, a), (_, b)| a.total_cmp(b))?;
    let flows = of(Metric::Flows).find(|row| row.policy == worst.policy && row.sweep == worst.sweep).map_or(0.0, value);
    Some(Warning::Unfinished {
        traffic: traffic.to_owned(),
        touched: touched.len(),
        cells,
        policy: worst.policy.clone(),
        sweep: worst.sweep.clone(),
        unfinished,
        flows,
        stuck: stuck.iter().filter(|(own, _)| is_of(own, traffic)).map(|(_, flows)| flows).sum(),
    })
}

/// Whether flows reported as `own` are of `traffic`, or of a part of it.
fn is_of(own: &str, traffic: &str) -> bool {
    own.strip_prefix(traffic).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether a flow did not finish and was not on its way to it: its run had ports that waited for each other in a circle, or
/// it stood still behind a link that was down for most of its life. The time that it stood still counts to the end of the
/// run.
fn is_stuck(flow: &FlowRecord, outcome: &Outcome) -> bool {
    if flow.bytes.is_none() || flow.end.is_some() || flow.resets > 0 {
        return false;
    }
    let life = outcome.end.since(flow.start).picos();
    outcome.deadlock.is_some() || flow.stall.is_some_and(|stall| stall.picos() > life / 2)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use headway_results::{Estimate, PortWaits, SweepPoint, Waited};
    use headway_units::Span;

    use super::*;

    #[test]
    fn flows_behind_paused_ports_or_links_that_are_down_are_stuck() {
        let flow = |end, stall: Option<u64>| FlowRecord {
            id: 0,
            traffic: "short".into(),
            source: "a".into(),
            destination: "b".into(),
            bytes: Some(1000),
            delivered: 0,
            start: Time::ZERO,
            end,
            deadline: None,
            ideal: None,
            retransmissions: 0,
            timeouts: 0,
            marks: 0,
            subflows: 1,
            paths: "0".into(),
            switched: None,
            stall: stall.map(Span::from_nanos),
            resets: 0,
            waits: None,
        };
        let end = Time::ZERO + Span::from_nanos(100);
        let mut outcome = Outcome {
            job: Job { cell: 0, repeat: 0 },
            flows: Vec::new(),
            samples: Vec::new(),
            ports: None,
            cut: Vec::new(),
            waits: None,
            commands: Vec::new(),
            failed: Vec::new(),
            counters: Counters::default(),
            deadlock: None,
            digest: 0,
            end,
            film: None,
            paths: None,
        };
        assert!(!is_stuck(&flow(None, None), &outcome) && !is_stuck(&flow(None, Some(50)), &outcome));
        assert!(is_stuck(&flow(None, Some(51)), &outcome) && !is_stuck(&flow(Some(end), Some(51)), &outcome));
        outcome.deadlock = Some((end, "a>b, b>a".to_owned()));
        assert!(is_stuck(&flow(None, None), &outcome) && !is_stuck(&flow(Some(end), None), &outcome));
    }

    #[test]
    fn hosts_own_queues_are_pointed_out_where_they_decide() {
        let cells = ["tcp", "dctcp"].map(|policy| Cell { index: 0, policy: policy.into(), sweep: SweepPoint::new() });
        let waited = |micros| Waited { frames: 100, time: Duration::from_micros(micros) };
        let waits = |host, switch| {
            let ports = vec![PortWaits { port: "h0>s".into(), host: true, waited: waited(host) }];
            Waits { hosts: waited(host), switches: waited(switch), ports }
        };
        let frame = |_: u32, _: &str| Some(12e-6);
        let told = |first: Waits, second: Waits| {
            let tally = Tally { waits: BTreeMap::from([(0, first), (1, second)]), ..Tally::default() };
            tally.host_queue(&cells, frame)
        };
        // 10 frames at 1 Gb/s are 120 us
        assert_eq!(told(waits(11_900, 0), waits(20_000, 20_100)), None);
        let warning = told(waits(12_100, 0), waits(210_000, 90_000)).expect("both");
        let expected = "packets waited mostly in hosts' own queues in 2 of 2 cells, most with policy dctcp: 70 % of all \
                        waiting, 2.10 ms a packet at h0>s; the answer may be about that queue (`topology.host-queue`), not \
                        about the network";
        assert_eq!(headway_report::warning(&warning), expected);
    }

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
        let summary = Summary { sweep: vec!["n".into()], rows };
        let none = BTreeMap::new();
        let warnings = unfinished(&summary, &ResetFlows::new(), &none);
        let expected = "traffic short: not all flows finished in 2 of 3 cells, worst with policy tcp at n=2: 3.50 of \
                        240 flows in a run; a longer `drain` gives them time";
        assert_eq!(warnings.iter().map(headway_report::warning).collect::<Vec<_>>(), [expected]);

        // Nor does more time help those that wait for ports or links.
        let stuck = BTreeMap::from([("short".into(), 5), ("shorter".into(), 9)]);
        let warnings = unfinished(&summary, &ResetFlows::new(), &stuck);
        let text = headway_report::warning(&warnings[0]);
        assert!(text.contains("5 flows in all runs got nothing any more") && !text.contains("gives them"), "{text}");

        // More time would do nothing for those that were reset.
        let key = |policy: &str| (policy.to_owned(), SweepPoint::new().with("n", 2).to_string(), "short".to_owned());
        let mut reset = ResetFlows::from([(key("tcp"), 3)]);
        let left = unfinished(&summary, &reset, &none).iter().map(headway_report::warning).collect::<Vec<_>>();
        assert!(left[0].contains("policy mptcp at n=2: 1 of 240 flows"), "{left:?}");
        reset.insert(key("mptcp"), 1);
        reset.insert(key("tcp"), 4);
        assert_eq!(unfinished(&summary, &reset, &none), []);
    }
}
