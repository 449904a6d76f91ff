//! Paths that flows are given: by `via` of their traffic, or by their list.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use headway_control::lanes::MAX_SUBFLOWS;
use headway_fabric::{NoPath, NodeId, Paths, Waypoint};
use headway_language::suggest_help;
use headway_traffic::ListedPath;
use headway_transport::{GivenPath, GivenPaths, Multipath, PathOf, Profile};

use super::error::PlanError;
use super::network::Network;
use super::traffic::{FlowsPlan, Origin};
use crate::schema::{PolicyRecord, ScenarioRecord};

/// More pairs of switches with hosts are not looked at before the run; a flow that has no such path then ends the run.
const MOST_PAIRS: usize = 100_000;

/// The paths that flows of a sweep point are given.
#[derive(Debug, Clone, Default)]
pub struct Given {
    /// As simulations take them.
    pub paths: Arc<GivenPaths>,
    /// The traffics with paths, by their places, and the key that gives them.
    traffics: BTreeMap<u16, &'static str>,
}

impl Given {
    /// The paths of `flows`, checked against `network`.
    ///
    /// # Errors
    /// If there is no such node, or no shortest path passes them like that.
    pub(super) fn build(scenario: &ScenarioRecord, network: &Network, flows: &[FlowsPlan]) -> Result<Given, PlanError> {
        let mut paths = GivenPaths::default();
        let mut traffics = BTreeMap::new();
        let mut looker = None;
        for plan in flows {
            let record = &scenario.traffic[usize::from(plan.index)];
            let number = plan.index.to_string();
            let pooled = |key: &str| {
                let message = format!("`traffic.{}` gives its flows paths, and they are messages", plan.name);
                let fault = PlanError::new(&["traffic", &number, key], message);
                fault.help("a message takes the path of its connection: leave `connections` or the paths out")
            };
            if let Some(own) = record.flows().filter(|own| !own.via.is_empty()) {
                if own.connections.is_some() {
                    return Err(pooled("via"));
                }
                let look = looker.get_or_insert_with(|| Looker::new(network));
                paths.traffics.insert(plan.index, look.via(plan, &own.via)?);
                traffics.insert(plan.index, "via");
            }
            let Origin::Listed(replay) = &plan.origin else { continue };
            let mut listed = replay.paths().peekable();
            if listed.peek().is_none() {
                continue;
            }
            if record.pool().is_some() {
                return Err(pooled("connections"));
            }
            traffics.insert(plan.index, "file");
            let file = record.replay().map_or("", |own| own.file.as_str());
            let look = looker.get_or_insert_with(|| Looker::new(network));
            for (flow, ends, path) in listed {
                let given = look.listed(ends, path).map_err(|(message, help)| {
                    let message = format!("{file}: {}: {message}", path.place);
                    help.into_iter().fold(PlanError::new(&["traffic", &number, "file"], message), PlanError::help)
                })?;
                let of = PathOf { flow: plan.id(0, flow as u64), connection: path.connection, subflow: path.subflow };
                paths.subflows.insert(of, given);
            }
        }
        Ok(Given { paths: Arc::new(paths), traffics })
    }

    /// Checks that no traffic with paths is sent by kernel hosts, as `kernels` says by the traffic's place.
    ///
    /// # Errors
    /// If there is one.
    pub fn check_kernels(&self, scenario: &ScenarioRecord, kernels: &dyn Fn(u16) -> bool) -> Result<(), PlanError> {
        let Some((index, key)) = self.traffics.iter().find(|(index, _)| kernels(**index)) else { return Ok(()) };
        let name = &scenario.traffic[usize::from(*index)].name;
        let message = format!("`traffic.{name}` gives its flows paths, and kernel hosts choose ports by themselves");
        let fault = PlanError::new(&["traffic", &index.to_string(), key], message);
        Err(fault.help("let its hosts be modelled: --hosts modelled"))
    }

    /// Checks that connections of `profile` can take the paths of `plan`; `relayed` says whether relays are on their way.
    ///
    /// # Errors
    /// If they cannot.
    pub(super) fn check_transport(
        &self,
        plan: &FlowsPlan,
        (profile, relayed): (&Profile, bool),
        (policy, index): (&PolicyRecord, usize),
        network: &Network,
    ) -> Result<(), PlanError> {
        if !self.traffics.contains_key(&plan.index) {
            return Ok(());
        }
        let (name, number) = (&*plan.name, index.to_string());
        let own: &[&str] = if policy.traffic.get(name).is_some() { &["traffic", name] } else { &["transport"] };
        let at = [&["policy", &number], own].concat();
        let lanes = profile.multipath.as_ref().is_some_and(|multipath| multipath.lanes.is_some());
        for (wrong, by, at) in [
            (relayed, "sends them over relays", &["policy", &number, "relay"][..]),
            (lanes, "has lanes, whose paths follow from addresses", &at),
            (profile.interface.is_some(), "chooses their interface", &at),
        ] {
            if wrong {
                let message = format!("`traffic.{name}` gives its flows paths, and policy `{}` {by}", policy.name);
                let help = "a flow has one or the other: leave one out, or give the policy a scenario of its own";
                return Err(PlanError::new(at, message).help(help));
            }
        }
        let Some(multipath) = &profile.multipath else { return Ok(()) };
        self.check_subflows(plan, multipath, network).map_err(|message| {
            let fault = PlanError::new(&at, format!("policy `{}`: {message}", policy.name));
            fault.help("the interfaces of a subflow follow from its number: give paths that begin and end there")
        })
    }

    /// Subflows of MPTCP have interfaces by their numbers.
    fn check_subflows(&self, plan: &FlowsPlan, multipath: &Multipath, network: &Network) -> Result<(), String> {
        let mut look = Looker::new(network);
        let mut check = |ends: [NodeId; 2], subflow: usize, given: &GivenPath| {
            let [ours, theirs] = ends.map(|host| network.built.graph.interfaces(host).len());
            let (own, far) = multipath.interfaces(subflow, [ours, theirs]);
            look.between(ends, (own, far), given).map_err(|missed| {
                let [from, to] = ends.map(|host| network.name(host));
                let missed = network.name(missed);
                format!("subflow {subflow} from `{from}` to `{to}` has no shortest path over `{missed}` as it is given")
            })
        };
        if let Some(given) = self.paths.traffics.get(&plan.index) {
            for ends in look_alike(plan, network).take(MOST_PAIRS) {
                let counts = ends.map(|host| network.built.graph.interfaces(host).len());
                let most = multipath.subflows.unwrap_or_else(|| multipath.pairs.count(counts)).min(MAX_SUBFLOWS);
                (0..most).try_for_each(|subflow| check(ends, subflow, given))?;
            }
        }
        if let Origin::Listed(replay) = &plan.origin {
            let mut seen = BTreeSet::new();
            for (flow, ends, path) in replay.paths() {
                if seen.insert((ends, path.subflow, Arc::clone(&path.forth), Arc::clone(&path.back))) {
                    let of =
                        PathOf { flow: plan.id(0, flow as u64), connection: path.connection, subflow: path.subflow };
                    check(ends, usize::from(path.subflow), &self.paths.subflows[&of])?;
                }
            }
        }
        Ok(())
    }
}

/// A pair of hosts for each pair of places in the network that a traffic's flows may run between.
fn look_alike<'a>(plan: &'a FlowsPlan, network: &'a Network) -> impl Iterator<Item = [NodeId; 2]> + 'a {
    let graph = &network.built.graph;
    let place = |host: NodeId| graph.interfaces(host).iter().map(|&link| graph.link(link).to).collect::<Vec<_>>();
    // two of each place, since a host does not send to itself
    let kinds = |hosts: &[NodeId]| {
        let mut kinds: BTreeMap<Vec<NodeId>, Vec<NodeId>> = BTreeMap::new();
        for &host in hosts {
            let own = kinds.entry(place(host)).or_default();
            if own.len() < 2 {
                own.push(host);
            }
        }
        kinds.into_values().collect::<Vec<_>>()
    };
    let (sources, destinations) = (kinds(&plan.sources), kinds(&plan.destinations));
    sources.into_iter().flat_map(move |from| {
        let pair = move |to: &Vec<NodeId>| {
            let all = from.iter().flat_map(|&one| to.iter().map(move |&other| [one, other]));
            all.into_iter().find(|[one, other]| one != other)
        };
        destinations.iter().filter_map(pair).collect::<Vec<_>>()
    })
}

/// A mistake in words, and a remedy.
type Mistake = (String, Option<String>);

/// Two ways of a listed path, as texts, between two hosts.
type Texts = ([NodeId; 2], [Arc<str>; 2]);

/// Finds nodes by their names, and whether paths pass them.
struct Looker<'a> {
    network: &'a Network,
    paths: Paths,
    known: BTreeMap<Arc<str>, Arc<[Waypoint]>>,
    checked: BTreeSet<Texts>,
}

impl<'a> Looker<'a> {
    fn new(network: &'a Network) -> Looker<'a> {
        let paths = Paths::new(&network.built.graph);
        Looker { network, paths, known: BTreeMap::new(), checked: BTreeSet::new() }
    }

    /// The node called `name`, with `#N` behind it if the cable to it is meant.
    fn waypoint(&self, name: &str) -> Result<Waypoint, Mistake> {
        let graph = &self.network.built.graph;
        if let Some(node) = graph.find(name) {
            return Ok(Waypoint { node, cable: None });
        }
        let cable = name.rsplit_once('#').and_then(|(name, cable)| Some((graph.find(name)?, cable.parse().ok()?)));
        if let Some((node, cable)) = cable {
            return Ok(Waypoint { node, cable: Some(cable) });
        }
        let short: String = name.chars().take(40).collect();
        let names = graph.nodes().iter().map(|node| node.name.as_str());
        let help = suggest_help(&short, names, "switches and hosts");
        Err((format!("there is no switch or host `{short}`"), Some(help)))
    }

    fn waypoints(&mut self, text: &Arc<str>) -> Result<Arc<[Waypoint]>, Mistake> {
        if let Some(known) = self.known.get(text) {
            return Ok(Arc::clone(known));
        }
        let all: Arc<[Waypoint]> = text.split_whitespace().map(|name| self.waypoint(name)).collect::<Result<_, _>>()?;
        self.known.insert(Arc::clone(text), Arc::clone(&all));
        Ok(all)
    }

    /// The paths of all flows of `plan`, over the nodes `via`; on the way back in the other order.
    fn via(&mut self, plan: &FlowsPlan, via: &[String]) -> Result<GivenPath, PlanError> {
        let number = plan.index.to_string();
        let mut forth = Vec::with_capacity(via.len());
        for (at, name) in via.iter().enumerate() {
            forth.push(self.waypoint(name).map_err(|(message, help)| {
                let fault = PlanError::new(&["traffic", &number, "via", &at.to_string()], message);
                help.into_iter().fold(fault, PlanError::help)
            })?);
        }
        // the cable between two nodes has the same number from either side
        let cables = forth.iter().skip(1).map(|next| next.cable).chain([None]);
        let mut back: Vec<_> = forth.iter().zip(cables).map(|(stop, cable)| Waypoint { cable, ..*stop }).collect();
        back.reverse();
        let given = GivenPath { forth: forth.into(), back: back.into() };
        for ends in look_alike(plan, self.network).take(MOST_PAIRS) {
            self.check(ends, &given).map_err(|missed| {
                let at = given.forth.iter().position(|stop| stop.node == missed).unwrap_or(0).to_string();
                let message = self.missed(ends, missed);
                let fault = PlanError::new(&["traffic", &number, "via", &at], message);
                fault.help("each pair of hosts of this traffic needs such a path; give others a traffic of their own")
            })?;
        }
        Ok(given)
    }

    /// The path of a list's flow between `ends`.
    fn listed(&mut self, ends: [NodeId; 2], path: &ListedPath) -> Result<GivenPath, Mistake> {
        let given = GivenPath { forth: self.waypoints(&path.forth)?, back: self.waypoints(&path.back)? };
        if self.checked.insert((ends, [&path.forth, &path.back].map(Arc::clone))) {
            self.check(ends, &given).map_err(|missed| (self.missed(ends, missed), None))?;
        }
        Ok(given)
    }

    fn missed(&self, ends: [NodeId; 2], missed: NodeId) -> String {
        let [from, to] = ends.map(|host| self.network.name(host));
        let missed = self.network.name(missed);
        format!("no shortest path between `{from}` and `{to}` passes `{missed}` as it is given")
    }

    /// Whether there are such paths between some pair of interfaces; otherwise a node that is not passed.
    fn check(&mut self, ends: [NodeId; 2], given: &GivenPath) -> Result<(), NodeId> {
        let [ours, theirs] = ends.map(|host| self.network.built.graph.interfaces(host).len());
        let mut missed = Ok(());
        for pair in (0..ours).flat_map(|own| (0..theirs).map(move |far| (own, far))) {
            let found = self.between(ends, pair, given);
            if found.is_ok() {
                return found;
            }
            missed = missed.and(found);
        }
        missed
    }

    /// As [`Looker::check`], between these interfaces.
    fn between(&mut self, ends: [NodeId; 2], (own, far): (usize, usize), given: &GivenPath) -> Result<(), NodeId> {
        let graph = &self.network.built.graph;
        let [from, to] = ends.map(|host| graph.interfaces(host));
        let (from, to) = (from[own], to[far]);
        let mut path = Vec::new();
        for (ends, over) in [((from, to), &given.forth), ((to, from), &given.back)] {
            // that there is a path at all is looked at elsewhere
            if let Err(NoPath::NotOver { over, .. }) = self.paths.path_over(graph, ends, 0, over, &mut path) {
                return Err(over);
            }
        }
        Ok(())
    }
}
