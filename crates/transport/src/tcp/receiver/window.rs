//! The window that Linux offers: it follows what arrives in a round trip, as the receiver measures it.
//!
//! Sources: `net/ipv4/tcp_input.c` (`tcp_rcv_space_adjust`, `tcp_grow_window`, `tcp_rcv_rtt_measure`,
//! `tcp_rcv_rtt_measure_ts`), `tcp_output.c` (`__tcp_select_window`, `tcp_select_window`) of Linux 6.12; RFC 7323 §2.3,
//! RFC 9293 §3.8.6 (the right edge never goes back).
//!
//! All is counted in bytes of payload. Of the memory that buffers take beyond it (`truesize`) only that is modelled that
//! Linux takes half of a buffer for payload until the first full segment shows that it is more (`scaling_ratio`); the
//! largest window belongs to the settings. Receivers of one-way flows read at once, so that only data beyond a hole takes room. Leaves
//! out: memory pressure, data that finds no room, and the rounding to the window's scale (128 bytes for 6 MB).
//!
//! MPTCP: the window is the connection's, see [`Shared`]. Without (stacks other than Linux), each subflow's receiver
//! follows the connection's data over its own round trip, and the sender takes the furthest edge, so that the subflow
//! with the longest round trip decides.

use headway_units::{Span, Time};

use super::Inflow;
use crate::segment::flag;
use crate::tcp::profile::Profile;
use crate::tcp::rtt::tick;

/// A window in a SYN cannot be scaled (RFC 7323 §2.2).
const UNSCALED: u64 = 65_535;
/// How much of a buffer is payload, in 1/256: what Linux takes for granted (`TCP_DEFAULT_SCALING_RATIO`), and what it
/// finds when the first full segment arrives (`tcp_measure_rcv_mss`), whose `truesize` is 2.2 KB with most cards that
/// do not merge what arrives.
const FIRST_RATIO: u32 = 128;
const SCALING_RATIO: u32 = 168;
/// `TCP_INIT_CWND`.
const INITIAL_SEGMENTS: u64 = 10;

/// The window that SYN-ACK offers, in bytes.
pub(crate) fn first(profile: &Profile) -> u64 {
    initial(profile).map_or(profile.receive_window.get(), |window| window.min(UNSCALED))
}

fn initial(profile: &Profile) -> Option<u64> {
    profile.autotuning.map(|initial| initial.min(profile.receive_window).get())
}

/// The offered window.
#[derive(Debug)]
pub(super) struct Offer {
    /// The most that the buffer has room for (`window_clamp`).
    window_clamp: u64,
    /// No full segment has arrived yet.
    unmeasured: bool,
    /// The part of it that is offered.
    rcv_ssthresh: u64,
    /// Right edge: the data offered so far.
    edge: u64,
    /// Bytes read in the last round trip (`rcvq_space.space`), and where and when this one began.
    space: u64,
    from: u64,
    since: Time,
    /// The longest round trip of the connection's other subflows.
    others: Span,
    /// The connection was there before the subflow.
    joins: bool,
}

/// The part of their windows that the subflows of a connection share: its buffer, the bytes read of it, and the edge
/// (`net/mptcp/protocol.c: mptcp_rcv_space_adjust`, `options.c: mptcp_set_rwin`). How much of it a subflow shows before
/// it has seen data (`rcv_ssthresh`) is its own.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shared {
    window_clamp: u64,
    edge: u64,
    space: u64,
    from: u64,
    since: Time,
}

/// The largest segment that the receiver announces, less timestamps (`tp->advmss`): MPTCP's options are not counted.
fn announced(profile: &Profile) -> u64 {
    const HEADERS: u32 = 14 + 4 + 20 + 20;
    const TIMESTAMPS: u32 = 12;
    let timestamps = if profile.timestamps { TIMESTAMPS } else { 0 };
    let multipath = profile.overhead.saturating_sub(HEADERS + timestamps);
    u64::from(profile.mss + if profile.multipath.is_some() { multipath } else { 0 })
}

impl Offer {
    pub fn new(profile: &Profile) -> Option<Offer> {
        let initial = initial(profile)?;
        let space = initial.min(INITIAL_SEGMENTS * announced(profile)).max(1);
        Some(Offer {
            window_clamp: initial,
            // of MPTCP's connections `Shared` decides
            unmeasured: profile.has_linux_receiver() && profile.multipath.is_none(),
            rcv_ssthresh: initial,
            edge: 0,
            space,
            from: 0,
            since: Time::ZERO,
            others: Span::ZERO,
            joins: false,
        })
    }

    /// Data may arrive from now on (`tcp_init_buffer_space`).
    pub fn established(&mut self, now: Time, inflow: Inflow) {
        if !self.joins {
            (self.from, self.since) = (inflow.in_order, now);
        }
    }

    /// The right edge.
    pub fn edge(&self) -> u64 {
        self.edge
    }

    /// An offer has not left: the edge is what it was before.
    pub fn restore_edge(&mut self, edge: u64) {
        self.edge = edge;
    }

    /// The part that the connection's subflows share.
    pub fn share(&self) -> Shared {
        let &Offer { window_clamp, edge, space, from, since, .. } = self;
        Shared { window_clamp, edge, space, from, since }
    }

    /// Takes over the shared part from another subflow; `others` is the longest of their round trips.
    pub fn adopt(&mut self, shared: Shared, others: Span) {
        let Shared { window_clamp, edge, space, from, since } = shared;
        *self = Offer { window_clamp, edge, space, from, since, others, joins: true, ..*self };
    }

    /// A segment of `len` bytes arrived; says whether the window grew (`tcp_grow_window`).
    pub fn grow(&mut self, len: u32, held: u64, profile: &Profile) -> bool {
        if self.unmeasured && len >= profile.mss {
            self.unmeasured = false;
            let room = u128::from(self.window_clamp) * u128::from(SCALING_RATIO) / u128::from(FIRST_RATIO);
            self.window_clamp = self.window_clamp.max((room as u64).min(profile.receive_window.get()));
        }
        let len = u64::from(len);
        let room = self.window_clamp.saturating_sub(held + len).saturating_sub(self.rcv_ssthresh);
        self.rcv_ssthresh += room.min(2 * len.max(u64::from(profile.mss)));
        room > 0
    }

    /// Data was read: twice what came in a round trip, and room for a sender that goes on speeding up
    /// (`tcp_rcv_space_adjust`).
    pub fn adjust(&mut self, now: Time, in_order: u64, rtt: Span, profile: &Profile) {
        let rtt = rtt.max(self.others);
        if rtt.is_zero() || now.since(self.since) < rtt {
            return;
        }
        let copied = in_order - self.from;
        if copied > self.space {
            let window = 2 * copied + 16 * announced(profile);
            let growth = window.saturating_mul(copied - self.space) / self.space;
            let window = window.saturating_add(growth.saturating_mul(2));
            self.window_clamp = self.window_clamp.max(window.min(profile.receive_window.get()));
            self.space = copied;
        }
        (self.from, self.since) = (in_order, now);
    }

    /// The window still open.
    pub fn open(&self, in_order: u64) -> u64 {
        self.edge.saturating_sub(in_order)
    }

    /// Whether so much lies beyond holes that less than half of the room is left.
    pub fn is_short(&self, held: u64) -> bool {
        self.window_clamp.saturating_sub(held) < self.window_clamp / 2
    }

    /// A window chosen anew (`__tcp_select_window`).
    fn select(&self, held: u64, full: u32) -> u64 {
        let free = self.window_clamp.saturating_sub(held);
        if self.is_short(held) && (free < self.window_clamp / 16 || free < u64::from(full).min(self.window_clamp)) {
            return 0;
        }
        free.min(self.rcv_ssthresh)
    }

    /// The window of the acknowledgement that leaves now (`tcp_select_window`).
    pub fn offer(&mut self, inflow: Inflow, full: u32, syn: bool) -> u64 {
        let window = self.select(inflow.held, full).max(self.open(inflow.in_order));
        let window = if syn { window.min(UNSCALED) } else { window };
        self.edge = inflow.in_order + window;
        window
    }

    /// Whether the window has opened so far that the sender must hear of it (`__tcp_cleanup_rbuf`).
    pub fn is_worth_an_update(&self, inflow: Inflow, full: u32) -> bool {
        let open = self.open(inflow.in_order);
        let window = if 2 * open <= self.window_clamp { self.select(inflow.held, full) } else { 0 };
        window > 0 && window >= 2 * open
    }
}

/// The receiver's estimate of the round trip.
///
/// Linux reads it from the timestamps that data echo. Here one bit goes forth and back (as in RFC 9000 §17.4): it changes
/// with the first acknowledgement of a new tick after it has come back. That is a measurement per round trip where Linux
/// has one per tick, so it counts as often as acknowledgements of another tick have left meanwhile; and the
/// acknowledgements after a lost one keep its time.
#[derive(Debug, Default, Clone)]
pub(super) struct RoundTrip {
    pub estimate: Span,
    /// The window measured: its end, and when it was offered.
    window: Option<(u64, Time)>,
    bit: u8,
    /// In which tick the bit changed, while it is on its way.
    changed: Option<u64>,
    last: Option<u64>,
    /// Ticks with acknowledgements since it changed, and the last of them.
    stamps: (u32, u64),
}

impl RoundTrip {
    /// `tcp_rcv_rtt_update`: of samples that depend on the window, only the smallest count.
    fn update(&mut self, sample: Span, by_window: bool) {
        if self.estimate.is_zero() || sample < self.estimate {
            self.estimate = sample;
        } else if !by_window {
            self.estimate = self.estimate - self.estimate / 8 + sample / 8;
        }
    }

    /// `tcp_rcv_rtt_measure`: everything before `next` has arrived, and `window` beyond it is offered.
    #[inline]
    pub fn measure(&mut self, now: Time, next: u64, window: u64) {
        match self.window {
            Some((end, _)) if next < end => return,
            Some((_, since)) => self.update(now.since(since).max(Span::from_micros(1)), true),
            None => {}
        }
        self.window = Some((next + window, now));
    }

    /// A segment echoes the bit (`tcp_rcv_rtt_measure_ts`); only a `full` one makes a sample. Ticks are all that
    /// timestamps tell.
    #[inline]
    pub fn echoed(&mut self, now: Time, tag: u8, full: bool) {
        if tag & flag::SPIN == self.bit
            && let Some(changed) = self.changed.take()
        {
            let ticks = tick(now) - changed;
            if full && ticks > 0 {
                // from then on more of them would not change it
                (0..self.stamps.0.clamp(1, 64)).for_each(|_| self.update(Span::from_millis(ticks), false));
            }
        }
    }

    /// The bit of an acknowledgement that leaves now; `anew` if those before it have gone unanswered.
    #[inline]
    pub fn bit(&mut self, now: Time, anew: bool) -> u8 {
        let now = tick(now);
        if self.changed.is_none() && self.last != Some(now) {
            self.bit ^= flag::SPIN;
            (self.changed, self.last) = (Some(now), Some(now));
            self.stamps = (1, now);
        } else if anew {
            (self.changed, self.last) = (Some(now), Some(now));
            self.stamps = (1, now);
        } else if self.stamps.1 != now {
            self.stamps = (self.stamps.0 + 1, now);
        }
        self.bit
    }
}
