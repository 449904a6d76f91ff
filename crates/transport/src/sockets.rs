//! What programs do with two-way connections: open, write, read, close.

use headway_fabric::{NoPath, NodeId};
use headway_units::{Bytes, Span, Time};

use crate::environment::Environment;
use crate::flows::FlowStart;
use crate::host::{Task, Whose};
use crate::measure::Measure;
use crate::server::{Exchange, Servers};
use crate::socket::{Owner, Socket};
use crate::tcp::Tcp;
use crate::tcp::sender::SenderCounters;
use crate::transport::Carrier;
use crate::waits::PacketWaits;

/// All sockets of a run, as an application may use them while it is asked to act.
#[derive(Debug)]
pub struct Sockets<'a> {
    pub(crate) tcp: &'a mut Tcp,
    pub(crate) env: &'a mut Environment,
    pub(crate) servers: &'a mut Servers,
    pub(crate) carriers: &'a [Carrier],
    pub(crate) measure: &'a Measure,
}

/// What a connection had to repair, and how long its packets waited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Troubles {
    /// Segments retransmitted, but for SYNs.
    pub retransmissions: u32,
    /// Retransmission time-outs, of SYN included.
    pub timeouts: u32,
    /// ECN echoes received.
    pub marks: u32,
    /// How long packets with data waited; `None` if that was not [asked for](crate::Simulation::measure_waits).
    pub waits: Option<PacketWaits>,
}

impl Sockets<'_> {
    /// The time.
    pub fn now(&self) -> Time {
        self.env.now
    }

    /// Opens a two-way connection from the source to the destination of `start`, whose time is now and whose size is
    /// `None`: what is written decides. Its [`FlowEnd`](crate::FlowEnd) counts bytes delivered of both directions, and
    /// ends when both are closed and read; [`Application::completed`](crate::Application::completed) is not told of it.
    ///
    /// # Errors
    /// If the hosts have no path between them.
    ///
    /// # Panics
    /// If the profile is none of plain TCP (it has MPTCP or copies), or `start` has a size or another time.
    pub fn open(&mut self, start: FlowStart) -> Result<Socket, NoPath> {
        let flow = self.env.flows.start(start.time, start, 2, self.measure.samples(start.traffic));
        self.open_for(flow, start)
    }

    /// As [`Sockets::open`], to the server of the destination, which is asked for things with [`Sockets::ask`]: the
    /// other end's events are the server's. No [`FlowEnd`](crate::FlowEnd) tells of it. A host that is no server yet
    /// is one from now on that takes no time ([`ServerModel::default`](crate::ServerModel)).
    ///
    /// # Errors
    /// If the hosts have no path between them.
    ///
    /// # Panics
    /// As [`Sockets::open`].
    pub fn connect(&mut self, start: FlowStart) -> Result<Socket, NoPath> {
        let flow = self.env.flows.start_internal(start.time, start);
        let socket = self.open_for(flow, start)?;
        self.servers.expect(socket, start.destination, self.tcp);
        Ok(socket)
    }

    fn open_for(&mut self, flow: u32, start: FlowStart) -> Result<Socket, NoPath> {
        assert!(start.time == self.env.now && start.size.is_none(), "a socket opens now and ends when it is closed");
        let Carrier::Tcp(profile) = self.carriers[usize::from(start.profile)] else {
            panic!("two-way connections are TCP's")
        };
        assert!(self.tcp.carries_both_ways(profile), "two-way connections are plain TCP's");
        self.tcp.open_two_way(start.time, flow, ([profile; 2], 0), Owner::Program, self.env)
    }

    /// Writes a request to a server and says what it answers. Requests of a connection are answered one after another.
    ///
    /// # Panics
    /// If `socket` was not opened by [`Sockets::connect`], has been closed, or has no room for the request.
    pub fn ask(&mut self, socket: Socket, exchange: Exchange) {
        if self.tcp.is_gone(socket) {
            return; // it will hear of the reset
        }
        self.servers.ask(socket, exchange);
        let written = self.tcp.write(self.env.now, socket, exchange.request.get(), &mut self.env.net);
        assert_eq!(written, exchange.request.get(), "a request fits into the send buffer");
    }

    /// Gives the core that runs process `process` of `host` work, behind what it has; [`Application::worked`] is told
    /// `tag` when that is done. Processes go round the cores. Says false if the host has no model: then nothing takes time
    /// there, and nobody is told.
    ///
    /// [`Application::worked`]: crate::Application::worked
    pub fn work(&mut self, host: NodeId, process: u32, cost: Span, tag: u64) -> bool {
        let task = Task { cost, whose: Whose::Program, tag };
        self.env.net.hosts.add_task(self.env.now, (host, process), task, &mut self.env.net.queue)
    }

    /// Gives the connection up and tells the other end so, by a reset. The socket is gone.
    pub fn abort(&mut self, socket: Socket) {
        self.tcp.abort(self.env.now, socket, self.env);
    }

    /// What the connection of a socket had to repair so far, and how long its packets waited, both ways.
    pub fn troubles(&self, socket: Socket) -> Troubles {
        let SenderCounters { retransmissions, timeouts, marks } = self.tcp.counters(socket.connection);
        let waits = self.env.flows[self.tcp.flow_of(socket)].waits();
        Troubles { retransmissions, timeouts, marks, waits }
    }

    /// How long `bytes` that this end writes take to the other one over the idle network, with windows that never limit.
    pub fn ideal(&self, socket: Socket, bytes: Bytes) -> Span {
        self.tcp.ideal(socket, bytes, self.env)
    }

    /// The flow that a socket belongs to.
    pub fn flow(&self, socket: Socket) -> FlowStart {
        self.env.flows[self.tcp.flow_of(socket)].start
    }

    /// Writes `bytes`; gives how many the send buffer took. [`SocketEvent::Writable`](crate::SocketEvent::Writable) follows if that was less.
    ///
    /// # Panics
    /// If this end has been closed.
    pub fn write(&mut self, socket: Socket, bytes: Bytes) -> Bytes {
        Bytes::new(self.tcp.write(self.env.now, socket, bytes.get(), &mut self.env.net))
    }

    /// Bytes in order that have not been read.
    pub fn unread(&self, socket: Socket) -> Bytes {
        Bytes::new(self.tcp.unread(socket))
    }

    /// Reads at most `most` bytes; gives how many there were. What is not read keeps the window closed.
    pub fn read(&mut self, socket: Socket, most: Bytes) -> Bytes {
        Bytes::new(self.tcp.read(self.env.now, socket, most.get(), self.env))
    }

    /// Closes this end's direction: FIN follows the last byte written. The other direction goes on.
    pub fn close(&mut self, socket: Socket) {
        if !self.tcp.is_gone(socket) {
            self.tcp.shut(self.env.now, socket, &mut self.env.net);
        }
    }
}
