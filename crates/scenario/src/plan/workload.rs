//! All flows of a run in one order: by time, at equal times in the order of the file.

use headway_transport::{Application, FlowEnd, FlowStart, Socket, SocketEvent, Sockets};
use headway_units::Time;

use super::event_builder::EventStarts;
use super::pooled::MessageStarts;
use super::traffic::Starts;
use super::tree::TreeStarts;
use super::web::WebStarts;

/// The traffic of one run.
pub struct Workload<'a> {
    /// In the order of the file.
    parts: Vec<Part<'a>>,
    /// Some of them use sockets.
    sockets: bool,
}

/// One traffic.
pub(super) enum Part<'a> {
    Flows(Starts<'a>),
    Messages(Box<MessageStarts<'a>>),
    Tree(Box<TreeStarts<'a>>),
    Events(Box<EventStarts<'a>>),
    Web(Box<WebStarts<'a>>),
}

impl Part<'_> {
    /// The place of its traffic among all.
    fn index(&self) -> u16 {
        match self {
            Part::Flows(starts) => starts.index(),
            Part::Messages(starts) => starts.index(),
            Part::Tree(starts) => starts.index(),
            Part::Events(starts) => starts.index(),
            Part::Web(starts) => starts.index(),
        }
    }

    /// When it acts next; nothing if not before a flow completes.
    fn next_time(&mut self) -> Option<Time> {
        match self {
            Part::Flows(starts) => starts.next_time(),
            Part::Messages(starts) => starts.next_time(),
            Part::Tree(starts) => starts.next_time(),
            Part::Events(starts) => starts.next_time(),
            Part::Web(starts) => starts.next_time(),
        }
    }

    /// Acts, at `now`, as its time has come: a flow may start.
    fn start(&mut self, now: Time) -> Option<FlowStart> {
        match self {
            Part::Flows(starts) => starts.start(now),
            Part::Tree(starts) => starts.start(now),
            Part::Events(starts) => starts.start(now),
            Part::Messages(_) | Part::Web(_) => None, // act on sockets
        }
    }

    /// Whether it sends over sockets, and not by flows.
    fn uses_sockets(&self) -> bool {
        match self {
            Part::Flows(_) | Part::Tree(_) => false,
            Part::Events(starts) => starts.uses_sockets(),
            Part::Messages(_) | Part::Web(_) => true,
        }
    }
}

impl<'a> Workload<'a> {
    pub(super) fn new(parts: impl Iterator<Item = Part<'a>>) -> Workload<'a> {
        let mut parts: Vec<Part> = parts.collect();
        parts.sort_by_key(Part::index);
        let sockets = parts.iter().any(Part::uses_sockets);
        Workload { parts, sockets }
    }

    /// The first to act, and when.
    fn first(&mut self) -> Option<(Time, &mut Part<'a>)> {
        let times = self.parts.iter_mut().enumerate().filter_map(|(place, part)| Some((part.next_time()?, place)));
        let (time, place) = times.min()?;
        Some((time, &mut self.parts[place]))
    }

    /// The web clients that a connection called `id` is of.
    fn web(&mut self, id: u64) -> Option<&mut WebStarts<'a>> {
        let index = traffic_of(id);
        self.parts.iter_mut().find_map(|part| match part {
            Part::Web(starts) if starts.index() == index => Some(&mut **starts),
            _ => None,
        })
    }

    /// Requests and events, which are reported beside flows when the run is over.
    pub fn finish(self) -> impl Iterator<Item = FlowEnd> + 'a {
        self.parts.into_iter().flat_map(|part| -> Box<dyn Iterator<Item = FlowEnd> + 'a> {
            match part {
                Part::Flows(_) => Box::new(std::iter::empty()),
                Part::Messages(starts) => Box::new(starts.finish()),
                Part::Tree(starts) => Box::new(starts.finish()),
                Part::Events(starts) => Box::new(starts.finish()),
                Part::Web(starts) => Box::new(starts.finish().into_iter()),
            }
        })
    }
}

/// The flows that nothing but time waits for.
impl Iterator for Workload<'_> {
    type Item = FlowStart;

    fn next(&mut self) -> Option<FlowStart> {
        let (time, first) = self.first()?;
        first.start(time)
    }
}

impl Application for Workload<'_> {
    fn next(&mut self) -> Time {
        self.first().map_or(Time::NEVER, |(time, _)| time)
    }

    fn act(&mut self, now: Time) -> Option<FlowStart> {
        self.first()?.1.start(now)
    }

    fn listens(&self) -> bool {
        self.parts.iter().any(|part| match part {
            Part::Flows(starts) => starts.waits(),
            Part::Tree(_) | Part::Events(_) => true,
            Part::Messages(_) | Part::Web(_) => false,
        })
    }

    fn completed(&mut self, at: Time, id: u64) {
        // as flows are named: traffic, generator, number
        let (traffic, generator, number) = (traffic_of(id), (id >> 32) as u32 & 0xf_ffff, id & 0xffff_ffff);
        let Some(part) = self.parts.iter_mut().find(|part| part.index() == traffic) else { return };
        match part {
            Part::Flows(starts) => starts.completed(at, generator),
            Part::Tree(starts) => starts.completed(at, generator, number),
            Part::Events(starts) => starts.completed(at, generator, number),
            Part::Messages(_) | Part::Web(_) => {}
        }
    }

    fn act_on_sockets(&mut self, now: Time, sockets: &mut Sockets<'_>) {
        if !self.sockets {
            return;
        }
        for part in &mut self.parts {
            match part {
                Part::Events(starts) => starts.act_on_sockets(now, sockets),
                Part::Messages(starts) => starts.act(now, sockets),
                Part::Web(starts) => starts.act(now, sockets),
                Part::Flows(_) | Part::Tree(_) => {}
            }
        }
    }

    fn on_socket(&mut self, now: Time, socket: Socket, event: SocketEvent, sockets: &mut Sockets<'_>) {
        let id = sockets.flow(socket).id;
        for part in self.parts.iter_mut().filter(|part| part.index() == traffic_of(id)) {
            match part {
                Part::Events(starts) => starts.on_socket(now, socket, event, sockets),
                Part::Messages(starts) => starts.on_socket(now, (socket, id), event, sockets),
                Part::Web(starts) => starts.on_socket(now, (socket, id), event, sockets),
                Part::Flows(_) | Part::Tree(_) => {}
            }
        }
    }

    fn worked(&mut self, now: Time, tag: u64, sockets: &mut Sockets<'_>) {
        if let Some(web) = self.web(tag) {
            web.worked(now, tag, sockets);
        }
    }
}

/// The place of the traffic whose flow is called `id`.
fn traffic_of(id: u64) -> u16 {
    (id >> 52) as u16
}
