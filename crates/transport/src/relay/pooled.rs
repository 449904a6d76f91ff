//! Sessions on connections of a pool: taking one, the records before and behind the data, and giving it back.

use headway_fabric::{NoPath, NodeId};

use super::plan::{Party, RelayOpen, direction};
use super::pool::{CLOSE, OPEN};
use super::session::{Passage, Records, Segment, Way, at};
use super::{Relays, Rest};
use crate::flows::FlowStart;
use crate::socket::{End, Owner, Socket, SocketEvent};
use crate::tcp::Tcp;

impl Relays {
    /// Opens the connections that are kept from the start on.
    pub fn warm_up(&mut self, rest: &mut Rest<'_>) -> Result<(), NoPath> {
        if std::mem::replace(&mut self.warmed, true) {
            return Ok(());
        }
        for relay in 0..self.settings.len() as u16 {
            let hosts = self.settings[usize::from(relay)].hosts.clone();
            for &host in &hosts {
                self.warm_up_from(host, relay, rest)?;
            }
        }
        Ok(())
    }

    /// Opens what is missing of the connections of one relay to the other.
    pub(super) fn warm_up_from(&mut self, from: NodeId, relay: u16, rest: &mut Rest<'_>) -> Result<(), NoPath> {
        let own = &self.settings[usize::from(relay)];
        let Some(&to) = own.hosts.iter().find(|&&other| other != from) else { return Ok(()) };
        let warm = own.warm;
        if warm == 0 {
            return Ok(());
        }
        let pool = self.pools.of(from, to, relay);
        for _ in self.kept(pool, rest.tcp)..warm {
            let (connection, pooled) = self.open_pooled(pool, None, rest)?;
            rest.tcp.set_owner(connection, Owner::Pool(pooled));
        }
        Ok(())
    }

    /// Connections of a pool that its relay knows.
    fn kept(&self, pool: u32, tcp: &Tcp) -> u32 {
        let known = |place: u32| {
            let pooled = self.pools.all[place as usize];
            let opener = Socket { connection: pooled.connection, end: End::Opener };
            pooled.pool == pool && !self.pools.slots.free.contains(&place) && !tcp.is_gone(opener)
        };
        (0..self.pools.all.len() as u32).filter(|&place| known(place)).count() as u32
    }

    /// … of all pools from `host`.
    #[cfg(test)]
    pub fn kept_by(&self, host: NodeId, tcp: &Tcp) -> u32 {
        let own = (0..self.pools.each.len() as u32).filter(|&pool| self.pools.each[pool as usize].from == host);
        own.map(|pool| self.kept(pool, tcp)).sum()
    }

    /// Opens a connection of a pool, for a session or for later ones.
    fn open_pooled(&mut self, pool: u32, session: Option<u32>, rest: &mut Rest<'_>) -> Result<(u32, u32), NoPath> {
        let own = &self.pools.each[pool as usize];
        let (from, to, relay) = (own.from, own.to, own.relay);
        let index = self.plans.iter().position(|plan| plan.relay == relay).expect("a pool is of a plan");
        let first = self.plans[index].profiles;
        let start = FlowStart {
            time: rest.now,
            // no flow of the user is called like that
            id: u64::MAX - self.pools.opened,
            traffic: 0,
            source: from,
            destination: to,
            size: None,
            deadline: None,
            profile: index as u16,
        };
        self.pools.opened += 1;
        let flow = rest.env.flows.start_internal(rest.now, start);
        let profile = first + direction(Party::Long, Party::Long);
        let owner = session.map_or(Owner::Program, Owner::Session);
        let socket = rest.tcp.open_two_way(rest.now, flow, ([profile; 2], 0), owner, rest.env)?;
        rest.tcp.ask_before_accepting(socket);
        Ok((socket.connection, self.pools.add(socket.connection, pool)))
    }

    /// Something has happened at a connection that no session has.
    pub(super) fn on_pooled_event(&mut self, place: u32, socket: Socket, event: SocketEvent, rest: &mut Rest<'_>) {
        match event {
            // lost in a crash of this instant
            SocketEvent::Asked | SocketEvent::Connected if rest.tcp.is_gone(socket) => {}
            SocketEvent::Asked => {
                let pooled = self.pools.all[place as usize];
                let host = self.pools.each[pooled.pool as usize].to;
                if self.crashes.refuses(host) {
                    rest.tcp.abort(rest.now, socket, rest.env);
                } else {
                    rest.tcp.accept(rest.now, socket.connection, rest.env);
                }
            }
            SocketEvent::Connected if socket.end == End::Opener => self.pools.free(place),
            SocketEvent::Closed if socket.end == End::Opener => self.pools.remove(place),
            SocketEvent::Reset => self.pools.withdraw(place),
            _ => {}
        }
    }

    /// The relay at `stop` takes a connection to the next relay for a session.
    pub(super) fn take_pooled(&mut self, place: u32, stop: usize, rest: &mut Rest<'_>) {
        let session = &self.sessions[place as usize];
        let relay = self.plans[usize::from(session.plan)].relay;
        let (from, to) = (session.chain.stops[stop], session.chain.stops[stop + 1]);
        let waits = self.opens(place) == RelayOpen::EndToEnd;
        let pool = self.pools.of(from, to, relay);
        let free = self.pools.each[pool as usize].free.pop();
        let (connection, pooled) = match free {
            Some(pooled) => (self.pools.all[pooled as usize].connection, pooled),
            None => self.open_pooled(pool, Some(place), rest).expect("the chain was found when the flow began"),
        };
        rest.tcp.set_owner(connection, Owner::Session(place));
        let mut segment = Segment::new(connection);
        segment.before = rest.tcp.counters(connection);
        segment.open = [free.is_some(); 2];
        segment.pooled = Some(pooled);
        segment.records = Some(Records::new([if waits { OPEN } else { 0 }, OPEN], CLOSE));
        let session = &mut self.sessions[place as usize];
        session.opened += 1;
        session.segments[stop] = Some(segment);
        if free.is_some() {
            self.write_open(place, stop, End::Opener, rest);
            self.forward(place, stop, Way::Forth, rest);
        }
    }

    /// Writes the record before the data, as far as there is room: what the session before wrote may not be acknowledged.
    pub(super) fn write_open(&mut self, place: u32, segment: usize, writer: End, rest: &mut Rest<'_>) {
        let Some(own) = self.sessions[place as usize].segments[segment].as_mut() else { return };
        if let Some(records) = own.records.as_mut() {
            records.unsent[at(writer.other())] = OPEN;
            self.write_head(place, segment, writer, rest);
        }
    }

    /// Writes what the send buffer takes of the record before the data; says whether that is all of it, or there is none.
    pub(super) fn write_head(&mut self, place: u32, segment: usize, writer: End, rest: &mut Rest<'_>) -> bool {
        let Some(own) = self.sessions[place as usize].segments[segment].as_mut() else { return false };
        let (socket, Some(records)) = (own.socket(writer), own.records.as_mut()) else { return true };
        let left = &mut records.unsent[at(writer.other())];
        if *left > 0 {
            *left -= rest.tcp.write(rest.now, socket, *left, &mut rest.env.net);
        }
        *left == 0
    }

    /// Reads what is there of the record before the data; says whether that is all of it.
    pub(super) fn read_head(&mut self, place: u32, passage: Passage, rest: &mut Rest<'_>) -> bool {
        let (segment, reader) = passage.from;
        let Some(own) = self.sessions[place as usize].segments[segment].as_mut() else { return false };
        let (socket, Some(records)) = (own.socket(reader), own.records.as_mut()) else { return true };
        let left = &mut records.head[at(reader)];
        *left -= rest.tcp.read(rest.now, socket, *left, rest.env);
        if *left > 0 {
            return false;
        }
        match reader {
            End::Acceptor => {
                own.open[at(End::Acceptor)] = true;
                self.go_on(place, segment + 1, rest);
            }
            End::Opener => self.answer_before(place, segment, rest),
        }
        true
    }

    /// Writes what the send buffer takes of the record behind the data.
    pub(super) fn write_tail(&mut self, place: u32, segment: usize, writer: End, rest: &mut Rest<'_>) {
        let Some(own) = self.sessions[place as usize].segments[segment].as_mut() else { return };
        let (socket, Some(records)) = (own.socket(writer), own.records.as_mut()) else { return };
        let left = &mut records.unwritten[at(writer.other())];
        if *left > 0 {
            *left -= rest.tcp.write(rest.now, socket, *left, &mut rest.env.net);
        }
    }

    /// Reads what is there of the record behind the data; says whether that is all of it, or there is none.
    pub(super) fn read_tail(&mut self, place: u32, segment: usize, reader: End, rest: &mut Rest<'_>) -> bool {
        let Some(own) = self.sessions[place as usize].segments[segment].as_mut() else { return false };
        let (socket, Some(records)) = (own.socket(reader), own.records.as_mut()) else { return true };
        let left = &mut records.tail[at(reader)];
        if *left > 0 {
            *left -= rest.tcp.read(rest.now, socket, *left, rest.env);
        }
        *left == 0
    }

    /// Gives a pooled connection back of which all records are read.
    pub(super) fn return_if_over(&mut self, place: u32, segment: usize, rest: &mut Rest<'_>) {
        let over = |own: &Segment| own.records.is_some_and(|records| records.is_over());
        if !self.sessions[place as usize].segments[segment].as_ref().is_some_and(over) {
            return;
        }
        self.leave(place, segment, rest);
        let Some(own) = self.sessions[place as usize].segments[segment].take() else { return };
        let pooled = own.pooled.expect("records are of a pooled connection");
        rest.tcp.set_owner(own.connection, Owner::Pool(pooled));
        self.pools.free(pooled);
        self.end_if_over(place, rest);
    }
}
