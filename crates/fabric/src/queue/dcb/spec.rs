//! How the ports of a network are lossless.

use headway_units::{Bytes, Span};

/// How many priorities there are.
pub const PRIORITIES: usize = 8;

/// What pauses a sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PauseKind {
    /// One priority at a time (IEEE 802.1Qbb).
    Priority,
    /// The whole link (IEEE 802.3 annex 31B).
    Link,
    /// Nothing: ports have classes only.
    Nothing,
}

/// Where frames of a class are marked CE, by the bytes of the class that wait at their port.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Marks {
    /// All that would make it exceed this (RFC 8257 §3.1).
    Step(Bytes),
    /// None up to `min`, with `probability` at `max`, in proportion between, and all beyond (DCQCN's switches: Zhu et al.,
    /// SIGCOMM 2015, doi:10.1145/2785956.2787484, fig. 5).
    Ramp {
        /// K_min.
        min: Bytes,
        /// K_max; at least `min`.
        max: Bytes,
        /// P_max.
        probability: f64,
    },
}

/// A traffic class of every port.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClassSpec {
    /// Goes before all classes that are not strict; among strict ones the class of the highest priority goes first.
    pub strict: bool,
    /// Its part of what strict classes leave, in proportion to those of the others that send; at least 1.
    pub share: u32,
    /// Its ECN marks.
    pub marks: Option<Marks>,
}

/// When a switch asks the sender at the far end of a link to pause: by the bytes that came over the link and have not left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Thresholds {
    /// Frames that would exceed this are in the headroom, and the first one asks. Of a shared buffer it follows from that.
    pub xoff: u64,
    /// The headroom is empty and no more than this is there: senders may go on. At most `xoff`.
    pub xon: u64,
    /// Bytes beyond `xoff`; frames that find no room are dropped.
    pub headroom: u64,
}

/// A switch's buffer, of which every link and lossless priority that comes in has a reserve and a headroom of its own.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IngressBuffer {
    /// All of it.
    pub size: Bytes,
    /// What comes over a link in a priority may take up to α times what is free of the shared part.
    pub alpha: f64,
    /// Every link and lossless priority's own.
    pub reserve: Bytes,
    /// Senders go on when so much less than the threshold is used.
    pub offset: Bytes,
}

/// What becomes of frames whose class has been paused for too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WatchdogAction {
    /// They are dropped, and so are those that come.
    Drop,
    /// They are sent in spite of the pause.
    Forward,
}

/// A watchdog of pauses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watchdog {
    /// A priority that has waited for so long while it was paused is stuck; more than zero.
    pub detect: Span,
    /// It is no longer when it has not been paused for so long; more than zero.
    pub restore: Span,
    /// What becomes of its frames meanwhile.
    pub action: WatchdogAction,
}

/// How the ports of a network are lossless.
#[derive(Debug, Clone, PartialEq)]
pub struct LosslessSpec {
    /// What pauses a sender.
    pub pause: PauseKind,
    /// The priorities that are: bit by bit. With [`PauseKind::Link`] all.
    pub lossless: u8,
    /// Classes of each port, at least one and at most eight.
    pub classes: Vec<ClassSpec>,
    /// Which of them each priority is in.
    pub class_of: [u8; PRIORITIES],
    /// How long a pause lasts, in times of 512 bits; more than zero.
    pub quanta: u16,
    /// From the arrival of a pause frame until no frame of its priority begins.
    pub response: Span,
    /// By link over which frames come in.
    pub thresholds: Vec<Thresholds>,
    /// What the ports of each switch share; without one every link and priority has its [`Thresholds`], and frames that
    /// may be lost have the limit of the port's queue.
    pub buffer: Option<IngressBuffer>,
    /// If there is one.
    pub watchdog: Option<Watchdog>,
    /// The largest frame, header to checksum.
    pub largest: u32,
}

impl LosslessSpec {
    /// Whether frames of `priority` are not lost.
    pub(crate) fn is_lossless(&self, priority: u8) -> bool {
        match self.pause {
            PauseKind::Priority => self.lossless >> priority & 1 == 1,
            PauseKind::Link => true,
            PauseKind::Nothing => false,
        }
    }

    /// Under which of its link's accounts frames of `priority` are.
    pub(crate) fn account(&self, priority: u8) -> u8 {
        if self.pause == PauseKind::Link { 0 } else { priority }
    }

    /// The priorities that pauses of `account` stop.
    pub(crate) fn stops(&self, account: u8) -> u8 {
        if self.pause == PauseKind::Link { u8::MAX } else { 1 << account }
    }

    /// Accounts of a link that can pause its sender.
    pub(crate) fn accounts(&self) -> u32 {
        match self.pause {
            PauseKind::Priority => self.lossless.count_ones(),
            PauseKind::Link => 1,
            PauseKind::Nothing => 0,
        }
    }
}
