//! Properties of a schedule on a line that it fills with frames and gaps.

use headway_units::{Rate, Span};
use proptest::prelude::*;

use super::*;

const GIGABIT: Rate = Rate::from_gbps(1);

/// A line that is never idle: a real frame leaves or a gap goes by.
struct Sending {
    schedule: Schedule<(FlowIndex, u32)>,
    position: u64,
    /// Where each frame began, whose it was, and its bytes of the line.
    sent: Vec<(u64, FlowIndex, u64)>,
}

impl Sending {
    fn new(limit: Option<Limit>, classes: &[ClassSpec]) -> Sending {
        let schedule = Schedule::new(Line::of_wire(GIGABIT, 1500), limit, classes, 0);
        Sending { schedule, position: 0, sent: Vec::new() }
    }

    fn push(&mut self, flow: FlowIndex, size: u32) {
        self.schedule.push(flow, size, true, self.position, (flow, size));
    }

    /// Sends the next frame, after the gap that it needs.
    fn step(&mut self, pace: impl Fn(FlowIndex) -> Pace) -> Option<FlowIndex> {
        let line = *self.schedule.line();
        let due = self.schedule.earliest()?;
        let gap = line.fill(due.saturating_sub(self.position)).map_or(0, |gap| gap.line());
        self.position += gap;
        let choice = self.schedule.choose(self.position.max(due)).unwrap();
        let flow = self.schedule.peek(&choice).0;
        let (_, size) = self.schedule.take(&choice, self.position, pace(flow));
        self.sent.push((self.position, flow, line.taken_by(size)));
        self.position += line.taken_by(size);
        Some(flow)
    }

    /// The most that `of` sent beyond `rate` over any window, in bytes of the line: a window that begins with a frame and
    /// ends behind one is the worst.
    fn excess(&self, rate: Rate, of: impl Fn(FlowIndex) -> bool) -> i128 {
        let per_second = |position: u64| i128::from(position) * i128::from(rate.bps());
        let scale = i128::from(GIGABIT.bps());
        // max over i ≤ j of (bytes of i to j) − rate·(end of j − start of i)
        let (mut sum, mut least, mut worst) = (0, i128::MAX, i128::MIN);
        for &(start, _, line) in self.sent.iter().filter(|sent| of(sent.1)) {
            least = least.min(sum * scale - per_second(start));
            sum += i128::from(line);
            worst = worst.max(sum * scale - per_second(start + line) - least);
        }
        if worst == i128::MIN { 0 } else { worst.div_euclid(scale) }
    }
}

fn fixed(bps: u64) -> Pace {
    Pace { target: Some(Target::of_rate(Rate::from_bps(bps))), window: None }
}

const ONE: ClassSpec = ClassSpec { limit: None, share: 1 };

/// The example of the paper's figure 1, as times of departure: 500 Mb/s of 1 Gb/s leave a frame, a gap, a frame.
#[test]
fn half_the_rate_is_every_second_frame() {
    let mut sending = Sending::new(None, &[ONE]);
    let flow = sending.schedule.open(0, Burst::Packets(1));
    (0..5).for_each(|_| sending.push(flow, 1518));
    while sending.step(|_| fixed(500_000_000)).is_some() {}
    let starts: Vec<_> = sending.sent.iter().map(|sent| sent.0).collect();
    assert_eq!(starts, [0, 2 * 1538, 4 * 1538, 6 * 1538, 8 * 1538]);
}

#[test]
fn a_burst_of_three_is_followed_by_three_gaps() {
    let mut sending = Sending::new(None, &[ONE]);
    let flow = sending.schedule.open(0, Burst::Packets(3));
    (0..7).for_each(|_| sending.push(flow, 1518));
    while sending.step(|_| fixed(250_000_000)).is_some() {}
    let starts: Vec<_> = sending.sent.iter().map(|sent| sent.0 / 1538).collect();
    assert_eq!(starts, [0, 1, 2, 12, 13, 14, 24]);
}

/// Clustered packet spacing: a window of 40 frames in four bursts a round trip of 1 ms, which is 125,000 B of the line.
#[test]
fn clusters_divide_a_round_trip() {
    let mut sending = Sending::new(None, &[ONE]);
    let flow = sending.schedule.open(0, Burst::Clusters(4));
    (0..40).for_each(|_| sending.push(flow, 1518));
    let window = 40 * 1538;
    let pace = Pace { target: Target::of_window(window, Span::from_millis(1)), window: Some(window) };
    while sending.step(|_| pace).is_some() {}
    let starts: Vec<_> = sending.sent.iter().map(|sent| sent.0).collect();
    for (burst, frames) in starts.chunks(10).enumerate() {
        let begin = burst as u64 * 125_000 / 4;
        assert_eq!(frames, (0..10).map(|i| begin + i * 1538).collect::<Vec<_>>());
    }
}

/// Shares of 3 and 1 of a port limited to 400 Mb/s: 300 and 100, though both have paces beyond.
#[test]
fn shares_divide_a_ports_limit() {
    let limit = Some(Limit { rate: Rate::from_mbps(400), burst: 1 });
    let mut sending = Sending::new(limit, &[ClassSpec { limit: None, share: 3 }, ONE]);
    let flows = [0, 1].map(|class| sending.schedule.open(class, Burst::Packets(1)));
    for flow in flows {
        (0..1000).for_each(|_| sending.push(flow, 1518));
    }
    (0..1000).for_each(|_| _ = sending.step(|_| Pace::default()));
    let first = sending.sent.iter().filter(|sent| sent.1 == flows[0]).count();
    assert_eq!(first, 750);
    // 999 intervals of 1,538 · 1,000 / 400 B
    assert_eq!(sending.sent[999].0, 999 * 3845);
}

/// What could have been sent and was not is no credit for a burst.
#[test]
fn an_idle_flow_saves_nothing_up() {
    let mut sending = Sending::new(None, &[ONE]);
    let flow = sending.schedule.open(0, Burst::Packets(1));
    sending.push(flow, 1518);
    sending.step(|_| fixed(500_000_000));
    sending.position = 1_000_000;
    (0..3).for_each(|_| sending.push(flow, 1518));
    while sending.step(|_| fixed(500_000_000)).is_some() {}
    let starts: Vec<_> = sending.sent.iter().map(|sent| sent.0).collect();
    assert_eq!(starts, [0, 1_000_000, 1_003_076, 1_006_152]);
}

proptest! {
    /// A flow that always has something to send keeps its rate to a byte a frame, at any sizes: each frame begins less than
    /// the smallest gap frame before its exact place, and never after it.
    #[test]
    fn the_long_run_rate_is_exact(
        sizes in prop::collection::vec(64_u32..=1518, 2..400), bps in 1_000_000_u64..990_000_000,
    ) {
        let mut sending = Sending::new(None, &[ONE]);
        let flow = sending.schedule.open(0, Burst::Packets(1));
        for &size in &sizes {
            sending.push(flow, size);
        }
        while sending.step(|_| fixed(bps)).is_some() {}
        let mut before = 0_u128;
        for (&(start, ..), &size) in sending.sent.iter().zip(&sizes) {
            let exact = (before * 1_000_000_000).div_ceil(u128::from(bps));
            let start = u128::from(start);
            prop_assert!(start <= exact && start + 84 > exact, "{start} {exact}");
            before += u128::from(size) + 20;
        }
    }

    /// Nobody exceeds a limit over any window by more than a burst and what one interval may be late: a flow its rate, a
    /// class its limit, all together the port's. And everyone who waits is served, by half of its part at least: of its class'
    /// share of the port divided by flows, which take turns of one to four frames, or of its own rate if that is less.
    #[test]
    fn a_hierarchy_keeps_its_limits_and_starves_nobody(
        port in prop::option::of(50_000_000_u64..1_000_000_000),
        classes in prop::collection::vec((prop::option::of(10_000_000_u64..1_000_000_000), 1_u32..10), 1..5),
        flows in prop::collection::vec((0_usize..5, 5_000_000_u64..1_000_000_000, 1_u32..5), 1..10),
        sizes in prop::collection::vec(64_u32..=1518, 8),
    ) {
        let limit = |bps| Limit { rate: Rate::from_bps(bps), burst: 1 };
        let specs: Vec<_> = classes.iter().map(|&(bps, share)| ClassSpec { limit: bps.map(limit), share }).collect();
        let mut sending = Sending::new(port.map(limit), &specs);
        let flows: Vec<_> = flows.iter().map(|&(class, bps, burst)| {
            let class = class % classes.len();
            (sending.schedule.open(class, Burst::Packets(burst)), class, bps, burst)
        }).collect();
        let size_of = |nth: usize| sizes[nth % sizes.len()];
        for (nth, &(flow, ..)) in flows.iter().enumerate() {
            sending.push(flow, size_of(nth));
            sending.push(flow, size_of(nth + 1));
        }
        let mut nth = 0;
        while sending.position < 10_000_000 {
            let sent = sending.step(|flow| fixed(flows[flow_place(flow, &flows)].2)).unwrap();
            nth += 1;
            sending.push(sent, size_of(nth));
        }
        let slack = |burst: u32| i128::from(burst) * 1538 + 1538 + 84;
        if let Some(bps) = port {
            prop_assert!(sending.excess(Rate::from_bps(bps), |_| true) <= slack(1));
        }
        for (class, &(bps, _)) in classes.iter().enumerate() {
            let of = |flow| flows[flow_place(flow, &flows)].1 == class;
            prop_assert!(bps.is_none_or(|bps| sending.excess(Rate::from_bps(bps), of) <= slack(1)));
        }
        for &(flow, class, bps, burst) in &flows {
            let own = sending.sent.iter().filter(|sent| sent.1 == flow);
            prop_assert!(sending.excess(Rate::from_bps(bps), |of| of == flow) <= slack(burst));
            let shares = |of: &dyn Fn(usize) -> bool| -> u64 {
                let taken = |place: &usize| of(*place) && flows.iter().any(|flow| flow.1 == *place);
                (0..classes.len()).filter(taken).map(|place| u64::from(classes[place].1)).sum()
            };
            let share = port.unwrap_or(1_000_000_000) * shares(&|place| place == class) / shares(&|_| true);
            let class_rate = classes[class].0.map_or(share, |limit| limit.min(share));
            let turns = 4 * flows.iter().filter(|flow| flow.1 == class).count() as u64;
            let part = bps.min(class_rate / turns);
            // 10 MB of a line of 1 Gb/s, in the largest frames
            let expected = part / 100 / 1538;
            let count = own.count() as u64;
            prop_assert!(count > 1 && count + 4 >= expected / 2, "a flow of {bps} b/s was starved: {count} of {expected}");
        }
    }
}

fn flow_place(flow: FlowIndex, flows: &[(FlowIndex, usize, u64, u32)]) -> usize {
    flows.iter().position(|of| of.0 == flow).expect("it was opened")
}
