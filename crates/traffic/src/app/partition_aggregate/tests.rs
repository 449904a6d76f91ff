use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::size::{Exponential, Fixed};

fn ms(ms: u64) -> Span {
    Span::from_millis(ms)
}

fn at(ms: u64) -> Time {
    Time::ZERO + self::ms(ms)
}

fn fixed(bytes: u64) -> Size {
    Size::Fixed(Fixed::new(Bytes::new(bytes)).unwrap())
}

fn level(hosts: usize, answer: u64, deadline: Option<u64>) -> Level {
    Level { hosts, answer: fixed(answer), deadline: deadline.map(ms), work: Span::ZERO, jitter: Span::ZERO }
}

/// The thesis's tree (fig. 3.4): 200 ms for the request, 30 ms for the leaves; 50 ms for the parents is DCTCP's.
fn tree(parents: usize, leaves: usize) -> PartitionAggregate {
    PartitionAggregate {
        name: "search".into(),
        roots: 1,
        levels: vec![level(parents, 20_000, Some(50)), level(leaves, 2_000, Some(30))],
        query: fixed(1_600),
        arrival: Arrival::Once { count: 1 },
        deadline: Some(ms(200)),
        start: at(1_000),
        stop: at(2_000),
    }
}

/// Plays the network: a message takes what `fct` says; none: for ever.
fn play(tree: &PartitionAggregate, fct: impl Fn(&Message) -> Option<Span>) -> (Vec<(Time, Message)>, Vec<Request>) {
    let mut requests = tree.requests(Streams::new(3)).unwrap();
    let mut running: BTreeSet<(Time, u32, u64)> = BTreeSet::new();
    let mut messages = Vec::new();
    loop {
        let next = requests.next_time();
        if let Some(&(end, generator, number)) = running.first()
            && next.is_none_or(|next| end <= next)
        {
            running.pop_first();
            requests.completed(end, generator, number);
        } else if let Some(now) = next {
            if let Some(message) = requests.act(now) {
                if let Some(fct) = fct(&message) {
                    running.insert((now + fct, message.generator, message.number));
                }
                messages.push((now, message));
            }
        } else {
            return (messages, requests.finish());
        }
    }
}

/// Down and up two levels with 2 ms for each message: answered after 8 ms, with everything.
#[test]
fn a_request_goes_down_and_its_answers_up() {
    let (messages, requests) = play(&tree(3, 7), |_| Some(ms(2)));
    assert_eq!(messages.len(), 2 * (3 + 7));
    let count =
        |way, level, start| messages.iter().filter(|(at, m)| (*at, m.way, m.level) == (start, way, level)).count();
    assert_eq!(count(Way::Query, 0, at(1_000)), 3);
    assert_eq!(count(Way::Query, 1, at(1_002)), 7);
    assert_eq!(count(Way::Answer, 1, at(1_004)), 7);
    assert_eq!(count(Way::Answer, 0, at(1_006)), 3);
    let [request] = requests[..] else { panic!("{requests:?}") };
    assert_eq!((request.start, request.end), (at(1_000), Some(at(1_008))));
    assert_eq!((request.size, request.gathered), (Bytes::new(14_000), Bytes::new(14_000)));
    // what is left of 30 ms for leaves asked at 2 ms, and of 50 ms for parents asked at 0
    let deadlines = |level| messages.iter().filter(move |(_, m)| (m.way, m.level) == (Way::Answer, level));
    assert!(deadlines(1).all(|(_, m)| m.deadline == Some(ms(28))));
    assert!(deadlines(0).all(|(_, m)| m.deadline == Some(ms(44))));
    assert!(messages.iter().all(|(_, m)| m.way == Way::Answer || m.deadline.is_none()));
}

/// Seven leaves of three parents: 2, 2 and 3, each asked by its own.
#[test]
fn hosts_are_dealt_out_evenly() {
    let (messages, _) = play(&tree(3, 7), |_| Some(ms(1)));
    let mut leaves: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (_, message) in messages.iter().filter(|(_, m)| m.level == 1 && m.way == Way::Query) {
        leaves.entry(message.asker).or_default().push(message.host);
    }
    assert_eq!(leaves.into_iter().collect::<Vec<_>>(), [(0, vec![0, 1]), (1, vec![2, 3]), (2, vec![4, 5, 6])]);
    for (count, of) in [(1, 1), (5, 5), (7, 3), (100, 9), (31, 30)] {
        for host in 0..count {
            assert!(share(owner(host, count, of), of, count).contains(&host), "{host} of {count} among {of}");
        }
    }
}

/// A leaf that is late by 1 ms is left out; its parent answers at its deadline, and the rest is gathered.
#[test]
fn what_is_late_is_left_out() {
    let slow = |m: &Message| Some(if (m.way, m.level, m.host) == (Way::Answer, 1, 4) { ms(29) } else { ms(2) });
    let (messages, requests) = play(&tree(3, 7), slow);
    assert_eq!(requests[0].end, Some(at(1_034)), "asked at 2 ms, 30 ms of waiting, 2 ms for the answer");
    assert_eq!((requests[0].size, requests[0].gathered), (Bytes::new(14_000), Bytes::new(12_000)));
    assert_eq!(messages.len(), 20, "late answers are sent all the same");

    let just = |m: &Message| Some(if (m.way, m.level, m.host) == (Way::Answer, 1, 4) { ms(28) } else { ms(2) });
    assert_eq!(play(&tree(3, 7), just).1[0].gathered, Bytes::new(14_000), "at the deadline is in time");
}

#[test]
fn the_root_answers_at_its_deadline_with_what_it_has() {
    let lost = |m: &Message| (m.way == Way::Query || m.host != 1).then_some(ms(2));
    let mut tree = tree(2, 4);
    tree.levels[0].deadline = None;
    tree.levels[1].deadline = None;
    let (_, requests) = play(&tree, lost);
    // leaf 1 of parent 0 never answers, nor does parent 1
    assert_eq!((requests[0].end, requests[0].gathered), (Some(at(1_200)), Bytes::ZERO));
    tree.deadline = None;
    let (_, requests) = play(&tree, lost);
    assert_eq!((requests[0].end, requests[0].gathered), (None, Bytes::ZERO));
}

/// Who learns of a query when its time is over does not ask others.
#[test]
fn nobody_is_asked_in_vain() {
    let slow = |m: &Message| Some(if (m.way, m.host) == (Way::Query, 0) { ms(60) } else { ms(2) });
    let (messages, requests) = play(&tree(2, 4), slow);
    assert_eq!(requests[0].end, Some(at(1_050)));
    let asked = messages.iter().filter(|(_, m)| m.level == 1 && m.asker == 0).count();
    assert_eq!((asked, requests[0].gathered), (0, Bytes::new(4_000)));
    assert!(messages.iter().any(|&(start, m)| (m.way, m.level, m.host, start) == (Way::Answer, 0, 0, at(1_060))));
}

#[test]
fn work_and_jitter_delay_answers() {
    let mut tree = tree(1, 50);
    tree.levels[1].work = ms(5);
    tree.levels[1].jitter = ms(10);
    let (messages, requests) = play(&tree, |_| Some(ms(1)));
    let starts: Vec<Time> =
        messages.iter().filter(|(_, m)| (m.way, m.level) == (Way::Answer, 1)).map(|m| m.0).collect();
    assert!(starts.iter().all(|&start| start >= at(1_007) && start < at(1_017)));
    let mean = starts.iter().map(|start| start.since(at(1_007)).as_secs_f64()).sum::<f64>() / 50.0;
    assert!((mean - 0.005).abs() < 0.0017, "{mean}: a deviation of 10 ms / √12 / √50 = 0.41 ms, four of them");
    assert_eq!(requests[0].gathered, Bytes::new(100_000));
}

/// In a closed loop the next request waits for the answer.
#[test]
fn requests_follow_each_other_in_a_closed_loop() {
    let tree = PartitionAggregate { arrival: Arrival::ClosedLoop { think: Span::ZERO }, roots: 2, ..tree(2, 4) };
    let (_, requests) = play(&tree, |_| Some(ms(5)));
    assert_eq!(requests.len(), 2 * 50, "1 s of 20 ms each, at two roots");
    assert!(requests.iter().all(|request| request.end == Some(request.start + ms(20))));
}

#[test]
fn trees_that_cannot_be_are_errors() {
    let error = |tree: &PartitionAggregate| tree.requests(Streams::new(0)).unwrap_err();
    assert_eq!(error(&tree(3, 2)), TreeError::TooFew { level: 1, hosts: 2, above: 3 });
    assert_eq!(error(&tree(0, 2)), TreeError::TooFew { level: 0, hosts: 0, above: 1 });
    let flat = PartitionAggregate { levels: Vec::new(), ..tree(1, 1) };
    assert_eq!(error(&flat), TreeError::Levels { levels: 0 });
    let deep = PartitionAggregate { levels: vec![level(1, 1, None); 5], ..tree(1, 1) };
    assert_eq!(error(&deep), TreeError::Levels { levels: 5 });
    let many = PartitionAggregate { roots: 1 << 10, ..tree(1, 1 << 10) };
    assert!(matches!(error(&many), TreeError::TooMany { .. }));
    let none = PartitionAggregate { roots: 0, ..tree(1, 1) };
    assert!(matches!(error(&none), TreeError::Arrival(_)));
}

fn drawn(parents: usize, leaves: usize, roots: usize) -> PartitionAggregate {
    let size = Size::Exponential(Exponential::new(Bytes::new(5_000)).unwrap());
    let mut tree = PartitionAggregate {
        roots,
        arrival: Arrival::Poisson { mean: ms(40) },
        query: size.clone(),
        ..tree(parents, leaves)
    };
    for level in &mut tree.levels {
        level.answer = size.clone();
        level.jitter = ms(3);
    }
    tree
}

/// Sizes by who sends them; times differ.
fn sizes(messages: &[(Time, Message)]) -> BTreeMap<(usize, usize, Way, u64), Bytes> {
    messages.iter().map(|(_, m)| ((m.level, m.host, m.way, m.number), m.size)).collect()
}

#[test]
fn another_leaf_or_a_slower_network_shifts_nobodys_sizes() {
    let base = sizes(&play(&drawn(2, 6, 1), |_| Some(ms(1))).0);
    for (tree, fct) in [(drawn(2, 7, 1), 1), (drawn(2, 6, 1), 9), (drawn(3, 6, 1), 1)] {
        let other = sizes(&play(&tree, |_| Some(ms(fct))).0);
        assert!(base.iter().all(|(who, size)| other[who] == *size));
    }
}

proptest! {
    #[test]
    fn requests_are_answered_in_time_with_what_came_in_time(
        parents in 1..4_usize, more in 0..5_usize, roots in 1..3_usize,
        times in prop::collection::vec(prop_oneof![9 => 0..20_u64, 1 => 20..400_u64], 20),
        loss in 0..3_u32,
        deadlines in prop::array::uniform3(prop::option::of(1..60_u64)),
    ) {
        let mut tree = drawn(parents, parents + more, roots);
        tree.deadline = deadlines[0].map(ms);
        tree.levels[0].deadline = deadlines[1].map(ms);
        tree.levels[1].deadline = deadlines[2].map(ms);
        let lost = |m: &Message| (m.generator + m.number as u32) % 17 < loss;
        let time = |m: &Message| ms(times[(m.generator as usize * 7 + m.number as usize) % 20]);
        let (messages, requests) = play(&tree, |m| (!lost(m)).then(|| time(m)));
        let names: BTreeSet<(u32, u64)> = messages.iter().map(|(_, m)| (m.generator, m.number)).collect();
        prop_assert_eq!(names.len(), messages.len(), "names are unique");
        prop_assert!(messages.is_sorted_by_key(|m| m.0));
        let limit = [tree.deadline, tree.levels[0].deadline].into_iter().flatten().min();
        for request in &requests {
            prop_assert!(request.gathered <= request.size);
            prop_assert!(!names.contains(&(request.generator, request.number)));
            prop_assert!((request.generator as usize) < MAX_GENERATORS);
            if let Some(limit) = limit {
                prop_assert!(request.end.is_some_and(|end| end <= request.start + limit));
            }
            if loss == 0 {
                prop_assert!(request.end.is_some());
                if deadlines == [None; 3] {
                    prop_assert_eq!(request.gathered, request.size);
                }
            }
        }
        let once: BTreeSet<(usize, u64)> = requests.iter().map(|request| (request.root, request.number)).collect();
        prop_assert_eq!(once.len(), requests.len());
    }
}
