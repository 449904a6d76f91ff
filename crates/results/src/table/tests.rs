use bytes_of::{field, rows};

use super::*;
use crate::record::{Counters, FlowRecord, Job, PathRecord, Sample, SweepPoint};
use crate::waits::FlowWaits;

/// Reading back through the format's own reader.
mod bytes_of {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::{Field, Row};

    pub fn rows(path: &std::path::Path) -> Vec<Row> {
        let reader = SerializedFileReader::new(std::fs::File::open(path).unwrap()).unwrap();
        reader.get_row_iter(None).unwrap().map(Result::unwrap).collect()
    }

    pub fn field<'a>(row: &'a Row, name: &str) -> &'a Field {
        row.get_column_iter().find(|(own, _)| *own == name).expect("a column").1
    }
}

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;

fn cells() -> Vec<Cell> {
    let sweep = |senders: i64, queue: &str| SweepPoint::new().with("senders", senders).with("queue", queue);
    vec![
        Cell { index: 0, policy: "tcp".into(), sweep: sweep(1, "red") },
        Cell { index: 1, policy: "mptcp".into(), sweep: sweep(2, "drop-tail") },
    ]
}

fn flow(id: u64) -> FlowRecord {
    FlowRecord {
        id,
        traffic: "short".into(),
        source: "a".into(),
        destination: "b".into(),
        bytes: None,
        delivered: u64::MAX,
        start: Time::from_picos(5),
        end: None,
        deadline: None,
        ideal: None,
        retransmissions: u32::MAX,
        timeouts: 1,
        marks: 2,
        subflows: 255,
        paths: "a-s1-b".into(),
        switched: None,
        stall: None,
        resets: 0,
        waits: None,
    }
}

fn outcome(cell: u32, flows: Vec<FlowRecord>, samples: Vec<Sample>) -> Outcome {
    let job = Job { cell, repeat: 3 };
    let (commands, failed) = (Vec::new(), Vec::new());
    Outcome {
        job,
        flows,
        samples,
        ports: Some(Vec::new()),
        cut: Vec::new(),
        waits: None,
        commands,
        failed,
        deadlock: None,
        film: None,
        paths: None,
        counters: Counters::default(),
        digest: 0,
        end: Time::ZERO,
    }
}

fn text(text: &str) -> Field {
    Field::Str(text.to_owned())
}

#[test]
fn flows_read_back_column_by_column() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("flows.parquet");
    let mut finished = flow(7);
    (finished.bytes, finished.end) = (Some(9), Some(Time::from_picos(12)));
    finished.deadline = Some(Span::from_picos(8));
    (finished.ideal, finished.switched) = (Some(Span::from_picos(4)), Some(Time::from_picos(6)));
    finished.stall = Some(Span::from_picos(3));
    let mut table = FlowTable::new(std::fs::File::create(&path).unwrap(), &cells(), false).unwrap();
    table.add(&outcome(0, vec![flow(u64::MAX)], Vec::new())).unwrap();
    table.add(&outcome(1, vec![finished], Vec::new())).unwrap();
    table.finish().unwrap();

    let rows = rows(&path);
    assert_eq!(rows.len(), 2);
    let names: Vec<&String> = rows[0].get_column_iter().map(|(name, _)| name).collect();
    let expected = "policy sweep_senders sweep_queue repeat flow traffic source destination bytes delivered_bytes \
                    start_ps end_ps fct_ps ideal_ps retransmissions timeouts ecn_marks subflows paths switched_ps \
                    deadline_ps stall_ps";
    assert_eq!(names, expected.split(' ').collect::<Vec<_>>());
    let open = |name| field(&rows[0], name).clone();
    assert_eq!(open("policy"), text("tcp"));
    assert_eq!(open("sweep_senders"), Field::Double(1.0));
    assert_eq!(open("sweep_queue"), text("red"));
    assert_eq!(open("repeat"), Field::UInt(3));
    assert_eq!(open("flow"), Field::ULong(u64::MAX));
    assert_eq!(open("delivered_bytes"), Field::ULong(u64::MAX));
    assert_eq!(open("retransmissions"), Field::UInt(u32::MAX));
    assert_eq!(open("subflows"), Field::UByte(255));
    for name in ["bytes", "end_ps", "fct_ps", "ideal_ps", "switched_ps", "deadline_ps", "stall_ps"] {
        assert_eq!(open(name), Field::Null, "{name}");
    }
    let done = |name| field(&rows[1], name).clone();
    assert_eq!((done("policy"), done("sweep_queue")), (text("mptcp"), text("drop-tail")));
    assert_eq!((done("traffic"), done("source"), done("destination")), (text("short"), text("a"), text("b")));
    assert_eq!((done("bytes"), done("start_ps"), done("end_ps")), (Field::ULong(9), Field::ULong(5), Field::ULong(12)));
    assert_eq!((done("fct_ps"), done("ideal_ps")), (Field::ULong(7), Field::ULong(4)));
    assert_eq!((done("timeouts"), done("ecn_marks")), (Field::UInt(1), Field::UInt(2)));
    assert_eq!(done("deadline_ps"), Field::ULong(8));
    assert_eq!((done("paths"), done("switched_ps")), (text("a-s1-b"), Field::ULong(6)));
    assert_eq!(done("stall_ps"), Field::ULong(3));
}

#[test]
fn paths_have_the_columns_of_their_flows() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("paths.parquet");
    let mut second = outcome(1, vec![flow(7), flow(9)], Vec::new());
    let time = Time::from_picos(11);
    let (own, back) = ("a s1 b#2".into(), "b s2 a".into());
    second.paths = Some(vec![PathRecord { flow: 1, connection: 2, subflow: 3, time, path: own, back }]);
    let mut table = PathTable::new(std::fs::File::create(&path).unwrap(), &cells()).unwrap();
    table.add(&outcome(0, vec![flow(1)], Vec::new())).unwrap();
    table.add(&second).unwrap();
    table.finish().unwrap();
    let rows = rows(&path);
    assert_eq!(rows.len(), 1);
    let names: Vec<&String> = rows[0].get_column_iter().map(|(name, _)| name).collect();
    let expected = "policy sweep_senders sweep_queue repeat flow traffic source destination bytes start_ps connection \
                    subflow time_ps path path_back";
    assert_eq!(names, expected.split(' ').collect::<Vec<_>>());
    let own = |name| field(&rows[0], name).clone();
    assert_eq!((own("policy"), own("flow"), own("source")), (text("mptcp"), Field::ULong(9), text("a")));
    assert_eq!(
        (own("connection"), own("subflow"), own("time_ps")),
        (Field::UByte(2), Field::UByte(3), Field::ULong(11))
    );
    assert_eq!((own("path"), own("path_back")), (text("a s1 b#2"), text("b s2 a")));
}

#[test]
fn waits_of_packets_are_columns_where_they_were_measured() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("flows.parquet");
    let waits = FlowWaits { packets: 3, hosts: Span::from_picos(5), switches: Span::from_picos(7) };
    let mut table = FlowTable::new(std::fs::File::create(&path).unwrap(), &cells(), true).unwrap();
    let flows = vec![FlowRecord { waits: Some(waits), ..flow(0) }, flow(1)];
    table.add(&outcome(0, flows, Vec::new())).unwrap();
    table.finish().unwrap();
    let rows = rows(&path);
    let last = |row: usize| -> Vec<_> {
        let columns: Vec<_> = rows[row].get_column_iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        columns[columns.len() - 3..].to_vec()
    };
    let column = |name: &str, value| (name.to_owned(), value);
    let names = ["data_packets", "host_wait_ps", "switch_wait_ps"];
    assert_eq!(
        last(0),
        [3, 5, 7].map(Field::ULong).into_iter().zip(names).map(|(v, n)| column(n, v)).collect::<Vec<_>>()
    );
    assert_eq!(last(1), names.map(|name| column(name, Field::Null)));
}

#[test]
fn a_file_of_its_own_has_its_name_once_it_is_finished() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("own.parquet");
    let columns = vec![Column::text("name"), Column::maybe_u64("size_bytes"), Column::f64("share")];
    let mut file = ParquetFile::create(&path, columns).unwrap();
    for (name, size) in [("a", Some(1)), ("b", None)] {
        file.row(|row| {
            row.str(name);
            row.maybe_u64(size);
            row.f64(0.5);
        })
        .unwrap();
    }
    assert!(!path.exists());
    file.finish().unwrap();
    let rows = rows(&path);
    assert_eq!((field(&rows[0], "name"), field(&rows[0], "size_bytes")), (&text("a"), &Field::ULong(1)));
    assert_eq!((field(&rows[1], "size_bytes"), field(&rows[1], "share")), (&Field::Null, &Field::Double(0.5)));
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    assert!(matches!(ParquetFile::create(&path.join("x"), Vec::new()), Err(Error::Io { .. })));
}

#[test]
fn long_series_are_written_in_groups() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("series.parquet");
    let sample =
        |n: usize| Sample { time: Time::from_picos(n as u64), entity: "e".into(), metric: "m".into(), value: n as f64 };
    let mut table = SeriesTable::new(std::fs::File::create(&path).unwrap(), &cells()).unwrap();
    table.add(&outcome(0, Vec::new(), (0..GROUP_ROWS).map(sample).collect())).unwrap();
    table.add(&outcome(1, Vec::new(), (GROUP_ROWS..GROUP_ROWS + 5).map(sample).collect())).unwrap();
    table.finish().unwrap();

    let reader = SerializedFileReader::new(std::fs::File::open(&path).unwrap()).unwrap();
    let groups = reader.metadata().row_groups().iter().map(|group| group.num_rows() as usize);
    assert_eq!(groups.collect::<Vec<_>>(), [GROUP_ROWS, 5]);
    let rows = rows(&path);
    assert_eq!(rows.len(), GROUP_ROWS + 5);
    for (n, row) in rows.iter().enumerate() {
        assert_eq!(*field(row, "time_ps"), Field::ULong(n as u64));
        assert_eq!(*field(row, "value"), Field::Double(n as f64));
    }
    assert_eq!(*field(&rows[GROUP_ROWS], "policy"), text("mptcp"));
}

#[test]
fn no_rows_are_a_file_with_columns() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("flows.parquet");
    FlowTable::new(std::fs::File::create(&path).unwrap(), &[], false).unwrap().finish().unwrap();
    let reader = SerializedFileReader::new(std::fs::File::open(&path).unwrap()).unwrap();
    assert_eq!(reader.metadata().file_metadata().num_rows(), 0);
    assert_eq!(reader.metadata().file_metadata().schema().get_fields().len(), 20);
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_an_error() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let written = FlowTable::new(full, &cells(), false).and_then(|mut table| {
        table.add(&outcome(0, vec![flow(0)], Vec::new()))?;
        table.finish()
    });
    assert!(written.is_err());
}

/// Readers that know nothing of units draw `sweep_delay_si`, in s.
#[test]
fn swept_quantities_are_numbers_beside_their_texts() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("flows.parquet");
    let cell = |index: u32, delay: &str| {
        let sweep = SweepPoint::new().with("delay", delay).with("queue", "red");
        Cell { index, policy: "tcp".into(), sweep }
    };
    let cells = [cell(0, "5us"), cell(1, "none"), cell(2, "1ms")];
    let mut table = FlowTable::new(std::fs::File::create(&path).unwrap(), &cells, false).unwrap();
    for cell in 0..3 {
        table.add(&outcome(cell, vec![flow(1)], Vec::new())).unwrap();
    }
    table.finish().unwrap();
    let rows = rows(&path);
    let column = |name: &str| rows.iter().map(|row| field(row, name).clone()).collect::<Vec<_>>();
    assert_eq!(column("sweep_delay"), [text("5us"), text("none"), text("1ms")]);
    assert_eq!(column("sweep_delay_si"), [Field::Double(5e-6), Field::Null, Field::Double(1e-3)]);
    assert!(rows[0].get_column_iter().all(|(name, _)| name != "sweep_queue_si"), "words have no numbers");
}
