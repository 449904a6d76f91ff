//! Names of congestion controls as other programs and papers write them.

use headway_control::congestion::AnyController;
use headway_language::suggest_nearest;

/// Other names of controls, without `tcp`, `-` and `_`: of Linux' modules, ns-3's classes, htsim, and papers.
const ALIASES: &[(&str, &str)] = &[
    ("reno", "new-reno"),
    ("linuxreno", "new-reno"),
    ("hstcp", "highspeed"),
    ("htcp", "h-tcp"),
    ("hamilton", "h-tcp"),
    ("stcp", "scalable"),
    ("westwoodplus", "westwood"),
    ("westwood+", "westwood"),
    ("bbr1", "bbr"),
    ("bbrv1", "bbr"),
    ("ctcp", "compound"),
    ("fasttcp", "fast"),
    ("dctcp+", "dctcp"),
];

/// What to do about `name`, which is no congestion control.
pub(super) fn help(name: &str) -> String {
    let names = AnyController::NAMES;
    let plain: String = name.to_lowercase().chars().filter(|c| !"-_ ".contains(*c)).collect();
    let plain = plain.strip_prefix("tcp").filter(|rest| !rest.is_empty()).unwrap_or(&plain);
    let same = names.iter().copied().find(|known| known.replace('-', "") == plain);
    let alias = || ALIASES.iter().find(|(other, _)| *other == plain).map(|(_, known)| *known);
    match same.or_else(alias).or_else(|| suggest_nearest(name, names.iter().copied())) {
        Some(near) => format!("did you mean `{near}`?"),
        None => {
            format!("known are {}; `own:NAME` is one that a program gives (docs/own-policies.md)", names.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_other_programs_lead_to_ours() {
        for (written, known) in [
            ("newreno", "new-reno"),
            ("reno", "new-reno"),
            ("TcpNewReno", "new-reno"),
            ("tcp_cubic", "cubic"),
            ("CUBIC", "cubic"),
            ("TcpDctcp", "dctcp"),
            ("htcp", "h-tcp"),
            ("hstcp", "highspeed"),
            ("dctcp+", "dctcp"),
            ("bbrv1", "bbr"),
        ] {
            assert_eq!(help(written), format!("did you mean `{known}`?"), "{written}");
        }
        assert!(help("no-such-control-at-all").starts_with("known are "));
        assert!(ALIASES.iter().all(|(_, known)| AnyController::NAMES.contains(known)));
    }
}
