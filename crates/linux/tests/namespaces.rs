//! Namespaces are entered by name and by path, and everything that is opened then is in there. Root; skipped otherwise.

mod common;

use common::Hosts;
use headway_linux::capabilities::Capabilities;
use headway_linux::mptcp::ManagedBy;
use headway_linux::route::Rtnetlink;
use headway_linux::{netns, sysctl};

fn links() -> Vec<String> {
    let mut names: Vec<String> = Rtnetlink::open().unwrap().links().unwrap().into_iter().map(|l| l.name).collect();
    names.sort();
    names
}

#[test]
fn a_thread_is_in_the_namespace_that_it_entered() {
    let Some(hosts) = Hosts::new() else { return };
    assert!(Capabilities::effective().unwrap().sys_admin, "it could be made");
    let before = links();
    let path = netns::path(&hosts.client).to_str().unwrap().to_owned();
    for name in [&hosts.client, &path] {
        assert_eq!(Hosts::within(name, links), ["lo", "p1", "p2"]);
    }
    assert_eq!(links(), before, "other threads stay where they are");
    let names = netns::names().unwrap();
    assert!(names.contains(&hosts.client) && names.contains(&hosts.server), "{names:?}");
}

#[test]
fn sysctls_are_the_namespaces_own() {
    let Some(hosts) = Hosts::new() else { return };
    let forwarding = "net.ipv4.conf.p1.forwarding";
    Hosts::within(&hosts.client, || {
        sysctl::write(forwarding, "1").unwrap();
        let refused = sysctl::write("net.mptcp.enabled", "maybe").unwrap_err();
        assert!(refused.to_string().starts_with("sysctl net.mptcp.enabled: writing `maybe`: "), "{refused}");
        for by in [ManagedBy::Userspace, ManagedBy::Kernel] {
            by.write().unwrap();
            assert_eq!(ManagedBy::read().unwrap(), by);
        }
        ManagedBy::Userspace.write().unwrap();
    });
    let there = || (sysctl::read(forwarding).unwrap(), ManagedBy::read().unwrap());
    assert_eq!(Hosts::within(&hosts.client, there), ("1".to_owned(), ManagedBy::Userspace));
    assert_eq!(Hosts::within(&hosts.server, there), ("0".to_owned(), ManagedBy::Kernel));
    // There is no such interface outside.
    assert!(sysctl::read(forwarding).unwrap_err().is_unknown());
}

#[test]
fn a_namespace_that_cannot_be_entered_is_named() {
    let missing = netns::enter("linux-no-such-namespace").unwrap_err();
    assert!(matches!(missing, netns::Error::Open { .. }), "{missing}");
    assert!(missing.to_string().starts_with("network namespace /run/netns/linux-no-such-namespace: "), "{missing}");
    let other = netns::enter("/dev/null").unwrap_err();
    assert!(matches!(other, netns::Error::Enter { .. }), "{other}");
    // A namespace, but not of networks.
    let other = netns::enter("/proc/self/ns/uts").unwrap_err();
    assert!(matches!(other, netns::Error::Enter { .. }), "{other}");
}
