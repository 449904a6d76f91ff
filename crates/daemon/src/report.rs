//! The table of `doctor`: what a host lacks, and what to do about it.

use std::fmt;

use serde::Serialize;

/// How a thing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// As it should be.
    Ok,
    /// It works, but look.
    Note,
    /// It does not work like this.
    Missing,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What.
    pub what: String,
    /// How it is.
    pub verdict: Verdict,
    /// What was found.
    pub found: String,
    /// What to do.
    pub advice: Option<String>,
}

/// All of them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Report {
    /// In the order in which to solve them.
    pub checks: Vec<Check>,
}

impl Report {
    /// Whether nothing is missing.
    pub fn is_fine(&self) -> bool {
        self.checks.iter().all(|check| check.verdict != Verdict::Missing)
    }

    /// Adds a thing. What is as it should be needs no `advice`; empty, there is none.
    pub fn add(&mut self, what: &str, verdict: Verdict, found: impl Into<String>, advice: &str) {
        let advice = (verdict != Verdict::Ok && !advice.is_empty()).then(|| advice.to_owned());
        self.checks.push(Check { what: what.to_owned(), verdict, found: found.into(), advice });
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.checks.iter().map(|check| check.what.chars().count()).max().unwrap_or(0);
        for Check { what, verdict, found, advice } in &self.checks {
            let verdict = match verdict {
                Verdict::Ok => "ok",
                Verdict::Note => "note",
                Verdict::Missing => "missing",
            };
            writeln!(f, "{verdict:<7}  {what:<width$}  {found}")?;
            if let Some(advice) = advice {
                writeln!(f, "{:<9}{:<width$}  -> {advice}", "", "")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_stands_below_what_it_is_about_and_not_where_all_is_well() {
        let mut report = Report::default();
        report.add("kernel", Verdict::Ok, "6.18", "take another");
        report.add("card", Verdict::Note, "slow", "");
        assert!(report.is_fine());
        report.add("path manager", Verdict::Missing, "none", "take one");
        assert!(!report.is_fine());
        let text = report.to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines,
            [
                "ok       kernel        6.18",
                "note     card          slow",
                "missing  path manager  none",
                "                       -> take one",
            ]
        );
    }
}
