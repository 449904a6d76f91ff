use proptest::prelude::*;

use super::*;
use crate::captures::Captures;
use crate::packet::{ACK, FIN, SYN};
use crate::reader::Reader;
use crate::scenario::TrafficSection;
use crate::synthetic::{Frame, PcapWriter};

const US: u64 = 1000;
const MS: u64 = 1000 * US;
const S: u64 = 1000 * MS;

/// A capture made of whole connections, whose packets are put in order of time.
#[derive(Default)]
struct Scene {
    packets: Vec<(u64, Vec<u8>, u32)>,
    port: u16,
}

impl Scene {
    fn segment(
        &mut self,
        now: u64,
        ends: [(Address, u16); 2],
        numbers: (u32, u32),
        flags: u8,
        payload: u32,
        options: &[u8],
    ) {
        let frame = Frame {
            source: ends[0],
            destination: ends[1],
            sequence: numbers.0,
            acknowledgement: numbers.1,
            flags,
            payload,
            id: 0,
            options,
        };
        let mut bytes = Vec::new();
        frame.ethernet(&[], &mut bytes);
        let length = bytes.len() as u32;
        bytes.truncate(128);
        self.packets.push((now, bytes, length));
    }

    fn ends(&mut self, from: u8, to: u8) -> [(Address, u16); 2] {
        self.port += 1;
        [
            (Address::from(IpAddr::from([10, 0, 0, from])), 10_000 + self.port),
            (Address::from(IpAddr::from([10, 0, 0, to])), 80),
        ]
    }

    /// A connection that opens at `now`, sends `bytes` from 1 ms later on and ends `lasts` later.
    fn flow(&mut self, now: u64, from: u8, to: u8, bytes: u32, lasts: u64) {
        let ends = self.ends(from, to);
        let back = [ends[1], ends[0]];
        self.segment(now, ends, (0, 0), SYN, 0, &[]);
        self.segment(now + MS / 2, back, (0, 1), SYN | ACK, 0, &[]);
        self.segment(now + MS / 2, ends, (1, 1), ACK, 0, &[]);
        let mut at = 1;
        while at <= bytes {
            let size = (bytes + 1 - at).min(1448);
            self.segment(now + MS, ends, (at, 1), ACK, size, &[]);
            at += size;
        }
        self.segment(now + lasts, back, (1, at), ACK | FIN, 0, &[]);
        self.segment(now + lasts, ends, (at, 2), ACK | FIN, 0, &[]);
    }

    fn pcap(mut self) -> Vec<u8> {
        self.packets.sort_by_key(|&(now, ..)| now);
        let mut writer = PcapWriter::new(Vec::new(), 1).unwrap();
        for (now, bytes, length) in &self.packets {
            writer.packet(*now, bytes, *length).unwrap();
        }
        writer.into_inner()
    }

    fn report(self, options: Options) -> Report {
        analyse(self.pcap(), options).0
    }
}

use std::net::IpAddr;

fn analyse(bytes: Vec<u8>, options: Options) -> (Report, Vec<ConnectionRecord>) {
    let mut captures = Captures::one(Reader::new("x", Box::new(std::io::Cursor::new(bytes))).unwrap());
    let mut records = Vec::new();
    let mut analysis = Analysis::new(options, |record| records.push(record.clone()));
    while let Some(packet) = captures.next_packet() {
        analysis.packet(&packet);
    }
    let report = analysis.finish();
    (report, records)
}

fn flows(report: &Report, class: Class) -> (u64, u128) {
    let sizes = report.sizes(|own, _| own == class);
    (sizes.count(), sizes.sum())
}

#[test]
fn flows_have_the_class_of_their_size_and_of_their_company() {
    let mut scene = Scene::default();
    // Four to one within 1 ms, one of them long; three to another; one later.
    for from in 1..=4 {
        scene.flow(S + u64::from(from) * 200 * US, from, 100, if from == 4 { 2_000_000 } else { 50_000 }, 20 * MS);
    }
    for from in 1..=3 {
        scene.flow(2 * S + u64::from(from), from, 101, 100_000, 20 * MS);
    }
    scene.flow(3 * S, 1, 100, 100_001, 20 * MS);
    // The same sender is counted once.
    for n in 0..6 {
        scene.flow(4 * S + n, 9, 102, 1000, 20 * MS);
    }
    let report = scene.report(Options::default());
    assert_eq!(flows(&report, Class::Burst), (3, 150_000));
    assert_eq!(flows(&report, Class::Short), (3 + 6, 306_000));
    assert_eq!(flows(&report, Class::Medium), (1, 100_001));
    assert_eq!(flows(&report, Class::Long), (1, 2_000_000));
    let degrees: Vec<u64> = report.degrees.steps().map(|step| step.greatest).collect();
    assert_eq!((degrees, report.degrees.count()), (vec![1, 3, 4], 4));
    assert_eq!(report.bursts[Heading::Other as usize].count(), 1);
    let group = report.group(Class::Burst, Heading::Other);
    assert_eq!((group.senders, group.receivers), (3, 1));
    assert_eq!(report.hosts, 5 + 3);
}

#[test]
fn a_host_tells_flows_apart() {
    let mut scene = Scene::default();
    scene.flow(S, 1, 2, 100, MS * 2);
    scene.flow(S, 2, 1, 200, MS * 2);
    scene.flow(S, 2, 3, 400, MS * 2);
    let host = "10.0.0.1".parse().ok();
    let report = scene.report(Options { host, ..Options::default() });
    let sum = |heading| report.sizes(|_, own| own == heading).sum();
    assert_eq!([sum(Heading::To), sum(Heading::From), sum(Heading::Other)], [200, 100, 400]);
}

#[test]
fn long_lived_connections_last_for_nine_tenths_of_the_capture() {
    let mut scene = Scene::default();
    scene.flow(0, 1, 2, 1000, 90 * S);
    scene.flow(0, 1, 2, 500, 89 * S);
    // Many that are long-lived for a while only.
    for n in 0..3000 {
        scene.flow(n * MS, 3, 4, 10, 3 * S);
    }
    scene.flow(99 * S, 5, 6, 70, S);
    let report = scene.report(Options { idle: Span::from_secs(100), ..Options::default() });
    assert_eq!(report.duration(), 100 * S);
    assert_eq!((report.longlived.connections, report.longlived.bytes), (1, 1000));
    let open: Vec<u64> = report.series.intervals().map(|(_, open, _)| open).collect();
    assert_eq!((open[0] > 2, open[open.len() / 2], open[open.len() - 1]), (true, 2, 1));
}

#[test]
fn what_was_open_before_or_after_counts_from_end_to_end() {
    let mut scene = Scene::default();
    let ends = scene.ends(1, 2);
    for n in 1..10 {
        scene.segment(n * S, ends, (n as u32 * 100, 0), ACK, 100, &[]);
    }
    scene.flow(0, 3, 4, 10, 10 * S);
    let report = scene.report(Options::default());
    assert_eq!((report.longlived.connections, report.totals.open_before), (2, 1));
    assert_eq!(report.group(Class::Short, Heading::Other).cut, 1);
    assert_eq!(report.totals.ended(End::Open), 1);
}

/// Gaps of 1 and 3 ms in turn: mean 2, deviation 1, so CV 0.5.
#[test]
fn gaps_between_starts_have_their_mean_and_variation() {
    let mut scene = Scene::default();
    for n in 0..1000u64 {
        scene.flow(n / 2 * 4 * MS + n % 2 * MS, 1, 2, 10, 2 * MS);
    }
    let starts = scene.report(Options::default()).starts.unwrap();
    assert_eq!(starts.gaps, 999);
    assert!((starts.mean_ns / 2e6 - 1.0).abs() < 2e-3 && (starts.variation - 0.5).abs() < 2e-3, "{starts:?}");
}

#[test]
fn a_connection_of_mptcp_is_one_flow() {
    let mut scene = Scene::default();
    let first = scene.ends(1, 2);
    let back = [first[1], first[0]];
    let key = [1, 2, 3, 4, 5, 6, 7, 8];
    scene.segment(S, first, (0, 0), SYN, 0, &[30, 4, 0x01, 0x81]);
    scene.segment(S, back, (0, 1), SYN | ACK, 0, &[&[30, 12, 0x01, 0x81][..], &key].concat());
    scene.segment(S, first, (1, 1), ACK, 0, &[&[30, 20, 0x01, 0x81][..], &[9; 8], &key].concat());
    scene.segment(2 * S, first, (1, 1), ACK, 1000, &[]);
    let second = scene.ends(11, 2);
    // The token of the key: see the tests of the options.
    scene.segment(3 * S, second, (0, 0), SYN, 0, &[30, 12, 0x10, 2, 0x66, 0x84, 0x0d, 0xda, 0, 0, 0, 1]);
    scene.segment(4 * S, second, (1, 1), ACK, 500, &[]);
    scene.segment(5 * S, back, (1, 1001), ACK, 70, &[]);
    let (report, records) = analyse(scene.pcap(), Options::default());
    assert_eq!((report.totals.connections, report.totals.over), (2, 1));
    assert_eq!((report.totals.multipath, report.totals.with_subflows), (1, 1));
    let sizes: Vec<u64> = report.sizes(|_, _| true).steps().map(|step| step.greatest).collect();
    assert_eq!(sizes, [70, 1500]);
    assert!(records.iter().all(|record| record.mptcp == Some(1)), "{records:?}");
    assert_eq!(report.peak_connections(), 1);
}

#[test]
fn a_late_acknowledgement_is_no_connection() {
    let mut scene = Scene::default();
    scene.flow(0, 1, 2, 100, 2 * MS);
    scene.port = 0;
    let ends = scene.ends(1, 2);
    scene.segment(30 * S, ends, (101, 2), ACK, 0, &[]);
    let (report, records) = analyse(scene.pcap(), Options::default());
    assert_eq!((report.totals.connections, records.len(), report.totals.strays), (1, 1, 1));
}

#[test]
fn a_clock_that_is_set_back_is_noticed() {
    let mut scene = Scene::default();
    let ends = scene.ends(1, 2);
    let mut writer = PcapWriter::new(Vec::new(), 1).unwrap();
    for now in [10 * S, 12 * S, 12 * S - 5 * MS, 3 * S, 4 * S] {
        scene.segment(now, ends, ((now / MS) as u32, 0), ACK, 1, &[]);
        let (_, bytes, length) = scene.packets.pop().unwrap();
        writer.packet(now, &bytes, length).unwrap();
    }
    let (report, _) = analyse(writer.into_inner(), Options::default());
    assert_eq!((report.packets.backwards, report.packets.set_back, report.duration()), (2, 1, 2 * S));
    assert!(report.warnings().iter().any(|text| text.contains("set back 1 times, by up to 9.000 s")));
}

#[test]
fn memory_is_bounded_and_what_that_costs_is_said() {
    let mut scene = Scene::default();
    for n in 0..500 {
        let ends = scene.ends(1, 2);
        scene.segment(n, ends, (1, 1), ACK, 10, &[]);
    }
    let report = scene.report(Options { max_flows: 100, ..Options::default() });
    assert_eq!((report.totals.connections, report.totals.ended(End::Evicted)), (500, 400));
    assert!(report.warnings().iter().any(|text| text.contains("400 connections were closed early")));
}

#[test]
fn the_section_says_what_was_measured() {
    let mut scene = Scene::default();
    for n in 0..100u64 {
        scene.flow(n * 10 * MS, 1 + (n % 4) as u8, 50 + (n / 4 % 2) as u8, 1000 + n as u32 % 2 * 999_000, 5 * MS);
    }
    let report = scene.report(Options::default());
    let section = TrafficSection::new(&report).unwrap();
    // 50 flows of 1 KB within 995 ms, from any of six hosts.
    assert!(section.traffic.contains("name = \"short\"\nfrom = \"host\"\nto = \"host\"\n"), "{}", section.traffic);
    assert!(section.traffic.contains("mean = \"119.4ms\""), "{}", section.traffic);
    let short = &section.sizes.iter().find(|(name, _)| name == "short.csv").unwrap().1;
    assert_eq!(short, "# 50 flows of a capture, by `headway trace`\nbytes,cumulative\n1000,0\n1000,1\n");
    assert!(TrafficSection::new(&Scene::default().report(Options::default())).is_none());
}

proptest! {
    /// Any bytes after any header of TCP: counts, but no panic; and the same again.
    #[test]
    fn any_segments_can_be_analysed(
        segments in prop::collection::vec((0u64..200, 0u8..3, 0u8..3, any::<u32>(), any::<u32>(), any::<u8>(), 0u32..70_000, 0usize..4), 1..120),
        idle in 1u64..100,
        max_flows in 1usize..5,
    ) {
        let options: [&[u8]; 4] = [&[], &[30, 4, 0x01, 0x81], &[30, 12, 0x10, 2, 0, 0, 0, 7, 0, 0, 0, 1], &[30, 12, 0x01, 0x81, 1, 2, 3, 4, 5, 6, 7, 8]];
        let mut writer = PcapWriter::new(Vec::new(), 1).unwrap();
        let mut scene = Scene::default();
        for (now, from, to, sequence, acknowledgement, flags, payload, option) in segments {
            scene.port = 0;
            let ends = scene.ends(from, to);
            scene.segment(now * MS, ends, (sequence, acknowledgement), flags, payload, options[option]);
            let (now, bytes, length) = scene.packets.pop().unwrap();
            writer.packet(now, &bytes, length).unwrap();
        }
        let options = Options { idle: Span::from_millis(idle), max_flows, ..Options::default() };
        let bytes = writer.into_inner();
        let (report, records) = analyse(bytes.clone(), options.clone());
        prop_assert_eq!(report.totals.connections as usize, records.len());
        let (again, _) = analyse(bytes, options);
        prop_assert_eq!(report.totals, again.totals);
        prop_assert_eq!(report.sizes(|_, _| true).sum(), again.sizes(|_, _| true).sum());
    }
}

#[test]
fn many_to_one_is_said_and_gives_a_scenario_of_one_receiver() {
    let mut scene = Scene::default();
    for n in 0..40 {
        scene.flow(S + n * 30 * MS, 1 + (n % 4) as u8, 100, 50_000, 20 * MS);
    }
    let report = scene.report(Options::default());
    let hub = "10.0.0.100".parse().unwrap();
    assert_eq!(report.hub, Some(hub));
    assert!(report.warnings().iter().any(|warning| warning.contains("--host 10.0.0.100")), "{:?}", report.warnings());
    let section = TrafficSection::new(&report).unwrap();
    for wanted in [
        "receiver = { count = 1 }",
        "host = { count = 4 }",
        "from = \"host\"\nto = \"receiver\"",
        "Many send to one, 10.0.0.100",
    ] {
        assert!(section.traffic.contains(wanted), "no {wanted} in\n{}", section.traffic);
    }
}

#[test]
fn many_to_many_has_neither_a_hub_nor_a_receiver() {
    let mut scene = Scene::default();
    for n in 0..20 {
        scene.flow(S + n * 30 * MS, 1 + (n % 4) as u8, 100 + (n % 3) as u8, 50_000, 20 * MS);
    }
    let report = scene.report(Options::default());
    assert_eq!(report.hub, None);
    assert!(!TrafficSection::new(&report).unwrap().traffic.contains("receiver = "));
    // Of one pair nobody can say which end is the hub.
    let mut pair = Scene::default();
    pair.flow(S, 1, 2, 50_000, 20 * MS);
    pair.flow(2 * S, 1, 2, 50_000, 20 * MS);
    assert_eq!(pair.report(Options::default()).hub, None);
}
