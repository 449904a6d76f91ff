//! What decides that a connection is long: the judges that can be written, and the list of them.
//!
//! A new judge is a file here with its record, which implements [`Judges`], and its lines in this file: `mod`, `pub use`,
//! and one in `judges!`. What it does is a file of the same name in `headway-control`: docs/adding/judge.md.

mod backlog;
mod bytes_sent;
mod deadline;
mod delivery_rate;
mod link_cost;
mod own;

use headway_control::lanes::Judge;
use headway_language::choice;
use headway_units::Span;

pub use backlog::BacklogRecord;
pub use bytes_sent::BytesSentRecord;
pub use deadline::DeadlineRecord;
pub use delivery_rate::DeliveryRateRecord;
pub use link_cost::{BaseRtt, LinkCostRecord};
pub use own::OwnJudgeRecord;

use super::LaneOpen;
use crate::Mistake;

/// Where the samples come from that a judge sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sampling {
    /// Of every acknowledgement.
    Acks,
    /// A poll of what a kernel has smoothed already.
    Polls,
}

/// The record of a judge.
trait Judges {
    /// The judge.
    fn judge(&self, sampling: Sampling) -> Judge;
}

macro_rules! judges {
    ($($(#[doc = $doc:literal])+ $name:literal => $Judge:ident($Record:ident),)+) => {
        choice! {
            /// What decides that a connection is long and leaves the short lanes.
            pub enum JudgeRecord by "kind" {
                $($(#[doc = $doc])+ $name => $Judge($Record),)+
            }
        }

        impl JudgeRecord {
            /// The judge.
            pub fn judge(&self, sampling: Sampling) -> Judge {
                match self { $(JudgeRecord::$Judge(record) => record.judge(sampling)),+ }
            }
        }
    };
}

judges! {
    /// A connection older than a deadline is long.
    "deadline" => Deadline(DeadlineRecord),
    /// A connection is long once a long lane has the lowest link cost of its lanes (thesis eq. 5.7).
    "link-cost" => LinkCost(LinkCostRecord),
    /// A connection of which so much has been acknowledged is long.
    "bytes-sent" => BytesSent(BytesSentRecord),
    /// A connection of which so much waits to be sent or acknowledged is long.
    "backlog" => Backlog(BacklogRecord),
    /// A connection that is delivered this fast is long.
    "delivery-rate" => DeliveryRate(DeliveryRateRecord),
    /// The program that runs the scenario decides; modelled hosts alone.
    "own" => Own(OwnJudgeRecord),
}

impl JudgeRecord {
    /// The program's judge, if it is that.
    pub fn own(&self) -> Option<&OwnJudgeRecord> {
        if let JudgeRecord::Own(record) = self { Some(record) } else { None }
    }

    /// When a daemon opens subflows for it, if nothing is said.
    pub fn opens(&self) -> LaneOpen {
        if self.judge(Sampling::Polls).compares_lanes() { LaneOpen::Early } else { LaneOpen::WhenLong }
    }

    /// The age from which on a daemon looks at a connection for it, if nothing is said.
    pub fn opens_after(&self) -> Span {
        // The author's kernel switches nothing in the first quarter of the deadline.
        self.judge(Sampling::Polls).age().map_or(Span::from_millis(20), |age| age / 4)
    }

    /// What is wrong between its keys; the key is that of the judge itself.
    pub fn check(&self) -> Option<Mistake> {
        let error = self.judge(Sampling::Acks).validate().err()?;
        Some(Mistake { key: "judge", message: format!("the judge's {error}"), label: "", help: None })
    }

    /// What is wrong with `open` for this judge; the key is that of `open`.
    pub fn check_open(&self, open: Option<LaneOpen>) -> Option<Mistake> {
        let judge = self.judge(Sampling::Acks);
        (judge.compares_lanes() && open == Some(LaneOpen::WhenLong)).then(|| Mistake {
            key: "open",
            message: format!("`{}` compares what lanes measure, so they cannot open once it has decided", judge.name()),
            label: "",
            help: Some("take `open = \"early\"`, or another judge"),
        })
    }
}
