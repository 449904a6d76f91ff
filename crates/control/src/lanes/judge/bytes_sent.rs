//! The judge by bytes: what has been sent tells short flows from long ones, however slow the path.

use headway_units::{Bytes, Span};

use super::{ParameterError, Rule, Seen};

/// A connection is long once the other end has acknowledged `threshold` bytes of it.
///
/// Age says how long a flow has suffered, bytes say how large it is: a short flow behind a queue is old and small, a
/// long flow in slow start is young and large. It is the rule of PIAS (Bai et al., NSDI 2015, §3.1), with lanes for
/// priorities and one threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BytesSent {
    /// Bytes acknowledged; any, default 100 KB, the thesis' bound of short flows.
    pub threshold: Bytes,
}

impl Default for BytesSent {
    fn default() -> BytesSent {
        BytesSent { threshold: Bytes::from_kb(100) }
    }
}

impl Rule for BytesSent {
    fn validate(&self) -> Result<(), ParameterError> {
        Ok(())
    }

    fn counts_bytes(&self) -> bool {
        true
    }

    fn is_long(&self, _: Span, seen: &Seen) -> bool {
        seen.acked >= self.threshold
    }
}
