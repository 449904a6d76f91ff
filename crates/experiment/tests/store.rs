//! What runs depend on, and stores of runs.

use std::path::Path;
use std::sync::Arc;

use headway_experiment::{
    Destination, Experiment, Finished, Interruption, Options, Planned, Request, Session, Source, Work, Worker,
};
use headway_results::{Job, Outcome};
use headway_scenario::{CellText, Document, Overrides};

const SMALL: &str = include_str!("../../scenario/tests/small.toml");

/// Two policies at two points; `$pairs` is an edge of the sweep that grows.
fn text(points: &str, policies: &[&str]) -> String {
    let (head, _) = SMALL.split_once("[[policy]]").unwrap();
    let head = head.replace("repeats", "# repeats");
    let of = |name: &&str| {
        let transport = format!("kind = \"tcp\", recovery = \"{name}\", min-rto = \"$rto\"");
        format!("[[policy]]\nname = \"{name}\"\ntransport = {{ {transport} }}\n")
    };
    let policies = policies.iter().map(of).collect::<Vec<_>>().concat();
    format!("{head}\n{policies}\n[sweep]\nrto = [{points}]\n")
}

fn source(text: &str, folder: &Path) -> Source {
    Source { name: "small.toml".into(), text: text.into(), folder: folder.into() }
}

fn request(store: Option<&Path>, repeats: u32) -> Request {
    Request { store: store.map(Into::into), repeats: Some(repeats), threads: Some(2), ..Request::default() }
}

fn run(text: &str, place: &Path, name: &str, request: &Request) -> Finished {
    let planned = Planned::new(&source(text, place), Destination::New(place.join(name)), request);
    let opened = planned.unwrap_or_else(|error| panic!("{error}")).open(&mut |_| {}).unwrap();
    opened.run(&Interruption::default(), &mut |_, _| {}).unwrap()
}

fn same(place: &Path, one: &str, other: &str) {
    for file in ["flows.parquet", "series.parquet", "links.parquet", "summary.csv"] {
        let [one, other] = [one, other].map(|name| std::fs::read(place.join(name).join(file)).unwrap());
        assert!(one == other, "{file}");
    }
    let [one, other] = [one, other].map(|name| {
        let text = std::fs::read_to_string(place.join(name).join("manifest.json")).unwrap();
        let mut manifest: serde_json::Value = serde_json::from_str(&text).unwrap();
        for own in ["started", "finished", "wall_s", "command"] {
            manifest.as_object_mut().unwrap().remove(own);
        }
        manifest.to_string()
    });
    assert_eq!(one, other);
}

/// (found, computed)
fn counts(finished: &Finished) -> (usize, usize) {
    let stored = finished.stored.as_ref().unwrap();
    (stored.found, stored.added)
}

#[test]
fn what_was_computed_is_not_computed_again_however_a_sweep_grows() {
    let place = tempfile::tempdir().unwrap();
    let place = place.path();
    let store = place.join("store");
    let kept = |repeats| request(Some(&store), repeats);
    let first = text("\"200ms\", \"300ms\"", &["sack"]);
    assert_eq!(counts(&run(&first, place, "a", &kept(2))), (0, 4));
    assert_eq!(counts(&run(&first, place, "b", &kept(2))), (4, 0));
    same(place, "a", "b");

    // Another policy before the first, values around the old ones, another repeat: 2 × 4 × 3 runs, 4 of them known.
    let grown = text("\"100ms\", \"200ms\", \"250ms\", \"300ms\"", &["new-reno", "sack"]);
    assert_eq!(counts(&run(&grown, place, "c", &kept(3))), (4, 20));
    run(&grown, place, "d", &request(None, 3));
    same(place, "c", "d");
    // And back: of a part nothing is computed.
    assert_eq!(counts(&run(&first, place, "e", &kept(3))), (6, 0));

    // Sentences change nothing, a seed all.
    let told = first.replace("about = ", "about = \"Anew: \" # ");
    assert_eq!(counts(&run(&told, place, "f", &kept(2))), (4, 0));
    let other = Request { seed: Some(99), ..kept(2) };
    assert_eq!(counts(&run(&first, place, "g", &other)), (0, 4));
}

#[test]
fn files_count_by_what_is_in_them() {
    let place = tempfile::tempdir().unwrap();
    let place = place.path();
    let store = place.join("store");
    let cdf = |rows: &str| std::fs::write(place.join("sizes.cdf"), format!("bytes,cumulative\n{rows}")).unwrap();
    cdf("1000,0.5\n2000,1\n");
    let (head, rest) = SMALL.split_once("size = ").unwrap();
    let (_, rest) = rest.split_once('\n').unwrap();
    let text = format!("{head}size = {{ kind = \"cdf\", file = \"sizes.cdf\" }}\n{rest}");
    let all = request(Some(&store), 1);
    let count = |name| counts(&run(&text, place, name, &all));
    let (_, runs) = count("a");
    assert_eq!((count("b"), runs > 0), ((runs, 0), true));
    cdf("1000,0.5\n3000,1\n");
    assert_eq!(count("c"), (0, runs));
    cdf("1000,0.5\n2000,1\n");
    assert_eq!(count("d"), (runs, 0));
    same(place, "a", "d");
}

#[test]
fn damaged_runs_are_computed_again_and_told() {
    let place = tempfile::tempdir().unwrap();
    let place = place.path();
    let store = place.join("store");
    let text = text("\"200ms\"", &["sack", "new-reno"]);
    let all = request(Some(&store), 2);
    run(&text, place, "a", &all);
    let files: Vec<_> = std::fs::read_dir(store.join("runs"))
        .unwrap()
        .flat_map(|folder| std::fs::read_dir(folder.unwrap().path()).unwrap())
        .map(|file| file.unwrap().path())
        .collect();
    assert_eq!(files.len(), 4);
    let bytes = std::fs::read(&files[0]).unwrap();
    std::fs::write(&files[0], &bytes[..bytes.len() - 3]).unwrap();
    let again = run(&text, place, "b", &all);
    assert_eq!(counts(&again), (3, 1));
    assert_eq!(again.stored.unwrap().damaged.len(), 1);
    same(place, "a", "b");
    assert_eq!(counts(&run(&text, place, "c", &all)), (4, 0));
    // A check of determinism computes.
    let verified = run(&text, place, "d", &Request { verify: true, ..all });
    assert_eq!(counts(&verified), (0, 4));
}

fn options(seed: u64) -> Options {
    Options { seed, threads: 1, verify: false, kernel: None, abort: Arc::default() }
}

/// The key is the text of a cell: run as a scenario of its own, it gives the cell's outcome, bit by bit. So an outcome depends on
/// nothing that the key has not: neither on the cell's place nor on what else there is.
#[test]
fn the_text_of_a_cell_decides_its_outcome() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut seen = 0;
    for name in [
        "lanes-l7-queue-buildup",
        "pacing-p1",
        "example-path-failure",
        "example-queues",
        "lossless-d1",
        "metering-m1",
        "relay-r1-download",
    ] {
        let text = std::fs::read_to_string(folder.join(format!("{name}.toml"))).unwrap();
        let overrides = Overrides { quick: true, sets: vec!["repeats=2".into()], ..Overrides::default() };
        let document = Document::parse_with(&text, name, &overrides).unwrap_or_else(|problems| panic!("{problems}"));
        let experiment = Experiment::new(&document, &folder).unwrap_or_else(|problems| panic!("{problems}"));
        let policies = experiment.scenario.policy.len();
        let cell = experiment.cells().len() / 2;
        let point = &document.points()[cell / policies];
        let record = document.scenario(point).unwrap();
        let own = CellText::new(&record).of(cell % policies);
        let alone = Document::parse(&own, "cell.toml", &[]).unwrap_or_else(|problems| panic!("{problems}\n{own}"));
        let alone = Experiment::new(&alone, &folder).unwrap_or_else(|problems| panic!("{problems}\n{own}"));
        let of = |experiment: &Experiment, cell: usize| {
            let job = Job { cell: cell as u32, repeat: 1 };
            experiment.outcome(job, Path::new("."), &options(5), 0).unwrap()
        };
        let here = of(&experiment, cell);
        assert_eq!(of(&alone, 0), Outcome { job: Job { cell: 0, repeat: 1 }, ..here.clone() }, "{name}, {cell}");
        seen += here.flows.len();
    }
    assert!(seen > 100, "{seen} flows");
}

/// Runs that take place elsewhere, in another order: the same bytes.
#[test]
fn workers_give_what_runs_here_give() {
    let place = tempfile::tempdir().unwrap();
    let place = place.path();
    let text = text("\"200ms\", \"300ms\"", &["sack", "new-reno"]);
    run(&text, place, "here", &request(None, 2));

    let begin = |name: &str| -> Session {
        let planned = Planned::new(&source(&text, place), Destination::New(place.join(name)), &request(None, 2));
        planned.unwrap().open(&mut |_| {}).unwrap().begin().unwrap()
    };
    let mut session = begin("there");
    let work: Work = session.work().unwrap();
    let worker = Worker::new(&work, &headway_experiment::own::Registry::default()).unwrap();
    let missing = session.missing();
    assert_eq!(missing.len(), 8);
    for &job in missing.iter().rev() {
        let bytes = worker.run(job).unwrap();
        session.take(&Outcome::decode(&bytes).unwrap()).unwrap();
    }
    assert!(session.missing().is_empty());
    // Once more, as a worker that was thought dead would.
    let twice = worker.run(missing[0]).unwrap();
    session.take(&Outcome::decode(&twice).unwrap()).unwrap();
    session.finish().unwrap();
    same(place, "here", "there");

    let mut wrong = Outcome::decode(&twice).unwrap();
    let mut other = begin("other");
    for job in [Job { cell: 4, repeat: 0 }, Job { cell: 0, repeat: 2 }] {
        wrong.job = job;
        assert!(other.take(&wrong).is_err(), "{job:?}");
    }
    assert!(worker.run(Job { cell: 4, repeat: 0 }).is_err());
    assert!(other.finish().is_err());
}

/// Files beside the scenario, above it, and with absolute names: a worker has the contents that were sent.
#[test]
fn workers_find_files_wherever_they_were() {
    let place = tempfile::tempdir().unwrap();
    let inner = place.path().join("inner");
    std::fs::create_dir_all(&inner).unwrap();
    let absolute = place.path().join("absolute.cdf");
    let table = |path: &Path, size: u32| std::fs::write(path, format!("bytes,cumulative\n{size},1\n")).unwrap();
    let flows = |name: &str, file: &Path| {
        let size = format!("{{ kind = \"cdf\", file = \"{}\" }}", file.display());
        format!("[[traffic]]\nname = \"{name}\"\nfrom = \"left\"\nto = \"right\"\nsize = {size}\narrival = \"once\"\n")
    };
    let all = [("beside", Path::new("./beside.cdf")), ("above", Path::new("../above.cdf")), ("absolute", &absolute)];
    for (number, (_, file)) in (1..).zip(all) {
        table(&inner.join(file), 1000 * number);
    }
    let text = format!("{SMALL}\n{}", all.map(|(name, file)| flows(name, file)).concat());
    run(&text, &inner, "here", &request(None, 1));

    let planned = Planned::new(&source(&text, &inner), Destination::New(inner.join("there")), &request(None, 1));
    let mut session = planned.unwrap().open(&mut |_| {}).unwrap().begin().unwrap();
    let work = session.work().unwrap();
    std::fs::remove_file(inner.join("beside.cdf")).unwrap();
    std::fs::remove_file(place.path().join("above.cdf")).unwrap();
    let own = headway_experiment::own::Registry::default();
    let worker = Worker::new(&work, &own).unwrap();
    for job in session.missing() {
        session.take(&Outcome::decode(&worker.run(job).unwrap()).unwrap()).unwrap();
    }
    session.finish().unwrap();
    for file in ["flows.parquet", "summary.csv"] {
        let [here, there] = ["here", "there"].map(|name| std::fs::read(inner.join(name).join(file)).unwrap());
        assert!(here == there, "{file}");
    }
    table(&absolute, 5000);
    let error = Worker::new(&work, &own).unwrap_err().to_string();
    assert!(error.contains("absolute.cdf"), "{error}");
    std::fs::remove_file(&absolute).unwrap();
    assert!(Worker::new(&work, &own).is_err());
}

#[test]
fn workers_of_other_versions_refuse() {
    let place = tempfile::tempdir().unwrap();
    let text = text("\"200ms\"", &["sack"]);
    let planned =
        Planned::new(&source(&text, place.path()), Destination::New(place.path().join("there")), &request(None, 1));
    let work = planned.unwrap().open(&mut |_| {}).unwrap().begin().unwrap().work().unwrap();
    let own = headway_experiment::own::Registry::default();
    assert!(Worker::new(&work, &own).is_ok());
    for other in [Work { epoch: work.epoch + 1, ..work.clone() }, Work { version: "0.0.1".into(), ..work.clone() }] {
        let error = Worker::new(&other, &own).unwrap_err().to_string();
        assert!(error.contains("version") && error.contains(&other.version), "{error}");
    }
}
