//! The judge by backlog: what waits in the send queue is known before it is sent.

use headway_units::{Bytes, Span};

use super::{ParameterError, Rule, Seen};

/// A connection is long once `threshold` bytes that its application has written wait to be sent or acknowledged.
///
/// It is the earliest that a host can know a flow's size without being told: at the first acknowledgement, not after
/// 100 KB or 300 ms. It knows no more than the send buffer holds: an application that writes little at a time looks
/// short for ever, and a buffer smaller than `threshold` makes every flow so. On Linux the backlog is
/// `tcpi_notsent_bytes` + what is in flight (`SIOCOUTQ`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backlog {
    /// Bytes written and not acknowledged; above 0, default 100 KB, the thesis' bound of short flows.
    pub threshold: Bytes,
}

impl Default for Backlog {
    fn default() -> Backlog {
        Backlog { threshold: Bytes::from_kb(100) }
    }
}

impl Rule for Backlog {
    fn validate(&self) -> Result<(), ParameterError> {
        if self.threshold == Bytes::ZERO {
            return Err(ParameterError { parameter: "threshold", value: 0.0, allowed: "above 0" });
        }
        Ok(())
    }

    fn counts_bytes(&self) -> bool {
        true
    }

    fn is_long(&self, _: Span, seen: &Seen) -> bool {
        seen.backlog >= self.threshold
    }
}
