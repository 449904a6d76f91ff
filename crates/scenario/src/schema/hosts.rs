//! Groups of hosts.

use headway_units::{Bytes, Span};

use headway_language::{Name, record, words};

use crate::settings::Settings;

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
        /// Network namespaces of this machine's own kernel, in real time.
        "namespaces" => Namespaces,
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
        /// Every so many of the hosts that no group before has taken, from the first on; one after another when left out.
        #[range(1..=1_000_000)]
        pub every: Option<u32>,
        /// The hosts by name, in a graph.
        pub members: Option<Vec<Name>>,
        /// What is different from `topology.link` in the cables of hosts at the top.
        pub link: Option<LinkChangeRecord>,
        /// What they are; as `host-kind` says when left out.
        pub kind: Option<HostKind>,
        /// What their cards and cores take if they are modelled; left out: nothing.
        pub model: Option<HostModelRecord>,
        /// The longest random time that each packet which they send takes before it is on the line, if they are modelled;
        /// left out: none.
        #[range(Span::from_picos(1)..=Span::from_secs(1))]
        pub random_processing: Option<Span>,
        /// How they serve web clients if they are modelled; left out: at once, whoever comes.
        pub server: Option<ServerRecord>,
        /// How they are set up if they are kernel hosts.
        pub linux: Option<LinuxHostsRecord>,
    }
}

record! {
    /// What receiving and sending takes of modelled hosts.
    pub struct HostModelRecord {
        /// Cores that frames are worked on by.
        #[range(1..=64)]
        pub cores: u32 = 1,
        /// Receive queues of each card; flows are spread over them by a hash, and they over the cores (RSS).
        #[range(1..=128)]
        pub queues: u32 = 1,
        /// Frames that the ring of a queue holds; more are dropped.
        #[range(1..=1_000_000)]
        pub ring: u32 = 512,
        /// The longest time from a waiting frame to its interrupt; zero: `rx-frames` alone counts.
        #[range(Span::ZERO..=Span::from_secs(1))]
        pub rx_usecs: Span = Span::ZERO,
        /// So many waiting frames interrupt at once; zero: `rx-usecs` alone counts.
        #[range(0..=1_000_000)]
        pub rx_frames: u32 = 1,
        /// Frames of a queue that are taken in one poll.
        #[range(1..=65_535)]
        pub budget: u32 = 64,
        /// Frames after which polling lets others send (`net.core.netdev_budget`).
        #[range(1..=1_000_000)]
        pub netdev_budget: u32 = 300,
        /// Time after which it does (`net.core.netdev_budget_usecs`).
        #[range(Span::ZERO..=Span::from_secs(1))]
        pub netdev_budget_usecs: Span = Span::from_millis(2),
        /// Segments that follow each other go up as one (generic receive offload).
        pub gro: bool = true,
        /// Protocol work is spread over all cores by the flow's hash (receive packet steering).
        pub rps: bool = false,
        /// Segments that wait for a core's protocol work at most; more are dropped (`net.core.netdev_max_backlog`).
        #[range(1..=1_000_000)]
        pub netdev_max_backlog: u32 = 1000,
        /// Network cards segment: a burst of up to 64 KB is sent by one piece of work (TSO).
        pub segmentation: bool = true,
        /// What each interrupt takes of a core.
        #[range(Span::ZERO..=Span::from_secs(1))]
        pub cpu_per_interrupt: Span = Span::ZERO,
        /// What each frame received takes of a core: driver and memory.
        #[range(Span::ZERO..=Span::from_secs(1))]
        pub cpu_per_packet: Span = Span::ZERO,
        /// What each byte received or sent takes of a core, headers included.
        #[range(Span::ZERO..=Span::from_millis(1))]
        pub cpu_per_byte: Span = Span::ZERO,
        /// What each segment, merged or not, takes of a core on its way up through IP and TCP.
        #[range(Span::ZERO..=Span::from_secs(1))]
        pub cpu_per_segment: Span = Span::ZERO,
        /// What each interrupt by another core takes of a core.
        #[range(Span::ZERO..=Span::from_secs(1))]
        pub cpu_per_ipi: Span = Span::ZERO,
        /// What each burst, or acknowledgement, takes of a core on its way down.
        #[range(Span::ZERO..=Span::from_secs(1))]
        pub cpu_per_burst: Span = Span::ZERO,
    }
}

words! {
    /// What becomes of a connection that finds the accept queue full.
    pub enum AcceptOverflow {
        /// It is left to try again.
        "drop" => Drop,
        /// It is reset (`net.ipv4.tcp_abort_on_overflow`).
        "refuse" => Refuse,
    }
}

record! {
    /// A server of modelled hosts: programs that accept connections and answer requests.
    pub struct ServerRecord {
        /// Programs; number n runs on core n modulo the number of cores.
        #[range(1..=1024)]
        pub workers: u32 = 1,
        /// Connections that a worker has open at most.
        #[range(1..=1_000_000)]
        pub worker_connections: u32 = 512,
        /// Connections that wait for a worker: one more than this, as in Linux.
        #[range(0..=1_000_000)]
        pub backlog: u32 = 511,
        /// Connections whose handshake is under way; as many as `backlog` when left out, but one at least.
        #[range(1..=1_000_000)]
        pub syn_queue: Option<u32>,
        /// Connections that find no place there are answered by SYN cookies (`net.ipv4.tcp_syncookies`), not dropped.
        pub syn_cookies: bool = true,
        /// What becomes of a connection that finds no place to wait.
        pub overflow: AcceptOverflow = AcceptOverflow::Drop,
        /// What accepting a connection takes of a core.
        #[range(Span::ZERO..=Span::from_secs(1))]
        pub cpu_per_connection: Span = Span::ZERO,
        /// What answering a request takes of a core.
        #[range(Span::ZERO..=Span::from_secs(1))]
        pub cpu_per_request: Span = Span::ZERO,
        /// What it takes more for each connection that its worker has open.
        #[range(Span::ZERO..=Span::from_millis(1))]
        pub cpu_per_open: Span = Span::ZERO,
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
