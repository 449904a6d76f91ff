//! A host's report, and why there is none.

use std::fmt::Display;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use headway_agent::protocol::{OUT, REPORT, Report};

/// What is pending is written when it is more than this many bytes.
const PENDING: usize = 32 * 1024;

/// Why a guest cannot go on, in words for the user.
#[derive(Debug)]
pub struct Failure(pub String);

/// Puts `what` in front of an error.
pub fn because<E: Display>(what: impl Display) -> impl FnOnce(E) -> Failure {
    move |error| Failure(format!("{what}: {}", reason(error)))
}

/// The text of an error without the system's number for it.
pub fn reason(error: impl Display) -> String {
    let mut text = error.to_string();
    if let Some(number) = text.find(" (os error") {
        text.truncate(number);
    }
    text
}

/// Appends to a report, many lines at a time.
pub struct Writer {
    file: File,
    pending: Vec<u8>,
}

impl Writer {
    /// Opens the report of the host at this place.
    pub fn open(share: &Path, host: usize) -> io::Result<Self> {
        let folder = share.join(OUT).join(host.to_string());
        std::fs::create_dir_all(&folder)?;
        let file = OpenOptions::new().create(true).append(true).open(folder.join(REPORT))?;
        Ok(Self { file, pending: Vec::new() })
    }

    /// Adds a line; it is written later.
    pub fn add(&mut self, report: &Report) -> Result<(), Failure> {
        serde_json::to_writer(&mut self.pending, report).map_err(because("a report cannot be put into words"))?;
        self.pending.push(b'\n');
        if self.pending.len() > PENDING { self.write() } else { Ok(()) }
    }

    /// Adds a line and writes everything.
    pub fn add_now(&mut self, report: &Report) -> Result<(), Failure> {
        self.add(report)?;
        self.write()
    }

    /// Writes everything.
    pub fn write(&mut self) -> Result<(), Failure> {
        let result = self.file.write_all(&self.pending);
        self.pending.clear();
        result.map_err(because("the report cannot be written"))
    }
}
