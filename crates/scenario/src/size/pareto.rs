//! Pareto sizes.

use std::path::Path;

use headway_language::{above, record};
use headway_traffic::{Pareto, Size};
use headway_units::Bytes;

use super::kind::SizeSource;
use crate::checker::Checker;

record! {
    /// Pareto: few flows carry most of the data.
    pub struct ParetoRecord {
        /// The tail index (a): smaller is heavier; at 1 the mean is infinite.
        #[range(above(1.0))]
        pub shape: f64,
        /// The mean size, before `max` cuts the tail.
        #[range(Bytes::new(1)..)]
        pub mean: Bytes,
        /// Larger sizes become this; no limit when left out.
        #[range(Bytes::new(1)..)]
        pub max: Option<Bytes>,
    }
}

impl SizeSource for ParetoRecord {
    fn check(&self, label: &str, path: &[&str], checker: &mut Checker) {
        // The smallest value of a Pareto variable is mean · (a − 1) / a.
        let least = self.mean.get() as f64 * (self.shape - 1.0) / self.shape;
        if let Some(max) = self.max
            && (max.get() as f64) < least
        {
            let message = format!("`{label}.max` cuts off every size");
            let help = format!("with this shape and mean the smallest size is {least:.0} bytes");
            checker.problem(&[path, &["max"]].concat(), message, &format!("this is {max}"), Some(&help));
        }
    }

    fn size(&self, _: &Path) -> Result<Option<Size>, String> {
        let sizes = Pareto::new(self.shape, self.mean, self.max);
        sizes.map(Size::Pareto).map(Some).map_err(|error| error.to_string())
    }
}
