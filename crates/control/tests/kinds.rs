//! A congestion control is a file of its own and a line in a list; and what a transport drives is a public trait, so that
//! one can be written and tested outside the crate. docs/adding/congestion-control.md shows this example.

use std::fs;
use std::path::Path;

use headway_control::congestion::{Ack, AnyController, Cause, CongestionControl, Event, Window};
use headway_units::Time;

/// Additive increase by a segment and multiplicative decrease by an eighth, for every window.
#[derive(Debug, Clone, Default)]
struct Gentle {
    acked: u64,
}

impl CongestionControl for Gentle {
    fn on_ack(&mut self, ack: &Ack<'_>, window: &mut Window) {
        self.acked += if window.in_slow_start() { window.slow_start(ack.acked) } else { ack.acked };
        if self.acked >= window.cwnd {
            self.acked -= window.cwnd;
            window.cwnd += u64::from(window.mss);
        }
    }

    fn on_congestion(&mut self, event: &Event<'_>, window: &mut Window) {
        window.ssthresh = window.reduced(event.flight, 7.0 / 8.0);
    }
}

/// 16 segments: a loss leaves 14, and a window of acknowledgements brings one more.
#[test]
fn a_control_outside_the_crate() {
    let mut gentle = Gentle::default();
    let mut window = Window::initial(16, 1000);
    gentle.on_congestion(&Event::of(Time::ZERO, Cause::Loss, window.cwnd), &mut window);
    assert_eq!(window.ssthresh, 14_000);
    window.cwnd = window.ssthresh;
    for _ in 0..14 {
        gentle.on_ack(&Ack::of(Time::ZERO, 1000), &mut window);
    }
    assert_eq!(window.cwnd, 15_000);
}

/// The list of `congestion/mod.rs` names every control with its type; no file but the control's own, those of controls
/// that build on it, and the list knows the type.
#[test]
fn a_control_is_named_in_two_files() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/congestion");
    let list = fs::read_to_string(folder.join("mod.rs")).unwrap();
    let lines =
        list.lines().filter_map(|line| line.trim().split_once(" => ")).filter(|(name, _)| name.starts_with('"'));
    let kinds: Vec<&str> = lines.filter_map(|(_, rest)| rest.split_once(" in ")).map(|(kind, _)| kind).collect();
    assert_eq!(kinds.len(), AnyController::NAMES.len());
    for kind in kinds {
        let implements = format!("impl CongestionControl for {kind} ");
        let mut own = 0;
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let Ok(text) = fs::read_to_string(&path) else { continue };
            own += usize::from(text.contains(&implements));
            let a_control = text.contains("impl CongestionControl for") || path.ends_with("mod.rs");
            let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
            let mut lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
            let of_tests = ["harness.rs", "response.rs", "bottleneck.rs", "coupled_tests.rs"];
            if !a_control && !of_tests.iter().any(|name| path.ends_with(name)) {
                let words = |line: &str| line.split(|c: char| !c.is_alphanumeric()).any(|word| word == kind);
                assert!(!lines.any(words), "{kind} is named in {}", path.display());
            }
        }
        assert_eq!(own, 1, "{kind} has one file");
    }
}
