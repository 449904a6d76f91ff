//! The text of a scenario, and the scenario as it is run.

use std::path::PathBuf;

use headway_input::ReadError;
use headway_language::{MAX_TEXT, Problems, decode, unread};
use headway_scenario::{Document, Overrides, ScenarioRecord};
use thiserror::Error;

/// Why a file gives no text of a scenario.
#[derive(Debug, Error)]
pub enum SourceError {
    /// It is not text, or too much of it.
    #[error(transparent)]
    Problems(#[from] Problems),
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// The text of a scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Its name in messages.
    pub name: String,
    /// The file's text.
    pub text: String,
    /// The folder in which files it names are looked for.
    pub folder: PathBuf,
}

impl Source {
    /// A scenario has at most so many bytes of text.
    pub const LARGEST: u64 = MAX_TEXT as u64;

    /// The scenario that `read` gave, shown as `name` in problems.
    ///
    /// # Errors
    /// If it could not be read, is too large, or not UTF-8.
    pub fn of_file(name: &str, read: Result<Vec<u8>, ReadError>, folder: PathBuf) -> Result<Source, SourceError> {
        match read {
            Ok(bytes) => Ok(Source { name: name.to_owned(), text: decode(name, bytes)?, folder }),
            Err(ReadError::Size { .. }) => {
                Err(unread(name, format!("a scenario has at most {} MB of text", MAX_TEXT / 1_000_000)).into())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Reads it, with the changes `overrides`.
    ///
    /// # Errors
    /// Everything that is wrong with its text and the overrides.
    pub fn parse(&self, overrides: &Overrides) -> Result<Document, Problems> {
        Document::parse_with(&self.text, &self.name, overrides)
    }

    /// Reads and checks it, with the changes `overrides`.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn scenario(&self, overrides: Overrides) -> Result<Scenario<'_>, Problems> {
        let document = self.parse(&overrides)?;
        document.check_all()?;
        let record = document.scenario(&document.points()[0])?;
        Ok(Scenario { source: self, overrides, document, record })
    }
}

/// A scenario that was checked, before `--seed` and `--repeats` change it.
#[derive(Debug)]
pub struct Scenario<'a> {
    pub(crate) source: &'a Source,
    overrides: Overrides,
    pub(crate) document: Document,
    /// At its first sweep point.
    pub record: ScenarioRecord,
}

impl Scenario<'_> {
    /// Its text as it was read, with the sweep.
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// The scenario as it is run and the text of it as it is kept, which gives the same results when it is run
    /// again: the file's own text if nothing is changed, otherwise the changed scenario with every default.
    ///
    /// # Errors
    /// If it is wrong with this seed and number of repeats.
    pub fn with(&self, seed: u64, repeats: u32) -> Result<(Document, String), Problems> {
        let mut changes = self.overrides.clone();
        if seed != self.record.seed {
            changes.sets.push(format!("seed={seed}"));
        }
        if repeats != self.record.repeats {
            changes.sets.push(format!("repeats={repeats}"));
        }
        if changes.is_empty() {
            return Ok((self.document.clone(), self.source.text.clone()));
        }
        let document = self.source.parse(&changes)?;
        let shown = document.show()?;
        let text = format!("# Changed on the command line: {changes}\n# Every default is written out.\n\n{shown}");
        Ok((document, text))
    }
}
