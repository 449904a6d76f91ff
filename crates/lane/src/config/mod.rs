//! `lane.toml`: text to [`Settings`], or problems that point at their place.
//!
//! `record` declares what can be written, `values` how addresses and the like are, `check` what must hold between
//! keys. `docs/lane-daemon.md` describes every key; a test holds the two together.

mod check;
mod record;
mod values;

use std::path::Path;

use headway_control::lanes::Role;
pub use headway_daemon::config::ConfigError;
use headway_daemon::config::MAX_FILE;
use headway_language::{Field, Parse, Problems};
use headway_levers::lanes::{LanesRecord, Sampling};

use crate::settings::{Judging, Lane, Limits, Operations, Remote, Rule, Settings, Setup, Timing, Treatment};
use record::{FileRecord, LaneRecord, RoleWord, RuleRecord, RuleSide, Side, TimingTable, TreatmentWord};
use values::{RemoteValue, User};

/// A configuration that was understood.
#[derive(Debug, Clone, PartialEq)]
pub struct Configuration {
    /// What it says.
    pub settings: Settings,
    record: FileRecord,
}

impl Configuration {
    /// Reads the file at `path`. Names of users are looked up on this host.
    ///
    /// # Errors
    /// If the file cannot be read, or something in it is wrong.
    pub fn load(path: &Path) -> Result<Configuration, ConfigError> {
        headway_daemon::config::load(path, |text, name| Configuration::read(text, name, &uid))
    }

    /// Reads `text`, called `name` in problems. `users` gives a user's number.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn read(text: &str, name: &str, users: &dyn Fn(&str) -> Option<u32>) -> Result<Configuration, Problems> {
        let Parse { tree, mut reader } = Parse::new(text, name, MAX_FILE)?;
        let record = FileRecord::read(&tree, &mut reader);
        let record = record.filter(|_| reader.problems() == 0);
        let made = record.and_then(|mut record| {
            complete(&mut record);
            check::check(&record, &tree, &mut reader);
            let settings = settings(&record, &mut |path, user| check::user(path, user, &tree, users, &mut reader))?;
            Some(Configuration { settings, record })
        });
        let problems = Problems::new(reader.into_problems());
        match made {
            Some(configuration) if problems.is_empty() => Ok(configuration),
            _ => Err(problems),
        }
    }

    /// The whole configuration as TOML with every default written out. Reads back to the same.
    pub fn show(&self) -> String {
        headway_daemon::config::show(&self.record)
    }
}

/// What can be written, as a JSON schema (draft 2020-12), with descriptions, ranges and defaults.
pub fn json_schema() -> serde_json::Value {
    headway_language::Definitions::default().document::<FileRecord>("headway-lane configuration")
}

/// The number of the user called `name` on this host.
fn uid(name: &str) -> Option<u32> {
    nix::unistd::User::from_name(name).ok().flatten().map(|user| user.uid.as_raw())
}

/// Writes the defaults that depend on other keys into the record: what rules leave out is as said for all, else each judge
/// has its own, so that a rule changes nothing for connections that it does not match.
fn complete(record: &mut FileRecord) {
    let FileRecord { lanes: LanesRecord { judge, open, .. }, timing: TimingTable { times }, rule, .. } = record;
    for rule in rule.iter_mut().filter(|rule| rule.lanes == TreatmentWord::Judged) {
        let judge = rule.judge.as_ref().unwrap_or(judge);
        rule.open = rule.open.or(*open).or_else(|| Some(judge.opens()));
        rule.open_after = rule.open_after.or(times.open_after).or_else(|| Some(judge.opens_after()));
    }
    open.get_or_insert(judge.opens());
    times.open_after.get_or_insert(judge.opens_after());
}

/// The settings that a complete record stands for. `user` finds a user's number and notes it if there is none.
fn settings(record: &FileRecord, user: &mut dyn FnMut(&[&str], &User) -> Option<u32>) -> Option<Settings> {
    let (lanes, times) = (&record.lanes, &record.timing.times);
    let judge = lanes.judge.judge(Sampling::Polls);
    let mut rules = Some(Vec::new());
    for (index, rule) in record.rule.iter().enumerate() {
        let made = self::rule(index, rule, &judge, user);
        rules = rules.zip(made).map(|(mut rules, rule)| {
            rules.push(rule);
            rules
        });
    }
    Some(Settings {
        client: record.side != Side::Server,
        server: record.side != Side::Client,
        lanes: record.lane.iter().map(lane).collect(),
        judge,
        timing: Timing {
            open: lanes.open?,
            open_after: times.open_after?,
            probe_interval: times.probe_interval,
            poll_interval: times.poll_interval,
            watch_interval: times.watch_interval,
            idle: times.idle.get(),
            patience: lanes.patience,
        },
        history: lanes.history.clone(),
        rules: rules?,
        limits: Limits {
            connections: record.limits.connections as usize,
            opens_per_second: record.limits.opens_per_second,
            subflows: record.limits.subflows,
            accepted_addresses: record.limits.accepted_addresses,
        },
        setup: Setup { table: record.setup.table, priority: record.setup.priority, listen: record.setup.listen },
        operations: Operations {
            socket: record.operations.socket.0.clone(),
            metrics: record.operations.metrics.as_ref().map(|endpoint| endpoint.0),
            state: record.operations.state.0.clone(),
        },
    })
}

/// A list that may be left out.
macro_rules! all {
    ($list:expr) => {
        $list.iter().flat_map(|list| list.iter()).map(|one| one.0.clone()).collect()
    };
}

fn lane(record: &LaneRecord) -> Lane {
    Lane {
        name: record.name.to_string(),
        role: if record.role == RoleWord::Short { Role::Short } else { Role::Long },
        interface: record.interface.as_ref().map(|interface| interface.0.clone()),
        addresses: all!(record.address),
        gateways: all!(record.gateway),
        remote: match &record.remote {
            RemoteValue::Same => Remote::Same,
            RemoteValue::Announced => Remote::Announced,
            RemoteValue::Mapped(prefixes) => Remote::Mapped(prefixes.iter().map(|prefix| prefix.0).collect()),
        },
    }
}

fn rule(
    index: usize,
    record: &RuleRecord,
    judge: &headway_control::lanes::Judge,
    user: &mut dyn FnMut(&[&str], &User) -> Option<u32>,
) -> Option<Rule> {
    let mut users = Some(Vec::new());
    for (place, one) in record.user.iter().flat_map(|list| list.iter()).enumerate() {
        let found = user(&["rule", &index.to_string(), "user", &place.to_string()], one);
        users = users.zip(found).map(|(mut users, id)| {
            users.push(id);
            users
        });
    }
    Some(Rule {
        name: record.name.to_string(),
        destinations: all!(record.destination),
        ports: all!(record.port),
        users: users?,
        cgroups: all!(record.cgroup),
        server_side: record.side.map(|side| side == RuleSide::Server),
        then: match record.lanes {
            TreatmentWord::Judged => Treatment::Judged(Judging {
                judge: record.judge.as_ref().map_or_else(|| judge.clone(), |own| own.judge(Sampling::Polls)),
                open: record.open?,
                open_after: record.open_after?,
            }),
            TreatmentWord::Long => Treatment::Long,
            TreatmentWord::Leave => Treatment::Leave,
        },
    })
}
