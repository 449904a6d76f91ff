//! Events that are built from the fragments of many hosts.

use std::path::Path;

use headway_engine::Streams;
use headway_traffic::app::{Credits, Event, EventBuilder, EventError, Events, Fragment, Overflow, Part, Transfer};
use headway_transport::{FlowEnd, FlowStart, Profile, Socket, SocketEvent, Sockets};
use headway_units::Time;

use super::error::PlanError;
use super::messages::Connections;
use super::network::{Hosts, Network};
use super::offered::{Offered, Round};
use super::traffic::{arrival, check_interface, check_lanes, check_paths, fewest_interfaces};
use crate::schema::{self, EventBuilderRecord, PolicyRecord, Reported, ScenarioRecord, TransferRecord};

/// More connections than this are a mistake in the numbers of hosts.
const MOST_CONNECTIONS: usize = 1 << 20;

/// Readers and builders with their hosts.
#[derive(Debug, Clone)]
pub(super) struct EventBuilding {
    /// Its place among all traffic.
    pub index: u16,
    name: String,
    /// The place of its first name among those by which flows are reported.
    first: u16,
    reported: Vec<Reported>,
    app: EventBuilder,
    readers: Hosts,
    builders: Hosts,
    persistent: bool,
}

impl EventBuilding {
    pub fn build(
        name: &str,
        record: &EventBuilderRecord,
        (index, first): (usize, usize),
        scenario: &ScenarioRecord,
        network: &Network,
        folder: &Path,
    ) -> Result<EventBuilding, PlanError> {
        let number = index.to_string();
        let fault = |key: &str, message: String| PlanError::new(&["traffic", &number, key], message);
        let (readers, builders) = (network.group(&record.readers).to_vec(), network.group(&record.builders).to_vec());
        let fragment = record.fragment.0.size(folder).map_err(|message| fault("fragment", message))?;
        let stop = record.stop.unwrap_or(scenario.duration).min(scenario.duration);
        let app = EventBuilder {
            name: name.to_owned(),
            readers: readers.len(),
            builders: builders.len(),
            fragment: fragment.ok_or_else(|| fault("fragment", "a fragment without end is none".to_owned()))?,
            transfer: match &record.transfer {
                TransferRecord::Push(_) => Transfer::Push,
                TransferRecord::Pull(own) => Transfer::Pull(Credits {
                    slots: own.slots as usize,
                    fragments: own.fragments.map(|most| most as usize),
                    request: own.request,
                    work: own.work,
                }),
            },
            arrival: arrival(&record.arrival).ok_or_else(|| fault("arrival", "events make up no load".to_owned()))?,
            skew: record.skew,
            jitter: record.jitter,
            buffer: record.buffer,
            overflow: match record.overflow {
                schema::Overflow::Lose => Overflow::Lose,
                schema::Overflow::Throttle => Overflow::Throttle,
            },
            start: Time::ZERO + record.start,
            stop: Time::ZERO + stop,
        };
        check_paths(&readers, &builders, network)
            .and_then(|()| check_paths(&builders, &readers, network))
            .map_err(|message| fault("builders", message))?;
        let connections = readers.len().saturating_mul(builders.len());
        let persistent = record.connections == schema::Connections::Persistent;
        if persistent && connections > MOST_CONNECTIONS {
            let message = format!("`traffic.{name}` has {connections} connections, more than {MOST_CONNECTIONS}");
            return Err(fault("builders", message).help("take fewer hosts, or connections = \"per-fragment\""));
        }
        // What could be wrong with it is wrong for any seed.
        app.events(Streams::new(0)).map_err(|error| {
            let key = if matches!(error, EventError::Arrival(_)) { "arrival" } else { "readers" };
            fault(key, format!("traffic `{name}`: {error}"))
        })?;
        let (index, first, reported) = (index as u16, first as u16, record.reported());
        Ok(EventBuilding { index, name: name.to_owned(), first, reported, app, readers, builders, persistent })
    }

    /// An interface that is asked for must be there, and lanes need a subflow left for long flows.
    pub fn check_transport(
        &self,
        profile: &Profile,
        network: &Network,
        policy: &PolicyRecord,
        index: usize,
    ) -> Result<(), PlanError> {
        let ends = [&self.readers, &self.builders];
        check_interface(&self.name, fewest_interfaces(ends, network), profile, policy, index)?;
        check_lanes(&self.name, ends, profile, network, &index.to_string())
    }

    /// What it is expected to send in a run: a fragment of each reader for every event, and what asks for them.
    pub fn offers(&self, round: &Round<'_>) -> Vec<Offered<'_>> {
        let (start, stop) = (self.app.start, self.app.stop);
        let bytes = self.app.fragment.mean().get() as f64;
        let takes = round(&self.readers, &self.builders, bytes);
        let events = self.app.arrival.expected(stop.since(start), takes);
        let readers = self.readers.len() as f64;
        let offered = |sources, destinations, bytes| Offered {
            traffic: self.index,
            sources,
            destinations,
            flows: events * readers,
            at_once: readers,
            bytes: Some(bytes),
            start,
            stop,
            waits: self.app.arrival.waits(),
        };
        let mut all = vec![offered(&self.readers[..], &self.builders[..], bytes)];
        if let Transfer::Pull(credits) = &self.app.transfer {
            all.push(offered(&self.builders, &self.readers, credits.request.get() as f64));
        }
        all
    }

    /// The numbers that its flows have.
    pub fn numbers(&self) -> std::ops::Range<u16> {
        self.first..self.first + self.reported.len() as u16
    }

    /// The number that flows of one sort have.
    fn number(&self, of: Reported) -> u16 {
        let place = self.reported.iter().position(|&one| one == of).expect("it is reported");
        self.first + place as u16
    }

    /// Its events in one run.
    pub fn starts(&self, streams: Streams) -> EventStarts<'_> {
        let events = self.app.events(streams).expect("checked when it was planned");
        let [_, generator] = self.app.of_events();
        let connections = self.persistent.then(|| {
            let start = |reader: usize, builder: usize| FlowStart {
                time: Time::ZERO,
                id: self.id(generator, (reader * self.builders.len() + builder) as u64),
                traffic: self.number(Reported::Connection),
                source: self.readers[reader],
                destination: self.builders[builder],
                size: None,
                deadline: None,
                profile: self.index,
            };
            let all =
                (0..self.readers.len()).flat_map(|reader| (0..self.builders.len()).map(move |b| start(reader, b)));
            Connections::new(all.collect(), self.builders.len())
        });
        EventStarts { own: self, events, connections }
    }

    fn id(&self, generator: u32, number: u64) -> u64 {
        u64::from(self.index) << 52 | u64::from(generator) << 32 | number
    }

    /// The flow of a message.
    fn flow(&self, now: Time, message: &Fragment) -> FlowStart {
        let (reader, builder) = (self.readers[message.reader], self.builders[message.builder]);
        let (of, source, destination) = match message.part {
            Part::Fragment => (Reported::Fragment, reader, builder),
            Part::Request => (Reported::Request, builder, reader),
        };
        FlowStart {
            time: now,
            id: self.id(self.app.generator(message.part, message.reader), message.event),
            traffic: self.number(of),
            source,
            destination,
            size: Some(message.size),
            deadline: None,
            profile: self.index,
        }
    }

    /// An event, as a flow from its builder to itself.
    fn end(&self, event: &Event) -> FlowEnd {
        let builder = self.builders[event.builder];
        let [generator, _] = self.app.of_events();
        let start = FlowStart {
            time: event.start,
            id: self.id(generator, event.number),
            traffic: self.number(if event.lost { Reported::Lost } else { Reported::Event }),
            source: builder,
            destination: builder,
            size: Some(event.size),
            deadline: None,
            profile: self.index,
        };
        FlowEnd::new(start, event.end, event.gathered.get())
    }
}

/// The events of one run, with what carries them.
pub(super) struct EventStarts<'a> {
    own: &'a EventBuilding,
    events: Events,
    /// None where each message is a flow.
    connections: Option<Connections>,
}

impl<'a> EventStarts<'a> {
    pub fn index(&self) -> u16 {
        self.own.index
    }

    pub fn uses_sockets(&self) -> bool {
        self.connections.is_some()
    }

    pub fn next_time(&mut self) -> Option<Time> {
        let opens = self.connections.as_ref().and_then(Connections::next_time);
        match (self.events.next_time(), opens) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        }
    }

    /// A flow may start, where messages are flows.
    pub fn start(&mut self, now: Time) -> Option<FlowStart> {
        if self.connections.is_some() {
            // done on sockets
            return None;
        }
        let message = self.events.act(now)?;
        Some(self.own.flow(now, &message))
    }

    pub fn completed(&mut self, at: Time, generator: u32, number: u64) {
        if let Some((part, reader)) = self.own.app.message(generator) {
            self.events.arrived(at, part, number, reader);
        }
    }

    /// Opens the connections whose time has come, and sends what is to be sent.
    pub fn act_on_sockets(&mut self, now: Time, sockets: &mut Sockets<'_>) {
        let Some(connections) = &mut self.connections else { return };
        connections.open(now, sockets);
        while self.events.next_time().is_some_and(|next| next <= now) {
            let Some(message) = self.events.act(now) else { continue };
            let place = message.reader * self.own.builders.len() + message.builder;
            connections.send(place, message.part == Part::Fragment, (message.event, message.size), sockets);
        }
    }

    /// Something has happened on a connection.
    pub fn on_socket(&mut self, now: Time, socket: Socket, event: SocketEvent, sockets: &mut Sockets<'_>) {
        let Some(connections) = &mut self.connections else { return };
        let place = (sockets.flow(socket).id & 0xffff_ffff) as usize;
        let reader = place / self.own.builders.len();
        connections.on_socket(place, socket, event, sockets, &mut |forth, message| {
            let part = if forth { Part::Fragment } else { Part::Request };
            self.events.arrived(now, part, message, reader);
        });
    }

    /// Its events, as flows.
    pub fn finish(self) -> impl Iterator<Item = FlowEnd> + 'a {
        let own = self.own;
        self.events.finish().into_iter().map(move |event| own.end(&event))
    }
}
