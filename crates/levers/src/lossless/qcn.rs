//! Quantised congestion notification: switches tell cards which flows fill a queue, and cards slow those down.

use headway_control::qcn::{CongestionParameters, ReactionParameters};
use headway_language::{above, record};
use headway_units::{Bytes, Rate, Span};

/// The longest cycle of a reaction point.
const LONGEST: Span = Span::from_secs(3600);
/// The slowest rate: a frame of 1,538 B in 12 ms.
const SLOWEST: Rate = Rate::from_bps(1_000_000);

record! {
    /// Congestion and reaction points of IEEE 802.1Qau.
    pub struct QcnRecord {
        /// The priorities whose queues are looked at; the lossless ones when left out.
        pub priorities: Option<Vec<u8>>,
        /// The queue of a priority at a port that is aimed at, Q_eq.
        #[range(Bytes::new(1000)..)]
        pub set_point: Bytes = CongestionParameters::default().set_point,
        /// The weight of the queue's growth beside its length, w.
        #[range(0.0..=1000.0)]
        pub weight: f64 = CongestionParameters::default().weight,
        /// Bytes that join a queue from one sample to the next without congestion.
        #[range(Bytes::new(1000)..)]
        pub sample_base: Bytes = CongestionParameters::default().sample_base,
        /// The part of that distance by which it strays at random.
        #[range(0.0..=0.99)]
        pub jitter: f64 = CongestionParameters::default().jitter,
        /// The priority of feedback frames.
        #[range(0..=7)]
        pub feedback_priority: u8 = 6,
        /// The rate recovers by a step in each such time; in half of it after fast recovery.
        #[range(Span::from_micros(1)..=LONGEST)]
        pub time_reset: Span = ReactionParameters::default().time_reset,
        /// And by a step whenever so much was sent; half of it after fast recovery.
        #[range(Bytes::new(1000)..)]
        pub byte_reset: Bytes = ReactionParameters::default().byte_reset,
        /// Steps of fast recovery.
        #[range(1..=100)]
        pub threshold: u32 = ReactionParameters::default().threshold,
        /// What a step adds to the target afterwards.
        pub additive: Rate = ReactionParameters::default().additive,
        /// The same when time and bytes have both made so many steps.
        pub hyper: Rate = ReactionParameters::default().hyper,
        /// The part of the rate that one step of feedback takes, of 63; G_d.
        #[range(above(0.0))]
        pub gain: f64 = ReactionParameters::default().gain,
        /// The least part of a rate that one feedback leaves.
        #[range(0.0..=1.0)]
        pub least_factor: f64 = ReactionParameters::default().least_factor,
        /// The least rate.
        #[range(SLOWEST..)]
        pub least: Rate = ReactionParameters::default().least,
    }
}

impl QcnRecord {
    /// What congestion points are set up with.
    pub fn point(&self) -> CongestionParameters {
        CongestionParameters {
            set_point: self.set_point,
            weight: self.weight,
            sample_base: self.sample_base,
            jitter: self.jitter,
        }
    }

    /// What reaction points are set up with.
    pub fn reaction(&self) -> ReactionParameters {
        ReactionParameters {
            time_reset: self.time_reset,
            byte_reset: self.byte_reset,
            threshold: self.threshold,
            additive: self.additive,
            hyper: self.hyper,
            gain: self.gain,
            least_factor: self.least_factor,
            least: self.least,
        }
    }
}
