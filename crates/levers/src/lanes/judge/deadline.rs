//! The deadline judge.

use headway_control::lanes::{Deadline, Judge};
use headway_language::{above, record};
use headway_units::Span;

use super::{Judges, Sampling};

record! {
    /// A connection older than a deadline is long.
    pub struct DeadlineRecord {
        /// The age at which a connection is long.
        #[range(above(Span::ZERO))]
        pub deadline: Span = Deadline::default().deadline,
    }
}

impl Judges for DeadlineRecord {
    fn judge(&self, _: Sampling) -> Judge {
        Deadline { deadline: self.deadline }.into()
    }
}
