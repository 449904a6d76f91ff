//! The record of what was set up: a file that says at least what was done, whenever the process ends.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{SetupError, Step};

/// What is written; another version is refused.
const VERSION: u32 = 1;
/// A record is at most this long: some 4000 steps. 8 lanes of 64 addresses and their routes take a tenth.
const LONGEST: u64 = 1_000_000;

/// A step that was done or was about to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, bound = "S: Step")]
pub struct Entry<S: Step> {
    /// The step.
    pub step: S,
    /// What it found.
    pub before: S::Before,
}

/// What is recorded of a network namespace, in the order of its doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded<S: Step>(pub(super) Vec<Entry<S>>);

impl<S: Step> Default for Recorded<S> {
    fn default() -> Recorded<S> {
        Recorded(Vec::new())
    }
}

impl<S: Step> Recorded<S> {
    /// Reads the record of the namespace `netns` (`None`: the one that the daemon was started in) in the folder `state`, and
    /// changes nothing. Empty if there is none.
    ///
    /// # Errors
    /// If it cannot be read or is damaged.
    pub fn read(state: &Path, netns: Option<&str>) -> Result<Recorded<S>, SetupError> {
        read(&path(state, netns), netns).map(Recorded)
    }

    /// The steps, in the order of their doing.
    pub fn steps(&self) -> impl Iterator<Item = &S> {
        self.0.iter().map(|entry| &entry.step)
    }

    /// What `setting` was before the recorded steps, where it is `now` something: a step counts that left it as it is.
    pub fn before(&self, setting: &S, now: S::Before) -> S::Before {
        let mut value = now;
        for entry in self.0.iter().rev() {
            if entry.step.sets(setting).as_ref() == Some(&value) {
                value = entry.before.clone();
            }
        }
        value
    }

    /// The steps in the order of their undoing: by [`Step::undo_order`], of each the latest first.
    pub fn undoing(&self) -> Vec<Entry<S>> {
        let mut entries: Vec<Entry<S>> = self.0.iter().rev().cloned().collect();
        entries.sort_by_key(|entry| entry.step.undo_order());
        entries
    }

    /// Adds `step`, which finds `before`, if there is none like this.
    pub(super) fn add(&mut self, step: &S, before: S::Before) {
        let entry = Entry { step: step.clone(), before };
        if !self.0.contains(&entry) {
            self.0.push(entry);
        }
    }

    /// `setting` is done, and was `before` once: all that was between is of no interest any more.
    pub(super) fn set(&mut self, setting: &S, before: S::Before) {
        let about = |entry: &Entry<S>| entry.step.sets(setting).is_some();
        let place = self.0.iter().position(about).unwrap_or(self.0.len());
        self.0.retain(|entry| !about(entry));
        let entry = Entry { step: setting.clone(), before };
        if entry.step.sets(setting).as_ref() != Some(&entry.before) {
            self.0.insert(place.min(self.0.len()), entry);
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, bound = "S: Step")]
struct Content<S: Step> {
    version: u32,
    netns: Option<String>,
    steps: Vec<Entry<S>>,
}

/// Names of namespaces may be paths; the name itself is in the record.
fn path(state: &Path, netns: Option<&str>) -> PathBuf {
    state.join(match netns {
        None => "record.json".to_owned(),
        Some(name) => format!("record-{}.json", name.replace('/', "_")),
    })
}

fn read<S: Step>(path: &Path, netns: Option<&str>) -> Result<Vec<Entry<S>>, SetupError> {
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
pub(super) struct Record<S: Step> {
    path: PathBuf,
    netns: Option<String>,
    pub recorded: Recorded<S>,
    lock: File,
}

impl<S: Step> Drop for Record<S> {
    fn drop(&mut self) {
        // closing is not enough where a child process that is about to start has it, too
        let _ = self.lock.unlock();
    }
}

impl<S: Step> Record<S> {
    /// Opens the record of `netns` in the folder `state`; an empty one if there is none.
    pub(super) fn open(state: &Path, netns: Option<&str>) -> Result<Record<S>, SetupError> {
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

fn parse<S: Step>(text: &str, netns: Option<&str>) -> Result<Vec<Entry<S>>, String> {
    if text.len() as u64 > LONGEST {
        return Err("it is too long".to_owned());
    }
    let content: Content<S> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if content.version != VERSION {
        return Err(format!("its version is {}, this program knows {VERSION}", content.version));
    }
    if content.netns.as_deref() != netns {
        return Err("it is about another network namespace".to_owned());
    }
    for Entry { step, before } in &content.steps {
        if !step.is_known(before) {
            let why = format!("it has a step that this program does not do: {step}");
            return Err(why.replace(char::is_control, " "));
        }
    }
    Ok(content.steps)
}

#[cfg(test)]
mod tests {
    use super::super::fake::{Change, add, set};
    use super::*;
    use proptest::prelude::*;

    fn entry(step: Change, before: Option<&str>) -> String {
        let steps = vec![Entry { step, before: before.map(str::to_owned) }];
        serde_json::to_string(&Content { version: VERSION, netns: None, steps }).unwrap()
    }

    fn parse(text: &str, netns: Option<&str>) -> Result<Vec<Entry<Change>>, String> {
        super::parse(text, netns)
    }

    #[test]
    fn steps_that_this_program_never_does_are_refused() {
        assert_eq!(parse(&entry(set("a", "1"), Some("0")), None).unwrap().len(), 1);
        assert_eq!(parse(&entry(add("b"), None), None).unwrap().len(), 1);
        for text in [entry(set("a", "1"), None), entry(add("b"), Some("0"))] {
            assert!(parse(&text, None).unwrap_err().contains("does not do"), "{text}");
        }
        assert!(parse(&entry(add("b"), None), Some("blue")).is_err());
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
        assert!(matches!(Record::<Change>::open(folder.path(), None), Err(SetupError::Record { .. })));
    }

    proptest! {
        #[test]
        fn any_text_is_a_record_or_refused(text in "\\PC{0,200}") {
            let _ = parse(&text, None);
        }
    }
}
