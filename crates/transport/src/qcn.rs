//! QCN (IEEE 802.1Qau): switches tell cards which of their flows fill a queue, and cards slow those down.
//!
//! Queues of switches are sampled ([`Fabric::sample_queues`](headway_fabric::Fabric::sample_queues)). What a sample means
//! is the congestion point's ([`CongestionPoint`]), and so is how far the next one is. If its source is to be told, a
//! feedback frame goes back over the links over which the sampled frame came. The card there has a reaction point for the
//! flow: of a queue pair of RoCE in its rate, of TCP and datagrams in the card that paces.
//!
//! Left out: tags that name flows (a feedback frame names its flow in any case), defences at the edge of a domain, and
//! acknowledgements, which no reaction point slows down.

use std::collections::BTreeMap;

use headway_control::qcn::{CongestionParameters, CongestionPoint, ReactionParameters, Sampled};
use headway_engine::{Stream, Streams};
use headway_fabric::{Endpoint, LinkId, Packet, QueueSample};

use crate::endpoint::{Tenant, number};
use crate::environment::Environment;
use crate::segment::{Frame, NO_EXTRA, Segment};

/// QCN on all switches and cards.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QcnModel {
    /// Congestion points: one for each port of a switch and priority.
    pub point: CongestionParameters,
    /// Reaction points: one for each flow that was told of congestion.
    pub reaction: ReactionParameters,
    /// The priorities that are sampled, bit by bit.
    pub priorities: u8,
    /// The priority of feedback frames, 0 to 7.
    pub feedback_priority: u8,
}

impl QcnModel {
    /// Bytes of a feedback frame: addresses, VLAN tag and type 18, the message 24, the first 64 bytes of what was sampled,
    /// checksum 4 (802.1Q §33.3, §33.4).
    pub const FEEDBACK: u16 = 18 + 24 + 64 + 4;
}

/// The congestion points, and the feedback frames on their way.
#[derive(Debug)]
pub(crate) struct Qcn {
    model: QcnModel,
    streams: Streams,
    /// By port and priority; those that have been sampled.
    points: BTreeMap<(u32, u8), (CongestionPoint, Stream)>,
    sent: u64,
    gone: u64,
}

/// What a feedback frame says.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Told {
    /// Where the frames of the flow go.
    pub flow: Endpoint,
    /// Which of the flows that have had that endpoint one after another.
    pub generation: u32,
    /// The quantised feedback.
    pub code: u8,
    /// The link over which they leave their host.
    pub over: LinkId,
}

impl Qcn {
    pub fn new(model: QcnModel, streams: Streams) -> Qcn {
        assert!(model.feedback_priority < 8 && model.priorities != 0, "{model:?}");
        Qcn { model, streams, points: BTreeMap::new(), sent: 0, gone: 0 }
    }

    /// Feedback frames on their way.
    pub fn in_flight(&self) -> u64 {
        self.sent - self.gone
    }

    /// Handles what was sampled: says when the next samples are due, and sends feedback. `generation` tells flows apart that
    /// have an endpoint one after another: feedback may come when the flow is over.
    pub fn on_samples(&mut self, env: &mut Environment, generation: impl Fn(Endpoint, &Environment) -> u32) {
        for sample in env.net.fabric.samples() {
            let QueueSample { port, priority, queue, .. } = sample;
            let Qcn { model, streams, points, .. } = self;
            let (point, stream) = points.entry((port.0, priority)).or_insert_with(|| {
                let name = format!("qcn/{}/{priority}", port.0);
                (CongestionPoint::new(model.point), streams.stream(&name))
            });
            let Sampled { feedback, next } = point.sample(queue, stream.unit());
            env.net.fabric.sample_after(port, priority, next);
            if let Some(feedback) = feedback {
                let which = generation(sample.end, env);
                self.send(&sample, (feedback.code, which), env);
            }
        }
    }

    /// Tells the source of a sampled frame, over the links over which that came.
    fn send(&mut self, sample: &QueueSample, (code, generation): (u8, u32), env: &mut Environment) {
        let back: Vec<LinkId> = sample.came_over.iter().rev().map(|link| link.reverse()).collect();
        let Some(last) = back.last() else { return };
        let hop = env.net.fabric.routes.insert(&back, Tenant::Qcn.endpoint(last.reverse().0));
        let body = Segment { number: sample.end.0, data_number: hop, amount: generation, extra: NO_EXTRA };
        let frame = Packet { hop, size: QcnModel::FEEDBACK, tos: self.model.feedback_priority << 5, tag: code, body };
        self.sent += 1;
        if env.net.fabric.send(&mut env.net.queue, env.now, frame).is_err() {
            self.frame_gone(&frame, env);
        }
    }

    /// A feedback frame has left the fabric, whatever became of it: its route goes with it.
    pub fn frame_gone(&mut self, frame: &Frame, env: &mut Environment) {
        self.gone += 1;
        env.net.fabric.routes.remove(frame.body.data_number);
    }

    /// What a feedback frame says that has arrived.
    pub fn read(frame: &Frame, env: &Environment) -> Told {
        let over = LinkId(number(env.net.fabric.routes.end(frame.body.data_number)));
        Told { flow: Endpoint(frame.body.number), generation: frame.body.amount, code: frame.tag, over }
    }

    /// Feedback frames sent so far.
    pub fn sent(&self) -> u64 {
        self.sent
    }
}
