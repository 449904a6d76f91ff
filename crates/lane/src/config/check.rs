//! What must hold between the keys of `lane.toml`.

use headway_control::lanes::MAX_SUBFLOWS;
use headway_language::{Node, Reader};
use headway_levers::Mistake;
use headway_levers::lanes::{JudgeRecord, OWN, OwnJudgeRecord};
use headway_units::Span;
use ipnet::IpNet;

use super::record::{FileRecord, LaneRecord, RoleWord, TreatmentWord};
use super::values::{Ports, RemoteValue, User};
use crate::setup::KERNEL_TABLES;

/// A lane has at most this many addresses: each subflow's is looked up among them.
const MAX_ADDRESSES: usize = 64;
/// There are at most this many rules: each connection is held against them one by one.
const MAX_RULES: usize = 1000;
/// `sun_path` of Linux holds so many bytes and a zero.
const MAX_SOCKET: usize = 107;

/// What is forgotten sooner was never there for a daemon that polls: the shortest interval that it can have.
const MIN_HALF_LIFE: Span = Span::from_millis(1);

/// Notes problems at paths of the file.
struct Checker<'a> {
    tree: &'a Node,
    reader: &'a mut Reader,
}

impl Checker<'_> {
    fn note(&mut self, path: &[&str], message: String, label: impl Into<String>, help: Option<&str>) {
        self.reader.problem(self.tree.locate(path), message, label, help.map(str::to_owned));
    }

    fn mistake(&mut self, path: &[&str], mistake: &Mistake) {
        self.note(path, mistake.message.clone(), mistake.label, mistake.help);
    }
}

/// Notes everything that is wrong with `record`, whose text is `tree`.
pub(super) fn check(record: &FileRecord, tree: &Node, reader: &mut Reader) {
    let mut checker = Checker { tree, reader };
    roles(record, &mut checker);
    names("lane", record.lane.iter().map(|lane| &*lane.name), &mut checker);
    names("rule", record.rule.iter().map(|rule| &*rule.name), &mut checker);
    let few = record.lane.len() <= MAX_SUBFLOWS
        && record.lane.iter().all(|lane| lane.address.as_ref().is_none_or(|list| list.len() <= MAX_ADDRESSES));
    for (index, lane) in record.lane.iter().enumerate() {
        one_lane(index, lane, &mut checker);
        // Each is compared with all others.
        if few {
            shared(index, &record.lane, &mut checker);
        }
    }
    judges(record, &mut checker);
    rules(record, &mut checker);
    setup(record, &mut checker);
}

/// The number of the user at `path`; notes it if this host has none of that name.
pub(super) fn user(
    path: &[&str],
    user: &User,
    tree: &Node,
    users: &dyn Fn(&str) -> Option<u32>,
    reader: &mut Reader,
) -> Option<u32> {
    let name = match user {
        User::Id(id) => return Some(*id),
        User::Name(name) => name,
    };
    let found = users(name);
    if found.is_none() {
        let short: String = name.chars().take(60).collect();
        let help = "write the user's number if the name is not known yet".to_owned();
        reader.problem(tree.locate(path), format!("this host has no user `{short}`"), "no such user", Some(help));
    }
    found
}

fn roles(record: &FileRecord, checker: &mut Checker) {
    let lanes = &record.lane;
    for (role, word) in [(RoleWord::Short, "short"), (RoleWord::Long, "long")] {
        if !lanes.iter().any(|lane| lane.role == role) {
            let help = "every connection starts on a short lane, and moves to a long one";
            checker.note(&["lane"], format!("there is no {word} lane"), "", Some(help));
        }
    }
    if lanes.len() > MAX_SUBFLOWS {
        let label = format!("this is number {}", MAX_SUBFLOWS + 1);
        let at = MAX_SUBFLOWS.to_string();
        let message = format!("there are at most {MAX_SUBFLOWS} lanes");
        checker.note(&["lane", &at], message, label, Some("MPTCP has no more subflows per connection"));
    }
}

fn names<'a>(list: &str, names: impl Iterator<Item = &'a str> + Clone, checker: &mut Checker) {
    let mut seen = std::collections::BTreeSet::new();
    for (index, name) in names.enumerate() {
        if !seen.insert(name) {
            let message = format!("there are two {list}s called `{name}`");
            checker.note(&[list, &index.to_string(), "name"], message, "once more", None);
        }
    }
}

fn one_lane(index: usize, lane: &LaneRecord, checker: &mut Checker) {
    let at = index.to_string();
    let addresses = lane.address.as_ref().map_or(&[][..], |list| list);
    if lane.interface.is_none() && lane.address.is_none() {
        let message = format!("lane `{}` needs `interface` or `address`", lane.name);
        checker.note(&["lane", &at], message, "", Some("the interface it leaves by, or this host's addresses on it"));
    }
    if lane.address.is_some() && addresses.is_empty() {
        let message = format!("lane `{}` has an empty list of addresses", lane.name);
        checker.note(&["lane", &at, "address"], message, "", Some("leave `address` out for all of the interface"));
    }
    if addresses.len() > MAX_ADDRESSES {
        let message = format!("lane `{}` has more than {MAX_ADDRESSES} addresses", lane.name);
        checker.note(&["lane", &at, "address"], message, format!("{} addresses", addresses.len()), None);
    }
    let gateways = lane.gateway.as_ref().map_or(&[][..], |list| list);
    one_per_family(gateways.iter().map(|one| one.0.is_ipv4()), &["lane", &at, "gateway"], checker);
    for (place, gateway) in gateways.iter().enumerate() {
        let v4 = gateway.0.is_ipv4();
        if !addresses.is_empty() && !addresses.iter().any(|one| one.0.is_ipv4() == v4) {
            let message = format!("lane `{}` has a gateway of IPv{}, but no address", lane.name, family(v4));
            checker.note(&["lane", &at, "gateway", &place.to_string()], message, "", None);
        }
    }
    if let RemoteValue::Mapped(prefixes) = &lane.remote {
        if prefixes.is_empty() {
            let help = "\"same\" is the other end's first address";
            checker.note(&["lane", &at, "remote"], "a list of prefixes must not be empty".to_owned(), "", Some(help));
        }
        one_per_family(prefixes.iter().map(|one| matches!(one.0, IpNet::V4(_))), &["lane", &at, "remote"], checker);
    }
}

fn family(v4: bool) -> u8 {
    if v4 { 4 } else { 6 }
}

fn one_per_family(are_v4: impl Iterator<Item = bool>, path: &[&str], checker: &mut Checker) {
    let mut seen = [false; 2];
    for (place, v4) in are_v4.enumerate() {
        let known = &mut seen[usize::from(v4)];
        if *known {
            let place = place.to_string();
            let path: Vec<&str> = path.iter().copied().chain([place.as_str()]).collect();
            checker.note(&path, format!("there is one for IPv{} already", family(v4)), "one per address family", None);
        }
        *known = true;
    }
}

/// What lane `index` takes of the host that a lane before it has.
fn shared(index: usize, lanes: &[LaneRecord], checker: &mut Checker) {
    let lane = &lanes[index];
    let at = index.to_string();
    for (place, address) in lane.address.iter().flat_map(|list| list.iter()).enumerate() {
        let own = lane.address.iter().flat_map(|list| list.iter()).take(place);
        let others = lanes[..index].iter().flat_map(|other| other.address.iter().flat_map(|list| list.iter()));
        if own.chain(others).any(|other| other == address) {
            let message = format!("{} is in two places", address.0);
            let help = "an address says which lane a subflow is on";
            checker.note(&["lane", &at, "address", &place.to_string()], message, "once more", Some(help));
        }
    }
    let Some(interface) = &lane.interface else { return };
    let whole = |lane: &LaneRecord| lane.address.is_none();
    let clash = |other: &&LaneRecord| other.interface.as_ref() == Some(interface) && (whole(other) || whole(lane));
    if let Some(other) = lanes[..index].iter().find(clash) {
        let message = format!("lanes `{}` and `{}` both have interface `{}`", other.name, lane.name, interface.0);
        let help = "say with `address` which addresses each of them has";
        checker.note(&["lane", &at, "interface"], message, "", Some(help));
    }
}

fn judges(record: &FileRecord, checker: &mut Checker) {
    let rules = checker.tree.child("rule");
    let said = |at: &str| rules.and_then(|rules| rules.child(at)?.child("open")).is_some();
    for mistake in record.lanes.check() {
        checker.mistake(&[mistake.key], &mistake);
    }
    if let Some(own) = record.lanes.judge.own() {
        program(own, &["judge"], checker);
    }
    for (index, rule) in record.rule.iter().enumerate() {
        let at = index.to_string();
        if let Some(own) = rule.judge.as_ref().and_then(JudgeRecord::own) {
            program(own, &["rule", &at, "judge"], checker);
        }
        if let Some(mistake) = rule.judge.as_ref().and_then(JudgeRecord::check) {
            checker.mistake(&["rule", &at, "judge"], &mistake);
        }
        // A rule that says nothing has what is said for all.
        let own = ["rule", &at, "open"];
        let place = if said(&at) { &own[..] } else { &["open"] };
        let judge = rule.judge.as_ref().or(said(&at).then_some(&record.lanes.judge));
        if let Some(mistake) = judge.and_then(|judge| judge.check_open(rule.open)) {
            checker.mistake(place, &mistake);
        }
    }
    if let Some(history) = record.lanes.history.as_ref().filter(|history| history.half_life < MIN_HALF_LIFE) {
        let message = format!("`history.half-life` must be at least {MIN_HALF_LIFE}");
        let help = "the daemon looks at connections once a millisecond at most";
        checker.note(&["history", "half-life"], message, format!("this is {}", history.half_life), Some(help));
    }
}

/// Nobody is there who gave the judge.
fn program(own: &OwnJudgeRecord, at: &[&str], checker: &mut Checker) {
    let message = format!("the judge `{}` is one of a program, and {OWN}", own.name);
    checker.note(at, message, "modelled hosts alone", Some("take a built-in judge, such as \"bytes-sent\""));
}

fn rules(record: &FileRecord, checker: &mut Checker) {
    if record.rule.len() > MAX_RULES {
        checker.note(&["rule"], format!("there are at most {MAX_RULES} rules"), "", None);
    }
    for (index, rule) in record.rule.iter().enumerate() {
        let at = index.to_string();
        if rule.judge.is_some() && rule.lanes != TreatmentWord::Judged {
            let message = format!("with `lanes = \"{}\"` nothing is judged", rule.lanes.as_str());
            checker.note(&["rule", &at, "judge"], message, "has no meaning here", Some("take it out"));
        }
        let opens = [("open", rule.open.is_some()), ("open-after", rule.open_after.is_some())];
        for (key, _) in opens.iter().filter(|(_, said)| *said && rule.lanes != TreatmentWord::Judged) {
            let message = format!("with `lanes = \"{}\"` nothing waits for a judge", rule.lanes.as_str());
            checker.note(&["rule", &at, key], message, "has no meaning here", Some("take it out"));
        }
        let empty = |list: Option<usize>| list == Some(0);
        let lists = [
            ("destination", rule.destination.as_ref().map(|list| list.len())),
            ("port", rule.port.as_ref().map(|list: &headway_language::OneOrMany<Ports>| list.len())),
            ("user", rule.user.as_ref().map(|list| list.len())),
            ("cgroup", rule.cgroup.as_ref().map(|list| list.len())),
        ];
        for (key, _) in lists.into_iter().filter(|(_, list)| empty(*list)) {
            let message = format!("`{key}` of rule `{}` is an empty list", rule.name);
            checker.note(&["rule", &at, key], message, "", Some("leave it out to match all"));
        }
        if let Some(side) = rule.side
            && !matches!(
                (side.as_str(), record.side.as_str()),
                ("client", "client") | ("server", "server") | (_, "both")
            )
        {
            let message = format!("rule `{}` is never used: side is \"{}\"", rule.name, record.side.as_str());
            checker.note(&["rule", &at, "side"], message, "", None);
        }
    }
}

fn setup(record: &FileRecord, checker: &mut Checker) {
    let first = record.setup.table;
    let last = first + record.lane.len().max(1) as u32 - 1;
    if first <= *KERNEL_TABLES.end() && last >= *KERNEL_TABLES.start() {
        let message = format!("tables {first} to {last} are one per lane; Linux has 253 to 255 itself");
        checker.note(&["setup", "table"], message, "", Some("for example 8300"));
    }
    let socket = &record.operations.socket.0;
    if socket.as_os_str().len() > MAX_SOCKET {
        let message = format!("the path of a unix socket has at most {MAX_SOCKET} bytes");
        let label = format!("this has {}", socket.as_os_str().len());
        checker.note(&["operations", "socket"], message, label, None);
    }
}
