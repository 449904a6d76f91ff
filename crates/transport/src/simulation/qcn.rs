//! QCN: queues of switches are sampled, and cards hear of it.

use headway_engine::Streams;
use headway_units::Time;

use super::Simulation;
use crate::endpoint::{Tenant, number};
use crate::environment::Environment;
use crate::qcn::{Qcn, QcnModel};
use crate::segment::Frame;

impl Simulation {
    /// Switches sample their queues and tell cards, which slow flows down: queue pairs of RoCE, and what passes
    /// [cards that pace](Simulation::pace_host). Other flows of TCP and datagrams have nothing that listens. Chance comes from
    /// `streams`.
    ///
    /// # Panics
    /// If ports are not [lossless](Simulation::make_lossless), or the model makes no sense: see its fields.
    pub fn set_qcn(&mut self, model: QcnModel, streams: Streams) {
        let env = &mut self.env;
        let qcn = Qcn::new(model, streams);
        env.net.fabric.sample_queues(&env.graph, model.priorities, model.point.sample_base);
        env.net.cards.set_reaction(model.reaction);
        self.roce.set_reaction(model.reaction);
        self.qcn = Some(Box::new(qcn));
    }

    /// Feedback frames that switches have sent.
    pub fn feedback_frames(&self) -> u64 {
        self.qcn.as_ref().map_or(0, |qcn| qcn.sent())
    }

    /// Queues have been sampled.
    pub(super) fn on_notice(&mut self) {
        self.env.net.queue.pop();
        let roce = &self.roce;
        let generation = |flow, env: &Environment| match Tenant::of(flow) {
            Tenant::Roce => roce.generation(number(flow)),
            Tenant::Tcp | Tenant::TwoWayTcp | Tenant::Datagram => env.net.cards.generation(flow),
            Tenant::External | Tenant::Gap | Tenant::MacControl | Tenant::Qcn => 0,
        };
        self.qcn.as_mut().expect("sampled queues mean QCN").on_samples(&mut self.env, generation);
    }

    /// A feedback frame has reached the card of a source.
    pub(super) fn on_feedback(&mut self, now: Time, frame: &Frame) {
        let told = Qcn::read(frame, &self.env);
        let line = self.env.graph.link(told.over).wire.rate;
        match Tenant::of(told.flow) {
            Tenant::Roce => self.roce.on_feedback(now, &told, line),
            Tenant::Tcp | Tenant::TwoWayTcp | Tenant::Datagram => {
                self.env.net.cards.on_feedback(now, &told, line);
            }
            // nobody slows these down
            Tenant::External | Tenant::Gap | Tenant::MacControl | Tenant::Qcn => {}
        }
        self.feedback_gone(frame);
    }

    /// A feedback frame has left the fabric.
    pub(super) fn feedback_gone(&mut self, frame: &Frame) {
        self.qcn.as_mut().expect("feedback means QCN").frame_gone(frame, &mut self.env);
    }
}
