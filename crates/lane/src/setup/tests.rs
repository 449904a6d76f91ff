use std::collections::BTreeMap;

use headway_linux::route::{Address, Link, OperState, Prefix, Route as KernelRoute, RouteKind, Rule};

use super::apply::Host;
use super::*;
use crate::config::Configuration;
use crate::settings::Settings;

fn settings(text: &str) -> Settings {
    Configuration::read(text, "lane.toml", &|_| None).unwrap_or_else(|problems| panic!("{problems}")).settings
}

const TWO: &str = r#"
[[lane]]
name = "fast"
role = "short"
interface = "eth0"

[[lane]]
name = "bulk"
role = "long"
interface = "eth1"
gateway = ["10.1.0.1", "fd00:1::1"]
"#;

fn link(index: u32, name: &str) -> Link {
    Link { index, name: name.to_owned(), up: true, carrier: true, state: OperState::Up, mtu: 1500 }
}

fn address(interface: u32, text: &str) -> Address {
    let Prefix { ip, length } = text.parse().unwrap();
    let global = !text.starts_with("fe80");
    Address { interface, ip, prefix: length, global, usable: true, deprecated: false }
}

fn route(table: u32, destination: &str, gateway: Option<&str>, interface: u32) -> KernelRoute {
    KernelRoute {
        table,
        destination: destination.parse().unwrap(),
        gateway: gateway.map(|gateway| gateway.parse().unwrap()),
        interface,
        source: None,
        onlink: false,
        metric: 0,
        protocol: 2,
        kind: RouteKind::Unicast,
        multipath: false,
    }
}

/// Two interfaces with both families, as a distribution leaves them.
fn present() -> Present {
    let sysctl = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    let sysctls = [
        ("net.mptcp.enabled", "1"),
        ("net.mptcp.path_manager", "kernel"),
        ("net.mptcp.pm_type", "0"),
        ("net.ipv4.conf.all.rp_filter", "0"),
        ("net.ipv4.conf.eth0.rp_filter", "2"),
        ("net.ipv4.conf.eth1.rp_filter", "1"),
    ];
    Present {
        links: vec![link(1, "lo"), link(2, "eth0"), link(3, "eth1")],
        addresses: ["10.0.0.5/24", "fd00::5/64", "fe80::2/64"]
            .map(|text| address(2, text))
            .into_iter()
            .chain(["10.1.0.5/24", "fd00:1::5/64", "fe80::3/64"].map(|text| address(3, text)))
            .collect(),
        main: vec![
            route(MAIN, "0.0.0.0/0", Some("10.0.0.1"), 2),
            route(MAIN, "10.0.0.0/24", None, 2),
            route(MAIN, "10.77.0.0/16", Some("10.0.0.7"), 2),
            route(MAIN, "10.1.0.0/24", None, 3),
            route(MAIN, "fd00::/64", None, 2),
            route(MAIN, "fe80::/64", None, 2),
            route(MAIN, "::/0", Some("fe80::1"), 2),
            route(MAIN, "fd00:1::/64", None, 3),
        ],
        sysctls: sysctls.into_iter().map(sysctl).collect(),
        limits: Some(Limits { subflows: 2, add_addr_accepted: 0 }),
        ..Present::default()
    }
}

#[test]
fn every_lane_gets_a_table_with_its_routes_and_rules_last() {
    let text = plan(&settings(TWO), &present()).to_string();
    assert_eq!(
        text,
        "# there already: sysctl -w net.mptcp.enabled=1
sysctl -w net.mptcp.path_manager=userspace  # now kernel
ip mptcp limits set subflows 8 add_addr_accepted 8  # now subflows 2 add_addr_accepted 0
ip route add 10.0.0.0/24 dev eth0 src 10.0.0.5 table 8300 proto 183
ip route add default via 10.0.0.1 dev eth0 src 10.0.0.5 table 8300 proto 183
ip route add 10.77.0.0/16 via 10.0.0.7 dev eth0 src 10.0.0.5 table 8300 proto 183
ip -6 route add fd00::/64 dev eth0 src fd00::5 table 8300 proto 183
ip -6 route add default via fe80::1 dev eth0 src fd00::5 table 8300 proto 183
ip route add 10.1.0.0/24 dev eth1 src 10.1.0.5 table 8301 proto 183
ip route add default via 10.1.0.1 dev eth1 src 10.1.0.5 table 8301 proto 183
ip -6 route add fd00:1::/64 dev eth1 src fd00:1::5 table 8301 proto 183
ip -6 route add default via fd00:1::1 dev eth1 src fd00:1::5 table 8301 proto 183
ip rule add from 10.0.0.5 lookup 8300 priority 8300 protocol 183
ip -6 rule add from fd00::5 lookup 8300 priority 8300 protocol 183
ip rule add from 10.1.0.5 lookup 8301 priority 8300 protocol 183
ip -6 rule add from fd00:1::5 lookup 8301 priority 8300 protocol 183
# warning: lane `bulk`: eth1 drops packets whose answers would leave by another interface (rp_filter is 1); 2 is looser: sysctl -w net.ipv4.conf.eth1.rp_filter=2
"
    );
}

#[test]
fn what_is_missing_on_the_host_is_said() {
    let four = "[[lane]]\nname = \"a\"\nrole = \"short\"\naddress = [\"10.0.0.5\", \"10.0.0.6\"]\n\
        [[lane]]\nname = \"b\"\nrole = \"long\"\ninterface = \"eth1\"\naddress = \"10.1.0.5\"\n\
        [[lane]]\nname = \"c\"\nrole = \"long\"\ninterface = \"eth7\"\n\
        [[lane]]\nname = \"d\"\nrole = \"long\"\naddress = \"192.0.2.1\"\n";
    let mut present = present();
    present.links[2].carrier = false;
    present.sysctls.clear();
    present.limits = None;
    let plan = plan(&settings(four), &present);
    assert_eq!(
        plan.warnings,
        [
            "this kernel has no MPTCP; see `headway-lane doctor`",
            "lane `a`: eth0 has no address 10.0.0.6",
            "lane `b`: eth1 is down",
            "lane `b`: no IPv4 gateway is known by eth1, so only its own networks can be reached over it",
            "lane `c`: there is no interface eth7",
            "lane `d`: this host has none of its addresses",
        ]
    );
    let text = plan.to_string();
    assert!(text.contains("ip route add 10.1.0.0/24 dev eth1 src 10.1.0.5 table 8301"), "{text}");
    assert!(!text.contains("table 8302") && !text.contains("fd00"), "{text}");
}

#[test]
fn an_older_kernel_has_another_sysctl_and_a_gateway_elsewhere_is_on_link() {
    let mut present = present();
    present.sysctls.remove("net.mptcp.path_manager");
    let text = plan(&settings(&TWO.replace("10.1.0.1", "10.99.0.1")), &present).to_string();
    assert!(text.contains("sysctl -w net.mptcp.pm_type=1  # now 0\n"), "{text}");
    assert!(text.contains("default via 10.99.0.1 dev eth1 src 10.1.0.5 onlink table 8301"), "{text}");
}

#[test]
fn what_others_have_in_a_lanes_table_is_not_touched() {
    let mut there = present();
    there.tables = vec![route(8300, "0.0.0.0/0", Some("10.1.0.1"), 3), route(8300, "10.0.0.0/24", None, 2)];
    let plan = plan(&settings(TWO), &there);
    let text = plan.to_string();
    assert!(
        text.contains(
            "# cannot be done, 0.0.0.0/0 via 10.1.0.1 dev eth1 table 8300 is in its place: ip route add default"
        ),
        "{text}"
    );
    assert!(text.contains("# there already: ip route add 10.0.0.0/24"), "{text}");
    let folder = tempfile::tempdir().unwrap();
    let mut host = Fake::new();
    let error = Setup::open(folder.path(), None).unwrap().apply(&plan, &mut host).unwrap_err();
    assert!(matches!(error, SetupError::Taken { .. }), "{error}");
    assert_eq!(host.changes, 0);
}

/// A host that fails from its n-th change on, before or after doing it: as if the process was killed there.
struct Fake {
    sysctls: BTreeMap<String, String>,
    limits: Limits,
    steps: Vec<Step>,
    changes: usize,
    dies_at: usize,
    does_it: bool,
}

/// What unwinding carries when the process is killed.
struct Killed;

impl Fake {
    fn new() -> Fake {
        let present = present();
        Fake {
            sysctls: present.sysctls,
            limits: present.limits.unwrap(),
            steps: Vec::new(),
            changes: 0,
            dies_at: usize::MAX,
            does_it: false,
        }
    }

    fn change(&mut self, change: impl FnOnce(&mut Fake)) {
        self.changes += 1;
        let dies = self.changes == self.dies_at;
        if !dies || self.does_it {
            change(self);
        }
        if dies {
            std::panic::resume_unwind(Box::new(Killed));
        }
    }

    fn state(&self) -> (BTreeMap<String, String>, Limits, Vec<Step>) {
        (self.sysctls.clone(), self.limits, self.steps.clone())
    }
}

impl Host for Fake {
    fn sysctl(&mut self, name: &str) -> Result<String, String> {
        self.sysctls.get(name).cloned().ok_or_else(|| "unknown".to_owned())
    }
    fn set_sysctl(&mut self, name: &str, value: &str) -> Result<(), String> {
        self.change(|host| _ = host.sysctls.insert(name.to_owned(), value.to_owned()));
        Ok(())
    }
    fn limits(&mut self) -> Result<Limits, String> {
        Ok(self.limits)
    }
    fn set_limits(&mut self, limits: Limits) -> Result<(), String> {
        self.change(|host| host.limits = limits);
        Ok(())
    }
    fn add(&mut self, step: &Step) -> Result<(), String> {
        self.change(|host| host.steps.push(step.clone()));
        Ok(())
    }
    fn remove(&mut self, step: &Step) -> Result<bool, String> {
        let there = self.steps.contains(step);
        self.change(|host| host.steps.retain(|one| one != step));
        Ok(there)
    }
}

fn killed(work: impl FnOnce()) -> bool {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).is_err_and(|payload| payload.is::<Killed>())
}

/// At whatever change of setting up or cleaning up the process is killed, cleaning up afterwards leaves the host as it was.
#[test]
fn wherever_it_is_killed_cleanup_puts_everything_back() {
    let plan = plan(&settings(TWO), &present());
    let fresh = Fake::new().state();
    let mut kills = 0;
    for does_it in [false, true] {
        for dies_at in 1..=31 {
            // In memory: each change waits for the disk twice.
            let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
            let mut host = Fake { dies_at, does_it, ..Fake::new() };
            let dead = killed(|| {
                Setup::open(folder.path(), None).unwrap().apply(&plan, &mut host).unwrap();
                Setup::open(folder.path(), None).unwrap().cleanup(&mut host).unwrap();
            });
            kills += usize::from(dead);
            host.dies_at = usize::MAX;
            let undone = Setup::open(folder.path(), None).unwrap().cleanup(&mut host).unwrap();
            assert!(undone.iter().all(|one| matches!(one, Undone::Undone(_) | Undone::Gone(_))), "{undone:?}");
            assert_eq!(host.state(), fresh, "killed at change {dies_at}");
            assert!(Setup::open(folder.path(), None).unwrap().cleanup(&mut host).unwrap().is_empty());
            assert!(!folder.path().join("record.json").exists());
        }
    }
    // 15 changes on the way there and as many back.
    assert_eq!(kills, 2 * 30);
}

#[test]
fn what_others_changed_since_is_left_alone_and_told() {
    let folder = tempfile::tempdir().unwrap();
    let mut host = Fake::new();
    let done = Setup::open(folder.path(), None).unwrap().apply(&plan(&settings(TWO), &present()), &mut host).unwrap();
    assert_eq!(done, Done { done: 15, there: 1 });
    host.sysctls.insert("net.mptcp.path_manager".to_owned(), "other".to_owned());
    host.limits.subflows = 5;
    host.steps.pop();
    let undone = Setup::open(folder.path(), None).unwrap().cleanup(&mut host).unwrap();
    let told: Vec<String> = undone
        .iter()
        .filter_map(|one| match one {
            Undone::Changed(step, now) => Some(format!("{step}: {now}")),
            Undone::Gone(step) => Some(format!("{step}: gone")),
            Undone::Undone(_) => None,
            Undone::Failed(step, error) => panic!("{step}: {error}"),
        })
        .collect();
    assert_eq!(
        told,
        [
            "ip -6 rule add from fd00:1::5 lookup 8301 priority 8300 protocol 183: gone",
            "ip mptcp limits set subflows 8 add_addr_accepted 8: subflows 5 add_addr_accepted 8",
            "sysctl -w net.mptcp.path_manager=userspace: other",
        ]
    );
    assert_eq!((host.sysctls["net.mptcp.path_manager"].as_str(), host.limits.subflows), ("other", 5));
    assert!(host.steps.is_empty());
}

#[test]
fn setting_up_again_remembers_what_was_there_first() {
    let folder = tempfile::tempdir().unwrap();
    let mut host = Fake::new();
    let plan = plan(&settings(TWO), &present());
    for _ in 0..2 {
        Setup::open(folder.path(), None).unwrap().apply(&plan, &mut host).unwrap();
    }
    // Twice the same rule cannot be: the kernel refuses it, the plan leaves it out.
    host.steps.dedup();
    host.steps.sort_by_key(ToString::to_string);
    host.steps.dedup();
    Setup::open(folder.path(), None).unwrap().cleanup(&mut host).unwrap();
    assert_eq!(host.state(), Fake::new().state());
}

#[test]
fn what_is_ours_gives_way_to_other_settings() {
    let folder = tempfile::tempdir().unwrap();
    let mut host = Fake::new();
    let setup = || Setup::open(folder.path(), None).unwrap();
    setup().apply(&plan(&settings(TWO), &present()), &mut host).unwrap();
    // another gateway, and the lanes the other way round
    let text = TWO.replace("10.1.0.1", "10.1.0.9");
    let (head, tail) = text.split_at(text.rfind("[[lane]]").unwrap());
    let other = settings(&format!("{tail}{head}"));
    let mut there = present();
    there.tables = vec![
        KernelRoute { protocol: PROTOCOL, ..route(8301, "0.0.0.0/0", Some("10.1.0.1"), 3) },
        KernelRoute { protocol: PROTOCOL, ..route(8300, "10.0.0.0/24", None, 2) },
    ];
    let changed = plan(&other, &there);
    setup().apply(&changed, &mut host).unwrap();
    let wanted = |step: &Step| changed.steps.iter().any(|planned| planned.step == *step);
    assert!(host.steps.iter().all(wanted), "{:?}", host.steps);
    let routes = |step: &&Planned| matches!(step.step, Step::Route(_) | Step::Rule { .. });
    assert_eq!(host.steps.len(), changed.steps.iter().filter(routes).count());
    setup().cleanup(&mut host).unwrap();
    assert_eq!(host.state(), Fake::new().state());
}

#[test]
fn two_at_a_time_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let _one = Setup::open(folder.path(), None).unwrap();
    assert!(matches!(Setup::open(folder.path(), Some("blue")), Err(SetupError::Busy(_))));
}

#[test]
fn a_rule_that_is_there_is_found() {
    let mut there = present();
    let from = Prefix::host("10.0.0.5".parse().unwrap());
    let rule = |other| Rule { from, to: Prefix::ALL_IPV4, table: 8300, priority: 8300, protocol: 0, other };
    let missing = |present: &Present| {
        plan(&settings(TWO), present).to_string().contains("\nip rule add from 10.0.0.5 lookup 8300")
    };
    // With another condition it is another rule.
    there.rules = vec![rule(true)];
    assert!(missing(&there));
    there.rules = vec![rule(false)];
    assert!(!missing(&there));
}
