use std::fs;
use std::path::{Path, PathBuf};

use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int32Type, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use tempfile::TempDir;

use super::*;
use crate::film::{LinkRecord, NodeKind, Topology, TopologyLink, TopologyNode};
use crate::folder::Folder;
use crate::folder::MANIFEST;
use crate::manifest::Manifest;
use crate::part::tests::outcome;
use crate::record::{Cell, FlowRecord, Job, Outcome, Sample, SweepPoint};
use crate::summary::SummaryBuilder;
use headway_units::{Rate, Span};

const TEXT: &str = "name = \"test\"\n";

fn cell(index: u32, policy: &str, n: i64, queue: &str) -> Cell {
    Cell { index, policy: policy.into(), sweep: SweepPoint::new().with("n", n).with("queue", queue) }
}

fn manifest() -> Manifest {
    let cells =
        vec![cell(0, "tcp", 1, "red"), cell(1, "tcp", 2, "red"), cell(2, "tcp", 2, "codel"), cell(3, "m", 1, "red")];
    let mut manifest = Manifest::new("test", TEXT, 7, 2, "0.1.0", cells);
    manifest.packet_waits = true;
    manifest
}

/// Some outcome for each run, with times in order; the same at every call.
fn outcomes() -> Vec<Outcome> {
    let mut runner = TestRunner::deterministic();
    let mut any = |job| {
        let mut outcome = outcome(job).new_tree(&mut runner).unwrap().current();
        for flow in &mut outcome.flows {
            flow.end = flow.end.map(|end| end.max(flow.start));
            flow.resets = 0;
        }
        outcome
    };
    manifest().jobs().map(&mut any).collect()
}

fn finished_in(directory: &TempDir) -> Finished {
    let folder = Folder::create(directory.path().join("run"), &manifest(), TEXT).unwrap();
    let path = folder.path().to_path_buf();
    let mut builder = SummaryBuilder::new(&manifest().cells, ["short"]);
    for outcome in outcomes() {
        folder.put(&outcome).unwrap();
        builder.add(&outcome);
    }
    folder.finish(&builder.build(), &builder.repeats(), &manifest()).unwrap();
    Folder::open(path).unwrap()
}

fn file(folder: &Finished, name: &str) -> PathBuf {
    folder.path.join(name)
}

/// The reason, of an error that is damage of the file `name`.
fn damage<T>(result: Result<T, Error>, name: &str) -> String {
    match result.err().expect("an error") {
        Error::Damaged { path, reason } => {
            assert!(path.ends_with(name), "{}", path.display());
            reason
        }
        other => panic!("{other}"),
    }
}

#[test]
fn flows_and_samples_are_read_as_they_were_kept() {
    let directory = tempfile::tempdir().unwrap();
    let folder = finished_in(&directory);
    let flows: Vec<(Job, FlowRecord)> = folder.flows().unwrap().map(Result::unwrap).collect();
    let samples: Vec<(Job, Sample)> = folder.series().unwrap().map(Result::unwrap).collect();
    let outcomes = outcomes();
    let kept: Vec<(Job, FlowRecord)> =
        outcomes.iter().flat_map(|one| one.flows.iter().map(|flow| (one.job, flow.clone()))).collect();
    assert!(kept.len() > 20 && flows == kept);
    let bits = |all: &[(Job, Sample)]| -> Vec<_> {
        all.iter().map(|(job, s)| (*job, s.time, s.entity.clone(), s.metric.clone(), s.value.to_bits())).collect()
    };
    let kept: Vec<(Job, Sample)> =
        outcomes.iter().flat_map(|one| one.samples.iter().map(|sample| (one.job, sample.clone()))).collect();
    assert!(kept.len() > 20);
    assert_eq!(bits(&samples), bits(&kept));
}

#[test]
fn links_and_networks_are_read_as_they_were_kept() {
    let directory = tempfile::tempdir().unwrap();
    let folder = finished_in(&directory);
    let rows: Vec<(Job, LinkRecord)> = folder.links().unwrap().expect("a table").map(Result::unwrap).collect();
    let topologies = folder.topologies().unwrap();
    let mut kept = Vec::new();
    for outcome in outcomes() {
        let Some(film) = outcome.film else {
            assert_eq!(topologies.of(outcome.job), None);
            continue;
        };
        assert_eq!(topologies.of(outcome.job), Some(&*film.topology));
        let names = film.topology.link_names();
        for link in &film.links {
            for (&time, &step) in film.times.iter().zip(&link.steps) {
                kept.push((outcome.job, LinkRecord { time, link: names[link.link as usize].as_str().into(), step }));
            }
        }
    }
    assert!(!kept.is_empty() && rows == kept);
}

#[test]
fn folders_without_films_have_no_links() {
    let directory = tempfile::tempdir().unwrap();
    let folder = finished_in(&directory);
    fs::remove_file(file(&folder, LINKS)).unwrap();
    fs::remove_file(file(&folder, TOPOLOGY)).unwrap();
    assert!(folder.links().unwrap().is_none());
    assert_eq!(folder.topologies().unwrap(), Topologies::default());
}

#[test]
fn networks_that_do_not_fit_are_told() {
    let directory = tempfile::tempdir().unwrap();
    let folder = finished_in(&directory);
    let node = r#"{"name":"a","kind":"host","tier":0}"#;
    let link = r#"{"from":"a","to":"b","rate_bps":1,"delay_ps":0,"limit_bytes":null}"#;
    for (text, reason) in [
        (String::new(), "EOF while parsing"),
        (r#"{"format":2}"#.to_owned(), "it has format 2; this version reads format 1"),
        (r#"{"format":1,"networks":[],"runs":[{"cell":0,"repeat":0,"network":0}]}"#.to_owned(), "which is not there"),
        (format!(r#"{{"format":1,"networks":[{{"nodes":[{node},{node}],"links":[]}}],"runs":[]}}"#), "two nodes"),
        (
            format!(r#"{{"format":1,"networks":[{{"nodes":[{node}],"links":[{link}]}}],"runs":[]}}"#),
            "`b`, which is no node",
        ),
        (
            format!(r#"{{"format":1,"networks":[{{"nodes":[{node}],"links":[{link}]}}],"runs":[]}}"#)
                .replace("\"rate_bps\":1", "\"rate_bps\":0"),
            "rate zero",
        ),
    ] {
        fs::write(file(&folder, TOPOLOGY), &text).unwrap();
        let told = damage(folder.topologies(), TOPOLOGY);
        assert!(told.contains(reason), "{text}: {told}");
    }
}

#[test]
fn parallel_links_have_names_of_their_own() {
    let node = |name: &str| TopologyNode { name: name.into(), kind: NodeKind::Host, tier: 0 };
    let link = |from, to| TopologyLink { from, to, rate: Rate::from_gbps(1), delay: Span::ZERO, limit: None };
    let links = vec![link(0, 1), link(1, 0), link(0, 1), link(1, 0)];
    let topology = Topology { nodes: vec![node("a"), node("b")], links };
    assert_eq!(topology.link_names(), ["a>b", "b>a", "a>b#2", "b>a#2"]);
}

#[test]
fn a_file_that_is_missing_or_of_another_kind_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let folder = finished_in(&directory);
    fs::copy(file(&folder, FLOWS), file(&folder, SERIES)).unwrap();
    assert_eq!(damage(folder.series(), SERIES), "it has no column `time_ps`");
    fs::write(file(&folder, SERIES), "policy,time\n").unwrap();
    assert!(damage(folder.series(), SERIES).contains("Invalid Parquet file"));
    fs::remove_file(file(&folder, SERIES)).unwrap();
    assert!(matches!(folder.series(), Err(Error::Io { action: "read", .. })));
}

#[test]
fn runs_that_the_manifest_does_not_have_are_told() {
    let directory = tempfile::tempdir().unwrap();
    let mut folder = finished_in(&directory);
    folder.manifest.repeats = 1;
    let error = folder.flows().unwrap().find_map(Result::err).unwrap();
    assert!(error.to_string().contains("`repeat` is 1, of 1 repeats"), "{error}");
    let mut folder = Folder::open(&folder.path).unwrap();
    folder.manifest.cells[3].policy = "other".into();
    let mut reader = folder.flows().unwrap().skip_while(Result::is_ok);
    let error = reader.next().unwrap().unwrap_err();
    assert!(error.to_string().contains("manifest.json has no cell with its policy and point"), "{error}");
    assert!(reader.next().is_none(), "a reader ends with the error");
    let mut folder = Folder::open(&folder.path).unwrap();
    folder.manifest.cells[3] = Cell { index: 3, ..folder.manifest.cells[0].clone() };
    assert_eq!(damage(folder.flows(), MANIFEST), "its cells 0 and 3 have the same policy and point");
}

/// A table of samples as another program writes it: of the schema `message`, with one row group of the given columns.
fn foreign(path: &Path, message: &str, text: &[ByteArray], levels: &[i16], repeat: i32) {
    let schema = parse_message_type(message).unwrap().into();
    let properties = WriterProperties::builder().build().into();
    let mut writer = SerializedFileWriter::new(fs::File::create(path).unwrap(), schema, properties).unwrap();
    let mut group = writer.next_row_group().unwrap();
    while let Some(mut column) = group.next_column().unwrap() {
        use parquet::basic::Type;
        let kind = match column.untyped() {
            parquet::column::writer::ColumnWriter::ByteArrayColumnWriter(_) => Type::BYTE_ARRAY,
            parquet::column::writer::ColumnWriter::DoubleColumnWriter(_) => Type::DOUBLE,
            parquet::column::writer::ColumnWriter::Int32ColumnWriter(_) => Type::INT32,
            _ => Type::INT64,
        };
        match kind {
            Type::BYTE_ARRAY => column.typed::<ByteArrayType>().write_batch(text, Some(levels), None).unwrap(),
            Type::DOUBLE => column.typed::<DoubleType>().write_batch(&[1.0, 2.0], None, None).unwrap(),
            Type::INT32 => column.typed::<Int32Type>().write_batch(&[repeat, repeat], None, None).unwrap(),
            _ => column.typed::<Int64Type>().write_batch(&[1, 2], None, None).unwrap(),
        };
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
}

fn unswept(directory: &TempDir) -> Finished {
    let cells = vec![Cell { index: 0, policy: "x".into(), sweep: SweepPoint::new() }];
    let manifest = Manifest::new("test", TEXT, 7, 1, "0.1.0", cells);
    let summary = SummaryBuilder::new(&manifest.cells, ["short"]).build();
    Finished { path: directory.path().to_path_buf(), manifest, summary }
}

/// All columns in another order, with one more, and texts that may be null.
const FOREIGN: &str = "message schema {
    required double value; required int64 more; optional binary metric (UTF8); optional binary entity (UTF8);
    required int32 repeat; required int64 time_ps; optional binary policy (UTF8);
}";

#[test]
fn tables_of_other_programs_are_read_by_the_names_of_their_columns() {
    let directory = tempfile::tempdir().unwrap();
    let folder = unswept(&directory);
    let x = ByteArray::from("x");
    foreign(&file(&folder, SERIES), FOREIGN, &[x.clone(), x.clone()], &[1, 1], 0);
    let rows: Vec<(Job, Sample)> = folder.series().unwrap().map(Result::unwrap).collect();
    assert_eq!(
        rows.iter().map(|(_, sample)| (sample.time.picos(), sample.value)).collect::<Vec<_>>(),
        [(1, 1.0), (2, 2.0)]
    );
    assert!(std::sync::Arc::ptr_eq(&rows[0].1.entity, &rows[1].1.entity), "equal texts are shared");

    foreign(&file(&folder, SERIES), FOREIGN, std::slice::from_ref(&x), &[1, 0], 0);
    let error = folder.series().unwrap().find_map(Result::err).unwrap();
    assert!(error.to_string().ends_with("row 2: `policy` has no value"), "{error}");
    foreign(&file(&folder, SERIES), FOREIGN, &[x, vec![255, 254].into()], &[1, 1], 0);
    let error = folder.series().unwrap().find_map(Result::err).unwrap();
    assert!(error.to_string().ends_with("row 2: `policy` is not UTF-8"), "{error}");
}

#[test]
fn columns_of_another_kind_are_told() {
    let directory = tempfile::tempdir().unwrap();
    let folder = unswept(&directory);
    let x = ByteArray::from("x");
    for (from, to, reason) in [
        ("int64 time_ps", "int32 time_ps", "its column `time_ps` does not hold 64-bit numbers"),
        ("double value", "float value", "its column `value` does not hold floating-point numbers"),
        ("required int32 repeat", "repeated int32 repeat", "its column `repeat` does not hold 32-bit numbers"),
    ] {
        let message = FOREIGN.replace(from, to);
        let schema = parse_message_type(&message).unwrap().into();
        let writer = SerializedFileWriter::new(
            fs::File::create(file(&folder, SERIES)).unwrap(),
            schema,
            WriterProperties::builder().build().into(),
        );
        writer.unwrap().close().unwrap();
        assert_eq!(damage(folder.series(), SERIES), reason);
    }
    // The types are right, the values are not.
    foreign(&file(&folder, SERIES), FOREIGN, &[x.clone(), x], &[1, 1], -1);
    let error = folder.series().unwrap().find_map(Result::err).unwrap();
    assert!(error.to_string().contains("`repeat` is 4294967295, of 1 repeats"), "{error}");
}

/// Reads all of a table; how many rows there were.
fn drain<T>(reader: Result<impl Iterator<Item = Result<T, Error>>, Error>) -> Result<usize, Error> {
    reader?.try_fold(0, |rows, row| row.map(|_| rows + 1))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn damaged_tables_are_read_or_refused(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let folder = finished_in(&directory);
        for name in [FLOWS, SERIES, LINKS, TOPOLOGY] {
            let mut bytes = fs::read(file(&folder, name)).unwrap();
            for (at, by) in &changes {
                let at = at.index(bytes.len());
                bytes[at] = *by;
            }
            if let Some(at) = cut {
                let at = at.index(bytes.len());
                // The middle is missing: magic numbers at both ends stay.
                bytes.drain(at..(at + 40).min(bytes.len() - 12).max(at));
            }
            fs::write(file(&folder, name), bytes).unwrap();
        }
        let links = folder.links().and_then(|reader| drain(Ok(reader.expect("a table"))));
        let networks = folder.topologies().map(|all| all.networks.len());
        for result in [drain(folder.flows()), drain(folder.series()), links, networks] {
            if let Err(error) = result {
                prop_assert!(matches!(error, Error::Damaged { .. } | Error::Io { .. }), "{error}");
            }
        }
    }
}
