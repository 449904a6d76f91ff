//! Controlled delay.

use headway_fabric::{CodelLaw, CodelSpec, QueueSpec};
use headway_language::{Amount, QueueLimit, record};
use headway_units::Span;

use super::kind::{QueueKind, most};
use crate::checker::Checker;
use crate::limits::LONGEST;

record! {
    /// Controlled delay: drops when packets have waited too long for too long.
    pub struct CodelRecord {
        /// How much may wait, the packet being transmitted not included: bytes ("128KB"), packets ("100pkt"), or "none" for no limit.
        pub limit: QueueLimit = QueueLimit::AtMost(Amount::Packets(1000)),
        /// The standing delay that is acceptable.
        #[range(Span::from_nanos(1)..=LONGEST)]
        pub target: Span = Span::from_millis(5),
        /// In this time the delay must have been below `target` once; about the longest round-trip time.
        #[range(Span::from_nanos(1)..=LONGEST)]
        pub interval: Span = Span::from_millis(100),
        /// Packets of senders that understand ECN are marked instead of dropped.
        pub ecn: bool = false,
        /// Packets that waited longer than this are marked (ECN) in any case; none when left out.
        #[range(Span::ZERO..=LONGEST)]
        pub mark: Option<Span>,
    }
}

impl QueueKind for CodelRecord {
    fn limit(&self) -> QueueLimit {
        self.limit
    }

    fn check(&self, path: &[&str], checker: &mut Checker) {
        check_target(self.target, self.interval, path, checker);
    }

    fn spec(&self) -> QueueSpec {
        let law = CodelLaw { target: self.target, interval: self.interval, ecn: self.ecn, mark: self.mark };
        QueueSpec::Codel(CodelSpec { limit: most(self.limit), law })
    }
}

/// Checks the times of CoDel's law for the queue at `path`.
pub(super) fn check_target(target: Span, interval: Span, path: &[&str], checker: &mut Checker) {
    if target >= interval {
        let message = format!("`{}.target` must be less than `interval`, {interval}", path.join("."));
        let help = "RFC 8289 §4.3 advises 5 % to 10 % of `interval`";
        checker.problem(&[path, &["target"]].concat(), message, "not less", Some(help));
    }
}
