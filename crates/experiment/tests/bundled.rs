//! The scenarios that come with Headway.

use headway_experiment::{BUNDLED, Experiment};
use headway_report::{Choice, Layout, claims, summary};
use headway_results::{Case, Estimate, Metric, Printed, PublishedCell, Row, Summary, Verdict};
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

const NARROW: Layout = Layout { width: 80, colour: false };

fn assert_fits(name: &str, text: &str) {
    for line in text.lines() {
        assert!(line.chars().count() <= NARROW.width, "{name}, {} wide:\n{line}", line.chars().count());
    }
}

/// Numbers as wide as they get, in every cell of every bundled scenario: what a run prints never breaks lines.
#[test]
fn tables_of_bundled_scenarios_fit_80_columns() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    for bundled in BUNDLED {
        let document =
            Document::parse_with(bundled.text, bundled.name, &Overrides { quick: true, ..Overrides::default() });
        let document = document.unwrap_or_else(|problems| panic!("{problems}"));
        let experiment = Experiment::new(&document, &folder).unwrap_or_else(|problems| panic!("{problems}"));
        let value = |metric: Metric| match metric.unit() {
            "s" => 0.123_456,
            "bit/s" => 123_456_789.0,
            "count" => 1_234_567.0,
            _ => 0.5,
        };
        let mut rows = Vec::new();
        for cell in experiment.cells() {
            for traffic in experiment.traffics() {
                let more = [Metric::Rate, Metric::Pauses, Metric::Paused, Metric::HeadroomDrops];
                for metric in Metric::SUMMARY.into_iter().chain(more) {
                    let value = value(metric);
                    let estimate =
                        Estimate { value: Some(value), low: Some(value * 0.1), high: Some(value * 1.9), n: 10 };
                    let (policy, sweep) = (cell.policy.clone(), cell.sweep.clone());
                    rows.push(Row { policy, sweep, traffic: traffic.clone(), metric, estimate });
                }
            }
        }
        let names = experiment.cells()[0].sweep.names().map(str::to_owned).collect();
        let text = summary(&Summary { sweep: names, rows }, &Choice::default(), NARROW);
        assert!(experiment.traffics().is_empty() || text.contains("123 ± 111"), "{}:\n{text}", bundled.name);
        assert_fits(bundled.name, &text);
    }
}

/// Every claim of every bundled scenario, as if it failed at points with long names and numbers.
#[test]
fn claims_of_bundled_scenarios_fit_80_columns() {
    for bundled in BUNDLED {
        let document = Document::parse(bundled.text, bundled.name, &[]).unwrap_or_else(|problems| panic!("{problems}"));
        let record = document.scenario(&document.points()[0]).unwrap();
        let policy = record.policy.iter().map(|policy| policy.name.to_string()).max_by_key(String::len).unwrap();
        let points: Vec<String> = document.points().iter().take(4).map(ToString::to_string).collect();
        let of = |claim: &headway_scenario::schema::ClaimRecord, in_table: bool| {
            let printed = vec![Printed { text: "123.4 ms (figure 12.34)".into(), value: Some(0.1234) }; 2];
            let ours = "123 ms [101 ms, 145 ms]".to_owned();
            let cell = PublishedCell { printed: printed.clone(), ours, suspect: false };
            let case = |point: &String| Case {
                point: point.clone(),
                held: false,
                numbers: format!(
                    "{policy} short fct.p95 = 123 ms [101 ms, 145 ms] < 0.5 × {policy} short fct.p95 = 1.00 ms"
                ),
                first: Estimate::of(&[0.123]),
                second: Some(Estimate::of(&[0.001])),
                published: in_table.then(|| cell.clone()),
            };
            let (text, known) = (claim.text.clone(), claim.known.clone());
            Verdict { text, held: false, known, printed, skipped: 1234, cases: points.iter().map(case).collect() }
        };
        for in_table in [false, true] {
            let verdicts: Vec<Verdict> = record.claim.iter().map(|claim| of(claim, in_table)).collect();
            let left_out: Vec<String> = record.claim.iter().map(|claim| claim.text.clone()).collect();
            assert_fits(bundled.name, &claims(&verdicts, &left_out, NARROW));
        }
    }
}
