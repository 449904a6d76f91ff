//! Size, arrival and pattern put together: the flows of one traffic in order of time.

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};

use headway_engine::{Stream, Streams};
use headway_units::{Bytes, Span, Time};
use thiserror::Error;

use crate::arrival::{Arrival, Arrivals};
use crate::ends::Ends;
use crate::pairs::{Generator, PairsError, Pattern};
use crate::share::{Chosen, Shares};
use crate::size::Size;

/// One kind of traffic.
#[derive(Debug, Clone, PartialEq)]
pub struct Traffic {
    /// Unique within a scenario; names the random streams.
    pub name: String,
    /// Who sends to whom.
    pub pattern: Pattern,
    /// How many of the hosts take part; they are drawn for each run.
    pub shares: Shares,
    /// How much. `None`: flows never end.
    pub size: Option<Size>,
    /// Sizes are what all senders of a destination send together: each flow carries an equal part, rounded up.
    pub shared: bool,
    /// When each generator starts flows.
    pub arrival: Arrival,
    /// Nothing starts before.
    pub start: Time,
    /// Nothing starts then or later.
    pub stop: Time,
}

/// A flow that starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowStart {
    /// When.
    pub time: Time,
    /// Index among the sources.
    pub source: usize,
    /// Index among the destinations.
    pub destination: usize,
    /// How much; `None`: without end.
    pub size: Option<Bytes>,
    /// Index of its generator, of those there are when all hosts take part.
    pub generator: u32,
    /// Number among the flows of its generator, from 0.
    pub number: u64,
}

/// Why a traffic cannot run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum TrafficError {
    /// A mean gap or period of zero: infinitely many flows at once.
    #[error("the time between arrivals is zero")]
    ZeroGap,
    /// The end before the beginning.
    #[error("the traffic stops at {stop}, before it starts at {start}")]
    Backwards {
        /// Its start.
        start: Time,
        /// Its stop.
        stop: Time,
    },
    /// Hosts that do not suit the pattern.
    #[error(transparent)]
    Pairs(#[from] PairsError),
}

impl Traffic {
    /// The flows between the hosts of `ends`, in order of time; at the same time in order of generators, then of their
    /// numbers. `streams` are those of one repeat of the run ([`Streams::part`]).
    ///
    /// Draws as it goes: what it holds grows with the number of generators, not of flows.
    ///
    /// # Errors
    /// [`TrafficError`].
    pub fn flows(&self, ends: Ends, streams: Streams) -> Result<Flows, TrafficError> {
        if self.arrival.stands_still() {
            return Err(TrafficError::ZeroGap);
        }
        if self.stop < self.start {
            return Err(TrafficError::Backwards { start: self.start, stop: self.stop });
        }
        self.pattern.check(ends)?;
        let chosen = Chosen::draw(self.shares, ends, &self.name, streams);
        let mut own = streams.stream(&self.name);
        let mut lines: Vec<Line> = self
            .pattern
            .generators(&chosen, &mut own)
            .into_iter()
            .map(|generator| {
                let stream = |what| streams.stream(&format!("{}/{}/{what}", self.name, generator.name()));
                Line {
                    arrivals: self.arrival.begin(),
                    times: stream("arrival"),
                    pairs: stream("pair"),
                    sizes: stream("size"),
                    remaining: generator.flows_per_arrival(),
                    number: 0,
                    running: 0,
                    jitter: self.arrival.jitter(),
                    beat: self.start,
                    late: VecDeque::new(),
                    generator,
                }
            })
            .collect();
        let first = |(index, line): (u32, &mut Line)| Some(Reverse((line.next(self.start, self.stop)?, index)));
        let queue = (0..).zip(&mut lines).filter_map(first).collect();
        let parts = if self.shared { chosen.ends.senders().max(1) as u64 } else { 1 };
        Ok(Flows {
            kind: Kind { size: self.size.clone(), parts, chosen },
            stop: self.stop,
            waits: self.arrival.waits(),
            lines,
            queue,
        })
    }
}

/// What the flows of all generators have in common.
#[derive(Debug, Clone)]
struct Kind {
    size: Option<Size>,
    /// Each flow carries such a part of its size.
    parts: u64,
    chosen: Chosen,
}

/// A generator at work.
#[derive(Debug, Clone)]
struct Line {
    generator: Generator,
    arrivals: Arrivals,
    times: Stream,
    pairs: Stream,
    sizes: Stream,
    /// Flows still to come of the present arrival.
    remaining: usize,
    number: u64,
    /// In a closed loop: flows of the last arrival that have not completed.
    running: u64,
    jitter: Span,
    /// The arrival whose flows are being given.
    beat: Time,
    /// Its flows in order of time, if they are late each by its own jitter.
    late: VecDeque<FlowStart>,
}

impl Line {
    /// The next flow of the arrival at `time`.
    fn flow(&mut self, time: Time, kind: &Kind) -> FlowStart {
        let (source, destination) = self.generator.pair(&mut self.pairs);
        let (source, destination) = (kind.chosen.source(source), kind.chosen.destination(destination));
        let size = kind.size.as_ref().map(|size| Bytes::new(size.draw(&mut self.sizes).get().div_ceil(kind.parts)));
        self.number += 1;
        FlowStart { time, source, destination, size, generator: self.generator.index(), number: self.number - 1 }
    }

    /// Draws all flows of the arrival at `beat`, each late by its jitter.
    fn draw_late(&mut self, beat: Time, kind: &Kind) {
        self.beat = beat;
        for _ in 0..self.generator.flows_per_arrival() {
            let late = Span::from_picos(self.times.below(self.jitter.picos()));
            let flow = self.flow(beat.saturating_add(late), kind);
            self.late.push_back(flow);
        }
        self.late.make_contiguous().sort_by_key(|flow| (flow.time, flow.number));
    }

    fn next(&mut self, now: Time, stop: Time) -> Option<Time> {
        self.arrivals.next(now, &mut self.times).filter(|&time| time < stop)
    }
}

/// The flows of one traffic in order of time; see [`Traffic::flows`]. In a closed loop the iterator has nothing to give
/// until it is told of flows that have [`completed`](Flows::completed).
#[derive(Debug, Clone)]
pub struct Flows {
    kind: Kind,
    stop: Time,
    /// The next arrival of a generator waits for the flows of the one before.
    waits: bool,
    lines: Vec<Line>,
    /// The next arrival of every generator that has one.
    queue: BinaryHeap<Reverse<(Time, u32)>>,
}

impl Flows {
    /// When the next flow starts; `None` if there is none, or none before another completes.
    pub fn next_time(&mut self) -> Option<Time> {
        loop {
            let mut head = self.queue.peek_mut()?;
            let Reverse((time, index)) = *head;
            let line = &mut self.lines[index as usize];
            if line.jitter.is_zero() {
                return Some(time);
            }
            let Some(flow) = line.late.front() else {
                // an arrival, whose flows come later
                line.draw_late(time, &self.kind);
                let first = line.late.front().map_or(time, |flow| flow.time);
                *head = Reverse((first, index));
                continue;
            };
            if flow.time < self.stop {
                return Some(time);
            }
            // the others of this arrival come later still, and the next arrival after a whole period
            PeekMut::pop(head);
        }
    }

    /// All pairs of a source and a destination between which flows may run, in order.
    pub fn pairs(&self) -> BTreeSet<(usize, usize)> {
        let chosen = &self.kind.chosen;
        let own = self.lines.iter().flat_map(|line| line.generator.pairs());
        own.map(|(source, destination)| (chosen.source(source), chosen.destination(destination))).collect()
    }

    /// A flow of `generator` ([`FlowStart::generator`]) was complete at `at`: in a closed loop another may follow.
    pub fn completed(&mut self, at: Time, generator: u32) {
        let Ok(index) = self.lines.binary_search_by_key(&generator, |line| line.generator.index()) else { return };
        let line = &mut self.lines[index];
        if line.running == 0 {
            return;
        }
        line.running -= 1;
        // flows of one arrival start together, so all have started before one has completed
        if line.running == 0
            && let Some(next) = line.next(at, self.stop)
        {
            self.queue.push(Reverse((next, index as u32)));
        }
    }
}

impl Iterator for Flows {
    type Item = FlowStart;

    fn next(&mut self) -> Option<FlowStart> {
        self.next_time()?;
        let mut head = self.queue.peek_mut()?;
        let Reverse((time, index)) = *head;
        let line = &mut self.lines[index as usize];
        let (flow, beat) = if let Some(flow) = line.late.pop_front() {
            if let Some(next) = line.late.front() {
                *head = Reverse((next.time, index));
                return Some(flow);
            }
            (flow, line.beat)
        } else {
            let flow = line.flow(time, &self.kind);
            line.remaining -= 1;
            if line.remaining > 0 {
                return Some(flow);
            }
            line.remaining = line.generator.flows_per_arrival();
            (flow, time)
        };
        if self.waits {
            line.running = line.remaining as u64;
            PeekMut::pop(head);
            return Some(flow);
        }
        match line.next(beat, self.stop) {
            Some(next) => *head = Reverse((next, index)),
            None => drop(PeekMut::pop(head)),
        }
        Some(flow)
    }
}

#[cfg(test)]
mod tests {
    use headway_units::Span;
    use proptest::prelude::*;

    use super::*;
    use crate::size::{Cdf, Exponential, Fixed};

    fn seconds(s: u64) -> Time {
        Time::ZERO + Span::from_secs(s)
    }

    fn traffic(pattern: Pattern, arrival: Arrival) -> Traffic {
        Traffic {
            name: "short".into(),
            pattern,
            shares: Shares::default(),
            size: Some(Size::Cdf(Cdf::builtin("websearch").unwrap())),
            shared: false,
            arrival,
            start: seconds(1),
            stop: seconds(21),
        }
    }

    fn poisson(ms: u64) -> Arrival {
        Arrival::Poisson { mean: Span::from_millis(ms) }
    }

    fn run(traffic: &Traffic, ends: Ends) -> Vec<FlowStart> {
        traffic.flows(ends, Streams::new(1).part("repeat", 0)).unwrap().collect()
    }

    #[test]
    fn the_same_seed_gives_the_same_flows_and_another_seed_others() {
        let traffic = traffic(Pattern::Random, poisson(50));
        let ends = Ends::Within { hosts: 8 };
        let flows = run(&traffic, ends);
        assert_eq!(flows, run(&traffic, ends));
        let other: Vec<_> = traffic.flows(ends, Streams::new(1).part("repeat", 1)).unwrap().collect();
        assert_ne!(flows[0], other[0]);
        let renamed = Traffic { name: "long".into(), ..traffic };
        assert_ne!(flows[0], run(&renamed, ends)[0]);
        // 8 generators, 20 s, one flow every 50 ms each: 3200 with a standard deviation of 56.6; four of them.
        assert!(flows.len().abs_diff(3200) < 227, "{}", flows.len());
    }

    /// Every flow is between one of the pairs, and with flows enough each pair has one.
    #[test]
    fn flows_run_between_the_pairs_that_are_said_beforehand() {
        let patterns =
            [Pattern::Random, Pattern::EachDestination, Pattern::AllToAll, Pattern::Permutation, Pattern::Incast];
        for pattern in patterns {
            for ends in [Ends::Within { hosts: 4 }, Ends::Between { sources: 3, destinations: 2 }] {
                let shares = Shares { sources: Some(0.7), destinations: None };
                let traffic = Traffic { shares, ..traffic(pattern, poisson(20)) };
                let flows = traffic.flows(ends, Streams::new(5)).unwrap();
                let said = flows.pairs();
                let met: BTreeSet<(usize, usize)> = flows.map(|flow| (flow.source, flow.destination)).collect();
                assert_eq!(met, said, "{pattern:?} {ends:?}");
            }
        }
    }

    #[test]
    fn another_destination_shifts_no_other_generator() {
        let traffic = traffic(Pattern::EachDestination, poisson(50));
        let mut more = run(&traffic, Ends::Between { sources: 2, destinations: 7 });
        more.retain(|flow| flow.destination < 6);
        assert_eq!(more, run(&traffic, Ends::Between { sources: 2, destinations: 6 }));
    }

    #[test]
    fn another_size_shifts_no_arrival_and_no_pair() {
        let drawn = traffic(Pattern::Random, poisson(50));
        let fixed = Traffic { size: Some(Size::Fixed(Fixed::new(Bytes::new(70_000)).unwrap())), ..drawn.clone() };
        let endless = Traffic { size: None, ..drawn.clone() };
        let ends = Ends::Within { hosts: 5 };
        let without = |traffic| run(traffic, ends).into_iter().map(|flow| FlowStart { size: None, ..flow }).collect();
        let expected: Vec<FlowStart> = without(&drawn);
        assert_eq!(expected, without(&fixed));
        assert_eq!(expected, run(&endless, ends), "flows without end have no size");
    }

    /// Times, pairs and sizes of one generator and times of two generators: independent draws have a correlation with
    /// standard error 1/√n; four of them.
    #[test]
    fn times_pairs_and_sizes_are_independent() {
        let size = Some(Size::Exponential(Exponential::new(Bytes::from_kb(64)).unwrap()));
        let traffic = Traffic { size, ..traffic(Pattern::Random, poisson(1)) };
        let flows = run(&traffic, Ends::Between { sources: 2, destinations: 10 });
        let n = 15_000;
        let of = |generator, value: fn(&[FlowStart]) -> f64| -> Vec<f64> {
            let own: Vec<_> = flows.iter().filter(|flow| flow.generator == generator).copied().collect();
            own.windows(2).map(value).take(n).collect()
        };
        let gap = of(0, |flows| (flows[1].time - flows[0].time).as_secs_f64());
        let others = [
            of(0, |flows| flows[1].size.unwrap().get() as f64),
            of(0, |flows| flows[1].destination as f64),
            of(1, |flows| (flows[1].time - flows[0].time).as_secs_f64()),
        ];
        for other in others {
            assert_eq!(other.len(), n);
            let r = correlation(&gap, &other);
            assert!(r.abs() < 4.0 / (n as f64).sqrt(), "{r}");
        }
    }

    fn correlation(a: &[f64], b: &[f64]) -> f64 {
        let mean = |x: &[f64]| x.iter().sum::<f64>() / x.len() as f64;
        let (mean_a, mean_b) = (mean(a), mean(b));
        let product = |f: fn(f64, f64) -> f64| -> f64 { a.iter().zip(b).map(|(a, b)| f(a - mean_a, b - mean_b)).sum() };
        product(|a, b| a * b) / (product(|a, _| a * a) * product(|_, b| b * b)).sqrt()
    }

    #[test]
    fn ties_are_in_order_of_generators_and_incasts_stay_together() {
        let beat = Arrival::Periodic { period: Span::from_secs(5), jitter: Span::ZERO };
        let flows = run(&traffic(Pattern::EachDestination, beat), Ends::Between { sources: 3, destinations: 3 });
        let order: Vec<_> = flows.iter().map(|f| (f.time, f.generator, f.number)).collect();
        let beats = [1, 6, 11, 16].into_iter().zip(0..);
        let expected: Vec<_> = beats.flat_map(|(s, n)| (0..3).map(move |g| (seconds(s), g, n))).collect();
        assert_eq!(order, expected);

        let flows = run(&traffic(Pattern::Incast, beat), Ends::Between { sources: 3, destinations: 9 });
        assert_eq!(flows.len(), 12);
        for (burst, s) in flows.chunks(3).zip([1, 6, 11, 16]) {
            assert!(burst.iter().all(|f| f.time == seconds(s) && f.destination == burst[0].destination));
        }
        assert_eq!(flows.iter().map(|f| f.number).collect::<Vec<_>>(), (0..12).collect::<Vec<_>>());

        let once = run(&traffic(Pattern::Permutation, Arrival::Once { count: 2 }), Ends::Within { hosts: 3 });
        let order: Vec<_> = once.iter().map(|f| (f.time, f.source, f.number)).collect();
        let at = seconds(1);
        assert_eq!(order, [(at, 0, 0), (at, 0, 1), (at, 1, 0), (at, 1, 1), (at, 2, 0), (at, 2, 1)]);
    }

    /// Who talks at a share talks at any larger one, and sends the same.
    #[test]
    fn a_larger_share_shifts_nobody_who_talked_before() {
        let ends = Ends::Between { sources: 12, destinations: 4 };
        let at = |pattern, share| {
            let shares = Shares { sources: Some(share), destinations: None };
            run(&Traffic { shares, ..traffic(pattern, poisson(200)) }, ends)
        };
        for pattern in [Pattern::Random, Pattern::AllToAll] {
            let (few, all) = (at(pattern, 0.5), at(pattern, 1.0));
            let talking: std::collections::BTreeSet<usize> = few.iter().map(|flow| flow.source).collect();
            assert_eq!(talking.len(), 6);
            let of_them: Vec<FlowStart> = all.iter().filter(|flow| talking.contains(&flow.source)).copied().collect();
            assert_eq!(few, of_them, "{pattern:?}");
            assert_eq!(all, run(&traffic(pattern, poisson(200)), ends), "all is all");
        }
        assert_eq!(at(Pattern::Random, 0.0), []);
    }

    #[test]
    fn a_share_of_the_destinations_is_reached() {
        let ends = Ends::Between { sources: 3, destinations: 8 };
        let shares = Shares { sources: None, destinations: Some(0.25) };
        for pattern in
            [Pattern::Random, Pattern::EachDestination, Pattern::AllToAll, Pattern::Permutation, Pattern::Incast]
        {
            let flows = run(&Traffic { shares, ..traffic(pattern, poisson(20)) }, ends);
            let reached: std::collections::BTreeSet<usize> = flows.iter().map(|flow| flow.destination).collect();
            assert_eq!(reached.len(), 2, "{pattern:?}");
            let other = traffic(pattern, poisson(20));
            let again = other.flows(ends, Streams::new(1).part("repeat", 1)).unwrap();
            assert!(again.map(|flow| flow.destination).collect::<std::collections::BTreeSet<_>>().len() > 2);
        }
    }

    /// 800 MB from n hosts (the thesis's data mining, table 6.1).
    #[test]
    fn a_size_is_shared_out_among_those_who_talk() {
        let shared = |ends, share: Option<f64>, pattern| {
            let mut traffic = traffic(pattern, Arrival::Once { count: 1 });
            traffic.size = Some(Size::Fixed(Fixed::new(Bytes::from_kb(800_000)).unwrap()));
            traffic.shares.sources = share;
            traffic.shared = true;
            let flows = run(&traffic, ends);
            let to = flows[0].destination;
            let own: Vec<u64> = flows.iter().filter(|f| f.destination == to).map(|f| f.size.unwrap().get()).collect();
            assert!(own.iter().all(|&part| part == 800_000_000_u64.div_ceil(own.len() as u64)), "{own:?}");
            own.len()
        };
        let apart = Ends::Between { sources: 12, destinations: 4 };
        assert_eq!(shared(apart, None, Pattern::AllToAll), 12);
        assert_eq!(shared(apart, Some(0.25), Pattern::AllToAll), 3);
        assert_eq!(shared(apart, Some(0.5), Pattern::Incast), 6);
        assert_eq!(shared(Ends::Within { hosts: 8 }, Some(0.5), Pattern::AllToAll), 3);
        assert_eq!(shared(Ends::Within { hosts: 8 }, None, Pattern::Incast), 7);
    }

    #[test]
    fn what_would_never_end_or_never_begin_is_refused() {
        let ends = Ends::Within { hosts: 3 };
        let error = |traffic: &Traffic| traffic.flows(ends, Streams::new(1)).unwrap_err();
        for arrival in
            [Arrival::Poisson { mean: Span::ZERO }, Arrival::Periodic { period: Span::ZERO, jitter: Span::ZERO }]
        {
            assert_eq!(error(&traffic(Pattern::Random, arrival)), TrafficError::ZeroGap);
        }
        let valid = traffic(Pattern::Random, poisson(1));
        let backwards = Traffic { stop: Time::ZERO + Span::from_millis(500), ..valid.clone() };
        let message = error(&backwards).to_string();
        assert_eq!(message, "the traffic stops at 500ms, before it starts at 1s");
        assert_eq!(run(&Traffic { stop: valid.start, ..valid }, ends), []);
    }

    /// Plays the network: every flow takes `fct`.
    fn play(traffic: &Traffic, ends: Ends, fct: Span) -> Vec<FlowStart> {
        let mut flows = traffic.flows(ends, Streams::new(1)).unwrap();
        let mut running = std::collections::BTreeSet::new();
        let mut all = Vec::new();
        loop {
            let next = flows.next_time();
            if let Some(&(end, generator, number)) = running.first()
                && next.is_none_or(|next| end <= next)
            {
                running.remove(&(end, generator, number));
                flows.completed(end, generator);
            } else if next.is_some() {
                let flow = flows.next().unwrap();
                assert_eq!(Some(flow.time), next);
                running.insert((flow.time + fct, flow.generator, flow.number));
                all.push(flow);
            } else {
                return all;
            }
        }
    }

    #[test]
    fn a_closed_loop_sends_back_to_back() {
        let fct = Span::from_millis(100);
        let traffic = traffic(Pattern::Random, Arrival::ClosedLoop { think: Span::ZERO });
        let flows = play(&traffic, Ends::Within { hosts: 5 }, fct);
        assert_eq!(flows.len(), 5 * 200, "20 s of 100 ms");
        for source in 0..5 {
            let own: Vec<_> = flows.iter().filter(|flow| flow.source == source).collect();
            assert_eq!(own[0].time, traffic.start);
            assert!(own.windows(2).all(|pair| pair[1].time == pair[0].time + fct));
        }
    }

    /// What is sent does not depend on how long it takes, only when; and a whole incast is waited for.
    #[test]
    fn a_closed_loop_draws_the_same_however_long_flows_take() {
        let think = Span::from_millis(50);
        for pattern in [Pattern::Random, Pattern::AllToAll, Pattern::Incast] {
            let traffic = traffic(pattern, Arrival::ClosedLoop { think });
            let ends = Ends::Between { sources: 3, destinations: 4 };
            let of = |fct| {
                let mut flows = play(&traffic, ends, Span::from_millis(fct));
                flows.retain(|flow| flow.generator == 0);
                flows.into_iter().map(|flow| FlowStart { time: Time::ZERO, ..flow }).collect::<Vec<_>>()
            };
            let (quick, slow) = (of(10), of(90));
            assert!(quick.len() > slow.len());
            assert_eq!(quick[..slow.len()], slow, "{pattern:?}");
        }
        // 20 s, each round 100 ms of flow and 100 ms of thinking (exponential): 100 rounds, deviation √100 / 2 = 5.
        let traffic = traffic(Pattern::Incast, Arrival::ClosedLoop { think: Span::from_millis(100) });
        let flows = play(&traffic, Ends::Between { sources: 4, destinations: 2 }, Span::from_millis(100));
        assert!((flows.len() / 4).abs_diff(100) < 20, "{}", flows.len());
        assert!(flows.chunks(4).all(|round| round.iter().all(|flow| flow.time == round[0].time)));
    }

    proptest! {
        #[test]
        fn flows_are_ordered_numbered_and_within_bounds(
            pattern in prop::sample::select(vec![
                Pattern::Random, Pattern::EachDestination, Pattern::AllToAll, Pattern::Permutation, Pattern::Incast,
            ]),
            arrival in prop_oneof![
                (0u32..4).prop_map(|count| Arrival::Once { count }),
                (200u64..5000).prop_map(poisson),
                (200u64..5000).prop_map(|ms| Arrival::Periodic { period: Span::from_millis(ms), jitter: Span::ZERO }),
                (0u64..5000).prop_map(|ms| Arrival::ClosedLoop { think: Span::from_millis(ms) }),
            ],
            sources in 2usize..6,
            destinations in 2usize..6,
            within: bool,
            shares in (prop::option::of(0.0..=1.0), prop::option::of(0.0..=1.0)),
            shared: bool,
            seed: u64,
        ) {
            let shares = Shares { sources: shares.0, destinations: shares.1.filter(|_| !within) };
            let traffic = Traffic { shares, shared, ..traffic(pattern, arrival) };
            let ends = if within { Ends::Within { hosts: sources } } else { Ends::Between { sources, destinations } };
            let flows: Vec<_> = traffic.flows(ends, Streams::new(seed)).unwrap().collect();
            prop_assert!(flows.is_sorted_by_key(|f| (f.time, f.generator, f.number)));
            let mut next = vec![0; 36];
            for flow in &flows {
                prop_assert!(flow.time >= traffic.start && flow.time < traffic.stop);
                prop_assert!(flow.source < ends.sources() && flow.destination < ends.destinations());
                prop_assert!(!within || flow.source != flow.destination);
                prop_assert!((1..=30_000_000).contains(&flow.size.unwrap().get()));
                prop_assert_eq!(flow.number, next[flow.generator as usize]);
                next[flow.generator as usize] += 1;
            }
        }
    }

    /// A beat before the end has late flows beyond it; none of them starts, and nothing after it.
    #[test]
    fn jitter_does_not_go_beyond_the_end() {
        let (period, jitter) = (Span::from_millis(300), Span::from_millis(299));
        let mut traffic = traffic(Pattern::Incast, Arrival::Periodic { period, jitter });
        traffic.stop = traffic.start + Span::from_millis(450);
        let flows = run(&traffic, Ends::Between { sources: 100, destinations: 1 });
        assert!(flows.iter().all(|flow| flow.time < traffic.stop));
        // of the second beat about 150 / 299 of a hundred: 50 ± 5
        assert!((130..170).contains(&flows.len()), "{}", flows.len());
    }

    /// Every host of an incast is late by its own jitter, drawn anew for each beat, and lateness does not add up.
    #[test]
    fn jitter_spreads_hosts_and_keeps_the_beat() {
        let (period, jitter) = (Span::from_millis(10), Span::from_millis(4));
        let traffic = traffic(Pattern::Incast, Arrival::Periodic { period, jitter });
        let flows = run(&traffic, Ends::Between { sources: 8, destinations: 1 });
        assert!(flows.is_sorted_by_key(|flow| flow.time));
        let late = |flow: &FlowStart| flow.time.since(seconds(1)).picos() % period.picos();
        assert!(flows.iter().all(|flow| late(flow) < jitter.picos()));
        for beat in flows.chunks(8) {
            let mut sources: Vec<_> = beat.iter().map(|flow| flow.source).collect();
            sources.sort_unstable();
            assert_eq!(sources, [0, 1, 2, 3, 4, 5, 6, 7]);
        }
        let mean = flows.iter().map(|flow| late(flow) as f64).sum::<f64>() / flows.len() as f64 / jitter.picos() as f64;
        assert!((mean - 0.5).abs() < 0.02, "{mean}"); // √(1/12 / 16,000) = 0.0023
    }
}
