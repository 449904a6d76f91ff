//! Controllers on synthetic plants: functions from limits to rates, with noise.

use headway_units::{Bytes, Rate, Span, Time};
use proptest::prelude::*;

use super::budget::Budget;
use super::*;

const MBPS: f64 = 1e6;

fn spec() -> PortSpec {
    PortSpec { line: Rate::from_gbps(10), limitable: true, counted: true, protected: false, edge: true }
}

fn bounds() -> Bounds {
    Bounds { least: Rate::from_mbps(10), most: Rate::from_gbps(10) }
}

/// Rates under limits (none: infinity), in Mb/s, at a window.
type Plant = fn(&[f64], u32) -> Vec<f64>;

/// Numbers that look random: xorshift64*.
struct Noise(u64);

impl Noise {
    /// About normal, with this deviation: the sum of twelve even ones.
    fn next(&mut self, deviation: f64) -> f64 {
        let mut sum = -6.0;
        for _ in 0..12 {
            self.0 ^= self.0 >> 12;
            self.0 ^= self.0 << 25;
            self.0 ^= self.0 >> 27;
            sum += (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as f64 / (1_u64 << 53) as f64;
        }
        sum * deviation
    }
}

/// A controller on a plant, with counters in between.
struct Run<C> {
    controller: C,
    plant: Plant,
    deviation: f64,
    noise: Noise,
    readings: Vec<Reading>,
    now: Time,
    window: u32,
    /// The true rates of each window.
    rates: Vec<Vec<f64>>,
    /// The limits of each window.
    limits: Vec<Vec<Option<Rate>>>,
}

impl<C: Controller> Run<C> {
    fn new(controller: C, plant: Plant, deviation: f64, seed: u64) -> Run<C> {
        let readings = vec![Reading::default(); controller.limits().len()];
        let (rates, limits) = Default::default();
        Run {
            controller,
            plant,
            deviation,
            noise: Noise(seed * 2 + 1),
            readings,
            now: Time::ZERO,
            window: 0,
            rates,
            limits,
        }
    }

    fn step(&mut self) {
        let limits = self.controller.limits().to_vec();
        let rates = (self.plant)(&in_mbps(&limits), self.window);
        for (reading, rate) in self.readings.iter_mut().zip(&rates) {
            let seen = (rate * (1.0 + self.noise.next(self.deviation)).max(0.0) * MBPS / 8.0) as u64;
            reading.into.bytes += seen;
            reading.into.packets += seen / 1_500;
        }
        self.now += Span::from_secs(1);
        self.window += 1;
        self.controller.observe(self.now, &self.readings);
        self.rates.push(rates);
        self.limits.push(limits);
    }

    fn steps(&mut self, windows: u32) {
        (0..windows).for_each(|_| self.step());
    }

    /// The mean of a measure of the true rates over the last windows.
    fn mean(&self, last: usize, measure: fn(&[f64]) -> f64) -> f64 {
        self.rates[self.rates.len() - last..].iter().map(|rates| measure(rates)).sum::<f64>() / last as f64
    }
}

impl Run<Headway> {
    fn headway(objective: Objective, ports: usize, plant: Plant, deviation: f64, seed: u64) -> Run<Headway> {
        let settings = Settings::new(objective, bounds());
        let controller = Headway::new(settings, vec![spec(); ports], Direction::Into).unwrap();
        Run::new(controller, plant, deviation, seed)
    }

    /// How often the limits that won have changed during so many windows.
    fn moves(&mut self, windows: u32) -> u32 {
        let mut moves = 0;
        for _ in 0..windows {
            let before = self.controller.chosen().to_vec();
            self.step();
            moves += u32::from(before != self.controller.chosen());
        }
        moves
    }
}

fn in_mbps(limits: &[Option<Rate>]) -> Vec<f64> {
    limits.iter().map(|limit| limit.map_or(f64::INFINITY, |limit| limit.bps() as f64 / MBPS)).collect()
}

fn total(rates: &[f64]) -> f64 {
    rates.iter().sum()
}

/// Jain's index.
fn jain(rates: &[f64]) -> f64 {
    total(rates).powi(2) / (rates.len() as f64 * rates.iter().map(|rate| rate * rate).sum::<f64>())
}

/// The largest total over a fine grid of limits on port 0.
fn best_total(plant: Plant, ports: usize) -> f64 {
    let at = |limit| {
        let mut limits = vec![f64::INFINITY; ports];
        limits[0] = limit;
        total(&plant(&limits, 0))
    };
    (0..800).map(|step| at(10.0 * libm::exp2(f64::from(step) * 0.01))).fold(at(f64::INFINITY), f64::max)
}

/// A server that is shared by demand: five ports on 1,000 Mb/s, the first of which asks for most. The total is flat.
fn shared(limits: &[f64], _: u32) -> Vec<f64> {
    let asked: Vec<f64> =
        limits.iter().enumerate().map(|(i, limit)| limit.min(if i == 0 { 4_000.0 } else { 400.0 })).collect();
    let sum = total(&asked);
    asked.iter().map(|asked| if sum > 1_000.0 { asked * 1_000.0 / sum } else { *asked }).collect()
}

/// Ports that have nothing in common: every limit costs what it cuts.
fn apart(limits: &[f64], _: u32) -> Vec<f64> {
    limits.iter().zip([900.0, 300.0, 100.0]).map(|(limit, rate)| limit.min(rate)).collect()
}

/// Overload is wasted: what is asked for beyond 1,000 Mb/s costs a part of the capacity, and the slow ports can take no
/// more than 100 each. Port 0 unlimited: the total is 880; at 600: 1,000.
fn wasted(limits: &[f64], _: u32) -> Vec<f64> {
    let asked: Vec<f64> =
        limits.iter().enumerate().map(|(i, limit)| limit.min(if i == 0 { 1_000.0 } else { 100.0 })).collect();
    let sum = total(&asked);
    let capacity = 1_000.0 - 0.3 * (sum - 1_000.0).max(0.0);
    asked.iter().map(|asked| asked * (capacity / sum).min(1.0)).collect()
}

/// Two peaks: a low one at 500, a valley, the high one at 180.
fn two_peaks(limits: &[f64], _: u32) -> Vec<f64> {
    let limit = limits[0].min(800.0);
    let hill = |at: f64, height: f64| height * libm::exp(-(libm::log(limit / at) / 0.25).powi(2));
    let sum = 800.0 + hill(500.0, 60.0) + hill(180.0, 200.0);
    vec![limit * 0.9, sum - limit * 0.9]
}

/// `shared`, whose capacity goes up and down by a fifth every 500 windows.
fn drifting(limits: &[f64], window: u32) -> Vec<f64> {
    let factor = 1.0 + 0.2 * libm::sin(f64::from(window) * std::f64::consts::TAU / 500.0);
    shared(limits, window).iter().map(|rate| rate * factor).collect()
}

/// Port 0 shares with port 1 until window 1,000, then it is alone.
fn leaving(limits: &[f64], window: u32) -> Vec<f64> {
    if window < 1_000 {
        let asked = [limits[0].min(3_000.0), limits[1].min(1_000.0)];
        let factor = (1_000.0 / total(&asked)).min(1.0);
        asked.map(|asked| asked * factor).to_vec()
    } else {
        vec![limits[0].min(1_000.0), 0.0]
    }
}

/// Port 0 shares with port 1, which asks for 400, until the capacity grows at window 7,000.
fn growing(limits: &[f64], window: u32) -> Vec<f64> {
    let capacity = if window < 7_000 { 1_000.0 } else { 4_000.0 };
    let asked = [limits[0].min(3_000.0), limits[1].min(400.0)];
    let factor = (capacity / total(&asked)).min(1.0);
    asked.map(|asked| asked * factor).to_vec()
}

/// Under its limit port 0 cannot show that there is more, and port 1 has all that it asks for: no rate changes.
#[test]
fn a_limit_goes_when_the_capacity_behind_it_grows() {
    for seed in 0..5 {
        let mut run = Run::headway(Objective::Fair, 2, growing, 0.03, seed);
        run.steps(7_000);
        let limit = run.controller.chosen()[0].expect("a limit");
        assert!((500..800).contains(&(limit.bps() / 1_000_000)), "seed {seed}: {limit}");
        run.steps(400);
        assert_eq!(run.controller.chosen()[0], None, "seed {seed}");
        run.steps(600);
        assert!(run.mean(600, total) > 0.95 * 3_400.0, "seed {seed}: {}", run.mean(600, total));
    }
}

#[test]
fn a_flat_total_is_left_alone() {
    for seed in 0..20 {
        let mut run = Run::headway(Objective::Total, 5, shared, 0.05, seed);
        assert_eq!(run.moves(3_000), 0, "seed {seed}: {:?}", run.controller.chosen());
        assert!(run.mean(3_000, total) > 0.99 * 1_000.0);
    }
}

#[test]
fn ports_apart_are_left_alone_and_known_not_to_contend() {
    for objective in [Objective::Total, Objective::Fair, Objective::Weighted { fairness: 0.2 }] {
        let mut run = Run::headway(objective, 3, apart, 0.02, 7);
        assert_eq!(run.moves(2_000), 0, "{objective:?}");
        let relief = run.controller.contention()[0].expect("the first was limited on trial");
        assert!(relief.abs() < 0.1, "{relief}");
        assert!(run.mean(2_000, total) > 0.97 * 1_300.0);
    }
}

#[test]
fn a_peak_of_the_total_is_found_and_kept() {
    let best = best_total(wasted, 5);
    assert!((best - 1_000.0).abs() < 3.0, "{best}");
    for seed in 0..20 {
        let mut run = Run::headway(Objective::Total, 5, wasted, 0.03, seed);
        run.steps(600);
        // the grid's step is 16 %: 100 + 100·4 … of the peak's 600
        assert!(
            total(&wasted(&in_mbps(run.controller.chosen()), 0)) > 0.95 * best,
            "seed {seed}: {:?}",
            run.controller.chosen()
        );
        assert!(run.moves(3_000) <= 3, "seed {seed}");
        assert!(run.mean(2_000, total) > 0.95 * best, "seed {seed}: {}", run.mean(2_000, total));
    }
}

#[test]
fn the_higher_of_two_peaks_is_found() {
    let best = best_total(two_peaks, 2);
    assert!((best - 1_000.0).abs() < 10.0, "{best}");
    for seed in 0..10 {
        let mut run = Run::headway(Objective::Total, 2, two_peaks, 0.02, seed);
        run.steps(1_000);
        assert!(run.mean(300, total) > 0.95 * best, "seed {seed}: {:?}", run.controller.chosen());
    }
}

#[test]
fn fairness_is_raised_where_the_total_is_flat_and_stays() {
    for seed in 0..20 {
        let mut run = Run::headway(Objective::Fair, 5, shared, 0.05, seed);
        run.steps(1_000);
        assert!(run.moves(4_000) <= 3, "seed {seed}");
        assert!(run.mean(1_000, jain) > 0.95, "seed {seed}: {}", run.mean(1_000, jain));
        assert!(run.mean(1_000, total) > 0.97 * 1_000.0, "seed {seed}");
    }
    assert!(jain(&shared(&[f64::INFINITY; 5], 0)) < 0.4);
}

#[test]
fn a_protected_class_gets_what_others_leave() {
    let mut ports = vec![spec(); 5];
    ports[3].protected = true;
    let settings = Settings::new(Objective::Protect { weight: 4.0 }, bounds());
    let controller = Headway::new(settings, ports, Direction::Into).unwrap();
    let mut run = Run::new(controller, shared, 0.03, 3);
    let before = shared(&[f64::INFINITY; 5], 0)[3];
    run.steps(2_000);
    assert!(run.mean(500, |rates| rates[3]) > 2.0 * before);
    assert_eq!(run.controller.chosen()[3], None, "the protected port itself is free");
}

#[test]
fn a_drifting_capacity_does_not_make_limits_wander() {
    for seed in 0..10 {
        let mut run = Run::headway(Objective::Fair, 5, drifting, 0.03, seed);
        run.steps(1_000);
        assert!(run.moves(4_000) <= 8, "seed {seed}");
        assert!(run.mean(2_000, jain) > 0.9, "seed {seed}: {}", run.mean(2_000, jain));
    }
}

#[test]
fn a_limit_goes_when_the_others_are_gone() {
    for seed in 0..10 {
        let mut run = Run::headway(Objective::Fair, 2, leaving, 0.03, seed);
        run.steps(1_000);
        assert!(run.controller.chosen()[0].is_some(), "seed {seed}");
        run.steps(60);
        assert_eq!(run.controller.chosen()[0], None, "seed {seed}");
        run.steps(500);
        assert!(run.mean(500, total) > 0.99 * 1_000.0, "seed {seed}");
    }
}

/// Any limit on port 0 costs all of them half, and for a window after it is lifted, too.
#[test]
fn the_window_after_a_harmful_trial_counts_for_nothing() {
    let plant: Plant = |limits, _| if limits[0].is_finite() { vec![100.0, 50.0] } else { vec![800.0, 200.0] };
    let mut run = Run::headway(Objective::Total, 2, plant, 0.0, 1);
    let mut lifted = false;
    for _ in 0..300 {
        let before = run.controller.limits().to_vec();
        run.step();
        let after = run.controller.limits().to_vec();
        if before.iter().any(Option::is_some) && after.iter().all(Option::is_none) && !lifted {
            lifted = true;
            // this window shows what is left of the candidate
            for (reading, rate) in run.readings.iter_mut().zip([200.0, 60.0]) {
                reading.into.bytes += (rate * MBPS / 8.0) as u64;
            }
            run.now += Span::from_secs(1);
            run.controller.observe(run.now, &run.readings);
            assert_eq!(run.controller.references(), 0, "of the next trial");
        }
    }
    assert!(lifted, "a limit was tried");
}

/// Readings fail during the first block of a search: it is repeated, and tighter rates are tried as without.
#[test]
fn a_block_that_was_not_seen_is_repeated_and_ends_no_screening() {
    let mut run = Run::headway(Objective::Total, 5, shared, 0.0, 1);
    let (mut failed, mut tried) = (0, Vec::new());
    for _ in 0..200 {
        run.step();
        let limit = run.controller.limits()[0];
        if limit.is_some() && tried.last() != Some(&limit) {
            tried.push(limit);
        }
        if limit.is_some() && failed < 4 {
            failed += 1;
            run.now += Span::from_secs(1);
            run.controller.observe(run.now, &[]);
        } else if limit.is_none() && tried.last().is_some_and(Option::is_some) {
            tried.push(None);
        }
    }
    let tried: Vec<Rate> = tried.into_iter().flatten().collect();
    assert_eq!(tried[0], tried[1], "once more: {tried:?}");
    assert!(
        tried[2..].windows(2).all(|pair| pair[1] < pair[0]) && tried.len() >= 5,
        "and then tighter ones: {tried:?}"
    );
}

#[test]
fn readings_that_fail_for_long_lift_all_limits() {
    let mut run = Run::headway(Objective::Fair, 5, shared, 0.02, 1);
    run.steps(1_000);
    assert!(run.controller.chosen().iter().any(Option::is_some));
    for second in 0..40 {
        run.controller.observe(run.now + Span::from_secs(second), &[]);
    }
    assert!(run.controller.limits().iter().all(Option::is_none));
}

/// Regret against the best fixed limit: searching costs its budget, and the limit found is near the best one.
#[test]
fn regret_is_bounded() {
    let best = best_total(wasted, 5);
    for seed in 0..10 {
        let mut run = Run::headway(Objective::Total, 5, wasted, 0.03, seed);
        run.steps(6_000);
        let regret = 1.0 - run.mean(6_000, total) / best;
        assert!(regret < 0.06, "seed {seed}: {regret}");
    }
}

#[test]
fn settings_out_of_range_are_refused() {
    let good = Settings::new(Objective::Total, bounds());
    let refused = |change: fn(&mut Settings)| {
        let mut settings = good.clone();
        change(&mut settings);
        Headway::new(settings, vec![spec()], Direction::Into).is_err()
    };
    assert!(!refused(|_| {}));
    assert!(refused(|settings| settings.share = 0.9));
    assert!(refused(|settings| settings.worth = f64::NAN));
    assert!(refused(|settings| settings.timing.settle = 0));
    assert!(refused(|settings| settings.timing.measure = 90));
    assert!(refused(|settings| settings.bounds.least = Rate::from_gbps(11)));
}

#[test]
fn max_min_limits_give_even_shares() {
    let controller = MaxMin::new(vec![spec(); 5], Direction::Into, bounds(), None).unwrap();
    let mut run = Run::new(controller, shared, 0.02, 1);
    run.steps(400);
    assert!(run.mean(100, jain) > 0.95, "{}", run.mean(100, jain));
    assert!(run.mean(100, total) > 0.9 * 1_000.0, "{}", run.mean(100, total));
}

#[test]
fn aimd_keeps_the_delay_near_its_target() {
    let ports = vec![spec(); 2];
    let (target, step) = (Span::from_millis(30), Rate::from_mbps(10));
    let mut controller = AimdDelay::new(ports, Direction::Into, bounds(), target, step).unwrap();
    // a link of 1,000 Mb/s whose queue takes what is too much, up to 100 ms
    let (mut waiting, mut readings, mut now) = (0.0_f64, vec![Reading::default(); 2], Time::ZERO);
    let mut delays = Vec::new();
    for window in 0..2_000 {
        // quiet at first, so that there is a baseline
        let asked = if window < 10 { 100.0 } else { 900.0 };
        let rates = in_mbps(controller.limits()).iter().map(|limit| limit.min(asked)).collect::<Vec<_>>();
        waiting = (waiting + (total(&rates) - 1_000.0) * 0.1).clamp(0.0, 100.0);
        for (reading, rate) in readings.iter_mut().zip(&rates) {
            reading.into.bytes += (rate * MBPS / 80.0) as u64;
            reading.rtt = Some(Span::from_secs_f64((10.0 + waiting) / 1e3));
        }
        now += Span::from_millis(100);
        controller.observe(now, &readings);
        delays.push(waiting);
    }
    let mean = delays[1_000..].iter().sum::<f64>() / 1_000.0;
    assert!(mean < 50.0, "without limits it is 100 ms: {mean}");
    assert!(total(&in_mbps(controller.limits())) > 700.0);
}

/// What goes out to a host is limited, and its sender keeps a queue at the switch, whatever the limit. The queue is the
/// limit's own, so the limit stays near the line.
#[test]
fn aimd_does_not_feed_on_the_queue_of_its_own_limit() {
    let ports = vec![PortSpec { line: Rate::from_mbps(100), ..spec() }; 2];
    let bounds = Bounds { least: Rate::from_mbps(10), most: Rate::from_mbps(100) };
    let (target, step) = (Span::from_millis(5), Rate::from_mbps(1));
    let mut controller = AimdDelay::new(ports, Direction::Out, bounds, target, step).unwrap();
    let (mut readings, mut now, mut sum) = (vec![Reading::default(); 2], Time::ZERO, 0.0);
    for window in 0..2_000 {
        let rates = in_mbps(controller.limits()).iter().map(|limit| limit.min(100.0)).collect::<Vec<_>>();
        for (reading, rate) in readings.iter_mut().zip(&rates) {
            reading.out.bytes += (rate * MBPS / 80.0) as u64;
            // empty at first, so that there is a baseline; then 10 ms at the line's rate
            reading.out.queue = Bytes::new(if window < 10 { 0 } else { 125_000 });
        }
        now += Span::from_millis(100);
        controller.observe(now, &readings);
        sum += total(&rates) / 2_000.0;
    }
    assert!(
        controller.limits().iter().flatten().all(|limit| *limit > Rate::from_mbps(50)),
        "{:?}",
        controller.limits()
    );
    assert!(sum > 150.0, "{sum}");
}

/// A reading of anything.
fn any_reading() -> impl Strategy<Value = Reading> {
    let counters = || {
        (any::<u64>(), any::<u64>(), any::<u64>(), any::<u64>()).prop_map(|(bytes, packets, drops, queue)| Counters {
            bytes: bytes >> 30,
            packets: packets >> 40,
            drops: drops >> 50,
            queue: Bytes::new(queue >> 20),
        })
    };
    (counters(), counters(), any::<Option<u32>>()).prop_map(|(into, out, rtt)| Reading {
        into,
        out,
        rtt: rtt.map(|ns| Span::from_nanos(u64::from(ns))),
        connections: None,
    })
}

fn controllers(ports: &[PortSpec]) -> Vec<Box<dyn Controller>> {
    let (into, target, step) = (Direction::Into, Span::from_millis(5), Rate::from_mbps(5));
    let all =
        [Objective::Total, Objective::Fair, Objective::Weighted { fairness: 1.0 }, Objective::Protect { weight: 3.0 }];
    let mut controllers: Vec<Box<dyn Controller>> = Vec::new();
    for objective in all {
        controllers.push(Box::new(Headway::new(Settings::new(objective, bounds()), ports.to_vec(), into).unwrap()));
    }
    controllers.push(Box::new(AimdDelay::new(ports.to_vec(), into, bounds(), target, step).unwrap()));
    controllers.push(Box::new(MaxMin::new(ports.to_vec(), into, bounds(), None).unwrap()));
    controllers
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    /// Whatever is read, limits are within bounds, and only where they may be.
    #[test]
    fn limits_are_within_bounds_whatever_is_read(
        readings in prop::collection::vec((prop::collection::vec(any_reading(), 3), 0_u64..3_000), 1..120),
    ) {
        let ports = [spec(), PortSpec { limitable: false, ..spec() }, PortSpec { protected: true, ..spec() }];
        for mut controller in controllers(&ports) {
            let mut now = Time::ZERO;
            for (readings, ms) in &readings {
                now += Span::from_millis(*ms);
                let limits = controller.observe(now, readings).to_vec();
                prop_assert!(limits.iter().flatten().all(|limit| (bounds().least..=bounds().most).contains(limit)));
                prop_assert_eq!(limits[1], None);
                prop_assert_eq!(&limits[..], controller.limits());
            }
        }
    }

    /// Counters that reset, wrap and jump at random neither stop a search nor make it cost more than its budget.
    #[test]
    fn searching_costs_its_budget_whatever_counters_do(
        seed in 0_u64..1_000, faults in prop::collection::vec((0_u32..2_000, 0_usize..5, any::<u64>()), 0..60),
        deviation in 0.0..0.5_f64,
    ) {
        let mut run = Run::headway(Objective::Fair, 5, shared, deviation, seed);
        let mut spent = 0;
        for window in 0..2_000 {
            for (_, port, value) in faults.iter().filter(|fault| fault.0 == window) {
                run.readings[*port].into.bytes = value >> 20;
            }
            run.step();
            spent += u32::from(run.controller.limits() != run.controller.chosen());
            prop_assert!(f64::from(spent) <= Budget::bound(0.1, window + 1));
        }
    }

    /// In a steady state limits do not wander, whatever the plant's noise.
    #[test]
    fn no_plant_makes_limits_oscillate(seed in 0_u64..10_000, deviation in 0.0..0.2_f64, which in 0_usize..4) {
        let (plant, ports): (Plant, usize) = [(shared as Plant, 5), (apart, 3), (wasted, 5), (two_peaks, 2)][which];
        for objective in [Objective::Total, Objective::Fair] {
            let mut run = Run::headway(objective, ports, plant, deviation, seed);
            run.steps(2_000);
            let moves = run.moves(2_000);
            prop_assert!(moves <= 6, "{objective:?}, plant {which}: {moves} moves");
        }
    }
}
