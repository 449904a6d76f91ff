//! Ends of two-way connections that are gone: reset by the other end, aborted by their own, or lost in a crash.
//!
//! An end that is gone answers whatever reaches it with a reset (RFC 9293 §3.5.2), and an end that a reset reaches is
//! gone. A connection of which both ends are gone is closed. Resets are frames like others: they wait, and get lost.
//!
//! Leaves out: the checks of a reset's number (RFC 5961 §3: none is forged here), time-outs after which an end gives
//! a connection up by itself, so an end that has nothing to send and whose peer is gone waits for ever; and connections
//! that begin at their acceptor by a cookie that was on its way when the opener gave up.

use headway_units::Time;

use super::Tcp;
use super::connection::SynAnswer;
use super::sender::Phase;
use crate::endpoint::{Side, endpoint};
use crate::environment::Environment;
use crate::network::Network;
use crate::segment::{Frame, NO_EXTRA, Segment, flag, frame_size};
use crate::socket::{End, Socket, SocketEvent};

/// The place of an end in [`Stream::gone`](super::connection::Stream::gone).
fn at(end: End) -> usize {
    usize::from(end == End::Acceptor)
}

impl Tcp {
    /// Whether an end knows its connection no more.
    pub fn is_gone(&self, socket: Socket) -> bool {
        self.resets && self.connections[socket.connection as usize].stream().gone[at(socket.end)]
    }

    /// Handles a frame where an end is gone, or a reset; says whether it did.
    #[cold]
    pub(super) fn meets_reset(
        &mut self,
        now: Time,
        subflow: u32,
        half: Side,
        frame: &Frame,
        env: &mut Environment,
    ) -> bool {
        let connection = match half {
            Side::Sender => self.senders[subflow as usize].connection,
            Side::Receiver => self.receivers[subflow as usize].connection,
        };
        let socket = self.socket(connection, half == Side::Sender);
        let resets = frame.tag & flag::RST == flag::RST;
        let gone = self.is_gone(socket);
        if gone || resets {
            env.net.extras.discard(frame.body.extra);
        }
        match (gone, resets) {
            (false, false) => return false,
            (true, true) => {}
            (true, false) => self.send_reset(now, subflow, half, &mut env.net),
            (false, true) => {
                // before the connection is closed, if the other end is gone
                self.sockets.note(now, socket, SocketEvent::Reset, &mut env.net.queue);
                self.forget(now, socket, env);
            }
        }
        true
    }

    /// Sends a reset from one half of a subflow to the other.
    fn send_reset(&self, now: Time, subflow: u32, from: Side, net: &mut Network) {
        let (hop, to, connection) = match from {
            Side::Sender => {
                let sender = &self.senders[subflow as usize];
                (sender.route, Side::Receiver, sender.connection)
            }
            Side::Receiver => {
                let receiver = &self.receivers[subflow as usize];
                (receiver.route, Side::Sender, receiver.connection)
            }
        };
        let profile = &self.profiles[usize::from(self.connections[connection as usize].profile)];
        let body = Segment { number: 0, data_number: 0, amount: 0, extra: NO_EXTRA };
        let frame = Frame { hop, size: frame_size(0, profile.overhead), tos: 0, tag: flag::RST, body };
        net.send(now, endpoint(subflow, to), frame);
    }

    /// `socket` gives its connection up and tells the other end so, unless its own SYN has had no answer yet: then a late
    /// one is answered by a reset (Linux 6.12, `net/ipv4/tcp.c: tcp_need_reset`).
    pub fn abort(&mut self, now: Time, socket: Socket, env: &mut Environment) {
        if self.is_gone(socket) {
            return;
        }
        let subflow = self.subflow_of(self.outgoing(socket));
        let asks = socket.end == End::Opener && self.senders[subflow as usize].phase == Phase::Opening;
        self.forget(now, socket, env);
        if !asks {
            self.send_reset(now, subflow, Side::Sender, &mut env.net);
        }
    }

    /// `socket` knows its connection no more; nobody is told.
    pub fn forget(&mut self, now: Time, socket: Socket, env: &mut Environment) {
        if self.is_gone(socket) {
            return;
        }
        self.resets = true;
        if socket.end == End::Acceptor {
            self.end_half_open(socket.connection, env);
        }
        let (own, other) = (self.subflow_of(self.outgoing(socket)), self.subflow_of(self.incoming(socket)));
        let sender = &mut self.senders[own as usize];
        let opened = sender.phase != Phase::Opening;
        sender.phase = Phase::Closed;
        sender.timer_mut().cancel();
        sender.wake_mut().cancel();
        self.receivers[other as usize].timer_mut().cancel();
        let untouched = socket.end == End::Opener && !opened && self.receivers[own as usize].is_untouched();
        let stream = self.connections[socket.connection as usize].stream_mut();
        stream.gone[at(socket.end)] = true;
        let cookie = socket.end == End::Opener && stream.answer == SynAnswer::Cookie;
        if untouched && stream.answer != SynAnswer::Asked || cookie {
            // nothing has come to the acceptor, or it has kept nothing of it: it knows nothing of the connection
            stream.gone[at(End::Acceptor)] = true;
        }
        if stream.gone == [true; 2] {
            self.closing.push(socket.connection);
            for end in [End::Opener, End::Acceptor] {
                let socket = Socket { end, ..socket };
                self.sockets.note(now, socket, SocketEvent::Closed, &mut env.net.queue);
            }
        }
    }
}
