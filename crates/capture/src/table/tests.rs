use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};

use super::*;
use crate::analysis::{Analysis, Options};
use crate::captures::Captures;
use crate::packet::{ACK, FIN, SYN};
use crate::reader::Reader;
use crate::synthetic::{Frame, PcapWriter};

fn rows(path: &Path) -> Vec<Row> {
    let reader = SerializedFileReader::new(std::fs::File::open(path).unwrap()).unwrap();
    reader.get_row_iter(None).unwrap().map(Result::unwrap).collect()
}

fn field<'a>(row: &'a Row, name: &str) -> &'a Field {
    row.get_column_iter().find(|(own, _)| *own == name).expect("a column").1
}

/// A request of 100 bytes and an answer of 3,000, of which the capture lacks the second 1,000.
fn capture() -> Vec<u8> {
    let (client, server) = (("10.0.0.9".parse().unwrap(), 4000), ("10.0.0.1".parse().unwrap(), 80));
    let mut writer = PcapWriter::new(Vec::new(), 1).unwrap();
    let segments = [
        (100, true, 0, 0, SYN, 0),
        (110, false, 0, 1, SYN | ACK, 0),
        (130, true, 1, 1, ACK, 0),
        (200, true, 1, 1, ACK, 100),
        (220, false, 1, 101, ACK, 1000),
        (230, false, 2001, 101, ACK | FIN, 1000),
        (250, true, 101, 3002, ACK | FIN, 0),
    ];
    for (time, from_client, sequence, acknowledgement, flags, payload) in segments {
        let (source, destination) = if from_client { (client, server) } else { (server, client) };
        let frame = Frame { source, destination, sequence, acknowledgement, flags, payload, id: 0, options: &[] };
        let mut bytes = Vec::new();
        frame.ethernet(&[], &mut bytes);
        writer.packet(time, &bytes, bytes.len() as u32).unwrap();
    }
    writer.into_inner()
}

#[test]
fn connections_and_series_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let (flows, series) = (folder.path().join("flows.parquet"), folder.path().join("series.parquet"));
    let mut table = ConnectionTable::create(&flows).unwrap();
    let mut analysis = Analysis::new(Options::default(), |record| table.add(record).unwrap());
    let mut captures = Captures::one(Reader::new("x", Box::new(std::io::Cursor::new(capture()))).unwrap());
    while let Some(packet) = captures.next_packet() {
        analysis.packet(&packet);
    }
    let report = analysis.finish();
    table.finish().unwrap();
    SeriesTable::write(&series, &report).unwrap();

    let all = rows(&flows);
    assert_eq!(all.len(), 1);
    let text = |text: &str| Field::Str(text.to_owned());
    for (name, expected) in [
        ("connection", Field::ULong(1)),
        ("mptcp_connection", Field::Null),
        ("initiator", text("10.0.0.9")),
        ("initiator_port", Field::UInt(4000)),
        ("responder", text("10.0.0.1")),
        ("responder_port", Field::UInt(80)),
        ("begin", text("handshake")),
        ("end", text("fin")),
        ("first_ns", Field::ULong(100)),
        ("last_ns", Field::ULong(250)),
        ("handshake_rtt_ns", Field::ULong(30)),
        ("initiator_bytes", Field::ULong(100)),
        ("initiator_rtt_min_ns", Field::ULong(20)),
        ("initiator_first_data_ns", Field::ULong(200)),
        ("initiator_incast_degree", Field::ULong(1)),
        ("responder_bytes", Field::ULong(3000)),
        ("responder_unseen_bytes", Field::ULong(1000)),
        ("responder_packets", Field::ULong(3)),
        ("responder_last_data_ns", Field::ULong(230)),
        ("responder_retransmissions", Field::UInt(0)),
        ("initiator_syn_retransmissions", Field::UInt(0)),
        ("responder_fin_retransmissions", Field::UInt(0)),
    ] {
        assert_eq!(field(&all[0], name), &expected, "{name}");
    }
    let all = rows(&series);
    assert_eq!((all.len(), field(&all[0], "packets")), (1, &Field::ULong(7)));
    assert_eq!((field(&all[0], "connections"), field(&all[0], "short_starts")), (&Field::ULong(1), &Field::ULong(2)));
}
