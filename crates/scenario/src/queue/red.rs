//! Random early detection.

use headway_fabric::{QueueSpec, RedSpec};
use headway_language::{Amount, QueueLimit, Ratio, record};
use headway_units::Bytes;

use super::kind::{QueueKind, limit, most};
use crate::checker::Checker;

record! {
    /// Random early detection: drops or marks by chance as the average queue grows.
    pub struct RedRecord {
        /// How much fits, the packet being transmitted included: bytes ("128KB"), packets ("100pkt"), or "none" for no limit.
        pub limit: QueueLimit,
        /// Up to this average nothing is dropped or marked.
        pub min: Amount = Amount::Packets(5),
        /// The average at which the probability is `probability`; in the unit of `min`.
        pub max: Amount = Amount::Packets(15),
        /// The probability at an average of `max`.
        pub probability: Ratio = Ratio::PERCENT_2,
        /// The weight of an arriving packet in the moving average.
        #[range(1e-6..=1.0)]
        pub weight: f64 = 0.002,
        /// The usual packet, in which idle times are counted.
        #[range(Bytes::new(1)..=Bytes::new(65_535))]
        pub average_packet: Bytes = Bytes::new(1000),
        /// Between `max` and twice as much the probability rises on to 1; otherwise it jumps there.
        pub gentle: bool = true,
        /// Packets of senders that understand ECN are marked instead of dropped.
        pub ecn: bool = false,
        /// Where everything is marked or dropped, everything is dropped.
        pub hard_drop: bool = false,
    }
}

impl QueueKind for RedRecord {
    fn limit(&self) -> QueueLimit {
        self.limit
    }

    fn check(&self, path: &[&str], checker: &mut Checker) {
        let at = |key| [path, &[key]].concat();
        let name = path.join(".");
        match self.min.reaches(self.max) {
            None => {
                let message = format!("`{name}` has `min` and `max` in different units: {} and {}", self.min, self.max);
                let help = "the average is in bytes or in packets: give both in one";
                checker.problem(&at("max"), message, "not in the unit of `min`", Some(help));
            }
            Some(true) => {
                let message = format!("`{name}.max` must be more than `min`, {}", self.min);
                checker.problem(&at("max"), message, "not more", Some("a usual choice is three times `min`"));
            }
            Some(false) => {}
        }
        if let QueueLimit::AtMost(limit) = self.limit
            && self.min.reaches(limit) == Some(true)
        {
            let message = format!("`{name}` is full at {limit}, before its average can reach `min`, {}", self.min);
            checker.problem(
                &at("limit"),
                message,
                "not more than `min`",
                Some("`limit` is what bursts may reach: above `max`"),
            );
        }
        if self.hard_drop && !self.ecn {
            let message = format!("`{name}.hard-drop` means nothing without `ecn`: everything is dropped anyway");
            checker.problem(&at("hard-drop"), message, "", Some("add `ecn = true`, or leave `hard-drop` out"));
        }
    }

    fn spec(&self) -> QueueSpec {
        QueueSpec::Red(RedSpec {
            limit: most(self.limit),
            min: limit(self.min),
            max: limit(self.max),
            probability: self.probability.get(),
            weight: self.weight,
            packet: self.average_packet,
            gentle: self.gentle,
            ecn: self.ecn,
            hard_drop: self.hard_drop,
        })
    }
}
