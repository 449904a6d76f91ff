//! What programs do with two-way connections: open, write, read, close.

use headway_engine::{EventClass, EventQueue, Source};
use headway_fabric::NoPath;
use headway_units::{Bytes, Time};

use crate::simulation::{Environment, FlowStart, Measure};
use crate::tcp::Tcp;
use crate::transport::Carrier;

/// Which end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum End {
    /// The flow's source, which opened it.
    Opener,
    /// The flow's destination.
    Acceptor,
}

/// One end of a two-way connection; good until [`SocketEvent::Closed`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Socket {
    pub(crate) connection: u32,
    /// Which end it is.
    pub end: End,
}

impl Socket {
    /// The other end.
    pub fn peer(self) -> Socket {
        let end = match self.end {
            End::Opener => End::Acceptor,
            End::Acceptor => End::Opener,
        };
        Socket { end, ..self }
    }
}

/// What a program hears of a socket, in the order of its happening.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SocketEvent {
    /// The handshake is over at this end. The acceptor hears of a connection by this.
    Connected,
    /// Something has arrived in order since the program last read.
    Readable,
    /// There is room in the send buffer after a write that found too little.
    Writable,
    /// All that the other end wrote is there, and it has closed its direction.
    PeerClosed,
    /// Both directions are closed, acknowledged and read. The socket is gone.
    Closed,
}

/// Events that programs have not heard of.
#[derive(Debug, Default)]
pub(crate) struct SocketEvents {
    waiting: Vec<(Socket, SocketEvent)>,
    /// Events of the queue set so far: tells those of one time apart.
    number: u32,
}

impl SocketEvents {
    /// Something has happened; programs hear of it when the network has done all else of this instant.
    pub fn note(&mut self, now: Time, socket: Socket, event: SocketEvent, queue: &mut EventQueue) {
        if self.waiting.is_empty() {
            self.number = self.number.wrapping_add(1);
            queue.push(now, Source::new(EventClass::Program, 0), self.number);
        }
        self.waiting.push((socket, event));
    }

    /// What has happened, in order.
    pub fn take(&mut self) -> Vec<(Socket, SocketEvent)> {
        std::mem::take(&mut self.waiting)
    }
}

/// All sockets of a run, as an application may use them while it is asked to act.
#[derive(Debug)]
pub struct Sockets<'a> {
    pub(crate) tcp: &'a mut Tcp,
    pub(crate) env: &'a mut Environment,
    pub(crate) carriers: &'a [Carrier],
    pub(crate) measure: &'a Measure,
}

impl Sockets<'_> {
    /// The time.
    pub fn now(&self) -> Time {
        self.env.now
    }

    /// Opens a two-way connection from the source to the destination of `start`, whose time is now and whose size is
    /// `None`: what is written decides. Its [`FlowEnd`](crate::FlowEnd) counts bytes delivered of both directions, and
    /// ends when both are closed.
    ///
    /// # Errors
    /// If the hosts have no path between them.
    ///
    /// # Panics
    /// If the profile is none of plain TCP (it has MPTCP or copies), or `start` has a size or another time.
    pub fn open(&mut self, start: FlowStart) -> Result<Socket, NoPath> {
        assert!(start.time == self.env.now && start.size.is_none(), "a socket opens now and ends when it is closed");
        let Carrier::Tcp(profile) = self.carriers[usize::from(start.profile)] else {
            panic!("two-way connections are TCP's")
        };
        assert!(self.tcp.carries_both_ways(profile), "two-way connections are plain TCP's");
        let flow = self.env.flows.start(start.time, start, 2, self.measure.samples(start.traffic));
        self.tcp.open_two_way(start.time, flow, profile, self.env)
    }

    /// The flow that a socket belongs to.
    pub fn flow(&self, socket: Socket) -> FlowStart {
        self.env.flows[self.tcp.flow_of(socket)].start
    }

    /// Writes `bytes`; gives how many the send buffer took. [`SocketEvent::Writable`] follows if that was less.
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
        self.tcp.shut(self.env.now, socket, &mut self.env.net);
    }
}
