use proptest::prelude::*;

use super::*;
use crate::metric::{Percentile, Statistic};
use crate::part;
use crate::record::SweepValue;

const P99: Metric = Metric::Fct(Statistic::Percentile(Percentile::whole(99)));
const MEAN: Metric = Metric::Fct(Statistic::Mean);

fn cells() -> Vec<Cell> {
    let cell =
        |index, policy: &str, n: i64| Cell { index, policy: policy.into(), sweep: SweepPoint::new().with("n", n) };
    vec![cell(0, "tcp", 1), cell(1, "tcp", 2), cell(2, "mptcp", 1)]
}

/// One flow of 1 s for each given completion time in seconds; `None` is unfinished.
fn outcome(cell: u32, repeat: u32, fcts: &[Option<u64>]) -> Outcome {
    use crate::record::{Counters, FlowRecord};
    use headway_units::{Span, Time};
    let flow = |(id, fct): (usize, &Option<u64>)| FlowRecord {
        id: id as u64,
        traffic: "short".into(),
        source: "a".into(),
        destination: "b".into(),
        bytes: Some(1000),
        delivered: 1000,
        start: Time::ZERO,
        end: fct.map(|s| Time::ZERO + Span::from_secs(s)),
        deadline: None,
        ideal: None,
        retransmissions: 0,
        timeouts: 0,
        marks: 0,
        subflows: 1,
        paths: "".into(),
        switched: None,
        stall: None,
        resets: 0,
        waits: None,
    };
    let flows = fcts.iter().enumerate().map(flow).collect();
    let (job, end) = (Job { cell, repeat }, Time::ZERO + Span::from_secs(100));
    Outcome {
        job,
        flows,
        samples: Vec::new(),
        ports: Some(Vec::new()),
        cut: Vec::new(),
        waits: None,
        commands: Vec::new(),
        failed: Vec::new(),
        deadlock: None,
        film: None,
        paths: None,
        counters: Counters::default(),
        digest: 0,
        end,
    }
}

fn find(summary: &Summary, metric: Metric) -> Option<&Row> {
    summary.rows.iter().find(|row| row.metric == metric)
}

fn build(outcomes: &[Outcome]) -> Summary {
    let mut builder = SummaryBuilder::new(&cells(), ["short"]);
    for outcome in outcomes {
        builder.add(outcome);
    }
    builder.build()
}

fn csv(summary: &Summary) -> Vec<u8> {
    let mut bytes = Vec::new();
    summary.write(&mut bytes).unwrap();
    bytes
}

#[test]
fn a_row_is_the_mean_over_repeats() {
    let summary = build(&[outcome(1, 0, &[Some(1), Some(3)]), outcome(1, 1, &[Some(4)])]);
    let row = find(&summary, MEAN).unwrap();
    assert_eq!((row.policy.as_str(), row.sweep.to_string().as_str(), row.traffic.as_str()), ("tcp", "n=2", "short"));
    // Means of 2 and 4: e = 1, C = exp(12.706205 × √ln(1 + 1/9)) = exp(12.706205 × 0.324593) = 61.8272.
    assert_eq!((row.estimate.value, row.estimate.n), (Some(3.0), 2));
    assert!((row.estimate.low.unwrap() - 3.0 / 61.827_2).abs() < 1e-5);
    assert!((row.estimate.high.unwrap() - 3.0 * 61.827_2).abs() < 1e-2);
    assert_eq!(find(&summary, Metric::Flows).unwrap().estimate.value, Some(1.5));
    // No flow had an ideal FCT or changed lanes.
    assert!(find(&summary, Metric::SwitchMean).is_none());
    assert!(find(&summary, Metric::Slowdown(Statistic::Mean)).is_none());
}

#[test]
fn a_percentile_among_unfinished_flows_is_not_averaged_away() {
    let summary = build(&[outcome(0, 0, &[Some(1)]), outcome(0, 1, &[Some(1), None])]);
    assert_eq!(find(&summary, P99).unwrap().estimate, Estimate { value: None, low: None, high: None, n: 1 });
    assert_eq!(find(&summary, MEAN).unwrap().estimate.value, Some(1.0));
    assert_eq!(find(&summary, Metric::Unfinished).unwrap().estimate.value, Some(0.5));
}

/// At least one flow in a thousand must be expected above p99.9.
#[test]
fn p99_9_is_there_of_runs_with_a_thousand_flows() {
    let rare = Metric::Fct(Statistic::Percentile(crate::Percentile::P999));
    let flows = |n: u64| (1..=n).map(Some).collect::<Vec<_>>();
    let (few, enough) = (flows(999), flows(1000));
    assert!(find(&build(&[outcome(0, 0, &few)]), rare).is_none());
    let row = build(&[outcome(0, 0, &few), outcome(0, 1, &enough)]);
    let row = find(&row, rare).unwrap().estimate;
    // numpy.percentile(arange(1, 1001), 99.9)
    assert!((row.value.unwrap() - 999.001).abs() < 1e-6 && row.n == 1, "{row:?}");
    // Whoever asks for it gets it.
    let mut builder = SummaryBuilder::of(&cells(), ["short"], &[rare]);
    builder.add(&outcome(0, 0, &few));
    assert!(find(&builder.build(), rare).unwrap().estimate.value.is_some());
}

#[test]
fn a_repeat_without_flows_does_not_count() {
    let summary = build(&[outcome(0, 0, &[Some(1)]), outcome(0, 1, &[])]);
    assert_eq!(find(&summary, P99).unwrap().estimate, Estimate { value: Some(1.0), low: None, high: None, n: 1 });
    assert_eq!(find(&summary, Metric::Flows).unwrap().estimate.n, 2);
}

#[test]
fn the_file_is_readable_text() {
    let summary = build(&[outcome(0, 0, &[Some(2)])]);
    let text = String::from_utf8(csv(&summary)).unwrap();
    // 8,000 bits in 2 s.
    let expected = "policy,sweep_n,traffic,metric,unit,value,ci95_low,ci95_high,repeats\n\
                    tcp,1,short,fct.mean,s,2,,,1\n\
                    tcp,1,short,fct.p50,s,2,,,1\n\
                    tcp,1,short,fct.p95,s,2,,,1\n\
                    tcp,1,short,fct.p99,s,2,,,1\n\
                    tcp,1,short,goodput.mean,bit/s,4000,,,1\n\
                    tcp,1,short,goodput.sum,bit/s,4000,,,1\n\
                    tcp,1,short,flows,count,1,,,1\n\
                    tcp,1,short,unfinished,count,0,,,1\n\
                    tcp,1,short,retransmissions,count,0,,,1\n\
                    tcp,1,short,timeouts,count,0,,,1\n\
                    tcp,1,short,drops,count,0,,,1\n\
                    tcp,1,short,resets,count,0,,,1\n";
    assert_eq!(text, expected);
}

#[test]
fn other_files_are_refused_with_the_line() {
    let header = "policy,sweep_n,traffic,metric,unit,value,ci95_low,ci95_high,repeats\n";
    let cases = [
        ("", "line 1 has not the columns of a summary"),
        ("a,b\n", "line 1 has not the columns of a summary"),
        ("policy,n,traffic,metric,unit,value,ci95_low,ci95_high,repeats\n", "line 1 has not"),
        ("policy,sweep_n,sweep_n,traffic,metric,unit,value,ci95_low,ci95_high,repeats\n", "line 1 has not"),
        (&format!("{header}tcp,1,short\n"), "line 2 has 3 fields, expected 9"),
        (&format!("{header}tcp,1,short,fct.mean,s,x,,,1\n"), "line 2: `x` is not a number"),
        (&format!("{header}tcp,1,short,fct.mean,ms,1,,,1\n"), "line 2: fct.mean is in `ms`, expected `s`"),
        (&format!("{header}tcp,1,short,fct.men,s,1,,,1\n"), "line 2: unknown metric `fct.men`"),
        (&format!("{header}tcp,1,short,fct.mean,s,1,,,-1\n"), "line 2: `-1` is not a number of repeats"),
    ];
    for (text, reason) in cases {
        let error = Summary::read(text.as_bytes()).unwrap_err();
        assert!(error.to_string().starts_with(reason), "{text}: {error}");
    }
}

#[test]
fn comparing_matches_rows_by_name() {
    let a = build(&[outcome(0, 0, &[Some(2)]), outcome(1, 0, &[Some(2)])]);
    let mut b = build(&[outcome(0, 0, &[Some(3)]), outcome(2, 0, &[Some(1)])]);
    b.rows.reverse();
    let comparison = compare(&a, &b);
    let pair = comparison.both.iter().find(|pair| pair.a.metric == MEAN).unwrap();
    assert_eq!((pair.a.estimate.value, pair.b.value), (Some(2.0), Some(3.0)));
    assert_eq!((pair.change(), pair.overlap()), (Some(50.0), None));
    let zero = comparison.both.iter().find(|pair| pair.a.metric == Metric::Timeouts).unwrap();
    assert_eq!(zero.change(), None);
    assert!(comparison.only_a.iter().all(|row| row.sweep.to_string() == "n=2"));
    assert!(comparison.only_b.iter().all(|row| row.policy == "mptcp"));
    assert_eq!((comparison.both.len(), comparison.only_a.len(), comparison.only_b.len()), (12, 12, 12));
}

#[test]
fn numbers_of_the_sweep_are_restored_from_the_cells() {
    let summary = build(&[outcome(0, 0, &[Some(2)])]);
    let mut read = Summary::read(csv(&summary).as_slice()).unwrap();
    assert_eq!(read.rows[0].sweep.get("n"), Some(&SweepValue { text: "1".into(), number: None }));
    read.restore_numbers(&cells());
    assert_eq!(read, summary);
}

proptest! {
    #[test]
    fn any_table_reads_back(
        texts in prop::collection::vec(("\\PC*|[\r\n,\"]*", "\\PC*|[\r\n,\"]*", "\\PC*|[\r\n,\"]*"), 0..5),
        (value, low, high) in any::<(Option<f64>, Option<f64>, Option<f64>)>(),
        n in any::<usize>(),
    ) {
        let estimate = Estimate { value, low, high, n };
        let row = |(policy, text, traffic): (String, String, String)| {
            Row { policy, sweep: SweepPoint::new().with("x, \"y\"", text.as_str()), traffic, metric: P99, estimate }
        };
        let summary = Summary { sweep: vec!["x, \"y\"".into()], rows: texts.into_iter().map(row).collect() };
        prop_assert_eq!(Summary::read(csv(&summary).as_slice()).unwrap(), summary);
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Summary::read(bytes.as_slice());
    }

    #[test]
    fn the_order_of_adding_does_not_matter(
        outcomes in prop::collection::vec((0..3u32, part::tests::outcome(Job { cell: 0, repeat: 0 })), 0..8),
    ) {
        let with_job = |(repeat, (cell, mut outcome)): (usize, (u32, Outcome))| {
            outcome.job = Job { cell, repeat: repeat as u32 };
            outcome
        };
        let mut outcomes: Vec<Outcome> = outcomes.into_iter().enumerate().map(with_job).collect();
        let forwards = csv(&build(&outcomes));
        outcomes.reverse();
        prop_assert_eq!(csv(&build(&outcomes)), forwards);
    }
}
