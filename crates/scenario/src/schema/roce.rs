//! RoCE, and DCQCN with its parameters.

use headway_control::dcqcn::Parameters;
use headway_language::{Limit, OrOff, record, words};
use headway_transport::Roce;
use headway_units::{Bytes, Rate, Span};

use crate::limits::LONGEST;

/// A rate that moves a frame within the longest time.
const SLOWEST: Rate = Rate::from_bps(10_000);

record! {
    /// RoCEv2: each flow is a queue pair with one RDMA write.
    pub struct RoceRecord {
        /// Congestion control.
        pub control: RoceControl = RoceControl::Dcqcn,
        /// Parameters of DCQCN.
        pub dcqcn: Option<DcqcnRecord>,
        /// How lost packets are repaired.
        pub retransmission: Retransmission = Retransmission::GoBackN,
        /// Data in a full packet: 256, 512, 1024, 2048 or 4096 bytes; the most that fits when left out.
        pub path_mtu: Option<Bytes>,
        /// A queue pair never sends faster; the rate of its line when left out.
        #[range(SLOWEST..)]
        pub rate: Option<Rate>,
        /// Data on the way at most, as IRN's BDP cap, or "unlimited".
        #[range(Bytes::new(1)..)]
        pub window: Limit<Bytes> = Limit::Unlimited,
        /// So many packets are acknowledged at once; the last always.
        #[range(1..=1000)]
        pub ack_every: u32 = 1,
        /// With go-back-N, a packet that is still missing is reported again after so long, or false; 500 µs when left out.
        #[range(Span::from_micros(1)..=LONGEST)]
        pub nak_interval: Option<OrOff<Span>>,
        /// The time without progress after which what is not acknowledged is sent again.
        #[range(Span::from_micros(1)..=LONGEST)]
        pub timeout: Span = Span::from_nanos(4096 << 14),
        /// The priority of congestion notification packets; 6 when left out.
        #[range(0..=7)]
        pub cnp_priority: Option<u8>,
    }
}

words! {
    /// Congestion control of RoCE.
    pub enum RoceControl {
        /// Rates that follow marks (Zhu et al., SIGCOMM 2015).
        "dcqcn" => Dcqcn,
        /// None: every queue pair sends as fast as its card lets it.
        "none" => None,
    }
}

words! {
    /// How queue pairs repair losses.
    pub enum Retransmission {
        /// All from the first lost packet on is sent again.
        "go-back-n" => GoBackN,
        /// What was lost is sent again (IRN: Mittal et al., SIGCOMM 2018).
        "selective-repeat" => SelectiveRepeat,
    }
}

record! {
    /// DCQCN.
    pub struct DcqcnRecord {
        /// The weight of a notification in the average of congestion, g.
        #[range(1e-6..=1.0)]
        pub gain: f64 = 1.0 / 256.0,
        /// Without a notification for so long the average shrinks.
        #[range(Span::from_micros(1)..=LONGEST)]
        pub alpha_interval: Span = Parameters::default().alpha_interval,
        /// The least time between two notifications of a flow.
        #[range(Span::ZERO..=LONGEST)]
        pub cnp_interval: Span = Parameters::default().cnp_interval,
        /// The rate recovers a step in each such time.
        #[range(Span::from_micros(1)..=LONGEST)]
        pub timer: Span = Parameters::default().timer,
        /// The rate recovers a step whenever so much was sent.
        #[range(Bytes::new(1000)..)]
        pub byte_counter: Bytes = Parameters::default().byte_counter,
        /// Steps of fast recovery, F.
        #[range(1..=100)]
        pub threshold: u32 = Parameters::default().threshold,
        /// What a step adds to the target afterwards.
        pub additive: Rate = Parameters::default().additive,
        /// The same when time and bytes have both made so many steps.
        pub hyper: Rate = Parameters::default().hyper,
        /// The least rate.
        #[range(SLOWEST..)]
        pub least: Rate = Parameters::default().least,
    }
}

impl RoceRecord {
    /// The path MTUs of InfiniBand: bytes of data in a packet.
    pub const PATH_MTUS: [u64; 5] = [256, 512, 1024, 2048, 4096];

    /// The largest path MTU that IP datagrams of `mtu` bytes have room for.
    pub fn largest(mtu: Bytes) -> Option<Bytes> {
        let room = mtu.get().saturating_sub(u64::from(Roce::IP_OVERHEAD));
        RoceRecord::PATH_MTUS.into_iter().rev().find(|&own| own <= room).map(Bytes::new)
    }
}

impl DcqcnRecord {
    /// Those of the control.
    pub fn parameters(&self) -> Parameters {
        Parameters {
            gain: self.gain,
            alpha_interval: self.alpha_interval,
            cnp_interval: self.cnp_interval,
            timer: self.timer,
            byte_counter: self.byte_counter,
            threshold: self.threshold,
            additive: self.additive,
            hyper: self.hyper,
            least: self.least,
        }
    }
}
