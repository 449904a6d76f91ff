//! Goodput of every control over loss and buffers, as tables that are checked in: `tests/snapshots/`.
//!
//! These numbers are the program's own, not theory's: a change of behaviour shows as a difference that can be read. If
//! it is meant, `UPDATE=1 cargo test -p headway-transport --test grid` writes the tables anew. One flow has a link of 20
//! Mb/s and a round trip of 20 ms for ten seconds, of which the first two do not count; a coupled control has two subflows
//! on two links of half the rate each, with as many frames of buffer. Figures are per cent of what the links carry in payload.

mod common;

use std::fmt::Write as _;
use std::path::PathBuf;

use common::{FULL, Setup, dumbbell, limited, lossy, parallel, wire};
use headway_control::congestion::AnyController;
use headway_fabric::{Limit, Wire};
use headway_transport::{LinuxRecovery, Multipath, Profile, Recovery, Reduction, SampleKind, Scheduler};
use headway_units::{Rate, Span};

const RATE: Rate = Rate::from_mbps(20);
const ROUND_TRIP: Span = Span::from_millis(20);
const WARMUP: Span = Span::from_secs(2);
const SPAN: Span = Span::from_secs(10);
/// Of random loss at the link, per cent.
const LOSSES: [f64; 5] = [0.0, 0.01, 0.1, 1.0, 3.0];
/// Of buffer, bandwidth–delay products.
const BUFFERS: [f64; 4] = [0.1, 0.5, 1.0, 2.0];

/// Per cent of what the links carry.
fn goodput(profile: &Profile, loss: f64, buffer: f64) -> f64 {
    let coupled = profile.control.is_coupled();
    let rate = if coupled { Rate::from_bps(RATE.bps() / 2) } else { RATE };
    let product = RATE.bps() as f64 * ROUND_TRIP.as_secs_f64() / 8.0 / FULL as f64;
    let frames = ((product * buffer) as u32).max(1);
    let link: Wire = limited(lossy(wire(rate, ROUND_TRIP / 2), loss / 100.0), Limit::Packets(frames));
    let access = wire(Rate::from_gbps(1), Span::ZERO);
    let (net, pair) = if coupled {
        let net = parallel(access, &[(link, 0), (link, 0)]);
        (net.net, net.multi)
    } else {
        let net = dumbbell(&[access], link);
        (net.net, net.pairs[0])
    };
    let scheduler = if profile.recovery.is_linux() { Scheduler::Linux } else { Scheduler::LowestRtt };
    let multipath = Multipath { subflows: Some(2), scheduler, ..Multipath::default() };
    let profile = Profile { multipath: coupled.then_some(multipath), ..profile.clone() };
    let payload = f64::from(profile.mss) / f64::from(profile.mss + profile.overhead + 20);
    let outcome = Setup::new(&net, profile)
        .flow(pair, None, Span::ZERO)
        .sample(Span::from_secs(1), &[SampleKind::Goodput])
        .run(SPAN);
    100.0 * outcome.goodput(0, WARMUP) / (RATE.bps() as f64 * payload)
}

/// The stack under a control. One that sets its window or measures delivery has no place in a sender by the letter of the
/// RFCs (a scenario refuses it): it gets Linux' state machine with all their other parts off.
fn under(control: &str, stack: &Profile) -> Profile {
    let control = AnyController::by_name(control).expect("a known control");
    let measures = control.manages_cwnd() || control.wants_delivery();
    let least =
        LinuxRecovery { rack: false, reduction: Reduction::AtOnce, tail_loss_probe: false, f_rto: false, undo: false };
    let recovery = if measures && !stack.recovery.is_linux() { Recovery::Linux(least) } else { stack.recovery };
    // without ECN Linux would run Reno in DCTCP's place; no queue here marks
    let ecn = control.dctcp_ecn();
    Profile { control, ecn, recovery, ..stack.clone() }
}

/// A table per buffer, a row per control, a column per loss.
fn tables(stack: &Profile) -> String {
    let mut text = String::from("goodput, per cent of capacity, at 20 Mb/s and 20 ms; columns: random loss\n");
    for buffer in BUFFERS {
        write!(text, "\n{:<12}", format!("{buffer} BDP")).expect("a string takes all");
        for loss in LOSSES {
            write!(text, "{:>8}", format!("{loss} %")).expect("a string takes all");
        }
        text.push('\n');
        for name in AnyController::NAMES {
            let profile = under(name, stack);
            write!(text, "{name:<12}").expect("a string takes all");
            for loss in LOSSES {
                let share = goodput(&profile, loss, buffer);
                assert!(share < 100.5, "{name}, {loss} %, {buffer}: {share} % of what the link carries");
                write!(text, "{share:>8.0}").expect("a string takes all");
            }
            text.push('\n');
        }
    }
    text
}

fn check(name: &str, stack: &Profile) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots").join(name);
    let got = tables(stack);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, got).expect("the folder can be written to");
        return;
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    let differ: Vec<_> = kept.lines().zip(got.lines()).filter(|(a, b)| a != b).collect();
    assert!(kept == got, "{name} has changed (UPDATE=1 writes it anew), before and after: {differ:#?}");
}

#[test]
fn the_stack_of_the_rfcs() {
    check("goodput-rfc.txt", &Profile::default());
}

#[test]
fn the_stack_of_linux() {
    // timestamps take 12 bytes of each segment
    check("goodput-linux.txt", &Profile { mss: 1448, overhead: 70, ..Profile::linux() });
}
