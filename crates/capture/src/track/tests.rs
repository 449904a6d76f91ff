use super::*;
use crate::packet::{Address, Content, parse};
use crate::reader::{Link, Packet};
use crate::synthetic::Frame;

const MS: u64 = 1_000_000;
const S: u64 = 1000 * MS;

fn address(text: &str) -> Address {
    text.parse().unwrap()
}

/// A capture of what a client (port 40,000) and a server (port 80) say.
struct Talk {
    tracker: Tracker,
    events: Vec<Event>,
    ends: [(Address, u16); 2],
    vlans: Vec<u16>,
    id: u16,
}

impl Talk {
    fn new() -> Talk {
        Talk {
            tracker: Tracker::new(60 * S, 1000),
            events: Vec::new(),
            ends: [(address("10.0.0.1"), 40_000), (address("10.0.0.2"), 80)],
            vlans: Vec::new(),
            id: 0,
        }
    }

    /// A segment from the client (0) or the server (1).
    #[expect(clippy::too_many_arguments, reason = "what a segment has")]
    fn says(
        &mut self,
        now: u64,
        from: usize,
        flags: u8,
        sequence: u32,
        acknowledgement: u32,
        payload: u32,
        options: &[u8],
    ) {
        self.id = self.id % 60_000 + 1;
        let frame = Frame {
            source: self.ends[from],
            destination: self.ends[1 - from],
            sequence,
            acknowledgement,
            flags,
            payload,
            id: self.id,
            options,
        };
        let mut bytes = Vec::new();
        frame.ethernet(&self.vlans, &mut bytes);
        let length = bytes.len() as u32;
        // As with a snaplen of 128: only headers.
        bytes.truncate(128);
        match parse(&Packet { time: now, link: Link::Ethernet, data: &bytes, length }) {
            Content::Tcp(segment) => self.tracker.segment(now, &segment, &mut self.events),
            other => panic!("{other:?}"),
        }
    }

    fn data(&mut self, now: u64, from: usize, sequence: u32, payload: u32) {
        self.says(now, from, ACK, sequence, 0, payload, &[]);
    }

    /// SYN at `now`, its answer 10 ms later, the third 1 ms after that; the client's first byte is 1001, the server's 5001.
    fn shake(&mut self, now: u64) {
        self.says(now, 0, SYN, 1000, 0, 0, &[]);
        self.says(now + 10 * MS, 1, SYN | ACK, 5000, 1001, 0, &[]);
        self.says(now + 11 * MS, 0, ACK, 1001, 5001, 0, &[]);
    }

    /// All connections, those that are open at last.
    fn connections(mut self) -> Vec<Connection> {
        while let Some(event) = self.tracker.end_next() {
            self.events.push(event);
        }
        let ended = |event| match event {
            Event::Ended(connection) => Some(*connection),
            Event::Started { .. } => None,
        };
        self.events.into_iter().filter_map(ended).collect()
    }

    fn only(self) -> Connection {
        let mut all = self.connections();
        assert_eq!(all.len(), 1, "{all:?}");
        all.remove(0)
    }
}

#[test]
fn a_whole_connection_has_its_bytes_its_times_and_its_end() {
    let mut talk = Talk::new();
    talk.shake(S);
    talk.says(2 * S, 0, ACK, 1001, 5001, 300, &[]);
    talk.says(2 * S + 20 * MS, 1, ACK, 5001, 1301, 1400, &[]);
    talk.says(2 * S + 20 * MS, 1, ACK | FIN, 6401, 1301, 600, &[]);
    talk.says(2 * S + 25 * MS, 0, ACK | FIN, 1301, 7002, 0, &[]);
    talk.says(2 * S + 30 * MS, 1, ACK, 7002, 1302, 0, &[]);
    let connection = talk.only();
    let [client, server] = connection.sides;
    assert_eq!((client.bytes, server.bytes), (300, 2000));
    assert_eq!((client.packets, server.packets), (4, 4));
    assert_eq!((client.retransmissions, server.retransmissions, client.unseen, server.unseen), (0, 0, 0, 0));
    assert_eq!((connection.end, connection.begin(), connection.initiator), (End::Fin, Begin::Handshake, 0));
    assert_eq!((connection.first, connection.last, connection.handshake), (S, 2 * S + 25 * MS, 11 * MS));
    assert_eq!((client.rtt_least, client.rtt_count), (20 * MS, 1));
    assert_eq!((server.rtt_least, server.rtt_count), (5 * MS, 1));
    assert_eq!((server.first_data, server.last_data), (2 * S + 20 * MS, 2 * S + 20 * MS));
}

#[test]
fn vlans_and_directions_do_not_split_a_connection() {
    let mut talk = Talk::new();
    talk.shake(S);
    talk.vlans = vec![7];
    talk.data(2 * S, 0, 1001, 100);
    talk.vlans = vec![8, 9];
    talk.data(2 * S, 1, 5001, 100);
    assert_eq!(talk.only().sides.map(|side| side.bytes), [100, 100]);
}

#[test]
fn ipv6_is_the_same() {
    let mut talk = Talk::new();
    talk.ends = [(address("2001:db8::2"), 40_000), (address("2001:db8::1"), 80)];
    talk.shake(S);
    talk.data(2 * S, 0, 1001, 100);
    let connection = talk.only();
    // The client has the higher address.
    assert_eq!((connection.initiator, connection.sides[1].bytes, connection.handshake), (1, 100, 11 * MS));
}

#[test]
fn numbers_wrap_and_flows_go_beyond_4_gb() {
    let mut talk = Talk::new();
    talk.says(S, 0, SYN, u32::MAX - 100, 0, 0, &[]);
    let segment = 1 << 20;
    let mut sequence = u32::MAX - 99;
    for n in 0..5000 {
        talk.data(S + n, 0, sequence, segment);
        sequence = sequence.wrapping_add(segment);
    }
    let side = talk.only().sides[0];
    assert_eq!((side.bytes, side.retransmissions, side.unseen), (5000 << 20, 0, 0));
}

#[test]
fn what_is_sent_again_counts_once() {
    let mut talk = Talk::new();
    talk.shake(S);
    talk.data(2 * S, 0, 1001, 1000);
    talk.data(2 * S + 1, 0, 2001, 1000);
    talk.data(2 * S + 200 * MS, 0, 1001, 1000);
    // Half of it is new.
    talk.data(2 * S + 300 * MS, 0, 2001, 2000);
    // No time can be had of it: it is not known what was acknowledged.
    talk.says(2 * S + 310 * MS, 1, ACK, 5001, 4001, 0, &[]);
    let side = talk.only().sides[0];
    assert_eq!((side.bytes, side.retransmissions, side.retransmitted), (3000, 2, 2000));
    assert_eq!((side.out_of_order, side.duplicates, side.rtt_count), (0, 0, 0));
}

#[test]
fn what_comes_late_was_overtaken_or_lost_before() {
    let mut talk = Talk::new();
    talk.shake(S);
    // Of the round-trip time of 11 ms, 2 ms is too little to have been retransmitted.
    talk.data(2 * S, 0, 2001, 1000);
    talk.data(2 * S + 2 * MS, 0, 1001, 1000);
    // 50 ms is not: it was lost before it came by.
    talk.data(3 * S, 0, 4001, 1000);
    talk.data(3 * S + 50 * MS, 0, 3001, 1000);
    let side = talk.only().sides[0];
    assert_eq!((side.bytes, side.unseen), (4000, 0));
    assert_eq!((side.out_of_order, side.retransmissions, side.retransmitted), (1, 1, 1000));
}

#[test]
fn what_the_capture_lacks_is_counted_by_its_numbers() {
    let mut talk = Talk::new();
    talk.shake(S);
    talk.data(2 * S, 0, 1001, 1000);
    // 2001 to 3000 is missing, and what was acknowledged at last.
    talk.data(2 * S, 0, 3001, 1000);
    talk.says(2 * S + MS, 1, ACK, 5001, 5001, 0, &[]);
    // A FIN that is missing, too, is no byte.
    talk.says(2 * S + 2 * MS, 1, ACK, 5001, 5002, 0, &[]);
    let side = talk.only().sides[0];
    assert_eq!((side.bytes, side.unseen, side.retransmissions), (4000, 2000, 0));
}

#[test]
fn acknowledgements_alone_tell_what_the_other_side_sent() {
    let mut talk = Talk::new();
    for n in 0..100 {
        talk.says(S + n * MS, 1, ACK, 1, 1 + n as u32 * 2000, 0, &[]);
    }
    let connection = talk.only();
    assert_eq!(
        (connection.sides[0].bytes, connection.sides[0].unseen, connection.begin()),
        (198_000, 198_000, Begin::Open)
    );
}

#[test]
fn one_direction_is_enough_for_its_bytes() {
    let mut talk = Talk::new();
    talk.says(S, 0, SYN, 1000, 0, 0, &[]);
    talk.says(S + 1, 0, ACK, 1001, 5001, 0, &[]);
    talk.says(S + 2, 0, ACK, 1001, 5001, 700, &[]);
    // Acknowledges what was answered.
    talk.says(S + 3, 0, ACK, 1701, 8001, 0, &[]);
    let connection = talk.only();
    assert_eq!(connection.sides.map(|side| (side.bytes, side.unseen)), [(700, 0), (3000, 3000)]);
    assert!(connection.was_answered());
}

#[test]
fn a_capture_that_has_everything_twice_is_no_retransmission() {
    let mut talk = Talk::new();
    talk.shake(S);
    for n in 0..10 {
        talk.data(2 * S, 0, 1001 + n * 100, 100);
        talk.id -= 1;
        talk.data(2 * S + 10, 0, 1001 + n * 100, 100);
    }
    let side = talk.only().sides[0];
    assert_eq!((side.bytes, side.duplicates, side.retransmissions), (1000, 10, 0));
}

/// With an identification of 0 (IPv6 has none), copies have nothing but their time: less than half the round trip of
/// 11 ms. Copies may come behind others.
#[test]
fn copies_without_identification_are_told_from_retransmissions_by_time() {
    let mut talk = Talk::new();
    talk.ends = [(address("2001:db8::1"), 40_000), (address("2001:db8::2"), 80)];
    talk.shake(S);
    for n in 0..10 {
        talk.data(2 * S, 0, 1001 + n * 100, 100);
    }
    for n in 0..10 {
        talk.data(2 * S + 5000, 0, 1001 + n * 100, 100);
    }
    // Sent again after a round trip.
    talk.data(2 * S + 12 * MS, 0, 1001, 100);
    let [side, _] = talk.only().sides;
    assert_eq!((side.bytes, side.packets, side.data_packets), (1000, 23, 11));
    assert_eq!((side.duplicates, side.retransmissions), (10, 1));
}

/// Where no round trip is known, 50 us is the bound.
#[test]
fn copies_in_the_middle_of_a_connection_come_within_50_us() {
    let mut talk = Talk::new();
    talk.ends = [(address("2001:db8::1"), 40_000), (address("2001:db8::2"), 80)];
    talk.data(S, 0, 1001, 100);
    talk.data(S + 40_000, 0, 1001, 100);
    talk.data(S + 100_000, 0, 1001, 100);
    let [side, _] = talk.only().sides;
    assert_eq!((side.bytes, side.duplicates, side.retransmissions), (100, 1, 1));
}

#[test]
fn syns_and_fins_that_are_sent_again_are_no_data() {
    let mut talk = Talk::new();
    talk.says(S, 0, SYN, 1000, 0, 0, &[]);
    talk.says(2 * S, 0, SYN, 1000, 0, 0, &[]);
    talk.says(2 * S + MS, 1, SYN | ACK, 5000, 1001, 0, &[]);
    talk.says(3 * S, 1, SYN | ACK, 5000, 1001, 0, &[]);
    talk.says(3 * S + MS, 0, ACK, 1001, 5001, 0, &[]);
    for again in 0..3 {
        talk.says((4 + again) * S, 0, ACK | FIN, 1001, 5001, 0, &[]);
    }
    let [client, server] = talk.only().sides;
    assert_eq!((client.syns_again, client.fins_again, client.retransmissions), (1, 2, 0));
    assert_eq!((server.syns_again, server.fins_again, server.retransmissions), (1, 0, 0));
}

#[test]
fn a_clock_that_stands_still_gives_no_round_trip_of_0() {
    let mut talk = Talk::new();
    talk.says(S, 0, SYN, 1000, 0, 0, &[]);
    talk.says(S, 1, SYN | ACK, 5000, 1001, 0, &[]);
    talk.says(S, 0, ACK, 1001, 5001, 0, &[]);
    talk.data(2 * S, 0, 1001, 100);
    talk.says(2 * S, 1, ACK, 5001, 1101, 0, &[]);
    assert_eq!((talk.tracker.rtt.count(), talk.tracker.rtt_unresolved), (0, 2));
    let connection = talk.only();
    assert_eq!((connection.handshake, connection.sides[0].rtt_count), (0, 0));
}

#[test]
fn keep_alives_are_neither_data_nor_sent_again() {
    let mut talk = Talk::new();
    talk.shake(S);
    talk.data(2 * S, 0, 1001, 100);
    talk.data(10 * S, 0, 1100, 1);
    talk.data(20 * S, 0, 1100, 0);
    let side = talk.only().sides[0];
    assert_eq!((side.bytes, side.retransmissions), (100, 0));
}

#[test]
fn another_syn_begins_another_connection() {
    let mut talk = Talk::new();
    talk.shake(S);
    talk.data(2 * S, 0, 1001, 100);
    // Without an end that was captured.
    talk.says(3 * S, 0, SYN, 900_000, 0, 0, &[]);
    talk.data(3 * S, 0, 900_001, 50);
    // With one: the port is used again at once.
    talk.says(4 * S, 0, RST, 900_051, 0, 0, &[]);
    talk.says(4 * S, 0, SYN, 7, 0, 0, &[]);
    talk.data(4 * S, 0, 8, 25);
    let all: Vec<_> = talk.connections().iter().map(|c| (c.number, c.end, c.sides[0].bytes)).collect();
    assert_eq!(all, [(1, End::Reused, 100), (2, End::Reset, 50), (3, End::Open, 25)]);
}

#[test]
fn a_syn_that_is_sent_again_begins_none_and_gives_no_time() {
    let mut talk = Talk::new();
    talk.says(S, 0, SYN, 1000, 0, 0, &[]);
    talk.shake(2 * S);
    let connection = talk.only();
    let client = connection.sides[0];
    assert_eq!((client.syns_again, client.retransmissions, connection.handshake, connection.first), (1, 0, 0, S));
    let mut refused = Talk::new();
    refused.says(S, 0, SYN, 1000, 0, 0, &[]);
    refused.says(S + 1, 1, RST | ACK, 0, 1001, 0, &[]);
    let connection = refused.only();
    assert_eq!((connection.was_answered(), connection.end, connection.sides[0].bytes), (false, End::Reset, 0));
}

#[test]
fn silence_ends_a_connection_and_what_follows_is_another() {
    let mut talk = Talk::new();
    talk.shake(S);
    talk.data(2 * S, 0, 1001, 100);
    talk.data(62 * S, 0, 1101, 100);
    talk.data(122 * S + 1, 0, 1201, 100);
    let all: Vec<_> = talk.connections().iter().map(|c| (c.end, c.begin(), c.last / S, c.sides[0].bytes)).collect();
    assert_eq!(all, [(End::Idle, Begin::Handshake, 62, 200), (End::Open, Begin::Open, 122, 100)]);
}

#[test]
fn what_comes_after_the_end_begins_nothing_for_a_while() {
    let mut talk = Talk::new();
    talk.shake(S);
    talk.says(2 * S, 0, RST, 1001, 0, 0, &[]);
    talk.says(6 * S, 1, ACK, 5001, 1001, 0, &[]);
    talk.says(20 * S, 1, RST, 5001, 1001, 0, &[]);
    assert_eq!(talk.tracker.strays, 1);
    assert_eq!(talk.only().last, 2 * S);
}

#[test]
fn of_too_many_the_longest_silent_goes() {
    let mut talk = Talk::new();
    talk.tracker = Tracker::new(60 * S, 2);
    for (n, port) in [(0, 1000), (1, 2000), (2, 1000), (3, 3000)] {
        talk.ends[0].1 = port;
        talk.data(S + n, 0, 100 + n as u32 * 10, 10);
    }
    let all: Vec<_> = talk.connections().iter().map(|c| (c.key.ports[0], c.end, c.sides[0].bytes)).collect();
    // Of port 1000, the 10 bytes between the two that were captured, too.
    assert_eq!(all, [(2000, End::Evicted, 10), (1000, End::Open, 30), (3000, End::Open, 10)]);
}

/// The keys of the tests of the options; see there for their hashes.
const CLIENT: [u8; 8] = [9; 8];
const SERVER: [u8; 8] = [1, 2, 3, 4, 5, 6, 7, 8];

fn join(token: u32) -> Vec<u8> {
    [&[30, 12, 0x10, 2][..], &token.to_be_bytes(), &[0, 0, 0, 1]].concat()
}

/// A mapping without an acknowledgement, of 64 bits, and two bytes of filling.
fn dss(number: u64, length: u16) -> Vec<u8> {
    [&[30, 18, 0x20, 0x0c][..], &number.to_be_bytes(), &[0, 0, 0, 1], &length.to_be_bytes(), &[1, 1]].concat()
}

fn capable(talk: &mut Talk) {
    talk.says(S, 0, SYN, 1000, 0, 0, &[30, 4, 0x01, 0x81]);
    talk.says(S + 10, 1, SYN | ACK, 5000, 1001, 0, &[&[30, 12, 0x01, 0x81][..], &SERVER].concat());
    talk.says(S + 20, 0, ACK, 1001, 5001, 0, &[&[30, 20, 0x01, 0x81][..], &CLIENT, &SERVER].concat());
}

#[test]
fn subflows_find_their_connection_by_the_token() {
    let mut talk = Talk::new();
    capable(&mut talk);
    // RFC 8684 §3.1: the first byte is one after the last 8 bytes of the hash of the client's key.
    let first = expected_first(CLIENT);
    talk.says(2 * S, 0, ACK, 1001, 5001, 1000, &dss(first, 1000));
    // The client's second address, to the server's token: the first 4 bytes of the hash of 01…08.
    talk.ends[0] = (address("10.0.1.1"), 50_000);
    talk.says(3 * S, 0, SYN, 70, 0, 0, &join(0x6684_0dda));
    talk.says(3 * S, 0, ACK, 71, 0, 500, &dss(first + 1000, 500));
    // Sent on the other subflow before.
    talk.says(3 * S, 0, ACK, 571, 0, 1000, &dss(first, 1000));
    // The server's, to the client's token.
    talk.ends = [(address("10.0.0.1"), 40_001), (address("10.0.9.9"), 99)];
    let token = crate::packet::token(crate::packet::Version::V1, u64::from_be_bytes(CLIENT));
    talk.says(4 * S, 1, SYN, 70, 0, 0, &join(token));
    talk.says(4 * S, 0, ACK, 1, 71, 300, &dss(first + 1500, 300));
    let (groups, joined) = (talk.tracker.groups.made, talk.tracker.groups.joined);
    assert_eq!((groups, joined), (1, 2));
    let place = 0;
    assert_eq!(talk.tracker.groups.get_mut(place).subflows, 3);
    assert_eq!(talk.tracker.groups.get_mut(place).bytes(0), Some(1800), "each byte once, whichever subflow it took");
    assert_eq!(talk.tracker.groups.get_mut(place).bytes(1), None);
    let all = talk.connections();
    assert!(all.iter().all(|connection| connection.group == place));
    assert!(all.iter().any(Connection::is_swapped));
}

fn expected_first(key: [u8; 8]) -> u64 {
    crate::packet::expected_data_number(crate::packet::Version::V1, u64::from_be_bytes(key))
}

#[test]
fn subflows_without_their_first_are_together_if_the_token_is_the_same() {
    let mut talk = Talk::new();
    for (port, token) in [(1, 77), (2, 77), (3, 78)] {
        talk.ends[0].1 = port;
        talk.says(S, 0, SYN, 70, 0, 0, &join(token));
    }
    assert_eq!((talk.tracker.groups.made, talk.tracker.groups.orphans, talk.tracker.groups.joined), (2, 3, 0));
    let groups: Vec<_> = talk.connections().iter().map(|connection| connection.group).collect();
    assert_eq!(groups[0], groups[1]);
    assert_ne!(groups[0], groups[2]);
}

#[test]
fn an_offer_of_mptcp_that_is_not_taken_is_tcp() {
    let mut talk = Talk::new();
    talk.says(S, 0, SYN, 1000, 0, 0, &[30, 4, 0x01, 0x81]);
    talk.says(S, 1, SYN | ACK, 5000, 1001, 0, &[]);
    talk.says(S, 0, ACK, 1001, 5001, 0, &[]);
    assert_eq!(talk.tracker.groups.made, 0);
    assert_eq!(talk.only().group, NONE);
}

/// What `--max-flows` says of memory: 350 bytes each, with four or five for its place in the table.
#[test]
fn a_connection_takes_less_than_350_bytes() {
    assert!(size_of::<Connection>() <= 340, "{}", size_of::<Connection>());
}
