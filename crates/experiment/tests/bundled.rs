//! The scenarios that come with Headway.

use headway_experiment::Experiment;
use headway_scenario::schema::HostKind;
use headway_scenario::{Document, Overrides};

/// Everything that comes with Headway, as it is run in a reproduction.
#[test]
fn bundled_scenarios_are_right_in_every_size_and_their_published_numbers_are_there() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        count += 1;
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        let build = |overrides: &Overrides| {
            let document = Document::parse_with(&text, name, overrides).unwrap_or_else(|problems| panic!("{problems}"));
            Experiment::new(&document, path.parent().unwrap()).unwrap_or_else(|problems| panic!("{problems}"));
            document
        };
        for quick in [false, true] {
            let models = build(&Overrides { quick, ..Overrides::default() });
            let whole = Document::parse(&text, name, &[]).unwrap_or_else(|problems| panic!("{problems}"));
            let Some(kernels) = whole.scenario(&whole.points()[0]).unwrap().kernel_hosts else { continue };
            let document = build(&Overrides {
                sets: kernels.sets(quick),
                hosts: Some(HostKind::Linux),
                policies: kernels.policies.iter().map(ToString::to_string).collect(),
                kernel: None,
                quick,
            });
            let points = |document: &Document| document.points().iter().map(ToString::to_string).collect::<Vec<_>>();
            let beside = points(&models);
            for point in points(&document) {
                assert!(
                    beside.contains(&point),
                    "{name}: no model stands beside kernel hosts at {point}, quick: {quick}"
                );
            }
        }
    }
    assert!(count >= 8, "only {count} scenarios");
}
