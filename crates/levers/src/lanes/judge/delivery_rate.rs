//! The judge by delivery rate.

use headway_control::lanes::{DeliveryRate, Judge};
use headway_language::{above, record};
use headway_units::{Rate, Span};

use super::{Judges, Sampling};

record! {
    /// A connection that is delivered this fast is long.
    pub struct DeliveryRateRecord {
        /// The least rate of a long connection.
        #[range(above(Rate::from_bps(0)))]
        pub rate: Rate = DeliveryRate::default().rate,
        /// The time over which it is averaged.
        #[range(above(Span::ZERO))]
        pub window: Span = DeliveryRate::default().window,
    }
}

impl Judges for DeliveryRateRecord {
    fn judge(&self, _: Sampling) -> Judge {
        DeliveryRate { rate: self.rate, window: self.window }.into()
    }
}
