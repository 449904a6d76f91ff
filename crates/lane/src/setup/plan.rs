//! From settings and the state of the host to steps.

use std::collections::BTreeSet;
use std::net::IpAddr;

use headway_daemon::setup::{Former, Planned, State};
use headway_linux::route::{Address, Link, Prefix, RouteKind};
use ipnet::IpNet;

use super::present::{rp_filter, rules as recorded_rules, tables};
use super::{
    Before, ENABLED, LaneProblem, Limits, PATH_MANAGER, PM_TYPE, PROTOCOL, Plan, Present, Route, Step, Warning,
};
use crate::settings::{Lane, Settings};

/// The steps that make the host as `settings` want it, what each of them finds, and which former ones are to be undone.
pub fn plan(settings: &Settings, present: &Present) -> Plan {
    let mut plan = Plan::default();
    path_manager(settings, present, &mut plan);
    let found: Vec<_> = settings.lanes.iter().map(|lane| find(lane, present)).collect();
    let addresses: BTreeSet<IpAddr> = found.iter().flat_map(|one| &one.addresses).map(|one| one.ip).collect();
    let held = Held::new(present, &addresses);
    let mut spare = tables(settings).skip(settings.lanes.len()).filter(|table| !held.tables.contains(table));
    // Rules last: until then nothing asks a lane's table that is not whole yet, but for those whose routes wait.
    let mut rules = Vec::new();
    for ((table, lane), Found { link, addresses, warnings }) in tables(settings).zip(&settings.lanes).zip(found) {
        plan.warnings.extend(warnings);
        let Some(link) = link.filter(|_| !addresses.is_empty()) else { continue };
        let free = held.is_free(table, &link.name, present);
        let Some(table) = (if free { Some(table) } else { spare.next() }) else { continue };
        for route in routes(table, lane, link, &addresses, present, &mut plan) {
            let mut state = route_state(&route, link.index, present);
            if state == State::Missing && !link.up {
                state = State::Waits(link.name.clone());
            }
            plan.steps.push(Planned { step: Step::Route(route), state });
        }
        for address in addresses {
            rules.push(rule(address.ip, table, settings.setup.priority, present));
        }
        strict_filter(lane, link, present, &mut plan);
    }
    plan.steps.extend(rules);
    let former = present.recorded.undoing().into_iter().map(|entry| entry.step);
    plan.undo = former
        .filter(|step| matches!(step, Step::Route(_) | Step::Rule { .. }))
        .filter(|step| !plan.steps.iter().any(|planned| planned.step == *step))
        .map(|step| Former { in_use: held.holds(&step, &plan), step })
        .collect();
    plan
}

/// What connections of former lanes use: addresses that are no lane's any more, and the tables that rules lead to from there.
struct Held {
    addresses: BTreeSet<IpAddr>,
    tables: BTreeSet<u32>,
}

impl Held {
    /// Given the addresses of lanes.
    fn new(present: &Present, wanted: &BTreeSet<IpAddr>) -> Held {
        let used = |(from, _): &(IpAddr, u32)| present.used.contains(from) && !wanted.contains(from);
        let (addresses, tables) = recorded_rules(&present.recorded).filter(used).unzip();
        Held { addresses, tables }
    }

    /// Whether a lane on the interface `link` can have `table`: nobody uses it, or its routes lead to where they led before.
    fn is_free(&self, table: u32, link: &str, present: &Present) -> bool {
        let elsewhere = |step: &Step| matches!(step, Step::Route(one) if one.table == table && one.interface != link);
        !self.tables.contains(&table) || !present.recorded.steps().any(elsewhere)
    }

    /// Whether a former step stays for now. A table that `plan` has taken over leads on by the new routes.
    fn holds(&self, step: &Step, plan: &Plan) -> bool {
        let filled = |table| plan.steps.iter().any(|one| matches!(&one.step, Step::Route(one) if one.table == table));
        match step {
            Step::Rule { from, .. } => self.addresses.contains(from),
            Step::Route(route) => self.tables.contains(&route.table) && !filled(route.table),
            Step::Sysctl { .. } | Step::Limits(_) => false,
        }
    }
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
        plan.warnings.push(Warning::NoMptcp);
    } else if !userspace {
        plan.warnings.push(Warning::NoUserspaceManager);
    }
    if let Some(now) = present.limits {
        // Never less than others may have set for themselves; what this daemon set before does not count.
        let others = match present.recorded.before(&Step::Limits(now), Before::Limits(now)) {
            Before::Limits(others) => others,
            Before::Value(_) | Before::Nothing => now,
        };
        let wanted = Limits {
            subflows: others.subflows.max(settings.limits.subflows.into()),
            add_addr_accepted: others.add_addr_accepted.max(settings.limits.accepted_addresses.into()),
        };
        let state = if now == wanted { State::There } else { State::Differs(now.to_string()) };
        plan.steps.push(Planned { step: Step::Limits(wanted), state });
    }
}

fn about(lane: &Lane, problem: LaneProblem) -> Warning {
    Warning::Lane { lane: lane.name.clone(), problem }
}

/// A lane on this host.
#[derive(Default)]
struct Found<'a> {
    link: Option<&'a Link>,
    /// Its addresses on the link.
    addresses: Vec<&'a Address>,
    warnings: Vec<Warning>,
}

/// The interface of a lane and the lane's addresses on it.
fn find<'a>(lane: &Lane, present: &'a Present) -> Found<'a> {
    let mut found = Found::default();
    let mut warn = |problem| found.warnings.push(about(lane, problem));
    let index = match &lane.interface {
        Some(name) => present.link(name).map(|link| link.index),
        None => present.addresses.iter().find(|one| lane.addresses.contains(&one.ip)).map(|one| one.interface),
    };
    let Some(index) = index else {
        warn(match &lane.interface {
            Some(name) => LaneProblem::NoInterface(name.clone()),
            None => LaneProblem::NoAddressHere,
        });
        return found;
    };
    let Some(link) = present.links.iter().find(|link| link.index == index) else { return found };
    if !link.usable() {
        warn(LaneProblem::Down(link.name.clone()));
    }
    let on_link = present.addresses.iter().filter(|one| one.interface == index);
    found.addresses = if lane.addresses.is_empty() {
        on_link.filter(|one| one.global && one.usable && !one.deprecated).collect()
    } else {
        for ip in lane.addresses.iter().filter(|ip| !on_link.clone().any(|one| one.ip == **ip)) {
            warn(LaneProblem::AddressMissing { interface: link.name.clone(), ip: *ip });
        }
        on_link.filter(|one| lane.addresses.contains(&one.ip)).collect()
    };
    if found.addresses.is_empty() && lane.addresses.is_empty() {
        warn(LaneProblem::NoGlobalAddress(link.name.clone()));
    }
    Found { link: Some(link), ..found }
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
            let family = if v4 { 4 } else { 6 };
            plan.warnings.push(about(lane, LaneProblem::NoGateway { interface: link.name.clone(), family }));
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
    let ours = |step: &Step| matches!(step, Step::Route(one) if one.table == route.table && one.destination == route.destination);
    let ours = there.protocol == PROTOCOL && present.recorded.steps().any(ours);
    let leads = there.interface == index && there.gateway == route.gateway && there.kind == RouteKind::Unicast;
    // What was recorded otherwise is undone, so it has to be done anew.
    if leads && (!ours || (there.source == route.source && there.onlink == route.onlink)) {
        return State::There;
    }
    let gateway = there.gateway.map_or(String::new(), |gateway| format!(" via {gateway}"));
    let interface = present.name(there.interface).map_or(String::new(), |name| format!(" dev {name}"));
    let source = there.source.map_or(String::new(), |source| format!(" src {source}"));
    let now = format!("{}{gateway}{interface}{source} table {}", there.destination, there.table);
    // by other settings, or before the main table changed
    if ours { State::Differs(now) } else { State::Taken(now) }
}

fn rule(from: IpAddr, table: u32, priority: u32, present: &Present) -> Planned<Step> {
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
        let (interface, sysctl) = (link.name.clone(), rp_filter(&link.name));
        plan.warnings.push(about(lane, LaneProblem::StrictFilter { interface, sysctl }));
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
