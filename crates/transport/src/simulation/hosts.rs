//! Hosts with a model: frames reach connections, and leave, when a core has done the work.

use headway_engine::Streams;
use headway_fabric::{Endpoint, NodeId};
use headway_units::{Span, Time};

use super::Simulation;
use crate::application::Application;
use crate::endpoint::{Side, side};
use crate::host::{Chain, Done, HostCounters, HostModel, Whose};
use crate::segment::Frame;
use crate::tcp::receiver::Answer;

impl Simulation {
    /// Gives `host` a model of its cards and cores; hosts without one take no time.
    ///
    /// # Panics
    /// If it has one already, a flow has started, or the model makes no sense: see the fields of [`HostModel`].
    pub fn model_host(&mut self, host: NodeId, model: HostModel) {
        assert!(self.tcp.is_unused(), "hosts get their models before flows start");
        self.env.net.hosts.add(&self.env.graph, host, model);
        self.env.net.slow_path = true;
    }

    /// Every frame that `host` sends takes a random time up to `most` before it is on the line, so that what one host
    /// sends does not arrive in step with what others do (Floyd and Jacobson 1992). The numbers are those of its
    /// interfaces' links in `streams`: the same whatever policy the flows have.
    ///
    /// # Panics
    /// If a flow has started.
    pub fn process_randomly(&mut self, host: NodeId, most: Span, streams: Streams) {
        assert!(self.tcp.is_unused(), "hosts process randomly before flows start");
        for &link in self.env.graph.interfaces(host) {
            self.env.net.fabric.process_randomly(link, most, streams);
        }
    }

    /// What `host` has done so far, if it has a model.
    pub fn host(&self, host: NodeId) -> Option<&HostCounters> {
        self.env.net.hosts.counters(host)
    }

    /// A frame arrives at the card of a host with a model.
    pub(super) fn on_card(&mut self, now: Time, interface: u32, end: Endpoint, frame: Frame) {
        if let Err(frame) = self.env.net.hosts.receive(now, interface, end, frame, &mut self.env.net.queue) {
            self.on_discard(end, &frame);
        }
    }

    /// A core or a card of a host with a model.
    pub(super) fn on_host(&mut self, now: Time, entity: u32, sequence: u32, application: &mut dyn Application) {
        let Some((core, done)) = self.env.net.hosts.fire(now, entity, sequence, &mut self.env.net.queue) else {
            return;
        };
        match done {
            Done::Inside => {}
            Done::Segment(segment) => self.on_merged(now, segment),
            Done::Sent(frames) => {
                for _ in 0..frames {
                    let (to, frame) = self.env.net.hosts.leave(core);
                    self.leave_host(now, to, frame);
                }
            }
            Done::Task(task) => {
                self.env.net.hosts.acting = Some(core);
                match task.whose {
                    Whose::Server => self.servers.worked(now, task.tag, &mut self.tcp, &mut self.env),
                    Whose::Program => {
                        application.worked(now, task.tag, &mut self.sockets());
                        self.attend_later(now, application);
                    }
                }
                self.env.net.hosts.acting = None;
            }
        }
        self.env.net.hosts.proceed(now, core, &mut self.env.net.queue);
        while let Some(mut lost) = self.env.net.hosts.lost() {
            while let Some((end, frame)) = self.env.net.hosts.take(&mut lost) {
                self.on_discard(end, &frame);
            }
        }
    }

    /// Gives a connection a segment, which may be several merged: it answers them with one acknowledgement at most.
    fn on_merged(&mut self, now: Time, mut segment: Chain) {
        let (subflow, half) = side(Endpoint(segment.end));
        let frames = u64::from(segment.frames);
        self.env.net.delivered += frames;
        let two_way = self.tcp.is_two_way(subflow);
        // At once if any of them asks for that; merged segments carry data, so nothing else can come up.
        let mut answer: Option<Answer> = None;
        let mut done = false;
        while let Some((_, frame)) = self.env.net.hosts.take(&mut segment) {
            match half {
                _ if two_way => self.tcp.on_two_way_frame(now, segment.end, &frame, &mut self.env),
                Side::Sender => self.tcp.on_acknowledgement(now, subflow, &frame, &mut self.env),
                Side::Receiver => {
                    let (next, more) = self.tcp.take_segment(now, subflow, &frame, &mut self.env.net);
                    answer = answer.filter(|&before| before == Answer::Now).or(Some(next));
                    done |= more;
                }
            }
        }
        if let Some(mut answer) = answer {
            // `net/ipv4/tcp_input.c: __tcp_ack_snd_check`: more than one full segment is acknowledged at once.
            if frames > 1 && answer == Answer::Delayed {
                answer = Answer::Now;
            }
            self.tcp.answer_segment(now, subflow, answer, done, &mut self.env);
        }
        for _ in 0..frames {
            self.tcp.frame_gone(segment.end, &mut self.env);
        }
    }
}
