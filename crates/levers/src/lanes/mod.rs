//! Lanes: some paths are kept free for short flows, the others carry those that have turned out long.
//!
//! [`LanesRecord`] is what every host can do: `lane.toml` has it at its top, a scenario's policy within
//! [`ModelledLanesRecord`], which adds what only modelled hosts can do. [`TimingRecord`] is the daemon's alone.
//! docs/lanes.md describes all of it.

mod history;
mod judge;
mod modelled;
mod timing;

use headway_language::{all_defaults, record, words};
use headway_units::Span;

pub use history::HistoryRecord;
pub use judge::{
    BacklogRecord, BaseRtt, BytesSentRecord, DeadlineRecord, DeliveryRateRecord, JudgeRecord, LinkCostRecord,
    OwnJudgeRecord, Sampling,
};
pub use modelled::{BACK, LEFTOVERS, LaneStart, LeftoversRecord, ModelledLanesRecord, OWN, ReturnRecord, START};
pub use timing::TimingRecord;

use crate::Mistake;

/// Nothing here waits longer.
const LONGEST: Span = Span::from_secs(3600);

record! {
    /// Lanes, as every host can have them.
    pub struct LanesRecord {
        /// What decides that a connection is long.
        pub judge: JudgeRecord = JudgeRecord::LinkCost(all_defaults()),
        /// When subflows on long lanes are opened; left out: on modelled hosts and those of a scenario `early`, as in the
        /// thesis; in the daemon `early` if the judge is `link-cost`, else `when-long`, since each costs a real host work.
        pub open: Option<LaneOpen>,
        /// For so long a long connection waits for a long lane before it uses the short ones in full again; until then it
        /// sends two packets per round trip there.
        #[range(Span::ZERO..=LONGEST)]
        pub patience: Span = Span::ZERO,
        /// What hosts remember of earlier connections to the same host; left out, what a service's connections were is not
        /// remembered.
        pub history: Option<HistoryRecord>,
    }
}

words! {
    /// When subflows on long lanes are opened.
    pub enum LaneOpen {
        /// Before the judge decides: after `join-after` on modelled hosts, at the daemon's `open-after` on Linux. Until then
        /// they only measure their lanes.
        "early" => Early,
        /// Once the connection is judged long; not for `link-cost`, which compares what lanes measure.
        "when-long" => WhenLong,
    }
    renamed { "probe" => "early" }
}

impl LanesRecord {
    /// What is wrong between its keys.
    pub fn check(&self) -> Vec<Mistake> {
        self.judge.check().into_iter().chain(self.judge.check_open(self.open)).collect()
    }
}
