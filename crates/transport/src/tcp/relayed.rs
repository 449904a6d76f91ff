//! What relays ask of connections beyond what programs do: to decide on SYN, and to look at them.

use headway_fabric::{Choice, LinkId, NoPath, flow_hash};
use headway_units::{Bytes, Span, Time};

use super::Tcp;
use super::connection::SynAnswer;
use super::profile::Profile;
use super::sampling::sample_sender;
use super::sender::SenderCounters;
use crate::environment::Environment;
use crate::flows::FlowStart;
use crate::ideal::ideal;
use crate::measure::{Round, SampleKind, SampleOf};
use crate::ports::SERVICE;
use crate::socket::{Owner, Socket, SocketEvent};

impl Tcp {
    /// Whose a socket is.
    pub fn owner(&self, socket: Socket) -> Owner {
        self.connections[socket.connection as usize].stream().owner
    }

    /// Gives a connection to another owner.
    pub fn set_owner(&mut self, connection: u32, owner: Owner) {
        self.connections[connection as usize].stream_mut().owner = owner;
    }

    /// The owner of the connection that `opener` opens, now, is asked before its SYN is answered.
    pub fn ask_before_accepting(&mut self, opener: Socket) {
        self.connections[opener.connection as usize].stream_mut().answer = SynAnswer::Asks;
    }

    /// SYN has come to an acceptor that is asked; once is enough.
    #[cold]
    pub(super) fn ask(&mut self, now: Time, forth: u32, env: &mut Environment) {
        let answer = &mut self.connections[forth as usize].stream_mut().answer;
        if std::mem::replace(answer, SynAnswer::Asked) == SynAnswer::Asks {
            self.sockets.note(now, self.socket(forth, false), SocketEvent::Asked, &mut env.net.queue);
        }
    }

    /// Whether SYN has come and was not answered.
    pub fn is_asked(&self, connection: u32) -> bool {
        self.connections[connection as usize].stream().answer == SynAnswer::Asked
    }

    /// Whether SYN was not answered, or has not come.
    pub fn is_unaccepted(&self, connection: u32) -> bool {
        self.connections[connection as usize].stream().answer != SynAnswer::AtOnce
    }

    /// The acceptor has forgotten that it was asked: the next SYN asks again.
    pub fn forget_asking(&mut self, connection: u32) {
        self.connections[connection as usize].stream_mut().answer = SynAnswer::Asks;
    }

    /// The acceptor of a connection that has asked answers SYN.
    pub fn accept(&mut self, now: Time, connection: u32, env: &mut Environment) {
        let own = &mut self.connections[connection as usize];
        let stream = own.stream_mut();
        stream.answer = SynAnswer::AtOnce;
        stream.note_syn_ack(now);
        let inflow = own.two_way_inflow();
        let profile = &self.profiles[usize::from(own.profile)];
        let subflow = own.subflows.as_slice()[0];
        self.receivers[subflow as usize].accept_syn(now, inflow, profile, &mut env.net);
    }

    /// What `socket` may write now.
    pub fn space(&self, socket: Socket) -> u64 {
        let connection = &self.connections[self.outgoing(socket) as usize];
        connection.space(&self.profiles[usize::from(connection.profile)])
    }

    /// `socket` wants to hear of room in its send buffer ([`SocketEvent::Writable`]).
    pub fn await_room(&mut self, socket: Socket) {
        let place = self.outgoing(socket);
        self.connections[place as usize].stream_mut().waits = true;
    }

    /// Bytes that `socket` has written and that are not acknowledged.
    #[cfg(test)]
    pub fn unacknowledged(&self, socket: Socket) -> u64 {
        let connection = &self.connections[self.outgoing(socket) as usize];
        connection.total - connection.una
    }

    /// All that both directions of a connection did so far.
    pub fn counters(&self, connection: u32) -> SenderCounters {
        let twin = self.connections[connection as usize].stream().twin;
        let each = [connection, twin].map(|one| self.senders[self.subflow_of(one) as usize].counters);
        SenderCounters {
            retransmissions: each[0].retransmissions + each[1].retransmissions,
            timeouts: each[0].timeouts + each[1].timeouts,
            marks: each[0].marks + each[1].marks,
        }
    }

    /// The time that `size` bytes written at `socket` take over the idle network.
    pub fn ideal(&self, socket: Socket, size: Bytes, env: &Environment) -> Span {
        let place = self.outgoing(socket);
        let profile = &self.profiles[usize::from(self.connections[place as usize].profile)];
        let route = self.senders[self.subflow_of(place) as usize].route;
        let path: Vec<LinkId> = env.net.fabric.routes.ports(route).collect();
        ideal(&env.graph, &path, size, (profile.mss, profile.overhead))
    }

    /// Gives `push` what `round` wants of the opener's direction, once it is open, but for goodput.
    pub fn sample_window(
        &self,
        connection: u32,
        of: SampleOf,
        round: &Round,
        push: &mut impl FnMut(SampleKind, SampleOf, f64),
    ) {
        sample_sender(&self.senders[self.subflow_of(connection) as usize], of, round, push);
    }

    /// Bytes of the opener's direction that have arrived, in order or not.
    pub fn arrived(&self, connection: u32) -> u64 {
        self.connections[connection as usize].arrived
    }

    /// The interfaces that the flow `start` would have at both ends if nothing were between, and how long it would take
    /// on the idle network.
    pub fn direct(&self, start: &FlowStart, profile: &Profile, env: &mut Environment) -> Result<Option<Span>, NoPath> {
        let (ours, theirs) = (env.graph.interfaces(start.source), env.graph.interfaces(start.destination));
        if ours.is_empty() || theirs.is_empty() {
            return Err(NoPath::SameHost { host: start.source });
        }
        let pairs = ours.len().min(theirs.len());
        let pair = self.ports.pair(start.id, 0, pairs, profile.interface);
        let (from, to) = (ours[pair], theirs[pair]);
        let hash = flow_hash(from, to, self.ports.port(start.id, 0, 0), SERVICE);
        let mut path: Vec<LinkId> = std::mem::take(&mut env.scratch);
        let found = env.find_path(None, (from, to), Choice::Ecmp(hash), &mut path);
        let own = (profile.mss, profile.overhead);
        let span = start.size.filter(|_| found.is_ok()).map(|size: Bytes| ideal(&env.graph, &path, size, own));
        env.scratch = path;
        found.map(|()| span)
    }
}
