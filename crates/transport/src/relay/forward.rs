//! Data on its way: the source writes, relays move it from one side to the other, the destination reads.

use super::processor::{CHUNK, Job, Task};
use super::session::{Passage, Way, at};
use super::{Relays, Rest};
use crate::socket::End;
use crate::tcp::connection::UNLIMITED;

/// What a relay may move now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Movable {
    /// Nothing can be done.
    Nothing,
    /// So much, which may be zero where only an end is to be passed on.
    Bytes(u64),
}

impl Relays {
    /// The source writes what its send buffer takes, and closes behind the last byte.
    pub(super) fn feed(&mut self, place: u32, rest: &mut Rest<'_>) {
        let session = &mut self.sessions[place as usize];
        let Some(own) = session.segments[0].as_mut() else { return };
        let socket = own.socket(End::Opener);
        if own.shut[0] || !own.open[0] {
            return;
        }
        if session.unwritten > 0 {
            let taken = rest.tcp.write(rest.now, socket, session.unwritten, &mut rest.env.net);
            if session.unwritten != UNLIMITED {
                session.unwritten -= taken;
            }
        }
        if session.unwritten == 0 {
            own.shut[0] = true;
            rest.tcp.shut(rest.now, socket, &mut rest.env.net);
        }
    }

    /// The source reads, where nothing but an end comes.
    pub(super) fn drain(&mut self, place: u32, rest: &mut Rest<'_>) {
        if let Some(own) = &self.sessions[place as usize].segments[0] {
            rest.tcp.read(rest.now, own.socket(End::Opener), UNLIMITED, rest.env);
        }
    }

    /// The destination reads all there is, and closes when nothing more comes.
    pub(super) fn deliver(&mut self, place: u32, rest: &mut Rest<'_>) {
        let session = &mut self.sessions[place as usize];
        let last = session.count() - 1;
        let Some(own) = session.segments[last].as_mut() else { return };
        let socket = own.socket(End::Acceptor);
        let closes = own.ended[1] && !std::mem::replace(&mut own.shut[1], own.ended[1]);
        session.delivered += rest.tcp.read(rest.now, socket, UNLIMITED, rest.env);
        if closes {
            rest.tcp.shut(rest.now, socket, &mut rest.env.net);
        }
        if let Some(flow) = session.flow {
            let delivered = session.delivered;
            if rest.env.flows.deliver(rest.now, flow, delivered, rest.env.failures.as_deref()) {
                rest.env.complete(rest.now, flow, None);
            }
        }
    }

    // ---- at a relay ------------------------------------------------------------------------------------------

    /// The relay at `stop` has something to do for one way, or may have: it does that, or its processor will.
    #[inline]
    pub(super) fn forward(&mut self, place: u32, stop: usize, way: Way, rest: &mut Rest<'_>) {
        let host = self.sessions[place as usize].chain.stops[stop];
        if !self.work.takes(host) {
            return self.move_now(place, stop, way, UNLIMITED, rest);
        }
        if self.line_up(place, stop, way, rest) {
            self.start_work(host, rest);
        }
    }

    /// Puts the next piece of a way into the line of its relay's processor, if there is one and it is not there; says whether
    /// it did.
    pub(super) fn line_up(&mut self, place: u32, stop: usize, way: Way, rest: &mut Rest<'_>) -> bool {
        if self.movable(place, way.at(stop), rest) == Movable::Nothing {
            return false;
        }
        let session = &mut self.sessions[place as usize];
        if std::mem::replace(&mut session.waiting[stop - 1][usize::from(way == Way::Back)], true) {
            return false;
        }
        let job = Job { session: (place, session.serial), stop, task: Task::Move(way) };
        self.work.add_job(session.chain.stops[stop], job);
        true
    }

    /// What can be moved through a passage.
    fn movable(&mut self, place: u32, passage: Passage, rest: &mut Rest<'_>) -> Movable {
        let Passage { from: (from, reader), to: (to, writer) } = passage;
        let session = &self.sessions[place as usize];
        let Some(source) = &session.segments[from] else { return Movable::Nothing };
        let input = source.socket(reader);
        if rest.tcp.is_gone(input) {
            return Movable::Nothing;
        }
        if source.records.is_some_and(|records| records.head[at(reader)] > 0) && !self.read_head(place, passage, rest) {
            return Movable::Nothing;
        }
        let session = &self.sessions[place as usize];
        let (Some(source), Some(sink)) = (&session.segments[from], &session.segments[to]) else {
            return Movable::Nothing;
        };
        if !sink.open[at(writer)] || sink.shut[at(writer)] || rest.tcp.is_gone(sink.socket(writer)) {
            return Movable::Nothing;
        }
        if sink.records.is_some_and(|records| records.unsent[at(writer.other())] > 0) {
            return Movable::Nothing;
        }
        let unread = rest.tcp.unread(input);
        let there = match &source.records {
            Some(records) => unread.min(records.total[at(reader)] - records.read[at(reader)]),
            None => unread,
        };
        let ended = match &source.records {
            // behind all data there is a record
            Some(records) => {
                records.read[at(reader)] == records.total[at(reader)] && (unread > 0 || records.tail[at(reader)] == 0)
            }
            None => source.ended[at(reader)],
        };
        if there == 0 {
            return if ended { Movable::Bytes(0) } else { Movable::Nothing };
        }
        let output = sink.socket(writer);
        match rest.tcp.space(output).min(there) {
            0 => {
                rest.tcp.await_room(output);
                Movable::Nothing
            }
            room => Movable::Bytes(room),
        }
    }

    /// Moves at most `most` bytes through the relay at `stop`, and passes the end on behind the last one.
    pub(super) fn move_now(&mut self, place: u32, stop: usize, way: Way, most: u64, rest: &mut Rest<'_>) {
        let passage = way.at(stop);
        let Movable::Bytes(there) = self.movable(place, passage, rest) else { return };
        let Passage { from: (from, reader), to: (to, writer) } = passage;
        let session = &mut self.sessions[place as usize];
        let [Some(source), Some(sink)] = session.segments.get_disjoint_mut([from, to]).expect("two segments") else {
            return;
        };
        let (input, output) = (source.socket(reader), sink.socket(writer));
        if there > 0 {
            let wanted = rest.tcp.unread(input).min(most);
            let wanted = match &source.records {
                Some(records) => wanted.min(records.total[at(reader)] - records.read[at(reader)]),
                None => wanted,
            };
            // more than there is room for, so that the relay hears when there is
            let taken = rest.tcp.write(rest.now, output, wanted, &mut rest.env.net);
            if let Some(records) = &mut source.records {
                records.read[at(reader)] += taken;
            }
            if let Some(records) = &mut sink.records {
                records.written[at(writer.other())] += taken;
            }
            rest.tcp.read(rest.now, input, taken, rest.env);
        }
        let over = match &source.records {
            Some(records) => records.read[at(reader)] == records.total[at(reader)],
            None => source.ended[at(reader)] && rest.tcp.unread(input) == 0,
        };
        if over {
            self.pass_end(place, passage, rest);
        }
    }

    /// Everything that came by one side has gone out by the other: the end follows.
    fn pass_end(&mut self, place: u32, passage: Passage, rest: &mut Rest<'_>) {
        let Passage { from: (from, reader), to: (to, writer) } = passage;
        if !self.read_tail(place, from, reader, rest) {
            return;
        }
        let Some(sink) = self.sessions[place as usize].segments[to].as_mut() else { return };
        let output = sink.socket(writer);
        sink.shut[at(writer)] = true;
        match &mut sink.records {
            None => rest.tcp.shut(rest.now, output, &mut rest.env.net),
            Some(records) => {
                let far = at(writer.other());
                records.total[far] = records.written[far];
                self.write_tail(place, to, writer, rest);
            }
        }
        self.return_if_over(place, from, rest);
    }

    /// The bytes of the next piece of work on a way, if there is any.
    pub(super) fn next_piece(&mut self, place: u32, stop: usize, way: Way, rest: &mut Rest<'_>) -> Option<u64> {
        match self.movable(place, way.at(stop), rest) {
            Movable::Nothing => None,
            Movable::Bytes(bytes) => Some(bytes.min(CHUNK)),
        }
    }
}
