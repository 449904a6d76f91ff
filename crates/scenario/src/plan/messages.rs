//! Messages over two-way connections that stay open: a stream of bytes each way, whose ends know what comes in which order.

use std::collections::VecDeque;

use headway_transport::{End, FlowStart, Socket, SocketEvent, Sockets};
use headway_units::{Bytes, Span, Time};

/// Time between the connections of two hosts, so that a thousand handshakes do not meet in one queue.
const BETWEEN: Span = Span::from_micros(10);

/// One direction of a connection.
#[derive(Debug, Default)]
struct Channel {
    /// Bytes that the send buffer has not taken.
    unwritten: u64,
    /// Messages that are not there, in order, with the bytes still to come of each.
    messages: VecDeque<(u64, u64)>,
}

#[derive(Debug, Default)]
struct Connection {
    /// The opener's end; none until it is opened.
    socket: Option<Socket>,
    /// The handshake is over at the acceptor's end, which may write only then.
    accepted: bool,
    /// From the opener, and to it.
    channels: [Channel; 2],
}

/// Connections that are opened one after another at the start of a run, and kept.
#[derive(Debug)]
pub(super) struct Connections {
    /// The flows that stand for those that are not open, last first.
    starts: Vec<FlowStart>,
    /// So many are opened together.
    together: usize,
    next: Time,
    all: Vec<Connection>,
}

impl Connections {
    /// Connections of `starts`, `together` of them at a time.
    pub fn new(mut starts: Vec<FlowStart>, together: usize) -> Connections {
        let all = starts.iter().map(|_| Connection::default()).collect();
        starts.reverse();
        Connections { starts, together: together.max(1), next: Time::ZERO, all }
    }

    /// When the next ones are opened.
    pub fn next_time(&self) -> Option<Time> {
        (!self.starts.is_empty()).then_some(self.next)
    }

    /// Opens those whose time has come. What was to be sent before leaves now.
    pub fn open(&mut self, now: Time, sockets: &mut Sockets<'_>) {
        if self.next_time().is_none_or(|next| next > now) {
            return;
        }
        self.next = now.saturating_add(BETWEEN);
        for _ in 0..self.together {
            let place = self.all.len() - self.starts.len();
            let Some(start) = self.starts.pop() else { return };
            // hosts are connected, which was checked when it was planned
            let socket = sockets.open(FlowStart { time: now, ..start }).expect("there is a path");
            self.all[place].socket = Some(socket);
            self.all[place].write(End::Opener, sockets);
        }
    }

    /// Sends a message (its number and size) on the connection at `place`: from the opener if `forth`.
    pub fn send(&mut self, place: usize, forth: bool, (number, size): (u64, Bytes), sockets: &mut Sockets<'_>) {
        let connection = &mut self.all[place];
        let end = if forth { End::Opener } else { End::Acceptor };
        let channel = connection.channel(end);
        channel.messages.push_back((number, size.get()));
        channel.unwritten += size.get();
        connection.write(end, sockets);
    }

    /// Something has happened at `socket`, an end of the connection at `place`; `arrived` is told whether a message came from
    /// the opener, and its number.
    pub fn on_socket(
        &mut self,
        place: usize,
        socket: Socket,
        event: SocketEvent,
        sockets: &mut Sockets<'_>,
        arrived: &mut dyn FnMut(bool, u64),
    ) {
        let connection = &mut self.all[place];
        match event {
            SocketEvent::Connected => {
                connection.accepted |= socket.end == End::Acceptor;
                connection.write(socket.end, sockets);
            }
            SocketEvent::Writable => connection.write(socket.end, sockets),
            SocketEvent::Readable => {
                let mut bytes = sockets.read(socket, Bytes::new(u64::MAX)).get();
                let from = if socket.end == End::Opener { End::Acceptor } else { End::Opener };
                let channel = connection.channel(from);
                while let Some((number, missing)) = channel.messages.front_mut() {
                    let part = bytes.min(*missing);
                    *missing -= part;
                    bytes -= part;
                    if *missing > 0 {
                        break;
                    }
                    arrived(from == End::Opener, *number);
                    channel.messages.pop_front();
                }
                assert!(bytes == 0, "what is read was sent");
            }
            SocketEvent::Asked | SocketEvent::PeerClosed | SocketEvent::Closed | SocketEvent::Reset => {}
        }
    }
}

impl Connection {
    fn channel(&mut self, from: End) -> &mut Channel {
        &mut self.channels[usize::from(from == End::Acceptor)]
    }

    /// Writes what the send buffer takes.
    fn write(&mut self, end: End, sockets: &mut Sockets<'_>) {
        let Some(socket) = self.socket else { return };
        if end == End::Acceptor && !self.accepted {
            return;
        }
        let socket = if end == End::Opener { socket } else { socket.peer() };
        let channel = self.channel(end);
        if channel.unwritten > 0 {
            channel.unwritten -= sockets.write(socket, Bytes::new(channel.unwritten)).get();
        }
    }
}
