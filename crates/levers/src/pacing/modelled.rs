//! Pacing by the cards of modelled hosts.

use std::collections::BTreeMap;

use headway_control::pacing::FASTEST;
use headway_language::{Amount, Map, Name, record, words};
use headway_units::{Rate, Span};

use super::{PaceRate, PacingRecord, SLOWEST};
use crate::Mistake;

/// Why there is no `per`.
const PER: &str = "`rate` is the rate of each flow, and `interface-limit` that of all that a host's interface sends";

words! {
    /// How a card keeps packets back.
    pub enum By {
        /// By gap frames that fill the line (PSPacer); what they take is computed.
        "gap" => Gap,
        /// The same, and the gap frames are sent: the same results where the host's cable loses nothing, more slowly.
        "gap-frames" => GapFrames,
        /// By a timer: what is due leaves at its next tick.
        "timer" => Timer,
    }
}

record! {
    /// Cards of modelled hosts space out what leaves them.
    pub struct ModelledPacingRecord {
        /// How packets are kept back.
        pub by: By = By::Gap,
        /// The distance of the timer's ticks; `by = "timer"` needs it.
        #[range(Span::from_nanos(1)..=Span::from_secs(1))]
        pub granularity: Option<Span>,
        /// Packets that wait at an interface at most; more are dropped.
        pub queue: Amount = Amount::Packets(10_000),
        /// The groups of hosts that have such cards; all hosts when left out.
        pub hosts: Option<Vec<Name>>,
        /// Traffic that shares a limit or has a pace of its own.
        pub classes: Map<PacingClassRecord> = Map::new(),
    }
    refused { "per" => PER }
    with /// What every host can do.
    common: PacingRecord
}

record! {
    /// A class of traffic within a card.
    pub struct PacingClassRecord {
        /// The traffic in it; that of the class' name when left out.
        pub traffic: Option<Vec<Name>>,
        /// The rate of each of its flows; that of all flows when left out.
        #[range(SLOWEST..)]
        pub rate: Option<PaceRate>,
        /// All its flows together, over an interface.
        #[range(SLOWEST..=FASTEST)]
        pub limit: Option<Rate>,
        /// Its part of the line where classes compete; flows of no class have 1.
        #[range(1..=1000)]
        pub share: u32 = 1,
    }
}

impl PacingClassRecord {
    /// The names of its traffic; `name` is its own.
    pub fn traffic<'a>(&'a self, name: &'a str) -> Vec<&'a str> {
        self.traffic.as_ref().map_or_else(|| vec![name], |all| all.iter().map(Name::as_str).collect())
    }
}

impl ModelledPacingRecord {
    /// Packets that wait at most.
    pub fn packets(&self) -> Option<u32> {
        match self.queue {
            Amount::Packets(packets) if packets > 0 => Some(packets),
            _ => None,
        }
    }

    /// What is wrong between its keys.
    pub fn check(&self) -> Vec<Mistake> {
        let rates = || self.classes.iter().filter_map(|(_, class)| class.rate).chain([self.common.rate]);
        let mut all = self.common.check(rates().any(|rate| rate == PaceRate::Dynamic));
        if self.packets().is_none() {
            all.push(Mistake {
                key: "queue",
                message: "the queue of a card holds packets, 1 at least".to_owned(),
                label: "not a number of packets",
                help: Some("write for example \"10000pkt\""),
            });
        }
        match (self.by, self.granularity) {
            (By::Timer, None) => all.push(Mistake {
                key: "by",
                message: "a timer needs the distance of its ticks".to_owned(),
                label: "without `granularity`",
                help: Some("add for example granularity = \"1ms\""),
            }),
            (By::Gap | By::GapFrames, Some(_)) => all.push(Mistake {
                key: "granularity",
                message: "gap frames need no timer: a byte of the line is their granularity".to_owned(),
                label: "for `by = \"timer\"`",
                help: Some("leave it out, or take by = \"timer\""),
            }),
            _ => {}
        }
        let limited = self.common.interface_limit.is_some() || self.classes.iter().any(|(_, own)| own.limit.is_some());
        if rates().all(|rate| rate == PaceRate::None) && !limited {
            all.push(Mistake {
                key: "rate",
                message: "nothing is paced: flows have no rate, and there is no limit".to_owned(),
                label: "",
                help: Some("set `rate`, `interface-limit`, or the `limit` of a class"),
            });
        }
        all.extend(self.twice());
        all
    }

    /// A traffic that is in two classes.
    fn twice(&self) -> Option<Mistake> {
        let mut seen = BTreeMap::new();
        for (name, class) in self.classes.iter() {
            for traffic in class.traffic(name) {
                if let Some(first) = seen.insert(traffic, name) {
                    let message = format!("traffic `{traffic}` is in class `{first}` and in class `{name}`");
                    let help = Some("a traffic is in one class at most");
                    return Some(Mistake { key: "classes", message, label: "", help });
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use headway_language::all_defaults;

    use super::*;

    fn record(change: impl FnOnce(&mut ModelledPacingRecord)) -> Vec<&'static str> {
        let mut record: ModelledPacingRecord = all_defaults();
        change(&mut record);
        record.check().iter().map(|mistake| mistake.key).collect()
    }

    #[test]
    fn keys_that_contradict_each_other_are_mistakes() {
        assert_eq!(record(|_| {}), [""; 0]);
        assert_eq!(record(|own| own.by = By::Timer), ["by"]);
        assert_eq!(record(|own| own.granularity = Some(Span::from_millis(1))), ["granularity"]);
        assert_eq!(record(|own| own.queue = Amount::Packets(0)), ["queue"]);
        assert_eq!(record(|own| own.common.rate = PaceRate::None), ["rate"]);
        let fixed = PaceRate::Static(Rate::from_mbps(1));
        assert_eq!(record(|own| (own.common.rate, own.common.limit) = (fixed, Some(Rate::from_mbps(1)))), ["limit"]);
        assert_eq!(record(|own| (own.common.rate, own.common.clusters) = (fixed, Some(2))), ["clusters"]);
        assert_eq!(record(|own| (own.common.burst, own.common.clusters) = (Some(1), Some(2))), ["clusters"]);
    }
}
