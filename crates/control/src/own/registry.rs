//! The policies that a program gives, by name.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::congestion::OwnControlKind;
use crate::lanes::OwnJudgeKind;

/// The longest name.
const LONGEST: usize = 64;

/// The congestion controls and judges that a program gives to its runs, by the names that scenarios have for them.
#[derive(Clone, Default)]
pub struct Registry {
    controls: BTreeMap<String, Arc<dyn OwnControlKind>>,
    judges: BTreeMap<String, Arc<dyn OwnJudgeKind>>,
}

/// A name that no policy can have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadName(pub String);

impl fmt::Display for BadName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown: String = self.0.chars().take(LONGEST).collect();
        write!(f, "`{}` is no name: 1 to {LONGEST} letters, digits, `-`, `_` and `.`", shown.escape_debug())
    }
}

impl std::error::Error for BadName {}

impl Registry {
    /// With a congestion control, which a scenario names `control = "own:NAME"`. An earlier one of the name is replaced.
    ///
    /// # Errors
    /// If it is no name.
    pub fn with_control(mut self, name: &str, kind: impl OwnControlKind + 'static) -> Result<Registry, BadName> {
        self.controls.insert(checked(name)?, Arc::new(kind));
        Ok(self)
    }

    /// With a judge, which a scenario names `judge = { kind = "own", name = "NAME" }`. An earlier one of the name is
    /// replaced.
    ///
    /// # Errors
    /// If it is no name.
    pub fn with_judge(mut self, name: &str, kind: impl OwnJudgeKind + 'static) -> Result<Registry, BadName> {
        self.judges.insert(checked(name)?, Arc::new(kind));
        Ok(self)
    }

    /// The control of this name.
    pub fn control(&self, name: &str) -> Option<&Arc<dyn OwnControlKind>> {
        self.controls.get(name)
    }

    /// The judge of this name.
    pub fn judge(&self, name: &str) -> Option<&Arc<dyn OwnJudgeKind>> {
        self.judges.get(name)
    }

    /// The names of all controls, in order.
    pub fn controls(&self) -> impl Iterator<Item = &str> {
        self.controls.keys().map(String::as_str)
    }

    /// The names of all judges, in order.
    pub fn judges(&self) -> impl Iterator<Item = &str> {
        self.judges.keys().map(String::as_str)
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let controls: Vec<_> = self.controls().collect();
        let judges: Vec<_> = self.judges().collect();
        f.debug_struct("Registry").field("controls", &controls).field("judges", &judges).finish()
    }
}

fn checked(name: &str) -> Result<String, BadName> {
    let inside = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let good = (1..=LONGEST).contains(&name.len()) && name.chars().all(inside);
    if good { Ok(name.to_owned()) } else { Err(BadName(name.to_owned())) }
}
