//! From packets to the numbers of a report.

mod report;

pub use report::{Arrivals, Group as FlowGroup, Longlived, Packets, Report};

use hashbrown::HashMap;
use headway_units::{Bytes, Span};

use crate::flow::{Class, Flow, Heading};
use crate::histogram::Histogram;
use crate::incast::Incast;
use crate::packet::{Address, Content, SYN, parse};
use crate::reader::Packet;
use crate::series::Series;
use crate::track::{Begin, Connection, End, Event, NONE, Side, Tracker};

/// Stamps that are older than the one before by up to this are of packets that a machine handed over in another order;
/// by more, the clock was set. In nanoseconds.
const SET_BACK: u64 = 1_000_000_000;

/// The most hosts whose roles are kept.
const MAX_HOSTS: usize = 1 << 20;

/// A connection that lasts for this share of the capture is long-lived (in tenths).
const LONG_LIVED_TENTHS: u64 = 9;

/// What to look for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// A connection that is silent for longer is over.
    pub idle: Span,
    /// The most connections in memory; of more, the longest silent are closed early.
    pub max_flows: usize,
    /// Flows of up to this are short.
    pub short: Bytes,
    /// Flows of more than this are long.
    pub long: Bytes,
    /// Flows to one destination that start within this are looked at together.
    pub window: Span,
    /// Senders in a window that make it a burst.
    pub burst: u16,
    /// The host that flows are told apart by.
    pub host: Option<Address>,
    /// Intervals of the series; it grows tenfold as long as there are over 20,000.
    pub interval: Span,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            idle: Span::from_secs(60),
            max_flows: 1_000_000,
            short: Bytes::from_kb(100),
            long: Bytes::from_kb(1000),
            window: Span::from_millis(1),
            burst: 4,
            host: None,
            interval: Span::from_micros(10),
        }
    }
}

/// A connection that is over, as it goes to a table. Times are in nanoseconds since 1970.
#[derive(Debug, Clone)]
pub struct ConnectionRecord {
    /// From 1, in order of beginning.
    pub number: u64,
    /// The number of the first subflow that was captured, if this is a subflow of MPTCP.
    pub mptcp: Option<u64>,
    /// Who opened it; a guess by the ports if its beginning was not captured.
    pub initiator: (Address, u16),
    /// To whom.
    pub responder: (Address, u16),
    /// The first packet.
    pub first: u64,
    /// The last packet, or the one that ended it.
    pub last: u64,
    /// How it began.
    pub begin: Begin,
    /// How it ended.
    pub end: End,
    /// Round-trip time by the handshake.
    pub handshake: Option<u64>,
    /// What the initiator sent, and the responder.
    pub sides: [Side; 2],
}

impl ConnectionRecord {
    fn new(connection: &Connection, mptcp: Option<u64>) -> ConnectionRecord {
        let initiator = usize::from(connection.initiator);
        let end = |side: usize| (connection.key.addresses[side], connection.key.ports[side]);
        ConnectionRecord {
            number: connection.number,
            mptcp,
            initiator: end(initiator),
            responder: end(1 - initiator),
            first: connection.first,
            last: connection.last,
            begin: connection.begin(),
            end: connection.end,
            handshake: (connection.handshake > 0).then_some(connection.handshake),
            sides: [connection.sides[initiator], connection.sides[1 - initiator]],
        }
    }
}

/// Mean and variance of gaps, one by one (Welford 1962).
#[derive(Debug, Clone, Copy, Default)]
struct Gaps {
    last: Option<u64>,
    count: u64,
    mean: f64,
    squares: f64,
}

impl Gaps {
    fn add(&mut self, now: u64) {
        if let Some(last) = self.last.replace(now) {
            let gap = now.saturating_sub(last) as f64;
            self.count += 1;
            let from_old = gap - self.mean;
            self.mean += from_old / self.count as f64;
            self.squares += from_old * (gap - self.mean);
        }
    }

    fn arrivals(&self) -> Option<Arrivals> {
        let deviation = (self.squares / (self.count.checked_sub(1)?.max(1)) as f64).sqrt();
        (self.count > 1 && self.mean > 0.0).then(|| Arrivals {
            gaps: self.count,
            mean_ns: self.mean,
            variation: deviation / self.mean,
        })
    }
}

/// The hosts that are at one end of every flow.
#[derive(Debug, Clone, Copy, Default)]
struct Hub(Option<[Option<Address>; 2]>);

impl Hub {
    fn add(&mut self, flow: &Flow) {
        let ends = [flow.source, flow.destination];
        let left = self.0.unwrap_or(ends.map(Some)).map(|host| host.filter(|host| ends.contains(host)));
        self.0 = Some(left);
    }

    /// The one host, if it has several others.
    fn only(self) -> Option<Address> {
        match self.0? {
            [Some(host), None] | [None, Some(host)] => Some(host),
            _ => None,
        }
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Roles {
    sends: u16,
    receives: u16,
}

/// Reads packets and counts.
pub struct Analysis<'a> {
    options: Options,
    tracker: Tracker,
    events: Vec<Event>,
    incast: Incast,
    series: Series,
    sink: Box<dyn FnMut(&ConnectionRecord) + 'a>,
    packets: Packets,
    /// By class, then heading.
    flows: [[FlowGroup; 3]; 4],
    hosts: HashMap<Address, Roles, foldhash::fast::RandomState>,
    hosts_left_out: bool,
    hub: Hub,
    now: u64,
    begin: Option<u64>,
    last: u64,
    starts: Gaps,
    opens: Gaps,
    handshakes: Histogram,
    totals: report::Totals,
    /// Durations and bytes of connections that may turn out to be long-lived.
    candidates: Vec<(u64, u64)>,
    prune_at: usize,
}

impl<'a> Analysis<'a> {
    /// Every connection that is over is given to `sink`, in order of their ends.
    pub fn new(options: Options, sink: impl FnMut(&ConnectionRecord) + 'a) -> Analysis<'a> {
        let nanos = |span: Span| span.nanos();
        Analysis {
            tracker: Tracker::new(nanos(options.idle), options.max_flows),
            events: Vec::new(),
            incast: Incast::new(nanos(options.window), options.burst, options.max_flows),
            series: Series::new(nanos(options.interval)),
            sink: Box::new(sink),
            packets: Packets::default(),
            flows: Default::default(),
            hosts: HashMap::default(),
            hosts_left_out: false,
            hub: Hub::default(),
            now: 0,
            begin: None,
            last: 0,
            starts: Gaps::default(),
            opens: Gaps::default(),
            handshakes: Histogram::default(),
            totals: report::Totals::default(),
            candidates: Vec::new(),
            prune_at: 1024,
            options,
        }
    }

    /// Counts a packet.
    #[inline]
    pub fn packet(&mut self, packet: &Packet<'_>) {
        self.tick(packet.time);
        let interval = self.series.at(self.now);
        interval.packets += 1;
        interval.bytes += u64::from(packet.length);
        let count = &mut self.packets;
        count.all += 1;
        count.bytes += u64::from(packet.length);
        count.captured += packet.data.len() as u64;
        match parse(packet) {
            Content::Tcp(segment) => {
                count.tcp += 1;
                count.tunnelled += u64::from(segment.tunnels > 0);
                let before = self.tracker.opened();
                self.tracker.segment(self.now, &segment, &mut self.events);
                if segment.has(SYN) && self.tracker.opened() > before {
                    self.opens.add(self.now);
                }
                if !self.events.is_empty() {
                    self.handle();
                }
            }
            Content::Udp => count.udp += 1,
            Content::OtherIp(_) => count.other_ip += 1,
            Content::Fragment => count.fragments += 1,
            Content::NotIp => count.not_ip += 1,
            Content::Cut => count.cut += 1,
            Content::Malformed => count.malformed += 1,
            Content::TooDeep => count.too_deep += 1,
            Content::UnknownLink(number) => {
                count.unknown_link += 1;
                count.unknown_link_type = Some(number);
            }
        }
    }

    #[inline]
    fn tick(&mut self, time: u64) {
        if time >= self.now {
            self.now = time;
            self.begin.get_or_insert(time);
        } else {
            let step = self.now - time;
            self.packets.backwards += 1;
            self.packets.largest_step_back = self.packets.largest_step_back.max(step);
            if step > SET_BACK {
                self.packets.set_back += 1;
                self.now = time;
            }
        }
        self.last = self.last.max(self.now);
    }

    #[cold]
    fn handle(&mut self) {
        let mut events = std::mem::take(&mut self.events);
        for event in events.drain(..) {
            match event {
                Event::Started { place, number, side } => self.started(place, number, side),
                Event::Ended(connection) => self.ended(*connection),
            }
        }
        self.events = events;
    }

    fn started(&mut self, place: u32, number: u64, side: usize) {
        self.starts.add(self.now);
        let key = self.tracker.table.get(place).key;
        let (source, destination) = (key.addresses[side], key.addresses[1 - side]);
        let host = self.options.host;
        let table = &mut self.tracker.table;
        self.incast.started(
            self.now,
            source,
            destination,
            (place, number, side),
            |to| arriving(host, to),
            |member, degree| {
                let (place, number, side) = member;
                let connection = table.get_mut(place);
                if connection.number == number {
                    connection.sides[side].degree = degree;
                }
            },
        );
    }

    fn ended(&mut self, mut connection: Connection) {
        if connection.is_stray() {
            self.tracker.strays += 1;
            return;
        }
        let begun = connection.begin() == Begin::Handshake;
        for side in 0..2 {
            // Its window may still be open.
            let destination = connection.key.addresses[1 - side];
            let own = &mut connection.sides[side];
            if own.degree == 0 && own.first_data > 0 && begun {
                own.degree = self.incast.so_far(destination);
            }
        }
        self.totals.add(&connection);
        if connection.handshake > 0 {
            self.handshakes.add(connection.handshake);
        }
        let mptcp = (connection.group != NONE).then(|| self.tracker.groups.get_mut(connection.group).number);
        (self.sink)(&ConnectionRecord::new(&connection, mptcp));
        let flows = [connection.flow(0), connection.flow(1)];
        let (first, last) = self.lifetime(&connection);
        if connection.group == NONE {
            self.over(first, last, flows);
            return;
        }
        let groups = &mut self.tracker.groups;
        let group = groups.get_mut(connection.group);
        let initiator = usize::from(connection.initiator) ^ usize::from(connection.is_swapped());
        for (side, flow) in flows.into_iter().enumerate() {
            let own = &mut group.flows[side ^ initiator];
            *own = match (*own, flow) {
                (Some(own), Some(flow)) => Some(own.and(flow)),
                (own, flow) => own.or(flow),
            };
        }
        group.first = group.first.min(first);
        group.last = group.last.max(last);
        if let Some(mut group) = groups.leave(connection.group) {
            for side in 0..2 {
                let bytes = group.bytes(side);
                if let Some(flow) = &mut group.flows[side] {
                    flow.bytes = bytes.unwrap_or(flow.bytes);
                }
            }
            self.totals.multipath(&group);
            self.over(group.first, group.last, group.flows);
        }
    }

    /// When a connection was there, as far as is known: those that are open when the capture begins or ends are taken to
    /// be so from its beginning, or to its end.
    fn lifetime(&self, connection: &Connection) -> (u64, u64) {
        let begin = self.begin.unwrap_or(0);
        let idle = self.options.idle.nanos();
        // Of one that was evicted nothing is known but what was seen, and there may be any number of them.
        let evicted = connection.end == End::Evicted;
        let was_open = connection.begin() == Begin::Open && connection.first.saturating_sub(begin) <= idle && !evicted;
        let first = if was_open { begin } else { connection.first };
        (first, if connection.end == End::Open { self.last } else { connection.last })
    }

    /// A connection, with all its subflows, is over.
    fn over(&mut self, first: u64, last: u64, flows: [Option<Flow>; 2]) {
        self.series.at(first).opened += 1;
        self.series.at(last).closed += 1;
        let bytes = flows.iter().flatten().map(|flow| flow.bytes).sum();
        self.totals.over += 1;
        // It cannot be long-lived any more if it is not now.
        if self.is_long(last.saturating_sub(first)) {
            self.candidates.push((last.saturating_sub(first), bytes));
            if self.candidates.len() >= self.prune_at {
                let mut candidates = std::mem::take(&mut self.candidates);
                candidates.retain(|&(duration, _)| self.is_long(duration));
                self.prune_at = (2 * candidates.len()).max(1024);
                self.candidates = candidates;
            }
        }
        for flow in flows.into_iter().flatten() {
            self.count(&flow);
        }
    }

    /// Whether `duration` is at least nine tenths of the capture so far.
    fn is_long(&self, duration: u64) -> bool {
        u128::from(duration) * 10 >= u128::from(self.last - self.begin.unwrap_or(0)) * u128::from(LONG_LIVED_TENTHS)
    }

    fn class(&self, flow: &Flow) -> Class {
        if flow.bytes > self.options.long.get() {
            Class::Long
        } else if flow.degree >= self.options.burst {
            Class::Burst
        } else if flow.bytes <= self.options.short.get() {
            Class::Short
        } else {
            Class::Medium
        }
    }

    fn count(&mut self, flow: &Flow) {
        self.hub.add(flow);
        let class = self.class(flow) as usize;
        let heading = match self.options.host {
            Some(host) if host == flow.destination => Heading::To,
            Some(host) if host == flow.source => Heading::From,
            _ => Heading::Other,
        } as usize;
        let group = &mut self.flows[class][heading];
        group.sizes.add(flow.bytes);
        group.durations.add(flow.last.saturating_sub(flow.first));
        group.cut += u64::from(flow.cut);
        self.series.at(flow.first).starts[class] += 1;
        let role = 1 << (class * 3 + heading);
        for (address, sends) in [(flow.source, true), (flow.destination, false)] {
            if self.hosts.len() >= MAX_HOSTS && !self.hosts.contains_key(&address) {
                self.hosts_left_out = true;
                continue;
            }
            let roles = self.hosts.entry(address).or_default();
            let known = if sends { &mut roles.sends } else { &mut roles.receives };
            if *known & role == 0 {
                *known |= role;
                if !sends {
                    group.receiver = Some(address);
                }
                *(if sends { &mut group.senders } else { &mut group.receivers }) += 1;
            }
        }
    }

    /// Packets so far.
    pub fn seen(&self) -> u64 {
        self.packets.all
    }

    /// Ends what is open, and counts it all together.
    pub fn finish(mut self) -> Report {
        let table = &mut self.tracker.table;
        let host = self.options.host;
        self.incast.close(u64::MAX, &|to| arriving(host, to), &mut |(place, number, side), degree| {
            let connection = table.get_mut(place);
            if connection.number == number {
                connection.sides[side].degree = degree;
            }
        });
        while let Some(event) = self.tracker.end_next() {
            self.events.push(event);
            self.handle();
        }
        let candidates = std::mem::take(&mut self.candidates);
        let long: Vec<_> = candidates.into_iter().filter(|&(duration, _)| self.is_long(duration)).collect();
        let longlived =
            Longlived { connections: long.len() as u64, bytes: long.iter().map(|&(_, bytes)| u128::from(bytes)).sum() };
        self.totals.strays = self.tracker.strays;
        self.totals.joined = self.tracker.groups.joined;
        self.totals.orphans = self.tracker.groups.orphans;
        Report {
            begin: self.begin.unwrap_or(0),
            end: self.last,
            packets: self.packets,
            totals: self.totals,
            hosts: self.hosts.len() as u64,
            hosts_left_out: self.hosts_left_out,
            flows: self.flows,
            longlived,
            starts: self.starts.arrivals(),
            opens: self.opens.arrivals(),
            degrees: self.incast.degrees,
            bursts: self.incast.bursts,
            handshakes: self.handshakes,
            rtt: self.tracker.rtt,
            rtt_unresolved: self.tracker.rtt_unresolved,
            hub: self.hub.only(),
            series: self.series,
            options: self.options,
        }
    }
}

/// The heading of what goes to `destination`.
fn arriving(host: Option<Address>, destination: Address) -> usize {
    (if host == Some(destination) { Heading::To } else { Heading::Other }) as usize
}

#[cfg(test)]
mod tests;
