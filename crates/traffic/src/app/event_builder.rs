//! Event building in data acquisition: of every event each reader has a fragment, and one builder needs all of them
//! (the networks of ATLAS, CMS and LHCb at CERN; the builder of the next event is the next node, round robin).
//!
//! **Push**: a reader sends its fragment to the event's builder as soon as it has it. All readers have theirs at about the
//! same time, so all send to one port at once. **Pull**: an event waits until its builder has a free slot. The builder then
//! asks the readers for their fragments, and may have a limited number of fragments asked for and not there: so many is the
//! most that can stand in front of its port (traffic shaping by credits, as in ATLAS' data collection).
//!
//! A reader keeps a fragment from the trigger until all of it is with the builder. If its buffer is bounded, a trigger that
//! finds no room with some reader is lost as a whole (dead time), or held back until there is room.
//!
//! # Left out
//! The trigger's own messages: builders know of an event when it is triggered. Buffers of builders, which are as large as
//! their slots need. Events that are given up: one whose fragments do not come stays incomplete.
//!
//! # Random streams
//! Reader number i draws from `{name}/{i}/fragment` and `…/jitter` once for every trigger, lost ones included, and from
//! `…/skew` once. So the fragments do not depend on how long it takes to send them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use headway_engine::{Stream, Streams};
use headway_units::{Bytes, Span, Time};
use thiserror::Error;

use crate::arrival::Arrival;
use crate::ends::Ends;
use crate::flows::{Flows, Traffic, TrafficError};
use crate::pairs::{MAX_GENERATORS, Pattern};
use crate::share::Shares;
use crate::size::Size;

/// Who decides when a fragment is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transfer {
    /// The reader: as soon as it has the fragment.
    Push,
    /// The builder: it asks.
    Pull(Credits),
}

/// Limits of a builder that asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Credits {
    /// Events that it builds at a time; at least 1.
    pub slots: usize,
    /// Fragments that it has asked for and that are not there, at most; at least 1. No limit if there is none.
    pub fragments: Option<usize>,
    /// What it takes to ask for one fragment.
    pub request: Bytes,
    /// How long a slot stays in use after its event is complete.
    pub work: Span,
}

/// What becomes of a trigger that finds no room with some reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overflow {
    /// It is lost: no reader keeps a fragment of it.
    Lose,
    /// It is held back until there is room, and all behind it.
    Throttle,
}

/// Readers and builders of a data acquisition.
#[derive(Debug, Clone, PartialEq)]
pub struct EventBuilder {
    /// Unique within a scenario; names the random streams.
    pub name: String,
    /// How many hosts have a fragment of every event.
    pub readers: usize,
    /// How many hosts build events, in turn.
    pub builders: usize,
    /// What each reader has of an event.
    pub fragment: Size,
    /// Who decides when fragments are sent.
    pub transfer: Transfer,
    /// When events are triggered. In a closed loop the next one waits until the one before is complete.
    pub arrival: Arrival,
    /// Each reader is later than the trigger by a time of its own, which is the same for all events: evenly spread, at most
    /// so long.
    pub skew: Span,
    /// Each fragment is later by up to so long again, evenly spread.
    pub jitter: Span,
    /// What fragments a reader can keep; no limit if there is none. One that is larger than this is kept if it is alone.
    pub buffer: Option<Bytes>,
    /// What becomes of triggers that find no room.
    pub overflow: Overflow,
    /// No event is triggered before.
    pub start: Time,
    /// No event is triggered then or later (one that is held back may be).
    pub stop: Time,
}

/// Why there is no such application.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum EventError {
    /// Nobody reads or builds.
    #[error("there are {readers} readers and {builders} builders; there must be one of each at least")]
    Nobody {
        /// Readers.
        readers: usize,
        /// Builders.
        builders: usize,
    },
    /// More than flows have names for.
    #[error("{readers} readers are too many: at most {most}")]
    TooMany {
        /// Readers.
        readers: usize,
        /// The most there can be.
        most: usize,
    },
    /// A builder that never asks.
    #[error("a builder needs a slot and a fragment that it may ask for")]
    NoCredit,
    /// Triggers that cannot come.
    #[error(transparent)]
    Arrival(#[from] TrafficError),
}

/// The sort of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// From a reader to a builder.
    Fragment,
    /// From a builder to a reader.
    Request,
}

/// A message that starts: a fragment, or a request for one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fragment {
    /// The fragment or the request.
    pub part: Part,
    /// The number of the trigger, from 0.
    pub event: u64,
    /// The reader that has the fragment.
    pub reader: usize,
    /// The builder that needs it.
    pub builder: usize,
    /// How much.
    pub size: Bytes,
}

/// What became of a trigger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// Its number, from 0.
    pub number: u64,
    /// Who was to build it.
    pub builder: usize,
    /// When it was triggered.
    pub start: Time,
    /// When its last fragment was there; `None` if that did not happen.
    pub end: Option<Time>,
    /// All its fragments.
    pub size: Bytes,
    /// Those that were there.
    pub gathered: Bytes,
    /// It found no room with some reader, and nothing of it was kept.
    pub lost: bool,
}

impl EventBuilder {
    /// The most readers that messages have names for: two for each, and two more ([`EventBuilder::of_events`]).
    const MOST_READERS: usize = (MAX_GENERATORS - 2) / 2;

    /// Its events in one run. `streams` are those of one repeat ([`Streams::part`]).
    ///
    /// # Errors
    /// [`EventError`].
    pub fn events(&self, streams: Streams) -> Result<Events, EventError> {
        let (readers, builders) = (self.readers, self.builders);
        if readers == 0 || builders == 0 {
            return Err(EventError::Nobody { readers, builders });
        }
        if readers > Self::MOST_READERS {
            return Err(EventError::TooMany { readers, most: Self::MOST_READERS });
        }
        if let Transfer::Pull(credits) = self.transfer
            && (credits.slots == 0 || credits.fragments == Some(0))
        {
            return Err(EventError::NoCredit);
        }
        let triggers = Traffic {
            name: self.name.clone(),
            pattern: Pattern::Random,
            shares: Shares::default(),
            size: None,
            shared: false,
            arrival: self.arrival,
            start: self.start,
            stop: self.stop,
        };
        let triggers = triggers.flows(Ends::Between { sources: 1, destinations: 1 }, streams)?;
        let stream = |reader: usize, of: &str| streams.stream(&format!("{}/{reader}/{of}", self.name));
        let readers = (0..readers).map(|reader| Reader {
            fragments: stream(reader, "fragment"),
            jitter: stream(reader, "jitter"),
            skew: evenly(self.skew, &mut stream(reader, "skew")),
            kept: 0,
        });
        Ok(Events {
            triggers,
            readers: readers.collect(),
            builders: vec![Builder::default(); builders],
            due: BinaryHeap::new(),
            scheduled: 0,
            next: 0,
            held: 0,
            drawn: None,
            running: BTreeMap::new(),
            done: Vec::new(),
            plan: self.clone(),
        })
    }

    /// What tells the messages of an event apart; below [`MAX_GENERATORS`].
    pub fn generator(&self, part: Part, reader: usize) -> u32 {
        match part {
            Part::Fragment => reader as u32,
            Part::Request => (self.readers + reader) as u32,
        }
    }

    /// The message of an event that [`EventBuilder::generator`] gives this name.
    pub fn message(&self, generator: u32) -> Option<(Part, usize)> {
        let place = generator as usize;
        match place {
            _ if place < self.readers => Some((Part::Fragment, place)),
            _ if place < 2 * self.readers => Some((Part::Request, place - self.readers)),
            _ => None,
        }
    }

    /// Names that no message has: for events, and for connections.
    pub fn of_events(&self) -> [u32; 2] {
        [2 * self.readers as u32, 2 * self.readers as u32 + 1]
    }
}

/// A random time of up to `most`.
fn evenly(most: Span, stream: &mut Stream) -> Span {
    if most.is_zero() { Span::ZERO } else { Span::from_picos(stream.below(most.picos())) }
}

/// A reader at work.
#[derive(Debug, Clone)]
struct Reader {
    fragments: Stream,
    jitter: Stream,
    skew: Span,
    /// Bytes of fragments in its buffer.
    kept: u64,
}

/// A builder that asks. One to which fragments are pushed does nothing but wait.
#[derive(Debug, Clone, Default)]
struct Builder {
    /// Events that wait for a slot.
    queue: VecDeque<u64>,
    /// Slots in use.
    building: usize,
    /// Events in slots of which fragments have not been asked for, with how many have been.
    asking: VecDeque<(u64, usize)>,
    /// Fragments asked for that are not there.
    outstanding: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Task {
    /// A reader has its fragment of an event.
    Read(u64, usize),
    /// A reader sends it.
    Send(u64, usize),
    /// A builder asks a reader for it.
    Ask(u64, usize),
    /// A slot of a builder is free.
    Free(usize),
}

/// A fragment on its way from the trigger to the builder.
#[derive(Debug, Clone, Copy)]
struct Piece {
    size: Bytes,
    /// How much later than its skew the reader has it.
    jitter: Span,
    read: bool,
    asked: bool,
    there: bool,
}

#[derive(Debug, Clone)]
struct Running {
    start: Time,
    pieces: Vec<Piece>,
    missing: usize,
}

/// The events of one run; see [`EventBuilder::events`].
#[derive(Debug, Clone)]
pub struct Events {
    plan: EventBuilder,
    triggers: Flows,
    readers: Vec<Reader>,
    builders: Vec<Builder>,
    /// What is to be done, in order of time and then of when that became known.
    due: BinaryHeap<Reverse<(Time, u64, Task)>>,
    scheduled: u64,
    /// The number of the next event.
    next: u64,
    /// Triggers that are held back.
    held: u64,
    /// The fragments of the first of them, and a reader that has no room for its own.
    drawn: Option<(Vec<Piece>, usize)>,
    running: BTreeMap<u64, Running>,
    /// Complete or lost.
    done: Vec<Event>,
}

impl Events {
    /// When something is to be done next; `None` if not before a message is there.
    pub fn next_time(&mut self) -> Option<Time> {
        let due = self.due.peek().map(|Reverse((time, ..))| *time);
        match (self.triggers.next_time(), due) {
            (Some(trigger), Some(due)) => Some(trigger.min(due)),
            (trigger, due) => trigger.or(due),
        }
    }

    /// Does the next thing, at `now`, which is not before [`Events::next_time`]: a message may start.
    pub fn act(&mut self, now: Time) -> Option<Fragment> {
        let due = self.due.peek().map(|Reverse((time, ..))| *time);
        if let Some(time) = self.triggers.next_time()
            && due.is_none_or(|due| time <= due)
        {
            self.triggers.next()?;
            self.trigger(now);
            return None;
        }
        let Reverse((_, _, task)) = self.due.pop()?;
        match task {
            Task::Read(event, reader) => self.read(now, event, reader),
            Task::Send(event, reader) => Some(self.fragment(Part::Fragment, event, reader)),
            Task::Ask(event, reader) => Some(self.fragment(Part::Request, event, reader)),
            Task::Free(builder) => {
                self.builders[builder].building -= 1;
                self.ask(now, builder);
                None
            }
        }
    }

    /// The last byte of a message of `event`, to or from `reader`, was there at `at`.
    pub fn arrived(&mut self, at: Time, part: Part, event: u64, reader: usize) {
        let Some(piece) = self.running.get_mut(&event).and_then(|own| own.pieces.get_mut(reader)) else { return };
        if part == Part::Request {
            piece.asked = true;
            if piece.read {
                self.schedule(at, Task::Send(event, reader));
            }
        } else if !std::mem::replace(&mut piece.there, true) {
            let size = piece.size;
            self.gathered(at, event, reader, size);
        }
    }

    /// What became of all triggers: first those that are complete or lost, in the order in which that happened, then the
    /// others in order of their numbers.
    pub fn finish(mut self) -> Vec<Event> {
        for (&number, own) in &self.running {
            self.done.push(own.event(number, self.builders.len(), None));
        }
        self.done
    }

    fn schedule(&mut self, time: Time, task: Task) {
        self.scheduled += 1;
        self.due.push(Reverse((time, self.scheduled, task)));
    }

    fn builder(&self, event: u64) -> usize {
        (event % self.builders.len() as u64) as usize
    }

    fn trigger(&mut self, now: Time) {
        if self.plan.overflow == Overflow::Throttle {
            self.held += 1;
            if self.drawn.is_none() {
                self.release(now);
            }
            return;
        }
        let pieces = self.draw();
        if self.full(&pieces).is_none() {
            self.accept(now, pieces);
        } else {
            let lost = Running { start: now, missing: pieces.len(), pieces };
            self.done.push(Event { lost: true, ..lost.event(self.next, self.builders.len(), None) });
            self.next += 1;
        }
    }

    /// Lets triggers go that were held back, as far as there is room.
    fn release(&mut self, now: Time) {
        while self.held > 0 {
            let pieces = self.drawn.take().map_or_else(|| self.draw(), |(pieces, _)| pieces);
            if let Some(reader) = self.full(&pieces) {
                self.drawn = Some((pieces, reader));
                return;
            }
            self.accept(now, pieces);
            self.held -= 1;
        }
    }

    fn draw(&mut self) -> Vec<Piece> {
        let (size, jitter) = (&self.plan.fragment, self.plan.jitter);
        let draw = |reader: &mut Reader| Piece {
            size: size.draw(&mut reader.fragments),
            jitter: evenly(jitter, &mut reader.jitter),
            read: false,
            asked: false,
            there: false,
        };
        self.readers.iter_mut().map(draw).collect()
    }

    /// The first reader that has no room for its fragment.
    fn full(&self, pieces: &[Piece]) -> Option<usize> {
        let buffer = self.plan.buffer?.get();
        let full = |(reader, piece): (&Reader, &Piece)| {
            reader.kept > 0 && reader.kept.saturating_add(piece.size.get()) > buffer
        };
        self.readers.iter().zip(pieces).position(full)
    }

    fn accept(&mut self, now: Time, pieces: Vec<Piece>) {
        let event = self.next;
        self.next += 1;
        for (reader, piece) in pieces.iter().enumerate() {
            let own = &mut self.readers[reader];
            own.kept += piece.size.get();
            let read = now.saturating_add(own.skew).saturating_add(piece.jitter);
            self.schedule(read, Task::Read(event, reader));
        }
        self.running.insert(event, Running { start: now, missing: pieces.len(), pieces });
        if let Transfer::Pull(_) = self.plan.transfer {
            let builder = self.builder(event);
            self.builders[builder].queue.push_back(event);
            self.ask(now, builder);
        }
    }

    /// A reader has its fragment: it sends it, or keeps it until it is asked.
    fn read(&mut self, now: Time, event: u64, reader: usize) -> Option<Fragment> {
        let piece = &mut self.running.get_mut(&event)?.pieces[reader];
        piece.read = true;
        match self.plan.transfer {
            Transfer::Push => Some(self.fragment(Part::Fragment, event, reader)),
            Transfer::Pull(_) => {
                if piece.asked {
                    self.schedule(now, Task::Send(event, reader));
                }
                None
            }
        }
    }

    /// Takes up events as far as there are slots, and asks as far as there are credits.
    fn ask(&mut self, now: Time, builder: usize) {
        let Transfer::Pull(credits) = self.plan.transfer else { return };
        let readers = self.readers.len();
        let mut asks = Vec::new();
        let own = &mut self.builders[builder];
        while own.building < credits.slots
            && let Some(event) = own.queue.pop_front()
        {
            own.building += 1;
            own.asking.push_back((event, 0));
        }
        while credits.fragments.is_none_or(|most| own.outstanding < most)
            && let Some((event, asked)) = own.asking.front_mut()
        {
            // another reader first for every event, so that builders do not all ask the same one
            asks.push((*event, ((*event % readers as u64) as usize + *asked) % readers));
            own.outstanding += 1;
            *asked += 1;
            if *asked == readers {
                own.asking.pop_front();
            }
        }
        for (event, reader) in asks {
            self.schedule(now, Task::Ask(event, reader));
        }
    }

    /// A fragment is with its builder.
    fn gathered(&mut self, at: Time, event: u64, reader: usize, size: Bytes) {
        self.readers[reader].kept -= size.get();
        let builder = self.builder(event);
        let own = self.running.get_mut(&event).expect("the event is running");
        own.missing -= 1;
        let complete = own.missing == 0;
        if complete {
            let end = own.event(event, self.builders.len(), Some(at));
            self.done.push(end);
            self.running.remove(&event);
            self.triggers.completed(at, 0);
        }
        if let Transfer::Pull(credits) = self.plan.transfer {
            self.builders[builder].outstanding -= 1;
            if complete {
                self.schedule(at.saturating_add(credits.work), Task::Free(builder));
            }
            self.ask(at, builder);
        }
        if self.drawn.as_ref().is_some_and(|(_, full)| *full == reader) {
            self.release(at);
        }
    }

    fn fragment(&self, part: Part, event: u64, reader: usize) -> Fragment {
        let size = match (part, self.plan.transfer) {
            (Part::Request, Transfer::Pull(credits)) => credits.request,
            _ => self.running[&event].pieces[reader].size,
        };
        Fragment { part, event, reader, builder: self.builder(event), size }
    }
}

impl Running {
    fn event(&self, number: u64, builders: usize, end: Option<Time>) -> Event {
        let sum = |pieces: &mut dyn Iterator<Item = &Piece>| {
            Bytes::new(pieces.fold(0_u64, |sum, piece| sum.saturating_add(piece.size.get())))
        };
        Event {
            number,
            builder: (number % builders as u64) as usize,
            start: self.start,
            end,
            size: sum(&mut self.pieces.iter()),
            gathered: sum(&mut self.pieces.iter().filter(|piece| piece.there)),
            lost: false,
        }
    }
}

#[cfg(test)]
mod tests;
