//! Pacing: hosts space out what they send.
//!
//! [`PacingRecord`] is what every host that paces can be told; a scenario's policy has it within [`ModelledPacingRecord`],
//! which adds what cards of modelled hosts can do. docs/scenario-file/pacing.md describes all of it.

mod modelled;
mod rate;

use headway_control::pacing::{Burst, FASTEST};
use headway_language::{record, words};
use headway_units::Rate;

pub use modelled::{By, ModelledPacingRecord, PacingClassRecord};
pub use rate::PaceRate;

use crate::Mistake;

/// The slowest pace: a frame of 1,538 B every 12 s.
const SLOWEST: Rate = Rate::from_bps(1_000);

words! {
    /// The round trip of a dynamic rate.
    pub enum RoundTripOf {
        /// The sender's estimate, which has in it how long its packets wait to be sent.
        "smoothed" => Smoothed,
        /// The shortest one that was measured.
        "least" => Least,
    }
}

record! {
    /// Pacing, as every host can have it.
    pub struct PacingRecord {
        /// The rate of each flow: "dynamic", its window a round trip; a rate; or "none".
        pub rate: PaceRate = PaceRate::Dynamic,
        /// The most of a dynamic rate.
        #[range(SLOWEST..=FASTEST)]
        pub limit: Option<Rate>,
        /// The round trip of a dynamic rate; smoothed when left out.
        pub round_trip: Option<RoundTripOf>,
        /// All that leaves an interface together.
        #[range(SLOWEST..=FASTEST)]
        pub interface_limit: Option<Rate>,
        /// Packets of a flow that leave back to back; 1 when left out, without `clusters`.
        #[range(1..=1000)]
        pub burst: Option<u32>,
        /// Bursts of a flow in a round trip, each with its part of the window.
        #[range(1..=1000)]
        pub clusters: Option<u32>,
    }
}

impl PacingRecord {
    /// How many packets leave back to back.
    pub fn bursts(&self) -> Burst {
        self.clusters.map_or(Burst::Packets(self.burst.unwrap_or(1)), Burst::Clusters)
    }

    /// What is wrong between its keys; `dynamic`: some flows have a dynamic rate.
    fn check(&self, dynamic: bool) -> Vec<Mistake> {
        let mut all = Vec::new();
        if self.limit.is_some() && !dynamic {
            all.push(Mistake {
                key: "limit",
                message: "`limit` is the most of a dynamic rate, and there is none".to_owned(),
                label: "limits nothing",
                help: Some("take `rate = \"dynamic\"`; all that a host sends together has `interface-limit`"),
            });
        }
        if self.round_trip.is_some() && !dynamic {
            all.push(Mistake {
                key: "round-trip",
                message: "`round-trip` is that of a dynamic rate, and there is none".to_owned(),
                label: "of no rate",
                help: Some("take `rate = \"dynamic\"`, or leave it out"),
            });
        }
        if self.clusters.is_some() && self.burst.is_some() {
            all.push(Mistake {
                key: "clusters",
                message: "`clusters` and `burst` both say how much leaves back to back".to_owned(),
                label: "not beside `burst`",
                help: Some("`clusters` divides a round trip, `burst` is a number of packets: take one of them"),
            });
        } else if self.clusters.is_some() && !dynamic {
            all.push(Mistake {
                key: "clusters",
                message: "`clusters` are bursts of a round trip, which a fixed rate does not know".to_owned(),
                label: "needs a dynamic rate",
                help: Some("take `rate = \"dynamic\"`, or `burst`"),
            });
        }
        all
    }
}
