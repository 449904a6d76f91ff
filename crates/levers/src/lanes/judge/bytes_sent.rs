//! The judge by bytes.

use headway_control::lanes::{BytesSent, Judge};
use headway_language::record;
use headway_units::Bytes;

use super::{Judges, Sampling};

record! {
    /// A connection of which so much has been acknowledged is long.
    pub struct BytesSentRecord {
        /// Bytes acknowledged.
        pub threshold: Bytes = BytesSent::default().threshold,
    }
}

impl Judges for BytesSentRecord {
    fn judge(&self, _: Sampling) -> Judge {
        BytesSent { threshold: self.threshold }.into()
    }
}
