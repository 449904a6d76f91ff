//! What one run reports: flows, samples, counters; and which run it was.

use std::fmt;
use std::ops::AddAssign;
use std::sync::Arc;

use headway_units::{Span, Time};
use serde::{Deserialize, Serialize};

use crate::film::Film;
use crate::waits::{FlowWaits, Waits};

/// The value of one swept parameter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SweepValue {
    /// As it is printed; two values are the same if their texts are.
    pub text: String,
    /// The number, if it is one (finite, without a unit).
    pub number: Option<f64>,
}

impl From<f64> for SweepValue {
    fn from(number: f64) -> SweepValue {
        SweepValue { text: number.to_string(), number: number.is_finite().then_some(number) }
    }
}

impl From<i64> for SweepValue {
    fn from(number: i64) -> SweepValue {
        SweepValue { text: number.to_string(), number: Some(number as f64) }
    }
}

impl From<&str> for SweepValue {
    fn from(text: &str) -> SweepValue {
        SweepValue { text: text.to_owned(), number: None }
    }
}

/// One point of the sweep: the swept parameters with their values, in the scenario's order.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SweepPoint(Vec<Parameter>);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Parameter {
    name: String,
    #[serde(flatten)]
    value: SweepValue,
}

impl SweepPoint {
    /// The point of a scenario without a sweep.
    pub fn new() -> SweepPoint {
        SweepPoint::default()
    }

    /// This point with one more parameter.
    ///
    /// # Panics
    /// If the name is there already.
    pub fn with(mut self, name: impl Into<String>, value: impl Into<SweepValue>) -> SweepPoint {
        let name = name.into();
        assert!(self.get(&name).is_none(), "the sweep has `{name}` twice");
        self.0.push(Parameter { name, value: value.into() });
        self
    }

    /// The value of the parameter `name`.
    pub fn get(&self, name: &str) -> Option<&SweepValue> {
        self.iter().find(|(own, _)| *own == name).map(|(_, value)| value)
    }

    /// The parameters in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &SweepValue)> {
        self.0.iter().map(|parameter| (parameter.name.as_str(), &parameter.value))
    }

    /// The names in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.iter().map(|(name, _)| name)
    }

    /// Whether nothing is swept.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Names and texts: what tells two points apart.
    pub(crate) fn texts(&self) -> Vec<(&str, &str)> {
        self.iter().map(|(name, value)| (name, value.text.as_str())).collect()
    }
}

/// Prints as `senders=8, load=0.6`.
impl fmt::Display for SweepPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (name, value)) in self.iter().enumerate() {
            write!(f, "{}{name}={}", if i > 0 { ", " } else { "" }, value.text)?;
        }
        Ok(())
    }
}

/// One policy at one point of the sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// The place in the manifest's list of cells, from 0.
    pub index: u32,
    /// The policy's name.
    pub policy: String,
    /// The point of the sweep.
    pub sweep: SweepPoint,
}

/// One run: one repeat of one cell. Ordered by cell, then repeat, which is the order of all files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Job {
    /// The cell's index.
    pub cell: u32,
    /// The repeat, from 0.
    pub repeat: u32,
}

/// What became of one flow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowRecord {
    /// The flow's number, unique within its traffic.
    pub id: u64,
    /// The traffic it belongs to.
    pub traffic: Arc<str>,
    /// The sending host.
    pub source: Arc<str>,
    /// The receiving host.
    pub destination: Arc<str>,
    /// Bytes to send; `None` if the flow sends for as long as the run lasts.
    pub bytes: Option<u64>,
    /// Bytes that reached the receiving application in order.
    pub delivered: u64,
    /// When the sender was given the flow.
    pub start: Time,
    /// When its last byte was delivered; `None` if that did not happen.
    pub end: Option<Time>,
    /// How long after its start the flow should be complete, if it has a deadline.
    pub deadline: Option<Span>,
    /// The flow completion time on an otherwise idle network, if it is known.
    pub ideal: Option<Span>,
    /// Segments retransmitted.
    pub retransmissions: u32,
    /// Expiries of the retransmission timer.
    pub timeouts: u32,
    /// ECN echoes the sender received.
    pub marks: u32,
    /// Subflows opened; 1 for single-path TCP.
    pub subflows: u8,
    /// The paths taken, as text.
    pub paths: Arc<str>,
    /// When the flow was moved to another lane, if it was.
    pub switched: Option<Time>,
    /// The longest time without anything delivered in order, of those times in which a link was down; `None` if none was
    /// while the flow lived.
    pub stall: Option<Span>,
    /// Connections of it that were reset, because a relay crashed.
    pub resets: u32,
    /// How long its packets waited; `None` if that was not measured.
    pub waits: Option<FlowWaits>,
}

impl FlowRecord {
    /// The flow completion time; `None` if it never finished.
    pub fn fct(&self) -> Option<Span> {
        self.end.map(|end| end.since(self.start))
    }

    /// Whether it missed its deadline: it ended later, or without all of its bytes, or not at all. `None` without one.
    pub fn missed(&self) -> Option<bool> {
        let deadline = self.deadline?;
        Some(self.fct().is_none_or(|fct| fct > deadline) || self.bytes.is_some_and(|bytes| self.delivered < bytes))
    }

    /// The name of the flow as the entity of a [`Sample`]: `<traffic>/<id>`.
    pub fn entity(&self) -> String {
        format!("{}/{}", self.traffic, self.id)
    }
}

/// The path of a subflow from some time on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathRecord {
    /// Its flow: the place among [`Outcome::flows`].
    pub flow: u32,
    /// The connection: a copy of a replicated flow, or a segment between relays; from 0.
    pub connection: u8,
    /// The subflow, in the order in which they were opened, from 0.
    pub subflow: u8,
    /// When it was opened, or began to take this path.
    pub time: Time,
    /// The nodes from the source to the destination, with blanks between them. `#N` behind a name: by which of several
    /// cables from the node before, from 1.
    pub path: Arc<str>,
    /// The nodes of the way back; empty where nothing goes back, as of datagrams.
    pub back: Arc<str>,
}

/// One value of a time series.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// When it was taken. A rate is the mean since the sample before.
    pub time: Time,
    /// What it was taken of. A flow is `<traffic>/<id>`, see [`FlowRecord::entity`].
    pub entity: Arc<str>,
    /// What was measured, the unit last: `goodput_bps`, `cwnd_bytes`, `rtt_ns`, `ssthresh_bytes`, `alpha`,
    /// `queue_bytes`, `arrivals_bps`, `marks`, `link_cost`, `core_share`, `limit_bps`.
    pub metric: Arc<str>,
    /// The value in the unit of the metric's name.
    pub value: f64,
}

/// What became of a program that a host ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandRecord {
    /// The traffic it belongs to; see [`CommandRecord::daemon`] for those of none.
    pub traffic: Arc<str>,
    /// The host that ran it.
    pub host: Arc<str>,
    /// When it was started.
    pub start: Time,
    /// When it was over.
    pub end: Time,
    /// Its exit code; 128 + the signal if it died by one.
    pub code: i32,
    /// Whether it was still running when it was told to end.
    pub ended: bool,
    /// What it wrote to its standard output.
    pub stdout: Output,
    /// What it wrote to its standard error.
    pub stderr: Output,
}

impl CommandRecord {
    /// How the traffic of daemons begins, which have none: the daemon's name follows. Names of traffics have no dots.
    pub const DAEMON: &str = "daemon.";

    /// The daemon's name, if it was one: a program that ran from set-up to the end, or was to.
    pub fn daemon(&self) -> Option<&str> {
        self.traffic.strip_prefix(Self::DAEMON)
    }
}

/// What a program wrote.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Output {
    /// The first [`Output::MAX_KEPT`] bytes.
    pub kept: Vec<u8>,
    /// Bytes in all.
    pub bytes: u64,
}

impl Output {
    /// So much is kept: 16 MB.
    pub const MAX_KEPT: usize = 16_000_000;

    /// Of all that was written.
    pub fn new(mut all: Vec<u8>) -> Output {
        let bytes = all.len() as u64;
        all.truncate(Output::MAX_KEPT);
        Output { kept: all, bytes }
    }

    /// Whether something is not kept.
    pub fn is_cut(&self) -> bool {
        self.bytes > self.kept.len() as u64
    }
}

/// Flows that could not be sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failed {
    /// Their traffic.
    pub traffic: String,
    /// Why, in the kernel's words.
    pub reason: String,
    /// How many.
    pub flows: u64,
}

/// Totals over one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Counters {
    /// Events the engine handled.
    pub events: u64,
    /// Packets times the links they crossed.
    pub packet_hops: u64,
    /// Packets dropped in the network, damaged, or lost because a link was down.
    pub drops: u64,
    /// Packets marked with ECN in the network.
    pub marks: u64,
    /// Packets that a kernel host had no buffer for; they are among the drops.
    pub overruns: u64,
    /// IP packets of kernel hosts to addresses that nobody has.
    pub astray: u64,
    /// Packets that found the receive ring of a modelled host full; they are among the drops.
    pub ring_drops: u64,
    /// Packets that found the backlog of a modelled host's core full; they are among the drops.
    pub backlog_drops: u64,
    /// Packets that found the queue of a card that paces full; they are among the drops.
    pub card_drops: u64,
    /// Gap frames sent by cards that pace.
    pub gap_frames: u64,
    /// Bytes in them.
    pub gap_bytes: u64,
    /// Packets lost because a link was down; they are among the drops.
    pub down: u64,
    /// Frames of lossless priorities that found no room where they came in; they are among the drops.
    pub headroom_drops: u64,
    /// Packets that were dropped because they were stuck behind a pause; they are among the drops.
    pub watchdog_drops: u64,
    /// How often ports that were paused came to wait for each other in a circle.
    pub deadlocks: u64,
    /// SYNs that servers dropped for want of a place.
    pub syns_dropped: u64,
    /// SYNs that servers answered by cookies, since their SYN queue was full.
    pub syn_cookies: u64,
    /// Ends of handshakes that servers dropped because their accept queue was full.
    pub accept_overflows: u64,
    /// Connections that servers reset because of that.
    pub refused: u64,
}

impl AddAssign for Counters {
    fn add_assign(&mut self, other: Counters) {
        self.events += other.events;
        self.packet_hops += other.packet_hops;
        self.drops += other.drops;
        self.marks += other.marks;
        self.overruns += other.overruns;
        self.astray += other.astray;
        self.ring_drops += other.ring_drops;
        self.backlog_drops += other.backlog_drops;
        self.card_drops += other.card_drops;
        self.gap_frames += other.gap_frames;
        self.gap_bytes += other.gap_bytes;
        self.down += other.down;
        self.headroom_drops += other.headroom_drops;
        self.watchdog_drops += other.watchdog_drops;
        self.deadlocks += other.deadlocks;
        self.syns_dropped += other.syns_dropped;
        self.syn_cookies += other.syn_cookies;
        self.accept_overflows += other.accept_overflows;
        self.refused += other.refused;
    }
}

/// What the queue of a port did with frames.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortRecord {
    /// The port, as the entity of its samples: `<from>><to>`.
    pub port: Arc<str>,
    /// Frames that its queue dropped. Damaged ones, and those lost because the link was down, are none of them.
    pub drops: u64,
    /// Of a port that can pause and be paused.
    pub pauses: Pauses,
}

/// Pauses at a port, and the room of what comes over its link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pauses {
    /// Frames that it sent to ask its peer for a pause.
    pub sent: u64,
    /// How long the priority was paused that was so for longest.
    pub paused: Span,
    /// The most bytes of a priority that came over its link into a switch and had not left.
    pub deepest: u64,
    /// The most of them in the headroom.
    pub headroom: u64,
    /// Frames that found no room there.
    pub drops: u64,
}

/// A capture that ends before its run, since its file has the most bytes that it may.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CutCapture {
    /// The host or link, as the scenario names it.
    pub name: Arc<str>,
    /// When the first packet was seen that is not in it.
    pub at: Time,
}

/// All that one run reports.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Which run it was.
    pub job: Job,
    /// The flows, in the order the files shall have.
    pub flows: Vec<FlowRecord>,
    /// The samples, in the order the files shall have.
    pub samples: Vec<Sample>,
    /// Ports whose queues dropped frames, in the order of the network's links; `None` if nobody counted, as in namespaces.
    pub ports: Option<Vec<PortRecord>>,
    /// Captures that have not all of their packets.
    pub cut: Vec<CutCapture>,
    /// Where frames waited; `None` if nobody looked, as in namespaces.
    pub waits: Option<Waits>,
    /// What became of programs, in the order of the scenario's traffic and then of hosts.
    pub commands: Vec<CommandRecord>,
    /// Flows that could not be sent, in order of traffic and reason.
    pub failed: Vec<Failed>,
    /// The run's totals.
    pub counters: Counters,
    /// The first circle of paused ports that waited for each other, if there was one: when it was found, and the ports.
    pub deadlock: Option<(Time, String)>,
    /// A digest of the stream of events; equal for equal runs.
    pub digest: u64,
    /// When the run ended.
    pub end: Time,
    /// What its links did over time, if that was recorded.
    pub film: Option<Film>,
    /// The paths of its connections in order of flows, connections, subflows and times, if they were recorded.
    pub paths: Option<Vec<PathRecord>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweep_point_keeps_order_text_and_number() {
        let point = SweepPoint::new().with("senders", 8).with("load", 0.6).with("queue", "drop-tail");
        assert_eq!(point.to_string(), "senders=8, load=0.6, queue=drop-tail");
        assert_eq!(point.get("load").unwrap().number, Some(0.6));
        assert_eq!(point.get("queue").unwrap().number, None);
        let json = serde_json::to_string(&point).unwrap();
        assert!(json.starts_with(r#"[{"name":"senders","text":"8","number":8.0},"#), "{json}");
        assert_eq!(serde_json::from_str::<SweepPoint>(&json).unwrap(), point);
    }

    #[test]
    #[should_panic(expected = "twice")]
    fn a_sweep_point_refuses_a_second_value() {
        let _ = SweepPoint::new().with("senders", 8).with("senders", 9);
    }
}
