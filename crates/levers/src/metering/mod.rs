//! Metering: limits on ports of switches, fixed, changed at times, or set by a controller.
//!
//! [`ControlRecord`] is what a controller can be told, wherever it runs; a scenario's policy has it within
//! [`MeteringRecord`], which names ports by groups of hosts. docs/scenario-file/metering.md describes all of it.

mod control;

use headway_language::{Amount, Map, Name, OrOff, record, words};
use headway_units::{Bytes, Rate, Span};

pub use control::{ControlKind, ControlRecord, ObjectiveWord};

use crate::Mistake;

/// The slowest limit: a frame of 1,518 B every 0.12 s.
pub const SLOWEST: Rate = Rate::from_bps(100_000);
/// The fastest.
pub const FASTEST: Rate = Rate::from_gbps(8_000);

words! {
    /// Which way of a port is limited.
    pub enum Way {
        /// From the host into the switch.
        "into" => Into,
        /// Out of the switch to the host.
        "out" => Out,
    }
}

words! {
    /// What happens to frames beyond a limit.
    pub enum ExcessWord {
        /// They wait: shaping.
        "waits" => Waits,
        /// They are dropped: policing.
        "drops" => Drops,
    }
}

record! {
    /// Limits on the switch ports of hosts.
    pub struct MeteringRecord {
        /// Groups of hosts whose ports may be limited.
        pub ports: Vec<Name>,
        /// Which way is limited.
        pub way: Way = Way::Into,
        /// What happens to frames beyond a limit.
        pub excess: ExcessWord = ExcessWord::Waits,
        /// Bytes that may pass at once beyond a limit.
        #[range(Bytes::new(64)..=Bytes::new(1 << 30))]
        pub burst: Bytes = Bytes::from_kb(16),
        /// What the queue of a limited port holds; as without a limit when left out.
        pub queue: Option<Amount>,
        /// By group of hosts: the limit of each of its ports, from the start.
        pub limits: Map<Rate> = Map::new(),
        /// Limits that are set later.
        pub changes: Vec<LimitChangeRecord> = Vec::new(),
        /// Who finds limits; nobody when left out.
        pub control: Option<ControlRecord>,
    }
}

record! {
    /// A limit from some time on.
    pub struct LimitChangeRecord {
        /// When, counted from the start of the run.
        pub at: Span,
        /// The group of hosts whose ports get it, each.
        pub ports: Name,
        /// The limit, or `false` for none.
        #[range(SLOWEST..=FASTEST)]
        pub limit: OrOff<Rate>,
    }
}

impl MeteringRecord {
    /// What is wrong between its keys, but for those of `control`.
    pub fn check(&self) -> Vec<Mistake> {
        let mut all = Vec::new();
        let mut note = |key, message: String, label, help| all.push(Mistake { key, message, label, help });
        if self.ports.is_empty() {
            note(
                "ports",
                "no port may be limited".to_owned(),
                "empty",
                Some("name groups of hosts, or leave `metering` out"),
            );
        }
        let known = |name: &str| self.ports.iter().any(|port| port.as_str() == name);
        if let Some((name, _)) = self.limits.iter().find(|(name, _)| !known(name)) {
            let message = format!("`{name}` has a limit, and is not among `ports`");
            note("limits", message, "of other ports", Some("add the group to `ports`"));
        }
        let out = |rate: &Rate| !(SLOWEST..=FASTEST).contains(rate);
        if let Some((name, rate)) = self.limits.iter().find(|(_, rate)| out(rate)) {
            let message = format!("the limit of `{name}` is {rate}; it must be from {SLOWEST} to {FASTEST}");
            note("limits", message, "out of range", None);
        }
        if let Some(change) = self.changes.iter().find(|change| !known(change.ports.as_str())) {
            let message = format!("`{}` gets a limit at {}, and is not among `ports`", change.ports, change.at);
            note("changes", message, "of other ports", Some("add the group to `ports`"));
        }
        if matches!(self.queue, Some(Amount::Packets(0)))
            || self.excess == ExcessWord::Drops && self.way == Way::Into && self.queue.is_some()
        {
            let message = "`queue` is of frames that wait at the port that is limited".to_owned();
            note("queue", message, "nothing waits in it", Some("leave it out"));
        }
        if self.control.is_some() && !(self.limits.is_empty() && self.changes.is_empty()) {
            let message = "limits are set by a controller and by hand".to_owned();
            note(
                "control",
                message,
                "and by `limits` or `changes`",
                Some("a policy has one or the other: compare two"),
            );
        }
        all
    }
}
