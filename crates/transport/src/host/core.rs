//! What a core does next.

use std::collections::VecDeque;

use headway_engine::EventQueue;
use headway_fabric::{Endpoint, NodeId};
use headway_units::{Span, Time};

use super::gro::Gro;
use super::pool::Chain;
use super::{Host, Hosts, Unit};
use crate::segment::Frame;

/// The least that a step takes: time goes on, whatever the costs.
const LEAST: Span = Span::from_picos(1);
/// The backlog among the queues to poll.
const BACKLOG: u32 = u32::MAX;
/// Segments of a backlog in one poll (`net.core.dev_weight`).
const WEIGHT: u32 = 64;
/// Bytes of a burst (`GSO_LEGACY_MAX_SIZE`).
const MAX_BURST: u32 = 65_536;

/// Who interrupts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Interrupt {
    /// The card, for this queue.
    Card(u32),
    /// Another core, for the backlog.
    Core,
}

/// What a core is doing.
#[derive(Debug, Clone, Copy)]
enum Step {
    Idle,
    /// Between two steps.
    Choosing,
    /// Something to send has come up.
    Kicked,
    Interrupt(Interrupt),
    /// Takes the first frame of a ring.
    Pull(u32),
    /// Takes a segment through the protocol.
    Protocol(Chain),
    /// Sends so many frames.
    Send(u32),
    /// A program's work; the number tells its event from those of work that was put off.
    Task(Task, u32),
}

/// What a core has done.
#[derive(Debug)]
pub(crate) enum Done {
    /// Nothing that others see.
    Inside,
    /// The connection is to be given this segment.
    Segment(Chain),
    /// So many frames leave.
    Sent(u32),
    /// A program's work is done.
    Task(Task),
}

/// Work that a program has for a core, or what is left of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Task {
    pub cost: Span,
    pub whose: Whose,
    /// What it is, in its program's words.
    pub tag: u64,
}

/// Whose work a core does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whose {
    /// The application's, see [`Application::worked`](crate::Application::worked).
    Program,
    /// A server's, see [`crate::server`].
    Server,
}

/// A frame to be sent.
#[derive(Debug)]
struct Outgoing {
    since: Time,
    to: Endpoint,
    frame: Frame,
}

#[derive(Debug, Clone, Copy)]
struct Poll {
    /// A queue, or [`BACKLOG`].
    of: u32,
    /// Frames or segments so far.
    work: u32,
    /// What GRO held is on its way up.
    flushed: bool,
}

#[derive(Debug)]
pub(super) struct Core {
    pub(super) host: u32,
    step: Step,
    pub(super) interrupts: VecDeque<Interrupt>,
    /// Queues to poll, in turn.
    polls: VecDeque<u32>,
    poll: Option<Poll>,
    /// The softirq's work so far and when it began, while it runs.
    softirq: Option<(u32, Time)>,
    gro: Gro,
    /// Segments on their way up.
    ready: VecDeque<Chain>,
    /// Segments that RPS brought.
    backlog: VecDeque<Chain>,
    /// The backlog is among the polls, or will be.
    scheduled: bool,
    /// Cores to interrupt when the softirq ends: bits, from the host's first.
    ipis: u64,
    outgoing: VecDeque<Outgoing>,
    /// All that is outgoing is sent before anything else.
    drain: bool,
    /// Work of programs, which waits for all of the above.
    tasks: VecDeque<Task>,
    /// Tasks begun.
    begun: u32,
    /// When the last step began ends.
    until: Time,
    /// Time worked until the last sample.
    sampled: Span,
}

impl Core {
    pub fn new(host: u32) -> Core {
        Core {
            host,
            step: Step::Idle,
            interrupts: VecDeque::new(),
            polls: VecDeque::new(),
            poll: None,
            softirq: None,
            gro: Gro::default(),
            ready: VecDeque::new(),
            backlog: VecDeque::new(),
            scheduled: false,
            ipis: 0,
            outgoing: VecDeque::new(),
            drain: false,
            tasks: VecDeque::new(),
            begun: 0,
            until: Time::ZERO,
            sampled: Span::ZERO,
        }
    }

    /// Takes a frame to be sent, `at_once` if the core was at work for its connection. `own` is the core's number.
    pub fn send(&mut self, now: Time, own: u32, to: Endpoint, frame: Frame, at_once: bool, events: &mut EventQueue) {
        self.outgoing.push_back(Outgoing { since: now, to, frame });
        self.drain |= at_once;
        if matches!(self.step, Step::Idle) {
            // a picosecond later all of the burst is here, whoever asks for it
            self.step = Step::Kicked;
            events.push(now + LEAST, Unit::Core(own).source(), 0);
        }
    }

    pub fn leave(&mut self) -> (Endpoint, Frame) {
        let Outgoing { to, frame, .. } = self.outgoing.pop_front().expect("as many as were counted");
        (to, frame)
    }

    /// The frames and bytes of the next burst.
    fn burst(&self, segmentation: bool) -> Option<(u32, u64)> {
        let first = self.outgoing.front()?;
        let mut bytes = u32::from(first.frame.size);
        let alike = self.outgoing.iter().skip(1).take_while(|next| {
            bytes += u32::from(next.frame.size);
            segmentation && next.to == first.to && next.since == first.since && bytes <= MAX_BURST
        });
        let frames = 1 + alike.count();
        let sum = self.outgoing.iter().take(frames).map(|one| u64::from(one.frame.size)).sum();
        Some((frames as u32, sum))
    }

    /// The softirq ends, or yields: others have their turn.
    fn yield_softirq(&mut self) -> u64 {
        self.softirq = None;
        self.drain = !self.outgoing.is_empty();
        std::mem::take(&mut self.ipis)
    }
}

impl Hosts {
    /// Sets an idle core to work. One that works for a program puts that off.
    pub(super) fn wake(&mut self, now: Time, core: u32, events: &mut EventQueue) {
        let own = &mut self.cores[core as usize];
        match own.step {
            Step::Idle => self.proceed(now, core, events),
            Step::Task(task, _) if own.until > now => {
                let left = own.until.since(now);
                let host = &mut self.models[own.host as usize];
                host.counters.busy[(core - host.first_core) as usize] -= left;
                own.tasks.push_front(Task { cost: left, ..task });
                own.until = now;
                self.proceed(now, core, events);
            }
            _ => {}
        }
    }

    /// Gives the core that runs process `process` of `node` work of a program, after what it has already. Says whether the
    /// host has a model: work takes no time without.
    pub fn add_task(&mut self, now: Time, (node, process): (NodeId, u32), task: Task, events: &mut EventQueue) -> bool {
        let Some(&host) = self.by_node.get(&node) else { return false };
        let Host { model, first_core, .. } = &self.models[host as usize];
        let core = first_core + process % model.cores;
        let own = &mut self.cores[core as usize];
        own.tasks.push_back(task);
        if matches!(own.step, Step::Idle) {
            self.proceed(now, core, events);
        }
        true
    }

    /// Tells `each` of every core how long it has worked since this was asked last: host, number in it, time.
    pub fn worked(&mut self, now: Time, mut each: impl FnMut(NodeId, u32, Span)) {
        for (at, core) in (0..).zip(&mut self.cores) {
            let host = &self.models[core.host as usize];
            let nth = at - host.first_core;
            // without what is left of the step under way
            let worked = host.counters.busy[nth as usize].saturating_sub(core.until.since(now.min(core.until)));
            each(host.node, nth, worked.saturating_sub(core.sampled));
            core.sampled = worked;
        }
    }

    /// Whether an event of `core` with this number ends its step, and not one that was put off.
    pub(super) fn ends_step(&self, core: u32, sequence: u32) -> bool {
        match self.cores[core as usize].step {
            Step::Task(_, number) => sequence == number,
            _ => sequence == 0,
        }
    }

    /// Ends the step of `core`.
    pub(super) fn finish(&mut self, core: u32) -> Done {
        let own = &mut self.cores[core as usize];
        let Host { model, counters, .. } = &mut self.models[own.host as usize];
        match std::mem::replace(&mut own.step, Step::Choosing) {
            Step::Idle | Step::Choosing => unreachable!("an event ends a step"),
            Step::Kicked => Done::Inside,
            Step::Interrupt(Interrupt::Card(queue)) => {
                own.polls.push_back(queue);
                Done::Inside
            }
            Step::Interrupt(Interrupt::Core) => {
                own.polls.push_back(BACKLOG);
                Done::Inside
            }
            Step::Pull(queue) => {
                let received = self.queues[queue as usize].ring.pop_front().expect("it was there");
                own.poll.as_mut().expect("frames are taken in polls").work += 1;
                counters.packets += 1;
                if model.gro {
                    let hash = self.hashes[received.end as usize];
                    own.gro.receive(received.end, received.frame, hash, &mut self.frames, &mut own.ready);
                } else {
                    own.ready.push_back(self.frames.chain(received.end, received.frame));
                }
                Done::Inside
            }
            Step::Protocol(chain) => {
                counters.segments += 1;
                Done::Segment(chain)
            }
            Step::Send(frames) => {
                counters.bursts += 1;
                Done::Sent(frames)
            }
            Step::Task(task, _) => {
                counters.tasks += 1;
                Done::Task(task)
            }
        }
    }

    /// Lets a core begin its next step, if there is one.
    pub fn proceed(&mut self, now: Time, core: u32, events: &mut EventQueue) {
        self.current = None;
        let (step, cost) = loop {
            if let Some(next) = self.next_step(now, core, events) {
                break next;
            }
        };
        let own = &mut self.cores[core as usize];
        own.step = step;
        if matches!(step, Step::Idle) {
            return;
        }
        let took = cost.max(LEAST);
        own.until = now + took;
        let host = &mut self.models[own.host as usize];
        host.counters.busy[(core - host.first_core) as usize] += took;
        let sequence = if let Step::Task(_, number) = step { number } else { 0 };
        events.push(now + took, Unit::Core(core).source(), sequence);
    }

    /// The next step of a core with its cost, or nothing if that takes another look.
    fn next_step(&mut self, now: Time, core: u32, events: &mut EventQueue) -> Option<(Step, Span)> {
        let own = &mut self.cores[core as usize];
        let Host { model, counters, .. } = &mut self.models[own.host as usize];
        let costs = &model.costs;
        if let Some(interrupt) = own.interrupts.pop_front() {
            let cost = if interrupt == Interrupt::Core { costs.ipi } else { costs.interrupt };
            return Some((Step::Interrupt(interrupt), cost));
        }
        if own.drain {
            if let Some((frames, bytes)) = own.burst(model.segmentation) {
                return Some((Step::Send(frames), costs.burst + costs.byte.saturating_mul(bytes)));
            }
            own.drain = false;
        }
        if let Some(chain) = own.ready.pop_front() {
            if model.rps {
                self.steer(core, chain);
                return None;
            }
            return Some((Step::Protocol(chain), costs.segment));
        }
        if own.poll.is_some() {
            return self.go_on_polling(now, core, events);
        }
        if own.softirq.is_some() {
            if let Some(of) = own.polls.pop_front() {
                counters.polls += 1;
                own.poll = Some(Poll { of, work: 0, flushed: false });
            } else {
                let ipis = own.yield_softirq();
                self.interrupt_cores(now, core, ipis, events);
            }
        } else if !own.outgoing.is_empty() {
            own.drain = true;
        } else if !own.polls.is_empty() {
            own.softirq = Some((0, now));
        } else if let Some(task) = own.tasks.pop_front() {
            own.begun = own.begun.wrapping_add(1).max(1);
            return Some((Step::Task(task, own.begun), task.cost));
        } else {
            return Some((Step::Idle, Span::ZERO));
        }
        None
    }

    /// The next step of a poll, or its end.
    fn go_on_polling(&mut self, now: Time, core: u32, events: &mut EventQueue) -> Option<(Step, Span)> {
        let own = &mut self.cores[core as usize];
        let Host { model, counters, .. } = &mut self.models[own.host as usize];
        let poll = own.poll.as_mut().expect("the caller looked");
        let most = if poll.of == BACKLOG { WEIGHT } else { model.budget };
        if poll.of == BACKLOG {
            if poll.work < most
                && let Some(chain) = own.backlog.pop_front()
            {
                poll.work += 1;
                return Some((Step::Protocol(chain), model.costs.segment));
            }
        } else if !poll.flushed {
            let first = self.queues[poll.of as usize].ring.front().filter(|_| poll.work < most);
            if let Some(first) = first {
                let bytes = u64::from(first.frame.size);
                return Some((Step::Pull(poll.of), model.costs.packet + model.costs.byte.saturating_mul(bytes)));
            }
            poll.flushed = true;
            own.gro.flush(&mut own.ready);
            return None;
        }
        let Poll { of, work, .. } = *poll;
        own.poll = None;
        let (done, since) = own.softirq.expect("polls are of a softirq");
        own.softirq = Some((done + work, since));
        let over = done + work >= model.softirq_budget || now.since(since) >= model.softirq_time;
        let mut ipis = 0;
        if over {
            counters.squeezes += 1;
            ipis = own.yield_softirq();
        }
        if work >= most {
            own.polls.push_back(of);
        } else if of == BACKLOG {
            own.scheduled = false;
        } else {
            self.queues[of as usize].masked = false;
            self.consider(now, of, events);
        }
        self.interrupt_cores(now, core, ipis, events);
        None
    }

    /// Hands a segment to the core that its flow's hash picks (`get_rps_cpu`, `enqueue_to_backlog`).
    fn steer(&mut self, core: u32, chain: Chain) {
        let host = self.cores[core as usize].host;
        let to = self.steered(chain.end, host);
        let Host { model, counters, first_core, .. } = &mut self.models[host as usize];
        let target = &mut self.cores[to as usize];
        if target.backlog.len() >= model.backlog as usize {
            counters.backlog_drops += u64::from(chain.frames);
            self.lost.push(chain);
            return;
        }
        target.backlog.push_back(chain);
        if target.scheduled {
            return;
        }
        target.scheduled = true;
        if to == core {
            target.polls.push_back(BACKLOG);
        } else {
            self.cores[core as usize].ipis |= 1 << (to - *first_core);
        }
    }

    /// Interrupts other cores of the host (`net_rps_action_and_irq_enable`).
    fn interrupt_cores(&mut self, now: Time, core: u32, mut ipis: u64, events: &mut EventQueue) {
        let host = &mut self.models[self.cores[core as usize].host as usize];
        let first = host.first_core;
        host.counters.ipis += u64::from(ipis.count_ones());
        while ipis != 0 {
            let to = first + ipis.trailing_zeros();
            ipis &= ipis - 1;
            self.cores[to as usize].interrupts.push_back(Interrupt::Core);
            self.wake(now, to, events);
        }
    }
}
