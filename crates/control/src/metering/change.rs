//! Has the load changed? A sum of deviations for each port (CUSUM: Page 1954, doi:10.1093/biomet/41.1-2.100), on the
//! logarithm of its rate, with a robust reference.

use super::reading::Window;
use super::robust::{deviation, median};

/// Windows from which a reference is made.
pub(super) const REFERENCE: usize = 8;
/// Deviations up to this count for nothing, in standard deviations.
const SLACK: f64 = 1.0;
/// What one window counts at most, so that an odd one is no change.
const MOST: f64 = 4.0;
/// A sum that is a change: three windows at least.
const ALARM: f64 = 9.0;
/// Standard deviations are taken for at least this: rates within a few percent are the same load.
const LEAST_DEVIATION: f64 = 0.04;
/// A change moves a rate by a quarter at least.
const LEAST_CHANGE: f64 = 0.25;
/// A port whose rate is below this part of the largest is idle.
const IDLE: f64 = 1e-3;
/// Below this rate a port is idle whatever others do, bits per second.
const SILENT: f64 = 1_000.0;

/// A port's usual rate, and how far it has been from it of late.
#[derive(Debug, Clone, Copy, Default)]
struct Track {
    usual: f64,
    deviation: f64,
    up: f64,
    down: f64,
    /// Of the last window and the one before, and before that.
    recent: [f64; 3],
}

/// Watches for changes of the load under unchanged limits.
#[derive(Debug, Clone)]
pub(super) struct ChangeDetector {
    learned: Vec<Vec<f64>>,
    tracks: Vec<Track>,
    idle_below: f64,
    since_learned: usize,
}

impl ChangeDetector {
    pub fn new(ports: usize) -> ChangeDetector {
        ChangeDetector {
            learned: vec![Vec::new(); ports],
            tracks: vec![Track::default(); ports],
            idle_below: SILENT,
            since_learned: 0,
        }
    }

    /// Whether there is a reference.
    pub fn is_ready(&self) -> bool {
        self.learned.iter().all(|port| port.len() >= REFERENCE)
    }

    /// Forgets the reference.
    pub fn forget(&mut self) {
        self.learned.iter_mut().for_each(Vec::clear);
    }

    /// The usual rate of a port, bits per second.
    pub fn usual(&self, port: usize) -> f64 {
        libm::exp(self.tracks[port].usual)
    }

    fn is_idle(&self, track: &Track) -> bool {
        libm::exp(track.usual) < 2.0 * self.idle_below
    }

    /// Which ports are active by the reference.
    pub fn active(&self) -> Vec<bool> {
        self.tracks.iter().map(|track| !self.is_idle(track)).collect()
    }

    /// Whether a port that was idle has begun, whatever the limits are.
    pub fn wakes(&self, window: &Window) -> bool {
        let begins = |(track, rate): (&Track, f64)| self.is_idle(track) && rate > 20.0 * self.idle_below;
        self.is_ready() && self.tracks.iter().zip(window.ports.iter().map(|port| port.rate)).any(begins)
    }

    /// Takes in a window under the limits of the reference. True if the load has changed.
    pub fn observe(&mut self, window: &Window) -> bool {
        if !self.is_ready() {
            self.learn(window);
            return false;
        }
        self.since_learned += 1;
        let mut changed = false;
        for (track, port) in self.tracks.iter_mut().zip(&window.ports) {
            let level = libm::log(port.rate.max(self.idle_below));
            let off = (level - track.usual) / track.deviation;
            track.up = (track.up + off.min(MOST) - SLACK).max(0.0);
            track.down = (track.down - off.max(-MOST) - SLACK).max(0.0);
            track.recent = [level, track.recent[0], track.recent[1]];
            let far = (median(track.recent) - track.usual).abs() > LEAST_CHANGE;
            changed |= self.since_learned >= 3 && far && (track.up > ALARM || track.down > ALARM);
        }
        changed
    }

    fn learn(&mut self, window: &Window) {
        for (learned, port) in self.learned.iter_mut().zip(&window.ports) {
            learned.push(port.rate);
        }
        if !self.is_ready() {
            return;
        }
        let usual: Vec<f64> = self.learned.iter().map(|rates| median(rates.iter().copied())).collect();
        self.idle_below = usual.iter().copied().fold(SILENT / IDLE, f64::max) * IDLE;
        self.since_learned = 0;
        for (track, rates) in self.tracks.iter_mut().zip(&self.learned) {
            let levels: Vec<f64> = rates.iter().map(|rate| libm::log(rate.max(self.idle_below))).collect();
            let usual = median(levels.iter().copied());
            // eight values tell a deviation badly: half as much again
            let deviation = (1.5 * deviation(&levels)).max(LEAST_DEVIATION);
            *track = Track { usual, deviation, ..Track::default() };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::reading::PortWindow;
    use super::*;

    fn window(rates: &[f64]) -> Window {
        Window {
            ports: rates.iter().map(|&rate| PortWindow { rate, goodput: rate, ..PortWindow::default() }).collect(),
        }
    }

    fn ready(rates: &[f64]) -> ChangeDetector {
        let mut detector = ChangeDetector::new(rates.len());
        for _ in 0..REFERENCE {
            assert!(!detector.observe(&window(rates)));
        }
        assert!(detector.is_ready());
        detector
    }

    #[test]
    fn a_lasting_change_is_found_within_four_windows_and_an_odd_window_is_none() {
        let mut detector = ready(&[1e8, 5e7]);
        assert!(!detector.observe(&window(&[1e8, 5e9])));
        assert!((0..20).all(|_| !detector.observe(&window(&[1e8, 5e7]))), "one odd window");
        let found = (0..4).position(|_| detector.observe(&window(&[1e8, 2.5e7])));
        assert!(found.is_some(), "half the load");
        let mut detector = ready(&[1e8, 5e7]);
        assert!((0..1000).all(|i| !detector.observe(&window(&[1e8 * (1.0 + 0.03 * f64::from(i % 3 - 1)), 5e7]))));
    }

    #[test]
    fn idle_ports_are_told_from_active_ones_and_wake() {
        let detector = ready(&[1e9, 1e3, 2e8]);
        assert_eq!(detector.active(), [true, false, true]);
        assert!(!detector.wakes(&window(&[1e9, 1e5, 2e8])));
        assert!(detector.wakes(&window(&[1e9, 1e8, 2e8])));
    }
}
