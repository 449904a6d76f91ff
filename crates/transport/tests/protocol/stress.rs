//! Small hostile networks under every combination of choices: whatever is lost, each finite flow ends with exactly
//! its bytes, and a repetition is the same to the event.

use headway_control::congestion::AnyController;
use headway_control::lanes::{
    Backlog, BytesSent, Deadline, DeliveryRate, History, Judge, Leftovers, LinkCost, Return, Start,
};
use headway_fabric::{CodelLaw, CodelSpec, DrrSpec, FqCodelSpec, Limit, QueueSpec, RedSpec, Wire};
use headway_transport::{
    AddressPairs, DelayedAck, HistoryPlan, LanePlan, LinuxRecovery, Measure, Multipath, Offload, Pacing, Profile,
    Recovery, Reduction, Scheduler,
};
use headway_units::{Bytes, Rate, Span};
use proptest::prelude::*;

use crate::common::{MSS, Net, Outcome, Setup, lossy, profile, wire};

/// A short queue of any kind.
fn any_queue() -> impl Strategy<Value = QueueSpec> {
    let limit = || (1u32..=10).prop_map(|packets| Some(Limit::Packets(packets)));
    let mark = prop_oneof![2 => Just(None), 1 => (0u32..5).prop_map(|packets| Some(Limit::Packets(packets)))];
    let law = |ecn| CodelLaw { target: Span::from_millis(1), interval: Span::from_millis(20), ecn, mark: None };
    let red = move |(limit, ecn, gentle)| RedSpec {
        limit,
        min: Limit::Packets(1),
        max: Limit::Packets(5),
        probability: 0.1,
        weight: 0.1,
        packet: Bytes::new(1000),
        gentle,
        ecn,
        hard_drop: false,
    };
    prop_oneof![
        6 => (limit(), mark).prop_map(|(limit, mark)| QueueSpec::DropTail { limit, mark }),
        1 => (limit(), any::<bool>(), any::<bool>()).prop_map(move |parts| QueueSpec::Red(red(parts))),
        1 => (limit(), any::<bool>())
            .prop_map(move |(limit, ecn)| QueueSpec::Codel(CodelSpec { limit, law: law(ecn) })),
        1 => (limit(), any::<bool>(), 1u32..4).prop_map(move |(limit, ecn, queues)| {
            let memory = Bytes::new(20_000);
            QueueSpec::FqCodel(FqCodelSpec { limit, memory, queues, quantum: 1514, batch: 4, law: law(ecn) })
        }),
        1 => (limit(), 1u32..4)
            .prop_map(|(limit, queues)| QueueSpec::Drr(DrrSpec { limit, queues, quantum: 1518 })),
    ]
}

/// One direction of a cable.
fn any_wire(hops: usize) -> impl Strategy<Value = Wire> {
    let rate = prop_oneof![Just(10u64), Just(100), Just(1000), Just(10_000)];
    let delay = prop_oneof![Just(0u64), Just(1), Just(50), Just(5000)];
    // the loss of a whole path is at most 30 %
    let loss = prop_oneof![2 => Just(0.0), 1 => 0.0..0.05, 1 => 0.0..0.3];
    (rate, delay, loss, any_queue()).prop_map(move |(mbps, us, loss, queue)| {
        let clean = wire(Rate::from_mbps(mbps), Span::from_micros(us));
        Wire { queue, ..lossy(clean, loss / hops as f64) }
    })
}

/// The cables of one path, both directions each.
fn any_path() -> impl Strategy<Value = Vec<(Wire, Wire)>> {
    (1usize..=3).prop_flat_map(|hops| prop::collection::vec((any_wire(hops), any_wire(hops)), hops))
}

fn any_lanes() -> impl Strategy<Value = LanePlan> {
    let judge = prop_oneof![
        (0u64..300).prop_map(|ms| Judge::from(Deadline { deadline: Span::from_millis(ms) })),
        (1u64..300).prop_map(|ms| Judge::from(LinkCost { deadline: Span::from_millis(ms), ..LinkCost::default() })),
        (0u64..300_000).prop_map(|bytes| Judge::from(BytesSent { threshold: Bytes::new(bytes) })),
        (1u64..300_000).prop_map(|bytes| Judge::from(Backlog { threshold: Bytes::new(bytes) })),
        (1u64..100, 1u64..100).prop_map(|(mbps, ms)| DeliveryRate {
            rate: Rate::from_mbps(mbps),
            window: Span::from_millis(ms)
        }
        .into()),
    ];
    let start = prop::sample::select(vec![Start::First, Start::Hash, Start::RoundRobin, Start::LeastCost]);
    let history = (1u64..1000, 1usize..3, 0u64..200_000, prop::option::of(0.0..1.0)).prop_map(
        |(half_life, capacity, long, long_share)| HistoryPlan {
            empty: History::new(Span::from_millis(half_life), capacity).expect("neither is zero"),
            long: Bytes::new(long),
            long_share,
        },
    );
    let back = (0u64..10_000, 0u64..100)
        .prop_map(|(us, ms)| Return { margin: Span::from_micros(us), hold: Span::from_millis(ms) });
    let late = any::<bool>();
    let leftovers = prop::option::of((0u8..4, 0u64..10_000, 0u64..200).prop_map(|(packets, us, ms)| Leftovers {
        packets,
        below: Span::from_micros(us),
        pause: Span::from_millis(ms),
    }));
    let patience = (0u64..1000).prop_map(Span::from_millis);
    (0usize..=4, judge, start, late, prop::option::of(history), prop::option::of(back), patience, leftovers).prop_map(
        |(short, judge, start, late, history, back, patience, leftovers)| LanePlan {
            short,
            judge,
            start,
            late,
            history,
            back,
            patience,
            leftovers,
        },
    )
}

fn any_multipath() -> impl Strategy<Value = Multipath> {
    let join_after = prop_oneof![Just(0u64), Just(1), Just(5000), Just(100_000)];
    let pairs = prop_oneof![Just(AddressPairs::OneToOne), Just(AddressPairs::FullMesh)];
    let scheduler = prop_oneof![Just(Scheduler::Linux), Just(Scheduler::LowestRtt)];
    let backup = prop::collection::vec(0usize..4, 0..3);
    (1usize..=4, pairs, join_after, backup, prop::option::of(any_lanes()), scheduler).prop_map(
        |(subflows, pairs, join_after, backup, lanes, scheduler)| Multipath {
            subflows: Some(subflows),
            pairs,
            join_after: Bytes::new(join_after),
            backup,
            scheduler,
            lanes,
            ..Multipath::default()
        },
    )
}

fn any_profile() -> impl Strategy<Value = Profile> {
    let control = prop::sample::select(AnyController::NAMES);
    let prr = |share: bool| Just(Recovery::NewReno { prr: share });
    let recovery = prop_oneof![prr(false), prr(true), Just(Recovery::Sack), Just(Recovery::Sack)];
    let windows = (prop_oneof![Just(1u32), Just(2), Just(3), Just(10), Just(40)], prop::option::of(0u64..50_000));
    let min_rto = prop_oneof![Just(1u64), Just(200)];
    let delayed = (1u32..4, prop_oneof![Just(0u64), Just(1), Just(40)], prop_oneof![Just(0u32), Just(16)]);
    // in bytes: down to less than one segment
    let receive = prop_oneof![Just(1000u64), Just(u64::from(MSS)), 1460u64..10_000, Just(1 << 20)];
    let replicate = prop::option::weighted(0.2, (prop_oneof![Just(1u64), Just(100_000)], 2u32..=3));
    (
        (control, recovery, any::<bool>(), windows, min_rto),
        (delayed, receive, any::<bool>(), prop::option::of(any_multipath()), replicate),
    )
        .prop_map(
            |(
                (control, recovery, limited_transmit, (initial_window, ssthresh), min_rto),
                ((packets, timeout, quick), receive_window, ecn, multipath, replicate),
            )| Profile {
                control: AnyController::by_name(control).expect("a known control"),
                recovery,
                limited_transmit,
                initial_window,
                initial_ssthresh: ssthresh.map(Bytes::new),
                min_rto: Span::from_millis(min_rto),
                max_rto: Span::from_secs(10),
                delayed_ack: DelayedAck {
                    packets,
                    timeout: Span::from_millis(timeout),
                    quick,
                    adaptive: false,
                    compression: false,
                },
                receive_window: Bytes::new(receive_window),
                ecn,
                multipath,
                replicate: replicate.map(|(size, copies)| (Bytes::new(size), copies)),
                ..profile()
            },
        )
}

/// Linux' sender and receiver with parts of them switched off.
fn any_linux() -> impl Strategy<Value = Profile> {
    let rack = prop_oneof![3 => Just(true), 1 => Just(false)];
    let reduction =
        prop_oneof![3 => Just(Reduction::Proportional), 1 => Just(Reduction::Halving), 1 => Just(Reduction::AtOnce)];
    let offload = prop::option::weighted(
        0.8,
        (prop_oneof![Just(1460u32), Just(14_600), Just(65_160)], any::<bool>())
            .prop_map(|(most, small_queues)| Offload { most, small_queues }),
    );
    let pacing = prop_oneof![3 => Just(Pacing::Control), 1 => Just(Pacing::Always)];
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    (rack, reduction, offload, pacing, flags).prop_map(
        |(rack, reduction, offload, pacing, (tail_loss_probe, f_rto, undo, timestamps, adaptive))| {
            let linux = Profile::linux();
            Profile {
                recovery: Recovery::Linux(LinuxRecovery { rack, reduction, tail_loss_probe, f_rto, undo }),
                offload,
                pacing,
                timestamps,
                delayed_ack: DelayedAck { adaptive, ..linux.delayed_ack },
                ..linux
            }
        },
    )
}

/// Any profile: by the letter or as Linux.
fn any_stack() -> impl Strategy<Value = Profile> {
    (any_profile(), prop::option::of(any_linux())).prop_map(|(rfc, linux)| match linux {
        None => rfc,
        Some(linux) => Profile {
            control: rfc.control,
            initial_window: rfc.initial_window,
            initial_ssthresh: rfc.initial_ssthresh,
            max_rto: rfc.max_rto,
            receive_window: rfc.receive_window,
            ecn: rfc.ecn,
            multipath: rfc.multipath,
            replicate: rfc.replicate,
            ..linux
        },
    })
}

fn any_size() -> impl Strategy<Value = Option<u64>> {
    let mss = u64::from(MSS);
    prop_oneof![
        1 => Just(Some(0)),
        1 => Just(Some(1)),
        2 => (mss - 1..=mss + 1).prop_map(Some),
        4 => (0u64..20 * mss).prop_map(Some),
        4 => (0u64..200_000).prop_map(Some),
        1 => (200_000u64..2_000_000).prop_map(Some),
    ]
}

/// What may be wrong with a path for good.
#[derive(Debug, Clone, Copy)]
enum Fault {
    None,
    /// Nothing arrives.
    Dead,
    /// Nothing comes back.
    Mute,
    /// Only segments without data arrive.
    BlackHole,
}

fn any_fault() -> impl Strategy<Value = Fault> {
    prop_oneof![Just(Fault::None), Just(Fault::Dead), Just(Fault::Mute), Just(Fault::BlackHole)]
}

fn break_path(path: &mut [(Wire, Wire)], fault: Fault) {
    let (forth, back) = &mut path[0];
    match fault {
        Fault::None => {}
        Fault::Dead => forth.loss = 1.0,
        Fault::Mute => back.loss = 1.0,
        Fault::BlackHole => {
            forth.queue = QueueSpec::DropTail { limit: Some(Limit::Bytes(Bytes::new(200))), mark: None };
        }
    }
}

#[derive(Debug, Clone)]
struct Case {
    paths: Vec<Vec<(Wire, Wire)>>,
    profiles: Vec<Profile>,
    /// (profile, size, start in µs, forth or back)
    flows: Vec<(usize, Option<u64>, u64, bool)>,
    seed: u64,
}

fn any_case() -> impl Strategy<Value = Case> {
    let start = prop_oneof![Just(0u64), 0u64..1000, 0u64..10_000_000];
    (
        prop::collection::vec(any_path(), 1..=4),
        prop::collection::vec(any_stack(), 1..=2),
        prop::collection::vec((0usize..2, any_size(), start, any::<bool>()), 1..=8),
        any::<u64>(),
    )
        .prop_map(|(paths, profiles, mut flows, seed)| {
            flows.sort_by_key(|flow| flow.2);
            Case { paths, profiles, flows, seed }
        })
}

fn run(case: &Case, measure: Measure) -> Outcome {
    let mut net = Net::default();
    let (left, right) = (net.host(), net.host());
    for path in &case.paths {
        let mut at = left;
        for (i, &(forth, back)) in path.iter().enumerate() {
            let next = if i + 1 == path.len() { right } else { net.switch() };
            net.lay(at, next, forth, back);
            at = next;
        }
    }
    let mut setup = Setup::new(&net, case.profiles[0].clone()).seed(case.seed);
    setup.measure = measure;
    for profile in &case.profiles[1..] {
        setup = setup.profile(profile.clone());
    }
    for &(profile, size, start, forth) in &case.flows {
        let pair = if forth { (left, right) } else { (right, left) };
        setup = setup.flow_of((profile % case.profiles.len()) as u16, pair, size, Span::from_micros(start));
    }
    setup.run(Span::from_secs(LIMIT_S))
}

/// 2 MB are 1,370 segments. With 30 % loss either way a segment and its acknowledgement both arrive with probability
/// 0.49, so that it takes two attempts in the mean, each of which waits for at most the ceiling of 10 s: under eight
/// hours, were every time-out at the ceiling.
const LIMIT_S: u64 = 8 * 3600;

fn check(case: &Case) {
    let outcome = run(case, Measure::default());
    for (end, &(_, size, ..)) in outcome.ends.iter().zip(&case.flows) {
        assert!(end.end.is_some(), "stuck: {end:?}");
        assert_eq!(Some(end.delivered), size);
    }
    assert_eq!(outcome.ends.len(), case.flows.len());
    assert_eq!(outcome.totals, run(case, Measure::default()).totals);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_flow_ends_with_its_bytes_whatever_is_lost(case in any_case()) {
        check(&case);
    }

    /// RFC 8684 §3.3.6: a connection of several subflows survives any of them. The first path carries the first
    /// handshake and stays lossy; the others may be broken for good.
    #[test]
    fn one_working_path_is_enough_for_several_subflows(
        mut case in any_case(),
        multipath in any_multipath(),
        subflows in 2usize..=4,
        faults in prop::collection::vec(any_fault(), 3),
    ) {
        for (path, &fault) in case.paths[1..].iter_mut().zip(&faults) {
            break_path(path, fault);
        }
        for profile in &mut case.profiles {
            // the first subflow is on the path that works: a connection that never opens has no others
            let lanes = multipath.lanes.clone().map(|plan| LanePlan { start: Start::First, history: None, ..plan });
            profile.multipath = Some(Multipath { subflows: Some(subflows), lanes, ..multipath.clone() });
            profile.replicate = None;
        }
        for flow in &mut case.flows {
            flow.3 = true;
        }
        check(&case);
    }
}
