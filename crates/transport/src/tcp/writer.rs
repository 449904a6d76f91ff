//! What the sending application has written and not yet had acknowledged, as Linux holds it: in pieces of up to a
//! burst, in a buffer that grows with the window.
//!
//! Sources: `net/ipv4/tcp.c` (`tcp_sendmsg_locked`, `tcp_xmit_size_goal`), `tcp_input.c` (`tcp_sndbuf_expand`,
//! `tcp_should_expand_sndbuf`, `tcp_new_space`), `net/core/stream.c` (`sk_stream_write_space`) of Linux 6.12. The
//! application writes whenever it can.
//!
//! Leaves out: memory pressure, and the exact size of the kernel's bookkeeping: a piece takes [`PIECE_COST`] beyond its
//! bytes.

use std::collections::VecDeque;

use crate::tcp::profile::Profile;

/// What a piece or a burst takes in its host beyond its bytes (`skb->truesize`).
pub(crate) const PIECE_COST: u64 = 1280;
/// What `tcp_sndbuf_expand` reckons for a segment of a common size: data, headers and bookkeeping, rounded up.
const SEGMENT_COST: u64 = 4096 + 256;
/// `TCP_INIT_CWND`
const MIN_SEGMENTS: u64 = 10;

/// The write queue of a connection.
#[derive(Debug)]
pub(crate) struct Writer {
    /// Everything below is in the buffer, sent or acknowledged.
    pub written: u64,
    /// The application has closed: its last write has returned, and had sent what windows, pace and card let go.
    pub closed: bool,
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
    /// All that is written and not sent.
    pub unsent: u64,
    /// Whether it is the last one written.
    pub last: bool,
    /// Whether the application has closed, so that nothing more comes.
    pub ends: bool,
}

impl Writer {
    /// An empty buffer, if `profile` has one that grows.
    pub fn new(profile: &Profile) -> Option<Box<Writer>> {
        let most = profile.send_buffer.filter(|_| profile.recovery.is_linux() && profile.multipath.is_none())?.get();
        Some(Box::new(Writer {
            written: 0,
            closed: false,
            ends: VecDeque::new(),
            bursts: VecDeque::new(),
            size: (2 * MIN_SEGMENTS * SEGMENT_COST).min(most),
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
    }

    /// What is in the buffer (`sk_wmem_queued`).
    fn queued(&mut self, una: u64) -> u64 {
        while self.bursts.front().is_some_and(|&end| end <= una) {
            self.bursts.pop_front();
        }
        let sent = self.bursts.back().copied().unwrap_or(una);
        let unsent = self.ends.len() - self.ends.partition_point(|&end| end <= sent);
        self.written - una + (self.bursts.len() + unsent) as u64 * PIECE_COST
    }

    /// Writes what the buffer takes of `total` bytes, of which `una` are acknowledged.
    pub fn write(&mut self, una: u64, total: u64, profile: &Profile) {
        let goal = self.goal(profile);
        // what is left of the last piece is filled up first
        let sent = self.bursts.back().copied().unwrap_or(una);
        let before = self.ends.len().checked_sub(2).map_or(sent, |index| self.ends[index].max(sent));
        if let Some(end) = self.ends.back_mut().filter(|end| **end > sent) {
            let more = goal.saturating_sub(*end - before).min(total - self.written);
            *end += more;
            self.written += more;
        }
        while self.written < total && self.queued(una) < self.size {
            self.written += goal.min(total - self.written);
            self.ends.push_back(self.written);
        }
    }

    /// After an acknowledgement, with a window of `cwnd` of which not all `is_full`: the buffer of an application that
    /// waits grows to twice the window, or what the control asks for, and wakes it once a third is free.
    pub fn make_room(&mut self, una: u64, total: u64, cwnd: u64, is_full: bool, times: u64, profile: &Profile) {
        if self.written == total {
            return;
        }
        if !is_full {
            let segments = (cwnd / u64::from(profile.mss)).max(MIN_SEGMENTS);
            self.size = self.size.max((times * segments * SEGMENT_COST).min(self.most));
        }
        let queued = self.queued(una);
        if self.size.saturating_sub(queued) >= queued / 2 {
            self.write(una, total, profile);
        }
    }

    /// The piece at the head, when everything below `next` was sent.
    pub fn head(&mut self, next: u64, total: u64) -> Option<Head> {
        while self.ends.front().is_some_and(|&end| end <= next) {
            self.ends.pop_front();
        }
        let end = *self.ends.front()?;
        let last = self.ends.len() == 1;
        Some(Head { rest: end - next, unsent: self.written - next, last, ends: self.closed && self.written == total })
    }
}

#[cfg(test)]
mod tests {
    use headway_units::Bytes;

    use super::*;

    fn profile() -> Profile {
        Profile { mss: 1448, send_buffer: Some(Bytes::new(4 << 20)), ..Profile::linux() }
    }

    /// The first buffer is 2·10·(4096 + 256) = 87,040 bytes. With a window of 65,160 pieces are half of that, 22
    /// segments; it is not full before the third has been written: 3·31,856 + 3·1280 = 99,408.
    #[test]
    fn the_first_write_fills_the_buffer_with_half_windows() {
        let profile = profile();
        let mut writer = Writer::new(&profile).unwrap();
        writer.note_window(65_160);
        writer.write(0, 10_000_000, &profile);
        assert_eq!(writer.written, 3 * 22 * 1448);
        assert_eq!(
            writer.head(1448, 10_000_000),
            Some(Head { rest: 21 * 1448, unsent: 65 * 1448, last: false, ends: false })
        );
        assert!(writer.head(3 * 22 * 1448, 10_000_000).is_none());
    }

    /// Nothing is written while more than two thirds are taken (`sk_stream_is_writeable`); a full window does not let
    /// the buffer grow (`tcp_should_expand_sndbuf`).
    #[test]
    fn the_application_wakes_when_a_third_is_free() {
        let profile = profile();
        let mut writer = Writer::new(&profile).unwrap();
        writer.note_window(65_160);
        writer.write(0, u64::MAX, &profile);
        let before = writer.written;
        writer.make_room(20 * 1448, u64::MAX, 30 * 1448, true, 2, &profile);
        assert_eq!(writer.written, before); // 66,608 + 3 pieces of 87,040
        writer.make_room(30 * 1448, u64::MAX, 40 * 1448, true, 2, &profile);
        assert!(writer.written > before); // 52,128 + 2 pieces
        assert_eq!(writer.size, 87_040);
        writer.make_room(31 * 1448, u64::MAX, 40 * 1448, false, 2, &profile);
        assert_eq!(writer.size, 2 * 40 * (4096 + 256));
    }

    /// `tcp_sendmsg_locked`: what is left of the last piece is filled up before a new one begins. Three pieces of 22
    /// segments are written and 52 sent, so 14 are left; half of 85,760 bytes are 29 segments: the piece ends at 81. Bursts
    /// on their way are pieces, too.
    #[test]
    fn the_last_piece_is_filled_up() {
        let profile = profile();
        let mut writer = Writer::new(&profile).unwrap();
        writer.note_window(65_160);
        writer.write(0, u64::MAX, &profile);
        for burst in 12..=26 {
            writer.note_sent(2 * burst * 1448);
        }
        assert!(writer.head(52 * 1448, u64::MAX).is_some());
        assert_eq!(writer.queued(22 * 1448), 44 * 1448 + (15 + 1) * PIECE_COST);
        writer.note_window(85_760);
        writer.make_room(22 * 1448, u64::MAX, 33 * 1448, false, 2, &profile);
        assert_eq!(writer.head(52 * 1448, u64::MAX).map(|head| head.rest), Some(29 * 1448));
    }
}
