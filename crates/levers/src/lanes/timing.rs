//! The daemon's times.

use headway_language::{Never, record};
use headway_units::Span;

use super::LONGEST;

record! {
    /// When the daemon looks at connections: it polls, where a modelled host sees every acknowledgement.
    pub struct TimingRecord {
        /// The age from which on a connection is looked at, and, with `open = "early"`, has its subflows on long lanes; left
        /// out: a quarter of its judge's deadline, or 20 ms if that has none.
        #[range(Span::ZERO..=LONGEST)]
        pub open_after: Option<Span>,
        /// A long lane's round trip older than this is measured anew, for `link-cost`.
        #[range(Span::from_millis(1)..=LONGEST)]
        pub probe_interval: Span = Span::from_millis(100),
        /// How often a connection is looked at that is not judged yet.
        #[range(Span::from_millis(1)..=LONGEST)]
        pub poll_interval: Span = Span::from_millis(20),
        /// How often a connection is looked at that was judged long.
        #[range(Span::from_millis(1)..=LONGEST)]
        pub watch_interval: Span = Span::from_millis(500),
        /// After so long without anything to send, a long connection is new again and comes back to the short lane; or
        /// "never".
        #[range(Span::from_millis(1)..=LONGEST)]
        pub idle: Never = Never::After(Span::from_secs(1)),
    }
}
