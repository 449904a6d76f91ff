//! The processors of the relays whose work takes time.

use std::collections::BTreeMap;

use headway_fabric::NodeId;
use headway_units::Span;

use super::plan::{Relay, RelayCost};
use super::processor::{Job, Processor, Task};
use super::session::Way;
use super::{Relays, Rest};

/// All processors.
#[derive(Debug, Default)]
pub(super) struct Work {
    processors: Vec<(NodeId, RelayCost, Processor)>,
    by_host: BTreeMap<NodeId, u32>,
}

impl Work {
    /// The hosts of `relay` have processors from now on.
    pub fn add(&mut self, relay: &Relay) {
        for &host in &relay.hosts {
            let next = self.processors.len() as u32;
            let number = *self.by_host.entry(host).or_insert(next);
            if number == next {
                self.processors.push((host, relay.cost, Processor::default()));
            }
            assert_eq!(self.processors[number as usize].1, relay.cost, "a host has one processor");
        }
    }

    /// Whether work of this host takes time.
    #[inline]
    pub fn takes(&self, host: NodeId) -> bool {
        !self.by_host.is_empty() && self.by_host.contains_key(&host)
    }

    fn number(&self, host: NodeId) -> usize {
        self.by_host[&host] as usize
    }

    pub fn add_job(&mut self, host: NodeId, job: Job) {
        let number = self.number(host);
        self.processors[number].2.add(job);
    }

    /// Work of `host` on a session at `stop` is another session's from now on.
    pub fn hand_over(&mut self, (host, stop): (NodeId, usize), from: (u32, u32), to: (u32, u32)) {
        if let Some(&number) = self.by_host.get(&host) {
            self.processors[number as usize].2.hand_over(stop, from, to);
        }
    }

    /// What waits and is under way at a host is lost.
    pub fn clear(&mut self, host: NodeId) {
        if let Some(&number) = self.by_host.get(&host) {
            self.processors[number as usize].2.clear();
        }
    }
}

impl Relays {
    /// The processor of a host begins what comes next, if it is idle. What takes no time is done at once.
    pub(super) fn start_work(&mut self, host: NodeId, rest: &mut Rest<'_>) {
        let number = self.work.number(host);
        while self.work.processors[number].2.is_idle() {
            let (_, cost, processor) = &mut self.work.processors[number];
            let cost = *cost;
            let Some(job) = processor.next() else { return };
            let Some(bytes) = self.piece(job, rest) else { continue };
            let span = match job.task {
                Task::Admit => cost.connection,
                Task::Move(_) => cost.byte.saturating_mul(bytes),
            };
            if span == Span::ZERO {
                self.finish_work(job, bytes, rest);
            } else {
                let processor = &mut self.work.processors[number].2;
                processor.begin(rest.now, number as u32, (job, bytes), span, &mut rest.env.net.queue);
            }
        }
    }

    /// The bytes that a piece of work moves; none if there is nothing to do any more.
    fn piece(&mut self, job: Job, rest: &mut Rest<'_>) -> Option<u64> {
        let (place, serial) = job.session;
        let session = &mut self.sessions[place as usize];
        if session.serial != serial {
            return None;
        }
        let Task::Move(way) = job.task else { return Some(0) };
        let bytes = self.next_piece(place, job.stop, way, rest);
        if bytes.is_none() {
            self.sessions[place as usize].waiting[job.stop - 1][usize::from(way == Way::Back)] = false;
        }
        bytes
    }

    /// A processor is through with a piece of work.
    pub fn on_work(&mut self, number: u32, sequence: u32, rest: &mut Rest<'_>) {
        rest.env.net.queue.pop();
        let (host, _, processor) = &mut self.work.processors[number as usize];
        let host = *host;
        if let Some((job, bytes)) = processor.end(sequence) {
            self.finish_work(job, bytes, rest);
        }
        self.start_work(host, rest);
    }

    /// Does what a piece of work is about.
    fn finish_work(&mut self, job: Job, bytes: u64, rest: &mut Rest<'_>) {
        let (place, serial) = job.session;
        if self.sessions[place as usize].serial != serial {
            return;
        }
        match job.task {
            Task::Admit => self.admit(place, job.stop, rest),
            Task::Move(way) => {
                let waits = usize::from(way == Way::Back);
                self.sessions[place as usize].waiting[job.stop - 1][waits] = false;
                self.move_now(place, job.stop, way, bytes, rest);
                // what has come meanwhile goes to the end of the line
                if self.sessions[place as usize].serial == serial {
                    self.line_up(place, job.stop, way, rest);
                }
            }
        }
    }
}
