//! The numbers that summaries and claims ask of one run.

use std::fmt;

use headway_units::{Rate, Span, Time};

use crate::record::{FlowRecord, Outcome, PortRecord};
use crate::stats::{self, Support};
use crate::waits::{Waited, Waits};

mod name;
mod reaching;

pub use name::UnknownMetric;

/// A percentile strictly between 0 and 100, in steps of a thousandth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Percentile(u32);

impl Percentile {
    /// 99.9 %. A summary has it [of flows enough](Percentile::enough) only.
    pub const P999: Percentile = Percentile(99_900);

    /// `percent` per cent.
    ///
    /// # Panics
    /// If it is not within 1 and 99.
    pub const fn whole(percent: u32) -> Percentile {
        assert!(percent >= 1 && percent <= 99, "a percentile is within 1 and 99");
        Percentile(percent * 1000)
    }

    /// The quantile, between 0 and 1.
    pub fn quantile(self) -> f64 {
        f64::from(self.0) / 100_000.0
    }

    /// Of so many values at least one is expected above it: 20 for p95, 100 for p99, 1,000 for p99.9. Of fewer it is
    /// little else than the largest.
    pub fn enough(self) -> usize {
        100_000_usize.div_ceil(100_000 - self.0 as usize)
    }

    /// Reads `99` or `99.9`, only as it would be printed.
    fn parse(text: &str) -> Option<Percentile> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        if whole.is_empty() || whole.len() > 2 || fraction.len() > 3 {
            return None;
        }
        let thousandths = format!("{whole}{fraction:0<3}").parse().ok()?;
        let percentile = Percentile(thousandths);
        (thousandths > 0 && percentile.to_string() == text).then_some(percentile)
    }
}

impl fmt::Display for Percentile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (self.0 / 1000, self.0 % 1000);
        if rest == 0 {
            return write!(f, "{whole}");
        }
        write!(f, "{whole}.{}", format!("{rest:03}").trim_end_matches('0'))
    }
}

/// What is taken over the flows of a traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Statistic {
    /// The mean over the finished flows. Read it beside `unfinished`: what is left out was slower.
    Mean,
    /// The standard deviation (of a sample, n − 1) over the finished flows; none of fewer than two.
    Deviation,
    /// A percentile; unfinished flows count as larger than all others, see [`stats::percentile`].
    Percentile(Percentile),
    /// The largest; none while a flow is unfinished.
    Max,
}

impl Statistic {
    /// Over `values` and `unfinished` larger ones.
    fn of(self, mut values: Vec<f64>, unfinished: usize) -> Scalar {
        if values.len() + unfinished == 0 {
            return Scalar::Missing;
        }
        let value = match self {
            Statistic::Mean => return stats::mean(&values).map_or(Scalar::Missing, Scalar::Value),
            Statistic::Deviation => return stats::deviation(&values).map_or(Scalar::Missing, Scalar::Value),
            Statistic::Percentile(p) => {
                values.sort_unstable_by(f64::total_cmp);
                stats::percentile(&values, unfinished, p.quantile())
            }
            Statistic::Max if unfinished > 0 => None,
            Statistic::Max => values.into_iter().reduce(f64::max),
        };
        value.map_or(Scalar::Censored, Scalar::Value)
    }

    fn parse(text: &str) -> Option<Statistic> {
        match text {
            "mean" => Some(Statistic::Mean),
            "sd" => Some(Statistic::Deviation),
            "max" => Some(Statistic::Max),
            _ => Percentile::parse(text.strip_prefix('p')?).map(Statistic::Percentile),
        }
    }
}

impl fmt::Display for Statistic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Statistic::Mean => f.write_str("mean"),
            Statistic::Deviation => f.write_str("sd"),
            Statistic::Percentile(p) => write!(f, "p{p}"),
            Statistic::Max => f.write_str("max"),
        }
    }
}

/// In place of a traffic's name: the flows of all traffic. Not for metrics that are taken from series.
pub const ALL_TRAFFIC: &str = "*";

/// One number asked of the flows of one traffic in one run.
///
/// Written as text (`fct.p95`, `goodput.mean`, `unfinished`, …); parsing and printing are inverse.
/// Flows without a size (`bytes` is `None`) are meant to go on for ever: they take part in goodput,
/// throughput and the counts, but are never unfinished and have no FCT.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Metric {
    /// `fct.…`: the flow completion time, in seconds.
    Fct(Statistic),
    /// `fct.over-200ms`: the share of flows whose completion took longer than this time, 0 to 1; unfinished ones did.
    FctOver(Span),
    /// `slowdown.…`: FCT over the FCT on an idle network, of the flows for which that is known.
    Slowdown(Statistic),
    /// `stall.…`: the longest time in which a flow got nothing in order while a link was down or because of it, in
    /// seconds, of the flows that lived then. For a flow that did not finish it counts to the end of the run.
    Stall(Statistic),
    /// `goodput.mean`: the mean over the flows of what each delivered over its life (to the end of the
    /// run if it has not ended), in bit/s.
    GoodputMean,
    /// `goodput.sd`: the standard deviation (of a sample) among the flows of the same, in bit/s. None of fewer than two.
    GoodputDeviation,
    /// `goodput.sum`: all that was delivered over the time from the first start to the last end (to the
    /// end of the run if a flow has not ended), in bit/s.
    GoodputSum,
    /// `fairness`: Jain's index of what the flows delivered over their lives, (Σx)²/(n·Σx²) (R. Jain, D. Chiu, W. Hawe,
    /// DEC-TR-301, 1984): 1 if all are alike, 1/n if one has everything. None of fewer than two flows.
    Fairness,
    /// `throughput`: the mean of the flows' samples `goodput_bps`, in bit/s.
    Throughput,
    /// `throughput.sd`: the standard deviation (of a sample) of the same samples, of all flows together, in bit/s. None of
    /// fewer than two.
    ThroughputDeviation,
    /// `reach.450Mbps`: from a flow's start to the end of the first sample of at least this rate, the mean over the
    /// flows, in seconds. None while a flow has not reached it.
    Reach(Rate),
    /// `recovery.450Mbps`: the longest time from the end of a sample of at least this rate to the end of the next such
    /// one with a lower one between, the mean over the flows that reached the rate, in seconds; 0 if it never came down.
    /// None if the longest such time of a flow is one at whose end the rate was not back.
    Recovery(Rate),
    /// `drops`: frames that the queues of ports dropped, whoever sent them. None where nobody counted.
    Drops,
    /// `card-drops`: frames that found the queue of a card that paces full.
    CardDrops,
    /// `pauses`: frames that ports sent to ask for a pause. None where nobody counted.
    Pauses,
    /// `paused`: the share of the run for which a priority of the port was paused, 0 to 1: of the one that was so for
    /// longest, over all ports. None where nobody counted.
    Paused,
    /// `ingress.max`: the most bytes of a priority that came over a link into a switch and had not left; of the link of a
    /// port. None where nobody counted.
    Ingress,
    /// `headroom.max`: the most of them that were in the headroom.
    Headroom,
    /// `headroom-drops`: frames of lossless priorities that found no room. None where nobody counted.
    HeadroomDrops,
    /// `watchdog-drops`: frames dropped because they were stuck behind a pause.
    WatchdogDrops,
    /// `deadlocks`: how often paused ports came to wait for each other in a circle.
    Deadlocks,
    /// `wait.hosts`: how long a packet waited at a host's own port, on average over all, in seconds. None where nobody looked.
    WaitHosts,
    /// `wait.switches`: how long it waited at a switch's, on average over all and at each.
    WaitSwitches,
    /// `host-wait.…`: how long a packet with data of the flow waited at ports of hosts, from the source to the destination, on
    /// average over those that arrived, in seconds; of the flows for which that was measured.
    HostWait(Statistic),
    /// `switch-wait.…`: how long it waited at ports of switches, at all on its way together.
    SwitchWait(Statistic),
    /// `flows`: how many there were.
    Flows,
    /// `unfinished`: how many of those with a size did not finish.
    Unfinished,
    /// `retransmissions`: segments retransmitted.
    Retransmissions,
    /// `timeouts`: expiries of the retransmission timer.
    Timeouts,
    /// `switch.mean`: from a flow's start to its change of lanes, the mean of those that changed, in seconds.
    SwitchMean,
    /// `switched`: the share of flows that changed lanes, 0 to 1.
    Switched,
    /// `deadline-missed`: the share of flows that missed their deadline, see [`FlowRecord::missed`], of those that have
    /// one, 0 to 1.
    DeadlineMissed,
    /// `undelivered`: the share of the bytes of flows with a size that was not there when the run ended, 0 to 1: of
    /// datagrams what was lost, if the run has time for the last.
    Undelivered,
    /// `resets`: connections of flows that were reset, because a relay crashed or a server refused them.
    Resets,
    /// `rate`: flows that finished a second: in a window, whenever they started; without one, from the first start to the
    /// last end (to the end of the run if a flow has not ended). Of web clients and event building, requests and events.
    Rate,
}

/// A metric's value, with the two ways of having none told apart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Scalar {
    Value(f64),
    /// There is nothing to take it over.
    Missing,
    /// It is larger than what was seen.
    Censored,
}

/// What a metric is taken of, in one run.
#[derive(Debug, Clone, Copy, Default)]
pub struct Subject<'a> {
    /// The traffic whose flows it is about.
    pub traffic: &'a str,
    /// Metrics of samples are restricted to those with from < time ≤ to (a sample covers the time before it), all
    /// others to flows with from ≤ start < to.
    pub window: Option<(Time, Time)>,
    /// For [metrics of ports](Metric::is_of_ports) this port alone. For [`Metric::Reach`] and [`Metric::Recovery`] the rates are those of
    /// arrivals at this port instead of the flows' goodput.
    pub port: Option<&'a str>,
    /// For [`Metric::Reach`] and [`Metric::Recovery`]: rates are means over the last so much time.
    pub over: Option<Span>,
}

impl Metric {
    /// What a summary holds of every traffic, in its order.
    pub const SUMMARY: [Metric; 17] = [
        Metric::Fct(Statistic::Mean),
        Metric::Fct(Statistic::Percentile(Percentile::whole(50))),
        Metric::Fct(Statistic::Percentile(Percentile::whole(95))),
        Metric::Fct(Statistic::Percentile(Percentile::whole(99))),
        Metric::Fct(Statistic::Percentile(Percentile::P999)),
        Metric::Slowdown(Statistic::Mean),
        Metric::GoodputMean,
        Metric::GoodputSum,
        Metric::Flows,
        Metric::Unfinished,
        Metric::Retransmissions,
        Metric::Timeouts,
        Metric::SwitchMean,
        Metric::Stall(Statistic::Max),
        Metric::Fairness,
        Metric::Drops,
        Metric::Resets,
    ];

    /// The value for the flows of `traffic` in one run, in the base unit of [`Metric::unit`]; a window is one of a
    /// [`Subject`].
    ///
    /// `None` if there is nothing to take it over (no flow, none that finished, none that switched, no
    /// sample), or if it is a percentile or maximum that falls among unfinished flows. Counts are 0 of no
    /// flows.
    pub fn evaluate(self, outcome: &Outcome, traffic: &str, window: Option<(Time, Time)>) -> Option<f64> {
        self.evaluate_of(outcome, &Subject { traffic, window, ..Subject::default() })
    }

    /// As [`Metric::evaluate`], for all that a metric can be taken of.
    pub fn evaluate_of(self, outcome: &Outcome, subject: &Subject<'_>) -> Option<f64> {
        match self.scalar_of(outcome, subject) {
            Scalar::Value(value) => Some(value),
            Scalar::Missing | Scalar::Censored => None,
        }
    }

    pub(crate) fn scalar_of(self, outcome: &Outcome, subject: &Subject<'_>) -> Scalar {
        match self {
            Metric::Reach(rate) => reaching::reach(outcome, subject, rate),
            Metric::Recovery(rate) => reaching::recovery(outcome, subject, rate),
            Metric::Drops => of_ports(outcome, subject, |all, port| all + u128::from(port.drops)),
            Metric::Pauses => of_ports(outcome, subject, |all, port| all + u128::from(port.pauses.sent)),
            Metric::HeadroomDrops => of_ports(outcome, subject, |all, port| all + u128::from(port.pauses.drops)),
            Metric::Ingress => of_ports(outcome, subject, |all, port| all.max(u128::from(port.pauses.deepest))),
            Metric::WaitHosts => waited(outcome, |waits| waits.hosts),
            Metric::WaitSwitches => waited(outcome, |waits| waits.switches),
            Metric::Headroom => of_ports(outcome, subject, |all, port| all.max(u128::from(port.pauses.headroom))),
            Metric::Paused => {
                let end = outcome.end.since(Time::ZERO).picos();
                match of_ports(outcome, subject, |all, port| all.max(u128::from(port.pauses.paused.picos()))) {
                    Scalar::Value(_) if end == 0 => Scalar::Missing,
                    Scalar::Value(paused) => Scalar::Value(paused / end as f64),
                    none => none,
                }
            }
            Metric::WatchdogDrops => Scalar::Value(outcome.counters.watchdog_drops as f64),
            Metric::Deadlocks => Scalar::Value(outcome.counters.deadlocks as f64),
            Metric::CardDrops => Scalar::Value(outcome.counters.card_drops as f64),
            _ => self.scalar(outcome, subject.traffic, subject.window),
        }
    }

    /// Of metrics that need no more than flows and a window.
    fn scalar(self, outcome: &Outcome, traffic: &str, window: Option<(Time, Time)>) -> Scalar {
        match self {
            Metric::Throughput => return Statistic::Mean.of(flow_goodputs(outcome, traffic, window), 0),
            Metric::ThroughputDeviation => return Statistic::Deviation.of(flow_goodputs(outcome, traffic, window), 0),
            _ => {}
        }
        if self == Metric::Rate {
            return rate(outcome, traffic, window);
        }
        let starts_inside = |flow: &FlowRecord| window.is_none_or(|(from, to)| from <= flow.start && flow.start < to);
        let flows = || outcome.flows.iter().filter(|flow| is_of(&flow.traffic, traffic) && starts_inside(flow));
        let sized = || flows().filter(|flow| flow.bytes.is_some());
        let count = |n: usize| Scalar::Value(n as f64);
        let sum = |of: fn(&FlowRecord) -> u32| Scalar::Value(flows().map(|f| u64::from(of(f))).sum::<u64>() as f64);
        match self {
            Metric::Fct(statistic) => {
                let finished = sized().filter_map(FlowRecord::fct).map(Span::as_secs_f64).collect();
                statistic.of(finished, sized().filter(|flow| flow.end.is_none()).count())
            }
            Metric::FctOver(limit) => {
                let shares = sized().map(|flow| if flow.fct().is_none_or(|fct| fct > limit) { 1.0 } else { 0.0 });
                Statistic::Mean.of(shares.collect(), 0)
            }
            Metric::Slowdown(statistic) => {
                let known = || sized().filter_map(|flow| flow.ideal.filter(|i| !i.is_zero()).map(|i| (flow, i)));
                let ratio = |(flow, ideal): (&FlowRecord, Span)| {
                    flow.fct().map(|fct| fct.picos() as f64 / ideal.picos() as f64)
                };
                statistic.of(known().filter_map(ratio).collect(), known().filter(|(f, _)| f.end.is_none()).count())
            }
            Metric::Stall(statistic) => {
                statistic.of(flows().filter_map(|flow| flow.stall).map(Span::as_secs_f64).collect(), 0)
            }
            Metric::HostWait(statistic) | Metric::SwitchWait(statistic) => {
                let hosts = matches!(self, Metric::HostWait(_));
                let mean = |flow: &FlowRecord| flow.waits.and_then(|own| own.mean(hosts));
                statistic.of(flows().filter_map(mean).collect(), 0)
            }
            Metric::GoodputMean => Statistic::Mean.of(flows().filter_map(|flow| goodput(flow, outcome)).collect(), 0),
            Metric::Fairness => fairness(flows().filter_map(|flow| goodput(flow, outcome))),
            Metric::GoodputDeviation => {
                Statistic::Deviation.of(flows().filter_map(|flow| goodput(flow, outcome)).collect(), 0)
            }
            Metric::GoodputSum => {
                let bits = flows().map(|flow| u128::from(flow.delivered) * 8).sum::<u128>() as f64;
                per_second(bits, flows(), outcome)
            }
            Metric::Flows => count(flows().count()),
            Metric::Unfinished => count(sized().filter(|flow| flow.end.is_none()).count()),
            Metric::Retransmissions => sum(|flow| flow.retransmissions),
            Metric::Timeouts => sum(|flow| flow.timeouts),
            Metric::Resets => sum(|flow| flow.resets),
            Metric::SwitchMean => {
                let delay = |flow: &FlowRecord| Some(flow.switched?.since(flow.start).as_secs_f64());
                Statistic::Mean.of(flows().filter_map(delay).collect(), 0)
            }
            Metric::Switched => {
                let shares = flows().map(|flow| if flow.switched.is_some() { 1.0 } else { 0.0 });
                Statistic::Mean.of(shares.collect(), 0)
            }
            Metric::DeadlineMissed => {
                let missed = flows().filter_map(FlowRecord::missed).map(|missed| if missed { 1.0 } else { 0.0 });
                Statistic::Mean.of(missed.collect(), 0)
            }
            Metric::Undelivered => {
                let [all, missing] = sized().fold([0_u128; 2], |[all, missing], flow| {
                    let bytes = flow.bytes.unwrap_or(0);
                    [all + u128::from(bytes), missing + u128::from(bytes.saturating_sub(flow.delivered))]
                });
                if all == 0 { Scalar::Missing } else { Scalar::Value(missing as f64 / all as f64) }
            }
            Metric::Throughput
            | Metric::ThroughputDeviation
            | Metric::Reach(_)
            | Metric::Recovery(_)
            | Metric::Drops
            | Metric::CardDrops
            | Metric::Pauses
            | Metric::Paused
            | Metric::Ingress
            | Metric::Headroom
            | Metric::HeadroomDrops
            | Metric::WatchdogDrops
            | Metric::Deadlocks
            | Metric::WaitHosts
            | Metric::WaitSwitches
            | Metric::Rate => {
                unreachable!("taken from samples, ports, counters and ends above")
            }
        }
    }

    /// Whether it is of the network in the whole run, whatever the traffic.
    pub fn is_of_network(self) -> bool {
        let counted = matches!(self, Metric::CardDrops | Metric::WatchdogDrops | Metric::Deadlocks);
        self.is_of_ports() || self.is_of_waits() || counted
    }

    /// Whether it says how long packets waited.
    pub fn is_of_waits(self) -> bool {
        matches!(self, Metric::WaitHosts | Metric::WaitSwitches)
    }

    /// Whether it says how long packets of flows waited, which is measured where it is asked for.
    pub fn is_of_packets(self) -> bool {
        matches!(self, Metric::HostWait(_) | Metric::SwitchWait(_))
    }

    /// Whether it can be taken of one port.
    pub fn is_of_ports(self) -> bool {
        matches!(
            self,
            Metric::Drops
                | Metric::Pauses
                | Metric::Paused
                | Metric::Ingress
                | Metric::Headroom
                | Metric::HeadroomDrops
        )
    }

    /// Whether it is a share, which people read in per cent.
    pub fn is_share(self) -> bool {
        matches!(
            self,
            Metric::FctOver(_) | Metric::Switched | Metric::DeadlineMissed | Metric::Undelivered | Metric::Paused
        )
    }

    /// The unit of the value: `s`, `bit/s`, `1/s`, `B`, `ratio` or `count`.
    pub fn unit(self) -> &'static str {
        match self {
            Metric::Fct(_)
            | Metric::Stall(_)
            | Metric::SwitchMean
            | Metric::Reach(_)
            | Metric::Recovery(_)
            | Metric::WaitHosts
            | Metric::WaitSwitches
            | Metric::HostWait(_)
            | Metric::SwitchWait(_) => "s",
            Metric::GoodputMean
            | Metric::GoodputDeviation
            | Metric::GoodputSum
            | Metric::Throughput
            | Metric::ThroughputDeviation => "bit/s",
            Metric::FctOver(_)
            | Metric::Slowdown(_)
            | Metric::Fairness
            | Metric::Switched
            | Metric::DeadlineMissed
            | Metric::Undelivered
            | Metric::Paused => "ratio",
            Metric::Ingress | Metric::Headroom => "B",
            Metric::Drops
            | Metric::CardDrops
            | Metric::Pauses
            | Metric::HeadroomDrops
            | Metric::WatchdogDrops
            | Metric::Deadlocks
            | Metric::Flows
            | Metric::Unfinished
            | Metric::Retransmissions
            | Metric::Timeouts
            | Metric::Resets => "count",
            Metric::Rate => "1/s",
        }
    }

    /// The values it can take, which its intervals keep to.
    pub fn support(self) -> Support {
        match self {
            Metric::FctOver(_)
            | Metric::Fairness
            | Metric::Switched
            | Metric::DeadlineMissed
            | Metric::Undelivered
            | Metric::Paused => Support::Share,
            _ => Support::Positive,
        }
    }

    /// The value for people, in three significant digits (counts in all of theirs): `12.3 ms`,
    /// `94.9 Mb/s`, `37.5 %` of flows switched, `2.31` times the ideal FCT.
    pub fn display(self, value: f64) -> String {
        match (self, self.unit()) {
            _ if self.is_share() => format!("{} %", three_digits(value * 100.0)),
            (_, "1/s") if value.abs() >= 1000.0 => format!("{value:.0}/s"),
            (_, "1/s") => format!("{}/s", three_digits(value)),
            (_, "count") if value.fract() == 0.0 || value.abs() >= 1000.0 => format!("{value:.0}"),
            (_, "B") => scaled(value, &[("MB", 1e6), ("KB", 1e3), ("B", 1.0)]),
            (_, "s") => scaled(value, &[("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9), ("ps", 1e-12)]),
            (_, "bit/s") => scaled(value, &[("Tb/s", 1e12), ("Gb/s", 1e9), ("Mb/s", 1e6), ("kb/s", 1e3), ("b/s", 1.0)]),
            _ => three_digits(value),
        }
    }
}

/// How the name ends under which connections are reported that carry the messages of a traffic.
pub const CONNECTION: &str = "/connection";

/// Whether flows reported as `own` are of `traffic`: by name, or as one of its parts (`web/GROUP` of `web`). No traffic is
/// reported both by its name and in parts, unless its name stands for all of them. [`ALL_TRAFFIC`] is of all names.
/// Connections that carry the messages of a traffic (`web/connection`) are part of none: they are those bytes again.
pub(crate) fn is_of(own: &str, traffic: &str) -> bool {
    if own.ends_with(CONNECTION) {
        return own == traffic;
    }
    if traffic == ALL_TRAFFIC {
        // as a name: without the parts of parts, which are those bytes again
        return own.matches('/').count() < 2;
    }
    let Some(rest) = own.strip_prefix(traffic) else { return false };
    let whole = !traffic.contains('/');
    rest.is_empty() || whole && rest.strip_prefix('/').is_some_and(|part| !part.contains('/'))
}

/// Flows of `traffic` that ended in the window over its length; without a window over the time from the first start to the
/// last end, to the end of the run if a flow has not ended.
fn rate(outcome: &Outcome, traffic: &str, window: Option<(Time, Time)>) -> Scalar {
    let flows = || outcome.flows.iter().filter(|flow| is_of(&flow.traffic, traffic));
    let Some((from, to)) = window else {
        return per_second(flows().filter(|flow| flow.end.is_some()).count() as f64, flows(), outcome);
    };
    let to = to.min(outcome.end);
    let inside = |end: Time| from <= end && (end < to || to == outcome.end);
    let ended = flows().filter_map(|flow| flow.end).filter(|&end| inside(end)).count();
    if to <= from { Scalar::Missing } else { Scalar::Value(ended as f64 / to.since(from).as_secs_f64()) }
}

/// What `fold` makes of the ports that a metric is taken of.
fn of_ports(outcome: &Outcome, subject: &Subject<'_>, fold: impl Fn(u128, &PortRecord) -> u128) -> Scalar {
    let Some(ports) = &outcome.ports else { return Scalar::Missing };
    let own = ports.iter().filter(|one| subject.port.is_none_or(|port| *one.port == *port));
    Scalar::Value(own.fold(0, fold) as f64)
}

/// The mean of waits, if somebody looked.
fn waited(outcome: &Outcome, of: impl Fn(&Waits) -> Waited) -> Scalar {
    outcome.waits.as_ref().map_or(Scalar::Missing, |waits| Scalar::Value(of(waits).mean()))
}

/// The number of the flow of `traffic` whose samples have this entity, as text.
fn flow_number<'a>(entity: &'a str, traffic: &str) -> Option<&'a str> {
    let id = entity.strip_prefix(traffic).and_then(|rest| rest.strip_prefix('/'))?;
    // Further parts are its subflows, whose sum is the flow's own sample.
    (!id.is_empty() && id.bytes().all(|b| b.is_ascii_digit())).then_some(id)
}

/// What a flow delivered over its life, to the end of the run if it has not ended, bit/s.
fn goodput(flow: &FlowRecord, outcome: &Outcome) -> Option<f64> {
    let life = flow.end.unwrap_or(outcome.end).since(flow.start);
    (!life.is_zero()).then(|| flow.delivered as f64 * 8.0 / life.as_secs_f64())
}

/// `amount` over the time from the first start of `flows` to their last end, to the end of the run if one has not ended.
fn per_second<'a>(amount: f64, flows: impl Iterator<Item = &'a FlowRecord> + Clone, outcome: &Outcome) -> Scalar {
    let first = flows.clone().map(|flow| flow.start).min().unwrap_or(outcome.end);
    let last = flows.map(|flow| flow.end.unwrap_or(outcome.end)).max().unwrap_or(first);
    let span = last.since(first);
    if span.is_zero() { Scalar::Missing } else { Scalar::Value(amount / span.as_secs_f64()) }
}

/// Jain's index.
fn fairness(values: impl Iterator<Item = f64>) -> Scalar {
    let (n, sum, squares) = values.fold((0, 0.0, 0.0), |(n, sum, squares), x| (n + 1, sum + x, squares + x * x));
    if n < 2 || squares == 0.0 { Scalar::Missing } else { Scalar::Value(sum * sum / (f64::from(n) * squares)) }
}

/// The samples `goodput_bps` of the flows of `traffic`, in bit/s.
fn flow_goodputs(outcome: &Outcome, traffic: &str, window: Option<(Time, Time)>) -> Vec<f64> {
    let of_flow = |entity: &str| flow_number(entity, traffic).is_some();
    let samples = outcome.samples.iter().filter(|sample| &*sample.metric == "goodput_bps" && of_flow(&sample.entity));
    let inside = |time: Time| window.is_none_or(|(from, to)| from < time && time <= to);
    samples.filter(|sample| inside(sample.time)).map(|sample| sample.value).collect()
}

/// `value` with three significant digits, all of them if it is larger.
fn three_digits(value: f64) -> String {
    let magnitude = round_to_three(value).abs();
    let decimals = match magnitude {
        0.0 => 0,
        m if m >= 100.0 => 0,
        m if m >= 10.0 => 1,
        m if m >= 1.0 => 2,
        // The first digit other than zero and two more; nothing we print is finer than that.
        m => (2 - m.log10().floor() as i32).clamp(3, 15) as usize,
    };
    format!("{value:.decimals$}")
}

/// `value` in the largest of `units` (largest first) in which it is at least one.
fn scaled(value: f64, units: &[(&str, f64)]) -> String {
    let last = units[units.len() - 1];
    if value == 0.0 || !value.is_finite() {
        let base = units.iter().find(|(_, scale)| *scale == 1.0).unwrap_or(&last);
        return format!("{value} {}", base.0);
    }
    let fits = |scale: f64| round_to_three(value.abs() / scale) >= 1.0;
    let &(name, scale) = units.iter().find(|(_, scale)| fits(*scale)).unwrap_or(&last);
    format!("{} {name}", three_digits(value / scale))
}

/// Rounded first, so that 999.9 us becomes 1.00 ms and not 1000 us.
fn round_to_three(value: f64) -> f64 {
    format!("{value:.2e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests;
