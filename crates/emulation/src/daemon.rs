//! Lanes on kernel hosts: the program `headway-lane` and what it is told. The keys of its configuration are called as
//! those of `lanes`.

use std::path::Path;

use headway_agent::protocol::{self, RUN};
use headway_language::{OrOff, Part, Shown, show_document};
use headway_units::Bytes;

use crate::refusal::Refusal;
use headway_scenario::plan::PlanError;
use headway_scenario::schema::{LaneDaemonRecord, LaneOpen, LaneStart, LanesRecord, MptcpRecord, PolicyRecord};

/// The program, and by which name it is known on hosts.
const PROGRAM: &str = "headway-lane";
const NAME: &str = "lane";
/// The file of its configuration in [`RUN`].
const CONFIG: &str = "lane.toml";
/// A file larger than this is not a configuration.
const LARGEST: u64 = 1_000_000;

/// What `headway-lane` is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Daemon {
    /// So many of a host's interfaces are short lanes, the others long ones; and the text of all that is not of lanes.
    Lanes { short: u32, text: String },
    /// The user's own file.
    File(String),
}

impl Daemon {
    /// What is told to it under `policy`, of which `transport` at `refusal` is MPTCP; nothing if that has no use for it.
    pub fn new(
        policy: &PolicyRecord,
        mptcp: &MptcpRecord,
        folder: &Path,
        refusal: &Refusal<'_>,
    ) -> Result<Option<Daemon>, PlanError> {
        let record = policy.linux.as_ref().and_then(|linux| linux.daemon.as_ref());
        if let Some(name) = record.and_then(|record| record.config.as_deref()) {
            let path = [&refusal.at[..2], &["linux", "daemon", "config"]].concat();
            let wrong = |what| format!("the daemon's configuration cannot be read: {name}: {what}");
            let text = read(name, folder).map_err(|what| PlanError::new(&path, wrong(what)))?;
            return Ok(Some(Daemon::File(text)));
        }
        let Some(lanes) = &mptcp.lanes else { return Ok(None) };
        refuse(lanes, refusal)?;
        if !mptcp.backup.is_empty() {
            let what = "`backup` and lanes, and on kernel hosts the daemon of lanes says which subflows are backups";
            return Err(refusal.without_help("backup", what));
        }
        Ok(Some(Daemon::Lanes { short: lanes.short, text: rest(lanes, record) }))
    }

    /// The program on a host with so many interfaces that carry lanes.
    ///
    /// # Errors
    /// What is wrong with the lanes.
    pub fn program(&self, interfaces: u32) -> Result<protocol::Daemon, String> {
        let text = match self {
            Daemon::Lanes { short, .. } if *short >= interfaces => {
                return Err(format!("leaves no lane for long flows: {short} of its {interfaces} lanes are short"));
            }
            Daemon::Lanes { short, text } => lanes(*short, interfaces) + text,
            Daemon::File(text) => text.clone(),
        };
        Ok(protocol::Daemon {
            name: NAME.to_owned(),
            words: [PROGRAM, "run", "--config", &format!("{RUN}/{CONFIG}")].map(str::to_owned).into(),
            files: vec![(CONFIG.to_owned(), text)],
        })
    }
}

fn read(name: &str, folder: &Path) -> Result<String, String> {
    let file = folder.join(name);
    let bytes = std::fs::metadata(&file).map_err(|error| error.to_string())?.len();
    if bytes > LARGEST {
        return Err(format!("it has {}, more than a configuration", Bytes::new(bytes)));
    }
    std::fs::read_to_string(&file).map_err(|error| error.to_string())
}

/// Refuses what only modelled hosts can do.
fn refuse(lanes: &LanesRecord, refusal: &Refusal<'_>) -> Result<(), PlanError> {
    let at = [refusal.at, &["lanes"]].concat();
    let refusal = Refusal { policy: refusal.policy, at: &at };
    let help = "leave it out for kernel hosts; --policy runs the other policies";
    if lanes.start != LaneStart::First {
        let what = format!(
            "start = \"{}\", and on kernel hosts the program that opens a connection says where it starts",
            lanes.start.as_str()
        );
        return Err(refusal.without_help("start", &what).help(help));
    }
    if lanes.leftovers.is_some() {
        let what = "`leftovers`, and nobody but a kernel itself can keep a subflow's window small";
        return Err(refusal.without_help("leftovers", what).help(help));
    }
    if lanes.back.is_some() {
        let what = "a way `back`, and a kernel's idle subflows do not measure what the short lanes are like by then";
        let help = "leave it out for kernel hosts, whose daemon has `idle`; --policy runs the other policies";
        return Err(refusal.without_help("back", what).help(help));
    }
    Ok(())
}

fn text(text: impl Into<String>) -> Shown {
    Shown::Text(text.into())
}

fn entry(name: &str, shown: Shown) -> (String, Shown) {
    (name.to_owned(), shown)
}

/// The sections of lanes: each is an interface, and goes to the other end's interface of the same number.
fn lanes(short: u32, interfaces: u32) -> String {
    let lane = |i: u32| {
        let interface = format!("eth{i}");
        let remote = [format!("10.{i}.0.0/16"), format!("fd00:0:0:{i:x}::/64")].map(text).into();
        Shown::Table(vec![
            entry("name", text(&*interface)),
            entry("role", text(if i < short { "short" } else { "long" })),
            entry("interface", text(interface)),
            entry("remote", Shown::List(remote)),
        ])
    };
    let all = (0..interfaces).map(lane).collect();
    show_document(&[entry("side", text("both")), entry("lane", Shown::List(all))])
}

/// The other sections.
fn rest(lanes: &LanesRecord, daemon: Option<&LaneDaemonRecord>) -> String {
    let mut judge = Vec::new();
    lanes.judge.show_part(&mut judge);
    for (name, _) in &mut judge {
        if name == "judge" {
            "kind".clone_into(name);
        }
    }
    let open = match lanes.open {
        LaneOpen::Early => "probe",
        LaneOpen::WhenLong => "when-long",
    };
    let mut timing = vec![entry("open", text(open))];
    if let Some(own) = daemon {
        let times = [
            ("open-after", own.open_after),
            ("probe-interval", own.probe_interval),
            ("poll-interval", own.poll_interval),
            ("watch-interval", own.watch_interval),
        ];
        let given = times.into_iter().filter_map(|(name, time)| Some((name, time?.to_string())));
        timing.extend(given.map(|(name, time)| entry(name, text(time))));
        timing.extend(own.idle.map(|idle| match idle {
            OrOff::On(time) => entry("idle", text(time.to_string())),
            OrOff::Off => entry("idle", text("never")),
        }));
    }
    timing.push(entry("patience", text(lanes.patience.to_string())));
    let mut sections = vec![entry("judge", Shown::Table(judge)), entry("timing", Shown::Table(timing))];
    if let Some(history) = &lanes.history {
        let mut own = Vec::new();
        history.show_part(&mut own);
        sections.push(entry("history", Shown::Table(own)));
    }
    show_document(&sections)
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_scenario::Document;
    use headway_scenario::schema::Protocol;

    /// What is told to hosts with three interfaces, or why nothing can be.
    fn told(transport: &str, linux: &str, folder: &Path) -> Result<String, String> {
        let head = include_str!("../../scenario/tests/small.toml").split("[[policy]]").next().unwrap();
        let head = head.replace("kind = \"dumbbell\"", "kind = \"parallel-paths\"\npaths = 4");
        let head = head.replace("bottleneck = { rate = \"20Mbps\" }\n", "");
        let text = format!("{head}\n[[policy]]\nname = \"p\"\ntransport = {transport}\nlinux = {linux}\n");
        let document = Document::parse(&text, "x.toml", &[]).unwrap_or_else(|problems| panic!("{problems}"));
        let scenario = document.scenario(&document.points()[0]).unwrap_or_else(|problems| panic!("{problems}"));
        let policy = &scenario.policy[0];
        let Protocol::Mptcp(mptcp) = &policy.transport.protocol else { panic!("not MPTCP") };
        let at = ["policy", "0", "transport"];
        let refusal = Refusal { policy: "p", at: &at };
        let daemon = Daemon::new(policy, mptcp, folder, &refusal)
            .map_err(|fault| format!("{}: {}", fault.path.join("."), fault.message))?;
        let program = daemon.expect("lanes, or a file").program(3)?;
        assert_eq!(program.words.join(" "), "headway-lane run --config /run/headway/lane.toml");
        let [(name, text)] = &program.files[..] else { panic!("{:?}", program.files) };
        assert_eq!(name, "lane.toml");
        Ok(text.clone())
    }

    fn lanes(keys: &str) -> String {
        format!("{{ kind = \"mptcp\", control = \"new-reno\", lanes = {{ {keys} }} }}")
    }

    #[test]
    fn a_judge_alone_leaves_the_daemon_its_defaults() {
        let expected = r#"side = "both"

[[lane]]
name = "eth0"
role = "short"
interface = "eth0"
remote = ["10.0.0.0/16", "fd00:0:0:0::/64"]

[[lane]]
name = "eth1"
role = "long"
interface = "eth1"
remote = ["10.1.0.0/16", "fd00:0:0:1::/64"]

[[lane]]
name = "eth2"
role = "long"
interface = "eth2"
remote = ["10.2.0.0/16", "fd00:0:0:2::/64"]

[judge]
kind = "deadline"
deadline = "300ms"

[timing]
open = "probe"
patience = "0s"
"#;
        assert_eq!(told(&lanes("judge = \"deadline\""), "{}", Path::new(".")).unwrap(), expected);
    }

    #[test]
    fn every_key_is_passed_on() {
        let transport = lanes(
            "short = 2, judge = \"link-cost\", deadline = \"1s\", alpha = 2.5, base-rtt = \"common\", \
             patience = \"1500us\", history = { long-share = 0.9 }",
        );
        let linux = "{ daemon = { open-after = \"75ms\", probe-interval = \"100ms\", poll-interval = \"20ms\", \
                     watch-interval = \"500ms\", idle = false } }";
        let text = told(&transport, linux, Path::new(".")).unwrap();
        let (lanes, rest) = text.split_at(text.find("\n[judge]").unwrap());
        assert_eq!((lanes.matches("\"short\"").count(), lanes.matches("\"long\"").count()), (2, 1));
        let expected = r#"
[judge]
kind = "link-cost"
deadline = "1s"
alpha = 2.5
beta = 1.0
gamma = 1.0
delta = 1.0
delay-unit = "125us"
time-unit = "1ms"
base-rtt = "common"

[timing]
open = "probe"
open-after = "75ms"
probe-interval = "100ms"
poll-interval = "20ms"
watch-interval = "500ms"
idle = "never"
patience = "1.5ms"

[history]
half-life = "1s"
capacity = 4096
long = "100KB"
long-share = 0.9
"#;
        assert_eq!(rest, expected);
        for (judge, section) in [
            ("judge = \"bytes-sent\", open = \"when-long\"", "kind = \"bytes-sent\"\nthreshold = \"100KB\""),
            ("judge = \"backlog\", threshold = \"1MB\"", "kind = \"backlog\"\nthreshold = \"1MB\""),
            ("judge = \"delivery-rate\"", "kind = \"delivery-rate\"\nrate = \"20Mbps\"\nwindow = \"50ms\""),
        ] {
            let text = told(&self::lanes(judge), "{ daemon = { idle = \"2s\" } }", Path::new(".")).unwrap();
            let open = if judge.contains("when-long") { "when-long" } else { "probe" };
            assert!(text.contains(&format!("\n[judge]\n{section}\n\n[timing]\nopen = \"{open}\"\nidle = \"2s\"\n")));
        }
    }

    #[test]
    fn what_only_models_can_do_is_refused_by_its_key() {
        for (keys, key) in [
            ("judge = \"deadline\", start = \"round-robin\"", "lanes.start"),
            ("judge = \"deadline\", leftovers = {}", "lanes.leftovers"),
            ("judge = \"deadline\", back = {}", "lanes.back"),
            ("judge = \"deadline\" }, backup = [1], linux = {", "backup"),
        ] {
            let refused = told(&lanes(keys), "{}", Path::new(".")).expect_err(keys);
            assert!(refused.starts_with(&format!("policy.0.transport.{key}: policy `p` has ")), "{refused}");
        }
        let none = told(&lanes("judge = \"deadline\", short = 3"), "{}", Path::new(".")).unwrap_err();
        assert_eq!(none, "leaves no lane for long flows: 3 of its 3 lanes are short");
    }

    #[test]
    fn a_file_takes_the_place_of_all() {
        let place = tempfile::tempdir().unwrap();
        let (plain, linux) = ("{ kind = \"mptcp\", control = \"new-reno\" }", "{ daemon = { config = \"my.toml\" } }");
        let missing = told(plain, linux, place.path()).unwrap_err();
        assert!(missing.starts_with("policy.0.linux.daemon.config: the daemon's configuration cannot"), "{missing}");
        std::fs::write(place.path().join("my.toml"), "side = \"client\"\n").unwrap();
        assert_eq!(told(plain, linux, place.path()).unwrap(), "side = \"client\"\n");
        std::fs::write(place.path().join("my.toml"), vec![b'#'; 1_000_001]).unwrap();
        assert!(told(plain, linux, place.path()).unwrap_err().contains("more than a configuration"));
    }
}
