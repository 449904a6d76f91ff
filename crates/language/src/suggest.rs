//! Did you mean …?

use std::fmt::Write as _;

/// The candidate that `found` is most likely a misspelling of.
pub fn nearest<'a>(found: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Nobody mistypes a word this long beyond recognition, and the distance costs length squared.
    const LONGEST: usize = 64;
    const MOST: usize = 1_000;
    if found.len() > LONGEST {
        return None;
    }
    let plain = |text: &str| text.to_lowercase().replace(['_', ' '], "-");
    let found = plain(found);
    // One slip in three letters: `swep` is `sweep`, `x` is nothing.
    let most = (found.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .take(MOST)
        .filter(|candidate| candidate.len() <= LONGEST)
        .map(|candidate| (strsim::damerau_levenshtein(&found, &plain(candidate)), candidate))
        .filter(|&(distance, candidate)| distance <= most && distance < candidate.len())
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

/// Help for an unknown name: the nearest known one, or all of them.
pub fn help<'a>(found: &str, candidates: impl IntoIterator<Item = &'a str> + Clone, what: &str) -> String {
    if let Some(near) = nearest(found, candidates.clone()) {
        return format!("did you mean `{near}`?");
    }
    let known = list(candidates, 12);
    if known.is_empty() { format!("there are no {what}") } else { format!("{what}: {known}") }
}

/// The candidates with commas between, at most `most` of them.
pub fn list<'a>(candidates: impl IntoIterator<Item = &'a str>, most: usize) -> String {
    let mut candidates = candidates.into_iter();
    let mut text = candidates.by_ref().take(most).collect::<Vec<_>>().join(", ");
    let more = candidates.count();
    if more > 0 {
        let _ = write!(text, " and {more} more");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_of_the_finger_are_found_and_strangers_are_not() {
        let keys = ["rate", "delay", "loss", "switch-latency"];
        assert_eq!(nearest("rtae", keys), Some("rate"));
        assert_eq!(nearest("Rate", keys), Some("rate"));
        assert_eq!(nearest("switch_latency", keys), Some("switch-latency"));
        assert_eq!(nearest("bandwidth", keys), None);
        assert_eq!(nearest("", keys), None);
    }

    #[test]
    fn long_lists_are_cut() {
        assert_eq!(list(["a", "b", "c"], 2), "a, b and 1 more");
        assert_eq!(help("x", [], "groups"), "there are no groups");
    }
}
