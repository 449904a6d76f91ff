use super::*;
use crate::manifest::Manifest;
use crate::metric::Scalar;
use crate::record::Cell;
use crate::repeats::TrafficOfRun;
use crate::summary::Summary;

const METRIC: Metric = Metric::Timeouts;

/// A folder whose rows are `tcp` and `dctcp` at two buffers; values by repeat of policy and buffer.
fn folder(seed: u64, rows: &[(&str, &str, &[Option<f64>])]) -> (Finished, Repeats) {
    let point = |buffer: &str| SweepPoint::new().with("buffer", buffer);
    let row = |&(policy, buffer, values): &(&str, &str, &[Option<f64>])| {
        let known: Vec<f64> = values.iter().copied().flatten().collect();
        let estimate = Estimate::within(METRIC.support(), &known);
        Row { policy: policy.into(), sweep: point(buffer), traffic: "web".into(), metric: METRIC, estimate }
    };
    let cells = vec![Cell { index: 0, policy: "tcp".into(), sweep: point("200KB") }];
    let manifest = Manifest::new("test", "text", seed, 3, "0.1.0", cells);
    let summary = Summary { sweep: vec!["buffer".into()], rows: rows.iter().map(row).collect() };
    let runs = rows.iter().flat_map(|&(policy, buffer, values)| {
        values.iter().enumerate().map(move |(repeat, value)| TrafficOfRun {
            policy: policy.into(),
            sweep: vec![buffer.into()],
            repeat: repeat as u32,
            traffic: "web".into(),
            values: vec![value.map_or(Scalar::Missing, Scalar::Value)],
        })
    });
    let repeats = Repeats { sweep: vec!["buffer".into()], metrics: vec![METRIC], runs: runs.collect() };
    (Finished { path: format!("results/{seed}").into(), manifest, summary }, repeats)
}

fn at(name: &str, value: &str) -> Vec<(String, String)> {
    vec![(name.to_owned(), value.to_owned())]
}

fn between(
    (a, repeats_a): &(Finished, Repeats),
    chosen_a: Vec<(String, String)>,
    (b, repeats_b): &(Finished, Repeats),
    chosen_b: Vec<(String, String)>,
) -> Differences {
    let (a, b) = (Side::new(a, Some(repeats_a), chosen_a).unwrap(), Side::new(b, Some(repeats_b), chosen_b).unwrap());
    differences(&a, &b, &Filter::default()).unwrap()
}

fn of_one(values: &[f64]) -> Vec<Option<f64>> {
    values.iter().copied().map(Some).collect()
}

/// Repeats that move together: their means are closer than their spread, and every repeat has one more.
#[test]
fn of_one_seed_the_difference_is_paired() {
    let (small, large) = (of_one(&[10.0, 20.0, 30.0]), of_one(&[11.0, 21.5, 30.8]));
    let all = folder(1, &[("tcp", "200KB", &small), ("tcp", "4MB", &large), ("dctcp", "4MB", &small)]);
    let found = between(&all, at("buffer", "200KB"), &all, at("buffer", "4MB"));
    let [one] = &found.both[..] else { panic!("{found:?}") };
    // Differences 1, 1.5, 0.8: mean 1.1, s = 0.360555, half width 4.302653 × 0.360555 / √3 = 0.895670.
    let difference = one.difference.unwrap();
    assert!((difference.value.unwrap() - 1.1).abs() < 1e-9 && (difference.low.unwrap() - 0.204_330).abs() < 1e-5);
    assert_eq!((one.method, one.judgement, one.a.sweep.is_empty()), (Method::Paired, Judgement::Differ, true));
    assert!((one.relative().unwrap() - 0.055).abs() < 1e-9 && one.by_interval());
    assert_eq!((found.only_a.len(), found.only_b.len(), found.only_b[0].policy.as_str()), (0, 1, "dctcp"));
    // Of two seeds the same numbers are not told apart.
    let other = folder(2, &[("tcp", "4MB", &large)]);
    let found = between(&all, at("buffer", "200KB"), &other, at("buffer", "4MB"));
    assert_eq!((found.both[0].method, found.both[0].judgement), (Method::Independent, Judgement::Overlap));
}

#[test]
fn only_repeats_that_both_have_are_paired() {
    let a = folder(1, &[("tcp", "1", &of_one(&[1.0, 2.0, 3.0, 50.0]))]);
    let b = folder(1, &[("tcp", "1", &[Some(1.0), None, Some(3.0)])]);
    let found = between(&a, Vec::new(), &b, Vec::new());
    let one = &found.both[0];
    // Only the number of repeats differs.
    assert_eq!((one.judgement, one.difference.unwrap().n, one.a.estimate.value), (Judgement::Same, 2, Some(2.0)));
}

#[test]
fn what_has_no_interval_is_judged_by_what_there_is() {
    let judge = |seeds: [u64; 2], a: &[f64], b: &[f64]| {
        let [a, b] = [(seeds[0], a), (seeds[1], b)].map(|(seed, v)| folder(seed, &[("tcp", "1", &of_one(v))]));
        between(&a, Vec::new(), &b, Vec::new()).both[0].judgement
    };
    assert_eq!(judge([1, 1], &[0.759, 0.759], &[0.759 - 1e-10, 0.759 + 1e-10]), Judgement::Same);
    assert_eq!(judge([1, 2], &[0.759, 0.759], &[0.759 - 1e-10, 0.759 + 1e-10]), Judgement::Same);
    // Nothing is random: all repeats differ by as much.
    assert_eq!(judge([1, 1], &[2.0, 2.0, 2.0], &[3.0, 3.0, 3.0]), Judgement::Differ);
    assert_eq!(judge([1, 2], &[2.0, 2.0, 2.0], &[3.0, 3.0, 3.0]), Judgement::Differ);
    // One repeat.
    assert_eq!(judge([1, 1], &[2.0], &[3.0]), Judgement::Unjudged);
    assert_eq!(judge([1, 2], &[2.0], &[3.0, 3.0]), Judgement::Unjudged);
    assert_eq!(judge([1, 1], &[2.0], &[2.0]), Judgement::Same);
}

#[test]
fn a_value_on_one_side_alone_is_told() {
    let (mut a, b) =
        (folder(1, &[("tcp", "1", &of_one(&[1.0, 2.0]))]), folder(1, &[("tcp", "1", &of_one(&[1.0, 2.0]))]));
    a.0.summary.rows[0].estimate = Estimate { n: 1, ..Estimate::default() };
    assert_eq!(between(&a, Vec::new(), &b, Vec::new()).both[0].judgement, Judgement::OneSided);
    assert_eq!(between(&a, Vec::new(), &a, Vec::new()).both[0].judgement, Judgement::Same);
}

/// As folders of earlier versions have them: intervals by Student's t, and no single repeats.
#[test]
fn without_single_repeats_the_summaries_are_compared() {
    let side = |values: &[f64]| {
        let (mut folder, _) = folder(1, &[("tcp", "1", &of_one(values))]);
        folder.summary.rows[0].estimate = Estimate::of(values);
        folder
    };
    let (a, b) = (side(&[1.0, 2.0, 3.0]), side(&[11.0, 12.0, 13.5]));
    let sides = [&a, &b].map(|folder| Side::new(folder, None, Vec::new()).unwrap());
    let found = differences(&sides[0], &sides[1], &Filter::default()).unwrap();
    assert_eq!((found.both[0].method, found.both[0].judgement), (Method::Independent, Judgement::Differ));
    assert!(!sides[0].has_repeats());
}

#[test]
fn policies_are_compared_as_values_are() {
    let all = folder(1, &[("tcp", "1", &of_one(&[1.0, 2.0])), ("dctcp", "1", &of_one(&[5.0, 9.0]))]);
    let found = between(&all, at(POLICY, "tcp"), &all, at(POLICY, "dctcp"));
    assert_eq!((found.both.len(), found.both[0].a.policy.as_str(), found.both[0].b.value), (1, "", Some(7.0)));
}

#[test]
fn names_that_are_not_there_are_told_with_those_that_are() {
    let (all, _) = folder(1, &[("tcp", "200KB", &[Some(1.0)]), ("dctcp", "4MB", &[Some(1.0)])]);
    let error = |name, value| Side::new(&all, None, at(name, value)).unwrap_err();
    assert_eq!(error("bufer", "4MB").known(), ["buffer", "policy"]);
    assert_eq!(error("buffer", "4").known(), ["200KB", "4MB"]);
    assert_eq!(error("policy", "reno").known(), ["tcp", "dctcp"]);
    assert_eq!(error("buffer", "4").to_string(), "`buffer` has no value `4` in results/1");
    let side = |choice| Side::new(&all, None, choice).unwrap();
    let apart = differences(&side(at("buffer", "4MB")), &side(Vec::new()), &Filter::default()).unwrap_err();
    assert_eq!(apart.to_string(), "nothing can be compared: A has rows by policy, and B by policy, buffer");
    let filter = |metric: &str| Filter { metrics: vec![metric.into()], ..Filter::default() };
    let unknown = differences(&side(Vec::new()), &side(Vec::new()), &filter("fct.p99")).unwrap_err();
    assert_eq!(
        (unknown.to_string().as_str(), unknown.known()),
        ("no row has the metric `fct.p99`", &["timeouts".to_owned()][..])
    );
    assert_eq!(differences(&side(Vec::new()), &side(Vec::new()), &filter("timeouts")).unwrap().both.len(), 2);
}
