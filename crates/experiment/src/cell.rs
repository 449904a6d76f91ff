//! One policy at one sweep point: its run, and the record of its outcome.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use headway_control::own::{self, Registry};
use headway_emulation::{
    Captures, KernelOutcome, Kernels, LaunchPlan, Machine, Requirement, Started, Where, left_out, modelled_captures,
};
use headway_engine::Streams;
use headway_fabric::{Choice, LinkId, NoPath, NodeId, NodeKind, Paths, flow_hash};
use headway_kernel::{GuestError, Guests, Work};
use headway_lab::LabError;
use headway_results::{
    Counters, FlowRecord, FlowWaits, Job, Outcome, Pauses, PortRecord, PortWaits, Sample, Waited, Waits,
};
use headway_scenario::ScenarioRecord;
use headway_scenario::plan::{
    ModelPlan, Network, PlanError, RunSize, TrafficPlan, Unmarked, failures, in_step, unmarked,
};
use headway_transport::{
    Failure as Outage, FlowEnd, Interrupted, PacketWaits, PathTaken, SampleKind, SampleOf, Simulation, Stopped, Traced,
};
use headway_units::{Bytes, Span, Time};

use crate::capturing::Capturing;
use crate::error::KernelError;
use crate::estimate::{Full, Watch};
use crate::film::FilmPlan;
use crate::live::Live;
use crate::paths;

/// Why a run ended without an outcome.
#[derive(Debug)]
pub(crate) enum Failure {
    NoPath(NoPath),
    /// It was told to end.
    Interrupted,
    Kernels(KernelError),
    /// A capture cannot be written.
    Files(headway_results::Error),
    /// There is no memory left.
    Memory(Full),
    /// A policy of the program gave no answer, or a wrong one.
    Own(Option<String>, own::Failure),
}

impl From<headway_results::Error> for Failure {
    fn from(error: headway_results::Error) -> Failure {
        Failure::Files(error)
    }
}

impl From<NoPath> for Failure {
    fn from(error: NoPath) -> Failure {
        Failure::NoPath(error)
    }
}

impl From<GuestError> for Failure {
    fn from(error: GuestError) -> Failure {
        match error {
            GuestError::Interrupted => Failure::Interrupted,
            error => Failure::Kernels(KernelError::Guests(error)),
        }
    }
}

impl From<LabError> for Failure {
    fn from(error: LabError) -> Failure {
        match error {
            LabError::Interrupted => Failure::Interrupted,
            error => Failure::Kernels(KernelError::Namespaces(error)),
        }
    }
}

impl From<Stopped> for Failure {
    fn from(stopped: Stopped) -> Failure {
        match stopped {
            Stopped::NoPath(error) => Failure::NoPath(error),
            Stopped::External(error) => match error.downcast::<GuestError>() {
                Ok(error) => Failure::from(*error),
                Err(error) => match error.downcast::<own::Failure>() {
                    Ok(failure) => Failure::Own(None, *failure),
                    Err(error) if error.is::<Interrupted>() => Failure::Interrupted,
                    Err(error) => match error.downcast::<Full>() {
                        Ok(full) => Failure::Memory(*full),
                        Err(error) => Failure::Kernels(KernelError::Other(error)),
                    },
                },
            },
        }
    }
}

/// What is kept of a run's segments beside its outcome.
#[derive(Debug)]
pub(crate) enum Watched<'a> {
    /// The captures that the scenario asks for, in this folder.
    Captured(&'a Path),
    /// Segments that pass modelled senders.
    Traced(&'a mut Vec<Traced>),
}

/// One policy at one sweep point, ready to run with any seed.
#[derive(Debug, Clone)]
pub(crate) struct CellPlan {
    network: Arc<Network>,
    traffic: Arc<TrafficPlan>,
    models: ModelPlan,
    kernels: Option<Kernels>,
    /// Failures of links.
    failures: Vec<Outage>,
    end: Time,
    /// How repeat 0 is filmed, if it is.
    film: Option<FilmPlan>,
    /// The traffics whose flows run in step, if nothing is random.
    in_step: Vec<String>,
    /// Flows that wait for marks, and ports on their way that give none.
    unmarked: Option<Unmarked>,
    /// What a full frame takes on the wire, as queues count it.
    frame: Bytes,
    /// Captures of modelled hosts and links.
    captures: Captures,
    /// Whether the paths of connections are written down.
    keeps_paths: bool,
}

impl CellPlan {
    /// Builds `scenario` under `policy` on its network and with its traffic, which all policies share; files it names are
    /// looked for in `folder`, the program's controls and judges in `registry`.
    pub(crate) fn new(
        scenario: &ScenarioRecord,
        policy: usize,
        (network, traffic): (&Arc<Network>, &Arc<TrafficPlan>),
        (folder, registry): (&Path, &Registry),
    ) -> Result<CellPlan, PlanError> {
        let (network, traffic) = (Arc::clone(network), Arc::clone(traffic));
        let failures = failures(scenario, &network)?;
        let kernels = Kernels::new(scenario, policy, &network, &traffic.flows, &failures, folder)?;
        let sends = |traffic: u16| kernels.as_ref().is_some_and(|kernels| kernels.sends(traffic));
        traffic.given.check_kernels(scenario, &sends)?;
        let models = ModelPlan::build(scenario, policy, &network, &traffic, registry, &sends)?;
        if let (Some(_), [first, ..]) = (&kernels, &models.own()[..]) {
            let message = format!("the program's {first} is beside kernel hosts, which run without the program");
            let fault = PlanError::new(&["policy", &policy.to_string()], message);
            return Err(fault.help("let all hosts be modelled: --hosts modelled"));
        }
        let end = (Time::ZERO + scenario.duration).saturating_add(scenario.drain);
        let in_step = in_step(scenario, &network).unwrap_or_default().into_iter().map(str::to_owned).collect();
        let unmarked = unmarked(scenario, &network, &traffic, &models);
        let frame = Bytes::new(scenario.topology.mtu.get() + 18);
        let captures = modelled_captures(scenario, &network)?;
        let (film, keeps_paths) = (None, scenario.measure.paths);
        Ok(CellPlan {
            network,
            traffic,
            models,
            kernels,
            failures,
            end,
            film,
            in_step,
            unmarked,
            frame,
            captures,
            keeps_paths,
        })
    }

    /// Has repeat 0 filmed like that. In namespaces, where nobody sees the links, there is no film.
    pub(crate) fn filmed(self, film: Option<FilmPlan>) -> CellPlan {
        let film = film.filter(|_| self.place() != Some(Where::Namespaces));
        CellPlan { film, ..self }
    }

    /// The sizes of runs of these plans, which are all policies of a point, about.
    pub(crate) fn sizes(plans: &[CellPlan]) -> Vec<RunSize> {
        let Some(first) = plans.first() else { return Vec::new() };
        let sends: Vec<_> = plans.iter().map(|plan| |traffic: u16| plan.sends(traffic)).collect();
        let policies = plans.iter().zip(&sends).map(|(plan, sends)| (&plan.models, sends as &dyn Fn(u16) -> bool));
        first.traffic.sizes(&first.network, first.end, policies)
    }

    /// Whether its ports are lossless.
    pub(crate) fn is_lossless(&self) -> bool {
        self.models.lossless.is_some()
    }

    /// Whether repeat 0 is filmed.
    pub(crate) fn is_filmed(&self) -> bool {
        self.film.is_some()
    }

    /// The traffics whose flows run in step, if nothing is random ([`in_step`]).
    pub(crate) fn in_step(&self) -> &[String] {
        &self.in_step
    }

    /// Whether it is measured how long packets wait.
    pub(crate) fn measures_waits(&self) -> bool {
        self.models.waits
    }

    /// Flows that wait for marks, and ports on their way that give none.
    pub(crate) fn unmarked(&self) -> Option<&Unmarked> {
        self.unmarked.as_ref()
    }

    /// Seconds that a full frame takes at the port called `name`.
    pub(crate) fn frame_time(&self, name: &str) -> Option<f64> {
        let link = *self.network.links_called(name).first()?;
        Some(self.network.built.graph.link(link).wire.rate.transmission(self.frame).as_secs_f64())
    }

    /// How many hosts its network has.
    pub(crate) fn hosts(&self) -> usize {
        self.network.built.graph.hosts().count()
    }

    /// The name of a host.
    pub(crate) fn host(&self, host: NodeId) -> Arc<str> {
        self.network.name(host)
    }

    /// The folder that its kernel hosts see.
    pub(crate) fn files(&self) -> Option<&Path> {
        self.kernels.as_ref()?.files.as_deref()
    }

    /// Requirements of its kernel hosts; nothing if it has none.
    pub(crate) fn requirements(&self) -> Option<&[Requirement]> {
        self.kernels.as_ref().map(|kernels| kernels.requirements.as_slice())
    }

    /// The properties of its network that namespaces leave out, in words, if its hosts are namespaces.
    pub(crate) fn left_out(&self) -> Option<String> {
        self.kernels.as_ref().filter(|kernels| kernels.place == Where::Namespaces)?;
        left_out(&self.network.built.graph)
    }

    /// Where its kernel hosts are, if it has any.
    pub(crate) fn place(&self) -> Option<Where> {
        self.kernels.as_ref().map(|kernels| kernels.place)
    }

    /// The programs that set its kernel hosts up, as text; empty if it has none.
    pub(crate) fn kernel_setup(&self) -> String {
        self.kernels.as_ref().map_or_else(String::new, Kernels::setup)
    }

    /// Whether modelled hosts or links are captured.
    pub(crate) fn is_captured(&self) -> bool {
        !self.captures.is_empty()
    }

    /// Runs it. The random numbers depend on `seed`, the repeat and nothing else, so that policies and sweep points
    /// meet the same traffic. `machine` is for kernel hosts, which `abort` ends; `live` is told how far it is.
    pub(crate) fn run(
        &self,
        seed: u64,
        job: Job,
        machine: Option<&Machine>,
        (abort, live): (&Arc<AtomicBool>, &Live),
        captures: &Path,
    ) -> Result<Outcome, Failure> {
        self.run_traced(seed, job, machine, (abort, live), Watched::Captured(captures))
    }

    /// As [`CellPlan::run`], or segments that pass modelled senders are traced instead.
    pub(crate) fn run_traced(
        &self,
        seed: u64,
        job: Job,
        machine: Option<&Machine>,
        (abort, live): (&Arc<AtomicBool>, &Live),
        watched: Watched<'_>,
    ) -> Result<Outcome, Failure> {
        let streams = Streams::new(seed).part("repeat", u64::from(job.repeat));
        let mut simulation = self.simulation(streams);
        let traced = matches!(watched, Watched::Traced(_));
        if traced {
            simulation.trace();
        }
        let film = self.film.as_ref().filter(|_| job.repeat == 0 && !traced);
        if let Some(film) = film {
            simulation.film(film.steps, self.end);
        }
        let started = self.start(streams, machine)?;
        if let Some(LaunchPlan::Guests(plan)) = started.as_ref().map(|started| &started.plan) {
            let guests = Guests::boot(plan, abort)?;
            let watched: Vec<LinkId> = guests.watched_links().collect();
            simulation.attach(Box::new(guests));
            for link in watched {
                simulation.watch(link);
            }
        }
        let capturing = match &watched {
            Watched::Captured(folder) if self.is_captured() => {
                Some(Capturing::begin(&self.captures, folder, &mut simulation)?)
            }
            _ => None,
        };
        if self.models.waits && !traced {
            simulation.measure_waits();
        }
        let mut workload = self.traffic.of_models(streams, &|traffic| self.sends(traffic));
        simulation.abort_own(abort);
        let (running, mut watch) = (live.begin(self.end), Watch::new(live.clone()));
        simulation.observe(Box::new(move |progress| {
            running.note(&progress);
            Ok(watch.look()?)
        }));
        simulation.run_application(self.end, &mut workload).map_err(|stopped| match Failure::from(stopped) {
            Failure::Own(_, failure) => Failure::Own(self.flow_name(&simulation, failure.flow.id), failure),
            other => other,
        })?;
        if let Watched::Traced(trace) = watched {
            *trace = simulation.traced();
        }
        let cut = capturing.map_or(Ok(Vec::new()), Capturing::finish)?;
        let mut joined = KernelOutcome::default();
        let mut work = Work::default();
        if let (Some(started), Some(kernels)) = (&started, &self.kernels) {
            let outputs = match &started.plan {
                LaunchPlan::Guests(_) => {
                    let (outputs, did) = simulation.detach::<Guests>().finish(self.end)?;
                    work = did;
                    outputs
                }
                LaunchPlan::Namespaces(plan) => headway_lab::run(plan, abort)?,
            };
            let ideal = self.ideal(&simulation, started, streams)?;
            let wants = |kind| self.models.measure.kinds.contains(&kind);
            joined = KernelOutcome::new(kernels, &started.sent, &ideal, &outputs, &self.network, wants)
                .map_err(|what| Failure::Kernels(KernelError::Report(what)))?;
        }
        let deadlock = self.deadlock(&mut simulation);
        let seen = self.place() != Some(Where::Namespaces);
        let ports = seen.then(|| self.ports(&mut simulation));
        let waits = seen.then(|| self.waits(&mut simulation));
        let film = film.and_then(|plan| simulation.filmed().map(|film| plan.film(film)));
        let taken = simulation.paths_taken();
        let (mut ends, samples, totals) = simulation.finish();
        ends.extend(workload.finish());
        let outcome = self.outcome(job, (ends, samples, totals), joined, &work, taken);
        Ok(Outcome { ports, cut, waits, deadlock, film, ..outcome })
    }

    /// Its network and hosts at the beginning.
    fn simulation(&self, streams: Streams) -> Simulation {
        let mut graph = self.network.built.graph.clone();
        if let Some(metering) = &self.models.metering {
            metering.prepare(&mut graph);
        }
        let mut simulation = Simulation::new(graph, self.models.transports(), self.models.measure.clone(), streams);
        for &(host, model) in &self.models.hosts {
            simulation.model_host(host, model);
        }
        for &(host, most) in &self.models.processing {
            simulation.process_randomly(host, most, streams);
        }
        for &(host, server) in &self.models.servers {
            simulation.serve(host, server);
        }
        for (host, card) in &self.models.cards {
            simulation.pace_host(*host, card);
        }
        if let Some(spec) = &self.models.lossless {
            simulation.make_lossless(spec.clone(), streams);
        }
        if let Some(model) = self.models.qcn {
            simulation.set_qcn(model, streams);
        }
        for &(traffic, priority) in &self.traffic.priorities {
            simulation.set_priority(traffic, priority);
        }
        if !self.traffic.given.paths.is_empty() {
            simulation.give_paths(Arc::clone(&self.traffic.given.paths));
        }
        if self.keeps_paths {
            simulation.keep_paths();
        }
        simulation.set_failures(&self.failures);
        simulation.set_crashes(&self.models.crashes);
        if let Some(metering) = &self.models.metering {
            simulation.set_metering(metering.start());
        }
        simulation
    }

    /// The congestion controls and judges of the program that it runs with, in words.
    pub(crate) fn own(&self) -> Vec<String> {
        self.models.own()
    }

    /// A flow that has started, in words; `None` for connections that are of no flow, such as those between relays.
    fn flow_name(&self, simulation: &Simulation, id: u64) -> Option<String> {
        let (start, number) = simulation.flow(id)?;
        let traffic = &self.traffic.names()[self.traffic.class(&start)];
        let [source, destination] = [start.source, start.destination].map(|host| self.network.name(host));
        let size = start.size.map_or_else(String::new, |size| format!("{size}, "));
        Some(format!("flow {number} of `{traffic}` ({source} to {destination}, {size}started at {})", start.time))
    }

    /// Whether kernel hosts send the traffic at this place.
    fn sends(&self, traffic: u16) -> bool {
        self.kernels.as_ref().is_some_and(|own| own.sends(traffic))
    }

    /// The kernel hosts that take part, ready to boot.
    fn start(&self, streams: Streams, machine: Option<&Machine>) -> Result<Option<Started>, Failure> {
        let Some(kernels) = &self.kernels else { return Ok(None) };
        let machine = machine.ok_or(Failure::Kernels(KernelError::NoImage))?;
        let starts = self.traffic.of_kernels(streams, &|traffic| self.sends(traffic));
        Ok(kernels.start(starts, &self.network, &self.models.profiles, streams, machine))
    }

    /// The times that kernel hosts' flows take on an idle network: on the path that a modelled flow would have.
    fn ideal(&self, simulation: &Simulation, started: &Started, streams: Streams) -> Result<Vec<Option<Span>>, NoPath> {
        let graph = &self.network.built.graph;
        let (mut paths, ports) = (Paths::new(graph), headway_transport::Ports::new(streams));
        let mut path = Vec::new();
        let mut ideal = Vec::with_capacity(started.sent.len());
        for sent in &started.sent {
            let (Some(&(_, to, pair)), Some(size)) = (sent.connections.first(), sent.start.size) else {
                ideal.push(None);
                continue;
            };
            let [from, destination] =
                [sent.start.source, sent.start.destination].map(|host| graph.interfaces(host)[pair]);
            let hash = flow_hash(from, destination, ports.port(sent.start.id, 0, 0), to.port());
            paths.path(from, destination, Choice::Ecmp(hash), &mut path)?;
            let profile = &self.models.profiles[usize::from(sent.start.profile)];
            ideal.push(Some(simulation.ideal(&path, size, profile)));
        }
        Ok(ideal)
    }

    fn outcome(
        &self,
        job: Job,
        (mut ends, mut samples, totals): (Vec<FlowEnd>, Vec<headway_transport::Sample>, headway_transport::Totals),
        mut joined: KernelOutcome,
        work: &Work,
        taken: Option<Vec<PathTaken>>,
    ) -> Outcome {
        let failed = joined.failures(self.traffic.names());
        ends.append(&mut joined.ends);
        if !joined.samples.is_empty() {
            samples.append(&mut joined.samples);
            samples.sort_by_key(|sample| (sample.time, matches!(sample.of, SampleOf::Link(_) | SampleOf::Core(..))));
        }
        let mut digest = totals.digest;
        if joined.digest != 0 {
            digest = digest.rotate_left(1) ^ joined.digest;
        }
        // Flows are known to users by their traffic and their number in it, in order of their starts.
        ends.sort_by_key(|flow| (flow.start.traffic, flow.start.time, flow.start.id));
        let mut numbers: Vec<(u64, u64, usize)> = Vec::with_capacity(ends.len());
        let mut flows = Vec::with_capacity(ends.len());
        let (mut traffic, mut number) = (u16::MAX, 0);
        for end in &ends {
            number = if end.start.traffic == traffic { number + 1 } else { 0 };
            traffic = end.start.traffic;
            let name = self.traffic.class(&end.start);
            numbers.push((end.start.id, number, name));
            flows.push(self.record(end, number, name));
        }
        let paths = taken.map(|taken| paths::records(&taken, &ends, &self.network));
        numbers.sort_unstable();
        let samples = samples.iter().map(|sample| self.sample(sample, &numbers)).collect();
        let counters = Counters {
            events: totals.events,
            packet_hops: totals.hops,
            drops: totals.drops
                + totals.lost
                + totals.down
                + totals.ring_drops
                + totals.backlog_drops
                + totals.card_drops
                + work.cards.overruns,
            marks: totals.marks,
            overruns: work.cards.overruns,
            ring_drops: totals.ring_drops,
            backlog_drops: totals.backlog_drops,
            card_drops: totals.card_drops,
            gap_frames: totals.gap_frames,
            gap_bytes: totals.gap_bytes,
            down: totals.down,
            astray: work.astray,
            headroom_drops: totals.headroom_drops,
            watchdog_drops: totals.watchdog_drops,
            deadlocks: totals.deadlocks,
            syns_dropped: totals.servers.syns_dropped,
            syn_cookies: totals.servers.cookies,
            accept_overflows: totals.servers.overflows,
            refused: totals.servers.refused,
        };
        Outcome {
            job,
            flows,
            samples,
            ports: None,
            cut: Vec::new(),
            waits: None,
            commands: joined.commands,
            failed,
            counters,
            deadlock: None,
            film: None,
            paths,
            digest,
            end: self.end,
        }
    }

    /// What the queues of ports, and limits on them, dropped, of those that did.
    fn ports(&self, simulation: &mut Simulation) -> Vec<PortRecord> {
        let mut ports = Vec::new();
        for link in (0..self.network.built.graph.links().len() as u32).map(LinkId) {
            let counters = simulation.port(link).0;
            let drops = counters.dropped.frames + counters.policed.frames;
            let pauses = if self.models.lossless.is_some() { pauses(simulation, link) } else { Pauses::default() };
            if drops > 0 || pauses != Pauses::default() {
                ports.push(PortRecord { port: self.network.port_name(link).into(), drops, pauses });
            }
        }
        ports
    }

    /// Where frames waited.
    fn waits(&self, simulation: &mut Simulation) -> Waits {
        let graph = &self.network.built.graph;
        let mut waits = Waits::default();
        let mut ports = Vec::new();
        for (link, own) in (0..).map(LinkId).zip(graph.links()) {
            let counters = simulation.port(link).0;
            let waited = Waited { frames: counters.accepted.frames, time: counters.waited };
            let host = graph.node(own.from).kind == NodeKind::Host;
            *(if host { &mut waits.hosts } else { &mut waits.switches }) += waited;
            if !waited.time.is_zero() {
                ports.push((link, host, waited));
            }
        }
        ports.sort_by_key(|&(link, _, waited)| (std::cmp::Reverse(waited.time), link));
        ports.truncate(Waits::MOST);
        let name = |(link, host, waited)| PortWaits { port: self.network.port_name(link).into(), host, waited };
        waits.ports = ports.into_iter().map(name).collect();
        waits
    }

    /// The first circle of paused ports, in words.
    fn deadlock(&self, simulation: &mut Simulation) -> Option<(Time, String)> {
        let (at, ports) = simulation.deadlocks().first?;
        let priority = ports.first()?.1;
        let names: Vec<String> = ports.iter().map(|&(link, _)| self.network.port_name(link)).collect();
        Some((at, format!("{} (priority {priority})", names.join(", "))))
    }

    fn record(&self, end: &FlowEnd, id: u64, name: usize) -> FlowRecord {
        let paths: Vec<String> = (0..64).filter(|i| end.interfaces >> i & 1 == 1).map(|i: u32| i.to_string()).collect();
        FlowRecord {
            id,
            traffic: Arc::clone(&self.traffic.names()[name]),
            source: self.network.name(end.start.source),
            destination: self.network.name(end.start.destination),
            bytes: end.start.size.map(Bytes::get),
            delivered: end.delivered,
            start: end.start.time,
            end: end.end,
            deadline: end.start.deadline,
            ideal: end.ideal,
            retransmissions: end.retransmissions,
            timeouts: end.timeouts,
            marks: end.marks,
            subflows: end.subflows.min(255) as u8,
            paths: paths.join("+").into(),
            switched: end.switched,
            stall: end.stall,
            resets: end.resets,
            waits: end.waits.map(|PacketWaits { packets, hosts, switches }| FlowWaits { packets, hosts, switches }),
        }
    }

    fn sample(&self, sample: &headway_transport::Sample, numbers: &[(u64, u64, usize)]) -> Sample {
        let flow = |id: u64| {
            let at = numbers.binary_search_by_key(&id, |&(id, ..)| id).expect("a sampled flow is recorded");
            format!("{}/{}", self.traffic.names()[numbers[at].2], numbers[at].1)
        };
        let entity = match sample.of {
            SampleOf::Flow(id, _) => flow(id),
            SampleOf::Subflow(id, _, nth) => format!("{}/{nth}", flow(id)),
            SampleOf::Link(link) => self.network.port_name(link),
            SampleOf::Core(host, nth) => format!("{}/{nth}", self.network.name(host)),
        };
        let (metric, scale) = match sample.kind {
            SampleKind::Goodput => ("goodput_bps", 1.0),
            SampleKind::Cwnd => ("cwnd_bytes", 1.0),
            SampleKind::Rtt => ("rtt_ns", 1e9),
            SampleKind::Ssthresh => ("ssthresh_bytes", 1.0),
            SampleKind::Alpha => ("alpha", 1.0),
            SampleKind::LinkCost => ("link_cost", 1.0),
            SampleKind::Queue => ("queue_bytes", 1.0),
            SampleKind::Arrivals => ("arrivals_bps", 1.0),
            SampleKind::Marks => ("marks", 1.0),
            SampleKind::Core => ("core_share", 1.0),
            SampleKind::Limit => ("limit_bps", 1.0),
        };
        Sample { time: sample.time, entity: entity.into(), metric: metric.into(), value: sample.value * scale }
    }
}
/// Pauses at the port of `link`, and the room of what came over the link.
fn pauses(simulation: &mut Simulation, link: LinkId) -> Pauses {
    let (port, room) = (simulation.pauses(link), simulation.ingress(link));
    Pauses {
        sent: port.pauses,
        paused: port.paused.into_iter().max().unwrap_or_default(),
        deepest: room.deepest,
        headroom: room.headroom,
        drops: room.drops.frames,
    }
}
