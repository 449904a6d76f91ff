//! The settings of real switches and cards that follow from a scenario: headroom, thresholds, classes and marks.
//!
//! Headroom follows from rates, cables and frames; [`headway_control::lossless`] has the formulae. What the simulator
//! does not know of equipment is left to its maker: how much memory there is, and the share of it that is lossless.

use std::collections::BTreeMap;

use headway_control::lossless::{
    Cable, Chip, Ramp, cable_metres, cells, dcqcn_ramp, dctcp_mark, interface_delay, response_delay, standard_headroom,
    standard_response,
};
pub use headway_fabric::NodeKind;
use headway_fabric::{Choice, Graph, LinkId, NodeId, Paths};
use headway_levers::lossless::{LosslessRecord, PauseBy};
use headway_units::{Bytes, Rate, Span};

use crate::plan::{Network, PlanError};
use crate::schema::ScenarioRecord;

#[cfg(test)]
mod tests;

/// Ethernet's header and checksum.
const ETHERNET: u64 = 14 + 4;
/// How many priorities there are.
const PRIORITIES: u8 = 8;

/// What is asked for beyond the scenario.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Wanted {
    /// The policy whose `lossless` says what is, by its place.
    pub policy: Option<usize>,
    /// The priorities that are lossless; those of the policy if there is none here.
    pub priorities: Vec<u8>,
    /// The chip of the switches, if it is one with published constants.
    pub chip: Option<Chip>,
    /// The cell of their memory, if not the chip's.
    pub cell: Option<Bytes>,
    /// The largest packet of any priority; that of the topology if there is none here.
    pub mtu: Option<Bytes>,
    /// The round trip by which queues mark; the longest of the traffic on an idle network if there is none here.
    pub rtt: Option<Span>,
}

/// Priorities that share a queue, as every port has it.
#[derive(Debug, Clone, PartialEq)]
pub struct Class {
    /// Its name.
    pub name: String,
    /// Its queue and traffic class: its place among all.
    pub number: u8,
    /// The priorities in it.
    pub priorities: Vec<u8>,
    /// It goes before all that are not.
    pub strict: bool,
    /// Its share of the line, %; 0 if it is strict.
    pub share: u32,
    /// Its frames are not to be lost.
    pub lossless: bool,
}

/// Cables that are alike, from senders to switches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Link {
    /// What sends: a host's card, or a switch.
    pub from: NodeKind,
    /// Its rate.
    pub rate: Rate,
    /// One way.
    pub delay: Span,
    /// How many there are.
    pub count: usize,
    /// The worst-case sum ([`standard_headroom`]), for each lossless priority.
    pub headroom: Bytes,
    /// The same by the chip's constants.
    pub chip_headroom: Option<Bytes>,
    /// Cells that the headroom takes at worst; the chip's, if there is one.
    pub cells: u64,
    /// What a card is told (`dcb pfc … delay`): round trip of the cable, both interfaces and response, in bits.
    pub delay_bits: u64,
    /// Where DCTCP's queues mark.
    pub dctcp: Bytes,
    /// Where DCQCN's do.
    pub dcqcn: Ramp,
}

impl Link {
    /// The length of its cable, rounded up to a metre.
    pub fn metres(&self) -> u64 {
        cable_metres(self.delay).ceil() as u64
    }

    /// The headroom that the switch is to have: by its chip, if that is known.
    pub fn chosen(&self) -> Bytes {
        self.chip_headroom.unwrap_or(self.headroom)
    }
}

/// A port of a switch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Port {
    /// Who is at the other end.
    pub peer: String,
    /// Its place in [`Equipment::links`].
    pub link: usize,
}

/// The settings of equipment for one scenario.
#[derive(Debug, Clone, PartialEq)]
pub struct Equipment {
    /// The largest packet.
    pub mtu: Bytes,
    /// The cell of the switches' memory.
    pub cell: Bytes,
    /// Their chip.
    pub chip: Option<Chip>,
    /// Cables to switches, by kind.
    pub links: Vec<Link>,
    /// Classes of every port, by number.
    pub classes: Vec<Class>,
    /// The round trip that marks are for.
    pub rtt: Span,
    /// Switches with their ports, in the order of the topology.
    pub switches: Vec<(String, Vec<Port>)>,
}

impl Equipment {
    /// The settings for `scenario` on `network`.
    ///
    /// # Errors
    /// If nothing is lossless, there is no switch, or a number is none.
    pub fn new(scenario: &ScenarioRecord, network: &Network, wanted: &Wanted) -> Result<Equipment, PlanError> {
        let graph = &network.built.graph;
        let mtu = wanted.mtu.unwrap_or(scenario.topology.mtu);
        let own = scenario.topology.mtu;
        if mtu < own {
            let message = format!("packets of the topology have up to {own}, more than the {mtu} of any priority");
            return Err(PlanError::new(&["topology", "mtu"], message).help("take a larger --mtu"));
        }
        let cell = wanted.cell.or(wanted.chip.map(|chip| chip.cell)).unwrap_or(Bytes::new(208));
        let classes = classes(scenario, wanted)?;
        let rtt = wanted.rtt.map_or_else(|| longest_round_trip(scenario, network), Ok)?;
        let frames = [mtu, own].map(|packet| Bytes::new(packet.get().saturating_add(ETHERNET)));
        let mut kinds: BTreeMap<(bool, u64, u64), Vec<LinkId>> = BTreeMap::new();
        for (number, link) in graph.links().iter().enumerate() {
            if graph.node(link.to).kind == NodeKind::Switch {
                let host = graph.node(link.from).kind == NodeKind::Host;
                let key = (!host, link.wire.rate.bps(), link.wire.delay.picos());
                kinds.entry(key).or_default().push(LinkId(number as u32));
            }
        }
        if kinds.is_empty() {
            let message = "no cable of this topology leads to a switch, so nothing can ask for a pause";
            return Err(PlanError::new(&["topology"], message));
        }
        let chip = wanted.chip;
        let links = kinds.values().map(|all| link(graph, all, frames, (chip, cell), rtt)).collect();
        let kind_of = |id: LinkId| kinds.values().position(|all| all.contains(&id)).expect("it leads to a switch");
        let port = |&out: &LinkId| Port {
            peer: network.name(graph.link(out).to).to_string(),
            // what comes in over the same cable
            link: kind_of(out.reverse()),
        };
        let switch =
            |id: NodeId| (network.name(id).to_string(), graph.interfaces(id).iter().map(port).collect::<Vec<Port>>());
        let switches = graph.switches().map(switch).collect();
        Ok(Equipment { mtu, cell, chip, links, classes, rtt, switches })
    }

    /// The lossless priorities, in order.
    pub fn lossless(&self) -> Vec<u8> {
        let mut all: Vec<u8> =
            self.classes.iter().filter(|class| class.lossless).flat_map(|class| class.priorities.clone()).collect();
        all.sort_unstable();
        all
    }

    /// The class that a priority is in.
    pub fn class_of(&self, priority: u8) -> &Class {
        let own = self.classes.iter().find(|class| class.priorities.contains(&priority));
        own.unwrap_or(&self.classes[0])
    }
}

/// What follows from cables that are alike.
fn link(
    graph: &Graph,
    all: &[LinkId],
    [back_frame, frame]: [Bytes; 2],
    (chip, cell): (Option<Chip>, Bytes),
    rtt: Span,
) -> Link {
    let own = graph.link(all[0]);
    let (rate, delay) = (own.wire.rate, own.wire.delay);
    let back_rate = graph.link(all[0].reverse()).wire.rate;
    let (forth, back_delay, response) = standard_response(rate, delay);
    let gap = own.wire.gap;
    let cable = Cable { rate, back_rate, delay: forth, back_delay, response, frame, back_frame, gap };
    let headroom = standard_headroom(&cable);
    let chip_headroom = chip.map(|chip| chip.xoff(rate, delay, back_frame, frame));
    let around = [delay, delay, interface_delay(rate), interface_delay(rate), response_delay(rate)];
    Link {
        from: graph.node(own.from).kind,
        rate,
        delay,
        count: all.len(),
        headroom,
        chip_headroom,
        // a chip's formula counts its cells
        cells: chip_headroom.map_or_else(|| cells(headroom, cell), |bytes| bytes.get().div_ceil(cell.get().max(1))),
        delay_bits: bits_in(rate, around.into_iter().fold(Span::ZERO, |sum, span| sum + span)),
        dctcp: dctcp_mark(rate, rtt),
        dcqcn: dcqcn_ramp(rate),
    }
}

/// Bits that pass in `span`, rounded up.
fn bits_in(rate: Rate, span: Span) -> u64 {
    let bits = (u128::from(rate.bps()) * u128::from(span.picos())).div_ceil(1_000_000_000_000);
    u64::try_from(bits).unwrap_or(u64::MAX)
}

/// The priorities that are lossless: those of `wanted`, of the policy, or of the traffic.
fn lossless_priorities(scenario: &ScenarioRecord, wanted: &Wanted) -> Result<Vec<u8>, PlanError> {
    if !wanted.priorities.is_empty() {
        return Ok(wanted.priorities.clone());
    }
    let place = wanted.policy.unwrap_or(0);
    let number = place.to_string();
    let Some(record) = scenario.policy.get(place).and_then(|policy| policy.lossless.as_ref()) else {
        let fault = PlanError::new(&["policy", &number], "nothing says which priorities are lossless");
        return Err(fault.help("give the policy `lossless = { priorities = [3] }`, or say --priority 3"));
    };
    if record.pause == PauseBy::Nothing {
        let fault = PlanError::new(&["policy", &number, "lossless", "pause"], "nothing pauses, so nothing is lossless");
        return Err(fault.help("pause = \"pfc\""));
    }
    Ok(record.priorities.clone().unwrap_or_else(|| scenario.traffic.iter().map(|traffic| traffic.priority).collect()))
}

/// The classes that the policy has; otherwise one for each priority of the traffic or `wanted`, with equal shares.
fn classes(scenario: &ScenarioRecord, wanted: &Wanted) -> Result<Vec<Class>, PlanError> {
    let lossless = lossless_priorities(scenario, wanted)?;
    if let Some(wrong) = lossless.iter().find(|&&own| own >= PRIORITIES) {
        return Err(PlanError::new(&["policy"], format!("priorities are 0 to 7, and {wrong} is none")));
    }
    let record = wanted.policy.and_then(|place| scenario.policy.get(place)?.lossless.as_ref());
    if let Some(record) = record.filter(|record| record.classes.iter().next().is_some()) {
        return Ok(classes_of(record, &lossless));
    }
    // all others are best effort, in the first class
    let used = scenario.traffic.iter().map(|traffic| traffic.priority).chain(lossless.iter().copied());
    let mut used: Vec<u8> = used.chain([0]).collect();
    used.sort_unstable();
    used.dedup();
    let shares = shares(&vec![1; used.len()]);
    let class = |(place, (&priority, share)): (usize, (&u8, u32))| Class {
        name: format!("priority {priority}"),
        number: place as u8,
        priorities: if priority == 0 {
            (0..PRIORITIES).filter(|own| *own == 0 || !used.contains(own)).collect()
        } else {
            vec![priority]
        },
        strict: false,
        share,
        lossless: lossless.contains(&priority),
    };
    let all: Vec<Class> = used.iter().zip(shares).enumerate().map(class).collect();
    Ok(all)
}

/// The classes of a policy; priorities that are in none of them have one behind the others.
fn classes_of(record: &LosslessRecord, lossless: &[u8]) -> Vec<Class> {
    let mut all: Vec<(String, Vec<u8>, bool, u32)> = record
        .classes
        .iter()
        .map(|(name, own)| (name.to_owned(), own.priorities.clone(), own.strict, own.share))
        .collect();
    let rest: Vec<u8> = (0..PRIORITIES).filter(|own| all.iter().all(|(_, listed, ..)| !listed.contains(own))).collect();
    if !rest.is_empty() {
        all.push(("others".to_owned(), rest, false, 1));
    }
    let parts: Vec<u32> = all.iter().map(|(.., strict, share)| if *strict { 0 } else { *share }).collect();
    let class =
        |(number, ((name, priorities, strict, _), share)): (usize, ((String, Vec<u8>, bool, u32), u32))| Class {
            name,
            number: number as u8,
            lossless: priorities.iter().any(|own| lossless.contains(own)),
            priorities,
            strict,
            share: if strict { 0 } else { share },
        };
    all.into_iter().zip(shares(&parts)).enumerate().map(class).collect()
}

/// Parts of 100 in proportion to `parts`, which add up to 100: what rounding leaves goes to the first.
fn shares(parts: &[u32]) -> Vec<u32> {
    let sum: u64 = parts.iter().map(|&part| u64::from(part)).sum::<u64>().max(1);
    let mut all: Vec<u32> = parts.iter().map(|&part| (u64::from(part) * 100 / sum) as u32).collect();
    let rest = 100_u32.saturating_sub(all.iter().sum());
    if let Some(place) = parts.iter().position(|&part| part > 0) {
        all[place] += rest;
    }
    all
}

/// The longest round trip of a full packet and its acknowledgement between hosts of the traffic, on an idle network.
fn longest_round_trip(scenario: &ScenarioRecord, network: &Network) -> Result<Span, PlanError> {
    let graph = &network.built.graph;
    let mut paths = Paths::new(graph);
    let groups: Vec<&[NodeId]> = network.groups().map(|(_, hosts)| hosts).filter(|hosts| !hosts.is_empty()).collect();
    let mut longest = Span::ZERO;
    let mut path = Vec::new();
    for (one, hosts) in groups.iter().enumerate() {
        for others in &groups[one..] {
            // the first and the last of a group are as far apart as topologies lay them out
            let (Some(&from), Some(&to)) = (hosts.first(), others.last()) else { continue };
            let (Some(&ours), Some(&theirs)) = (graph.interfaces(from).first(), graph.interfaces(to).first()) else {
                continue;
            };
            if from == to || paths.path(ours, theirs, Choice::Ecmp(0), &mut path).is_err() {
                continue;
            }
            longest = longest.max(round_trip(graph, &path, scenario.topology.mtu));
        }
    }
    if longest.is_zero() {
        let message = "no two groups of hosts have a path, so there is no round trip for marks";
        return Err(PlanError::new(&["hosts"], message).help("say it with --rtt"));
    }
    Ok(longest)
}

/// There with a packet of `mtu`, and back with the smallest frame.
fn round_trip(graph: &Graph, path: &[LinkId], mtu: Bytes) -> Span {
    path.iter().fold(Span::ZERO, |sum, &id| {
        let wire = &graph.link(id).wire;
        let frame = |bytes: u64| wire.rate.transmission(Bytes::new(bytes + wire.gap.get()));
        let latency = graph.node(graph.link(id).to).latency;
        sum + frame(mtu.get() + ETHERNET) + frame(64) + wire.delay + wire.delay + latency + latency
    })
}
