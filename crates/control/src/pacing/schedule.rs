//! Who sends next: flows with a pace, in classes with limits and shares, under a port's limit.
//!
//! Three levels, each with a byte clock of its own: a frame may leave when the clocks of its flow, its class and the port
//! all let it. Among the classes that may send, shares decide (start-time fair queueing: P. Goyal, H. Vin, H. Cheng,
//! SIGCOMM 1996); within a class the flow that is due first. So a class that waits for nothing but its turn gets it after
//! at most a frame of each other class for each of its share, and within a class every flow that is served moves behind
//! those that wait.
//!
//! Positions are bytes of the line since whenever the caller began to count: no clock is read here.

use std::collections::{BTreeSet, VecDeque};

use headway_units::Rate;

use super::gap::Line;
use super::pacer::{Burst, Charge, Pacer};
use super::target::Target;

/// Virtual time is in these parts of a byte per share.
const SCALE: u128 = 1 << 32;

/// A limit of a port or a class, in bytes of the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// The rate.
    pub rate: Rate,
    /// How many frames leave back to back.
    pub burst: u32,
}

/// A class of flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClassSpec {
    /// All its flows together send no faster.
    pub limit: Option<Limit>,
    /// Its part of what the port has, where classes compete; at least 1.
    pub share: u32,
}

/// A flow's place in its schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FlowIndex(u32);

/// What a flow may do, as known when one of its frames leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pace {
    /// The rate; `None` for as fast as the line.
    pub target: Option<Target>,
    /// The window in bytes of the line, for [`Burst::Clusters`].
    pub window: Option<u64>,
}

/// A frame that may leave: see [`Schedule::choose`].
#[derive(Debug, Clone, Copy)]
pub struct Choice {
    class: usize,
    flow: FlowIndex,
    bound: u64,
}

#[derive(Debug)]
struct Clocked {
    pacer: Pacer,
    target: Target,
}

impl Clocked {
    fn new(limit: Limit) -> Clocked {
        Clocked { pacer: Pacer::new(Burst::Packets(limit.burst)), target: Target::of_rate(limit.rate) }
    }

    fn charge(&mut self, charge: &Charge, patience: u64, line: &Line) {
        self.pacer.charge(&Charge { target: Some(self.target), window: None, ..*charge }, patience, line);
    }
}

#[derive(Debug)]
struct Class {
    limit: Option<Clocked>,
    share: u32,
    /// Flows that wait: where they may send, and who they are.
    waiting: BTreeSet<(u64, FlowIndex)>,
    /// Virtual time at which its next frame begins.
    start: u128,
}

impl Class {
    fn earliest(&self) -> Option<(u64, FlowIndex)> {
        let &(due, flow) = self.waiting.first()?;
        Some((self.limit.as_ref().map_or(due, |limit| due.max(limit.pacer.due())), flow))
    }
}

#[derive(Debug)]
struct Item<T> {
    size: u32,
    /// It waits for its flow's clock.
    paced: bool,
    arrived: u64,
    body: T,
}

#[derive(Debug)]
struct Flow<T> {
    class: usize,
    pacer: Pacer,
    queue: VecDeque<Item<T>>,
    /// Its key among those that wait.
    due: u64,
}

impl<T> Flow<T> {
    fn next_due(&self, head: &Item<T>) -> u64 {
        if head.paced { self.pacer.due() } else { head.arrived }
    }
}

/// Frames that wait for a line, and the order in which they get it.
#[derive(Debug)]
pub struct Schedule<T> {
    line: Line,
    port: Option<Clocked>,
    classes: Vec<Class>,
    flows: Vec<Flow<T>>,
    free: Vec<FlowIndex>,
    frames: usize,
    virtual_time: u128,
    patience: u64,
}

impl<T> Schedule<T> {
    /// An empty one for `line` with a port's limit, if it has one, and `classes`. Frames may be `patience` bytes of the
    /// line late, beyond an interval, without a loss of rate: the granularity of a timer that releases them.
    ///
    /// # Panics
    /// If a limit is zero, or a share.
    pub fn new(line: Line, limit: Option<Limit>, classes: &[ClassSpec], patience: u64) -> Schedule<T> {
        let classes = classes.iter().map(|class| {
            assert!(class.share > 0, "a class has a share");
            let limit = class.limit.map(Clocked::new);
            Class { limit, share: class.share, waiting: BTreeSet::new(), start: 0 }
        });
        Schedule {
            line,
            port: limit.map(Clocked::new),
            classes: classes.collect(),
            flows: Vec::new(),
            free: Vec::new(),
            frames: 0,
            virtual_time: 0,
            patience,
        }
    }

    /// The line.
    pub fn line(&self) -> &Line {
        &self.line
    }

    /// Frames that wait.
    pub fn len(&self) -> usize {
        self.frames
    }

    /// Whether none does.
    pub fn is_empty(&self) -> bool {
        self.frames == 0
    }

    /// A new flow of a class.
    ///
    /// # Panics
    /// If there is no such class.
    pub fn open(&mut self, class: usize, burst: Burst) -> FlowIndex {
        assert!(class < self.classes.len(), "flows are of a class");
        let flow = Flow { class, pacer: Pacer::new(burst), queue: VecDeque::new(), due: 0 };
        if let Some(place) = self.free.pop() {
            self.flows[place.0 as usize] = flow;
            return place;
        }
        self.flows.push(flow);
        FlowIndex(self.flows.len() as u32 - 1)
    }

    /// Forgets a flow.
    ///
    /// # Panics
    /// If frames of it wait.
    pub fn close(&mut self, flow: FlowIndex) {
        assert!(self.flows[flow.0 as usize].queue.is_empty(), "a flow that is closed has sent everything");
        self.free.push(flow);
    }

    /// Frames of a flow that wait.
    pub fn queued(&self, flow: FlowIndex) -> usize {
        self.flows[flow.0 as usize].queue.len()
    }

    /// Takes in a frame of `size` bytes. `paced`: it waits for its flow's pace, not only for its turn. `position` is where
    /// the line is free for it at the earliest.
    pub fn push(&mut self, flow: FlowIndex, size: u32, paced: bool, position: u64, item: T) {
        let Flow { class, .. } = self.flows[flow.0 as usize];
        if self.is_empty()
            && let Some(port) = &mut self.port
        {
            port.pacer.resume(position);
        }
        let class = &mut self.classes[class];
        if class.waiting.is_empty() {
            class.start = class.start.max(self.virtual_time);
            if let Some(limit) = &mut class.limit {
                limit.pacer.resume(position);
            }
        }
        let own = &mut self.flows[flow.0 as usize];
        let item = Item { size, paced, arrived: position, body: item };
        if own.queue.is_empty() {
            own.pacer.resume(position);
            own.due = own.next_due(&item);
            class.waiting.insert((own.due, flow));
        }
        own.queue.push_back(item);
        self.frames += 1;
    }

    /// Where the first frame may leave; `None` if none waits.
    pub fn earliest(&self) -> Option<u64> {
        let first = self.classes.iter().filter_map(Class::earliest).map(|(due, _)| due).min()?;
        Some(self.port.as_ref().map_or(first, |port| first.max(port.pacer.due())))
    }

    /// The frame that leaves next, of those that may at `bound`.
    pub fn choose(&self, bound: u64) -> Option<Choice> {
        if self.port.as_ref().is_some_and(|port| port.pacer.due() > bound) {
            return None;
        }
        let ready = self.classes.iter().enumerate().filter_map(|(at, class)| {
            let (due, flow) = class.earliest()?;
            (due <= bound).then_some((class.start, at, flow))
        });
        let (_, class, flow) = ready.min()?;
        Some(Choice { class, flow, bound })
    }

    /// The frame of a choice.
    ///
    /// # Panics
    /// If it has been taken.
    pub fn peek(&self, choice: &Choice) -> &T {
        &self.head(choice).body
    }

    fn head(&self, choice: &Choice) -> &Item<T> {
        self.flows[choice.flow.0 as usize].queue.front().expect("a flow that is chosen waits")
    }

    /// Takes the frame of a choice, which leaves at `position`. Its flow's pace is, as of now, `pace`.
    ///
    /// # Panics
    /// If it has been taken.
    pub fn take(&mut self, choice: &Choice, position: u64, pace: Pace) -> T {
        let &Choice { class, flow, bound } = choice;
        let own = &mut self.flows[flow.0 as usize];
        let Item { size, paced, body, .. } = own.queue.pop_front().expect("a flow that is chosen waits");
        self.frames -= 1;
        let (line, patience) = (self.line, self.patience);
        let taken = line.taken_by(size);
        let charge = Charge { position, line: taken, target: pace.target, window: pace.window };
        if paced {
            own.pacer.charge(&charge, patience, &line);
        }
        let mut key = (own.due, flow);
        let of = &mut self.classes[class];
        of.waiting.remove(&key);
        if let Some(next) = own.queue.front() {
            own.due = own.next_due(next);
            key.0 = own.due;
            of.waiting.insert(key);
        }
        if let Some(limit) = &mut of.limit {
            limit.charge(&charge, patience, &line);
        }
        if let Some(port) = &mut self.port {
            port.charge(&charge, patience, &line);
        }
        self.virtual_time = self.virtual_time.max(of.start);
        of.start += u128::from(taken) * SCALE / u128::from(of.share);
        // what waits for a clock and not for its turn saves nothing up
        for (at, other) in self.classes.iter_mut().enumerate() {
            if at != class && other.earliest().is_none_or(|(due, _)| due > bound) {
                other.start = other.start.max(self.virtual_time);
            }
        }
        body
    }
}
