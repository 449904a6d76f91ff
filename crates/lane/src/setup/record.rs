//! The record of what was set up: a file that says at least what was done, whenever the process ends.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::net::IpAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{KERNEL_TABLES, Limits, SYSCTLS, SetupError, Step};

/// What is written; another version is refused.
const VERSION: u32 = 1;
/// A record is at most this long: some 4000 steps. 8 lanes of 64 addresses and their routes take a tenth.
const LONGEST: u64 = 1_000_000;

/// A step that was done or was about to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    pub step: Step,
    pub before: Before,
}

/// What a step changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum Before {
    /// There was nothing.
    Nothing,
    /// A sysctl's value.
    Value(String),
    /// Limits.
    Limits(Limits),
}

impl Entry {
    /// If it is about the same setting as `step`: what the setting is once the step is done.
    fn setting(&self, step: &Step) -> Option<Before> {
        match (&self.step, step) {
            (Step::Sysctl { name, value }, Step::Sysctl { name: other, .. }) if name == other => {
                Some(Before::Value(value.clone()))
            }
            (Step::Limits(limits), Step::Limits(_)) => Some(Before::Limits(*limits)),
            _ => None,
        }
    }

    /// The place of its undoing: rules before routes, so that nothing asks a table that is not whole any more; settings
    /// last.
    fn order(&self) -> u8 {
        match self.step {
            Step::Rule { .. } => 0,
            Step::Route(_) => 1,
            Step::Limits(_) | Step::Sysctl { .. } => 2,
        }
    }
}

/// What is recorded of a network namespace, in the order of its doing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Recorded(pub(super) Vec<Entry>);

impl Recorded {
    /// Reads the record of the namespace `netns` (`None`: the one that the daemon was started in) in the folder `state`, and
    /// changes nothing. Empty if there is none.
    ///
    /// # Errors
    /// If it cannot be read or is damaged.
    pub fn read(state: &Path, netns: Option<&str>) -> Result<Recorded, SetupError> {
        read(&path(state, netns), netns).map(Recorded)
    }

    /// What `setting` was before the recorded steps, where it is `now` something: a step counts that left it as it is.
    pub(super) fn before(&self, setting: &Step, now: Before) -> Before {
        let mut value = now;
        for entry in self.0.iter().rev() {
            if entry.setting(setting).as_ref() == Some(&value) {
                value = entry.before.clone();
            }
        }
        value
    }

    /// The steps in the order of their undoing: rules, routes, settings, of each the latest first.
    pub(super) fn undoing(&self) -> Vec<Entry> {
        let mut entries: Vec<Entry> = self.0.iter().rev().cloned().collect();
        entries.sort_by_key(Entry::order);
        entries
    }

    /// Addresses with their tables.
    pub(super) fn rules(&self) -> impl Iterator<Item = (IpAddr, u32)> {
        self.0.iter().filter_map(|entry| match entry.step {
            Step::Rule { from, table, .. } => Some((from, table)),
            _ => None,
        })
    }

    /// The tables that it has routes or rules of.
    pub(super) fn tables(&self) -> BTreeSet<u32> {
        let table = |entry: &Entry| match &entry.step {
            Step::Rule { table, .. } => Some(*table),
            Step::Route(route) => Some(route.table),
            Step::Limits(_) | Step::Sysctl { .. } => None,
        };
        self.0.iter().filter_map(table).collect()
    }

    /// Adds `step`, which finds `before`, if there is none like this.
    pub(super) fn add(&mut self, step: &Step, before: Before) {
        let entry = Entry { step: step.clone(), before };
        if !self.0.contains(&entry) {
            self.0.push(entry);
        }
    }

    /// `setting` is done, and was `before` once: all that was between is of no interest any more.
    pub(super) fn set(&mut self, setting: &Step, before: Before) {
        let place = self.0.iter().position(|entry| entry.setting(setting).is_some()).unwrap_or(self.0.len());
        self.0.retain(|entry| entry.setting(setting).is_none());
        let entry = Entry { step: setting.clone(), before };
        if entry.setting(setting).as_ref() != Some(&entry.before) {
            self.0.insert(place.min(self.0.len()), entry);
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    version: u32,
    netns: Option<String>,
    steps: Vec<Entry>,
}

/// Names of namespaces may be paths; the name itself is in the record.
fn path(state: &Path, netns: Option<&str>) -> PathBuf {
    state.join(match netns {
        None => "record.json".to_owned(),
        Some(name) => format!("record-{}.json", name.replace('/', "_")),
    })
}

fn read(path: &Path, netns: Option<&str>) -> Result<Vec<Entry>, SetupError> {
    let wrong = |error| SetupError::Record { path: path.to_owned(), error };
    let file = match open(path, OpenOptions::new().read(true)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(wrong)?,
    };
    let mut text = String::new();
    file.take(LONGEST + 1).read_to_string(&mut text).map_err(wrong)?;
    parse(&text, netns).map_err(|why| SetupError::Damaged { path: path.to_owned(), why })
}

/// The record of one network namespace, locked.
#[derive(Debug)]
pub(super) struct Record {
    path: PathBuf,
    netns: Option<String>,
    pub recorded: Recorded,
    lock: File,
}

impl Drop for Record {
    fn drop(&mut self) {
        // closing is not enough where a child process that is about to start has it, too
        let _ = self.lock.unlock();
    }
}

impl Record {
    /// Opens the record of `netns` in the folder `state`; an empty one if there is none.
    pub(super) fn open(state: &Path, netns: Option<&str>) -> Result<Record, SetupError> {
        let path = path(state, netns);
        let wrong = |error| SetupError::Record { path: path.clone(), error };
        fs::create_dir_all(state).map_err(wrong)?;
        let lock = open(&state.join("lock"), OpenOptions::new().create(true).write(true)).map_err(wrong)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(fs::TryLockError::WouldBlock) => return Err(SetupError::Busy(state.to_owned())),
            Err(fs::TryLockError::Error(error)) => return Err(wrong(error)),
        }
        let recorded = Recorded(read(&path, netns)?);
        Ok(Record { path, netns: netns.map(str::to_owned), recorded, lock })
    }

    /// Makes the file say what `recorded` says, and only then returns. Without steps there is no file.
    pub(super) fn save(&self) -> Result<(), SetupError> {
        self.write().map_err(|error| SetupError::Record { path: self.path.clone(), error })
    }

    fn write(&self) -> io::Result<()> {
        let folder = File::open(self.path.parent().unwrap_or(Path::new("/")))?;
        if self.recorded.0.is_empty() {
            match fs::remove_file(&self.path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => return folder.sync_all(),
            }
        }
        let content = Content { version: VERSION, netns: self.netns.clone(), steps: self.recorded.0.clone() };
        let mut text = serde_json::to_vec_pretty(&content)?;
        text.push(b'\n');
        if text.len() as u64 > LONGEST {
            // as nobody would read it again
            return Err(io::Error::other(format!("{} steps are too many to record", content.steps.len())));
        }
        let new = self.path.with_extension("json.new");
        let mut file = open(&new, OpenOptions::new().create(true).write(true).truncate(true))?;
        let written = file.write_all(&text).and_then(|()| file.sync_all()).and_then(|()| fs::rename(&new, &self.path));
        if written.is_err() {
            // what it takes of a full disk may be what is missing elsewhere
            let _ = fs::remove_file(&new);
        }
        written?;
        folder.sync_all()
    }
}

/// Opens a plain file of the owner's; a link is refused, so that nobody leads a write elsewhere.
fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let file = options.mode(0o600).custom_flags(flags.bits().cast_signed()).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("this is not a file"));
    }
    Ok(file)
}

fn parse(text: &str, netns: Option<&str>) -> Result<Vec<Entry>, String> {
    if text.len() as u64 > LONGEST {
        return Err("it is too long".to_owned());
    }
    let content: Content = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if content.version != VERSION {
        return Err(format!("its version is {}, this program knows {VERSION}", content.version));
    }
    if content.netns.as_deref() != netns {
        return Err("it is about another network namespace".to_owned());
    }
    for Entry { step, before } in &content.steps {
        if let Some(why) = wrong(step, before) {
            return Err(why);
        }
    }
    Ok(content.steps)
}

/// What this program never does, so that whoever can write the record cannot have more done than that.
fn wrong(step: &Step, before: &Before) -> Option<String> {
    let value = |text: &str| text.len() <= 64 && !text.contains(char::is_control);
    let table = |table: u32| table != 0 && !KERNEL_TABLES.contains(&table);
    let fits = match (step, before) {
        (Step::Sysctl { name, value: to }, Before::Value(from)) => {
            SYSCTLS.contains(&name.as_str()) && value(to) && value(from)
        }
        (Step::Limits(_), Before::Limits(_)) => true,
        (Step::Route(route), Before::Nothing) => table(route.table) && value(&route.interface),
        (Step::Rule { table: to, .. }, Before::Nothing) => table(*to),
        _ => false,
    };
    (!fits).then(|| format!("it has a step that this program does not do: {step}").replace(char::is_control, " "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn entry(step: Step, before: Before) -> String {
        serde_json::to_string(&Content { version: VERSION, netns: None, steps: vec![Entry { step, before }] }).unwrap()
    }

    #[test]
    fn steps_that_this_program_never_does_are_refused() {
        let sysctl = |name: &str| Step::Sysctl { name: name.to_owned(), value: "1".to_owned() };
        let before = || Before::Value("0".to_owned());
        let rule = |table| Step::Rule { from: "10.0.0.1".parse().unwrap(), table, priority: 1 };
        assert_eq!(parse(&entry(sysctl("net.mptcp.enabled"), before()), None).unwrap().len(), 1);
        assert_eq!(parse(&entry(rule(8300), Before::Nothing), None).unwrap().len(), 1);
        for text in [
            entry(sysctl("kernel.core_pattern"), before()),
            entry(sysctl("net.mptcp.enabled"), Before::Nothing),
            entry(sysctl("net.mptcp.enabled"), Before::Value("x".repeat(65))),
            entry(rule(254), Before::Nothing),
            entry(rule(8300), before()),
        ] {
            assert!(parse(&text, None).unwrap_err().contains("does not do"), "{text}");
        }
        assert!(parse(&entry(rule(8300), Before::Nothing), Some("blue")).is_err());
    }

    #[test]
    fn other_versions_keys_and_kinds_are_refused() {
        for text in [
            "",
            "{}",
            "null",
            r#"{"version":2,"netns":null,"steps":[]}"#,
            r#"{"version":1,"netns":null,"steps":[],"more":1}"#,
            r#"{"version":1,"netns":null,"steps":[{"step":{"kind":"exec","command":"id"},"before":"nothing"}]}"#,
        ] {
            assert!(parse(text, None).is_err(), "{text}");
        }
        assert!(parse(&" ".repeat(LONGEST as usize + 1), None).is_err());
    }

    #[test]
    fn a_link_in_the_records_place_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("target");
        fs::write(&target, r#"{"version":1,"netns":null,"steps":[]}"#).unwrap();
        std::os::unix::fs::symlink(&target, folder.path().join("record.json")).unwrap();
        assert!(matches!(Record::open(folder.path(), None), Err(SetupError::Record { .. })));
    }

    proptest! {
        #[test]
        fn any_text_is_a_record_or_refused(text in "\\PC{0,200}") {
            let _ = parse(&text, None);
        }
    }
}
