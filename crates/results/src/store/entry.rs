//! One run in a store: a line that says what file this is, its manifest as a line of JSON, and its outcome as in parts.

use std::cmp::Ordering;
use std::io::{self, BufRead, Read, Write};

use serde::{Deserialize, Serialize};

use super::key::Key;
use crate::part;
use crate::record::{Job, Outcome, SweepPoint};

/// How the first line begins; behind it is the layout.
const BEGIN: &str = "headway run";

/// The layout of this version.
const FORMAT: u32 = 1;

/// How an outcome begins; behind it is its layout.
const PART: &str = "headway part";

/// A manifest is a line of at most this many bytes.
const LONGEST: u64 = 1 << 20;

/// What a run in a store is of: for people and for clearing up. Only the key finds it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredRun {
    /// The epoch of results in which it was made.
    pub epoch: u32,
    /// The version of the program.
    pub version: String,
    /// The scenario's name.
    pub scenario: String,
    /// The policy's name.
    pub policy: String,
    /// The point of the sweep.
    pub sweep: SweepPoint,
    /// The seed.
    pub seed: u64,
    /// The repeat, from 0.
    pub repeat: u32,
    /// The name of the kernel of kernel hosts, if it had any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
}

/// How a run in a store is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// As this version writes it.
    Known,
    /// As earlier versions did: nothing finds it any more.
    Older,
    /// As a later version does.
    Later,
}

impl Layout {
    fn of(found: u32, known: u32) -> Layout {
        match found.cmp(&known) {
            Ordering::Less => Layout::Older,
            Ordering::Equal => Layout::Known,
            Ordering::Greater => Layout::Later,
        }
    }
}

#[derive(Serialize, Deserialize)]
struct Line {
    key: String,
    #[serde(flatten)]
    run: StoredRun,
}

pub(super) fn write<W: Write>(key: &Key, run: &StoredRun, outcome: &Outcome, mut writer: W) -> io::Result<()> {
    writeln!(writer, "{BEGIN} {FORMAT}")?;
    let line = Line { key: key.to_string(), run: run.clone() };
    serde_json::to_writer(&mut writer, &line)?;
    writer.write_all(b"\n")?;
    part::write(outcome, writer)
}

/// Reads the first two lines and leaves the outcome.
pub(super) fn read_manifest<R: BufRead>(key: &Key, reader: &mut R) -> io::Result<StoredRun> {
    match begin(reader)? {
        Layout::Known => {}
        Layout::Older | Layout::Later => return Err(invalid("it is of another layout")),
    }
    read_line(key, reader)
}

/// What it is of, as far as that can be read, and how it is written.
///
/// # Errors
/// If it is damaged.
pub(super) fn look<R: BufRead>(key: &Key, reader: &mut R) -> io::Result<(Option<StoredRun>, Layout)> {
    match begin(reader)? {
        Layout::Known => {}
        other => return Ok((None, other)),
    }
    let run = read_line(key, reader)?;
    let known = number(PART, part::MAGIC).expect("it begins like that");
    let found = numbered(PART, reader)?.ok_or_else(|| invalid("its outcome does not start like one"))?;
    Ok((Some(run), Layout::of(found, known)))
}

fn begin<R: BufRead>(reader: &mut R) -> io::Result<Layout> {
    let found = numbered(BEGIN, reader)?.ok_or_else(|| invalid("it does not start like a run of a store"))?;
    Ok(Layout::of(found, FORMAT))
}

/// The number in a line that is `begin` and a number; nothing if it is another line.
fn numbered<R: BufRead>(begin: &str, reader: &mut R) -> io::Result<Option<u32>> {
    const MOST: u64 = 32;
    let mut line = Vec::new();
    reader.by_ref().take(MOST).read_until(b'\n', &mut line)?;
    Ok(number(begin, &line))
}

fn number(begin: &str, line: &[u8]) -> Option<u32> {
    let text = std::str::from_utf8(line).ok()?.strip_suffix('\n')?;
    text.strip_prefix(begin)?.strip_prefix(' ')?.parse().ok()
}

/// Reads the second line.
fn read_line<R: BufRead>(key: &Key, reader: &mut R) -> io::Result<StoredRun> {
    let mut text = Vec::new();
    reader.by_ref().take(LONGEST).read_until(b'\n', &mut text)?;
    if text.pop() != Some(b'\n') {
        return Err(invalid("its manifest is cut"));
    }
    let line: Line = serde_json::from_slice(&text).map_err(|_| invalid("its manifest cannot be read"))?;
    if line.key != key.to_string() {
        return Err(invalid("it has the name of another run"));
    }
    Ok(line.run)
}

/// Reads all of it; the outcome becomes that of `job`, whose repeat it must be.
pub(super) fn read(key: &Key, job: Job, bytes: &[u8]) -> io::Result<Outcome> {
    let mut rest = bytes;
    let run = read_manifest(key, &mut rest)?;
    let mut outcome = part::read(rest)?;
    if run.repeat != outcome.job.repeat || job.repeat != outcome.job.repeat {
        return Err(invalid("it is another repeat"));
    }
    // The number of a cell is its place in one scenario, and no part of what was run.
    outcome.job = job;
    Ok(outcome)
}

fn invalid(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}
