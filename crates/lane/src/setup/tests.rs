use std::collections::BTreeMap;
use std::path::Path;

use headway_daemon::setup::Undone;
use headway_linux::route::{Address, Link, OperState, Prefix, Route as KernelRoute, RouteKind, Rule};

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
    let warnings: Vec<String> = plan.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
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
fn routes_by_an_interface_that_is_down_wait_for_it_and_are_not_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let mut host = Fake::new();
    let mut there = present();
    there.links[2].up = false;
    let down = plan(&settings(TWO), &there);
    let waits = "# once eth1 is up: ip route add default via 10.1.0.1 dev eth1 src 10.1.0.5 table 8301 proto 183\n";
    assert!(down.to_string().contains(waits), "{down}");
    let done = Setup::open(folder.path(), None).unwrap().apply(&down, &mut host).unwrap();
    // without the four routes of eth1
    assert_eq!((done.done, done.there), (11, 1));
    assert_eq!(host.apply(folder.path(), TWO).done, 4);
    // it goes down and the kernel takes its routes; they are none that nobody wants
    host.steps.retain(|step| !matches!(step, Step::Route(route) if route.interface == "eth1"));
    there.recorded = Recorded::read(folder.path(), None).unwrap();
    assert!(plan(&settings(TWO), &there).undo.is_empty());
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

    /// What is there now, as a daemon finds it that has the record in `folder`.
    fn present(&self, folder: &Path) -> Present {
        self.present_with(folder, &present())
    }

    /// The same on top of other interfaces and addresses.
    fn present_with(&self, folder: &Path, host: &Present) -> Present {
        let mut present = Present {
            sysctls: self.sysctls.clone(),
            limits: Some(self.limits),
            recorded: Recorded::read(folder, None).unwrap(),
            ..host.clone()
        };
        for step in &self.steps {
            match step {
                Step::Route(route) => {
                    let index = present.link(&route.interface).unwrap().index;
                    present.tables.push(super::plan::as_kernel(route, index));
                }
                Step::Rule { from, table, priority } => present.rules.push(Rule {
                    from: Prefix::host(*from),
                    to: if from.is_ipv4() { Prefix::ALL_IPV4 } else { Prefix::ALL_IPV6 },
                    table: *table,
                    priority: *priority,
                    protocol: PROTOCOL,
                    other: false,
                }),
                _ => unreachable!(),
            }
        }
        present
    }

    /// Everything that a daemon with these settings does at its start.
    fn apply(&mut self, folder: &Path, text: &str) -> Done {
        let plan = plan(&settings(text), &self.present(folder));
        Setup::open(folder, None).unwrap().apply(&plan, self).unwrap()
    }

    /// Routes and rules as commands, sorted.
    fn texts(&self) -> Vec<String> {
        let mut texts: Vec<String> = self.steps.iter().map(ToString::to_string).collect();
        texts.sort();
        texts
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
        if self.steps.contains(step) {
            return Ok(());
        }
        let clash = |one: &Step| match (one, step) {
            (Step::Route(one), Step::Route(two)) => one.table == two.table && one.destination == two.destination,
            _ => false,
        };
        if self.steps.iter().any(clash) {
            return Err("File exists".to_owned());
        }
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
    assert_eq!(done, Done { done: 15, there: 1, undone: 0, in_use: 0, waits: 0 });
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
fn setting_up_again_changes_nothing_and_remembers_what_was_there_first() {
    let folder = tempfile::tempdir().unwrap();
    let mut host = Fake::new();
    host.apply(folder.path(), TWO);
    let (before, changes) = (host.state(), host.changes);
    assert_eq!(host.apply(folder.path(), TWO), Done { done: 0, there: 16, undone: 0, in_use: 0, waits: 0 });
    assert_eq!((host.state(), host.changes), (before, changes));
    Setup::open(folder.path(), None).unwrap().cleanup(&mut host).unwrap();
    assert_eq!(host.state(), Fake::new().state());
}

/// Another gateway for the long lane, and the lanes the other way round.
fn turned() -> String {
    let text = TWO.replace("10.1.0.1", "10.1.0.9");
    let (head, tail) = text.split_at(text.rfind("[[lane]]").unwrap());
    format!("{tail}{head}")
}

/// Without the long lane's IPv4 address, and with lower limits.
fn less() -> String {
    let text = TWO.replace("gateway = [\"10.1.0.1\", \"fd00:1::1\"]", "address = \"fd00:1::5\"");
    format!("{text}\n[limits]\nsubflows = 3\naccepted-addresses = 0\n")
}

/// What is set up on a host that had nothing.
fn fresh(text: &str) -> Fake {
    let folder = tempfile::tempdir().unwrap();
    let mut host = Fake::new();
    host.apply(folder.path(), text);
    host
}

#[test]
fn what_other_settings_do_not_want_is_undone_and_nothing_else() {
    for (text, undone) in [(turned(), 13), (less(), 4)] {
        let folder = tempfile::tempdir().unwrap();
        let mut host = Fake::new();
        // of this protocol and in such a table, but of nobody knows whom
        let foreign = Step::Rule { from: "10.1.0.5".parse().unwrap(), table: 8300, priority: 7 };
        host.steps.push(foreign.clone());
        host.apply(folder.path(), TWO);
        let done = host.apply(folder.path(), &text);
        assert_eq!(done.undone, undone, "{text}");
        assert!(host.steps.contains(&foreign));
        host.steps.retain(|step| *step != foreign);
        let wanted = fresh(&text);
        assert_eq!((host.texts(), host.limits), (wanted.texts(), wanted.limits), "{text}");
        Setup::open(folder.path(), None).unwrap().cleanup(&mut host).unwrap();
        assert_eq!(host.state(), Fake::new().state());
    }
}

#[test]
fn a_plan_says_what_is_undone() {
    let folder = tempfile::tempdir().unwrap();
    let mut host = Fake::new();
    host.apply(folder.path(), TWO);
    let text = plan(&settings(&less()), &host.present(folder.path())).to_string();
    let first: Vec<&str> = text.lines().take(6).collect();
    assert_eq!(
        first,
        [
            "ip rule del from 10.1.0.5 lookup 8301 priority 8300 protocol 183  # set up before, not wanted any more",
            "ip -6 route del default via fd00:1::1 dev eth1 src fd00:1::5 table 8301 proto 183  # set up before, not wanted any more",
            "ip route del default via 10.1.0.1 dev eth1 src 10.1.0.5 table 8301 proto 183  # set up before, not wanted any more",
            "ip route del 10.1.0.0/24 dev eth1 src 10.1.0.5 table 8301 proto 183  # set up before, not wanted any more",
            "# there already: sysctl -w net.mptcp.enabled=1",
            "# there already: sysctl -w net.mptcp.path_manager=userspace",
        ]
    );
    assert!(
        text.contains("limits set subflows 3 add_addr_accepted 0  # now subflows 8 add_addr_accepted 8\n"),
        "{text}"
    );
}

/// Wherever the process is killed between two settings: the next daemon makes the host as it wants it, and cleaning up
/// leaves it as it was.
#[test]
fn wherever_a_change_of_settings_is_killed_the_record_is_true() {
    let folder = || tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let mut kills = 0;
    for text in [turned(), less()] {
        let wanted = fresh(&text);
        for does_it in [false, true] {
            for dies_at in 1..=40 {
                for again in [false, true] {
                    let folder = folder();
                    let mut host = Fake::new();
                    host.apply(folder.path(), TWO);
                    (host.changes, host.dies_at, host.does_it) = (0, dies_at, does_it);
                    kills += usize::from(killed(|| _ = host.apply(folder.path(), &text)));
                    host.dies_at = usize::MAX;
                    if again {
                        host.apply(folder.path(), &text);
                        assert_eq!((host.texts(), host.limits), (wanted.texts(), wanted.limits), "killed at {dies_at}");
                    }
                    let undone = Setup::open(folder.path(), None).unwrap().cleanup(&mut host).unwrap();
                    assert!(undone.iter().all(|one| matches!(one, Undone::Undone(_) | Undone::Gone(_))), "{undone:?}");
                    assert_eq!(host.state(), Fake::new().state(), "killed at change {dies_at} of {text}");
                }
            }
        }
    }
    // 13 + 13 changes of one; 4 of the other, and its limits
    assert_eq!(kills, 4 * (26 + 5));
}

#[test]
fn a_lane_that_connections_still_use_keeps_its_way_until_they_are_over() {
    let three =
        format!("{TWO}\n[[lane]]\nname = \"other\"\nrole = \"long\"\ninterface = \"eth2\"\ngateway = \"10.2.0.1\"\n");
    // without the one in the middle, whose table the last one would have
    let two = format!(
        "{}{}",
        &three[..three.find("[[lane]]\nname = \"bulk").unwrap()],
        &three[three.rfind("[[lane]]").unwrap()..]
    );
    let with_eth2 = |mut present: Present| {
        present.links.push(link(4, "eth2"));
        present.addresses.push(address(4, "10.2.0.5/24"));
        present
    };
    let folder = tempfile::tempdir().unwrap();
    let mut host = Fake::new();
    let setup = || Setup::open(folder.path(), None).unwrap();
    setup().apply(&plan(&settings(&three), &with_eth2(present())), &mut host).unwrap();
    let there = |host: &Fake, used: &[&str]| {
        let mut there = host.present_with(folder.path(), &with_eth2(present()));
        there.used = used.iter().map(|ip| ip.parse().unwrap()).collect();
        there
    };
    let leads = |host: &Fake, from: &str, table: u32| {
        let rules = |step: &&Step| matches!(step, Step::Rule { from: one, .. } if one.to_string() == from);
        host.steps.iter().filter(rules).all(|step| matches!(step, Step::Rule { table: one, .. } if *one == table))
            && host.steps.iter().any(|step| matches!(step, Step::Route(one) if one.table == table))
    };
    // IPv4 of it is in use, IPv6 is not
    let changed = plan(&settings(&two), &there(&host, &["10.1.0.5"]));
    assert!(
        changed.to_string().contains("# once no connection uses it any more: ip rule del from 10.1.0.5 lookup 8301")
    );
    let before = host.texts();
    let done = setup().apply(&changed, &mut host).unwrap();
    assert_eq!((done.undone, done.in_use), (1, 5));
    assert!(leads(&host, "10.1.0.5", 8301) && leads(&host, "10.2.0.5", 8302), "{:#?}", host.steps);
    let gone: Vec<&String> = before.iter().filter(|text| !host.texts().contains(text)).collect();
    assert_eq!(gone, ["ip -6 rule add from fd00:1::5 lookup 8301 priority 8300 protocol 183"]);
    // once more nothing, as long as it is
    let again = setup().apply(&plan(&settings(&two), &there(&host, &["10.1.0.5"])), &mut host).unwrap();
    assert_eq!((again.done, again.undone, again.in_use), (0, 0, 5));
    // then the last one moves up
    let last = setup().apply(&plan(&settings(&two), &there(&host, &[])), &mut host).unwrap();
    assert_eq!(last.in_use, 0);
    assert!(leads(&host, "10.2.0.5", 8301), "{:#?}", host.steps);
    assert!(host.steps.iter().all(|step| !step.to_string().contains("10.1.0") && !step.to_string().contains("8302")));
    setup().cleanup(&mut host).unwrap();
    assert_eq!(host.state(), Fake::new().state());
}

#[test]
fn a_full_disk_undoes_nothing_and_does_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut host = Fake::new();
    host.apply(folder.path(), TWO);
    let (before, changes) = (host.state(), host.changes);
    let record = std::fs::read(folder.path().join("record.json")).unwrap();
    let plan = plan(&settings(&turned()), &host.present(folder.path()));
    let mut setup = Setup::open(folder.path(), None).unwrap();
    // what the record would be written to
    std::fs::create_dir(folder.path().join("record.json.new")).unwrap();
    assert!(matches!(setup.apply(&plan, &mut host), Err(SetupError::Record { .. })));
    assert_eq!((host.state(), host.changes), (before, changes));
    assert_eq!(std::fs::read(folder.path().join("record.json")).unwrap(), record);
    drop(setup);
    // what is recorded can be done again, as when an interface comes back
    host.steps.pop();
    assert_eq!(host.apply(folder.path(), TWO).done, 1);
    // and all can be cleaned up
    Setup::open(folder.path(), None).unwrap().cleanup(&mut host).unwrap();
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
