//! One connection and its two directions.

use super::holes::HoleSets;
use super::{Key, NONE, is_answer};
use crate::flow::Flow;
use crate::histogram::Histogram;
use crate::packet::{ACK, FIN, RST, SYN, Segment};

/// The largest window (RFC 7323 §2.3): numbers further away than this are of something else.
const MAX_WINDOW: u32 = 1 << 30;

/// Bytes that come this late after others, and not later, were overtaken on the way; in nanoseconds. As Wireshark, where
/// no round-trip time is known; otherwise that.
const OVERTAKEN: u64 = 3_000_000;

/// What comes again this soon was captured twice, where no round-trip time is known; in nanoseconds.
const COPY: u64 = 50_000;

/// What comes again later than this is no copy, however long a round trip takes: the table of what was seen holds no more.
const LATEST_COPY: u64 = 1_000_000;

/// How a connection began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begin {
    /// With a SYN, or the answer to one.
    Handshake,
    /// It was open when it was first seen.
    Open,
}

/// How a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// With FINs of both sides.
    Fin,
    /// With an RST.
    Reset,
    /// It was silent for longer than the idle time-out.
    Idle,
    /// Another SYN came for the same addresses and ports.
    Reused,
    /// It was given up, as the longest silent of too many.
    Evicted,
    /// It was open when the capture ended.
    Open,
}

impl End {
    /// A word for tables.
    pub fn name(self) -> &'static str {
        match self {
            End::Fin => "fin",
            End::Reset => "reset",
            End::Idle => "idle",
            End::Reused => "reused",
            End::Evicted => "evicted",
            End::Open => "open",
        }
    }
}

/// What one end sent. Times are in nanoseconds since 1970.
#[derive(Debug, Clone, Copy, Default)]
pub struct Side {
    /// Data, by sequence numbers: each byte once, with bytes that the capture does not have but whose place in the
    /// stream was passed or acknowledged.
    pub bytes: u64,
    /// Of `bytes`, those that the capture does not have.
    pub unseen: u64,
    /// Segments, with and without data.
    pub packets: u64,
    /// Segments with data.
    pub data_packets: u64,
    /// Segments with data that were retransmitted.
    pub retransmissions: u32,
    /// SYNs that were sent again.
    pub syns_again: u16,
    /// FINs without data that were sent again.
    pub fins_again: u16,
    /// Segments that came after later ones, but not so late that they were retransmitted.
    pub out_of_order: u32,
    /// Segments that the capture has twice.
    pub duplicates: u32,
    /// Bytes that were retransmitted.
    pub retransmitted: u64,
    /// When the first data came; 0 if none did.
    pub first_data: u64,
    /// When the last data came.
    pub last_data: u64,
    /// Least round-trip time from here to the other end and back; `rtt_count` 0: none.
    pub rtt_least: u64,
    /// Sum of the round-trip times.
    pub rtt_sum: u64,
    /// How many there are.
    pub rtt_count: u32,
    /// Senders that started to send to the same destination at about the same time; 0: not known.
    pub degree: u16,
    /// The number that comes next.
    next: u32,
    /// What is timed: the number at which it ends, and when it was sent.
    timed: u32,
    timed_at: u64,
    id: u16,
    state: u8,
}

/// The numbers are known.
const KNOWN: u8 = 1;
/// A segment is timed.
const TIMED: u8 = 2;
/// Its FIN was seen.
const DONE: u8 = 4;

/// Round-trip times of all connections.
pub(super) struct Rtts<'a> {
    pub known: &'a mut Histogram,
    /// Those of which the clock says 0.
    pub unresolved: &'a mut u64,
}

/// What a segment was to a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Heard(u8);

impl Heard {
    /// The first data of a direction whose beginning was seen.
    pub const STARTED: Heard = Heard(1);
    /// The third of a handshake.
    pub const THIRD: Heard = Heard(2);

    pub fn contains(self, other: Heard) -> bool {
        self.0 & other.0 != 0
    }
}

const HANDSHAKE: u8 = 2;
const RETRANSMITTED: u8 = 4;
const ENDED: u8 = 8;
/// The answer came; the third segment is awaited.
const ANSWERED: u8 = 16;
/// The third came.
const ESTABLISHED: u8 = 32;
/// A subflow whose initiator is the other end than the first subflow's.
const SWAPPED: u8 = 64;

/// A connection, or a subflow of one of MPTCP. Times are in nanoseconds since 1970.
#[derive(Debug, Clone)]
pub struct Connection {
    pub(crate) key: Key,
    /// 0: the lower end of `key` opened it.
    pub(crate) initiator: u8,
    state: u8,
    pub(crate) retired: bool,
    pub(crate) end: End,
    pub(crate) previous: u32,
    pub(crate) next: u32,
    pub(crate) holes: u32,
    pub(crate) group: u32,
    /// From 1, in the order in which they began.
    pub(crate) number: u64,
    /// When the first segment came, and the last up to the end.
    pub(crate) first: u64,
    pub(crate) last: u64,
    /// When the SYN came; 0 if it did not.
    syn: u64,
    /// From SYN to the third segment; 0 if not known.
    pub(crate) handshake: u64,
    pub(crate) sides: [Side; 2],
}

impl Connection {
    /// One that begins with `segment` of `side`, which is still to be [heard](Connection::hear).
    pub(super) fn new(key: Key, number: u64, now: u64, side: usize, segment: &Segment<'_>) -> Connection {
        let initiator = if is_answer(segment) {
            1 - side
        } else if segment.has(SYN) {
            side
        } else {
            // A guess: servers have the lower ports.
            usize::from(key.ports[0] < key.ports[1])
        };
        Connection {
            key,
            initiator: initiator as u8,
            state: if segment.has(SYN) { HANDSHAKE } else { 0 },
            retired: false,
            end: End::Open,
            previous: NONE,
            next: NONE,
            holes: NONE,
            group: NONE,
            number,
            first: now,
            last: now,
            syn: 0,
            handshake: 0,
            sides: [Side::default(); 2],
        }
    }

    fn is(&self, state: u8) -> bool {
        self.state & state != 0
    }

    /// Both FINs or an RST came.
    pub(crate) fn is_ended(&self) -> bool {
        self.is(ENDED)
    }

    pub(crate) fn how_ended(&self) -> End {
        self.end
    }

    pub(crate) fn begin(&self) -> Begin {
        if self.is(HANDSHAKE) { Begin::Handshake } else { Begin::Open }
    }

    /// What `side` (0: the lower end) sent, if it sent anything.
    pub(crate) fn flow(&self, side: usize) -> Option<Flow> {
        let own = &self.sides[side];
        (own.bytes > 0).then(|| Flow {
            source: self.key.addresses[side],
            destination: self.key.addresses[1 - side],
            bytes: own.bytes,
            first: own.first_data,
            last: own.last_data,
            degree: own.degree,
            cut: self.begin() == Begin::Open || matches!(self.end, End::Open | End::Evicted),
        })
    }

    /// Whether anything but SYNs and refusals came.
    pub(crate) fn was_answered(&self) -> bool {
        !self.is(HANDSHAKE) || self.is(ANSWERED | ESTABLISHED) || self.sides.iter().any(|side| side.data_packets > 0)
    }

    /// Whether it is a single segment without data or a SYN: the last of a connection that is over, and none of its own.
    pub(crate) fn is_stray(&self) -> bool {
        let [one, other] = &self.sides;
        self.begin() == Begin::Open && one.packets + other.packets == 1 && one.bytes + other.bytes == 0
    }

    pub(crate) fn is_swapped(&self) -> bool {
        self.is(SWAPPED)
    }

    pub(super) fn set_swapped(&mut self) {
        self.state |= SWAPPED;
    }

    /// Whether a SYN of `side` begins another connection than this.
    pub(super) fn is_another(&self, side: usize, segment: &Segment<'_>) -> bool {
        let own = &self.sides[side];
        let repeated = own.state & KNOWN != 0
            && segment.sequence.wrapping_add(1).wrapping_add(segment.payload) == own.next
            && self.is(HANDSHAKE);
        // An answer may be the first that is seen of its side.
        let fits = repeated || (is_answer(segment) && own.packets == 0 && self.is(HANDSHAKE));
        !fits
    }

    /// Whether the same segment, `age` after the first, is a copy of it. A sender learns of a loss a round trip after it
    /// sent the segment, at the earliest; half of that leaves room for round trips that were longer when they were measured.
    pub(super) fn is_copy(&self, age: u64) -> bool {
        let [one, other] = &self.sides;
        let round_trip = if self.handshake > 0 {
            Some(self.handshake)
        } else {
            // To either end and back.
            (one.rtt_count > 0 && other.rtt_count > 0).then(|| one.rtt_least + other.rtt_least)
        };
        age <= round_trip.map_or(COPY, |time| (time / 2).min(LATEST_COPY))
    }

    /// Takes a copy of a segment of `side`.
    pub(super) fn copy(&mut self, now: u64, side: usize) {
        if !self.is_ended() {
            self.last = self.last.max(now);
        }
        let own = &mut self.sides[side];
        own.packets += 1;
        own.duplicates += 1;
    }

    /// Takes a segment of `side`.
    pub(super) fn hear(
        &mut self,
        now: u64,
        side: usize,
        segment: &Segment<'_>,
        holes: &mut HoleSets,
        rtt: &mut Rtts<'_>,
    ) -> Heard {
        let mut heard = Heard::default();
        if !self.is_ended() {
            self.last = self.last.max(now);
        }
        self.sides[side].packets += 1;
        let mut sequence = segment.sequence;
        if segment.has(SYN) {
            self.shake(now, side, segment);
            sequence = sequence.wrapping_add(1);
        } else if self.is(ANSWERED) && side == usize::from(self.initiator) && segment.has(ACK) {
            self.state = self.state & !ANSWERED | ESTABLISHED;
            heard.0 |= Heard::THIRD.0;
            if self.syn > 0 && !self.is(RETRANSMITTED) {
                self.handshake = now.saturating_sub(self.syn);
                *rtt.unresolved += u64::from(self.handshake == 0);
            }
        }
        if segment.has(RST) {
            // Its numbers may be anything.
            self.finish(End::Reset);
            return heard;
        }
        if segment.has(ACK) {
            self.acknowledge(now, 1 - side, segment.acknowledgement, holes, rtt);
        }
        let begun = self.begin() == Begin::Handshake;
        let least_rtt = self.least_rtt();
        let own = &mut self.sides[side];
        if own.state & KNOWN == 0 {
            own.state |= KNOWN;
            own.next = sequence;
        }
        if segment.payload > 0 {
            if own.first_data == 0 {
                own.first_data = now.max(1);
                heard.0 |= if begun { Heard::STARTED.0 } else { 0 };
            }
            own.last_data = now;
            own.data_packets += 1;
            own.data(now, side, sequence, segment, least_rtt, &mut self.holes, holes);
        }
        if segment.has(FIN) && segment.payload == 0 && own.state & DONE != 0 {
            if own.id == segment.id && own.id != 0 {
                own.duplicates += 1;
            } else {
                own.fins_again = own.fins_again.saturating_add(1);
            }
        }
        own.id = segment.id;
        if segment.has(FIN) {
            own.state |= DONE;
            if self.sides.iter().all(|side| side.state & DONE != 0) {
                self.finish(End::Fin);
            }
        }
        heard
    }

    fn finish(&mut self, how: End) {
        if !self.is_ended() {
            self.state |= ENDED;
            self.end = how;
        }
    }

    /// The least time to either end and back that is known.
    fn least_rtt(&self) -> Option<u64> {
        let of_data = self.sides.iter().filter(|side| side.rtt_count > 0).map(|side| side.rtt_least).min();
        of_data.or((self.handshake > 0).then_some(self.handshake))
    }

    fn shake(&mut self, now: u64, side: usize, segment: &Segment<'_>) {
        let own = &mut self.sides[side];
        let next = segment.sequence.wrapping_add(1);
        let mut retransmitted = own.packets > 1;
        if retransmitted && own.id == segment.id && own.id != 0 {
            own.duplicates += 1;
            retransmitted = false;
        }
        own.syns_again = own.syns_again.saturating_add(u16::from(retransmitted));
        own.state |= KNOWN;
        if own.packets == 1 {
            own.next = next;
        }
        if is_answer(segment) {
            if !self.is(ESTABLISHED) {
                self.state |= ANSWERED;
            }
            let other = &mut self.sides[1 - side];
            if other.state & KNOWN == 0 {
                other.state |= KNOWN;
                other.next = segment.acknowledgement;
            }
        } else {
            // 0 is none; a simulated capture begins at that time
            self.syn = if self.syn == 0 { now.max(1) } else { self.syn };
        }
        if retransmitted {
            self.state |= RETRANSMITTED;
        }
    }

    /// `side` was told that its data up to `number` has arrived.
    fn acknowledge(&mut self, now: u64, side: usize, number: u32, holes: &mut HoleSets, rtt: &mut Rtts<'_>) {
        let other = &mut self.sides[side];
        if other.state & KNOWN == 0 {
            other.state |= KNOWN;
            other.next = number;
            return;
        }
        if other.state & TIMED != 0 && number.wrapping_sub(other.timed).cast_signed() >= 0 {
            other.state &= !TIMED;
            match now.saturating_sub(other.timed_at) {
                // No round trip takes no time: the clock stands still meanwhile.
                0 => *rtt.unresolved += 1,
                time => {
                    other.rtt_least = if other.rtt_count == 0 { time } else { other.rtt_least.min(time) };
                    other.rtt_sum = other.rtt_sum.saturating_add(time);
                    other.rtt_count += 1;
                    rtt.known.add(time);
                }
            }
        }
        let beyond = number.wrapping_sub(other.next);
        // What has arrived was sent, though the capture does not have it. A single number is more likely a FIN than a byte.
        let is_end = beyond == 1 && other.packets > 0;
        if beyond > 0 && beyond < MAX_WINDOW && !is_end && other.state & DONE == 0 {
            other.bytes += u64::from(beyond);
            other.unseen += u64::from(beyond);
            let start = std::mem::replace(&mut other.next, number);
            if other.first_data == 0 {
                other.first_data = now.max(1);
            }
            other.last_data = now;
            // It may still come: cards and threads hand packets over in another order.
            if other.packets > 0 {
                holes.add(&mut self.holes, side, start, number, now);
            }
        }
    }
}

impl Side {
    #[expect(clippy::too_many_arguments, reason = "a step of `hear`, cut out for reading")]
    fn data(
        &mut self,
        now: u64,
        side: usize,
        start: u32,
        segment: &Segment<'_>,
        least_rtt: Option<u64>,
        place: &mut u32,
        holes: &mut HoleSets,
    ) {
        let length = segment.payload;
        let end = start.wrapping_add(length);
        let ahead = start.wrapping_sub(self.next).cast_signed();
        if ahead.unsigned_abs() > MAX_WINDOW {
            // Other numbers without a SYN: what was between is not known.
            self.bytes += u64::from(length);
            self.next = end;
            self.state &= !TIMED;
            return;
        }
        if ahead >= 0 {
            if ahead > 0 {
                holes.add(place, side, self.next, start, now);
                self.unseen += u64::from(ahead.unsigned_abs());
            }
            self.bytes += u64::from(ahead.unsigned_abs()) + u64::from(length);
            self.next = end;
            if self.state & TIMED == 0 {
                self.state |= TIMED;
                (self.timed, self.timed_at) = (end, now);
            }
            return;
        }
        let behind = ahead.unsigned_abs();
        if length == 1 && behind == 1 {
            // A keep-alive: the last byte, or a byte before it, once more (RFC 9293 §3.8.4).
            return;
        }
        let old = length.min(behind);
        let (filled, since) = holes.fill(place, side, start, start.wrapping_add(old));
        self.unseen -= u64::from(filled).min(self.unseen);
        if filled == 0 && segment.id != 0 && segment.id == self.id && end == self.next {
            self.duplicates += 1;
            return;
        }
        let overtaken = filled > 0 && now.saturating_sub(since) < least_rtt.unwrap_or(OVERTAKEN);
        if overtaken {
            self.out_of_order += 1;
            self.retransmitted += u64::from(old - filled);
        } else {
            self.retransmissions += 1;
            self.retransmitted += u64::from(old);
        }
        // Whether an acknowledgement is for the first or the second is not known (Karn and Partridge 1987).
        if self.state & TIMED != 0 && !overtaken && start.wrapping_sub(self.timed).cast_signed() < 0 {
            self.state &= !TIMED;
        }
        if length > old {
            self.bytes += u64::from(length - old);
            self.next = end;
        }
    }
}
