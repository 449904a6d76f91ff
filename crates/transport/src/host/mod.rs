//! What a host's processor does for each frame, and what that costs.
//!
//! A host without a model takes no time. One with a model has, per interface, a card with receive queues, and cores
//! that do one step of work at a time. The way of a frame that arrives (Linux 6.12, `net/core/dev.c`):
//!
//! 1. The flow's hash picks a queue (RSS), whose ring holds `ring` frames; what finds it full is dropped.
//! 2. The card interrupts the queue's core `coalesce_time` after the first waiting frame or at `coalesce_frames` of
//!    them, whichever comes first (`ethtool -C`, `include/uapi/linux/ethtool.h: struct ethtool_coalesce`), and then not
//!    again until the core has emptied the ring (NAPI).
//! 3. The core polls the queue: `budget` frames at most, then other queues have their turn. After `softirq_budget`
//!    frames or `softirq_time` it sends what else waits to be sent before it goes on (`net_rx_action`).
//! 4. GRO merges what follows in sequence within a poll (`net/ipv4/tcp_offload.c: tcp_gro_receive`).
//! 5. RPS hands the merged segment to the backlog of the core that the flow's hash picks, after an interrupt between
//!    cores if that was not yet at work on it.
//! 6. The core takes the segment through the protocol; when that is done the connection sees it, and answers it once.
//!
//! What a connection sends waits until its core has done the work for it: at once if the core was at work for this
//! connection, otherwise when the core's softirq ends. Frames sent at one instant by one connection are one burst of
//! at most 64 KB if the card segments.
//!
//! Programs have work for cores, too ([`Hosts::add_task`]). It waits until a core has no frame to take or to send, and an
//! interrupt puts it off: under enough frames programs stand still (receive livelock: Mogul and Ramakrishnan, *Eliminating
//! receive livelock in an interrupt-driven kernel*, ACM TOCS 15(3), 1997). What a program writes when its work is done,
//! its core sends at once.
//!
//! **Order of events.** A core has one event: the end of its step. A queue has one: its coalescing timer. Both are of
//! the last class, so that a step that ends at an instant sees all else of that instant; among them the order is that
//! of [`Unit`]. A step takes 1 ps at least, whatever it costs.
//!
//! **Left out:** adaptive coalescing and IRQ moderation across queues; pre-emption within a step (an interrupt waits
//! for the step under way, unless it is a program's); `ksoftirqd`, which would share a flooded core with programs, and the
//! scheduler: programs of a core take turns task by task; copies of data (put them in the costs), RFS;
//! the sixteen-frame batches in which drivers refill rings and the batches of eight in which unmerged frames go up;
//! a merged segment that stays for the next poll because the budget ran out (here every poll ends with a flush);
//! transmit queues and their completions: the port of the interface is the only one, and a sender's small-queue limit
//! counts what has reached it, not what waits for the core; caches, memory bandwidth, PCIe. RSS and RPS take a hash of
//! our own and not Toeplitz over addresses.

use std::collections::BTreeMap;

use headway_engine::{EventClass, EventQueue, Source, mix64};
use headway_fabric::{Endpoint, Graph, LinkId, NodeId};
use headway_units::{Span, Time};

use crate::endpoint::{Side, side};
use crate::segment::Frame;
use crate::timer::{Fired, Timer};

mod core;
mod gro;
mod pool;

use self::core::{Core, Interrupt};
#[cfg(test)]
mod tests;

pub(crate) use self::core::{Done, Task, Whose};
pub(crate) use self::pool::Chain;
use self::pool::Pool;

/// What work costs a core.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Costs {
    /// An interrupt of the card.
    pub interrupt: Span,
    /// A frame taken from a ring: driver, memory, GRO.
    pub packet: Span,
    /// A byte of a frame, received or sent.
    pub byte: Span,
    /// A segment, merged or not, on its way up through IP and TCP.
    pub segment: Span,
    /// An interrupt by another core.
    pub ipi: Span,
    /// A burst on its way down, an acknowledgement being one.
    pub burst: Span,
}

/// How a host receives and sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostModel {
    /// Cores: 1 to 64.
    pub cores: u32,
    /// Receive queues of each interface. Queue `q` of interface `i` interrupts core `(i·queues + q) mod cores`.
    pub queues: u32,
    /// Frames that a ring holds, the one that is being taken included.
    pub ring: u32,
    /// The longest time from a waiting frame to the interrupt (`rx-usecs`). Zero: frames alone count.
    pub coalesce_time: Span,
    /// So many waiting frames interrupt at once (`rx-frames`). Zero: time alone counts.
    pub coalesce_frames: u32,
    /// Frames of a queue that are taken in one poll.
    pub budget: u32,
    /// Frames after which the softirq yields (`net.core.netdev_budget`).
    pub softirq_budget: u32,
    /// Time after which it does (`net.core.netdev_budget_usecs`).
    pub softirq_time: Span,
    /// Segments that follow each other are merged.
    pub gro: bool,
    /// Protocol work is spread over all cores.
    pub rps: bool,
    /// Segments that wait for a core at most (`net.core.netdev_max_backlog`).
    pub backlog: u32,
    /// The card segments: a burst is one piece of work.
    pub segmentation: bool,
    /// What it costs.
    pub costs: Costs,
}

impl Default for HostModel {
    /// One core and one queue that interrupts for every frame, Linux' limits, and no costs.
    fn default() -> HostModel {
        HostModel {
            cores: 1,
            queues: 1,
            ring: 512,
            coalesce_time: Span::ZERO,
            coalesce_frames: 1,
            budget: 64,
            softirq_budget: 300,
            softirq_time: Span::from_millis(2),
            gro: true,
            rps: false,
            backlog: 1000,
            segmentation: true,
            costs: Costs::default(),
        }
    }
}

/// What a host with a model has done.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HostCounters {
    /// Interrupts of cards.
    pub interrupts: u64,
    /// Interrupts between cores.
    pub ipis: u64,
    /// Polls of queues and backlogs.
    pub polls: u64,
    /// Times that the softirq yielded with its budget or time used up (`time_squeeze`).
    pub squeezes: u64,
    /// Frames taken from rings.
    pub packets: u64,
    /// Segments taken through the protocol.
    pub segments: u64,
    /// Bursts sent.
    pub bursts: u64,
    /// Pieces of programs' work done.
    pub tasks: u64,
    /// Frames that found a ring full.
    pub ring_drops: u64,
    /// Frames in segments that found a backlog full.
    pub backlog_drops: u64,
    /// Per core the time it worked, with all of the step under way.
    pub busy: Vec<Span>,
}

/// Whose an event of this class is. Cores and queues count over all hosts, in order of [`Hosts::add`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    /// The end of a core's step.
    Core(u32),
    /// The coalescing timer of a queue.
    Queue(u32),
}

impl Unit {
    fn source(self) -> Source {
        Source::new(
            EventClass::Host,
            match self {
                Unit::Core(core) => 2 * core,
                Unit::Queue(queue) => 2 * queue + 1,
            },
        )
    }

    fn of(entity: u32) -> Unit {
        if entity.is_multiple_of(2) { Unit::Core(entity / 2) } else { Unit::Queue(entity / 2) }
    }
}

#[derive(Debug)]
struct Host {
    model: HostModel,
    node: NodeId,
    first_core: u32,
    counters: HostCounters,
}

#[derive(Debug, Clone, Copy)]
struct Interface {
    host: u32,
    first_queue: u32,
}

/// A frame in a ring.
#[derive(Debug)]
struct Received {
    since: Time,
    end: u32,
    frame: Frame,
}

#[derive(Debug)]
struct Queue {
    host: u32,
    core: u32,
    ring: std::collections::VecDeque<Received>,
    /// Interrupts are off: one is under way, or the core polls.
    masked: bool,
    timer: Timer,
}

const NO_INTERFACE: u32 = u32::MAX;

/// All hosts with a model.
#[derive(Debug, Default)]
pub(crate) struct Hosts {
    models: Vec<Host>,
    by_node: BTreeMap<NodeId, u32>,
    /// Per link that arrives at a host with a model: its interface. Empty if there are none.
    arriving: Vec<u32>,
    interfaces: Vec<Interface>,
    queues: Vec<Queue>,
    cores: Vec<Core>,
    /// Per endpoint the hash of what is sent to it.
    hashes: Vec<u32>,
    frames: Pool,
    /// Frames that backlogs had no room for, until the caller has taken them.
    lost: Vec<Chain>,
    /// Frames that wait to be received or sent.
    waiting: u64,
    /// The core whose work is being given to connections.
    current: Option<u32>,
    /// The core at which a program acts: what it sends, this core sends.
    pub acting: Option<u32>,
}

/// The hash of the card: the switches choose by the same hash of the flow, and what they choose must not decide what the
/// card does.
fn mix(hash: u64) -> u32 {
    (mix64(hash) >> 32) as u32
}

impl Hosts {
    /// Whether there are any.
    #[inline]
    pub fn any(&self) -> bool {
        !self.arriving.is_empty()
    }

    /// The interface at the end of `link`, if its host has a model.
    #[inline]
    pub fn interface(&self, link: u32) -> Option<u32> {
        self.arriving.get(link as usize).copied().filter(|&interface| interface != NO_INTERFACE)
    }

    /// Frames that wait in rings, backlogs and for cores.
    pub fn waiting(&self) -> u64 {
        self.waiting
    }

    /// Gives `node` a model.
    ///
    /// # Panics
    /// If it has one, or the model makes no sense: see the fields of [`HostModel`].
    pub fn add(&mut self, graph: &Graph, node: NodeId, model: HostModel) {
        assert!((1..=64).contains(&model.cores) && model.queues > 0 && model.ring > 0, "{model:?}");
        assert!(model.budget > 0 && model.softirq_budget > 0 && model.backlog > 0, "{model:?}");
        // with neither there would be no interrupts
        assert!(!model.coalesce_time.is_zero() || model.coalesce_frames > 0, "{model:?}");
        assert!(!self.by_node.contains_key(&node), "a host has one model");
        self.arriving.resize(graph.links().len(), NO_INTERFACE);
        let (host, first_core) = (self.models.len() as u32, self.cores.len() as u32);
        for (nth, link) in graph.interfaces(node).iter().enumerate() {
            self.arriving[link.reverse().index()] = self.interfaces.len() as u32;
            let first_queue = self.queues.len() as u32;
            self.interfaces.push(Interface { host, first_queue });
            for q in 0..model.queues {
                let core = first_core + (nth as u32 * model.queues + q) % model.cores;
                let ring = std::collections::VecDeque::new();
                self.queues.push(Queue { host, core, ring, masked: false, timer: Timer::OFF });
            }
        }
        self.cores.extend((0..model.cores).map(|_| Core::new(host)));
        let counters = HostCounters { busy: vec![Span::ZERO; model.cores as usize], ..HostCounters::default() };
        self.by_node.insert(node, host);
        self.models.push(Host { model, node, first_core, counters });
    }

    /// What `node` has done, if it has a model.
    pub fn counters(&self, node: NodeId) -> Option<&HostCounters> {
        self.models.iter().find(|host| host.node == node).map(|host| &host.counters)
    }

    /// Frames dropped by rings and by backlogs, over all hosts.
    pub fn drops(&self) -> (u64, u64) {
        let each = self.models.iter().map(|host| (host.counters.ring_drops, host.counters.backlog_drops));
        each.fold((0, 0), |sum, own| (sum.0 + own.0, sum.1 + own.1))
    }

    /// Sets the hash of what is sent to `end`.
    pub fn set_hash(&mut self, end: Endpoint, hash: u64) {
        let at = end.0 as usize;
        if at >= self.hashes.len() {
            self.hashes.resize(at + 1, 0);
        }
        self.hashes[at] = mix(hash);
    }

    /// The queue for what is sent to `end` by way of `interface`: an indirection table of 128 entries, filled in turn
    /// (`include/linux/ethtool.h: ethtool_rxfh_indir_default`).
    fn queue_of(&self, end: u32, interface: u32) -> u32 {
        let Interface { host, first_queue } = self.interfaces[interface as usize];
        first_queue + (self.hashes[end as usize] & 127) % self.models[host as usize].model.queues
    }

    /// The core that RPS picks: `include/linux/kernel.h: reciprocal_scale`.
    fn steered(&self, end: u32, host: u32) -> u32 {
        let Host { model, first_core, .. } = &self.models[host as usize];
        first_core + ((u64::from(self.hashes[end as usize]) * u64::from(model.cores)) >> 32) as u32
    }

    /// A frame arrives at the card.
    ///
    /// # Errors
    /// Gives the frame back if its ring is full.
    pub fn receive(
        &mut self,
        now: Time,
        interface: u32,
        end: Endpoint,
        frame: Frame,
        events: &mut EventQueue,
    ) -> Result<(), Frame> {
        let at = self.queue_of(end.0, interface);
        let queue = &mut self.queues[at as usize];
        let Host { model, counters, .. } = &mut self.models[queue.host as usize];
        if queue.ring.len() >= model.ring as usize {
            counters.ring_drops += 1;
            return Err(frame);
        }
        queue.ring.push_back(Received { since: now, end: end.0, frame });
        self.waiting += 1;
        if !queue.masked {
            self.consider(now, at, events);
        }
        Ok(())
    }

    /// Interrupts for what waits in a ring, now or when it is time.
    fn consider(&mut self, now: Time, at: u32, events: &mut EventQueue) {
        let queue = &mut self.queues[at as usize];
        let model = &self.models[queue.host as usize].model;
        let Some(first) = queue.ring.front() else { return };
        let due = if model.coalesce_frames > 0 && queue.ring.len() >= model.coalesce_frames as usize {
            now
        } else if model.coalesce_time.is_zero() {
            return;
        } else {
            first.since + model.coalesce_time
        };
        if due <= now {
            self.interrupt(now, at, events);
        } else {
            queue.timer.set(due, events, Unit::Queue(at).source());
        }
    }

    /// The card interrupts the core of a queue.
    fn interrupt(&mut self, now: Time, at: u32, events: &mut EventQueue) {
        let queue = &mut self.queues[at as usize];
        queue.masked = true;
        queue.timer.cancel();
        self.models[queue.host as usize].counters.interrupts += 1;
        let core = queue.core;
        self.cores[core as usize].interrupts.push_back(Interrupt::Card(at));
        self.wake(now, core, events);
    }

    /// The endpoint whose peer is `to` sends a frame on `interface`; it leaves when its core has done the work.
    pub fn send(&mut self, now: Time, interface: u32, to: Endpoint, frame: Frame, events: &mut EventQueue) {
        let host = self.interfaces[interface as usize].host;
        let own = to.0 ^ 1; // the other half of the subflow
        let acting = self.acting.filter(|&core| self.cores[core as usize].host == host);
        let core = if let Some(core) = acting {
            core
        } else if self.models[host as usize].model.rps {
            self.steered(own, host)
        } else {
            self.queues[self.queue_of(own, interface) as usize].core
        };
        self.waiting += 1;
        self.cores[core as usize].send(now, core, to, frame, self.current == Some(core), events);
    }

    /// Handles the event of `entity`, which must be the earliest. If it ends a core's step, returns the core and what
    /// it has done; the caller acts on that and then calls [`proceed`](Self::proceed).
    pub fn fire(&mut self, now: Time, entity: u32, sequence: u32, events: &mut EventQueue) -> Option<(u32, Done)> {
        match Unit::of(entity) {
            Unit::Core(core) if !self.ends_step(core, sequence) => {
                events.pop();
                None
            }
            Unit::Core(core) => {
                events.pop();
                self.current = Some(core);
                Some((core, self.finish(core)))
            }
            Unit::Queue(queue) => {
                if self.queues[queue as usize].timer.fire(now, sequence, events) == Fired::Due {
                    self.interrupt(now, queue, events);
                }
                None
            }
        }
    }

    /// Takes the next frame of a chain, with its endpoint.
    pub fn take(&mut self, chain: &mut Chain) -> Option<(Endpoint, Frame)> {
        let frame = self.frames.take(chain)?;
        self.waiting -= 1;
        Some((Endpoint(chain.end), frame))
    }

    /// Takes the next frame that `core` sends.
    pub fn leave(&mut self, core: u32) -> (Endpoint, Frame) {
        self.waiting -= 1;
        self.cores[core as usize].leave()
    }

    /// Segments that a backlog had no room for.
    pub fn lost(&mut self) -> Option<Chain> {
        self.lost.pop()
    }
}

/// Whether segments to `end` may be merged with others: those that carry data.
fn carries_data(end: u32, frame: &Frame) -> bool {
    side(Endpoint(end)).1 == Side::Receiver && frame.body.amount > 0
}

/// The interface that a route's first link leaves.
pub(crate) fn arriving(first: LinkId) -> u32 {
    first.reverse().0
}
