//! Who sends what to whom, and when.

use headway_units::{Bytes, Span};

use super::{HostKind, ScenarioRecord};

use headway_language::{Name, Ratio, above, choice, record, words};

use super::datagram::DatagramsRecord;
use super::event_builder::EventBuilderRecord;
use super::groups::Groups;
use super::pool::PoolRecord;
use super::replay::ReplayRecord;
use crate::size::{SizeKind, SizeRecord};

record! {
    /// What is sent.
    pub struct TrafficRecord {
        /// The name of the traffic, by which its flows are reported.
        pub name: Name,
        /// The kinds of hosts that it is for: hosts of other kinds leave it out. All when left out.
        pub only: Option<Vec<HostKind>>,
        /// The priority of its frames, in both directions.
        #[range(..=7)]
        pub priority: u8 = 0,
    }
    with /// Flows, or programs that send what they want.
    kind: TrafficKind
}

impl FlowsRecord {
    /// The groups that it names: where flows go to, and come from.
    pub fn groups(&self) -> impl Iterator<Item = &Groups> {
        std::iter::once(&self.to).chain(&self.from)
    }
}

/// What follows the name of a tree where its requests are reported.
pub(crate) const REQUEST: &str = "request";

impl TrafficRecord {
    /// Whether it is for hosts of the kind that its own are, in `scenario`.
    pub fn takes_part(&self, scenario: &ScenarioRecord) -> bool {
        let kind = self.host_kind(scenario);
        self.only.as_ref().is_none_or(|kinds| kinds.contains(&kind))
    }

    /// The kind of its hosts in `scenario`.
    pub fn host_kind(&self, scenario: &ScenarioRecord) -> HostKind {
        let group = match &self.kind {
            TrafficKind::Flows(flows) => Some(&*flows.to),
            TrafficKind::Replay(replay) => replay.hosts.as_deref().or_else(|| scenario.hosts.names().next()),
            TrafficKind::Command(command) => Some(&*command.on),
            TrafficKind::PartitionAggregate(tree) => Some(&*tree.root),
            TrafficKind::EventBuilder(own) => Some(&*own.builders),
            TrafficKind::Http(http) => Some(&*http.to),
        };
        let group = group.and_then(|group| scenario.group(group));
        group.and_then(|group| group.kind).unwrap_or(scenario.host_kind)
    }

    /// Its flows, if it is of flows.
    pub fn flows(&self) -> Option<&FlowsRecord> {
        match &self.kind {
            TrafficKind::Flows(flows) => Some(flows),
            _ => None,
        }
    }

    /// Its list of flows, if it replays one.
    pub fn replay(&self) -> Option<&ReplayRecord> {
        match &self.kind {
            TrafficKind::Replay(replay) => Some(replay),
            _ => None,
        }
    }

    /// The size up to which its flows are reported apart, if there is one.
    pub fn short(&self) -> Option<Bytes> {
        match &self.kind {
            TrafficKind::Flows(flows) => flows.short,
            TrafficKind::Replay(replay) => replay.short,
            _ => None,
        }
    }

    /// The connections that its flows are messages on, if they have none of their own.
    pub fn pool(&self) -> Option<&PoolRecord> {
        match &self.kind {
            TrafficKind::Flows(flows) => flows.connections.as_ref(),
            TrafficKind::Replay(replay) => replay.connections.as_ref(),
            _ => None,
        }
    }

    /// The datagrams that its flows are, if they have no connections.
    pub fn datagrams(&self) -> Option<&DatagramsRecord> {
        self.flows()?.datagrams.as_ref()
    }

    /// The time before which it does nothing.
    pub fn begins(&self) -> Span {
        match &self.kind {
            TrafficKind::Flows(own) => own.start,
            TrafficKind::Replay(own) => own.start,
            TrafficKind::Command(own) => own.start,
            TrafficKind::PartitionAggregate(own) => own.start,
            TrafficKind::EventBuilder(own) => own.start,
            TrafficKind::Http(own) => own.start,
        }
    }

    /// Whether its flows are reported by other names than its own.
    pub fn is_reported_apart(&self) -> bool {
        match &self.kind {
            TrafficKind::Flows(_) | TrafficKind::Replay(_) => self.short().is_some() || self.pool().is_some(),
            TrafficKind::Command(_) => false,
            TrafficKind::PartitionAggregate(_) | TrafficKind::EventBuilder(_) | TrafficKind::Http(_) => true,
        }
    }

    /// The files that it names, relative to the scenario's.
    pub fn files(&self) -> Vec<&str> {
        let tables = self.sizes().into_iter().filter_map(|size| match size {
            SizeKind::Cdf(cdf) => cdf.file.as_deref(),
            _ => None,
        });
        tables.chain(self.replay().map(|replay| replay.file.as_str())).collect()
    }

    /// Its tree, if it is one.
    pub fn tree(&self) -> Option<&PartitionAggregateRecord> {
        match &self.kind {
            TrafficKind::PartitionAggregate(tree) => Some(tree),
            _ => None,
        }
    }

    /// Its readers and builders, if it has them.
    pub fn event_builder(&self) -> Option<&EventBuilderRecord> {
        match &self.kind {
            TrafficKind::EventBuilder(own) => Some(own),
            _ => None,
        }
    }

    /// Its clients, if it is of web clients.
    pub fn http(&self) -> Option<&HttpRecord> {
        match &self.kind {
            TrafficKind::Http(http) => Some(http),
            _ => None,
        }
    }

    /// The names by which its flows are reported: its own, or `NAME/short` and `NAME/long` where sizes are told apart, and
    /// `NAME/connection` where they are messages on connections; of
    /// a tree `NAME/request`, and for each level with hosts
    /// `GROUP` the answers, `NAME/GROUP`, and the queries, `NAME/GROUP/query`; of event building `NAME/event` and others, see
    /// [`EventBuilderRecord::reported`]; of web clients `NAME`, which is all their requests, and those of each group,
    /// `NAME/GROUP`, with `NAME/GROUP/connect` and `NAME/GROUP/first-byte` behind it if these are reported apart.
    pub fn reported(&self) -> Vec<String> {
        match &self.kind {
            TrafficKind::Flows(_) | TrafficKind::Replay(_) => {
                let name = &self.name;
                let own = match self.short() {
                    Some(_) => ["short", "long"].map(|class| format!("{name}/{class}")).into(),
                    None => vec![name.to_string()],
                };
                own.into_iter().chain(self.pool().map(|_| format!("{name}/connection"))).collect()
            }
            TrafficKind::Command(_) => Vec::new(),
            TrafficKind::Http(http) => {
                let parts: &[&str] = if http.phases { &["", "/connect", "/first-byte"] } else { &[""] };
                let each = |clients: &HttpClientsRecord| {
                    let group = clients.on.clone();
                    parts.iter().map(move |part| format!("{}/{group}{part}", self.name))
                };
                std::iter::once(self.name.to_string()).chain(http.clients.iter().flat_map(each)).collect()
            }
            TrafficKind::PartitionAggregate(tree) => {
                let levels = tree.levels.iter().flat_map(|level| [level.on.to_string(), format!("{}/query", level.on)]);
                let all = std::iter::once(REQUEST.to_owned()).chain(levels);
                all.map(|part| format!("{}/{part}", self.name)).collect()
            }
            TrafficKind::EventBuilder(own) => {
                own.reported().iter().map(|part| format!("{}/{}", self.name, part.as_str())).collect()
            }
        }
    }

    /// All sizes that are drawn for it.
    pub fn sizes(&self) -> Vec<&SizeKind> {
        match &self.kind {
            TrafficKind::Flows(flows) => vec![&flows.size.0],
            TrafficKind::Command(_) | TrafficKind::Replay(_) => Vec::new(),
            TrafficKind::Http(http) => vec![&http.page.0],
            TrafficKind::PartitionAggregate(tree) => {
                std::iter::once(&tree.query.0).chain(tree.levels.iter().map(|level| &level.answer.0)).collect()
            }
            TrafficKind::EventBuilder(own) => vec![&own.fragment.0],
        }
    }

    /// Its program, if it is one.
    pub fn command(&self) -> Option<&CommandRecord> {
        match &self.kind {
            TrafficKind::Command(command) => Some(command),
            _ => None,
        }
    }
}

choice! {
    /// What is sent.
    pub enum TrafficKind by "kind" default "flows" {
        /// Flows of one sort.
        "flows" => Flows(FlowsRecord),
        /// Flows of a list.
        "replay" => Replay(ReplayRecord),
        /// A program on kernel hosts.
        "command" => Command(CommandRecord),
        /// Requests that are split up among the hosts of a tree, whose answers are put together on the way back.
        "partition-aggregate" => PartitionAggregate(PartitionAggregateRecord),
        /// Events of which every reader has a fragment, and one builder needs all.
        "event-builder" => EventBuilder(EventBuilderRecord),
        /// Web clients, each with so many sessions that ask for one page after the other.
        "http" => Http(HttpRecord),
    }
}

record! {
    /// Web clients, each with so many sessions that ask for one page after the other.
    pub struct HttpRecord {
        /// The group that serves; client number n, over all groups, asks its server number n modulo their number.
        pub to: Name,
        /// The clients.
        pub clients: Vec<HttpClientsRecord>,
        /// The pages that are asked for: an amount, or a distribution.
        pub page: SizeRecord,
        /// What comes before the page in each answer.
        #[range(..=Bytes::new(65_536))]
        pub header: Bytes = Bytes::new(212),
        /// What it takes to ask.
        #[range(Bytes::new(1)..=Bytes::new(65_536))]
        pub request: Bytes = Bytes::new(90),
        /// Requests of a connection, after which the server closes it.
        #[range(1..=1_000_000_000)]
        pub requests_per_connection: u64 = 1,
        /// The mean of the time between a page and the next request of a session, which is exponential.
        #[range(..=crate::limits::LONGEST)]
        pub think: Span = Span::ZERO,
        /// How long a request may take; then its connection is given up. No limit when left out.
        #[range(above(Span::ZERO))]
        pub timeout: Option<Span>,
        /// No request begins before this time.
        pub start: Span = Span::ZERO,
        /// The sessions of a client begin over this time, at equal distances, and not at one instant.
        #[range(..=crate::limits::LONGEST)]
        pub ramp: Span = Span::ZERO,
        /// No request begins from this time on; `duration` when left out.
        pub stop: Option<Span>,
        /// The times until connections are open and until the first byte are reported, too.
        pub phases: bool = false,
    }
}

record! {
    /// Web clients that are alike.
    pub struct HttpClientsRecord {
        /// The group; each of its hosts is a client.
        pub on: Name,
        /// Sessions of each client.
        #[range(1..=100_000)]
        pub concurrency: u32 = 1,
        /// Requests of each client; as many as there is time for when left out.
        #[range(1..=4_000_000_000)]
        pub requests: Option<u64>,
        /// What a request takes of the client's core.
        #[range(..=Span::from_secs(1))]
        pub cpu_per_request: Span = Span::ZERO,
        /// What it takes more for each session of the client.
        #[range(..=Span::from_millis(1))]
        pub cpu_per_session: Span = Span::ZERO,
    }
}

record! {
    /// Requests that are split up among the hosts of a tree, whose answers are put together on the way back.
    pub struct PartitionAggregateRecord {
        /// The group whose hosts take requests, each by itself.
        pub root: Name,
        /// Those asked, from the top down: parents, then leaves.
        pub levels: Vec<LevelRecord>,
        /// What it takes to ask one host.
        pub query: SizeRecord,
        /// When requests arrive at each root.
        pub arrival: ArrivalRecord,
        /// No request arrives before this time.
        pub start: Span = Span::ZERO,
        /// No request arrives from this time on; `duration` when left out.
        pub stop: Option<Span>,
        /// How long after its arrival a request is answered with what there is; no limit when left out.
        #[range(above(Span::ZERO))]
        pub deadline: Option<Span>,
    }
}

record! {
    /// Hosts that are asked by those of the level above.
    pub struct LevelRecord {
        /// The group; its hosts are dealt out evenly, in their order, to those of the level above.
        pub on: Name,
        /// What each of them answers.
        pub answer: SizeRecord,
        /// How long after they are asked their answers must be there; no limit when left out.
        #[range(above(Span::ZERO))]
        pub deadline: Option<Span>,
        /// How long each works before it answers.
        #[range(..=crate::limits::LONGEST)]
        pub work: Span = Span::ZERO,
        /// It works longer by up to this, at random.
        #[range(..=crate::limits::LONGEST)]
        pub jitter: Span = Span::ZERO,
    }
}

record! {
    /// A program on kernel hosts, which sends what it wants.
    pub struct CommandRecord {
        /// The group whose hosts run it.
        pub on: Name,
        /// Only the first so many hosts of the group; all when left out.
        #[range(1..=1_000_000)]
        pub hosts: Option<u32>,
        /// What the host's shell gets; `{host}` becomes the host's name, `{index}` its place in the group, from 0.
        pub run: String,
        /// When it starts.
        pub start: Span = Span::ZERO,
        /// When it is told to end (SIGTERM, and SIGKILL 100 ms later); at the end of the run when left out.
        pub stop: Option<Span>,
    }
}

record! {
    /// Flows of one sort.
    pub struct FlowsRecord {
        /// The group that sends, or several; every host of the topology outside `to` when left out.
        pub from: Option<Groups>,
        /// The group that receives, or several.
        pub to: Groups,
        /// Who sends to whom. A host never sends to itself.
        pub pairs: Pairs = Pairs::Random,
        /// Only the first so many hosts of `from` send; all when left out.
        pub senders: Option<u32>,
        /// Only the first so many hosts of `to` receive; all when left out.
        #[range(1..=1_000_000)]
        pub receivers: Option<u32>,
        /// The share of the hosts of `from` that send, drawn at random in every repeat; all when left out. Where `from`
        /// is `to`, the share that send to each other.
        pub from_share: Option<Ratio>,
        /// The share of the hosts of `to` that receive, drawn at random in every repeat; all when left out.
        pub to_share: Option<Ratio>,
        /// How much each flow carries: an amount ("64KB"), "unlimited", or a distribution.
        pub size: SizeRecord,
        /// When flows start.
        pub arrival: ArrivalRecord,
        /// No flow starts before this time.
        pub start: Span = Span::ZERO,
        /// No flow starts from this time on; `duration` when left out.
        pub stop: Option<Span>,
        /// How long after its start each flow should be complete, for congestion controls that know deadlines (D2TCP).
        #[range(above(Span::ZERO))]
        pub deadline: Option<Span>,
        /// Flows of at most this size are reported apart, as `NAME/short`, and all others as `NAME/long`.
        #[range(Bytes::new(1)..)]
        pub short: Option<Bytes>,
        /// Flows are messages on connections that stay open; each has one of its own when left out.
        pub connections: Option<PoolRecord>,
        /// Flows are datagrams at a constant rate, whatever the policy's transport is.
        pub datagrams: Option<DatagramsRecord>,
        /// Nodes that all its flows pass, in this order, and on the way back in the other: between them the hash chooses.
        pub via: Vec<String> = Vec::new(),
    }
}

words! {
    /// Who sends to whom, and thus who runs an arrival process of its own.
    pub enum Pairs {
        /// Each source runs its own arrivals and draws a destination for every flow.
        "random" => Random,
        /// Each destination runs its own arrivals and draws a source for every flow.
        "each-destination" => EachDestination,
        /// Every pair of a source and a destination runs its own arrivals.
        "all-to-all" => AllToAll,
        /// Each source sends to one destination, drawn once so that no two share one.
        "permutation" => Permutation,
        /// One process for all: at each arrival every source sends to the same drawn destination.
        "incast" => Incast,
    }
}

choice! {
    /// When flows start.
    pub enum ArrivalRecord by "kind" {
        /// All at once, at `start`.
        "once" => Once(OnceRecord),
        /// At random, independently of each other.
        "poisson" => Poisson(PoissonRecord),
        /// At equal distances.
        "periodic" => Periodic(PeriodicRecord),
        /// At random, as often as makes a given share of the sources' links busy.
        "load" => Load(LoadRecord),
        /// One after another: the next when the one before is complete.
        "closed-loop" => ClosedLoop(ClosedLoopRecord),
    }
}

record! {
    /// All at once, at `start`.
    pub struct OnceRecord {
        /// Flows of each process.
        #[range(1..=1_000_000)]
        pub count: u32 = 1,
    }
}

record! {
    /// At random, independently of each other.
    pub struct PoissonRecord {
        /// The mean time between two flows of a process.
        #[range(above(Span::ZERO))]
        pub mean: Span,
    }
}

record! {
    /// At equal distances.
    pub struct PeriodicRecord {
        /// The time between two flows of a process.
        #[range(above(Span::ZERO))]
        pub period: Span,
        /// Each flow starts later by up to this, at random; shorter than the period.
        pub jitter: Span = Span::ZERO,
    }
}

record! {
    /// At random, as often as makes a given share of the sources' links busy.
    pub struct LoadRecord {
        /// The share of the rate of a source's interfaces that its flows ask for, on average.
        #[range(above(0.0))]
        pub fraction: Ratio,
    }
}

record! {
    /// One after another: the next when the one before is complete (of an incast: all of them).
    pub struct ClosedLoopRecord {
        /// The mean of the time between, which is exponential; also before the first. At zero flows go back to back.
        pub think: Span = Span::ZERO,
    }
}
