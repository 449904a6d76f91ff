//! The choices that can differ between connections.

use headway_control::congestion::AnyController;
use headway_control::lanes;
use headway_units::{Bytes, Rate, Span};

/// How lost segments are found and retransmitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recovery {
    /// RFC 6582: duplicate acknowledgements, one repair per round trip.
    NewReno {
        /// The window comes down by proportional rate reduction (RFC 6937), and retransmissions wait for their share
        /// of it: Linux without selective acknowledgements.
        prr: bool,
    },
    /// RFC 6675: selective acknowledgements (RFC 2018), so many of them above a segment.
    Sack,
    /// Linux' state machine, with selective acknowledgements.
    Linux(LinuxRecovery),
}

impl Recovery {
    /// RFC 6582 by the letter.
    pub const NEW_RENO: Recovery = Recovery::NewReno { prr: false };

    /// Linux' choices, if it is Linux'.
    #[inline]
    pub fn linux(self) -> Option<LinuxRecovery> {
        match self {
            Recovery::Linux(linux) => Some(linux),
            Recovery::NewReno { .. } | Recovery::Sack => None,
        }
    }

    /// Whether it is Linux'.
    #[inline]
    pub fn is_linux(self) -> bool {
        matches!(self, Recovery::Linux(_))
    }

    /// Whether receivers acknowledge selectively.
    #[inline]
    pub fn uses_sack(self) -> bool {
        !matches!(self, Recovery::NewReno { .. })
    }
}

/// How the window comes down to ssthresh when there is congestion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reduction {
    /// RFC 5681, RFC 6675: at once; then nothing is sent until half of the window has left.
    AtOnce,
    /// Proportional rate reduction (RFC 6937).
    Proportional,
    /// One segment for every second acknowledgement, as Linux did before 3.2.
    Halving,
}

/// Loss recovery as Linux does it: one state machine for what is found by acknowledgements, by time and by probes, with
/// a way back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each switches one part, as Linux' settings do")]
pub struct LinuxRecovery {
    /// Losses are found by the delivery of later segments (RACK, RFC 8985), else by so many reports above a segment
    /// (RFC 6675).
    pub rack: bool,
    /// How the window comes down.
    pub reduction: Reduction,
    /// Tail loss probes (RFC 8985 §7).
    pub tail_loss_probe: bool,
    /// Forward RTO recovery (RFC 5682).
    pub f_rto: bool,
    /// Reductions that prove wrong are undone: by duplicate selective acknowledgements (RFC 2883) and, with
    /// timestamps, by the Eifel algorithm (RFC 3522).
    pub undo: bool,
}

/// How the retransmission time-out follows the round trips.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RtoRule {
    /// RFC 6298: srtt + 4·rttvar, at least the smallest time-out.
    Rfc6298,
    /// Linux: srtt + the largest 4·mdev of the last round trips, of which the second term is at least the smallest
    /// time-out (`net/ipv4/tcp_input.c: tcp_rtt_estimator`); timers expire as in its timer wheel.
    Linux,
}

/// The fate of a window that was not used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdleRestart {
    /// Nothing.
    Keep,
    /// After an idle RTO it is at most the initial window (RFC 5681 §4.1).
    Restart,
    /// It halves for each idle RTO, down to the initial window (RFC 2861; Linux).
    Decay,
}

/// How a host hands data to its card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offload {
    /// The most bytes that leave back to back: a TSO or GSO segment.
    pub most: u32,
    /// Stops while the host's card holds more of a connection than this allows (TCP small queues): two bursts or a
    /// millisecond's worth.
    pub small_queues: bool,
}

/// Whether and how a sender spaces what it sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pacing {
    /// Only a control that says a rate of its own (BBR).
    Control,
    /// Always: at twice (slow start) or 1.2 times cwnd/srtt, as Linux with the `fq` discipline.
    Always,
}

/// When a receiver acknowledges (RFC 5681 §4.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DelayedAck {
    /// An acknowledgement at the latest after this many segments; 1 acknowledges every segment.
    pub packets: u32,
    /// … or after this time.
    pub timeout: Span,
    /// The first so many segments of a connection are acknowledged at once, as Linux does while a sender is in its
    /// first slow start.
    pub quick: u32,
    /// Linux' rules beyond that: the time-out follows the gaps between segments, quick acknowledgements return after
    /// a pause, and the end of a write is acknowledged at once (`net/ipv4/tcp_input.c`).
    pub adaptive: bool,
    /// With `adaptive` and selective acknowledgements: while there are holes, acknowledgements are compressed to one
    /// per millisecond or 5 % of the round trip (`__tcp_ack_snd_check`, since Linux 4.18).
    pub compression: bool,
}

/// How a connection's data is shared out among its subflows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scheduler {
    /// Each segment goes to the subflow with the lowest smoothed round-trip time of those with window free.
    #[default]
    LowestRtt,
    /// As Linux does: data goes in bursts of up to 64 KB into the queue of the subflow that will have sent its own the
    /// soonest by its pacing rate, and stays there (`net/mptcp/protocol.c: mptcp_subflow_get_send`).
    Linux,
}

/// Which addresses of two hosts make a subflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AddressPairs {
    /// The sender's interface `i` with the receiver's interface `i`.
    #[default]
    OneToOne,
    /// Every interface of the sender with every one of the receiver, as MPTCP's full-mesh path managers do: 0 to 0
    /// first, then 0 to 1, … in order.
    FullMesh,
}

/// How a connection uses several paths.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Multipath {
    /// Subflows at most, the first included; they use the pairs of addresses in order and begin again on other ports
    /// when there are no more. `None`: one for each pair.
    pub subflows: Option<usize>,
    /// The pairs.
    pub pairs: AddressPairs,
    /// Data acknowledged before the other subflows are opened.
    pub join_after: Bytes,
    /// Subflows that carry data only while no other can: RFC 8684's backup flag. By their number in the order of pairs,
    /// which is that of opening unless the first one had to move.
    pub backup: Vec<usize>,
    /// A first subflow whose SYN was not answered in time tries the next interface.
    pub syn_fallback: bool,
    /// Short- and long-flow lanes, if any.
    pub lanes: Option<LanePlan>,
    /// Who gets what; subflows have queues by [`Scheduler::Linux`] and senders with [`Recovery::Linux`] only. Permits
    /// of lanes are then backup marks and not windows, as those of a path manager are.
    pub scheduler: Scheduler,
}

impl AddressPairs {
    /// How many there are between hosts with so many interfaces.
    pub fn count(self, interfaces: [usize; 2]) -> usize {
        match self {
            AddressPairs::OneToOne => interfaces[0].min(interfaces[1]),
            AddressPairs::FullMesh => interfaces[0] * interfaces[1],
        }
    }
}

impl Multipath {
    /// The number in the order of pairs, and the sender's and the receiver's interface, of subflow `nth`, where the first subflow uses the sender's `first`
    /// and hosts have `ours` and `theirs` (at least one each). The others follow in order.
    pub(crate) fn pair(&self, nth: usize, first: usize, ours: usize, theirs: usize) -> (usize, (usize, usize)) {
        let count = self.pairs.count([ours, theirs]);
        let pair = |number: usize| match self.pairs {
            AddressPairs::OneToOne => (number, number),
            AddressPairs::FullMesh => (number / theirs, number % theirs),
        };
        let first = match self.pairs {
            AddressPairs::OneToOne => first % count,
            AddressPairs::FullMesh => first % ours * theirs + first % theirs,
        };
        // the first one is taken out of the order and put before it
        let number = match nth % count {
            0 => first,
            place if place <= first => place - 1,
            place => place,
        };
        (nth / count * count + number, pair(number))
    }

    /// The sender's and the receiver's interface of subflow `nth` without lanes, where hosts have so many.
    pub fn interfaces(&self, nth: usize, [ours, theirs]: [usize; 2]) -> (usize, usize) {
        self.pair(nth, 0, ours.max(1), theirs.max(1)).1
    }

    /// Whether the receiver tells the sender of addresses for further subflows.
    pub(crate) fn announces(&self) -> bool {
        self.scheduler == Scheduler::Linux && self.lanes.is_none() && self.subflows.is_none_or(|most| most > 1)
    }
}

/// Which interfaces are lanes for what, and who judges.
#[derive(Debug, Clone, PartialEq)]
pub struct LanePlan {
    /// The sender's first so many interfaces are short-flow lanes, the others long-flow lanes.
    pub short: usize,
    /// The judge that decides that a connection is long.
    pub judge: lanes::Judge,
    /// On which short lane a connection starts.
    pub start: lanes::Start,
    /// Further subflows open only when the connection wants a long lane; they then begin with the initial window.
    pub late: bool,
    /// The hosts' memory of their connections.
    pub history: Option<HistoryPlan>,
    /// When a long connection comes back.
    pub back: Option<lanes::Return>,
    /// For so long a long connection without a live long lane is content with two packets per round trip on a short one.
    pub patience: Span,
    /// Leftover capacity of its short lanes that a long connection takes.
    pub leftovers: Option<lanes::Leftovers>,
}

impl LanePlan {
    /// The thesis' lanes: the first `short` interfaces are short lanes, every connection starts on the first, nothing is
    /// remembered and nobody comes back.
    pub fn new(short: usize, judge: impl Into<lanes::Judge>) -> LanePlan {
        let judge = judge.into();
        LanePlan {
            short,
            judge,
            start: lanes::Start::First,
            late: false,
            history: None,
            back: None,
            patience: Span::ZERO,
            leftovers: None,
        }
    }
}

/// The hosts' memory of their connections, for later ones.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoryPlan {
    /// The memory before the first connection.
    pub empty: lanes::History,
    /// Connections of at least so many bytes were long.
    pub long: Bytes,
    /// From this share of long ones to a service on, a connection to it begins on a long lane; `None`: never.
    pub long_share: Option<f64>,
}

/// Everything a connection is set up with.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each switches one part of the protocol; together they mean nothing")]
pub struct Profile {
    /// A fresh congestion control, copied for each subflow.
    pub control: AnyController,
    /// How loss is found and repaired.
    pub recovery: Recovery,
    /// Duplicate acknowledgements, or segments' worth of selectively acknowledged bytes, that mean loss.
    pub duplicate_threshold: u32,
    /// RFC 3042.
    pub limited_transmit: bool,
    /// Payload of a full segment.
    pub mss: u32,
    /// Bytes of a frame that are not payload: Ethernet header and checksum, IP, TCP and its options.
    pub overhead: u32,
    /// Segments carry timestamps (RFC 7323); their bytes are in `overhead`.
    pub timestamps: bool,
    /// Selective acknowledgement blocks that fit an acknowledgement beside its other options: at most 4 (RFC 2018 §3).
    pub sack_blocks: u8,
    /// Initial window in segments.
    pub initial_window: u32,
    /// Initial slow-start threshold, if not unlimited.
    pub initial_ssthresh: Option<Bytes>,
    /// The most segments by which an acknowledgement grows the window in slow start (RFC 3465's L; RFC 5681: 1).
    pub growth_limit: u32,
    /// Congestion reduces cwnd rather than what is in flight, and a window grows while at least half of it was used in
    /// slow start (Linux: `tcp_is_cwnd_limited`).
    pub reduces_cwnd: bool,
    /// The fate of an unused window.
    pub idle_restart: IdleRestart,
    /// How the time-out is computed.
    pub rto_rule: RtoRule,
    /// Smallest retransmission time-out.
    pub min_rto: Span,
    /// Time-out before there is a round-trip sample, also for SYN.
    pub initial_rto: Span,
    /// Largest time-out after back-off.
    pub max_rto: Span,
    /// Acknowledgement rules of the receiver.
    pub delayed_ack: DelayedAck,
    /// The largest window that a receiver offers.
    pub receive_window: Bytes,
    /// Windows are scaled if both ends of a connection have this (RFC 7323 §2.2).
    pub window_scaling: bool,
    /// The window offered first, which then follows what arrives (Linux: `tcp_rcv_space_adjust`); `None`: all of it
    /// from the start, since receivers read at once.
    pub autotuning: Option<Bytes>,
    /// Up to this the window of `autotuning` grows with every segment that arrives, before it follows what is read
    /// (Linux: `tcp_grow_window`): what the receive buffer has room for at first, if that is more than the window offered
    /// first.
    pub first_buffer: Bytes,
    /// The receiver is Linux', which reports duplicates where acknowledgements are selective (RFC 2883), and finds out at the
    /// first full segment how much its buffer holds. `None`: it is what `recovery` says that the sender is.
    pub linux_receiver: Option<bool>,
    /// The most bytes that an application may have written without an acknowledgement; `None` is no limit.
    pub send_buffer: Option<Bytes>,
    /// Bursts, as a card with segmentation offload makes them; without, segments are sent one by one.
    pub offload: Option<Offload>,
    /// Spacing.
    pub pacing: Pacing,
    /// What is spaced leaves at no higher rate than this, its headers not counted (Linux: `SO_MAX_PACING_RATE`).
    pub max_pacing_rate: Option<Rate>,
    /// ECN as in RFC 3168, or RFC 8257 if the control counts marks.
    pub ecn: bool,
    /// MPTCP, or plain TCP.
    pub multipath: Option<Multipath>,
    /// The pair of interfaces that plain TCP takes (its first copy, if there are several); the flow's hash chooses it if
    /// none is said.
    pub interface: Option<usize>,
    /// Flows of at most this size are sent by several connections over different paths: (size, copies).
    pub replicate: Option<(Bytes, u32)>,
}

impl Default for Profile {
    /// The letter of the RFCs, on Ethernet's MTU of 1500 bytes without options: NewReno's window, selective
    /// acknowledgements, ten segments to begin with, 200 ms at least until a time-out.
    fn default() -> Profile {
        Profile {
            control: AnyController::by_name("new-reno").expect("the first of all"),
            recovery: Recovery::Sack,
            duplicate_threshold: 3,
            limited_transmit: true,
            mss: 1460,
            overhead: 58,
            timestamps: false,
            sack_blocks: 4,
            initial_window: 10,
            initial_ssthresh: None,
            growth_limit: 1,
            reduces_cwnd: false,
            idle_restart: IdleRestart::Restart,
            rto_rule: RtoRule::Rfc6298,
            min_rto: Span::from_millis(200),
            initial_rto: Span::from_secs(1),
            max_rto: Span::from_secs(120),
            delayed_ack: DelayedAck {
                packets: 2,
                timeout: Span::from_millis(40),
                quick: 16,
                adaptive: false,
                compression: false,
            },
            receive_window: Bytes::from_kb(6_000),
            window_scaling: true,
            autotuning: None,
            first_buffer: Bytes::ZERO,
            send_buffer: None,
            offload: None,
            pacing: Pacing::Control,
            max_pacing_rate: None,
            ecn: false,
            linux_receiver: None,
            multipath: None,
            interface: None,
            replicate: None,
        }
    }
}

impl Profile {
    /// Whether the receiver is Linux'.
    pub(crate) fn has_linux_receiver(&self) -> bool {
        self.linux_receiver.unwrap_or(self.recovery.is_linux())
    }

    /// Whether the receiver reports duplicates (RFC 2883): Linux' does where acknowledgements are selective.
    pub(crate) fn reports_duplicates(&self) -> bool {
        self.has_linux_receiver() && self.recovery.uses_sack()
    }

    /// Sender and receiver as in Linux 6.12 with its defaults, but NewReno for the control and without timestamps'
    /// bytes: set `control`, `mss` and `overhead`.
    pub fn linux() -> Profile {
        Profile {
            recovery: Recovery::Linux(LinuxRecovery {
                rack: true,
                reduction: Reduction::Proportional,
                tail_loss_probe: true,
                f_rto: true,
                undo: true,
            }),
            growth_limit: u32::MAX,
            reduces_cwnd: true,
            idle_restart: IdleRestart::Decay,
            rto_rule: RtoRule::Linux,
            timestamps: true,
            sack_blocks: 3,
            delayed_ack: DelayedAck {
                packets: 2,
                timeout: Span::from_millis(40),
                quick: 16,
                adaptive: true,
                compression: true,
            },
            autotuning: Some(Bytes::new(65_160)),
            send_buffer: Some(Bytes::new(4 << 20)),
            offload: Some(Offload { most: 65_160, small_queues: true }),
            ..Profile::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(pairs: AddressPairs, first: usize, ours: usize, theirs: usize, count: usize) -> Vec<(usize, usize)> {
        let multipath = Multipath { pairs, ..Multipath::default() };
        (0..count).map(|nth| multipath.pair(nth, first, ours, theirs).1).collect()
    }

    #[test]
    fn subflows_use_interfaces_in_order_after_the_first() {
        let one = AddressPairs::OneToOne;
        assert_eq!(order(one, 0, 3, 3, 4), [(0, 0), (1, 1), (2, 2), (0, 0)]);
        assert_eq!(order(one, 1, 3, 3, 4), [(1, 1), (0, 0), (2, 2), (1, 1)]);
        assert_eq!(order(one, 2, 3, 2, 2), [(0, 0), (1, 1)], "the receiver has two");
        let multipath = Multipath::default();
        let numbers: Vec<usize> = (0..4).map(|nth| multipath.pair(nth, 1, 2, 2).0).collect();
        assert_eq!(numbers, [1, 0, 3, 2], "whose order is that of pairs, round by round");
    }

    #[test]
    fn a_full_mesh_has_every_pair_once() {
        let mesh = AddressPairs::FullMesh;
        assert_eq!(order(mesh, 0, 2, 2, 4), [(0, 0), (0, 1), (1, 0), (1, 1)]);
        assert_eq!(order(mesh, 1, 2, 2, 4), [(1, 1), (0, 0), (0, 1), (1, 0)]);
        assert_eq!(order(mesh, 1, 3, 1, 3), [(1, 0), (0, 0), (2, 0)]);
    }
}
