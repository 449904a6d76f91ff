//! How much a search may cost: windows spent on anything but the limits in force.

/// Windows saved up at most, so that one search is possible at any time and never more.
const MOST: f64 = 200.0;

/// A token bucket of windows. Over any n windows at most `MOST + share · n` are spent, whatever happens: with the largest
/// loss of a window, that bounds the regret of searching.
#[derive(Debug, Clone)]
pub(super) struct Budget {
    share: f64,
    left: f64,
}

impl Budget {
    pub fn new(share: f64) -> Budget {
        Budget { share, left: MOST }
    }

    /// A window has passed; `spent`: on a candidate.
    pub fn pass(&mut self, spent: bool) {
        self.left = (self.left + self.share).min(MOST) - f64::from(u8::from(spent));
    }

    /// Whether so many windows may be spent.
    pub fn affords(&self, windows: u32) -> bool {
        self.left >= f64::from(windows)
    }

    /// The most windows spent on candidates of `windows`.
    #[cfg(test)]
    pub fn bound(share: f64, windows: u32) -> f64 {
        MOST + share * f64::from(windows)
    }
}
