//! The judge by backlog.

use headway_control::lanes::{Backlog, Judge};
use headway_language::record;
use headway_units::Bytes;

use super::{Judges, Sampling};

record! {
    /// A connection of which so much waits to be sent or acknowledged is long. Modelled applications write all of a flow
    /// at once, as far as `send-buffer` lets them.
    pub struct BacklogRecord {
        /// Bytes written and not acknowledged.
        #[range(Bytes::new(1)..)]
        pub threshold: Bytes = Backlog::default().threshold,
    }
}

impl Judges for BacklogRecord {
    fn judge(&self, _: Sampling) -> Judge {
        Backlog { threshold: self.threshold }.into()
    }
}
