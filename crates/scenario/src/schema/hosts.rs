//! Groups of hosts.

use headway_units::{Bytes, Span};

use crate::language::{Name, Settings, record, words};

use super::LinkChangeRecord;

words! {
    /// Where the hosts of a group are.
    pub enum Place {
        /// Among the hosts of the topology, taken in order.
        "inside" => Inside,
        /// Further hosts above the topology, with an interface to each of its planes.
        "top" => Top,
    }
}

words! {
    /// What hosts are.
    pub enum HostKind {
        /// Modelled by Headway.
        "modelled" => Modelled,
        /// Real Linux kernels in virtual time.
        "linux" => Linux,
    }
}

record! {
    /// A group of hosts.
    pub struct HostsRecord {
        /// How many hosts; required unless `members` names them.
        #[range(1..=1_000_000)]
        pub count: Option<u32>,
        /// Where they are.
        pub at: Place = Place::Inside,
        /// The hosts by name, in a graph.
        pub members: Option<Vec<Name>>,
        /// What is different from `topology.link` in the cables of hosts at the top.
        pub link: Option<LinkChangeRecord>,
        /// What they are; as `host-kind` says when left out.
        pub kind: Option<HostKind>,
        /// How they are set up if they are kernel hosts.
        pub linux: Option<LinuxHostsRecord>,
    }
}

record! {
    /// How kernel hosts are set up.
    pub struct LinuxHostsRecord {
        /// So many hosts share a kernel, each in a network namespace of its own.
        #[range(1..=32)]
        pub hosts_per_guest: u32 = 1,
        /// Memory of each kernel.
        #[range(Bytes::from_kb(24_000)..=Bytes::from_kb(4_000_000))]
        pub memory: Bytes = Bytes::from_kb(32_000),
        /// Network cards segment TCP for the kernel (TSO).
        pub segmentation: bool = true,
        /// Network cards compute and check checksums for the kernel.
        pub checksums: bool = true,
        /// What each packet takes of a host's processor; whole nanoseconds.
        #[range(Span::ZERO..=Span::from_secs(1))]
        pub cpu_per_packet: Span = Span::ZERO,
        /// What each interrupt takes of a host's processor; whole nanoseconds.
        #[range(Span::ZERO..=Span::from_secs(1))]
        pub cpu_per_interrupt: Span = Span::ZERO,
        /// Kernel settings of each host, over all others.
        pub sysctl: Settings = Settings::new(),
        /// Lines for the shell of each host, run when all else is set up.
        pub setup: Vec<String> = Vec::new(),
    }
}

impl Default for LinuxHostsRecord {
    fn default() -> LinuxHostsRecord {
        LinuxHostsRecord {
            hosts_per_guest: 1,
            memory: Bytes::from_kb(32_000),
            segmentation: true,
            checksums: true,
            cpu_per_packet: Span::ZERO,
            cpu_per_interrupt: Span::ZERO,
            sysctl: Settings::new(),
            setup: Vec::new(),
        }
    }
}
