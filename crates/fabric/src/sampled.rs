//! Queues whose frames are sampled: every so many bytes that join one, somebody is told of the frame and of the queue.
//!
//! That is what a congestion point of QCN (IEEE 802.1Qau) needs of a port; what it makes of a sample is its owner's.

use headway_engine::{EventClass, EventQueue, Source};
use headway_units::{Bytes, Time};

use crate::fabric::Fabric;
use crate::graph::{Graph, LinkId};
use crate::packet::Packet;
use crate::queue::PRIORITIES;
use crate::routes::Endpoint;

/// A frame that was sampled when it joined a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueSample {
    /// The port.
    pub port: LinkId,
    /// The priority of the frame, and of the queue.
    pub priority: u8,
    /// Bytes that wait there, the frame's included, without what is being transmitted.
    pub queue: Bytes,
    /// Where the frame goes.
    pub end: Endpoint,
    /// The links over which it has come from its source.
    pub came_over: Vec<LinkId>,
}

/// Bytes until the next sample, by port and priority; those of ports that are not sampled never end.
#[derive(Debug)]
pub(crate) struct Sampler {
    left: Vec<[u64; PRIORITIES]>,
    samples: Vec<QueueSample>,
}

const NEVER: u64 = u64::MAX;

impl<B: Copy> Fabric<B> {
    /// Samples frames of `priorities` (bit by bit) that join queues of switches of `graph`, from which this fabric was made:
    /// the first time after `first` bytes. An event of [`EventClass::Notice`] says that there are samples.
    ///
    /// # Panics
    /// If frames are counted nowhere: ports have no queue for each priority.
    pub fn sample_queues(&mut self, graph: &Graph, priorities: u8, first: Bytes) {
        assert!(self.lossless.is_some(), "queues by priority are sampled");
        let left = graph.links().iter().map(|link| {
            let switch = graph.switches().any(|node| node == link.from);
            std::array::from_fn(|at| if switch && priorities >> at & 1 == 1 { first.get() } else { NEVER })
        });
        self.sampler = Some(Box::new(Sampler { left: left.collect(), samples: Vec::new() }));
    }

    /// A frame has joined the queue of its priority at `port`.
    pub(crate) fn note_joined(&mut self, queue: &mut EventQueue, now: Time, port: u32, packet: &Packet<B>) {
        let Some(sampler) = &mut self.sampler else { return };
        let priority = packet.tos >> 5;
        let left = &mut sampler.left[port as usize][usize::from(priority)];
        if *left == NEVER {
            return;
        }
        *left = left.saturating_sub(u64::from(packet.size));
        if *left > 0 {
            return;
        }
        // until its owner says when the next one is due
        *left = NEVER;
        if sampler.samples.is_empty() {
            queue.push(now, Source::new(EventClass::Notice, 0), 0);
        }
        let bytes = self.ports[port as usize].waiting(priority);
        sampler.samples.push(QueueSample {
            port: LinkId(port),
            priority,
            queue: Bytes::new(bytes),
            end: self.routes.end(packet.hop),
            came_over: self.routes.before(packet.hop),
        });
    }

    /// Takes the samples since the last time.
    pub fn samples(&mut self) -> Vec<QueueSample> {
        self.sampler.as_mut().map_or_else(Vec::new, |sampler| std::mem::take(&mut sampler.samples))
    }

    /// The next frame of a queue is sampled after so many bytes, at least 1.
    ///
    /// # Panics
    /// If the queue is not sampled.
    pub fn sample_after(&mut self, port: LinkId, priority: u8, bytes: Bytes) {
        let sampler = self.sampler.as_mut().expect("queues are sampled");
        sampler.left[port.index()][usize::from(priority)] = bytes.get().clamp(1, NEVER - 1);
    }
}
