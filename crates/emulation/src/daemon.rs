//! Lanes on kernel hosts: the program `headway-lane` and what it is told: the policy's own records, shown as TOML.

use std::path::Path;

use headway_agent::protocol::{self, RUN};
use headway_language::{Field, Part, Shown, show_document};
use headway_levers::lanes::ModelledLanesRecord;

use crate::refusal::Refusal;
use headway_scenario::plan::PlanError;
use headway_scenario::schema::{MptcpRecord, PolicyRecord};

/// The program, and by which name it is known on hosts.
const PROGRAM: &str = "headway-lane";
const NAME: &str = "lane";
/// The file of its configuration in [`RUN`].
const CONFIG: &str = "lane.toml";
/// A file larger than this is not a configuration.
const LARGEST: u64 = 1_000_000;

/// The configuration of `headway-lane`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Daemon {
    /// So many of a host's interfaces are short lanes, the others long ones; and the other entries of its configuration.
    Lanes { short: u32, others: Vec<(String, Shown)> },
    /// The user's own file.
    File(String),
}

impl Daemon {
    /// Its configuration under `policy`, of which `transport` at `refusal` is MPTCP; nothing if that has no use for it.
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
        let mut others = Vec::new();
        lanes.common.show_part(&mut others);
        let timing = record.and_then(|record| record.timing.as_ref());
        others.extend(timing.and_then(Field::show).map(|timing| entry("timing", timing)));
        Ok(Some(Daemon::Lanes { short: lanes.short, others }))
    }

    /// The program on a host with so many interfaces that carry lanes.
    ///
    /// # Errors
    /// The mistake in the lanes.
    pub fn program(&self, interfaces: u32) -> Result<protocol::Daemon, String> {
        let text = match self {
            Daemon::Lanes { short, .. } if *short >= interfaces => {
                return Err(format!("leaves no lane for long flows: {short} of its {interfaces} lanes are short"));
            }
            Daemon::Lanes { short, others } => {
                let mut entries = vec![entry("side", text("both")), entry("lane", lanes(*short, interfaces))];
                entries.extend_from_slice(others);
                show_document(&entries)
            }
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
    headway_input::read_text(&file, LARGEST).map_err(|error| error.to_string())
}

/// Rejects settings that only modelled hosts have.
fn refuse(lanes: &ModelledLanesRecord, refusal: &Refusal<'_>) -> Result<(), PlanError> {
    let Some((key, what, reason)) = lanes.beyond_linux() else { return Ok(()) };
    let at = [refusal.at, &["lanes"]].concat();
    let refusal = Refusal { policy: refusal.policy, at: &at };
    let help = "leave it out for kernel hosts; --policy runs the other policies";
    Err(refusal.without_help(key, &format!("{what}, and {reason}")).help(help))
}

fn text(text: impl Into<String>) -> Shown {
    Shown::Text(text.into())
}

fn entry(name: &str, shown: Shown) -> (String, Shown) {
    (name.to_owned(), shown)
}

/// The sections of lanes: each is an interface, and goes to the other end's interface of the same number.
fn lanes(short: u32, interfaces: u32) -> Shown {
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
    Shown::List((0..interfaces).map(lane).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_scenario::Document;
    use headway_scenario::schema::Protocol;

    /// The configuration on hosts with three interfaces, or why there is none.
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
open = "early"
patience = "0s"

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
"#;
        assert_eq!(told(&lanes("judge = \"deadline\""), "{}", Path::new(".")).unwrap(), expected);
    }

    #[test]
    fn every_key_is_passed_on() {
        let transport = lanes(
            "short = 2, judge = { kind = \"link-cost\", deadline = \"1s\", alpha = 2.5, base-rtt = \"common\" }, \
             patience = \"1500us\", history = { long-share = 0.9 }",
        );
        let linux = "{ daemon = { timing = { open-after = \"75ms\", probe-interval = \"100ms\", poll-interval = \"20ms\", \
                     watch-interval = \"500ms\", idle = \"never\" } } }";
        let text = told(&transport, linux, Path::new(".")).unwrap();
        let (lanes, rest) = text.split_at(text.find("\n[judge]").unwrap());
        assert_eq!((lanes.matches("\"short\"").count(), lanes.matches("\"long\"").count()), (2, 1));
        assert!(lanes.starts_with("side = \"both\"\nopen = \"early\"\npatience = \"1.5ms\"\n"), "{lanes}");
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

[history]
half-life = "1s"
capacity = 4096
long = "100KB"
long-share = 0.9

[timing]
open-after = "75ms"
probe-interval = "100ms"
poll-interval = "20ms"
watch-interval = "500ms"
idle = "never"
"#;
        assert_eq!(rest, expected);
        for (judge, section) in [
            ("judge = \"bytes-sent\", open = \"when-long\"", "kind = \"bytes-sent\"\nthreshold = \"100KB\""),
            ("judge = { kind = \"backlog\", threshold = \"1MB\" }", "kind = \"backlog\"\nthreshold = \"1MB\""),
            ("judge = \"delivery-rate\"", "kind = \"delivery-rate\"\nrate = \"20Mbps\"\nwindow = \"50ms\""),
        ] {
            let daemon = "{ daemon = { timing = { idle = \"2s\" } } }";
            let text = told(&self::lanes(judge), daemon, Path::new(".")).unwrap();
            let open = if judge.contains("when-long") { "when-long" } else { "early" };
            assert!(text.contains(&format!("\nopen = \"{open}\"\n")), "{text}");
            assert!(text.contains(&format!("\n[judge]\n{section}\n\n[timing]\n")), "{text}");
            assert!(text.ends_with("\nidle = \"2s\"\n"), "{text}");
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
