//! What the sending application has written and not yet had acknowledged, as Linux holds it: in pieces of up to a
//! burst, in a buffer that grows with the window.
//!
//! Sources: `net/ipv4/tcp.c` (`tcp_sendmsg_locked`, `tcp_xmit_size_goal`, `forced_push`), `tcp_input.c`
//! (`tcp_sndbuf_expand`, `tcp_should_expand_sndbuf`, `tcp_new_space`), `tcp_output.c` (`tcp_grow_skb`,
//! `tcp_event_new_data_sent`), `net/core/stream.c` (`sk_stream_write_space`) of Linux 6.12. The application writes whenever
//! it can.
//!
//! Leaves out: memory pressure, the end of a call of `send` amid what is written, and that segments which are selectively
//! acknowledged or retransmitted are joined or cut, so that they take less or more of the buffer.

use std::collections::VecDeque;

use crate::tcp::profile::Profile;

/// What a piece or a burst takes in its host beyond its bytes (`skb->truesize`): `struct sk_buff`, `struct
/// skb_shared_info`, and room for headers. Kernels with wireless or tunnels need more room for headers; this is what kernel
/// hosts have.
pub(crate) const PIECE_COST: u64 = 832;
/// `MAX_TCP_HEADER` of kernel hosts, and `struct skb_shared_info`.
const HEADERS: u64 = 192 + 320;
/// `struct sk_buff`
const DESCRIPTOR: u64 = 256;
/// `TCP_INIT_CWND`
const MIN_SEGMENTS: u64 = 10;

/// What `tcp_sndbuf_expand` reckons for the send buffer of a window of `cwnd` bytes, `times` over: each segment, by the
/// largest without options, with its headers in a power of two, and its descriptor.
pub(crate) fn buffer_for(cwnd: u64, times: u64, profile: &Profile) -> u64 {
    // `overhead` of a segment without options is 58
    let segment = u64::from(profile.mss) + u64::from(profile.overhead).saturating_sub(58) + HEADERS;
    let segments = (cwnd / u64::from(profile.mss)).max(MIN_SEGMENTS);
    times * segments * (segment.next_power_of_two() + DESCRIPTOR)
}

/// The write queue of a connection.
#[derive(Debug)]
pub(crate) struct Writer {
    /// Everything below is in the buffer, sent or acknowledged.
    pub written: u64,
    /// The application has closed: its last write has returned, and had sent what windows, pace and card let go.
    pub closed: bool,
    /// The application waits for room (`SOCK_NOSPACE`).
    waits: bool,
    /// What was written when all of it was last pushed (`pushed_seq`).
    pushed: u64,
    /// Where the pieces end of which something is not sent.
    ends: VecDeque<u64>,
    /// Where the bursts end that were sent and not acknowledged: each is a piece of its own (`tso_fragment`).
    bursts: VecDeque<u64>,
    /// What the buffer takes now, and at most (`sk_sndbuf`, `tcp_wmem`).
    size: u64,
    most: u64,
    /// The largest window offered so far.
    window: u64,
}

/// The piece that is sent next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    /// Its bytes that are not sent.
    pub rest: u64,
    /// The bytes of the piece behind it.
    pub behind: u64,
    /// Pieces that are written and not sent.
    pub pieces: usize,
    /// All that is written and not sent.
    pub unsent: u64,
    /// Whether the application has closed, so that nothing more comes.
    pub ends: bool,
}

impl Head {
    /// One piece of `bytes`. `ends`: nothing more comes.
    pub fn single(bytes: u64, ends: bool) -> Head {
        Head { rest: bytes, behind: 0, pieces: 1, unsent: bytes, ends }
    }

    /// Takes what is missing to `bytes` from the piece behind (`tcp_grow_skb`).
    pub fn grow(&mut self, bytes: u64) {
        let more = bytes.saturating_sub(self.rest).min(self.behind);
        self.rest += more;
        self.behind -= more;
        self.pieces -= usize::from(more > 0 && self.behind == 0);
    }

    /// Whether it is the last one written.
    pub fn is_last(&self) -> bool {
        self.pieces == 1
    }
}

/// What follows from a step of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Written {
    /// Nothing.
    Piece,
    /// A piece is full that is sent next: one burst of it leaves if it can (`tcp_push_one`).
    Head,
    /// What is not pushed is more than half a window: all leaves that can.
    Much,
    /// The buffer is full, or everything is written: all leaves that can, and the write is over.
    Over,
}

impl Writer {
    /// An empty buffer, if `profile` has one that grows.
    pub fn new(profile: &Profile) -> Option<Box<Writer>> {
        let most = profile.send_buffer.filter(|_| profile.recovery.is_linux() && profile.multipath.is_none())?.get();
        Some(Box::new(Writer {
            written: 0,
            closed: false,
            waits: false,
            pushed: 0,
            ends: VecDeque::new(),
            bursts: VecDeque::new(),
            size: buffer_for(0, 2, profile).min(most),
            most,
            window: 0,
        }))
    }

    /// The receiver offers `window` bytes.
    #[inline]
    pub fn note_window(&mut self, window: u64) {
        self.window = self.window.max(window);
    }

    /// `tcp_xmit_size_goal`: no piece is more than half of the largest window.
    fn goal(&self, profile: &Profile) -> u64 {
        let mss = u64::from(profile.mss);
        let most = profile.offload.map_or(mss, |offload| u64::from(offload.most));
        let half = if self.window > 536 { self.window / 2 } else { self.window };
        (most.min(half) / mss).max(1) * mss
    }

    /// A burst was sent that ends at `end`.
    pub fn note_sent(&mut self, end: u64) {
        self.bursts.push_back(end);
        self.drop_sent(end);
    }

    /// Pieces below `next` were sent.
    fn drop_sent(&mut self, next: u64) {
        while self.ends.front().is_some_and(|&end| end <= next) {
            self.ends.pop_front();
        }
    }

    /// What is in the buffer (`sk_wmem_queued`).
    fn queued(&mut self, una: u64) -> u64 {
        while self.bursts.front().is_some_and(|&end| end <= una) {
            self.bursts.pop_front();
        }
        self.written - una + (self.bursts.len() + self.ends.len()) as u64 * PIECE_COST
    }

    /// Whether the application of a flow of `total` bytes has more to write, and does not wait for room.
    pub fn may_write(&self, total: u64) -> bool {
        !self.waits && self.written < total
    }

    /// The application writes the next piece of `total` bytes, of which `una` are acknowledged and `next` sent.
    pub fn write(&mut self, una: u64, next: u64, total: u64, profile: &Profile) -> Written {
        let goal = self.goal(profile);
        let start = self.ends.len().checked_sub(2).map_or(next, |index| self.ends[index]);
        let last = self.ends.back().map_or(goal, |end| end - start);
        if last < goal {
            // what is left of the last piece is filled up first
            self.written += (goal - last).min(total - self.written);
            self.ends.pop_back();
        } else if self.queued(una) < self.size {
            self.written += goal.min(total - self.written);
        } else {
            self.waits = true;
            self.note_pushed();
            return Written::Over;
        }
        self.ends.push_back(self.written);
        if self.written == total {
            self.note_pushed();
            Written::Over
        } else if self.written > self.pushed + self.window / 2 {
            self.note_pushed();
            Written::Much
        } else if self.ends.len() == 1 {
            Written::Head
        } else {
            Written::Piece
        }
    }

    /// `tcp_mark_push`, on the last piece that is not sent.
    fn note_pushed(&mut self) {
        if !self.ends.is_empty() {
            self.pushed = self.written;
        }
    }

    /// The write is over, and what it had to push is sent: the application sleeps if there is more to write.
    pub fn sleep(&mut self, total: u64) {
        self.waits = self.written < total;
    }

    /// After a burst or an acknowledgement, with a window of `cwnd` of which not all `is_full`: the buffer of an
    /// application that waits grows to twice the window, or what the control asks for, and wakes it once a third is free.
    pub fn check_space(&mut self, una: u64, cwnd: u64, is_full: bool, times: u64, profile: &Profile) {
        if !self.waits {
            return;
        }
        if !is_full {
            self.size = self.size.max(buffer_for(cwnd, times, profile).min(self.most));
        }
        let queued = self.queued(una);
        self.waits = queued >= self.size || self.size - queued < queued / 2;
    }

    /// The piece at the head, when everything below `next` of `total` bytes was sent.
    pub fn head(&mut self, next: u64, total: u64) -> Option<Head> {
        self.drop_sent(next);
        let end = *self.ends.front()?;
        Some(Head {
            rest: end - next,
            behind: self.ends.get(1).map_or(0, |second| second - end),
            pieces: self.ends.len(),
            unsent: self.written - next,
            ends: self.closed && self.written == total,
        })
    }

    /// The piece at the head has grown and ends at `end` now.
    pub fn note_grown(&mut self, end: u64) {
        if self.ends.get(1).is_some_and(|&second| second <= end) {
            self.ends.pop_front();
        } else if let Some(first) = self.ends.front_mut() {
            *first = (*first).max(end);
        }
    }
}

#[cfg(test)]
mod tests {
    use headway_units::Bytes;

    use super::*;

    fn profile() -> Profile {
        Profile { mss: 1448, send_buffer: Some(Bytes::new(4 << 20)), ..Profile::linux() }
    }

    const MSS: u64 = 1448;

    /// The first buffer is 2·10·(2048 + 256) = 46,080 bytes. With a window of 65,160 pieces are half of that, 22 segments. Of
    /// the first, 5 leave while it is written (half of the window), and after the next 5, which are more than half of
    /// the receiver's window together, 5 more. Then the buffer is full: 32·1448 + 3·832 = 48,832, as `ss` shows of a kernel.
    #[test]
    fn what_leaves_during_a_write_makes_room_in_the_last_piece() {
        let profile = profile();
        let mut writer = Writer::new(&profile).unwrap();
        writer.note_window(65_160);
        assert_eq!(writer.write(0, 0, u64::MAX, &profile), Written::Head);
        assert_eq!(writer.written, 22 * MSS);
        writer.note_sent(5 * MSS);
        assert_eq!(writer.write(0, 5 * MSS, u64::MAX, &profile), Written::Much);
        writer.note_sent(10 * MSS);
        assert_eq!(writer.write(0, 10 * MSS, u64::MAX, &profile), Written::Head);
        assert_eq!(writer.write(0, 10 * MSS, u64::MAX, &profile), Written::Over);
        assert_eq!((writer.written, writer.queued(0)), (32 * MSS, 48_832));
        writer.sleep(u64::MAX);
        assert!(!writer.may_write(u64::MAX));
        let head = Head { rest: 22 * MSS, behind: 0, pieces: 1, unsent: 22 * MSS, ends: false };
        assert_eq!(writer.head(10 * MSS, u64::MAX), Some(head));
    }

    /// Nothing is written while more than two thirds are taken (`sk_stream_is_writeable`); a full window does not let
    /// the buffer grow (`tcp_should_expand_sndbuf`).
    #[test]
    fn the_application_wakes_when_a_third_is_free() {
        let profile = profile();
        let mut writer = Writer::new(&profile).unwrap();
        writer.note_window(1 << 20);
        while writer.write(0, 0, u64::MAX, &profile) != Written::Over {}
        writer.sleep(u64::MAX);
        assert_eq!(writer.written, 45 * MSS);
        writer.check_space(20 * MSS, 30 * MSS, true, 2, &profile);
        assert!(!writer.may_write(u64::MAX)); // 25·1448 + 832 of 46,080
        writer.check_space(25 * MSS, 40 * MSS, true, 2, &profile);
        assert!(writer.may_write(u64::MAX)); // 20·1448 + 832
        assert_eq!(writer.size, 46_080);
        writer.sleep(u64::MAX);
        writer.check_space(20 * MSS, 40 * MSS, false, 2, &profile);
        assert_eq!((writer.size, writer.waits), (2 * 40 * 2304, false));
        writer.note_sent(45 * MSS);
        assert_eq!(writer.write(25 * MSS, 45 * MSS, 50 * MSS, &profile), Written::Over);
        writer.sleep(50 * MSS);
        assert!(!writer.may_write(50 * MSS), "all is written");
    }

    /// `tcp_grow_skb`: the first piece takes what it lacks from the second, not from the third.
    #[test]
    fn a_piece_grows_by_the_one_behind() {
        let profile = profile();
        let mut writer = Writer::new(&profile).unwrap();
        writer.note_window(16 * MSS);
        for _ in 0..3 {
            writer.write(0, 0, u64::MAX, &profile);
        }
        let mut head = writer.head(6 * MSS, u64::MAX).unwrap();
        assert_eq!((head.rest, head.behind, head.pieces, head.unsent), (2 * MSS, 8 * MSS, 3, 18 * MSS));
        head.grow(4 * MSS);
        writer.note_grown(6 * MSS + head.rest);
        assert_eq!(writer.head(6 * MSS, u64::MAX), Some(head));
        assert_eq!((head.rest, head.behind, head.is_last()), (4 * MSS, 6 * MSS, false));
        head.grow(20 * MSS);
        writer.note_grown(6 * MSS + head.rest);
        assert_eq!((head.rest, head.pieces), (10 * MSS, 2));
        assert_eq!(writer.head(6 * MSS, u64::MAX).map(|head| (head.behind, head.pieces)), Some((8 * MSS, 2)));
    }

    /// Jumbo frames: 8960 + 512 bytes lie in 16 KiB.
    #[test]
    fn the_buffer_follows_the_segment() {
        assert_eq!(buffer_for(20 * MSS, 2, &profile()), 2 * 20 * (2048 + 256));
        let jumbo = Profile { mss: 8960, ..profile() };
        assert_eq!(buffer_for(0, 2, &jumbo), 2 * 10 * (16_384 + 256));
    }
}
