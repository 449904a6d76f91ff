//! What a transport can be told: a stack by name, and every part of it by itself.

use headway_units::{Bytes, Rate, Span};
use serde_json::json;

use super::protocol::Protocol;
use crate::limits::{FINEST, LONGEST};
use headway_language::{Definitions, Field, Json, Limit, Node, OrOff, Parameters, Reader, Shown, Value, record, words};

record! {
    /// A transport protocol and its settings. What is left out is as `stack` has it.
    pub struct TransportRecord {
        /// Whose TCP it is: what all other keys are that are left out.
        pub stack: Stack = Stack::Rfc,
        /// How lost packets are found and retransmitted.
        pub recovery: Option<Recovery>,
        /// How the window comes down when packets were lost or marked.
        pub reduction: Option<Reduction>,
        /// Sends the last packet again if nothing is heard of it for two round trips (RFC 8985).
        pub tail_loss_probe: Option<bool>,
        /// Finds out whether a retransmission timeout was needless before it sends more again (RFC 5682).
        pub f_rto: Option<bool>,
        /// Takes reductions back that prove needless (RFC 2883, RFC 3522).
        pub undo: Option<bool>,
        /// Duplicate acknowledgements, or packets reported above a missing one, that mean loss.
        #[range(1..=300)]
        pub duplicate_threshold: Option<u32>,
        /// The congestion window at the start, in packets (RFC 6928).
        #[range(1..=1000)]
        pub initial_window: Option<u32>,
        /// Where the first slow start ends; when left out, at the first loss.
        #[range(Bytes::new(1)..)]
        pub initial_ssthresh: Option<Bytes>,
        /// Packets by which an acknowledgement grows the window in slow start at most (RFC 3465's L), or "unlimited".
        #[range(1..=1000)]
        pub slow_start_growth: Option<Limit<u32>>,
        /// What congestion reduces.
        pub reduces: Option<Reduces>,
        /// What becomes of a window that was not used for a while.
        pub idle_restart: Option<IdleRestart>,
        /// How the retransmission timeout follows the round trips.
        pub rto_rule: Option<RtoRule>,
        /// The shortest retransmission timeout.
        #[range(Span::from_picos(1)..=LONGEST)]
        pub min_rto: Option<Span>,
        /// The retransmission timeout before a round trip is measured (RFC 6298).
        #[range(FINEST..=LONGEST)]
        pub initial_rto: Option<Span>,
        /// The longest retransmission timeout.
        #[range(FINEST..=LONGEST)]
        pub max_rto: Option<Span>,
        /// When a receiver acknowledges.
        pub delayed_ack: Option<DelayedAckRecord>,
        /// Sends new data on the first duplicate acknowledgements (RFC 3042).
        pub limited_transmit: Option<bool>,
        /// What a receiver accepts ahead of the application: an amount, or `{ initial, most }` if it grows.
        pub receive_window: Option<ReceiveWindow>,
        /// Windows may be larger than 65,535 bytes (RFC 7323).
        pub window_scaling: Option<bool>,
        /// What a sender may have written that is not acknowledged, or "unlimited".
        #[range(Bytes::new(4096)..=Bytes::new(1 << 30))]
        pub send_buffer: Option<Limit<Bytes>>,
        /// The most data that leaves back to back, as a card cuts it into packets, or false.
        #[range(Bytes::new(1)..=Bytes::new(1 << 20))]
        pub segmentation_offload: Option<OrOff<Bytes>>,
        /// Waits while the host's card holds much of the connection (TCP small queues); needs `segmentation-offload`.
        pub small_queues: Option<bool>,
        /// What is spaced out.
        pub pacing: Option<Pacing>,
        /// Paced at no higher rate than this, counted without headers as Linux does (`SO_MAX_PACING_RATE`).
        #[range(Rate::from_bps(10_000)..)]
        pub max_pacing_rate: Option<Rate>,
        /// Reacts to marked packets (RFC 3168).
        pub ecn: Option<bool>,
        /// Carries timestamps, 12 bytes in every packet (RFC 7323).
        pub timestamps: Option<bool>,
        /// Settings of the congestion control by name.
        pub control_parameters: Parameters = Parameters::new(),
        /// What is different on kernel hosts.
        pub linux: Option<LinuxTransportRecord>,
    }
    with /// The protocol.
    protocol: Protocol
}

record! {
    /// What is different on kernel hosts; a key left out is as for modelled ones.
    pub struct LinuxTransportRecord {
        /// The congestion control, as the kernel calls it.
        pub control: Option<String>,
        /// How lost packets are found and retransmitted.
        pub recovery: Option<Recovery>,
        /// Subflows of a connection.
        #[range(1..=8)]
        pub subflows: Option<u32>,
        /// Further subflows open once so much is acknowledged; kernels know 0 alone.
        pub join_after: Option<Bytes>,
        /// The shortest retransmission timeout.
        #[range(Span::from_picos(1)..=LONGEST)]
        pub min_rto: Option<Span>,
        /// The retransmission timeout before a round trip is measured; kernels know 1s alone.
        #[range(FINEST..=LONGEST)]
        pub initial_rto: Option<Span>,
        /// The longest retransmission timeout; kernels know 120s alone.
        #[range(FINEST..=LONGEST)]
        pub max_rto: Option<Span>,
        /// When a receiver acknowledges.
        pub delayed_ack: Option<DelayedAckRecord>,
        /// Asks for and grants ECN.
        pub ecn: Option<bool>,
        /// Carries timestamps.
        pub timestamps: Option<bool>,
    }
}

words! {
    /// Whose TCP it is.
    pub enum Stack {
        /// The letter of the RFCs.
        "rfc" => Rfc,
        /// Linux 6.12 with its defaults.
        "linux" => Linux,
        /// Linux 2.6.32 with its defaults.
        "linux-2.6" => Linux26,
        /// Windows XP with its defaults.
        "windows-xp" => WindowsXp,
    }
}

words! {
    /// How lost packets are found and retransmitted.
    pub enum Recovery {
        /// By duplicate acknowledgements, one loss per round trip (RFC 6582).
        "new-reno" => NewReno,
        /// By selective acknowledgements (RFC 6675).
        "sack" => Sack,
        /// By selective acknowledgements of what was sent later (RACK, RFC 8985).
        "rack" => Rack,
    }
}

words! {
    /// How the window comes down when packets were lost or marked.
    pub enum Reduction {
        /// At once; then nothing is sent until so much has left (RFC 5681).
        "at-once" => AtOnce,
        /// In proportion to what arrives (RFC 6937).
        "proportional" => Proportional,
        /// One packet for every second acknowledgement, as Linux did before 3.2.
        "halving" => Halving,
    }
}

words! {
    /// What congestion reduces.
    pub enum Reduces {
        /// What is in flight (RFC 5681).
        "flight" => Flight,
        /// The congestion window, as Linux does.
        "cwnd" => Cwnd,
    }
}

words! {
    /// What becomes of a window that was not used for a while.
    pub enum IdleRestart {
        /// Nothing.
        "keep" => Keep,
        /// After an idle retransmission timeout it is the initial window at most (RFC 5681).
        "restart" => Restart,
        /// It halves for each idle retransmission timeout (RFC 2861).
        "decay" => Decay,
    }
}

words! {
    /// How the retransmission timeout follows the round trips.
    pub enum RtoRule {
        /// As RFC 6298 says.
        "rfc6298" => Rfc6298,
        /// As Linux does: its shortest timeout is added to the round trip.
        "linux" => Linux,
    }
}

words! {
    /// What is spaced out.
    pub enum Pacing {
        /// Nothing, unless the congestion control says a rate (BBR).
        "control" => Control,
        /// Everything, as Linux does with the discipline `fq`.
        "always" => Always,
    }
}

record! {
    /// When a receiver acknowledges. What is left out is as `stack` has it.
    pub struct DelayedAckRecord {
        /// At the latest after so many packets; 1 acknowledges each.
        #[range(1..=1000)]
        pub packets: Option<u32>,
        /// At the latest after this time.
        #[range(Span::ZERO..=LONGEST)]
        pub timeout: Option<Span>,
        /// The first so many packets of a flow are acknowledged at once.
        pub quick: Option<u32>,
        /// The timeout follows the gaps between packets, and more as Linux does it.
        pub adaptive: Option<bool>,
        /// With `adaptive`: while packets are missing, one acknowledgement a millisecond instead of one for each packet.
        pub compression: Option<bool>,
    }
}

record! {
    /// A receive window that grows with what arrives.
    pub struct WindowRecord {
        /// The window in the beginning; that of `stack` when left out.
        #[range(Bytes::new(1)..=Bytes::new(1 << 30))]
        pub initial: Option<Bytes>,
        /// The largest window; that of `stack` when left out.
        #[range(Bytes::new(1)..=Bytes::new(1 << 30))]
        pub most: Option<Bytes>,
    }
}

/// What a receiver accepts ahead of the application: `"6MB"`, or `{ initial = "64KB", most = "6MB" }`.
#[derive(Debug, Clone, PartialEq)]
pub enum ReceiveWindow {
    /// Always so much.
    Fixed(Bytes),
    /// What follows what arrives.
    Growing(WindowRecord),
}

impl Field for ReceiveWindow {
    fn read(node: &Node, reader: &mut Reader) -> Option<ReceiveWindow> {
        if let Value::Table(_) = &node.value {
            return WindowRecord::read(node, reader).map(ReceiveWindow::Growing);
        }
        let window = Bytes::read(node, reader);
        let range = Bytes::new(1)..=Bytes::new(1 << 30);
        reader.limited_at(node.at, window, &range).map(ReceiveWindow::Fixed)
    }

    fn show(&self) -> Option<Shown> {
        match self {
            ReceiveWindow::Fixed(window) => window.show(),
            ReceiveWindow::Growing(window) => window.show(),
        }
    }

    fn schema(definitions: &mut Definitions) -> Json {
        json!({ "anyOf": [Bytes::schema(definitions), WindowRecord::schema(definitions)] })
    }
}
