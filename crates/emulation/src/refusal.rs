//! Errors about settings of a transport that kernels lack.

use headway_scenario::plan::PlanError;

/// Whose transport is refused, and where it stands.
pub(crate) struct Refusal<'a> {
    pub policy: &'a str,
    pub at: &'a [&'a str],
}

impl Refusal<'_> {
    /// The policy has `what`, which is the value of `key`.
    pub fn without_help(&self, key: &str, what: &str) -> PlanError {
        PlanError::new(&[self.at, &[key]].concat(), format!("policy `{}` has {what}", self.policy))
    }

    /// The same; `remedy` goes into the transport.
    pub fn of(&self, key: &str, what: &str, remedy: &str) -> PlanError {
        self.without_help(key, what).help(format!("for kernel hosts, put {remedy} into the transport"))
    }
}
