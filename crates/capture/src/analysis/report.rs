//! What a capture says.

use crate::analysis::Options;
use crate::flow::{Class, Heading};
use crate::histogram::Histogram;
use crate::packet::Address;
use crate::series::Series;
use crate::track::{Connection, End};

/// Packets of a capture, by what they are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Packets {
    /// All of them.
    pub all: u64,
    /// Their bytes on the wire.
    pub bytes: u64,
    /// Bytes of them that were captured.
    pub captured: u64,
    /// TCP segments.
    pub tcp: u64,
    /// UDP datagrams.
    pub udp: u64,
    /// Other protocols over IP.
    pub other_ip: u64,
    /// Fragments without ports.
    pub fragments: u64,
    /// No IP.
    pub not_ip: u64,
    /// Captured too short for what was to be read.
    pub cut: u64,
    /// With headers that contradict themselves.
    pub malformed: u64,
    /// In more tunnels than are looked into.
    pub too_deep: u64,
    /// TCP segments that were in a tunnel: IP in IP, GRE, VXLAN, Geneve, PPPoE, ERSPAN.
    pub tunnelled: u64,
    /// Of interfaces of a link type that is not read, and the last such type.
    pub unknown_link: u64,
    /// See `unknown_link`.
    pub unknown_link_type: Option<u32>,
    /// With a time before the one of the packet before.
    pub backwards: u64,
    /// The furthest, in nanoseconds.
    pub largest_step_back: u64,
    /// Those that went back by so much that the clock must have been set.
    pub set_back: u64,
}

/// Counts over all connections; subflows of MPTCP one by one unless it says otherwise.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// TCP connections and subflows.
    pub connections: u64,
    /// Of those, how many ended how, by [`End`] in its order.
    pub ends: [u64; 6],
    /// Open before they were first seen.
    pub open_before: u64,
    /// SYNs that were refused or not answered.
    pub unanswered: u64,
    /// Connections, those with subflows once.
    pub over: u64,
    /// Connections of MPTCP.
    pub multipath: u64,
    /// Those with more than one subflow.
    pub with_subflows: u64,
    /// Subflows joined to a connection whose first was captured.
    pub joined: u64,
    /// Subflows of connections whose first was not captured.
    pub orphans: u64,
    /// Segments of no known connection.
    pub strays: u64,
    /// Segments with data.
    pub data_packets: u64,
    /// Segments with data that were retransmitted.
    pub retransmissions: u64,
    /// SYNs, and answers to them, that were sent again.
    pub syns_again: u64,
    /// FINs without data that were sent again.
    pub fins_again: u64,
    /// Bytes that were retransmitted.
    pub retransmitted: u64,
    /// Segments that came out of order.
    pub out_of_order: u64,
    /// Segments that the capture has twice.
    pub duplicates: u64,
    /// Bytes of data, each once.
    pub bytes: u64,
    /// Bytes of them that the capture does not have.
    pub unseen: u64,
    /// Directions of connections in which data was retransmitted.
    pub lossy: u64,
}

impl Totals {
    pub(super) fn add(&mut self, connection: &Connection) {
        self.connections += 1;
        self.ends[connection.end as usize] += 1;
        self.open_before += u64::from(connection.begin() == crate::track::Begin::Open);
        self.unanswered += u64::from(!connection.was_answered());
        for side in &connection.sides {
            self.data_packets += side.data_packets;
            self.retransmissions += u64::from(side.retransmissions);
            self.syns_again += u64::from(side.syns_again);
            self.fins_again += u64::from(side.fins_again);
            self.retransmitted += side.retransmitted;
            self.out_of_order += u64::from(side.out_of_order);
            self.duplicates += u64::from(side.duplicates);
            self.bytes += side.bytes;
            self.unseen += side.unseen;
            self.lossy += u64::from(side.retransmissions > 0);
        }
    }

    pub(super) fn multipath(&mut self, group: &crate::track::Group) {
        self.multipath += 1;
        self.with_subflows += u64::from(group.subflows > 1);
    }

    /// How many ended so.
    pub fn ended(&self, how: End) -> u64 {
        self.ends[how as usize]
    }
}

/// Flows of one class and heading.
#[derive(Debug, Clone, Default)]
pub struct Group {
    /// Bytes.
    pub sizes: Histogram,
    /// From the first data to the last, in nanoseconds.
    pub durations: Histogram,
    /// Those whose connection was open before the capture or after it.
    pub cut: u64,
    /// Distinct sources.
    pub senders: u64,
    /// Distinct destinations.
    pub receivers: u64,
    /// The last of them that was new: the only one where there is one.
    pub receiver: Option<Address>,
}

/// Connections that last for at least 90 % of the capture.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Longlived {
    /// How many.
    pub connections: u64,
    /// Data of both directions.
    pub bytes: u128,
}

/// A sequence of beginnings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Arrivals {
    /// Gaps between them.
    pub gaps: u64,
    /// Mean gap.
    pub mean_ns: f64,
    /// Coefficient of variation of the gaps: 1 for a Poisson process, 0 for a regular one, more if they come in clumps.
    pub variation: f64,
}

impl Arrivals {
    /// What the variation says, in words.
    pub fn word(&self) -> &'static str {
        match self.variation {
            v if v < 0.5 => "regularly",
            v if v < 0.9 => "more regularly than at random",
            v if v <= 1.1 => "about as at random (Poisson)",
            v if v <= 2.0 => "in clumps",
            _ => "in strong clumps",
        }
    }
}

/// All that a capture says. Times are in nanoseconds since 1970.
#[derive(Debug)]
pub struct Report {
    /// The first packet.
    pub begin: u64,
    /// The last.
    pub end: u64,
    /// Packets.
    pub packets: Packets,
    /// Connections.
    pub totals: Totals,
    /// Hosts that sent or received a flow; with `hosts_left_out` there are more.
    pub hosts: u64,
    /// See `hosts`.
    pub hosts_left_out: bool,
    /// Flows by class, then heading.
    pub flows: [[Group; 3]; 4],
    /// Long-lived connections.
    pub longlived: Longlived,
    /// When flows start.
    pub starts: Option<Arrivals>,
    /// When connections open.
    pub opens: Option<Arrivals>,
    /// Senders to a destination that start within a window, over all windows.
    pub degrees: Histogram,
    /// The same over windows that are bursts, by heading.
    pub bursts: [Histogram; 3],
    /// Round-trip times by handshakes, in nanoseconds.
    pub handshakes: Histogram,
    /// Round-trip times by data and its acknowledgement, from the place of the capture to the receiver and back.
    pub rtt: Histogram,
    /// Round-trip times that are shorter than the capture's clock can tell; the histograms are without them.
    pub rtt_unresolved: u64,
    /// The host that is at one end of every flow, if there is one, and others at the other end.
    pub hub: Option<Address>,
    /// What happened over time.
    pub series: Series,
    /// What was asked for.
    pub options: Options,
}

impl Report {
    /// From the first packet to the last, in nanoseconds.
    pub fn duration(&self) -> u64 {
        self.end - self.begin
    }

    /// The sizes of all flows for which `wanted` holds.
    pub fn sizes(&self, wanted: impl Fn(Class, Heading) -> bool) -> Histogram {
        let mut all = Histogram::default();
        for class in Class::ALL {
            for heading in Heading::ALL {
                if wanted(class, heading) {
                    all.merge(&self.flows[class as usize][heading as usize].sizes);
                }
            }
        }
        all
    }

    /// The flows of a class and heading.
    pub fn group(&self, class: Class, heading: Heading) -> &Group {
        &self.flows[class as usize][heading as usize]
    }

    /// The most connections that were open in one interval of the series.
    pub fn peak_connections(&self) -> u64 {
        self.series.intervals().map(|(_, open, _)| open).max().unwrap_or(0)
    }

    /// The most that passed in about 10 ms, with headers, in bit/s.
    pub fn peak_rate(&self) -> u64 {
        let together = (10_000_000 / self.series.length()).max(1);
        let bytes: Vec<u64> = self.series.intervals().map(|(.., interval)| interval.bytes).collect();
        let most = bytes.chunks(together as usize).map(|some| some.iter().sum::<u64>()).max().unwrap_or(0);
        let time = u128::from(together * self.series.length());
        u64::try_from(u128::from(most) * 8_000_000_000 / time).unwrap_or(u64::MAX)
    }

    /// What a reader of the numbers has to know, as sentences.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        let Packets { all, cut, malformed, too_deep, unknown_link, unknown_link_type, backwards, set_back, .. } =
            self.packets;
        let seconds = |nanos: u64| nanos as f64 / 1e9;
        let mut say = |really: bool, text: String| warnings.extend(really.then_some(text));
        say(cut > 0, format!("{cut} of {all} packets were captured too short to be looked at"));
        say(malformed > 0, format!("{malformed} of {all} packets have headers that contradict themselves"));
        say(too_deep > 0, format!("{too_deep} of {all} packets are in more than 8 tunnels, and were not looked into"));
        say(
            unknown_link > 0,
            format!(
                "{unknown_link} of {all} packets are of link type {}, which is not read",
                unknown_link_type.unwrap_or(0)
            ),
        );
        say(
            set_back > 0,
            format!(
                "the clock was set back {set_back} times, by up to {:.3} s: lifetimes across that are wrong",
                seconds(self.packets.largest_step_back)
            ),
        );
        say(
            backwards > set_back && self.packets.largest_step_back > 1_000_000,
            format!("{backwards} packets are older than the packet before them and were taken to be of its time"),
        );
        let Totals { unseen, bytes, duplicates, data_packets, orphans, .. } = self.totals;
        let evicted = self.totals.ended(End::Evicted);
        say(
            unseen * 1000 > bytes,
            format!(
                "the capture lacks {unseen} of {bytes} bytes of data; they are counted by sequence numbers, but RTTs and retransmissions among them are not"
            ),
        );
        say(
            duplicates * 100 > data_packets,
            format!("{duplicates} of {data_packets} segments are there twice: was the traffic captured in two places?"),
        );
        let timed = self.rtt.count() + self.handshakes.count() + self.rtt_unresolved;
        say(
            self.rtt_unresolved * 100 > timed,
            format!(
                "{} of {timed} round-trip times are shorter than the clock of the capture can tell; they are left out, and those \
                 that are left are too long",
                self.rtt_unresolved
            ),
        );
        if let Some(hub) = self.hub.filter(|_| self.options.host.is_none()) {
            say(
                true,
                format!("every flow is to or from {hub}: `--host {hub}` tells the two apart, also in the scenario"),
            );
        }
        say(
            evicted > 0,
            format!(
                "{evicted} connections were closed early because there were over {} (--max-flows); what follows of them counts as further connections",
                self.options.max_flows
            ),
        );
        say(
            orphans > 0,
            format!(
                "{orphans} MPTCP subflows belong to connections whose first subflow was not captured; the subflows of each count as one connection"
            ),
        );
        say(self.hosts_left_out, format!("there are more hosts than the {} that are told apart", self.hosts));
        warnings
    }
}
