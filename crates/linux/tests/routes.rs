//! Links, addresses, routes and rules of the machine's own kernel, in namespaces. Root; skipped otherwise.

#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "the live side has a wall clock")]

mod common;

use std::net::IpAddr;
use std::process::Command;

use common::{Hosts, address, until};
use headway_linux::route::{Added, Change, Lookup, Monitor, OperState, Prefix, Removed, Route, Rtnetlink, Rule};
use rustix::io::Errno;

fn open(hosts: &Hosts) -> Rtnetlink {
    Hosts::within(&hosts.client, || Rtnetlink::open().unwrap())
}

fn index(rtnetlink: &mut Rtnetlink, name: &str) -> u32 {
    rtnetlink.links().unwrap().iter().find(|l| l.name == name).expect("it is there").index
}

/// `ip` in the client's namespace.
fn ip(hosts: &Hosts, arguments: &str) -> String {
    let output = Command::new("ip").args(["-n", &hosts.client]).args(arguments.split(' ')).output().unwrap();
    assert!(output.status.success(), "ip {arguments}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn prefix(text: &str) -> Prefix {
    text.parse().unwrap()
}

#[test]
fn links_and_addresses_are_listed() {
    let Some(hosts) = Hosts::new() else { return };
    let mut rtnetlink = open(&hosts);
    ip(&hosts, "link set p2 mtu 1400");
    ip(&hosts, "link set p1 down");
    let mut links = rtnetlink.links().unwrap();
    links.sort_by(|a, b| a.name.cmp(&b.name));
    let told: Vec<_> = links.iter().map(|l| (&*l.name, l.up, l.carrier, l.mtu, l.usable())).collect();
    assert_eq!(
        told,
        [("lo", true, true, 65536, true), ("p1", false, false, 1500, false), ("p2", true, true, 1400, true)]
    );
    assert_eq!(links[0].index, 1);
    assert_eq!(links.iter().map(|l| l.state).collect::<Vec<_>>(), [OperState::Unknown, OperState::Down, OperState::Up]);

    let p2 = links[2].index;
    let mut addresses: Vec<_> = rtnetlink.addresses().unwrap().into_iter().filter(|a| a.interface == p2).collect();
    addresses.sort_by_key(|a| a.ip);
    assert!(addresses.iter().all(|a| !a.deprecated));
    let told: Vec<_> = addresses.iter().filter(|a| a.global).map(|a| (a.ip, a.prefix, a.usable)).collect();
    assert_eq!(told, [(address("10.0.2.1"), 24, true), (address("fd00:2::1"), 64, true)]);
    assert_eq!(addresses.len(), 3, "and a link-local one: {addresses:?}");
}

#[test]
fn routes_are_added_listed_and_removed_once() {
    let Some(hosts) = Hosts::new() else { return };
    let mut rtnetlink = open(&hosts);
    let p2 = index(&mut rtnetlink, "p2");
    let route = |destination: &str, gateway: Option<&str>, source: Option<&str>| Route {
        table: 1234,
        gateway: gateway.map(address),
        interface: p2,
        source: source.map(address),
        metric: 7,
        protocol: 201,
        ..Route::to(prefix(destination))
    };
    let routes = [
        route("0.0.0.0/0", Some("10.0.2.2"), Some("10.0.2.1")),
        route("10.0.2.0/24", None, Some("10.0.2.1")),
        Route { onlink: true, ..route("10.77.0.0/16", Some("192.0.2.1"), None) },
        route("10.78.0.0/16", Some("fd00:2::2"), None),
        route("::/0", Some("fd00:2::2"), Some("fd00:2::1")),
        Route { metric: 0, ..route("fd00:2::/64", None, None) },
    ];
    assert_eq!(rtnetlink.routes(1234).unwrap(), [], "there is no such table yet");
    for route in &routes {
        assert_eq!(rtnetlink.add_route(route).unwrap(), Added::Added, "{route:?}");
        assert_eq!(rtnetlink.add_route(route).unwrap(), Added::AlreadyThere, "{route:?}");
    }
    let mut listed = rtnetlink.routes(1234).unwrap();
    listed.sort_by_key(|r| routes.iter().position(|x| x.destination == r.destination));
    let mut expected = routes;
    expected[5].metric = 1024;
    assert_eq!(listed, expected);
    // What `ip` makes of it.
    let text = ip(&hosts, "route show table 1234 default");
    assert_eq!(text.trim(), "default via 10.0.2.2 dev p2 proto 201 src 10.0.2.1 metric 7");
    let text = ip(&hosts, "route show table 1234 10.77.0.0/16");
    assert_eq!(text.trim(), "10.77.0.0/16 via 192.0.2.1 dev p2 proto 201 metric 7 onlink");

    // Another route to the same place is not the same.
    let other = Route { gateway: Some(address("10.0.2.9")), ..routes[0] };
    let refused = rtnetlink.add_route(&other).unwrap_err();
    assert_eq!(refused.errno(), Some(Errno::EXIST), "{refused}");
    assert_eq!(rtnetlink.remove_route(&other).unwrap(), Removed::NotThere);

    for route in &routes {
        assert_eq!(rtnetlink.remove_route(route).unwrap(), Removed::Removed, "{route:?}");
        assert_eq!(rtnetlink.remove_route(route).unwrap(), Removed::NotThere, "{route:?}");
    }
    assert_eq!(rtnetlink.routes(1234).unwrap(), []);
}

#[test]
fn rules_decide_by_the_source_and_lookups_tell() {
    let Some(hosts) = Hosts::new() else { return };
    let mut rtnetlink = open(&hosts);
    let (p1, p2) = (index(&mut rtnetlink, "p1"), index(&mut rtnetlink, "p2"));
    let to: IpAddr = address("10.0.1.2");
    let near = Lookup { interface: p1, gateway: None, source: Some(address("10.0.1.1")), table: 254 };
    assert_eq!(rtnetlink.lookup(to, None, 0).unwrap(), Some(near));
    assert_eq!(rtnetlink.lookup(address("198.51.100.1"), None, 0).unwrap(), None, "there is no default route");

    let rules = [
        Rule {
            from: prefix("10.0.2.1"),
            to: Prefix::ALL_IPV4,
            table: 1234,
            priority: 500,
            protocol: 201,
            other: false,
        },
        Rule {
            from: prefix("fd00:2::1"),
            to: prefix("fd00:9::/32"),
            table: 77,
            priority: 501,
            protocol: 201,
            other: false,
        },
    ];
    let before = rtnetlink.rules().unwrap();
    // local, main and default, as `ip rule` tells; IPv6 has no default.
    assert_eq!(before.iter().map(|r| r.table).collect::<Vec<_>>(), [255, 254, 253, 255, 254]);
    let mut routes = Vec::new();
    for (rule, gateway) in rules.iter().zip(["10.0.2.2", "fd00:2::2"]) {
        assert_eq!(rtnetlink.add_rule(rule).unwrap(), Added::Added);
        assert_eq!(rtnetlink.add_rule(rule).unwrap(), Added::AlreadyThere);
        let all = if rule.from.ip.is_ipv4() { Prefix::ALL_IPV4 } else { Prefix::ALL_IPV6 };
        let route = Route {
            table: rule.table,
            gateway: Some(address(gateway)),
            interface: p2,
            protocol: 201,
            ..Route::to(all)
        };
        assert_eq!(rtnetlink.add_route(&route).unwrap(), Added::Added);
        routes.push(route);
    }
    let listed: Vec<Rule> = rtnetlink.rules().unwrap().into_iter().filter(|r| r.protocol == 201).collect();
    assert_eq!(listed, rules);
    // Everything from the second address goes out of the second interface, whatever `main` says.
    let far =
        Lookup { interface: p2, gateway: Some(address("10.0.2.2")), source: Some(address("10.0.2.1")), table: 1234 };
    assert_eq!(rtnetlink.lookup(to, Some(address("10.0.2.1")), 0).unwrap(), Some(far));
    assert_eq!(rtnetlink.lookup(to, None, 0).unwrap(), Some(near));
    let (to, from) = (address("fd00:9::1"), Some(address("fd00:2::1")));
    let far = Lookup { interface: p2, gateway: Some(address("fd00:2::2")), source: from, table: 77 };
    assert_eq!(rtnetlink.lookup(to, from, 0).unwrap(), Some(far));
    assert_eq!(rtnetlink.lookup(to, None, 0).unwrap(), None);
    assert_eq!(rtnetlink.lookup(address("10.0.1.2"), Some(address("203.0.113.1")), 0).unwrap(), None, "not ours");

    for rule in &rules {
        // Somebody else's is neither taken for ours nor removed.
        let theirs = Rule { protocol: 202, ..*rule };
        assert_eq!(rtnetlink.remove_rule(&theirs).unwrap(), Removed::NotThere);
        assert_eq!(rtnetlink.add_rule(&theirs).unwrap(), Added::Added);
        assert_eq!(rtnetlink.add_rule(rule).unwrap(), Added::AlreadyThere);
        assert_eq!(rtnetlink.remove_rule(&theirs).unwrap(), Removed::Removed);
        assert_eq!(rtnetlink.add_rule(rule).unwrap(), Added::AlreadyThere);
        assert_eq!(rtnetlink.remove_rule(rule).unwrap(), Removed::Removed);
        assert_eq!(rtnetlink.remove_rule(rule).unwrap(), Removed::NotThere);
    }
    assert_eq!(rtnetlink.rules().unwrap(), before);
    // A rule of others with conditions that are not told here says so.
    ip(&hosts, "rule add fwmark 5 table 9 priority 600");
    let others: Vec<Rule> = rtnetlink.rules().unwrap().into_iter().filter(|r| r.priority == 600).collect();
    assert!(others[0].other && !before[0].other, "{others:?}");
}

#[test]
fn many_routes_are_listed_whole() {
    let Some(hosts) = Hosts::new() else { return };
    let mut rtnetlink = open(&hosts);
    let p1 = index(&mut rtnetlink, "p1");
    for i in 0..=255 {
        for j in 0..4 {
            let destination = prefix(&format!("10.{}.{i}.0/24", 100 + j));
            rtnetlink.add_route(&Route { table: 50, interface: p1, ..Route::to(destination) }).unwrap();
        }
    }
    assert_eq!(rtnetlink.routes(50).unwrap().len(), 1024);
    assert_eq!(rtnetlink.routes(51).unwrap().len(), 0);
}

#[test]
fn changes_are_told() {
    let Some(hosts) = Hosts::new() else { return };
    let mut monitor = Hosts::within(&hosts.client, || Monitor::open().unwrap());
    let mut rtnetlink = open(&hosts);
    let p2 = index(&mut rtnetlink, "p2");
    let mut wait = |what: &str, pick: &dyn Fn(&Change) -> bool| {
        until(what, || {
            while let Some(change) = monitor.next().unwrap() {
                if pick(&change) {
                    return Some(());
                }
            }
            None
        });
    };
    let new = address("10.0.2.77");
    ip(&hosts, "addr add 10.0.2.77/24 dev p2");
    wait("added", &|c| matches!(c, Change::AddressAdded(a) if a.ip == new && a.interface == p2 && a.prefix == 24));
    ip(&hosts, "addr del 10.0.2.77/24 dev p2");
    wait("removed", &|c| matches!(c, Change::AddressRemoved(a) if a.ip == new && a.interface == p2));
    ip(&hosts, "addr add fd00:2::77/64 dev p2");
    let six = address("fd00:2::77");
    wait("tentative", &|c| matches!(c, Change::AddressAdded(a) if a.ip == six && !a.usable));
    wait("usable", &|c| matches!(c, Change::AddressAdded(a) if a.ip == six && a.usable));
    // The cable's other end goes down.
    let output = Command::new("ip").args(["-n", &hosts.server, "link", "set", "p2", "down"]).status().unwrap();
    assert!(output.success());
    wait("no carrier", &|c| matches!(c, Change::LinkChanged(l) if l.index == p2 && l.up && !l.carrier && !l.usable()));
    ip(&hosts, "link set p2 down");
    wait("down", &|c| matches!(c, Change::LinkChanged(l) if l.index == p2 && !l.up));
    ip(&hosts, "link set p2 name lane");
    wait("renamed", &|c| matches!(c, Change::LinkChanged(l) if l.index == p2 && l.name == "lane"));
    ip(&hosts, "link del lane");
    wait("gone", &|c| matches!(c, Change::LinkRemoved { index, name } if *index == p2 && name == "lane"));
}
