//! First in, first out.

use headway_fabric::QueueSpec;
use headway_language::{Amount, QueueLimit, record};

use super::kind::{QueueKind, limit, most};
use crate::checker::Checker;

record! {
    /// First in, first out; a packet that does not fit is dropped.
    pub struct DropTailRecord {
        /// How much fits, the packet being transmitted included: bytes ("128KB"), packets ("100pkt"), or "none" for no limit.
        pub limit: QueueLimit,
        /// Packets that find more than this are marked (ECN); none when left out.
        pub mark: Option<Amount>,
    }
}

impl QueueKind for DropTailRecord {
    fn limit(&self) -> QueueLimit {
        self.limit
    }

    fn check(&self, path: &[&str], checker: &mut Checker) {
        if let (QueueLimit::AtMost(limit), Some(mark)) = (self.limit, self.mark)
            && mark.reaches(limit) == Some(true)
        {
            let message = format!("`{}` never marks: it is full at {limit}", path.join("."));
            let help = "mark at less than `limit`";
            checker.problem(&[path, &["mark"]].concat(), message, "not less than the limit", Some(help));
        }
    }

    fn spec(&self) -> QueueSpec {
        QueueSpec::DropTail { limit: most(self.limit), mark: self.mark.map(limit) }
    }
}
