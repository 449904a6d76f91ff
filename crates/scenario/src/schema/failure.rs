//! Links that go down.

use headway_units::Span;

use headway_language::{Name, OrOff, record, words};

use crate::limits::LONGEST;

words! {
    /// Which direction of a cable goes down.
    pub enum Direction {
        /// Both: what a cut does.
        "both" => Both,
        /// From the first name of `link` to the second, or from the host.
        "forth" => Forth,
        /// The other one.
        "back" => Back,
    }
}

words! {
    /// What of a relay crashes.
    pub enum CrashRecord {
        /// The host: its cables go down, and it comes back without its connections.
        "host" => Host,
        /// The process: the kernel resets its connections at once, and refuses new ones until it is back.
        "process" => Process,
    }
}

record! {
    /// A cable, an interface or a switch that goes down: one of `link`, `host` and `switch` says what.
    pub struct FailureRecord {
        /// The cables between two switches, or a switch and a host, by their names.
        pub link: Option<[Name; 2]>,
        /// The cables of a host.
        pub host: Option<Name>,
        /// Only the cable of this interface of `host`, from 0.
        #[range(0..=63)]
        pub interface: Option<u32>,
        /// `host` is a relay that crashes: all of it, or its process alone.
        pub crash: Option<CrashRecord>,
        /// All cables of a switch.
        pub switch: Option<Name>,
        /// From when on, counted from the start of the run.
        pub at: Span,
        /// Until when; to the end of the run when left out.
        pub until: Option<Span>,
        /// Which direction.
        pub direction: Direction = Direction::Both,
        /// Routing avoids the cables after this time, and uses them again as long after `until`; `false`: never.
        #[range(Span::ZERO..=LONGEST)]
        pub reroute: OrOff<Span> = OrOff::Off,
        /// Hosts see at once that a cable of their own is down in both directions.
        pub carrier: bool = true,
    }
}
