use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::size::{Exponential, Fixed};

fn us(us: u64) -> Span {
    Span::from_micros(us)
}

fn at(us: u64) -> Time {
    Time::ZERO + self::us(us)
}

fn fixed(bytes: u64) -> Size {
    Size::Fixed(Fixed::new(Bytes::new(bytes)).unwrap())
}

/// An event every 100 us from 1 ms to 2 ms: ten.
fn pushed(readers: usize, builders: usize) -> EventBuilder {
    EventBuilder {
        name: "daq".into(),
        readers,
        builders,
        fragment: fixed(1_000),
        transfer: Transfer::Push,
        arrival: Arrival::Periodic { period: us(100), jitter: Span::ZERO },
        skew: Span::ZERO,
        jitter: Span::ZERO,
        buffer: None,
        overflow: Overflow::Lose,
        start: at(1_000),
        stop: at(2_000),
    }
}

fn pulled(readers: usize, builders: usize, slots: usize, fragments: Option<usize>) -> EventBuilder {
    let credits = Credits { slots, fragments, request: Bytes::new(64), work: Span::ZERO };
    EventBuilder { transfer: Transfer::Pull(credits), ..pushed(readers, builders) }
}

/// A message, with when it began and ended.
type Sent = (Time, Option<Time>, Fragment);

/// Plays the network: a message takes what `takes` says; none: for ever. Says when each began and ended.
fn play(plan: &EventBuilder, takes: impl Fn(&Fragment) -> Option<Span>) -> (Vec<Sent>, Vec<Event>) {
    let mut events = plan.events(Streams::new(3)).unwrap();
    let mut running: BTreeSet<(Time, Part, u64, usize)> = BTreeSet::new();
    let mut messages = Vec::new();
    loop {
        let next = events.next_time();
        if let Some(&(end, part, event, reader)) = running.first()
            && next.is_none_or(|next| end <= next)
        {
            running.pop_first();
            events.arrived(end, part, event, reader);
        } else if let Some(now) = next {
            if let Some(message) = events.act(now) {
                let end = takes(&message).map(|takes| now + takes);
                if let Some(end) = end {
                    running.insert((end, message.part, message.event, message.reader));
                }
                messages.push((now, end, message));
            }
        } else {
            return (messages, events.finish());
        }
    }
}

/// The most of `messages` of one sort that were under way to one builder at a time.
fn most_under_way(messages: &[Sent], part: Part, builder: usize) -> usize {
    let own = || messages.iter().filter(|(_, _, m)| (m.part, m.builder) == (part, builder));
    // at one time, ends come before starts
    let overlap =
        |&(now, ..): &Sent| own().filter(|(start, end, _)| *start <= now && end.is_none_or(|end| end > now)).count();
    own().map(overlap).max().unwrap_or(0)
}

#[test]
fn readers_push_together_to_one_builder_after_the_other() {
    let (messages, events) = play(&pushed(3, 2), |_| Some(us(10)));
    assert_eq!((messages.len(), events.len()), (30, 10));
    for (now, _, message) in &messages {
        assert_eq!(message.part, Part::Fragment);
        assert_eq!(*now, at(1_000 + 100 * message.event));
        assert_eq!(message.builder as u64, message.event % 2);
    }
    for (number, event) in (0..).zip(&events) {
        assert_eq!((event.number, event.builder as u64), (number, number % 2));
        assert_eq!((event.start, event.end), (at(1_000 + 100 * number), Some(at(1_010 + 100 * number))));
        assert_eq!((event.size, event.gathered, event.lost), (Bytes::new(3_000), Bytes::new(3_000), false));
    }
}

/// An event is complete when its slowest fragment is there; without that it never is, and the rest of it counts.
#[test]
fn an_event_waits_for_its_last_fragment() {
    let slow = |m: &Fragment| match (m.event, m.reader) {
        (0, 1) => Some(us(70)),
        (1, 2) => None,
        _ => Some(us(10)),
    };
    let (_, events) = play(&pushed(3, 1), slow);
    assert_eq!(events[0].end, Some(at(1_070)));
    let incomplete: Vec<&Event> = events.iter().filter(|event| event.end.is_none()).collect();
    let [event] = incomplete[..] else { panic!("{incomplete:?}") };
    assert_eq!((event.number, event.gathered, event.lost), (1, Bytes::new(2_000), false));
}

/// Two slots and 250 us a fragment, asked for one after another: a builder of 3 readers takes 3 × 260 us an event at least.
#[test]
fn a_builder_asks_as_far_as_it_has_slots_and_credits() {
    let takes = |m: &Fragment| Some(if m.part == Part::Request { us(10) } else { us(250) });
    let (messages, events) = play(&pulled(3, 1, 2, Some(1)), takes);
    assert_eq!(most_under_way(&messages, Part::Fragment, 0), 1);
    let ends: Vec<Time> = events.iter().map(|event| event.end.unwrap()).collect();
    let expected: Vec<Time> = (1..=10).map(|n| at(1_000 + 780 * n)).collect();
    assert_eq!(ends, expected, "one after another without a pause");
    let requests = messages.iter().filter(|(_, _, m)| m.part == Part::Request);
    assert!(requests.clone().all(|(_, _, m)| m.size == Bytes::new(64)));
    let order: Vec<(u64, usize)> = requests.map(|(_, _, m)| (m.event, m.reader)).take(6).collect();
    assert_eq!(order, [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (1, 0)], "another reader first for every event");

    // without a bound on fragments, all readers of two events at once
    let (messages, events) = play(&pulled(3, 1, 2, None), takes);
    assert_eq!(most_under_way(&messages, Part::Fragment, 0), 6);
    assert_eq!(events[0].end, Some(at(1_260)));
    assert_eq!(events[2].end, Some(at(1_520)), "the third event waits for a slot");
}

#[test]
fn a_slot_is_in_use_while_its_builder_works() {
    let mut plan = pulled(1, 1, 1, None);
    let Transfer::Pull(credits) = &mut plan.transfer else { unreachable!() };
    credits.work = us(300);
    let (messages, events) = play(&plan, |_| Some(us(5)));
    let asked: Vec<Time> =
        messages.iter().filter(|(_, _, m)| m.part == Part::Request).map(|(now, ..)| *now).take(3).collect();
    assert_eq!(asked, [at(1_000), at(1_310), at(1_620)]);
    assert!(events.iter().all(|event| event.end.is_some()));
}

/// A request that is there before its fragment is answered once the reader has it.
#[test]
fn late_readers_send_when_they_have_it() {
    let plan = EventBuilder { skew: us(50), jitter: us(20), ..pulled(40, 1, 4, None) };
    let (messages, _) = play(&plan, |_| Some(us(1)));
    let mut skews = vec![BTreeSet::new(); 40];
    for (now, _, m) in messages.iter().filter(|(_, _, m)| m.part == Part::Fragment) {
        let late = now.since(at(1_000 + 100 * m.event));
        assert!(late >= us(1) && late < us(70), "{late}");
        skews[m.reader].insert(late);
    }
    // the times of one reader are its skew and a jitter of 20 us
    for own in &skews {
        assert!(own.last().unwrap().picos() - own.first().unwrap().picos() <= us(20).picos());
    }
    let first: Vec<Span> = skews.iter().map(|own| *own.first().unwrap()).collect();
    assert!(first.iter().max().unwrap().picos() - first.iter().min().unwrap().picos() > us(20).picos());
}

/// 150 us a fragment and room for one: every second event finds the buffer full.
#[test]
fn a_full_buffer_loses_whole_events_or_holds_triggers_back() {
    let takes = |m: &Fragment| Some(if m.reader == 1 { us(150) } else { us(10) });
    let lossy = EventBuilder { buffer: Some(Bytes::new(1_999)), ..pushed(3, 2) };
    let (messages, events) = play(&lossy, takes);
    assert_eq!(messages.len(), 15, "nothing of a lost event is sent");
    let mut lost: Vec<u64> = events.iter().filter(|event| event.lost).map(|event| event.number).collect();
    lost.sort_unstable();
    assert_eq!(lost, [1, 3, 5, 7, 9]);
    assert!(events.iter().all(|event| event.lost == event.end.is_none()));

    let patient = EventBuilder { overflow: Overflow::Throttle, ..lossy };
    let (messages, events) = play(&patient, takes);
    assert_eq!(messages.len(), 30);
    for (number, event) in (0..).zip(&events) {
        let start = 1_000 + 150 * number;
        assert_eq!((event.start, event.end), (at(start), Some(at(start + 150))), "latency counts from the trigger");
    }
}

/// A fragment that is larger than the buffer is kept if it is alone.
#[test]
fn large_fragments_pass_one_at_a_time() {
    let plan = EventBuilder { buffer: Some(Bytes::new(10)), overflow: Overflow::Throttle, ..pushed(2, 1) };
    let (_, events) = play(&plan, |_| Some(us(400)));
    assert_eq!(events.len(), 10);
    assert!(events.iter().all(|event| event.end.is_some_and(|end| end.since(event.start) == us(400))));
}

#[test]
fn in_a_closed_loop_an_event_follows_the_one_before() {
    let plan = EventBuilder { arrival: Arrival::ClosedLoop { think: Span::ZERO }, ..pushed(2, 2) };
    let (_, events) = play(&plan, |_| Some(us(250)));
    let starts: Vec<Time> = events.iter().map(|event| event.start).collect();
    assert_eq!(starts, [1_000, 1_250, 1_500, 1_750].map(at));
}

#[test]
fn mistakes_are_told() {
    let of = |plan: EventBuilder| plan.events(Streams::new(1)).unwrap_err();
    assert_eq!(of(pushed(0, 1)), EventError::Nobody { readers: 0, builders: 1 });
    assert_eq!(of(pushed(1, 0)), EventError::Nobody { readers: 1, builders: 0 });
    assert!(matches!(of(pushed(1 << 19, 1)), EventError::TooMany { .. }));
    assert_eq!(of(pulled(1, 1, 0, None)), EventError::NoCredit);
    assert_eq!(of(pulled(1, 1, 1, Some(0))), EventError::NoCredit);
    let arrival = Arrival::Poisson { mean: Span::ZERO };
    assert!(matches!(of(EventBuilder { arrival, ..pushed(1, 1) }), EventError::Arrival(_)));
}

#[test]
fn messages_have_names_of_their_own() {
    let plan = pulled(5, 2, 1, None);
    let all = [Part::Fragment, Part::Request].into_iter().flat_map(|part| (0..5).map(move |reader| (part, reader)));
    let mut seen: BTreeSet<u32> = plan.of_events().into();
    for (part, reader) in all {
        let name = plan.generator(part, reader);
        assert!(seen.insert(name));
        assert_eq!(plan.message(name), Some((part, reader)));
    }
    assert!(plan.of_events().iter().all(|name| plan.message(*name).is_none()));
}

proptest! {
    /// Whatever the network does: every fragment of an event that is kept is sent once, to the builder whose turn it is;
    /// a builder never has more asked for than its credits; a reader never keeps more than its buffer, but for one that is
    /// alone; and an event is complete when all of its fragments are there, and only then.
    #[test]
    fn nothing_is_lost_and_no_bound_is_passed(
        readers in 1_usize..6,
        builders in 1_usize..4,
        slots in 1_usize..4,
        fragments in proptest::option::of(1_usize..5),
        pull: bool,
        throttle: bool,
        buffer in proptest::option::of(500_u64..5_000),
        speed in 1_u64..40,
        dead in 0_u64..30,
    ) {
        let plan = EventBuilder {
            fragment: Size::Exponential(Exponential::new(Bytes::new(1_000)).unwrap()),
            arrival: Arrival::Poisson { mean: us(50) },
            jitter: us(30),
            skew: us(30),
            buffer: buffer.map(Bytes::new),
            overflow: if throttle { Overflow::Throttle } else { Overflow::Lose },
            ..if pull { pulled(readers, builders, slots, fragments) } else { pushed(readers, builders) }
        };
        // some fragments never come
        let gone = |m: &Fragment| dead > 0 && (m.event * 7 + m.reader as u64) % 29 == dead;
        let (messages, events) =
            play(&plan, |m| (!gone(m)).then(|| Span::from_nanos(m.size.get() * speed + m.reader as u64)));
        let mut sent = BTreeSet::new();
        for (_, _, m) in &messages {
            prop_assert!(sent.insert((m.part, m.event, m.reader)), "once");
            prop_assert_eq!(m.builder as u64, m.event % builders as u64);
        }
        for event in &events {
            let own = |m: &Fragment| m.event == event.number && m.part == Part::Fragment;
            let pieces: Vec<_> = messages.iter().filter(|(_, _, m)| own(m)).collect();
            let last = pieces.iter().map(|(_, end, _)| *end).max().flatten();
            let all = pieces.len() == readers && pieces.iter().all(|(_, end, _)| end.is_some());
            prop_assert_eq!(event.end, if all { last } else { None });
            prop_assert!(!event.lost || pieces.is_empty());
            let there: u64 = pieces.iter().filter(|(_, end, _)| end.is_some()).map(|(.., m)| m.size.get()).sum();
            prop_assert_eq!(event.gathered.get(), there);
            if !pull && !event.lost {
                prop_assert_eq!(pieces.len(), readers);
            }
        }
        if let (true, Some(most)) = (pull, fragments) {
            for builder in 0..builders {
                prop_assert!(most_under_way(&messages, Part::Fragment, builder) <= most);
            }
        }
        if let Some(buffer) = buffer {
            let kept = |reader: usize, now: Time| {
                // from the trigger until the fragment is there
                let own = messages.iter().filter(move |(_, _, m)| (m.part, m.reader) == (Part::Fragment, reader));
                let start = |event: u64| events.iter().find(|e| e.number == event).unwrap().start;
                let held: Vec<u64> = own
                    .filter(|(_, end, m)| start(m.event) <= now && end.is_none_or(|end| end > now))
                    .map(|(.., m)| m.size.get())
                    .collect();
                held
            };
            for reader in 0..readers {
                for event in &events {
                    let held = kept(reader, event.start);
                    prop_assert!(held.iter().sum::<u64>() <= buffer || held.len() == 1, "{held:?}");
                }
            }
        }
    }
}
