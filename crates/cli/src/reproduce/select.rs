//! Which of the bundled scenarios are experiments, and which of them are meant.
//!
//! An experiment's name is `GROUP-IDENTIFIER` or `GROUP-IDENTIFIER-…`, where the identifier is a letter and a number:
//! `pacing-p1` is P1 of `pacing`, `lanes-l7-queue-buildup` L7 of `lanes`.

use crate::bundled::{self, Bundled};
use crate::failure::Failure;

/// A bundled scenario that repeats an experiment.
#[derive(Debug, Clone, Copy)]
pub struct Experiment {
    pub bundled: &'static Bundled,
    /// `lanes`.
    pub group: &'static str,
    /// `l7`.
    pub id: &'static str,
    /// 7.
    number: u32,
}

impl Experiment {
    fn of(bundled: &'static Bundled) -> Option<Experiment> {
        let (group, id, number) = parts(bundled.name)?;
        Some(Experiment { bundled, group, id, number })
    }

    /// Whether `text` means it: a group, an identifier, both, or the whole name.
    fn is_meant(&self, text: &str) -> bool {
        let name = self.bundled.name;
        let both = text.strip_prefix(self.group).and_then(|rest| rest.strip_prefix('-'));
        [self.group, self.id, name].contains(&text) || both == Some(self.id)
    }
}

/// `lanes`, `l7` and 7 of `lanes-l7-queue-buildup`.
fn parts(name: &str) -> Option<(&str, &str, u32)> {
    let mut segments = name.split('-');
    let (group, id) = (segments.next()?, segments.next()?);
    let digits = id.strip_prefix(|letter: char| letter.is_ascii_lowercase())?;
    Some((group, id, digits.parse().ok()?))
}

/// All of them, by group and number.
pub fn all() -> Vec<Experiment> {
    let mut all: Vec<Experiment> = bundled::ALL.iter().filter_map(Experiment::of).collect();
    all.sort_by_key(|one| (one.group, one.id.as_bytes()[0], one.number, one.bundled.name));
    all
}

/// Those that `asked` means, each once, in order; all without any.
pub fn choose(asked: &[String]) -> Result<Vec<Experiment>, Failure> {
    let mut all = all();
    let asked: Vec<String> = asked.iter().map(|text| text.to_lowercase()).collect();
    if let Some(unknown) = asked.iter().find(|text| !all.iter().any(|one| one.is_meant(text))) {
        let failure = Failure::usage(format!("there is no experiment `{}`", unknown.escape_debug()));
        return Err(failure.help(match bundled::nearest(unknown).filter(|near| parts(near).is_some()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "`headway reproduce --list` prints them".to_owned(),
        }));
    }
    let narrowed = narrowed(&asked, &all);
    let meant = |one: &Experiment| {
        let whole = |(place, text): (usize, &String)| one.is_meant(text) && !narrowed.contains(&place);
        asked.iter().enumerate().any(whole)
    };
    all.retain(|one| asked.is_empty() || meant(one));
    Ok(all)
}

/// The places of groups in `asked` that are followed by an identifier of theirs: `lanes l12` is L12 of `lanes`, and not all
/// of them.
fn narrowed(asked: &[String], all: &[Experiment]) -> Vec<usize> {
    let followed = |place: usize| {
        let next = asked.get(place + 1);
        next.is_some_and(|id| all.iter().any(|one| one.group == asked[place] && one.id == id))
    };
    (0..asked.len()).filter(|&place| followed(place)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_letter_and_a_number_behind_the_group_make_an_experiment() {
        assert_eq!(parts("lanes-l7-queue-buildup"), Some(("lanes", "l7", 7)));
        assert_eq!(parts("lanes-l13-other"), Some(("lanes", "l13", 13)));
        assert_eq!(parts("pacing-p1"), Some(("pacing", "p1", 1)));
        for name in ["kernel-web", "kernel-arithmetic", "example-incast", "lanes-lx-a", "lanes-7-a", "lanes"] {
            assert_eq!(parts(name), None, "{name}");
        }
    }

    #[test]
    fn experiments_are_chosen_by_group_identifier_or_name_and_come_in_order() {
        let names = |asked: &[&str]| -> Vec<&str> {
            let asked: Vec<String> = asked.iter().map(|&text| text.to_owned()).collect();
            choose(&asked).unwrap().into_iter().map(|one| one.bundled.name).collect()
        };
        let (l6, l7) = ("lanes-l6-throughput", "lanes-l7-queue-buildup");
        for text in ["l7", "L7", "lanes-l7", l7] {
            assert_eq!(names(&[text]), [l7], "{text}");
        }
        assert_eq!(names(&["l7", "lanes-l6", "l7"]), [l6, l7]);
        for group in ["lanes", "relay"] {
            let own: Vec<&str> = names(&[]).into_iter().filter(|name| parts(name).unwrap().0 == group).collect();
            assert!(!own.is_empty() && own == names(&[group]), "{group}");
            assert!(own.is_sorted_by_key(|name| parts(name).unwrap().2), "{own:?}");
        }
        let l12 = names(&["l12"]);
        assert_eq!(l12, ["lanes-l12-four-paths", "lanes-l12-three-paths"]);
        assert_eq!(names(&["lanes", "l12"]), l12);
        assert_eq!(names(&["lanes", "l6", "l12"]), [&[l6], &l12[..]].concat());
        assert_eq!(names(&["lanes", "p1"]).len(), names(&["lanes"]).len() + 1, "another group's is one more");
        assert_eq!(names(&["relay", "lanes", "l7"]), [&[l7], &names(&["relay"])[..]].concat());
        assert!(choose(&["l".to_owned()]).is_err() && choose(&[String::new()]).is_err());
    }
}
