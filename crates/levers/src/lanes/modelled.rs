//! Lanes on modelled hosts: what every host can do, and what only they can.

use headway_control::lanes::{Leftovers, Return, Start};
use headway_language::{record, words};
use headway_units::Span;

use super::{JudgeRecord, LanesRecord};
use crate::Mistake;

/// Why a daemon cannot have `start`.
pub const START: &str = "the program that opens a connection says where it starts";
/// Why it cannot have a judge of a program.
pub const OWN: &str = "a daemon runs without the program that gives it";
/// Why it cannot have `back`.
pub const BACK: &str = "a kernel's idle subflows do not measure what the short lanes are like by then; `timing.idle` brings \
                        connections back";
/// Why it cannot have `leftovers`.
pub const LEFTOVERS: &str = "nobody but a kernel itself can keep a subflow's window small";

/// Why modelled hosts have none of the daemon's times.
const TIMING: &str = "modelled hosts look at every acknowledgement; the daemon's times are in the policy's \
                      `linux.daemon.timing`";

record! {
    /// Lanes: some interfaces carry short flows, the others those that have turned out long.
    pub struct ModelledLanesRecord {
        /// The sender's first so many interfaces are lanes for short flows, all others lanes for long ones.
        #[range(1..=7)]
        pub short: u32 = 1,
        /// On which short lane a connection starts.
        pub start: LaneStart = LaneStart::First,
        /// When a long flow comes back to the short lanes; never when left out.
        pub back: Option<ReturnRecord>,
        /// What a long flow takes of the short lanes while long ones carry it; nothing when left out.
        pub leftovers: Option<LeftoversRecord>,
    }
    short "judge"
    renamed {
        "deadline" => "judge.deadline",
        "alpha" => "judge.alpha",
        "beta" => "judge.beta",
        "gamma" => "judge.gamma",
        "delta" => "judge.delta",
        "delay-unit" => "judge.delay-unit",
        "time-unit" => "judge.time-unit",
        "base-rtt" => "judge.base-rtt",
        "threshold" => "judge.threshold",
        "rate" => "judge.rate",
        "window" => "judge.window",
    }
    refused { "timing" => TIMING, "idle" => TIMING }
    with /// What every host can do.
    common: LanesRecord
}

words! {
    /// On which short lane a connection starts.
    pub enum LaneStart {
        /// The first one, as in the thesis.
        "first" => First,
        /// By a hash of the connection.
        "hash" => Hash,
        /// In turn, over all connections of the sender.
        "round-robin" => RoundRobin,
        /// The one with the shortest queue by what earlier connections saw; needs `history`.
        "least-cost" => LeastCost,
    }
}

record! {
    /// A long flow comes back to the short lanes when all long ones have been fuller for a while.
    pub struct ReturnRecord {
        /// By so much the queueing delay of every long lane must exceed that of the emptiest short one.
        pub margin: Span = Span::from_millis(2),
        /// For so long.
        pub hold: Span = Span::from_millis(100),
    }
}

record! {
    /// A long flow keeps a small window on each short lane as long as that is empty enough.
    pub struct LeftoversRecord {
        /// The window in packets.
        #[range(2..=64)]
        pub packets: u32 = 2,
        /// A sample with more queueing delay than this ends it.
        pub below: Span = Span::from_millis(1),
        /// So much later it tries again.
        pub pause: Span = Span::from_millis(50),
    }
}

impl LaneStart {
    /// The rule by which [`HostLanes`](headway_control::lanes::HostLanes) begins.
    pub fn start(self) -> Start {
        match self {
            LaneStart::First => Start::First,
            LaneStart::Hash => Start::Hash,
            LaneStart::RoundRobin => Start::RoundRobin,
            LaneStart::LeastCost => Start::LeastCost,
        }
    }
}

impl ReturnRecord {
    /// The rule of the way back.
    pub fn rule(&self) -> Return {
        Return { margin: self.margin, hold: self.hold }
    }
}

impl LeftoversRecord {
    /// The rule of what is taken.
    pub fn rule(&self) -> Leftovers {
        Leftovers { packets: self.packets as u8, below: self.below, pause: self.pause }
    }
}

impl ModelledLanesRecord {
    /// What is wrong between its keys.
    pub fn check(&self) -> Vec<Mistake> {
        let mut all = self.common.check();
        if self.start == LaneStart::LeastCost && self.common.history.is_none() {
            all.push(Mistake {
                key: "start",
                message: "`least-cost` goes by what is remembered, and nothing is".to_owned(),
                label: "needs `history`",
                help: Some("add `history = {}`, or start by \"round-robin\" or \"hash\""),
            });
        }
        if self.back.is_some() && matches!(self.common.judge, JudgeRecord::Backlog(_)) {
            all.push(Mistake {
                key: "back",
                message: "with `backlog` a flow would leave the short lane again as soon as it came back".to_owned(),
                label: "not with `backlog`",
                help: Some("what waits does not get less by a return: use `back` with another judge"),
            });
        }
        all
    }

    /// What of it unmodified Linux cannot do: the key, what is written, and the reason.
    pub fn beyond_linux(&self) -> Option<(&'static str, String, &'static str)> {
        if let Some(own) = self.common.judge.own() {
            return Some(("judge", format!("the judge `{}` of a program", own.name), OWN));
        }
        if self.start != LaneStart::First {
            return Some(("start", format!("start = \"{}\"", self.start.as_str()), START));
        }
        if self.leftovers.is_some() {
            return Some(("leftovers", "`leftovers`".to_owned(), LEFTOVERS));
        }
        self.back.is_some().then(|| ("back", "a way `back`".to_owned(), BACK))
    }
}
