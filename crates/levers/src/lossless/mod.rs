//! Lossless Ethernet: ports with priorities in classes, and senders that are paused before frames find no room.
//!
//! docs/scenario-file/lossless.md describes all of it.

mod headroom;
mod qcn;

use std::collections::BTreeMap;

use headway_language::{Map, above, record, words};
use headway_units::{Bytes, Span};

pub use headroom::Headroom;
pub use qcn::QcnRecord;

use crate::Mistake;

/// How many priorities there are.
const PRIORITIES: u8 = 8;
/// Every link and lossless priority's own part of a buffer.
const RESERVE: Bytes = Bytes::new(4096);
/// How far below the threshold a sender goes on.
const OFFSET: Bytes = Bytes::new(3072);

words! {
    /// What pauses a sender.
    pub enum PauseBy {
        /// Frames of priority flow control, one priority at a time (IEEE 802.1Qbb).
        "pfc" => Pfc,
        /// PAUSE frames, which stop the link (IEEE 802.3 annex 31B).
        "802.3x" => Link,
        /// Nothing: ports have classes only.
        "none" => Nothing,
    }
}

words! {
    /// What becomes of frames that are stuck behind a pause.
    pub enum StuckFrames {
        /// They are dropped, and those that come.
        "drop" => Drop,
        /// They are sent in spite of the pause.
        "forward" => Forward,
    }
}

record! {
    /// Ports of switches and cards with priorities, classes and pauses.
    pub struct LosslessRecord {
        /// What pauses a sender.
        pub pause: PauseBy = PauseBy::Pfc,
        /// The priorities whose frames are not to be lost; those of the traffic when left out.
        pub priorities: Option<Vec<u8>>,
        /// Bytes that came over a link in a priority beyond which a switch asks for a pause; 100 KB when left out, without
        /// a `buffer`.
        #[range(Bytes::new(1)..)]
        pub xoff: Option<Bytes>,
        /// Bytes down to which it lets the sender go on; two full frames less than `xoff` when left out.
        pub xon: Option<Bytes>,
        /// Room of a link and priority for what comes after that: "auto", the least that is enough, or an amount.
        pub headroom: Headroom = Headroom::Auto,
        /// One buffer for all ports of a switch; each link and priority has room of its own when left out.
        pub buffer: Option<BufferRecord>,
        /// How long a pause lasts, in times of 512 bits.
        #[range(1..)]
        pub quanta: u16 = u16::MAX,
        /// From the arrival of a pause frame until no frame of its priority begins.
        #[range(..=Span::from_secs(1))]
        pub response: Span = Span::ZERO,
        /// Classes of priorities that share the line; one for each priority with equal shares when left out.
        pub classes: Map<LosslessClassRecord> = Map::new(),
        /// Ends pauses that last for too long.
        pub watchdog: Option<WatchdogRecord>,
        /// Switches tell cards which flows fill a queue, and cards slow those down.
        pub qcn: Option<QcnRecord>,
    }
}

record! {
    /// One buffer for all ports of a switch.
    pub struct BufferRecord {
        /// Bytes in it.
        #[range(Bytes::new(1)..)]
        pub size: Bytes,
        /// What came over a link in a priority may take so many times what is free of the shared part.
        #[range(above(0.0))]
        pub alpha: f64 = 0.125,
        /// Every link and lossless priority's own.
        pub reserve: Bytes = RESERVE,
        /// Senders go on when so much less than the threshold is used.
        pub offset: Bytes = OFFSET,
    }
}

record! {
    /// A class of priorities.
    pub struct LosslessClassRecord {
        /// The priorities in it.
        pub priorities: Vec<u8>,
        /// Goes before all classes that are not.
        pub strict: bool = false,
        /// Its part of what strict classes leave, in proportion to the others'.
        #[range(1..=1000)]
        pub share: u32 = 1,
        /// Arrivals that make the class hold more than this at their port are marked; as in the topology's queue when left
        /// out.
        pub mark: Option<Bytes>,
        /// They are marked at random, the more the class holds.
        pub ecn: Option<RampRecord>,
    }
}

record! {
    /// Marks at random, as RoCE switches have them.
    pub struct RampRecord {
        /// No marks up to this.
        pub min: Bytes,
        /// All are marked beyond this.
        pub max: Bytes,
        /// The probability of a mark at `max`.
        #[range(0.0..=1.0)]
        pub probability: f64,
    }
}

record! {
    /// Ends pauses that last for too long.
    pub struct WatchdogRecord {
        /// A priority with frames that wait, paused for so long, is stuck.
        #[range(above(Span::ZERO))]
        pub detect: Span,
        /// It is no longer when it has not been paused for so long.
        #[range(above(Span::ZERO))]
        pub restore: Span,
        /// What becomes of its frames meanwhile.
        pub action: StuckFrames = StuckFrames::Drop,
    }
}

impl LosslessRecord {
    /// What is wrong between its keys.
    pub fn check(&self) -> Vec<Mistake> {
        let mut all = self.check_pauses();
        let lists = self.priorities.iter().chain(self.classes.iter().map(|(_, class)| &class.priorities));
        if let Some(wrong) = lists.flatten().find(|&&own| own >= PRIORITIES) {
            let key = if self.priorities.iter().flatten().any(|own| own == wrong) { "priorities" } else { "classes" };
            let message = format!("priorities are 0 to 7, and {wrong} is none");
            all.push(Mistake { key, message, label: "", help: None });
        }
        if self.priorities.as_ref().is_some_and(Vec::is_empty) {
            all.push(Mistake {
                key: "priorities",
                message: "no priority is lossless".to_owned(),
                label: "empty",
                help: Some("leave it out for those of the traffic, or take pause = \"none\""),
            });
        }
        all.extend(self.check_classes());
        all.extend(self.check_qcn());
        all
    }

    fn check_pauses(&self) -> Vec<Mistake> {
        let mut all = Vec::new();
        let mut wrong = |key, message: &str, label, help| {
            all.push(Mistake { key, message: message.to_owned(), label, help: Some(help) });
        };
        if self.pause == PauseBy::Nothing {
            let keys = [
                ("priorities", self.priorities.is_some()),
                ("xoff", self.xoff.is_some()),
                ("xon", self.xon.is_some()),
                ("headroom", self.headroom != Headroom::Auto),
                ("watchdog", self.watchdog.is_some()),
                ("quanta", self.quanta != u16::MAX),
                ("response", self.response != Span::ZERO),
                ("buffer", self.buffer.as_ref().is_some_and(|own| own.reserve != RESERVE || own.offset != OFFSET)),
            ];
            for (key, _) in keys.into_iter().filter(|(_, set)| *set) {
                wrong(
                    key,
                    "it is about pauses, and nothing pauses",
                    "without effect",
                    "leave it out, or pause = \"pfc\"",
                );
            }
        }
        if self.pause == PauseBy::Link && self.priorities.is_some() {
            let help = "leave it out, or take pause = \"pfc\"";
            wrong("priorities", "PAUSE stops all priorities of a link", "without effect", help);
        }
        if self.buffer.is_some() {
            for (key, _) in [("xoff", self.xoff.is_some()), ("xon", self.xon.is_some())].iter().filter(|(_, set)| *set)
            {
                let help = "`buffer` has `alpha`, `reserve` and `offset` instead";
                wrong(key, "the thresholds of a shared buffer follow from what is free of it", "without effect", help);
            }
        }
        if let (Some(xon), Some(xoff)) = (self.xon, self.xoff)
            && xon > xoff
        {
            wrong(
                "xon",
                "senders go on below the threshold at which they pause",
                "above `xoff`",
                "take less than `xoff`",
            );
        }
        all
    }

    fn check_qcn(&self) -> Option<Mistake> {
        let priorities = self.qcn.as_ref()?.priorities.as_ref()?;
        let message = match priorities.iter().find(|&&own| own >= PRIORITIES) {
            Some(wrong) => format!("priorities are 0 to 7, and {wrong} of `qcn` is none"),
            None if priorities.is_empty() => "`qcn` looks at no priority".to_owned(),
            None => return None,
        };
        Some(Mistake { key: "qcn", message, label: "", help: Some("leave `priorities` out for the lossless ones") })
    }

    fn check_classes(&self) -> Option<Mistake> {
        let wrong = |message, help| Some(Mistake { key: "classes", message, label: "", help });
        let mut seen = BTreeMap::new();
        for (name, class) in self.classes.iter() {
            if class.priorities.is_empty() {
                return wrong(format!("class `{name}` has no priority"), None);
            }
            for &priority in &class.priorities {
                if let Some(first) = seen.insert(priority, name) {
                    let message = format!("priority {priority} is in class `{first}` and in class `{name}`");
                    return wrong(message, Some("a priority is in one class"));
                }
            }
            if class.mark.is_some() && class.ecn.is_some() {
                return wrong(format!("class `{name}` has both `mark` and `ecn`"), Some("take one of them"));
            }
            if class.strict && class.share != 1 {
                return wrong(format!("class `{name}` is strict, and shares nothing"), Some("leave `share` out"));
            }
            if class.ecn.as_ref().is_some_and(|ecn| ecn.min > ecn.max) {
                return wrong(format!("class `{name}` marks all beyond `ecn.max`, which is below `ecn.min`"), None);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use headway_language::all_defaults;

    use super::*;

    fn mistakes(change: impl FnOnce(&mut LosslessRecord)) -> Vec<&'static str> {
        let mut record: LosslessRecord = all_defaults();
        change(&mut record);
        record.check().iter().map(|mistake| mistake.key).collect()
    }

    #[test]
    fn keys_that_contradict_each_other_are_mistakes() {
        let kb = |kb| Some(Bytes::from_kb(kb));
        assert_eq!(mistakes(|_| {}), [""; 0]);
        assert_eq!(mistakes(|own| own.priorities = Some(vec![3, 8])), ["priorities"]);
        assert_eq!(mistakes(|own| own.priorities = Some(vec![])), ["priorities"]);
        assert_eq!(mistakes(|own| (own.xoff, own.xon) = (kb(10), kb(11))), ["xon"]);
        assert_eq!(mistakes(|own| (own.pause, own.xoff) = (PauseBy::Nothing, kb(10))), ["xoff"]);
        assert_eq!(mistakes(|own| (own.pause, own.quanta) = (PauseBy::Nothing, 100)), ["quanta"]);
        assert_eq!(mistakes(|own| (own.pause, own.response) = (PauseBy::Nothing, Span::from_micros(1))), ["response"]);
        let buffer = |offset| BufferRecord { size: Bytes::from_kb(1000), alpha: 1.0, reserve: RESERVE, offset };
        assert_eq!(mistakes(|own| (own.pause, own.buffer) = (PauseBy::Nothing, Some(buffer(OFFSET)))), [""; 0]);
        assert_eq!(mistakes(|own| (own.pause, own.buffer) = (PauseBy::Nothing, Some(buffer(Bytes::ZERO)))), ["buffer"]);
        assert_eq!(mistakes(|own| (own.pause, own.priorities) = (PauseBy::Link, Some(vec![3]))), ["priorities"]);
        let qcn = |priorities| Some(QcnRecord { priorities: Some(priorities), ..all_defaults() });
        assert_eq!(mistakes(|own| own.qcn = qcn(vec![0, 7])), [""; 0]);
        assert_eq!(mistakes(|own| own.qcn = qcn(vec![9])), ["qcn"]);
        assert_eq!(mistakes(|own| own.qcn = qcn(vec![])), ["qcn"]);
        let buffer = BufferRecord { size: Bytes::from_kb(1000), alpha: 1.0, reserve: Bytes::ZERO, offset: Bytes::ZERO };
        assert_eq!(mistakes(|own| (own.buffer, own.xoff) = (Some(buffer), kb(10))), ["xoff"]);
    }
}
