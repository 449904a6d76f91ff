//! Congestion controls and judges that a program gives: the same algorithm gives the same bytes as a built-in one, and
//! whatever is wrong with a callback ends the run with an error that names the place.

use std::error::Error as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use headway_control::congestion::{Ack, Event, Needs, OwnControl, OwnControlKind, Start, Window};
use headway_control::lanes::{JudgeNeeds, LinkCost, OwnJudge, OwnJudgeKind, Role, Seen};
use headway_control::own::{CallbackError, Flow, Registry};
use headway_experiment::{Destination, Experiment, Interruption, Options, Planned, Request, RunError, Source};
use headway_results::{Job, Outcome};
use headway_scenario::Document;
use headway_units::{Rate, Span};

const SMALL: &str = include_str!("../../scenario/tests/small.toml");

/// NewReno by the letter: RFC 5681 §3.1, eq. 2 and 4, counting bytes.
#[derive(Default)]
struct Reno {
    earned: u64,
}

impl OwnControl for Reno {
    fn on_ack(&mut self, ack: &Ack<'_>, window: &mut Window) -> Result<(), CallbackError> {
        if window.cwnd < window.ssthresh {
            let grow = ack.acked.min(u64::from(window.mss) * u64::from(window.growth_limit));
            window.cwnd = (window.cwnd + grow).min(window.ssthresh);
            return Ok(());
        }
        let per = window.cwnd;
        self.earned += ack.acked;
        if self.earned >= per {
            self.earned -= per;
            window.cwnd += u64::from(window.mss);
        }
        Ok(())
    }

    fn on_congestion(&mut self, event: &Event<'_>, window: &mut Window) -> Result<(), CallbackError> {
        window.ssthresh = (event.flight / 2).max(2 * u64::from(window.mss));
        self.earned = 0;
        Ok(())
    }
}

fn reno(_: &Flow) -> Box<dyn OwnControl> {
    Box::<Reno>::default()
}

/// The thesis' link cost, by its formula.
struct Cost(LinkCost);

impl OwnJudge for Cost {
    fn congestion(&mut self, before: Option<f64>, delay: Span) -> Result<f64, CallbackError> {
        let LinkCost { alpha, delay_unit, smoothing, .. } = self.0;
        let measured = 1.0 + alpha * (delay.picos() as f64 / delay_unit.picos() as f64);
        Ok(before.map_or(measured, |before| (1.0 - smoothing) * before + smoothing * measured))
    }

    fn cost(&mut self, role: Role, congestion: f64, age: Span) -> Result<f64, CallbackError> {
        let LinkCost { deadline, gamma, time_unit, .. } = self.0;
        let term = gamma * (age.abs_diff(deadline).picos() as f64 / time_unit.picos() as f64);
        Ok(match role {
            Role::Long => congestion,
            Role::Short if age < deadline => congestion - term,
            Role::Short => congestion + term,
        })
    }

    fn is_long(&mut self, _: Span, seen: &Seen) -> Result<bool, CallbackError> {
        Ok(match (seen.short, seen.long) {
            (Some(short), Some(long)) => long < short,
            (None, Some(_)) => !seen.short_alive,
            (_, None) => false,
        })
    }
}

struct CostKind;

impl OwnJudgeKind for CostKind {
    fn needs(&self) -> JudgeNeeds {
        let age = Some(LinkCost::default().deadline);
        JudgeNeeds { age, counts_bytes: false, compares_lanes: true, ..JudgeNeeds::default() }
    }

    fn open(&self, _: &Flow, _: &[(String, f64)]) -> Result<Box<dyn OwnJudge>, CallbackError> {
        Ok(Box::new(Cost(LinkCost::default())))
    }
}

/// `SMALL` with these transports for policies, each called by its number.
fn scenario(transports: &[&str]) -> String {
    let policies = transports.iter().enumerate();
    let policies = policies.map(|(n, own)| format!("\n[[policy]]\nname = \"p{n}\"\ntransport = {own}\n"));
    SMALL.split("[[policy]]").next().unwrap().to_owned() + &policies.collect::<String>()
}

fn planned(text: &str, registry: &Registry) -> Result<Experiment, String> {
    let document = Document::parse(text, "own.toml", &[]).map_err(|problems| problems.to_string())?;
    Experiment::with_own(&document, Path::new("."), registry).map_err(|problems| problems.to_string())
}

fn outcomes(text: &str, registry: &Registry) -> Vec<Result<Outcome, RunError>> {
    let experiment = planned(text, registry).unwrap_or_else(|problems| panic!("{problems}"));
    let options = Options { seed: 7, threads: 1, verify: true, kernel: None, abort: Arc::default() };
    let jobs = (0..experiment.cells().len() as u32).map(|cell| Job { cell, repeat: 0 });
    jobs.map(|job| experiment.outcome(job, Path::new("."), &options, 0)).collect()
}

fn check_alike(text: &str, registry: &Registry) {
    let mut all = outcomes(text, registry).into_iter().map(|outcome| outcome.unwrap_or_else(|error| panic!("{error}")));
    let (first, second) = (all.next().unwrap(), all.next().unwrap());
    assert!(first.flows.iter().any(|flow| flow.end.is_some()) || !first.samples.is_empty());
    assert_eq!((first.flows, first.samples, first.digest), (second.flows, second.samples, second.digest));
}

#[test]
fn new_reno_in_a_callback_gives_the_same_flows_as_the_built_in_one() {
    let registry = Registry::default().with_control("mine", reno).unwrap();
    for rest in
        ["", ", recovery = \"rack\", tail-loss-probe = true, slow-start-growth = 1", ", recovery = \"new-reno\""]
    {
        let of = |control: &str| format!("{{ kind = \"tcp\", min-rto = \"10ms\", control = \"{control}\"{rest} }}");
        check_alike(&scenario(&[&of("new-reno"), &of("own:mine")]), &registry);
    }
}

#[test]
fn a_link_cost_in_a_callback_judges_as_the_built_in_one() {
    let of = |name: &str, judge: &str| {
        format!(
            "[[policy]]\nname = \"{name}\"\n[policy.transport]\nkind = \"mptcp\"\njoin-after = \"80KB\"\nlanes = {{ judge = {judge} }}\n"
        )
    };
    let text = format!(
        "name = \"lanes\"\nabout = \"a long flow\"\nduration = \"600ms\"\n[topology]\nkind = \"parallel-paths\"\npaths = 2\n\
         link = {{ rate = \"20Mbps\", delay = \"100us\" }}\nqueue = {{ kind = \"drop-tail\", limit = \"64KB\" }}\n\
         [hosts]\nclient = {{ count = 1 }}\nserver = {{ count = 1 }}\n[[traffic]]\nname = \"long\"\nfrom = \"client\"\n\
         to = \"server\"\nsize = \"unlimited\"\narrival = \"once\"\n[measure]\nseries = [\"goodput\", \"link-cost\"]\n\
         interval = \"10ms\"\n{}{}",
        of("built-in", "\"link-cost\""),
        of("own", "{ kind = \"own\", name = \"cost\" }")
    );
    let registry = Registry::default().with_judge("cost", CostKind).unwrap();
    check_alike(&text, &registry);
    let switched = outcomes(&text, &registry).pop().unwrap().unwrap().flows[0].switched;
    assert!(switched.is_some(), "the judge has decided something");
}

/// What a wrong control does.
#[derive(Clone, Copy, PartialEq)]
enum Wrong {
    Nothing,
    Error,
    Panic,
    ZeroWindow,
    HugeWindow,
    KeepsThreshold,
    Segment,
    Crawl,
    Small,
    Open,
}

struct Hostile(Wrong);

impl OwnControl for Hostile {
    fn on_ack(&mut self, ack: &Ack<'_>, window: &mut Window) -> Result<(), CallbackError> {
        if ack.total < 20_000 {
            return Ok(());
        }
        match self.0 {
            Wrong::Error => return Err("I have no idea".into()),
            Wrong::Panic => panic!("out of ideas"),
            Wrong::ZeroWindow => window.cwnd = 0,
            Wrong::HugeWindow => window.cwnd = u64::MAX,
            Wrong::Segment => window.mss = 0,
            Wrong::Small => window.cwnd = 1,
            _ => {}
        }
        Ok(())
    }

    fn on_congestion(&mut self, _: &Event<'_>, window: &mut Window) -> Result<(), CallbackError> {
        window.ssthresh = if self.0 == Wrong::KeepsThreshold { u64::MAX } else { 20_000 };
        Ok(())
    }

    fn pacing(&self) -> Option<Rate> {
        (self.0 == Wrong::Crawl).then(|| Rate::from_bps(1))
    }
}

struct HostileKind(Wrong);

impl OwnControlKind for HostileKind {
    fn needs(&self) -> Needs {
        Needs { paces: self.0 == Wrong::Crawl, ..Needs::default() }
    }

    fn open(&self, _: &Flow, _: &[(String, f64)]) -> Result<Box<dyn OwnControl>, CallbackError> {
        if self.0 == Wrong::Open { Err("not today".into()) } else { Ok(Box::new(Hostile(self.0))) }
    }
}

fn hostile(wrong: Wrong) -> Result<Outcome, RunError> {
    let registry = Registry::default().with_control("bad", HostileKind(wrong)).unwrap();
    let text = scenario(&["{ kind = \"tcp\", min-rto = \"10ms\", control = \"own:bad\" }"]);
    outcomes(&text, &registry).pop().unwrap()
}

#[test]
fn a_wrong_answer_ends_the_run_with_the_policy_the_callback_and_the_flow() {
    for (wrong, callback, reason) in [
        (Wrong::Error, "on_ack", "I have no idea"),
        (Wrong::Panic, "on_ack", "it panicked: out of ideas"),
        (Wrong::ZeroWindow, "on_ack", "cwnd is 0"),
        (Wrong::HugeWindow, "on_ack", "cwnd is 18446744073709551615"),
        (Wrong::Segment, "on_ack", "cannot be changed"),
        (Wrong::KeepsThreshold, "on_congestion", "congestion must bring it down"),
        (Wrong::Crawl, "on_start", "a pace of 1bps"),
        (Wrong::Open, "its constructor", "not today"),
    ] {
        let error = hostile(wrong).unwrap_err();
        let text = error.to_string();
        let parts = ["policy `p0`, repeat 0, flow ", "of `flows` (left", "congestion control `bad`", callback, reason];
        assert!(parts.iter().all(|part| text.contains(part)), "{text}");
        let RunError::Own(_, Some(_), failure) = &error else { panic!("{text}") };
        assert!(failure.source().unwrap().to_string().contains(reason), "the callback's own error is kept");
    }
}

#[test]
fn a_small_window_is_raised_to_a_segment_and_the_run_goes_on() {
    let fastest = |wrong: Wrong| {
        let outcome = hostile(wrong).unwrap();
        outcome.flows.iter().filter_map(|flow| Some(flow.end?.since(flow.start))).min().unwrap()
    };
    // 50 KB and headers take 21 ms at 20 Mbit/s; with a lone segment in flight the receiver's timer of 40 ms runs as well
    let (slow, usual) = (fastest(Wrong::Small), fastest(Wrong::Nothing));
    assert!(slow > Span::from_millis(40) && usual < Span::from_millis(25), "{slow} {usual}");
}

/// A control whose decisions depend on what was before the run.
#[test]
fn verification_finds_a_control_that_remembers_other_runs() {
    let count = Arc::new(AtomicU64::new(0));
    let kind = move |_: &Flow| -> Box<dyn OwnControl> {
        let wrong = if count.fetch_add(1, Ordering::Relaxed).is_multiple_of(7) { Wrong::Small } else { Wrong::Nothing };
        Box::new(Hostile(wrong))
    };
    let registry = Registry::default().with_control("forgetful", kind).unwrap();
    let text = scenario(&["{ kind = \"tcp\", min-rto = \"10ms\", control = \"own:forgetful\" }"]);
    let error = outcomes(&text, &registry).pop().unwrap().unwrap_err().to_string();
    assert!(error.contains("congestion control `forgetful`") && error.contains("with no clock"), "{error}");
}

/// The seed of an instance is that of its flow: which instances are made, and when, changes nothing.
#[test]
fn each_flow_has_its_own_instance_and_seed() {
    struct Seen(Arc<std::sync::Mutex<Vec<Flow>>>);
    impl OwnControlKind for Seen {
        fn open(&self, flow: &Flow, _: &[(String, f64)]) -> Result<Box<dyn OwnControl>, CallbackError> {
            self.0.lock().unwrap().push(*flow);
            Ok(reno(flow))
        }
    }
    let flows = Arc::default();
    let registry = Registry::default().with_control("seen", Seen(Arc::clone(&flows))).unwrap();
    let outcome =
        outcomes(&scenario(&["{ kind = \"tcp\", control = \"own:seen\" }"]), &registry).pop().unwrap().unwrap();
    let seen = flows.lock().unwrap();
    let (first, second) = seen.split_at(outcome.flows.len());
    assert_eq!(first, second, "the run was made twice");
    let mut seeds: Vec<u64> = first.iter().map(|flow| flow.seed).collect();
    seeds.sort_unstable();
    seeds.dedup();
    assert_eq!(seeds.len(), outcome.flows.len());
}

#[test]
fn parameters_come_from_the_scenario_and_are_checked_when_it_is_read() {
    struct Gain;
    impl OwnControlKind for Gain {
        fn check(&self, parameters: &[(String, f64)]) -> Result<(), String> {
            match parameters {
                [] => Ok(()),
                [(name, gain)] if name == "gain" && *gain > 0.0 => Ok(()),
                _ => Err("it has `gain`, above 0".to_owned()),
            }
        }
        fn open(&self, flow: &Flow, parameters: &[(String, f64)]) -> Result<Box<dyn OwnControl>, CallbackError> {
            assert_eq!(parameters, [("gain".to_owned(), 2.0)]);
            Ok(reno(flow))
        }
    }
    let registry = Registry::default().with_control("gain", Gain).unwrap();
    let with = |value: &str| {
        scenario(&[&format!("{{ kind = \"tcp\", control = \"own:gain\", control-parameters = {{ gain = {value} }} }}")])
    };
    assert!(outcomes(&with("2"), &registry).pop().unwrap().is_ok());
    let problem = planned(&with("-1"), &registry).unwrap_err();
    assert!(problem.contains("it has `gain`, above 0"), "{problem}");
}

#[test]
fn a_program_must_give_what_the_scenario_names() {
    let text = scenario(&["{ kind = \"tcp\", control = \"own:mine\" }"]);
    let nobody = planned(&text, &Registry::default()).unwrap_err();
    assert!(nobody.contains("no program gives one here") && nobody.contains("docs/own-policies.md"), "{nobody}");
    let other = Registry::default().with_control("mime", reno).unwrap();
    let near = planned(&text, &other).unwrap_err();
    assert!(near.contains("it has mime") && near.contains("did you mean `mime`?"), "{near}");
    let judge = "{ kind = \"mptcp\", subflows = 2, lanes = { judge = { kind = \"own\", name = \"x\" } } }";
    let text = scenario(&[judge]);
    let nobody = planned(&text, &Registry::default()).unwrap_err();
    assert!(nobody.contains("the judge `x` is the program's"), "{nobody}");
    assert!(Registry::default().with_control("a b", reno).is_err());
}

#[test]
fn kernel_hosts_refuse_policies_of_a_program() {
    let registry = Registry::default().with_control("mine", reno).unwrap();
    let text = scenario(&["{ kind = \"tcp\", control = \"own:mine\" }"]).replacen(
        "duration",
        "host-kind = \"linux\"\nduration",
        1,
    );
    let problem = planned(&text, &registry).unwrap_err();
    assert!(problem.contains("a kernel runs without the program"), "{problem}");
    let judge = "{ kind = \"mptcp\", control = \"new-reno\", subflows = 2, lanes = { judge = { kind = \"own\", name = \"x\" } } }";
    let text = scenario(&[judge]).replacen("duration", "host-kind = \"linux\"\nduration", 1);
    let problem = planned(&text, &registry).unwrap_err();
    assert!(problem.contains("the judge `x` of a program"), "{problem}");
}

/// A control that would take for ever: the run ends when it is told to.
#[test]
fn a_run_with_own_policies_can_be_aborted() {
    struct Signals(Arc<AtomicBool>);
    impl OwnControl for Signals {
        fn on_start(&mut self, _: &Start, _: &mut Window) -> Result<(), CallbackError> {
            self.0.store(true, Ordering::Relaxed);
            Ok(())
        }
        fn on_ack(&mut self, _: &Ack<'_>, _: &mut Window) -> Result<(), CallbackError> {
            Err("asked after the end".into())
        }
        fn on_congestion(&mut self, _: &Event<'_>, _: &mut Window) -> Result<(), CallbackError> {
            Ok(())
        }
    }
    let abort = Arc::new(AtomicBool::new(false));
    let own = Arc::clone(&abort);
    let kind = move |_: &Flow| -> Box<dyn OwnControl> { Box::new(Signals(Arc::clone(&own))) };
    let registry = Registry::default().with_control("mine", kind).unwrap();
    let experiment = planned(&scenario(&["{ kind = \"tcp\", control = \"own:mine\" }"]), &registry).unwrap();
    let options = Options { seed: 7, threads: 1, verify: false, kernel: None, abort };
    let error = experiment.outcome(Job { cell: 0, repeat: 0 }, Path::new("."), &options, 0).unwrap_err();
    assert!(matches!(error, RunError::Aborted), "{error}");
}

/// Through the folder, on two threads: complete runs stay, the error comes out, and another program can go on.
#[test]
fn a_failed_run_leaves_the_complete_ones_in_the_folder() {
    let text = scenario(&[
        "{ kind = \"tcp\", min-rto = \"10ms\", control = \"own:good\" }",
        "{ kind = \"tcp\", min-rto = \"10ms\", control = \"own:bad\" }",
    ]);
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("results");
    let source = Source { name: "own.toml".into(), text, folder: ".".into() };
    let run = |destination: Destination, wrong: Wrong| {
        let registry = Registry::default().with_control("good", reno).unwrap();
        let own = registry.with_control("bad", HostileKind(wrong)).unwrap();
        let request = Request { own, threads: Some(2), ..Request::default() };
        let planned = Planned::new(&source, destination, &request).unwrap();
        planned.open(&mut |_| {}).unwrap().run(&Interruption::default(), &mut |_, _| {})
    };
    let error = run(Destination::New(folder.clone()), Wrong::Error).unwrap_err();
    assert!(matches!(error, RunError::Own(..)), "{error}");
    let finished = run(Destination::Resume(folder), Wrong::Nothing).unwrap();
    assert!(finished.manifest.complete);
}
