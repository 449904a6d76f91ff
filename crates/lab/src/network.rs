//! From a graph to what `ip`, `tc` and a shell are told: cables, addresses, routes, rates and queues.
//!
//! Every node is a namespace. Interface i of a host is `eth`i and its address that of a kernel host; port k of a switch
//! is `p`k, and has no address: it has the gateway's MAC address, so that it takes what hosts send to the gateway, and
//! routes to each interface of each host by all the next hops of the fabric's shortest paths. Among several the kernel
//! chooses by a hash of the five-tuple, seeded anew for each switch and run.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use headway_fabric::{Graph, LinkId, NodeId, NodeKind, Paths};
use headway_kernel::setup::{GATEWAY, GATEWAY_MAC, ipv4, mac};

use crate::error::LabError;
use crate::shape;

/// A host that takes part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member<'a> {
    /// Its node.
    pub node: NodeId,
    /// Its number among the hosts of the network, of which its addresses are made.
    pub number: u32,
    /// What queues inside its cards' rate instead of the scenario's queue, as `tc qdisc` takes it after `root`.
    pub queue: Option<&'a str>,
}

/// What a namespace is told, in this order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Space {
    /// The node's name.
    pub node: String,
    /// Lines for its shell: kernel settings.
    pub settings: String,
    /// Lines for `ip -batch` in it.
    pub addresses: String,
    /// Lines for `tc -batch` in it.
    pub queues: String,
}

/// The whole network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blueprint {
    /// The namespaces: hosts in the order of the members, then switches.
    pub spaces: Vec<Space>,
    /// Per cable: the place of the namespace and the device, at both ends.
    pub cables: Vec<[(usize, String); 2]>,
}

impl Blueprint {
    /// Draws `graph` with the hosts `members`; the others, and their cables, are left out. Switches hash flows by
    /// `seed`.
    ///
    /// # Errors
    /// If the graph cannot be had in namespaces.
    ///
    /// # Panics
    /// If a member is no host of the graph.
    pub fn new(graph: &Graph, members: &[Member<'_>], mtu: u32, seed: u64) -> Result<Blueprint, LabError> {
        check(graph)?;
        let switches = graph.switches();
        let nodes: Vec<NodeId> = members.iter().map(|member| member.node).chain(switches).collect();
        let places: BTreeMap<NodeId, usize> = nodes.iter().copied().zip(0..).collect();
        let numbers: BTreeMap<NodeId, u32> = members.iter().map(|member| (member.node, member.number)).collect();
        let device = |link: LinkId| {
            let node = graph.link(link).from;
            let place = graph.interfaces(node).iter().position(|&own| own == link).expect("it leaves its node");
            let kind = if graph.node(node).kind == NodeKind::Host { "eth" } else { "p" };
            (place as u32, format!("{kind}{place}"))
        };
        let mut cables = Vec::new();
        for link in (0..graph.links().len() as u32).step_by(2).map(LinkId) {
            let ends = graph.link(link);
            let (Some(&from), Some(&to)) = (places.get(&ends.from), places.get(&ends.to)) else { continue };
            cables.push([(from, device(link).1), (to, device(link.reverse()).1)]);
        }
        let mut paths = Paths::new(graph);
        let mut spaces = Vec::new();
        for (place, &node) in nodes.iter().enumerate() {
            let mut space = Space { node: graph.node(node).name.clone(), ..Space::default() };
            let ports: Vec<LinkId> = graph.interfaces(node).to_vec();
            let ports = ports.into_iter().filter(|&link| places.contains_key(&graph.link(link).to));
            let member = members.get(place);
            for link in ports {
                let (port, name) = device(link);
                let wire = &graph.link(link).wire;
                space.queues += &shape::lines(wire, u64::from(mtu), &name, member.and_then(|member| member.queue));
                let own = member.map_or(GATEWAY_MAC.to_owned(), |member| text(mac(member.number, port)));
                // One segment at a time, so that queues and rates are of packets.
                let _ = writeln!(space.addresses, "link set {name} address {own} gso_max_segs 1");
                if member.is_some() {
                    continue;
                }
                let far = graph.link(link).to;
                let theirs = numbers
                    .get(&far)
                    .map_or(GATEWAY_MAC.to_owned(), |&number| text(mac(number, device(link.reverse()).0)));
                let _ = writeln!(space.addresses, "link set {name} mtu {mtu} txqueuelen 1000 up");
                let _ = writeln!(space.addresses, "neigh replace {GATEWAY} lladdr {theirs} dev {name} nud permanent");
            }
            if member.is_none() {
                space.addresses.insert_str(0, "link set lo up\n");
                for member in members {
                    space.addresses += &routes(graph, &mut paths, node, *member, &|link| device(link).1);
                }
            }
            space.settings = settings(member.is_none(), mixed(seed, node.0));
            spaces.push(space);
        }
        Ok(Blueprint { spaces, cables })
    }

    /// Lines for `ip -batch` that lay the cables between namespaces called by `name`.
    pub fn lay(&self, name: impl Fn(usize) -> String) -> String {
        let line = |[(from, out), (to, back)]: &[(usize, String); 2]| {
            format!("link add name {out} netns {} type veth peer name {back} netns {}\n", name(*from), name(*to))
        };
        self.cables.iter().map(line).collect()
    }
}

/// What no namespace can do.
fn check(graph: &Graph) -> Result<(), LabError> {
    let refuse = |message: String| Err(LabError::Network(message));
    if graph.hosts().any(|host| graph.node(host).forwards) {
        return refuse("hosts in namespaces do not forward for each other".to_owned());
    }
    for link in graph.links() {
        let kind = |node| graph.node(node).kind;
        if kind(link.from) == NodeKind::Host && kind(link.to) == NodeKind::Host {
            let (from, to) = (&graph.node(link.from).name, &graph.node(link.to).name);
            return refuse(format!("`{from}` and `{to}` are hosts with no switch between, which namespaces need"));
        }
        if link.periodic_loss.is_some() {
            return refuse("cables of namespaces lose nothing, and one loses packets at regular distances".to_owned());
        }
        if let Some(why) = shape::refusal(&link.wire) {
            return refuse(why);
        }
    }
    if graph.nodes().iter().any(|node| node.buffer.is_some()) {
        return refuse(
            "ports of a switch in a namespace have buffers of their own, and here they share one".to_owned(),
        );
    }
    Ok(())
}

/// A switch's routes to the interfaces of a host.
fn routes(
    graph: &Graph,
    paths: &mut Paths,
    switch: NodeId,
    member: Member<'_>,
    device: &dyn Fn(LinkId) -> String,
) -> String {
    let mut text = String::new();
    for (interface, &link) in (0..).zip(graph.interfaces(member.node)) {
        let to = ipv4(member.number, interface);
        let hops = paths.next_hops(switch, link);
        let via = |hop: &LinkId| format!("via {GATEWAY} dev {} onlink", device(*hop));
        match hops.as_slice() {
            // nothing leads there: the planes of a network are apart
            [] => {}
            [only] => _ = writeln!(text, "route add {to}/32 {}", via(only)),
            several => {
                let _ = write!(text, "route add {to}/32");
                for hop in several {
                    let _ = write!(text, " nexthop {}", via(hop));
                }
                text.push('\n');
            }
        }
    }
    text
}

/// Settings of a namespace, before its devices are up.
fn settings(switch: bool, seed: u32) -> String {
    // A switch forwards whatever comes; a host takes what comes by another interface than it would answer by.
    let mut text = "set -e\ncd /proc/sys/net/ipv4\nfor one in conf/*/rp_filter; do echo 0 >$one; done\n".to_owned();
    if switch {
        text += "echo 1 >ip_forward\necho 1 >fib_multipath_hash_policy\n";
        // since Linux 6.11; without it the kernel has a secret of its own
        let _ = writeln!(text, "if [ -e fib_multipath_hash_seed ]; then echo {seed} >fib_multipath_hash_seed; fi");
        // nothing of its own is on the wire
        text += "if [ -e ../ipv6 ]; then echo 1 >../ipv6/conf/all/disable_ipv6; fi\n";
    }
    text
}

/// A switch's own seed, never 0, which would be the kernel's secret. Fowler, Noll and Vo's FNV-1a.
fn mixed(seed: u64, node: u32) -> u32 {
    let bytes = seed.to_le_bytes().into_iter().chain(node.to_le_bytes());
    bytes.fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)).max(1)
}

fn text(mac: [u8; 6]) -> String {
    mac.map(|byte| format!("{byte:02x}")).join(":")
}

#[cfg(test)]
mod tests {
    use headway_fabric::{Limit, QueueSpec, Wire};
    use headway_units::{Bytes, Rate, Span};

    use super::*;

    fn wire() -> Wire {
        let queue = QueueSpec::DropTail { limit: Some(Limit::Packets(20)), mark: None };
        Wire { rate: Rate::from_mbps(10), delay: Span::ZERO, gap: Bytes::new(20), loss: 0.0, queue }
    }

    /// `a` – `left` = two spines = `right` – `b`, and `c` at `right`, which takes no part.
    fn graph() -> (Graph, Vec<NodeId>) {
        let mut graph = Graph::new();
        let switch = |graph: &mut Graph, name: &str| graph.add_switch(name, Span::ZERO).unwrap();
        let (left, right) = (switch(&mut graph, "left"), switch(&mut graph, "right"));
        let spines = ["spine0", "spine1"].map(|name| switch(&mut graph, name));
        let hosts: Vec<NodeId> =
            ["a", "b", "c"].iter().map(|&name| graph.add_host(name, Span::ZERO).unwrap()).collect();
        for (host, at) in [(hosts[0], left), (hosts[1], right), (hosts[2], right)] {
            graph.connect(host, at, wire(), wire()).unwrap();
        }
        for spine in spines {
            graph.connect(left, spine, wire(), wire()).unwrap();
            graph.connect(spine, right, wire(), wire()).unwrap();
        }
        (graph, hosts)
    }

    fn draw() -> Blueprint {
        let (graph, hosts) = graph();
        let member = |number: u32| Member { node: hosts[number as usize], number, queue: None };
        Blueprint::new(&graph, &[member(0), member(1)], 1500, 7).unwrap()
    }

    #[test]
    fn who_takes_no_part_has_no_namespace_and_no_cable() {
        let blueprint = draw();
        let names: Vec<&str> = blueprint.spaces.iter().map(|space| space.node.as_str()).collect();
        assert_eq!(names, ["a", "b", "left", "right", "spine0", "spine1"]);
        assert_eq!(blueprint.cables.len(), 6);
        let first = blueprint.lay(|place| format!("hw-1-{place}"));
        let first = first.lines().next().unwrap();
        assert_eq!(first, "link add name eth0 netns hw-1-0 type veth peer name p0 netns hw-1-2");
    }

    #[test]
    fn switches_route_by_all_shortest_paths() {
        let left = &draw().spaces[2];
        let expected = "\
link set lo up
link set p0 address 02:00:00:00:00:01 gso_max_segs 1
link set p0 mtu 1500 txqueuelen 1000 up
neigh replace 169.254.0.1 lladdr 02:00:00:00:00:01 dev p0 nud permanent
link set p1 address 02:00:00:00:00:01 gso_max_segs 1
link set p1 mtu 1500 txqueuelen 1000 up
neigh replace 169.254.0.1 lladdr 02:00:00:00:00:01 dev p1 nud permanent
link set p2 address 02:00:00:00:00:01 gso_max_segs 1
link set p2 mtu 1500 txqueuelen 1000 up
neigh replace 169.254.0.1 lladdr 02:00:00:00:00:01 dev p2 nud permanent
route add 10.0.0.1/32 via 169.254.0.1 dev p0 onlink
route add 10.0.0.2/32 nexthop via 169.254.0.1 dev p1 onlink nexthop via 169.254.0.1 dev p2 onlink
";
        // host `a` is number 0 of the network, whose MAC address happens to be the gateway's number
        assert_eq!(mac(0, 0), [2, 0, 0, 0, 0, 1]);
        assert_eq!(left.addresses, expected);
        assert!(left.settings.contains("ip_forward") && left.settings.contains("hash_policy"), "{}", left.settings);
        assert_eq!(left.queues.matches("tbf rate 10000000bit").count(), 3);
    }

    #[test]
    fn hosts_only_get_what_their_own_set_up_does_not_do() {
        let b = &draw().spaces[1];
        assert_eq!(b.addresses, "link set eth0 address 02:00:00:00:00:02 gso_max_segs 1\n");
        assert!(!b.settings.contains("ip_forward"));
        assert!(b.queues.contains("qdisc add dev eth0 parent 1: handle 10: pfifo limit 20"), "{}", b.queues);
    }

    #[test]
    fn switches_hash_differently() {
        let blueprint = draw();
        assert_ne!(blueprint.spaces[2].settings, blueprint.spaces[3].settings);
    }

    #[test]
    fn what_namespaces_cannot_do_is_refused() {
        let refused = |graph: &Graph| Blueprint::new(graph, &[], 1500, 0).unwrap_err().to_string();
        let (mut lossy, hosts) = graph();
        let switch = lossy.find("left").unwrap();
        lossy.connect(hosts[1], switch, Wire { loss: 0.5, ..wire() }, wire()).unwrap();
        assert!(refused(&lossy).contains("at random"));
        let (mut direct, hosts) = graph();
        direct.connect(hosts[0], hosts[1], wire(), wire()).unwrap();
        assert!(refused(&direct).contains("no switch between"));
        let (mut forwarding, hosts) = graph();
        forwarding.let_forward(hosts[0]);
        assert!(refused(&forwarding).contains("forward"));
    }
}
