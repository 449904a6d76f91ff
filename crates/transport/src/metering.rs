//! Limits on ports of switches, and who sets them.
//!
//! A limit on what comes into a switch is kept at the wire's end, where frames beyond it are dropped, or before the wire,
//! where they wait: a switch that shapes what comes in would have to let frames wait between the wire and its own queues,
//! and the wait is the same on either side of the wire, but for TCP with small queues, which keeps data back. A limit on
//! what goes out is kept by the queue of that port.
//!
//! Left out: what setting a limit costs a switch, and the delay until it is in force.

use headway_control::metering::{Controller, Counters, Reading};
use headway_fabric::{Excess, Fabric, Graph, LinkId, QueueSpec};
use headway_units::{Bytes, Rate, Span, Time};

/// What of a port is limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metered {
    /// Nothing: it is read only.
    Nothing,
    /// What comes in; frames beyond the limit are dropped or wait.
    Into(Excess),
    /// What goes out.
    Out(Excess),
}

/// A port of a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MeteredPort {
    /// The link that goes out of the switch.
    pub out: LinkId,
    /// What of it is limited.
    pub metered: Metered,
}

impl MeteredPort {
    /// The link whose port keeps the limit.
    pub fn keeper(&self) -> Option<LinkId> {
        match self.metered {
            Metered::Nothing => None,
            Metered::Into(_) => Some(self.out.reverse()),
            Metered::Out(_) => Some(self.out),
        }
    }

    /// What a queue of the graph has to be for the limit: [`QueueSpec::Limited`], unless frames are dropped when they
    /// come in.
    pub fn queue(&self) -> Option<(LinkId, Excess)> {
        match self.metered {
            Metered::Into(Excess::Waits) => Some((self.out.reverse(), Excess::Waits)),
            Metered::Out(excess) => Some((self.out, excess)),
            Metered::Nothing | Metered::Into(Excess::Drops) => None,
        }
    }
}

/// A limit that is set at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitChange {
    /// When.
    pub at: Time,
    /// The port, by its place in [`Metering::ports`].
    pub port: usize,
    /// The limit from then on, or none.
    pub limit: Option<Rate>,
}

/// Who sets limits by what the ports count.
#[derive(Debug)]
pub struct Control {
    /// The distance of readings.
    pub interval: Span,
    /// Decides. It is fed with the readings of all ports, in their order.
    pub controller: Box<dyn Controller>,
}

/// Limits on ports of a network.
#[derive(Debug)]
pub struct Metering {
    /// Ports that are read, or limited.
    pub ports: Vec<MeteredPort>,
    /// Bytes that may pass at once beyond a limit.
    pub burst: Bytes,
    /// Limits that are set at times, in order of time.
    pub changes: Vec<LimitChange>,
    /// Who sets limits besides.
    pub control: Option<Control>,
}

/// Limits during a run.
#[derive(Debug)]
pub(crate) struct MeteringState {
    plan: Metering,
    /// In force, by port.
    limits: Vec<Option<Rate>>,
    next: usize,
}

impl MeteringState {
    pub fn new<B: Copy>(plan: Metering, graph: &Graph, fabric: &mut Fabric<B>) -> MeteringState {
        for port in &plan.ports {
            if let Some((link, excess)) = port.queue() {
                let queue = graph.link(link).wire.queue;
                let fits = matches!(queue, QueueSpec::Limited(own) if own.excess == excess);
                assert!(fits, "a port that is limited has a queue for it");
            } else if let Some(link) = port.keeper() {
                fabric.allow_policing(link, plan.burst);
            }
        }
        assert!(plan.changes.is_sorted_by_key(|change| change.at), "changes come in order of time");
        let limits = vec![None; plan.ports.len()];
        MeteringState { plan, limits, next: 0 }
    }

    /// The distance of readings, if somebody looks at them.
    pub fn interval(&self) -> Option<Span> {
        self.plan.control.as_ref().map(|control| control.interval)
    }

    /// When the next change is due.
    pub fn next_change(&self) -> Option<Time> {
        self.plan.changes.get(self.next).map(|change| change.at)
    }

    /// The changes of this instant: links and their limits.
    pub fn changes(&mut self, now: Time) -> Vec<(MeteredPort, Option<Rate>)> {
        let mut made = Vec::new();
        while let Some(&LimitChange { port, limit, .. }) = self.plan.changes.get(self.next).filter(|one| one.at <= now)
        {
            self.next += 1;
            self.limits[port] = limit;
            made.push((self.plan.ports[port], limit));
        }
        made
    }

    /// Lets the controller look at the ports, which `fabric` has; the limits that changed.
    pub fn control<B: Copy>(&mut self, now: Time, fabric: &mut Fabric<B>) -> Vec<(MeteredPort, Option<Rate>)> {
        let Some(control) = &mut self.plan.control else { return Vec::new() };
        let readings: Vec<Reading> = self.plan.ports.iter().map(|port| reading(now, port.out, fabric)).collect();
        let next = control.controller.observe(now, &readings);
        let mut made = Vec::new();
        for ((port, own), &next) in self.plan.ports.iter().zip(&mut self.limits).zip(next) {
            if port.metered != Metered::Nothing && *own != next {
                *own = next;
                made.push((*port, next));
            }
        }
        made
    }

    /// The limits in force, with the links that keep them.
    pub fn limits(&self) -> impl Iterator<Item = (LinkId, Option<Rate>)> + '_ {
        let ports = self.plan.ports.iter().zip(&self.limits);
        ports.filter_map(|(port, &limit)| Some((port.keeper()?, limit)))
    }
}

/// What a switch has counted at a port.
fn reading<B: Copy>(now: Time, out: LinkId, fabric: &mut Fabric<B>) -> Reading {
    let (into, own) = (fabric.counters(out.reverse()), fabric.counters(out));
    let queue = fabric.occupancy(now, out).0;
    Reading {
        into: Counters {
            bytes: into.delivered.bytes + into.policed.bytes,
            packets: into.delivered.frames + into.policed.frames,
            drops: into.policed.frames,
            queue: Bytes::ZERO,
        },
        out: Counters { bytes: own.delivered.bytes, packets: own.delivered.frames, drops: own.dropped.frames, queue },
        rtt: None,
        connections: None,
    }
}
