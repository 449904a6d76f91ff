//! Queues of ports, and the buffers that ports share. A kind is one file here (record, checks, plan), one in the fabric,
//! and its lines in this list.

mod codel;
mod drop_tail;
mod drr;
mod fq_codel;
mod kind;
mod red;

pub use codel::CodelRecord;
pub use drop_tail::DropTailRecord;
pub use drr::DrrRecord;
pub use fq_codel::FqCodelRecord;
pub use red::RedRecord;

use headway_fabric::{QueueSpec, SharedBufferSpec};
use headway_language::{QueueLimit, record};
use headway_units::Bytes;

use crate::checker::Checker;
use crate::kinds::kinds;
use kind::QueueKind;

kinds! {
    /// The queue of a port.
    pub enum QueueRecord of QueueKind by "kind" {
        /// First in, first out; a packet that does not fit is dropped.
        "drop-tail" => DropTail(DropTailRecord),
        /// Random early detection: drops or marks by chance as the average queue grows.
        "red" => Red(RedRecord),
        /// Controlled delay: drops when packets have waited too long for too long.
        "codel" => Codel(CodelRecord),
        /// A queue for every flow, which take turns and have CoDel each.
        "fq-codel" => FqCodel(FqCodelRecord),
        /// A queue for every flow, which take turns; when the buffer is full the longest loses.
        "drr" => Drr(DrrRecord),
    }
}

impl QueueRecord {
    /// Notes mistakes of the queue at `path`.
    pub(crate) fn check(&self, path: &[&str], checker: &mut Checker) {
        if let QueueLimit::AtMost(limit) = self.kind().limit()
            && limit.is_zero()
        {
            let message = format!("`{}.limit` must be more than nothing", path.join("."));
            let help = "a queue holds at least one packet";
            checker.problem(&[path, &["limit"]].concat(), message, "this is 0", Some(help));
        }
        self.kind().check(path, checker);
    }

    /// The queue of the fabric.
    pub(crate) fn spec(&self) -> QueueSpec {
        self.kind().spec()
    }

    /// The least that it holds in bytes, if it is limited in bytes, and the key that says so.
    pub(crate) fn bytes(&self) -> Option<(&'static str, Bytes)> {
        self.kind().bytes()
    }
}

record! {
    /// The buffer that all ports of a switch share, divided by dynamic thresholds (Choudhury & Hahne 1998).
    pub struct SharedBufferRecord {
        /// Bytes in it, the reserves included.
        pub size: Bytes,
        /// A port may hold so many times what is free, beside its reserve.
        #[range(0.001..=1000.0)]
        pub alpha: f64 = 1.0,
        /// What is every port's own.
        pub reserve: Bytes = Bytes::ZERO,
    }
}

impl SharedBufferRecord {
    /// The buffer of every switch.
    pub(crate) fn spec(&self) -> SharedBufferSpec {
        SharedBufferSpec { size: self.size, alpha: self.alpha, reserve: self.reserve }
    }
}
