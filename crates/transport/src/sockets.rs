//! What programs do with two-way connections: open, write, read, close.

use headway_fabric::NoPath;
use headway_units::{Bytes, Time};

use crate::environment::Environment;
use crate::flows::FlowStart;
use crate::measure::Measure;
use crate::socket::{Owner, Socket};
use crate::tcp::Tcp;
use crate::transport::Carrier;

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
    /// ends when both are closed and read; [`Application::completed`](crate::Application::completed) is not told of it.
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
        self.tcp.open_two_way(start.time, flow, ([profile; 2], 0), Owner::Program, self.env)
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
        self.tcp.shut(self.env.now, socket, &mut self.env.net);
    }
}
