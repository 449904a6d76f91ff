//! From settings and the state of the host to steps.

use std::net::IpAddr;

use headway_linux::route::{Address, Link, Prefix, RouteKind};
use ipnet::IpNet;

use super::present::rp_filter;
use super::{ENABLED, Limits, PATH_MANAGER, PM_TYPE, PROTOCOL, Plan, Planned, Present, Route, State, Step};
use crate::settings::{Lane, Settings};

/// The steps that make the host as `settings` want it, and what each of them finds.
pub fn plan(settings: &Settings, present: &Present) -> Plan {
    let mut plan = Plan::default();
    path_manager(settings, present, &mut plan);
    // Rules last: until then nothing asks a lane's table that is not whole yet.
    let mut rules = Vec::new();
    for (table, lane) in (settings.setup.table..).zip(&settings.lanes) {
        let Some((link, addresses)) = find(lane, present, &mut plan) else { continue };
        for route in routes(table, lane, link, &addresses, present, &mut plan) {
            let state = route_state(&route, link.index, present);
            plan.steps.push(Planned { step: Step::Route(route), state });
        }
        for address in addresses {
            rules.push(rule(address.ip, table, settings.setup.priority, present));
        }
        strict_filter(lane, link, present, &mut plan);
    }
    plan.steps.extend(rules);
    plan
}

fn path_manager(settings: &Settings, present: &Present, plan: &mut Plan) {
    let mut sysctl = |name: &str, value: &str| {
        let Some(now) = present.sysctls.get(name) else { return false };
        let state = if now == value { State::There } else { State::Differs(now.clone()) };
        let step = Step::Sysctl { name: name.to_owned(), value: value.to_owned() };
        plan.steps.push(Planned { step, state });
        true
    };
    let enabled = sysctl(ENABLED, "1");
    let userspace = sysctl(PATH_MANAGER, "userspace") || sysctl(PM_TYPE, "1");
    if !enabled {
        plan.warnings.push("this kernel has no MPTCP; see `headway-lane doctor`".to_owned());
    } else if !userspace {
        let old = "this kernel has no userspace path manager, which came with Linux 5.19; see `headway-lane doctor`";
        plan.warnings.push(old.to_owned());
    }
    if let Some(now) = present.limits {
        // Never less than others may have set for themselves.
        let wanted = Limits {
            subflows: now.subflows.max(settings.limits.subflows.into()),
            add_addr_accepted: now.add_addr_accepted.max(settings.limits.accepted_addresses.into()),
        };
        let text = format!("subflows {} add_addr_accepted {}", now.subflows, now.add_addr_accepted);
        let state = if now == wanted { State::There } else { State::Differs(text) };
        plan.steps.push(Planned { step: Step::Limits(wanted), state });
    }
}

/// The interface of a lane and the lane's addresses on it.
fn find<'a>(lane: &Lane, present: &'a Present, plan: &mut Plan) -> Option<(&'a Link, Vec<&'a Address>)> {
    let mut warn = |text: String| plan.warnings.push(format!("lane `{}`: {text}", lane.name));
    let index = match &lane.interface {
        Some(name) => present.link(name).map(|link| link.index),
        None => present.addresses.iter().find(|one| lane.addresses.contains(&one.ip)).map(|one| one.interface),
    };
    let Some(index) = index else {
        warn(match &lane.interface {
            Some(name) => format!("there is no interface {name}"),
            None => "this host has none of its addresses".to_owned(),
        });
        return None;
    };
    let link = present.links.iter().find(|link| link.index == index)?;
    if !link.usable() {
        warn(format!("{} is down", link.name));
    }
    let on_link = present.addresses.iter().filter(|one| one.interface == index);
    let found: Vec<&Address> = if lane.addresses.is_empty() {
        on_link.filter(|one| one.global && one.usable && !one.deprecated).collect()
    } else {
        for ip in lane.addresses.iter().filter(|ip| !on_link.clone().any(|one| one.ip == **ip)) {
            warn(format!("{} has no address {ip}", link.name));
        }
        on_link.filter(|one| lane.addresses.contains(&one.ip)).collect()
    };
    if found.is_empty() && lane.addresses.is_empty() {
        warn(format!("{} has no global address", link.name));
    }
    (!found.is_empty()).then_some((link, found))
}

fn net(prefix: Prefix) -> Option<IpNet> {
    IpNet::new(prefix.ip, prefix.length).ok().map(|net| net.trunc())
}

/// The routes of a lane's table: what is on its link, then what is behind gateways.
fn routes(
    table: u32,
    lane: &Lane,
    link: &Link,
    addresses: &[&Address],
    present: &Present,
    plan: &mut Plan,
) -> Vec<Route> {
    let mut routes: Vec<Route> = Vec::new();
    let add = |routes: &mut Vec<Route>, destination: IpNet, gateway: Option<IpAddr>, onlink: bool| {
        if routes.iter().any(|route| route.destination == destination) {
            return;
        }
        let of_family = || addresses.iter().map(|one| one.ip).filter(|ip| ip.is_ipv4() == destination.addr().is_ipv4());
        let source = of_family().find(|ip| destination.contains(ip)).or_else(|| of_family().next());
        let interface = link.name.clone();
        routes.push(Route { table, destination, gateway, interface, source, onlink });
    };
    for v4 in [true, false] {
        if !addresses.iter().any(|one| one.ip.is_ipv4() == v4) {
            continue;
        }
        let on_link = present.addresses.iter().filter(|one| one.interface == link.index && one.ip.is_ipv4() == v4);
        for one in on_link.filter(|one| one.global) {
            let host = one.prefix == if v4 { 32 } else { 128 };
            if let Some(destination) = net(Prefix { ip: one.ip, length: one.prefix }).filter(|_| !host) {
                add(&mut routes, destination, None, false);
            }
        }
        let mut main: Vec<_> = present
            .main
            .iter()
            .filter(|route| route.destination.ip.is_ipv4() == v4 && route.interface == link.index)
            .filter(|route| route.kind == RouteKind::Unicast && !route.multipath && !local(route.destination.ip))
            .collect();
        main.sort_by_key(|route| (route.gateway.is_some(), route.metric));
        let given = lane.gateways.iter().find(|gateway| gateway.is_ipv4() == v4);
        for route in main.iter().filter(|route| given.is_none() || route.gateway.is_none()) {
            if let Some(destination) = net(route.destination) {
                add(&mut routes, destination, route.gateway, route.onlink);
            }
        }
        let all: IpNet = if v4 { Prefix::ALL_IPV4 } else { Prefix::ALL_IPV6 }.into_net();
        if let Some(gateway) = given {
            let reached = routes.iter().any(|route| route.gateway.is_none() && route.destination.contains(gateway));
            routes.retain(|route| route.destination != all);
            add(&mut routes, all, Some(*gateway), !reached && !local(*gateway));
        }
        if !routes.iter().any(|route| route.destination == all) {
            plan.warnings.push(format!(
                "lane `{}`: no IPv{} gateway is known by {}, so only its own networks can be reached over it",
                lane.name,
                if v4 { 4 } else { 6 },
                link.name
            ));
        }
    }
    routes
}

trait IntoNet {
    fn into_net(self) -> IpNet;
}

impl IntoNet for Prefix {
    fn into_net(self) -> IpNet {
        IpNet::new(self.ip, self.length).unwrap_or_else(|_| IpNet::from(self.ip))
    }
}

/// Link-local or multicast: not for a lane.
fn local(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.is_link_local() || ip.is_multicast(),
        IpAddr::V6(ip) => ip.is_unicast_link_local() || ip.is_multicast(),
    }
}

fn route_state(route: &Route, index: u32, present: &Present) -> State {
    let same = |one: &&headway_linux::route::Route| {
        one.table == route.table && net(one.destination) == Some(route.destination)
    };
    let Some(there) = present.tables.iter().find(same) else { return State::Missing };
    if there.interface == index && there.gateway == route.gateway && there.kind == RouteKind::Unicast {
        return State::There;
    }
    let gateway = there.gateway.map_or(String::new(), |gateway| format!(" via {gateway}"));
    let interface = present.name(there.interface).map_or(String::new(), |name| format!(" dev {name}"));
    let now = format!("{}{gateway}{interface} table {}", there.destination, there.table);
    // by other settings, or before the main table changed
    if there.protocol == PROTOCOL { State::Differs(now) } else { State::Taken(now) }
}

fn rule(from: IpAddr, table: u32, priority: u32, present: &Present) -> Planned {
    let there = present.rules.iter().any(|one| {
        !one.other
            && one.from == Prefix::host(from)
            && one.to.length == 0
            && one.table == table
            && one.priority == priority
    });
    let state = if there { State::There } else { State::Missing };
    Planned { step: Step::Rule { from, table, priority }, state }
}

/// Packets that come in by a lane are dropped if answers would leave by another interface.
fn strict_filter(lane: &Lane, link: &Link, present: &Present, plan: &mut Plan) {
    let value = |name: &str| present.sysctls.get(&rp_filter(name)).and_then(|value| value.parse::<u32>().ok());
    // The larger of both counts; 1 is strict, 2 is loose.
    if value("all").max(value(&link.name)) == Some(1) {
        plan.warnings.push(format!(
            "lane `{}`: {} drops packets whose answers would leave by another interface (rp_filter is 1); \
             2 is looser: sysctl -w {}=2",
            lane.name,
            link.name,
            rp_filter(&link.name)
        ));
    }
}

/// The route as the kernel is told of it.
pub(super) fn as_kernel(route: &Route, interface: u32) -> headway_linux::route::Route {
    headway_linux::route::Route {
        table: route.table,
        destination: Prefix { ip: route.destination.addr(), length: route.destination.prefix_len() },
        gateway: route.gateway,
        interface,
        source: route.source,
        onlink: route.onlink,
        metric: 0,
        protocol: PROTOCOL,
        kind: RouteKind::Unicast,
        multipath: false,
    }
}
