//! Problems of a plan, each with its place in the file.

/// A problem with the value at a key path, before it is tied to its place in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanError {
    /// The keys that lead to the value.
    pub path: Vec<String>,
    /// The problem, in words.
    pub message: String,
    /// A remedy, in words.
    pub help: Option<String>,
}

impl PlanError {
    /// The problem `message` with the value at `path`.
    pub fn new(path: &[&str], message: impl Into<String>) -> PlanError {
        PlanError { path: path.iter().map(|&s| s.to_owned()).collect(), message: message.into(), help: None }
    }

    /// With a remedy.
    pub fn help(mut self, help: impl Into<String>) -> PlanError {
        self.help = Some(help.into());
        self
    }
}
