//! The trait of all kinds of queue.

use headway_fabric::{Limit, QueueSpec};
use headway_language::{Amount, QueueLimit};
use headway_units::Bytes;

use crate::checker::Checker;

/// A kind of queue: its record, which the file gives, with its checks and the queue of the fabric that it describes.
pub(crate) trait QueueKind {
    /// How much fits.
    fn limit(&self) -> QueueLimit;

    /// Notes mistakes beyond those of single keys. The queue stands at `path`.
    fn check(&self, _path: &[&str], _checker: &mut Checker) {}

    /// The queue of the fabric.
    fn spec(&self) -> QueueSpec;

    /// The least that it holds in bytes, if it is limited in bytes, and the key that says so.
    fn bytes(&self) -> Option<(&'static str, Bytes)> {
        match self.limit() {
            QueueLimit::AtMost(Amount::Bytes(bytes)) => Some(("limit", bytes)),
            _ => None,
        }
    }
}

/// As the fabric has it.
pub(super) fn limit(amount: Amount) -> Limit {
    match amount {
        Amount::Bytes(bytes) => Limit::Bytes(bytes),
        Amount::Packets(packets) => Limit::Packets(packets),
    }
}

/// As the fabric has it.
pub(super) fn most(record: QueueLimit) -> Option<Limit> {
    match record {
        QueueLimit::Unlimited => None,
        QueueLimit::AtMost(amount) => Some(limit(amount)),
    }
}
