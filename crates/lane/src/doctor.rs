//! `doctor`: what this host lacks, and what to do about it.
//!
//! [`Facts`] are gathered in one place and judged in another, so that hosts can be made up in tests.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};

use headway_daemon::report::{Report, Verdict};
use headway_daemon::setup::State;
use headway_linux::capabilities::Capabilities;
use headway_linux::diag::Diag;
use headway_linux::mptcp::PathManager;
use headway_linux::route::Rtnetlink;
use headway_linux::sysctl;

use crate::settings::{Remote, Settings};
use crate::setup::{self, ENABLED, PATH_MANAGER, PM_TYPE, Present, Recorded, Step, Warning};

/// Where packets from an address of a lane would go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Way {
    /// The lane.
    pub lane: String,
    /// Its address.
    pub from: IpAddr,
    /// Where to.
    pub to: IpAddr,
    /// The interface that they should leave by.
    pub wanted: String,
    /// The one that they would leave by; `None`: there is no way.
    pub taken: Option<String>,
}

/// What was found on the host.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Facts {
    /// `uname -r`.
    pub release: String,
    /// `net.mptcp.enabled`; `None`: no such sysctl.
    pub enabled: Option<String>,
    /// `net.mptcp.path_manager`.
    pub path_manager: Option<String>,
    /// `net.mptcp.pm_type`.
    pub pm_type: Option<String>,
    /// `net.mptcp.available_path_managers`.
    pub available: Option<String>,
    /// Why the generic netlink family cannot be used, if so.
    pub family: Option<String>,
    /// Whether the state of TCP sockets, and of MPTCP ones, can be asked for; an error if not even that is known.
    pub diag: Option<Result<(bool, bool), String>>,
    /// Whether the process has `CAP_NET_ADMIN`.
    pub net_admin: bool,
    /// Where `mptcpize` is.
    pub mptcpize: Option<PathBuf>,
    /// What `run --apply-routes` would do; `None` without a configuration.
    pub plan: Option<Result<setup::Plan, String>>,
    /// Where packets of lanes would go.
    pub ways: Vec<Way>,
}

/// Looks at the host, in the network namespace `netns` if it is given.
pub fn examine(settings: Option<&Settings>, netns: Option<&str>) -> Report {
    let mut report = Report::default();
    if let Some(name) = netns {
        let has = Capabilities::effective().is_ok_and(|all| all.sys_admin);
        if !has {
            let advice = "run as root, or give the service CAP_SYS_ADMIN, or start it inside the namespace (headway-lane@.service)";
            report.add("CAP_SYS_ADMIN", Verdict::Missing, "needed for --netns", advice);
        }
        if let Err(error) = headway_linux::netns::enter(name) {
            let advice = "`ip netns list` shows those there are; `ip netns add` makes one";
            report.add("namespace", Verdict::Missing, error.to_string(), advice);
            return report;
        }
        report.add("namespace", Verdict::Ok, name, "");
    }
    report.checks.extend(judge(&Facts::gather(settings, netns), settings).checks);
    report
}

impl Facts {
    /// Looks at the calling thread's network namespace, which the daemon calls `netns`.
    pub fn gather(settings: Option<&Settings>, netns: Option<&str>) -> Facts {
        let value = |name: &str| sysctl::read(name).ok();
        let mut facts = Facts {
            release: value("kernel.osrelease").unwrap_or_default(),
            enabled: value(ENABLED),
            path_manager: value(PATH_MANAGER),
            pm_type: value(PM_TYPE),
            available: value("net.mptcp.available_path_managers"),
            family: PathManager::open().err().map(|error| error.to_string()),
            diag: Some(Diag::open().and_then(|mut diag| diag.supports()).map_err(|error| error.to_string())),
            net_admin: Capabilities::effective().is_ok_and(|all| all.net_admin),
            mptcpize: program("mptcpize"),
            plan: None,
            ways: Vec::new(),
        };
        if let Some(settings) = settings {
            // who may not read the record sees the host as it is
            let recorded = Recorded::read(&settings.operations.state, netns).unwrap_or_default();
            let present = Present::read(settings, recorded);
            facts.ways = present.as_ref().map_or_else(|_| Vec::new(), |present| ways(settings, present));
            let plan = present.map(|present| setup::plan(settings, &present));
            facts.plan = Some(plan.map_err(|error| error.to_string()));
        }
        facts
    }
}

/// Where a program of the name is, by `PATH`.
fn program(name: &str) -> Option<PathBuf> {
    let paths = std::env::var_os("PATH")?;
    std::env::split_paths(&paths).map(|folder| folder.join(name)).find(|path| Path::is_file(path))
}

/// Asks the kernel where packets from lanes' addresses would go.
fn ways(settings: &Settings, present: &Present) -> Vec<Way> {
    let Ok(mut netlink) = Rtnetlink::open() else { return Vec::new() };
    let mut ways = Vec::new();
    for lane in &settings.lanes {
        let index = lane.interface.as_ref().and_then(|name| present.link(name)).map(|link| link.index);
        for address in &present.addresses {
            let of_lane = if lane.addresses.is_empty() {
                Some(address.interface) == index && address.global
            } else {
                lane.addresses.contains(&address.ip)
            };
            let Some(wanted) = present.name(address.interface).filter(|_| of_lane) else { continue };
            // Documentation addresses stand for any that only a default route leads to (RFC 5737, RFC 3849).
            let v4 = address.ip.is_ipv4();
            let any =
                if v4 { Ipv4Addr::new(192, 0, 2, 1).into() } else { Ipv6Addr::from(0x2001_0db8 << 96 | 1).into() };
            let to = match &lane.remote {
                Remote::Mapped(nets) => {
                    let own = |ip: &IpAddr| present.addresses.iter().any(|address| address.ip == *ip);
                    let net = nets.iter().find(|net| net.addr().is_ipv4() == v4);
                    net.and_then(|net| net.hosts().find(|ip| !own(ip))).unwrap_or(any)
                }
                Remote::Same | Remote::Announced => any,
            };
            let Ok(found) = netlink.lookup(to, Some(address.ip), 0) else { continue };
            let taken = found.and_then(|found| present.name(found.interface)).map(str::to_owned);
            ways.push(Way { lane: lane.name.clone(), from: address.ip, to, wanted: wanted.to_owned(), taken });
        }
    }
    ways
}

/// The first two numbers of a kernel's release.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut parts = release.split(|c: char| !c.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// What `facts` mean for a daemon with `settings`.
pub fn judge(facts: &Facts, settings: Option<&Settings>) -> Report {
    use Verdict::{Missing, Note, Ok};
    let mut report = Report::default();
    kernel(facts, &mut report);
    match facts.enabled.as_deref() {
        None => report.add("MPTCP", Missing, "not in this kernel", "take a kernel with CONFIG_MPTCP=y"),
        Some("1") => report.add("MPTCP", Ok, "enabled", ""),
        Some(_) => report.add(
            "MPTCP",
            Missing,
            "switched off",
            "sysctl -w net.mptcp.enabled=1, or `headway-lane run --apply-routes`",
        ),
    }
    match &facts.family {
        None => report.add("path manager", Ok, "answers (generic netlink mptcp_pm)", ""),
        Some(error) => {
            report.add(
                "path manager",
                Missing,
                error.clone(),
                "take a kernel with CONFIG_MPTCP=y, Linux 5.19 or later",
            );
        }
    }
    userspace(facts, &mut report);
    match &facts.diag {
        Some(Result::Ok((tcp, mptcp))) => {
            let advice = |module: &str| format!("modprobe {module} (CONFIG_INET_{})", module.to_uppercase());
            let found = |has: &bool| if *has { "answers" } else { "not in this kernel" };
            report.add("TCP state", if *tcp { Ok } else { Missing }, found(tcp), &advice("tcp_diag"));
            let verdict = if *mptcp { Ok } else { Missing };
            report.add("MPTCP state", verdict, found(mptcp), "modprobe mptcp_diag (CONFIG_INET_MPTCP_DIAG)");
        }
        Some(Err(error)) => report.add("TCP state", Missing, error.clone(), "modprobe inet_diag tcp_diag mptcp_diag"),
        None => {}
    }
    let advice = "run as root, or give the service CAP_NET_ADMIN, as headway-lane.service does";
    let (verdict, found) =
        if facts.net_admin { (Ok, "there") } else { (Missing, "not among this process' capabilities") };
    report.add("CAP_NET_ADMIN", verdict, found, advice);
    match (&facts.plan, settings) {
        (Some(Result::Ok(plan)), Some(_)) => lanes(plan, facts, &mut report),
        (Some(Err(error)), _) => report.add("lanes", Missing, error.clone(), ""),
        _ => report.add("configuration", Note, "there is none, so lanes were not looked at", "see lane.toml(5)"),
    }
    match &facts.mptcpize {
        Some(path) => report.add("applications", Ok, format!("mptcpize is {}", path.display()), ""),
        None => report.add(
            "applications",
            Note,
            "there is no mptcpize",
            "it makes applications use MPTCP that do not do so by themselves; package mptcpize, or GODEBUG=multipathtcp=1 for \
             Go, or sockets with IPPROTO_MPTCP",
        ),
    }
    report
}

fn kernel(facts: &Facts, report: &mut Report) {
    let release = facts.release.clone();
    let (verdict, advice) = match version(&facts.release) {
        Some(version) if version < (5, 19) => {
            (Verdict::Missing, "the userspace path manager came with Linux 5.19; take 6.5 or later")
        }
        Some(version) if version < (6, 5) => (
            Verdict::Note,
            "enough; Linux 6.5 counts bytes by connection, before they are added up by subflow, and what is opened for a \
             probe may carry data until it is marked as a backup, a moment later",
        ),
        Some(version) if version < (6, 12) => (
            Verdict::Note,
            "enough; what is opened for a probe may carry data until it is marked as a backup, a moment later",
        ),
        Some(_) => (Verdict::Ok, ""),
        None => (Verdict::Note, "the version is not understood; Linux 6.5 or later is wanted"),
    };
    report.add("kernel", verdict, release, advice);
}

fn userspace(facts: &Facts, report: &mut Report) {
    let (what, advice) = ("userspace path manager", "`headway-lane run --apply-routes` does it");
    let known = facts.available.as_ref().is_none_or(|all| all.split_whitespace().any(|one| one == "userspace"));
    match (&facts.path_manager, &facts.pm_type) {
        _ if !known => {
            report.add(what, Verdict::Missing, "not in this kernel", "take a kernel whose MPTCP has it (Linux 5.19)");
        }
        (Some(now), _) if now == "userspace" => report.add(what, Verdict::Ok, "chosen", ""),
        (None, Some(now)) if now == "1" => report.add(what, Verdict::Ok, "chosen", ""),
        (Some(now), _) => {
            let advice = format!("sysctl -w {PATH_MANAGER}=userspace, or {advice}");
            report.add(what, Verdict::Missing, format!("`{now}` is chosen"), &advice);
        }
        (None, Some(_)) => {
            let advice = format!("sysctl -w {PM_TYPE}=1, or {advice}");
            report.add(what, Verdict::Missing, "the kernel's own is chosen", &advice);
        }
        (None, None) => {
            report.add(what, Verdict::Missing, "not in this kernel", "it came with Linux 5.19");
        }
    }
}

fn lanes(plan: &setup::Plan, facts: &Facts, report: &mut Report) {
    for warning in &plan.warnings {
        let Warning::Lane { problem, .. } = warning else { continue };
        let verdict = if problem.is_broken() { Verdict::Missing } else { Verdict::Note };
        report.add("lanes", verdict, warning.to_string(), "");
    }
    for way in &facts.ways {
        let Way { lane, from, to, wanted, taken } = way;
        let what = format!("way of {lane}");
        let advice = "`headway-lane run --apply-routes` does it; `plan` shows how";
        match taken {
            Some(taken) if taken == wanted => {
                report.add(&what, Verdict::Ok, format!("from {from} to {to} by {taken}"), "");
            }
            Some(taken) => {
                let found = format!("packets from {from} to {to} leave by {taken}, not by {wanted}");
                report.add(&what, Verdict::Missing, found, advice);
            }
            None => {
                let found = format!("from {from} there is no way to {to}");
                report.add(&what, Verdict::Note, found, "only the lane's own networks can be reached over it");
            }
        }
    }
    let taken = plan.steps.iter().filter(|planned| matches!(planned.state, State::Taken(_)));
    for planned in taken {
        if let (Step::Route(route), State::Taken(now)) = (&planned.step, &planned.state) {
            let found = format!("table {} has {now}, which is not ours", route.table);
            report.add("routing tables", Verdict::Missing, found, "choose another `setup.table`");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good() -> Facts {
        Facts {
            release: "6.18.3-amd64".to_owned(),
            enabled: Some("1".to_owned()),
            path_manager: Some("userspace".to_owned()),
            pm_type: Some("1".to_owned()),
            available: Some("kernel userspace".to_owned()),
            family: None,
            diag: Some(Ok((true, true))),
            net_admin: true,
            mptcpize: Some(PathBuf::from("/usr/bin/mptcpize")),
            plan: None,
            ways: Vec::new(),
        }
    }

    /// What is missing, by name.
    fn missing(facts: &Facts) -> Vec<String> {
        let report = judge(facts, None);
        for check in &report.checks {
            assert!(check.verdict != Verdict::Missing || check.advice.is_some(), "{check:?}");
        }
        report.checks.into_iter().filter(|one| one.verdict == Verdict::Missing).map(|one| one.what).collect()
    }

    #[test]
    fn each_thing_that_is_missing_is_named() {
        assert!(judge(&good(), None).is_fine());
        for (change, name) in [
            (Box::new(|f: &mut Facts| f.release = "5.15.0-91-generic".to_owned()) as Box<dyn Fn(&mut Facts)>, "kernel"),
            (Box::new(|f| f.enabled = Some("0".to_owned())), "MPTCP"),
            (Box::new(|f| f.family = Some("no family mptcp_pm".to_owned())), "path manager"),
            (Box::new(|f| f.path_manager = Some("kernel".to_owned())), "userspace path manager"),
            (Box::new(|f| f.available = Some("kernel".to_owned())), "userspace path manager"),
            (Box::new(|f| (f.path_manager, f.pm_type) = (None, Some("0".to_owned()))), "userspace path manager"),
            (Box::new(|f| (f.path_manager, f.pm_type, f.available) = (None, None, None)), "userspace path manager"),
            (Box::new(|f| f.diag = Some(Ok((false, true)))), "TCP state"),
            (Box::new(|f| f.diag = Some(Ok((true, false)))), "MPTCP state"),
            (Box::new(|f| f.diag = Some(Err("EPERM".to_owned()))), "TCP state"),
            (Box::new(|f| f.net_admin = false), "CAP_NET_ADMIN"),
        ] {
            let mut facts = good();
            change(&mut facts);
            assert_eq!(missing(&facts), [name]);
        }
        let older = Facts { path_manager: None, available: None, release: "6.1.0".to_owned(), ..good() };
        assert!(missing(&older).is_empty(), "a kernel without the newer sysctls is enough");
        assert!(judge(&older, None).to_string().contains("Linux 6.5"));
    }

    #[test]
    fn a_way_by_the_wrong_interface_is_named() {
        let text = "[[lane]]\nname = \"a\"\nrole = \"short\"\ninterface = \"eth0\"\n\
            [[lane]]\nname = \"b\"\nrole = \"long\"\ninterface = \"eth1\"\n";
        let settings = crate::config::Configuration::read(text, "x", &|_| None).unwrap().settings;
        let way = |taken: Option<&str>| Way {
            lane: "b".to_owned(),
            from: "10.1.0.5".parse().unwrap(),
            to: "192.0.2.1".parse().unwrap(),
            wanted: "eth1".to_owned(),
            taken: taken.map(str::to_owned),
        };
        let report = |taken| {
            let down = setup::LaneProblem::Down("eth1".to_owned());
            let warnings = vec![Warning::Lane { lane: "b".to_owned(), problem: down }];
            let plan = setup::Plan { warnings, ..setup::Plan::default() };
            judge(&Facts { ways: vec![way(taken)], plan: Some(Ok(plan)), ..good() }, Some(&settings)).to_string()
        };
        let text = report(Some("eth0"));
        assert!(
            text.contains(
                "missing  way of b                packets from 10.1.0.5 to 192.0.2.1 leave by eth0, not by eth1\n"
            ),
            "{text}"
        );
        assert!(text.contains("-> `headway-lane run --apply-routes` does it"), "{text}");
        assert!(text.contains("missing  lanes                   lane `b`: eth1 is down\n"), "{text}");
        assert!(report(Some("eth1")).contains("ok       way of b"), "{text}");
        assert!(report(None).contains("note     way of b"), "{text}");
    }

    #[test]
    fn versions_are_the_first_two_numbers() {
        assert_eq!(version("6.18.44-fc-v657"), Some((6, 18)));
        assert_eq!(version("6.1"), Some((6, 1)));
        assert_eq!(version("strange"), None);
    }
}
