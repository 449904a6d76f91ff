//! Partition and aggregate: a request is split up among parents and leaves, whose answers are put together on the way
//! back (web search and the like: DCTCP, SIGCOMM 2010, §2.1; D3, SIGCOMM 2011, §2.1).
//!
//! A request arrives at a root, which asks every host of the first level; each of these asks its own hosts of the next
//! level, and so on down to the leaves. A host that has its query and, if it asks others, their answers, works for a
//! while and answers the one that asked it. A level may have a deadline: so long after it was asked, an answer must be
//! there. What has not come by then is left out, and the asker goes on with what it has; so does the root at the deadline
//! of the whole request. The query carries the deadlines, so nobody waits longer than those above. Late answers are sent
//! all the same, for whoever sends one cannot know whether it is still wanted.
//!
//! # Random streams
//! Every pair of a root and a host below it has three streams of its own, `{name}/{root}/{level}-{host}/query`,
//! `…/answer` and `…/jitter`. Each is drawn from once for every request, when it arrives. So what is sent does not depend
//! on how long it takes.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::ops::Range;

use headway_engine::{Stream, Streams};
use headway_units::{Bytes, Span, Time};
use thiserror::Error;

use crate::arrival::Arrival;
use crate::ends::Ends;
use crate::flows::{Flows, Traffic, TrafficError};
use crate::pairs::{MAX_GENERATORS, Pattern};
use crate::share::Shares;
use crate::size::Size;

/// The most levels below the root.
const MAX_LEVELS: usize = 4;

/// One level of hosts below the root.
#[derive(Debug, Clone, PartialEq)]
pub struct Level {
    /// How many hosts; they are dealt out evenly, in their order, to the hosts of the level above.
    pub hosts: usize,
    /// What each answers.
    pub answer: Size,
    /// How long after the level above asks the answers must be there; no limit if there is none.
    pub deadline: Option<Span>,
    /// What a host works before it answers.
    pub work: Span,
    /// How much longer at most; evenly spread, so that answers do not come all at once.
    pub jitter: Span,
}

/// An application that partitions and aggregates.
#[derive(Debug, Clone, PartialEq)]
pub struct PartitionAggregate {
    /// Unique within a scenario; names the random streams.
    pub name: String,
    /// How many hosts take requests, each of them from an arrival process of its own. All ask the same first level.
    pub roots: usize,
    /// From the top down.
    pub levels: Vec<Level>,
    /// What it takes to ask one host.
    pub query: Size,
    /// When requests arrive at each root. In a closed loop the next one waits for the answer to the one before.
    pub arrival: Arrival,
    /// How long after its arrival a request is answered with what there is; no limit if there is none.
    pub deadline: Option<Span>,
    /// No request arrives before.
    pub start: Time,
    /// No request arrives then or later.
    pub stop: Time,
}

/// Why there is no such application.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum TreeError {
    /// Nobody to ask, or too deep.
    #[error("there are {levels} levels below the root; 1 to {MAX_LEVELS} are possible")]
    Levels {
        /// How many there are.
        levels: usize,
    },
    /// Somebody has nobody to ask.
    #[error("level {level} has {hosts} hosts for {above} that ask; each needs one at least")]
    TooFew {
        /// Which level, from 0 below the root.
        level: usize,
        /// Its hosts.
        hosts: usize,
        /// Those of the level above.
        above: usize,
    },
    /// More than flows have names for.
    #[error("{roots} roots and {hosts} hosts below them are too many: at most {MAX_GENERATORS} queries and answers")]
    TooMany {
        /// Number of roots.
        roots: usize,
        /// Hosts of all levels.
        hosts: usize,
    },
    /// Requests that cannot arrive.
    #[error(transparent)]
    Arrival(#[from] TrafficError),
}

/// Which way a message goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// Down, to a host of the level.
    Query,
    /// Up, from a host of the level.
    Answer,
}

/// A flow that starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// Query or answer.
    pub way: Way,
    /// Of which level, from 0 below the root.
    pub level: usize,
    /// The host of this level, by its place in it.
    pub host: usize,
    /// The one that asks: a host of the level above by its place there, or a root.
    pub asker: usize,
    /// How much.
    pub size: Bytes,
    /// How long from now on it is of use; at least a picosecond.
    pub deadline: Option<Span>,
    /// What tells it from other messages of the same request; below [`MAX_GENERATORS`].
    pub generator: u32,
    /// The number of the request at its root, from 0.
    pub number: u64,
}

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// At which root.
    pub root: usize,
    /// Its number there, from 0.
    pub number: u64,
    /// A name among the generators of messages that is free for the requests of this root.
    pub generator: u32,
    /// When it arrived.
    pub start: Time,
    /// When it was answered; `None` if it was not.
    pub end: Option<Time>,
    /// What all leaves together answer.
    pub size: Bytes,
    /// What of that is in the root's answer (so far, if it has not given one).
    pub gathered: Bytes,
}

impl PartitionAggregate {
    /// Its requests and what follows from them in one run. `streams` are those of one repeat ([`Streams::part`]).
    ///
    /// # Errors
    /// [`TreeError`].
    pub fn requests(&self, streams: Streams) -> Result<Requests, TreeError> {
        if self.levels.is_empty() || self.levels.len() > MAX_LEVELS {
            return Err(TreeError::Levels { levels: self.levels.len() });
        }
        let mut above = 1;
        for (level, own) in self.levels.iter().enumerate() {
            if own.hosts < above {
                return Err(TreeError::TooFew { level, hosts: own.hosts, above });
            }
            above = own.hosts;
        }
        let hosts = self.levels.iter().fold(0_usize, |sum, level| sum.saturating_add(level.hosts));
        let names = hosts.saturating_mul(2).saturating_add(1).saturating_mul(self.roots);
        if names > MAX_GENERATORS {
            return Err(TreeError::TooMany { roots: self.roots, hosts });
        }
        let arrivals = Traffic {
            name: self.name.clone(),
            pattern: Pattern::Random,
            shares: Shares::default(),
            size: None,
            shared: false,
            arrival: self.arrival,
            start: self.start,
            stop: self.stop,
        };
        let arrivals = arrivals.flows(Ends::Between { sources: self.roots, destinations: 1 }, streams)?;
        let below = || self.levels.iter().enumerate().flat_map(|(level, own)| (0..own.hosts).map(move |h| (level, h)));
        let places = below().map(|(level, host)| self.place(level, host)).collect();
        let draws = (0..self.roots)
            .map(|root| {
                below()
                    .map(|(level, host)| Draws::new(streams, &format!("{}/{root}/{level}-{host}", self.name)))
                    .collect()
            })
            .collect();
        Ok(Requests {
            tree: self.clone(),
            arrivals,
            places,
            draws,
            due: BinaryHeap::new(),
            scheduled: 0,
            running: BTreeMap::new(),
            answered: Vec::new(),
        })
    }

    /// Where host number `host` of `level` is in the tree. All hosts below the root are counted level by level.
    fn place(&self, level: usize, host: usize) -> Place {
        let first = |level: usize| self.levels[..level].iter().map(|own| own.hosts).sum::<usize>();
        let count = self.levels[level].hosts;
        let above = level.checked_sub(1).map_or(1, |above| self.levels[above].hosts);
        let asker = owner(host, count, above);
        let below = share(host, count, self.levels.get(level + 1).map_or(0, |below| below.hosts));
        let children = first(level + 1) + below.start..first(level + 1) + below.end;
        Place { level, host, asker, parent: level.checked_sub(1).map(|above| first(above) + asker), children }
    }
}

/// The part of `count` things that number `index` of `of` gets when they are dealt out evenly and in order.
fn share(index: usize, of: usize, count: usize) -> Range<usize> {
    index * count / of..(index + 1) * count / of
}

/// Whose part number `index` of `count` things is, see [`share`].
fn owner(index: usize, count: usize, of: usize) -> usize {
    // the largest owner whose part begins at `index` or before
    ((index + 1) * of - 1) / count
}

/// A host below the root.
#[derive(Debug, Clone)]
struct Place {
    level: usize,
    /// Its place in the level.
    host: usize,
    /// The place in the level above of the host that asks it; 0 in the first level.
    asker: usize,
    /// The same as an index among all hosts; none in the first level, which a root asks.
    parent: Option<usize>,
    /// Those it asks, as indices among all hosts.
    children: Range<usize>,
}

/// The random numbers of a host for the requests of a root.
#[derive(Debug, Clone)]
struct Draws {
    query: Stream,
    answer: Stream,
    jitter: Stream,
}

impl Draws {
    fn new(streams: Streams, name: &str) -> Draws {
        let stream = |what: &str| streams.stream(&format!("{name}/{what}"));
        Draws { query: stream("query"), answer: stream("answer"), jitter: stream("jitter") }
    }
}

/// The requests of one run; see [`PartitionAggregate::requests`].
#[derive(Debug, Clone)]
pub struct Requests {
    tree: PartitionAggregate,
    arrivals: Flows,
    /// All hosts below the root, level by level.
    places: Vec<Place>,
    /// By root, then by host.
    draws: Vec<Vec<Draws>>,
    /// What is to be done, in order of time and then of when that became known.
    due: BinaryHeap<Reverse<(Time, u64, Task)>>,
    scheduled: u64,
    /// Requests of which something is still to be done, by root and number.
    running: BTreeMap<(usize, u64), Running>,
    answered: Vec<Request>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Task {
    root: usize,
    number: u64,
    what: What,
}

/// `None` stands for the root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    /// The host is asked.
    Ask(usize),
    /// The host answers.
    Answer(usize),
    /// The host waits no longer for those it asked.
    GiveUp(Option<usize>),
}

#[derive(Debug, Clone)]
struct Running {
    start: Time,
    /// The root: what it waits for.
    root: Waiting,
    size: u64,
    nodes: Vec<Node>,
    /// Hosts that have been asked and have not sent their answer.
    working: usize,
}

/// One that asks.
#[derive(Debug, Clone, Copy, Default)]
struct Waiting {
    /// Answers that have not come; 0 too when it has stopped waiting.
    missing: usize,
    /// When all it does is in vain.
    limit: Option<Time>,
    /// What of the leaves' answers it has.
    gathered: u64,
}

#[derive(Debug, Clone, Copy)]
struct Node {
    query: Bytes,
    answer: Bytes,
    jitter: Span,
    waiting: Waiting,
}

fn earlier(a: Option<Time>, b: Option<Time>) -> Option<Time> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

impl Requests {
    /// When something is to be done next; `None` if not before a message is complete.
    pub fn next_time(&mut self) -> Option<Time> {
        let due = self.due.peek().map(|Reverse((time, ..))| *time);
        earlier(self.arrivals.next_time(), due)
    }

    /// Does the next thing, at `now`, which is not before [`Requests::next_time`]: a message may start.
    ///
    /// # Panics
    /// If work ends that no request has: a bug.
    pub fn act(&mut self, now: Time) -> Option<Message> {
        let arrival = self.arrivals.next_time();
        let due = self.due.peek().map(|Reverse((time, ..))| *time);
        if let Some(time) = arrival
            && due.is_none_or(|due| time <= due)
        {
            let flow = self.arrivals.next()?;
            self.arrive(now, flow.source, flow.number);
            return None;
        }
        let Reverse((_, _, Task { root, number, what })) = self.due.pop()?;
        let message = match what {
            What::Ask(node) => Some(self.message(now, root, number, node, Way::Query)),
            What::Answer(node) => {
                let message = self.message(now, root, number, node, Way::Answer);
                self.running.get_mut(&(root, number)).expect("it has work to do").working -= 1;
                Some(message)
            }
            What::GiveUp(asker) => {
                self.give_up(now, root, number, asker);
                None
            }
        };
        self.forget(root, number);
        message
    }

    /// The message of `generator` and `number` was complete at `at`.
    pub fn completed(&mut self, at: Time, generator: u32, number: u64) {
        let hosts = self.places.len();
        let (root, message) = (generator as usize / (2 * hosts), generator as usize % (2 * hosts));
        let (node, answer) = (message / 2, message % 2 == 1);
        if !self.running.contains_key(&(root, number)) {
            return;
        }
        if answer {
            self.answered(at, root, number, node);
        } else {
            self.asked(at, root, number, node);
        }
        self.forget(root, number);
    }

    /// What became of all requests that have arrived, in order of their answers, those without one last.
    pub fn finish(mut self) -> Vec<Request> {
        for (&(root, number), running) in &self.running {
            if running.root.missing > 0 {
                self.answered.push(Request {
                    root,
                    number,
                    generator: self.generator_of_requests(root),
                    start: running.start,
                    end: None,
                    size: Bytes::new(running.size),
                    gathered: Bytes::new(running.root.gathered),
                });
            }
        }
        self.answered
    }

    /// Behind those of all messages.
    fn generator_of_requests(&self, root: usize) -> u32 {
        (2 * self.places.len() * self.tree.roots + root) as u32
    }

    fn schedule(&mut self, time: Time, root: usize, number: u64, what: What) {
        self.scheduled += 1;
        self.due.push(Reverse((time, self.scheduled, Task { root, number, what })));
    }

    fn running(&mut self, root: usize, number: u64) -> &mut Running {
        self.running.get_mut(&(root, number)).expect("the request is running")
    }

    fn arrive(&mut self, now: Time, root: usize, number: u64) {
        let mut size = 0_u64;
        let mut nodes = Vec::with_capacity(self.places.len());
        for (place, draws) in self.places.iter().zip(&mut self.draws[root]) {
            let level = &self.tree.levels[place.level];
            let query = self.tree.query.draw(&mut draws.query);
            let answer = level.answer.draw(&mut draws.answer);
            let jitter = level.jitter.picos();
            let jitter = if jitter == 0 { Span::ZERO } else { Span::from_picos(draws.jitter.below(jitter)) };
            if place.children.is_empty() {
                size = size.saturating_add(answer.get());
            }
            nodes.push(Node { query, answer, jitter, waiting: Waiting::default() });
        }
        let limit = self.tree.deadline.map(|after| now.saturating_add(after));
        let root_waits = Waiting { limit, ..Waiting::default() };
        self.running.insert((root, number), Running { start: now, root: root_waits, size, nodes, working: 0 });
        self.ask(now, root, number, None);
    }

    /// Those that `asker` asks.
    fn children(&self, asker: Option<usize>) -> Range<usize> {
        asker.map_or(0..self.tree.levels[0].hosts, |node| self.places[node].children.clone())
    }

    /// `asker` asks all of its own.
    fn ask(&mut self, now: Time, root: usize, number: u64, asker: Option<usize>) {
        let children = self.children(asker);
        let level = self.places[children.start].level;
        let within = self.tree.levels[level].deadline.map(|after| now.saturating_add(after));
        let running = self.running(root, number);
        let own = running.waiting(asker);
        own.missing = children.len();
        let limit = earlier(own.limit, within);
        running.working += children.len();
        for child in children.clone() {
            running.nodes[child].waiting.limit = limit;
        }
        for child in children {
            self.schedule(now, root, number, What::Ask(child));
        }
        if let Some(limit) = limit {
            self.schedule(limit, root, number, What::GiveUp(asker));
        }
    }

    /// The query of `node` has come.
    fn asked(&mut self, at: Time, root: usize, number: u64, node: usize) {
        let answer = self.running(root, number).nodes[node].answer;
        let late = self.running(root, number).nodes[node].waiting.limit.is_some_and(|limit| limit <= at);
        if self.places[node].children.is_empty() {
            self.running(root, number).nodes[node].waiting.gathered = answer.get();
            self.work(at, root, number, node);
        } else if late {
            // those below would answer in vain
            self.work(at, root, number, node);
        } else {
            self.ask(at, root, number, Some(node));
        }
    }

    /// `node` has all it will have, and answers when it has worked.
    fn work(&mut self, now: Time, root: usize, number: u64, node: usize) {
        let work = self.tree.levels[self.places[node].level].work;
        let jitter = self.running(root, number).nodes[node].jitter;
        self.schedule(now.saturating_add(work).saturating_add(jitter), root, number, What::Answer(node));
    }

    /// The answer of `node` has come.
    fn answered(&mut self, at: Time, root: usize, number: u64, node: usize) {
        let asker = self.places[node].parent;
        let running = self.running(root, number);
        let gathered = running.nodes[node].waiting.gathered;
        let own = running.waiting(asker);
        if own.missing == 0 {
            return;
        }
        own.gathered = own.gathered.saturating_add(gathered);
        own.missing -= 1;
        if own.missing == 0 {
            self.gathered(at, root, number, asker);
        }
    }

    fn give_up(&mut self, now: Time, root: usize, number: u64, asker: Option<usize>) {
        let Some(running) = self.running.get_mut(&(root, number)) else { return };
        let own = running.waiting(asker);
        if own.missing > 0 {
            own.missing = 0;
            self.gathered(now, root, number, asker);
        }
    }

    /// `asker` waits no longer: it has all, or has given up.
    fn gathered(&mut self, now: Time, root: usize, number: u64, asker: Option<usize>) {
        if let Some(node) = asker {
            return self.work(now, root, number, node);
        }
        let running = self.running(root, number);
        let (start, size, gathered) = (running.start, Bytes::new(running.size), Bytes::new(running.root.gathered));
        let generator = self.generator_of_requests(root);
        self.answered.push(Request { root, number, generator, start, end: Some(now), size, gathered });
        self.arrivals.completed(now, root as u32);
    }

    /// Forgets a request that is answered and for which nobody works any more.
    fn forget(&mut self, root: usize, number: u64) {
        if self.running.get(&(root, number)).is_some_and(|own| own.root.missing == 0 && own.working == 0) {
            self.running.remove(&(root, number));
        }
    }

    fn message(&mut self, now: Time, root: usize, number: u64, node: usize, way: Way) -> Message {
        let generator = (2 * (root * self.places.len() + node) + usize::from(way == Way::Answer)) as u32;
        let Place { level, host, asker, .. } = self.places[node];
        let own = self.running(root, number).nodes[node];
        let remaining = |limit: Time| Span::from_picos(limit.picos().saturating_sub(now.picos()).max(1));
        Message {
            way,
            level,
            host,
            asker: if level == 0 { root } else { asker },
            size: if way == Way::Query { own.query } else { own.answer },
            deadline: own.waiting.limit.filter(|_| way == Way::Answer).map(remaining),
            generator,
            number,
        }
    }
}

impl Running {
    fn waiting(&mut self, asker: Option<usize>) -> &mut Waiting {
        match asker {
            Some(node) => &mut self.nodes[node].waiting,
            None => &mut self.root,
        }
    }
}

#[cfg(test)]
mod tests;
