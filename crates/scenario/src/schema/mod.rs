//! The records of a scenario file. Each is declared once; see `language` for what follows from that.

mod claim;
mod datagram;
mod event_builder;
mod failure;
mod groups;
mod hosts;
mod policy;
mod pool;
mod protocol;
mod quick;
mod relay;
mod replay;
mod roce;
mod traffic;
mod transport;
mod view;

pub use crate::queue::{
    CodelRecord, DropTailRecord, DrrRecord, FqCodelRecord, QueueRecord, RedRecord, SharedBufferRecord,
};
pub use crate::size::{
    CdfRecord, ExponentialRecord, FixedRecord, ParetoRecord, SharedRecord, SizeKind, SizeRecord, UniformRecord,
    UnlimitedRecord,
};
pub use crate::topology::{
    BcubeRecord, CableRecord, DualHomedFatTreeRecord, DualHomedPodRecord, DumbbellRecord, FatTreeRecord, GraphRecord,
    LinkChangeRecord, LinkLossRecord, LinkRecord, MultiHomedFatTreeRecord, ParallelPathsRecord, ShapeRecord,
    TopologyRecord, TreeRecord, TwoTierRecord, Vl2Record,
};
pub use claim::{Against, BetweenRecord, ClaimRecord, Comparison, NearRecord, NumberRecord, OperandRecord, Published};
pub use datagram::DatagramsRecord;
pub use event_builder::{Connections, EventBuilderRecord, Overflow, PullRecord, PushRecord, Reported, TransferRecord};
pub use failure::{CrashRecord, Direction, FailureRecord};
pub use groups::Groups;
pub use hosts::{AcceptOverflow, HostKind, HostModelRecord, HostsRecord, LinuxHostsRecord, Place, ServerRecord};
pub use policy::{LaneDaemonRecord, LinuxPolicyRecord, PolicyRecord, ReplicateRecord};
pub use pool::{OpenAt, PoolRecord};
pub use protocol::{AddressPairs, MptcpRecord, Protocol, Scheduler, TcpRecord};
pub(crate) use quick::Change;
pub use quick::{KernelHostsRecord, KernelQuickRecord, QuickRecord};
pub use relay::{RelayCostRecord, RelayPolicyRecord, RelaySideRecord};
pub use replay::ReplayRecord;
pub use roce::{DcqcnRecord, Retransmission, RoceControl, RoceRecord};
pub(crate) use traffic::REQUEST;
pub use traffic::{
    ArrivalRecord, ClosedLoopRecord, CommandRecord, FlowsRecord, HttpClientsRecord, HttpRecord, LoadRecord, OnceRecord,
    Pairs, PartitionAggregateRecord, PeriodicRecord, PoissonRecord, TrafficKind, TrafficRecord,
};
pub use transport::{
    DelayedAckRecord, IdleRestart, LinuxTransportRecord, Pacing, ReceiveWindow, Recovery, Reduces, Reduction, RtoRule,
    Stack, TransportRecord, WindowRecord,
};
pub use view::ViewRecord;

use headway_units::Span;

use headway_language::{Map, Name, Sweep, above, all_defaults, record, words};

record! {
    /// A scenario: what is simulated, what is compared, what is measured and what must hold.
    pub struct ScenarioRecord {
        /// The scenario's name, by which its results are known.
        pub name: Name,
        /// What it is about, in one line.
        pub about: String,
        /// Where it comes from: the paper and section it repeats.
        pub source: Option<String>,
        /// New flows start before this time.
        #[range(Span::from_picos(1)..=Span::from_secs(30 * 24 * 3600))]
        pub duration: Span,
        /// For so long after `duration` running flows go on while none start.
        #[range(Span::ZERO..=Span::from_secs(30 * 24 * 3600))]
        pub drain: Span = Span::ZERO,
        /// How often every point is run, each time with other random numbers.
        #[range(1..=100_000)]
        pub repeats: u32 = 10,
        /// Where all random numbers start from.
        pub seed: u64 = 1,
        /// Switches, cables and queues.
        pub topology: TopologyRecord,
        /// What hosts are whose group does not say.
        pub host_kind: HostKind = HostKind::Modelled,
        /// The kernel of kernel hosts, by the name of its image; the newest unpatched one when left out.
        pub kernel: Option<String>,
        /// A folder, relative to the scenario's, that kernel hosts see as `/files`.
        pub files: Option<String>,
        /// Groups of hosts by name; hosts without a group take part in "any host" alone.
        pub hosts: Map<HostsRecord> = Map::new(),
        /// Hosts of groups by other names, for traffic between parts of them.
        pub views: Map<ViewRecord> = Map::new(),
        /// What is sent.
        pub traffic: Vec<TrafficRecord>,
        /// What goes down, and when.
        pub failure: Vec<FailureRecord> = Vec::new(),
        /// The ways of sending to compare.
        pub policy: Vec<PolicyRecord>,
        /// Values that are varied: every combination is run with every policy.
        pub sweep: Sweep = Sweep::default(),
        /// What the results must show.
        pub claim: Vec<ClaimRecord> = Vec::new(),
        /// What `--quick` changes.
        pub quick: Option<QuickRecord>,
        /// What `headway reproduce` also runs on kernel hosts.
        pub kernel_hosts: Option<KernelHostsRecord>,
        /// What is recorded beyond the flows.
        pub measure: MeasureRecord = MeasureRecord::default(),
    }
}

words! {
    /// A quantity recorded over time.
    pub enum Series {
        /// Data delivered to applications per second.
        "goodput" => Goodput,
        /// Congestion windows.
        "cwnd" => Cwnd,
        /// Smoothed round-trip times.
        "rtt" => Rtt,
        /// Slow-start thresholds, once there is one.
        "ssthresh" => Ssthresh,
        /// Averages of the share of marked data, of controls that have one: DCTCP, D2TCP.
        "alpha" => Alpha,
        /// The costs that lanes see in their links.
        "link-cost" => LinkCost,
        /// Queue lengths at switches.
        "queue" => Queue,
        /// Rates at which frames are offered to ports of switches.
        "arrivals" => Arrivals,
        /// Frames that ports of switches mark (ECN).
        "marks" => Marks,
        /// How busy the cores of hosts with a model are.
        "core" => Core,
        /// Limits on ports.
        "limit" => Limit,
    }
}

record! {
    /// What is recorded beyond the flows.
    pub struct MeasureRecord {
        /// The quantities recorded over time.
        pub series: Vec<Series> = Vec::new(),
        /// The distance of two samples.
        #[range(above(Span::ZERO))]
        pub interval: Span = Span::from_millis(10),
        /// The distance of two samples of single quantities, in place of `interval`.
        pub intervals: IntervalsRecord = IntervalsRecord::default(),
        /// The links ("a>b") whose queues, arrivals and marks are recorded over time; all ports of switches when left out.
        pub links: Option<Vec<String>>,
        /// The traffic whose flows are recorded over time; all when left out.
        pub traffic: Option<Vec<Name>>,
        /// Whether it is measured how long the packets of each flow wait at hosts and at switches.
        pub waits: bool = false,
        /// Hosts ("a") and links ("a>b", as in the series of queues) whose packets are written to files.
        pub capture: Vec<String> = Vec::new(),
        /// The nodes that connections of modelled hosts pass are written down, forth and back.
        pub paths: bool = false,
        /// What links do over time, for the player of the topology.
        pub film: FilmRecord = FilmRecord::default(),
    }
}

words! {
    /// The points of a sweep whose runs are filmed.
    pub enum FilmPoints {
        /// The first, the middle and the last.
        "three" => Three,
        /// Every one.
        "all" => All,
        /// None: there is no film.
        "none" => None,
    }
}

record! {
    /// The film of links: of repeat 0 of every policy.
    pub struct FilmRecord {
        /// The points of the sweep.
        pub points: FilmPoints = FilmPoints::Three,
        /// Steps of a film at most.
        #[range(1..=10_000)]
        pub steps: u32 = 200,
    }
}

impl Default for FilmRecord {
    fn default() -> FilmRecord {
        FilmRecord { points: FilmPoints::Three, steps: 200 }
    }
}

impl FilmRecord {
    /// Films of more values than this, links times steps, are not made.
    pub const MAX_VALUES: u64 = 2_000_000;

    /// Whether point number `point` of `points` is filmed, in a network with so many links.
    pub fn is_of(&self, point: usize, points: usize, links: usize) -> bool {
        let chosen = match self.points {
            FilmPoints::Three => [0, points / 2, points.saturating_sub(1)].contains(&point),
            FilmPoints::All => true,
            FilmPoints::None => false,
        };
        chosen && links as u64 * u64::from(self.steps) <= FilmRecord::MAX_VALUES
    }
}

impl Default for MeasureRecord {
    fn default() -> MeasureRecord {
        MeasureRecord {
            series: Vec::new(),
            interval: Span::from_millis(10),
            intervals: IntervalsRecord::default(),
            links: None,
            traffic: None,
            waits: false,
            capture: Vec::new(),
            paths: false,
            film: FilmRecord::default(),
        }
    }
}

record! {
    /// The distance of two samples of single quantities; that of all others is `interval`.
    pub struct IntervalsRecord {
        /// Of data delivered to applications.
        #[range(above(Span::ZERO))]
        pub goodput: Option<Span>,
        /// Of congestion windows.
        #[range(above(Span::ZERO))]
        pub cwnd: Option<Span>,
        /// Of smoothed round-trip times.
        #[range(above(Span::ZERO))]
        pub rtt: Option<Span>,
        /// Of slow-start thresholds.
        #[range(above(Span::ZERO))]
        pub ssthresh: Option<Span>,
        /// Of averages of the share of marked data.
        #[range(above(Span::ZERO))]
        pub alpha: Option<Span>,
        /// Of the costs that lanes see.
        #[range(above(Span::ZERO))]
        pub link_cost: Option<Span>,
        /// Of queue lengths.
        #[range(above(Span::ZERO))]
        pub queue: Option<Span>,
        /// Of rates at which frames are offered to ports.
        #[range(above(Span::ZERO))]
        pub arrivals: Option<Span>,
        /// Of frames that ports mark.
        #[range(above(Span::ZERO))]
        pub marks: Option<Span>,
        /// Of how busy cores are.
        #[range(above(Span::ZERO))]
        pub core: Option<Span>,
        /// Of limits on ports.
        #[range(above(Span::ZERO))]
        pub limit: Option<Span>,
    }
}

impl Default for IntervalsRecord {
    fn default() -> IntervalsRecord {
        all_defaults()
    }
}

impl IntervalsRecord {
    /// That of `series`, if it has its own.
    pub fn of(&self, series: Series) -> Option<Span> {
        match series {
            Series::Goodput => self.goodput,
            Series::Cwnd => self.cwnd,
            Series::Rtt => self.rtt,
            Series::Ssthresh => self.ssthresh,
            Series::Alpha => self.alpha,
            Series::LinkCost => self.link_cost,
            Series::Queue => self.queue,
            Series::Arrivals => self.arrivals,
            Series::Marks => self.marks,
            Series::Core => self.core,
            Series::Limit => self.limit,
        }
    }
}

impl MeasureRecord {
    /// The time between two samples of `series`.
    pub fn interval_of(&self, series: Series) -> Span {
        self.intervals.of(series).unwrap_or(self.interval)
    }
}

impl ScenarioRecord {
    /// The group called `name`, or of a view the first one whose hosts it has.
    pub fn group(&self, name: &str) -> Option<&HostsRecord> {
        // of several groups the first
        let mut name = name.split('+').next()?;
        // A view is of views before it, so this ends.
        for _ in 0..=self.views.len() {
            match self.views.get(name) {
                Some(view) => name = view.of.first()?,
                None => return self.hosts.get(name),
            }
        }
        None
    }

    /// The names of groups and of views.
    pub(crate) fn groups_and_views(&self) -> impl Iterator<Item = &str> + Clone {
        self.hosts.names().chain(self.views.names())
    }
}
