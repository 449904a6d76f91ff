//! What commands left: a table of them, and their output in files.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::record::{Cell, Outcome};

/// The folder of outputs.
const FOLDER: &str = "commands";

/// `commands.csv` in the making.
pub(crate) struct CommandTable<'a> {
    path: &'a Path,
    cells: &'a [Cell],
    text: String,
}

impl CommandTable<'_> {
    pub fn new<'a>(path: &'a Path, cells: &'a [Cell]) -> CommandTable<'a> {
        let mut text = "policy".to_owned();
        for name in cells.first().iter().flat_map(|cell| cell.sweep.names()) {
            let _ = write!(text, ",{}", field(&format!("sweep_{name}")));
        }
        text += ",repeat,traffic,host,start_ns,end_ns,code,ended,stdout_bytes,stderr_bytes,output\n";
        CommandTable { path, cells, text }
    }

    /// Adds the commands of a run, and writes what they wrote to `commands/<cell>-<repeat>/<traffic>-<host>.stdout` and
    /// `.stderr`.
    pub fn add(&mut self, outcome: &Outcome) -> Result<(), Error> {
        if outcome.commands.is_empty() {
            return Ok(());
        }
        let job = outcome.job;
        let cell = &self.cells[job.cell as usize];
        let folder = Path::new(FOLDER).join(format!("{}-{}", job.cell, job.repeat));
        let inside: PathBuf = self.path.join(&folder);
        fs::create_dir_all(&inside).map_err(Error::io("create", &inside))?;
        for command in &outcome.commands {
            let name = format!("{}-{}", command.traffic, command.host);
            for (end, output) in [("stdout", &command.stdout), ("stderr", &command.stderr)] {
                let path = inside.join(format!("{name}.{end}"));
                fs::write(&path, &output.kept).map_err(Error::io("write", &path))?;
            }
            self.text += &field(&cell.policy);
            for (_, value) in cell.sweep.iter() {
                let _ = write!(self.text, ",{}", field(&value.text));
            }
            let nanos = |time: headway_units::Time| time.picos() / 1000;
            let _ = writeln!(
                self.text,
                ",{},{},{},{},{},{},{},{},{},{}",
                job.repeat,
                command.traffic,
                command.host,
                nanos(command.start),
                nanos(command.end),
                command.code,
                command.ended,
                command.stdout.bytes,
                command.stderr.bytes,
                folder.join(name).display()
            );
        }
        Ok(())
    }

    /// The table, if there were commands.
    pub fn finish(self) -> Option<String> {
        (self.text.lines().count() > 1).then_some(self.text)
    }
}

/// As a field of CSV (RFC 4180).
fn field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}
