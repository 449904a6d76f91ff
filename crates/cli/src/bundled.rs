//! The scenarios that come with the command.

use std::io::Read as _;

use flate2::read::GzDecoder;
pub use headway_experiment::{BUNDLED as ALL, Bundled};

/// The scenarios of the folder `fidelity`, by name.
pub const FIDELITY: &[Bundled] = include!(concat!(env!("OUT_DIR"), "/fidelity.rs"));

/// What kernel hosts did at the points of these scenarios, `fidelity/kernel.jsonl`.
pub fn fidelity_kernels() -> String {
    let packed: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/kernel.jsonl.gz"));
    let mut text = String::new();
    GzDecoder::new(packed).read_to_string(&mut text).expect("the build script packed it");
    text
}

/// The model's errors there.
pub const FIDELITY_BASELINE: &str = include_str!("../../../fidelity/baseline.csv");

/// The scenario `name`, given with or without `.toml`.
pub fn find(name: &str) -> Option<&'static Bundled> {
    let name = name.strip_suffix(".toml").unwrap_or(name);
    ALL.iter().find(|bundled| bundled.name == name)
}

/// The name that `text` is most likely a slip or a part of.
pub fn nearest(text: &str) -> Option<&'static str> {
    nearest_of(text, ALL.iter().map(|bundled| bundled.name))
}

fn nearest_of<'a>(text: &str, mut names: impl Iterator<Item = &'a str> + Clone) -> Option<&'a str> {
    // Nobody mistypes a longer name, and the distance costs length squared.
    if text.chars().count() > 100 {
        return None;
    }
    let text = text.to_lowercase().replace('_', "-");
    let distance = |name: &&str| strsim::damerau_levenshtein(&text, name);
    let close = names.clone().min_by_key(distance).filter(|name| distance(name) <= (name.len() / 4).max(1));
    // Two letters are in too many names to mean one.
    let part = || names.find(|name| text.len() > 2 && name.contains(&text));
    close.or_else(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_and_parts_are_found_and_strangers_are_not() {
        let nearest = |text| nearest_of(text, ["lanes-l6-throughput", "lanes-l7-queue-buildup"].into_iter());
        assert_eq!(nearest("lanes-l7-queue-bildup"), Some("lanes-l7-queue-buildup"));
        assert_eq!(nearest("lanes_l7_queue_buildup"), Some("lanes-l7-queue-buildup"));
        assert_eq!(nearest("lanes-l7"), Some("lanes-l7-queue-buildup"));
        assert_eq!(nearest("through"), Some("lanes-l6-throughput"));
        assert_eq!(nearest("la"), None);
        assert_eq!(nearest(""), None);
        assert_eq!(nearest("pacing"), None);
    }
}
