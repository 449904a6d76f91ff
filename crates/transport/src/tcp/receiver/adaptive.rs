//! When Linux acknowledges: at once while a sender is young or in trouble, every second segment later, a lone one after
//! a time-out that follows the gaps between segments, and fewer while there are holes.
//!
//! Sources: `net/ipv4/tcp_input.c` (`tcp_event_data_recv`, `tcp_measure_rcv_mss`, `__tcp_ack_snd_check`),
//! `tcp_output.c` (`tcp_send_delayed_ack`), `tcp.c` (`__tcp_cleanup_rbuf`) and `tcp_timer.c` (`tcp_delack_timer_handler`)
//! of Linux 6.12.
//!
//! Leaves out: segments that GRO merges, which Linux acknowledges as one, where the host has no model (`host`);
//! interactive ("ping-pong") connections, also where data goes both ways; timers of other connections, at which a
//! compression may end before the slack of its own is over; and PSH within what an application writes: here the end of a write is FIN, the end of a burst of
//! several segments, the end of the data or a segment that is not full.

use headway_units::{Span, Time};

use crate::tcp::profile::Profile;
use crate::tcp::rtt::{tick, ticks_of};

/// `TCP_DELACK_MAX`, in ticks.
const MOST: u32 = 200;
/// `tcp_send_delayed_ack`: HZ / 2.
const MAX_BY_INTERVAL: u32 = 500;
/// `TCP_MSS_DEFAULT` and `TCP_MIN_MSS`.
const DEFAULT_MSS: u32 = 536;
const MIN_MSS: u32 = 88;
/// `sysctl_tcp_comp_sack_nr`, `sysctl_tcp_comp_sack_delay_ns`.
const COMPRESSED: u32 = 44;
const COMPRESSED_FOR: Span = Span::from_millis(1);
/// `sysctl_tcp_comp_sack_slack_ns`: by how much the timer may be late. It is, since `hrtimer_start_range_ns` sets the
/// clock for the end of the range, unless another timer of the kind fires in it.
const SLACK: Span = Span::from_micros(100);
/// Duplicates that a sender must see at once to retransmit (`TCP_FASTRETRANS_THRESH`).
const DUPLICATES: u8 = 3;

/// [`ticks_of`], as `icsk_ack` counts them.
fn ticks(span: Span) -> u32 {
    u32::try_from(ticks_of(span)).unwrap_or(u32::MAX)
}

/// How long an acknowledgement waits that need not leave at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wait {
    /// Nothing: it leaves now.
    Over,
    /// Until the timer that is set already.
    AsSet,
    /// Until the timer wheel fires, after this many ticks.
    Ticks(u32),
    /// Exactly this long.
    For(Span),
}

/// State of the acknowledgement rules (`icsk_ack` and its neighbours).
#[derive(Debug)]
pub(super) struct Adaptive {
    /// Size of the sender's full segments, as estimated (`rcv_mss`).
    pub rcv_mss: u32,
    last_size: u32,
    /// Acknowledgements that still leave at once.
    pub quick_acks: u32,
    /// Ticks; zero before the first data.
    ato: u32,
    last_arrival: u64,
    /// The end of a write arrived since the last acknowledgement.
    pub pushed: bool,
    /// When the delayed acknowledgement is due, in ticks.
    due: Option<u64>,
    /// Duplicate acknowledgements sent for the hole at `hole` (`dup_ack_counter`).
    dup_acks: u8,
    hole: u64,
    pub compressed: u32,
    /// The timer is that of a compression.
    pub compressing: bool,
    /// Round trip of the handshake.
    srtt: Option<Span>,
    rto: u32,
    /// Some segment could have been marked (`TCP_ECN_SEEN`).
    pub capable: bool,
    /// `TCP_ATO_MIN`, in ticks.
    ato_min: u32,
    max_quick_acks: u32,
}

impl Adaptive {
    pub fn new(profile: &Profile, window: u64) -> Adaptive {
        // `tcp_initialize_rcv_mss`
        let half = u32::try_from(window / 2).unwrap_or(u32::MAX);
        Adaptive {
            rcv_mss: profile.mss.min(half).clamp(MIN_MSS, DEFAULT_MSS),
            last_size: 0,
            quick_acks: 0,
            ato: 0,
            last_arrival: 0,
            pushed: false,
            due: None,
            dup_acks: 0,
            hole: 0,
            compressed: 0,
            compressing: false,
            srtt: None,
            rto: ticks(profile.initial_rto),
            capable: false,
            ato_min: ticks(profile.delayed_ack.timeout).max(1),
            max_quick_acks: profile.delayed_ack.quick,
        }
    }

    /// The handshake took `rtt` (`tcp_synack_rtt_meas`, `tcp_rtt_estimator`): all that a receiver ever measures of its
    /// own packets.
    pub fn established(&mut self, rtt: Span, profile: &Profile) {
        self.srtt = Some(rtt);
        self.rto = ticks((rtt + (rtt * 2).max(profile.min_rto)).min(profile.max_rto));
    }

    /// `tcp_incr_quickack`.
    pub fn quicken(&mut self, most: u32, window: u64) {
        let segments = u32::try_from(window / (2 * u64::from(self.rcv_mss))).unwrap_or(u32::MAX);
        let segments = if segments == 0 { 2 } else { segments };
        self.quick_acks = self.quick_acks.max(segments.min(most).min(self.max_quick_acks));
    }

    /// `tcp_enter_quickack_mode`.
    pub fn enter_quick(&mut self, most: u32, window: u64) {
        self.quicken(most, window);
        self.ato = self.ato_min;
    }

    /// After something that needs all of the quick acknowledgements (`TCP_MAX_QUICKACKS`).
    pub fn enter_quick_fully(&mut self, window: u64) {
        self.enter_quick(self.max_quick_acks, window);
    }

    /// The window has grown (`tcp_grow_window`).
    pub fn window_grew(&mut self) {
        self.quick_acks |= u32::from(self.max_quick_acks > 0);
    }

    /// Estimates the size of full segments and the ends of writes from a segment's size (`tcp_measure_rcv_mss`).
    pub fn measure(&mut self, len: u32, push: bool, profile: &Profile) {
        let last = std::mem::replace(&mut self.last_size, 0);
        if len >= self.rcv_mss {
            self.rcv_mss = len.min(profile.mss);
            self.pushed |= push;
            return;
        }
        let options = if profile.timestamps { 12 } else { 0 };
        if len + options >= DEFAULT_MSS {
            self.last_size = len;
            if len == last {
                self.rcv_mss = len;
                return;
            }
        }
        self.pushed = true;
    }

    /// Data arrived in order: the time-out follows the gaps (`tcp_event_data_recv`).
    pub fn arrived(&mut self, now: Time, window: u64) {
        let now = tick(now);
        if self.ato == 0 {
            self.quicken(self.max_quick_acks, window);
            self.ato = self.ato_min;
        } else {
            let gap = u32::try_from(now - self.last_arrival).unwrap_or(u32::MAX);
            if gap <= self.ato_min / 2 {
                self.ato = self.ato / 2 + self.ato_min / 2;
            } else if gap < self.ato {
                self.ato = (self.ato / 2 + gap).min(self.rto).min(MOST.max(self.ato_min));
            } else if gap > self.rto {
                self.quicken(self.max_quick_acks, window); // the sender may have begun anew
            }
        }
        self.last_arrival = now;
    }

    /// The first data that a retransmission may not say of itself: see `__tcp_ecn_check_ce`. `begins`: this mark
    /// begins an echo.
    pub fn see_codepoint(&mut self, capable: bool, begins: bool, window: u64) {
        if begins || !capable && self.capable {
            self.enter_quick(2, window);
        }
        self.capable |= capable;
    }

    /// How long an acknowledgement may wait (`tcp_send_delayed_ack`).
    pub fn delay(&mut self, now: Time) -> Wait {
        let now = tick(now);
        let mut ato = self.ato;
        if ato > self.ato_min {
            let mut most = if self.pushed { MOST } else { MAX_BY_INTERVAL };
            if let Some(srtt) = self.srtt {
                most = most.min(ticks(srtt).max(self.ato_min));
            }
            ato = ato.min(most);
        }
        ato = ato.min(MOST.max(self.ato_min));
        let due = now + u64::from(ato);
        match self.due {
            Some(set) if set <= now + u64::from(ato / 4) => Wait::Over,
            Some(set) if set <= due => Wait::AsSet,
            _ => {
                self.due = Some(due);
                Wait::Ticks(ato)
            }
        }
    }

    /// There is a hole at `next`: a duplicate leaves at once or waits to be one of several; `rtt` is the receiver's
    /// estimate (`__tcp_ack_snd_check`).
    pub fn compress(&mut self, next: u64, rtt: Span) -> Wait {
        if self.compressed >= COMPRESSED {
            return Wait::Over;
        }
        if self.hole != next {
            self.hole = next;
            self.dup_acks = 0;
        }
        if self.dup_acks < DUPLICATES {
            self.dup_acks += 1;
            return Wait::Over;
        }
        self.compressed += 1;
        if self.compressing {
            return Wait::AsSet;
        }
        self.compressing = true;
        let rtt = self.srtt.map_or(rtt, |srtt| rtt.min(srtt));
        Wait::For((rtt / 20).min(COMPRESSED_FOR) + SLACK)
    }

    /// A delayed acknowledgement is waiting for its timer (`ICSK_ACK_TIMER`).
    pub fn is_waiting(&self) -> bool {
        self.due.is_some()
    }

    /// The delayed acknowledgement's timer fired: it was not needed, so it waits longer (`tcp_delack_timer_handler`).
    pub fn timed_out(&mut self) {
        self.ato = self.ato.saturating_mul(2).min(self.rto).min(MOST.max(self.ato_min));
    }

    /// An acknowledgement leaves, of data if `scheduled` (`tcp_event_ack_sent`, `tcp_dec_quickack_mode`).
    pub fn acknowledged(&mut self, scheduled: bool) {
        self.compressed = 0;
        self.compressing = false;
        self.pushed = false;
        self.due = None;
        if scheduled && self.quick_acks > 0 {
            self.quick_acks -= 1;
            if self.quick_acks == 0 {
                self.ato = self.ato_min;
            }
        }
    }
}
