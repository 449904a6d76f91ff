//! Flows: what is to be sent, how far it is, and what became of it.

use std::collections::BTreeSet;

use headway_fabric::NodeId;
use headway_units::{Bytes, Span, Time};

use crate::failures::FailureState;
use crate::slots::{SlotPool, put};
use crate::waits::{OnWay, PacketWaits};

/// The kind of traffic of connections that are of no flow of the user's, such as those that relays keep: no class of a card
/// and no series names it.
pub(crate) const NO_TRAFFIC: u16 = u16::MAX;

/// A flow to be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowStart {
    /// When.
    pub time: Time,
    /// The caller's name for it; unique within the run.
    pub id: u64,
    /// The caller's name for the kind of traffic.
    pub traffic: u16,
    /// Sending host.
    pub source: NodeId,
    /// Receiving host.
    pub destination: NodeId,
    /// Bytes to send; `None` never ends.
    pub size: Option<Bytes>,
    /// When it should be complete, counted from its start; for controls that know deadlines.
    pub deadline: Option<Span>,
    /// Index of the [`Profile`](crate::Profile) its connections use.
    pub profile: u16,
}

/// What became of a flow.
#[derive(Debug, Clone, PartialEq)]
pub struct FlowEnd {
    /// How it started.
    pub start: FlowStart,
    /// When its last byte had been delivered in order; `None` if it had not by the end of the run. Of a two-way
    /// connection: when both directions were closed, acknowledged and read.
    pub end: Option<Time>,
    /// Bytes delivered in order (of the copy that is furthest); of datagrams, in any order; of a two-way connection, both
    /// ways.
    pub delivered: u64,
    /// Completion time on the idle network; see [`Simulation::ideal`](crate::Simulation::ideal).
    pub ideal: Option<Span>,
    /// Segments retransmitted, SYN and FIN among them, until its connections were closed: also after its last byte had been
    /// delivered.
    pub retransmissions: u32,
    /// Retransmission time-outs, of SYN included.
    pub timeouts: u32,
    /// ECN echoes received.
    pub marks: u32,
    /// Connections of it that were reset. A relayed flow whose first or last connection is reset before its last byte is
    /// there ends unfinished.
    pub resets: u32,
    /// Subflows opened, over all copies; each direction of a two-way connection counts.
    pub subflows: u32,
    /// The interfaces (of the source host) that its subflows used, as a bit mask.
    pub interfaces: u64,
    /// When it moved to its long lanes.
    pub switched: Option<Time>,
    /// The longest time without anything delivered in order, of those times in which a link was down; `None` if none was
    /// while the flow lived. A two-way connection that nobody uses stands still, too.
    pub stall: Option<Span>,
    /// How long its packets with data waited, of a two-way connection those of both directions; `None` if that was not
    /// [asked for](crate::Simulation::measure_waits).
    pub waits: Option<PacketWaits>,
}

impl FlowEnd {
    /// What became of `start` as far as bytes tell: without an ideal time, and with all that its connections would have
    /// counted at nothing. Also for what is reported like a flow and had no connection of its own, such as a request
    /// whose parts are flows.
    pub fn new(start: FlowStart, end: Option<Time>, delivered: u64) -> FlowEnd {
        FlowEnd {
            start,
            end,
            delivered,
            ideal: None,
            retransmissions: 0,
            timeouts: 0,
            marks: 0,
            resets: 0,
            subflows: 0,
            interfaces: 0,
            switched: None,
            stall: None,
            waits: None,
        }
    }
}

/// A flow that has started.
#[derive(Debug)]
pub(crate) struct Flow {
    pub start: FlowStart,
    pub ideal: Option<Span>,
    pub end: Option<Time>,
    /// Bytes delivered in order by the furthest copy.
    pub delivered: u64,
    /// Its connections, as its tenant numbers them.
    pub connections: Vec<u32>,
    /// Those not yet torn down.
    pub open: u32,
    /// Where in [`Flows::ended`] it is, once it is.
    pub ended: Option<u32>,
    pub interfaces: u64,
    sampled: bool,
    /// It is a part of others, or of none, and nobody is told of it.
    internal: bool,
    /// Bytes that had arrived at the last sample.
    pub sampled_bytes: u64,
    /// When something was last delivered in order, and the longest time without; kept if there are failures.
    progress: Time,
    stall: Option<Span>,
    /// Apart, since few runs ask for it.
    waits: Option<Box<PacketWaits>>,
}

impl Flow {
    /// Whether nobody is told of it.
    pub fn is_internal(&self) -> bool {
        self.internal
    }

    /// How long its packets waited so far, if that is asked for.
    pub fn waits(&self) -> Option<PacketWaits> {
        self.waits.as_deref().copied()
    }

    /// Something is delivered in order now, or the run ends.
    fn note_progress(&mut self, now: Time, failures: &FailureState) {
        if failures.touched(self.progress) {
            self.stall = self.stall.max(Some(now.since(self.progress)));
        }
        self.progress = now;
    }
}

/// The bytes that a flow which is over had delivered since its last sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LastBytes {
    /// The flow, by the caller's id, and its traffic.
    pub id: u64,
    pub traffic: u16,
    pub bytes: u64,
}

/// All flows of a run.
#[derive(Debug, Default)]
pub(crate) struct Flows {
    all: Vec<Flow>,
    slots: SlotPool,
    /// What became of those that are complete.
    pub ended: Vec<FlowEnd>,
    /// Those that are sampled.
    pub sampled: Vec<u32>,
    /// Of flows that ended since the last sample of goodput, the part of the interval that nothing else will count. Kept
    /// if goodput is sampled.
    pub last_bytes: Vec<LastBytes>,
    pub keeps_last_bytes: bool,
    /// It is asked for how long packets wait.
    pub keeps_waits: bool,
    /// A flow with a deadline has started.
    pub deadlines: bool,
}

impl std::ops::Index<u32> for Flows {
    type Output = Flow;

    #[inline]
    fn index(&self, flow: u32) -> &Flow {
        &self.all[flow as usize]
    }
}

impl std::ops::IndexMut<u32> for Flows {
    #[inline]
    fn index_mut(&mut self, flow: u32) -> &mut Flow {
        &mut self.all[flow as usize]
    }
}

impl Flows {
    /// Takes up a flow that `connections` are to carry.
    pub fn start(&mut self, now: Time, start: FlowStart, connections: u32, sampled: bool) -> u32 {
        let place = self.slots.take();
        self.deadlines |= start.deadline.is_some();
        let flow = Flow {
            start,
            ideal: None,
            end: None,
            delivered: 0,
            connections: Vec::with_capacity(connections as usize),
            open: connections,
            ended: None,
            interfaces: 0,
            sampled,
            internal: false,
            sampled_bytes: 0,
            progress: now,
            stall: None,
            waits: self.keeps_waits.then(Box::default),
        };
        put(&mut self.all, place, flow);
        if sampled {
            self.sampled.push(place);
        }
        place
    }

    /// Takes up a flow of which nobody is told: it stands for a two-way connection that others use.
    pub fn start_internal(&mut self, now: Time, start: FlowStart) -> u32 {
        let place = self.start(now, start, 2, false);
        self.all[place as usize].internal = true;
        place
    }

    /// The receiver of a flow has `received` bytes in order. Says whether that completes it.
    #[inline]
    pub fn deliver(&mut self, now: Time, flow: u32, received: u64, failures: Option<&FailureState>) -> bool {
        let f = &mut self.all[flow as usize];
        if f.ended.is_some() {
            return false;
        }
        if let Some(failures) = failures
            && received > f.delivered
        {
            f.note_progress(now, failures);
        }
        f.delivered = f.delivered.max(received);
        let complete = f.start.size.is_some_and(|size| received >= size.get());
        if complete {
            f.end = Some(now);
        }
        complete
    }

    /// A packet with data of a flow has arrived that waited so long.
    pub fn add_wait(&mut self, flow: u32, on_way: OnWay) {
        let f = &mut self.all[flow as usize];
        if let Some(waits) = &mut f.waits {
            waits.add(on_way);
            // what comes after the last byte counts, as retransmissions do
            if let Some(at) = f.ended {
                self.ended[at as usize].waits = Some(**waits);
            }
        }
    }

    /// Writes down what became of a flow.
    pub fn report(&mut self, now: Time, flow: u32, switched: Option<Time>, failures: Option<&FailureState>) {
        let f = &mut self.all[flow as usize];
        if f.internal {
            return;
        }
        if let Some(failures) = failures.filter(|_| f.end.is_none()) {
            f.note_progress(now, failures);
        }
        f.ended = Some(self.ended.len() as u32);
        let end = FlowEnd {
            ideal: f.ideal,
            interfaces: f.interfaces,
            switched,
            stall: f.stall,
            waits: f.waits(),
            ..FlowEnd::new(f.start, f.end, f.delivered)
        };
        if f.sampled {
            let at = self.sampled.iter().position(|&s| s == flow).expect("a sampled flow is listed");
            self.sampled.remove(at);
            let bytes = f.delivered.saturating_sub(f.sampled_bytes);
            if self.keeps_last_bytes && bytes > 0 {
                self.last_bytes.push(LastBytes { id: f.start.id, traffic: f.start.traffic, bytes });
            }
        }
        self.ended.push(end);
    }

    /// The record of a flow, once there is one.
    pub fn record(&mut self, flow: u32) -> Option<&mut FlowEnd> {
        self.all[flow as usize].ended.map(|at| &mut self.ended[at as usize])
    }

    /// A flow that could not be opened never was.
    pub fn cancel(&mut self, flow: u32) {
        self.all[flow as usize].connections = Vec::new();
        self.sampled.retain(|&sampled| sampled != flow);
        self.slots.give(flow);
    }

    /// A connection has been torn down. All of a flow's connections go together.
    pub fn tear_down(&mut self, flow: u32, connection: u32) {
        let f = &mut self.all[flow as usize];
        f.open -= 1;
        f.connections.retain(|&c| c != connection);
        if f.open == 0 {
            f.connections = Vec::new();
            self.slots.give(flow);
        }
    }

    /// All places of flows; those without connections are free, or of flows that are over.
    pub fn iter(&self) -> impl Iterator<Item = &Flow> {
        self.all.iter()
    }

    /// The flow `id`, if it has started and one is told of it, and its number among those of its traffic, in order of
    /// their starts.
    pub fn started(&self, id: u64) -> Option<(FlowStart, u64)> {
        let open = self.unfinished().into_iter().map(|flow| &self[flow]).filter(|flow| !flow.internal);
        let all = || open.clone().map(|flow| flow.start).chain(self.ended.iter().map(|flow| flow.start));
        let start = all().find(|start| start.id == id)?;
        let of_traffic = all().filter(|other| other.traffic == start.traffic);
        // a flow that is complete may have connections still
        let before: BTreeSet<(Time, u64)> = of_traffic.map(|other| (other.time, other.id)).collect();
        Some((start, before.range(..(start.time, start.id)).count() as u64))
    }

    /// How many have a place: those that have not ended, and those whose connections are not torn down.
    pub fn open(&self) -> usize {
        self.all.len() - self.slots.free.len()
    }

    /// Flows that still have connections.
    pub fn unfinished(&self) -> Vec<u32> {
        (0..self.all.len() as u32).filter(|&flow| !self.all[flow as usize].connections.is_empty()).collect()
    }
}
