//! The fixed points of coupled controls over a fluid: in each round trip each path's window changes by what its own
//! code makes of the acknowledgements and, with their probability, of the losses. Rounds are synchronous.
//!
//! A TCP with loss probability p has √(2/p) segments (Mathis et al.; exactly √(2(1−p)/p) here).

use headway_units::{Span, Time};

use super::{Ack, AnyController, Cause, Event, Sibling, Window};

/// A segment in units fine enough for a fluid.
const MSS: u64 = 1_000_000;
const RTT: Span = Span::from_millis(10);

struct Path {
    control: AnyController,
    window: f64,
    loss: f64,
}

fn siblings(paths: &[Path], own: usize) -> Vec<Sibling> {
    let sibling = |(i, path): (usize, &Path)| Sibling {
        cwnd: path.window as u64,
        srtt: RTT,
        min_rtt: RTT,
        between_losses: (MSS as f64 / path.loss) as u64,
        own: i == own,
    };
    paths.iter().enumerate().map(sibling).collect()
}

/// By how much a path's window changes in a round trip.
fn drift(paths: &mut [Path], own: usize) -> f64 {
    let siblings = siblings(paths, own);
    let path = &mut paths[own];
    let cwnd = path.window as u64;
    let mut window = Window { cwnd, ssthresh: 0, mss: MSS as u32, growth_limit: 1 };
    path.control.on_ack(&Ack { siblings: &siblings, ..Ack::of(Time::ZERO, MSS) }, &mut window);
    let gain = window.cwnd as f64 - cwnd as f64;
    let event = Event { siblings: &siblings, ..Event::of(Time::ZERO, Cause::Loss, cwnd) };
    path.control.on_congestion(&event, &mut window);
    let cut = cwnd.saturating_sub(window.ssthresh) as f64;
    path.window / MSS as f64 * ((1.0 - path.loss) * gain - path.loss * cut)
}

/// Windows in segments after so many round trips that they no longer change.
fn settle(name: &str, losses: &[f64]) -> Vec<f64> {
    let start: Vec<f64> = (0..losses.len()).map(|i| 20.0 + 30.0 * i as f64).collect();
    settle_from(&start, name, losses)
}

fn settle_from(start: &[f64], name: &str, losses: &[f64]) -> Vec<f64> {
    let path = |(i, &loss): (usize, &f64)| Path {
        control: AnyController::by_name(name).unwrap(),
        window: start[i] * MSS as f64,
        loss,
    };
    let mut paths: Vec<Path> = losses.iter().enumerate().map(path).collect();
    for _ in 0..10_000 {
        let drifts: Vec<f64> = (0..paths.len()).map(|own| drift(&mut paths, own)).collect();
        for (path, drift) in paths.iter_mut().zip(drifts) {
            path.window = (path.window + drift).max(MSS as f64);
        }
    }
    paths.iter().map(|p| p.window / MSS as f64).collect()
}

fn tcp(loss: f64) -> f64 {
    (2.0 * (1.0 - loss) / loss).sqrt()
}

#[track_caller]
fn near(value: f64, expected: f64, part: f64) {
    assert!((value - expected).abs() <= part * expected, "{value}, not {expected}");
}

const CONTROLS: [&str; 3] = ["lia", "olia", "balia"];

#[test]
fn one_path_is_a_tcp() {
    for name in CONTROLS {
        near(settle(name, &[1e-3])[0], tcp(1e-3), 0.01);
    }
}

/// Equal loss and round trips: all together they are one TCP, and each has an equal part (RFC 6356 §2, and the
/// same aim in the papers of OLIA and BALIA). LIA and OLIA come to that from anywhere.
#[test]
fn equal_paths_together_are_one_tcp() {
    for count in [2, 4] {
        let losses = vec![1e-4; count];
        for windows in
            [settle("lia", &losses), settle("olia", &losses), settle_from(&vec![50.0; count], "balia", &losses)]
        {
            near(windows.iter().sum(), tcp(1e-4), 0.02);
            for window in windows {
                near(window, tcp(1e-4) / count as f64, 0.05);
            }
        }
    }
}

/// Where loss does not answer to the windows, as here, BALIA's even division is a fixed point but not the one it comes
/// to from an uneven start: the smaller path gains (1+α)(4+α)/10 for each min(α, 1.5) lost, less than one for one until
/// (1+α)(4+α) = 15, at α = (−5 + √69)/2 = 1.653. The total is a TCP's all the same.
#[test]
fn balia_on_equal_paths_keeps_some_unevenness() {
    let windows = settle("balia", &[1e-4, 1e-4]);
    near(windows.iter().sum(), tcp(1e-4), 0.01);
    near(windows[1] / windows[0], (69f64.sqrt() - 5.0) / 2.0, 0.01);
}

/// Loss p and 4p: the total is a TCP's on the better path. LIA divides it as 1/p (RFC 6356's analysis: w ∝ 1/p): 4 to
/// 1.
#[test]
fn lia_divides_by_loss() {
    let windows = settle("lia", &[1e-4, 4e-4]);
    near(windows.iter().sum(), tcp(1e-4), 0.01);
    near(windows[0] / windows[1], 4.0, 0.01);
}

/// OLIA leaves the worse path to next to nothing (the paper: only the best paths are used): two segments
/// here, below which no loss brings it.
#[test]
fn olia_uses_only_the_best_path() {
    let windows = settle("olia", &[1e-4, 4e-4]);
    near(windows.iter().sum(), tcp(1e-4), 0.01);
    assert!(windows[1] < 3.0, "{windows:?}");
}

/// BALIA is between them: in equilibrium on the worse path (1+α)(4+α)/10 = 4·1.5, so α = (−5 + √249)/2 = 5.390.
#[test]
fn balia_is_between() {
    let windows = settle("balia", &[1e-4, 4e-4]);
    near(windows.iter().sum(), tcp(1e-4), 0.01);
    near(windows[0] / windows[1], (249f64.sqrt() - 5.0) / 2.0, 0.01);
}
