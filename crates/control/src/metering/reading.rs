//! Counters of ports as a switch has them, and the windows between two readings.

use headway_units::{Bytes, Rate, Span, Time};

/// Frames may be counted a little after they crossed a port, so a window may seem to hold more than the line carries.
const COUNTED_LATE: f64 = 1.5;

/// Bytes of a full Ethernet frame (IEEE 802.3 §3.2.7: 1,500 of data, 18 around them).
const FULL_FRAME: f64 = 1_518.0;

/// What a port has counted in one direction since it came up: `rtnl_link_stats64` and a queue discipline's statistics, on
/// Linux.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Bytes that crossed the port. Grows, but for a reset or a wrap.
    pub bytes: u64,
    /// Frames that crossed the port. Grows likewise.
    pub packets: u64,
    /// Frames that were dropped here: by the queue before the port, or by a limit. Grows likewise.
    pub drops: u64,
    /// Bytes that wait now.
    pub queue: Bytes,
}

/// A direction at a port of a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the neighbour into the switch.
    Into,
    /// Out of the switch to the neighbour.
    Out,
}

/// All that is read of one port at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reading {
    /// What came from the neighbour.
    pub into: Counters,
    /// What left for the neighbour.
    pub out: Counters,
    /// A round trip inferred from headers, if the switch looks at them.
    pub rtt: Option<Span>,
    /// Open connections inferred from headers, if the switch looks at them.
    pub connections: Option<u32>,
}

/// What a controller is told about a port before it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortSpec {
    /// The line's rate, each way.
    pub line: Rate,
    /// Whether it may be limited. Others are observed only.
    pub limitable: bool,
    /// Whether its traffic counts in the objective: a server's port carries again what its clients' ports carry.
    pub counted: bool,
    /// Whether it is of the class that [`super::Objective::Protect`] protects.
    pub protected: bool,
    /// Whether a host is behind it, and no other switch: frames enter and leave the network there.
    pub edge: bool,
}

/// A port during a window.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct PortWindow {
    /// What is known to have got through, bits per second.
    pub goodput: f64,
    /// Bytes in the counted direction, bits per second: what a limit sees.
    pub rate: f64,
    /// Time that the longest queue of the port takes at its line's rate, seconds.
    pub queueing: f64,
    /// The inferred round trip, seconds.
    pub rtt: Option<f64>,
}

/// The ports between two readings.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Window {
    pub ports: Vec<PortWindow>,
}

/// Turns readings into windows.
///
/// A window is valid only if every counter of every port grew, and by no more than its line could carry. After a reset, a
/// wrap or a jump it cannot be known what crossed the port, so the window counts for nothing; the next one is whole again.
/// Wraps of 64-bit counters take years, and those of 32-bit ones look like resets: they cost one window.
#[derive(Debug, Clone)]
pub(super) struct Monitor {
    ports: Vec<PortSpec>,
    direction: Direction,
    last: Option<(Time, Vec<Reading>)>,
}

impl Monitor {
    pub fn new(ports: Vec<PortSpec>, direction: Direction) -> Monitor {
        Monitor { ports, direction, last: None }
    }

    pub fn ports(&self) -> &[PortSpec] {
        &self.ports
    }

    /// Ends a window. `None` if there is no valid one: at the first reading, if time stood still, if the number of
    /// readings is wrong, or after a counter that cannot be.
    pub fn window(&mut self, now: Time, readings: &[Reading]) -> Option<Window> {
        if readings.len() != self.ports.len() {
            return None;
        }
        if self.last.as_ref().is_some_and(|(at, _)| *at >= now) {
            return None;
        }
        let (at, before) = self.last.replace((now, readings.to_vec()))?;
        let seconds = now.since(at).as_secs_f64();
        let (mut refused, mut entered) = (0.0, 0.0);
        for ((spec, old), new) in self.ports.iter().zip(&before).zip(readings) {
            plausible(spec.line, seconds, &old.into, &new.into)?;
            plausible(spec.line, seconds, &old.out, &new.out)?;
            // switches count dropped frames, not their bytes: they are as long as those that left
            refused += (new.out.drops - old.out.drops) as f64 * frame(&old.out, &new.out);
            if spec.edge {
                entered += (new.into.bytes - old.into.bytes) as f64 * passed(&old.into, &new.into);
            }
        }
        // Which port's frames were dropped on their way out is not counted: all that enter lose alike. A frame enters at the
        // edge, by whatever port, and is dropped once at most, however many switches it passes. Bytes, since acknowledgements
        // are as many as data and hardly ever dropped.
        let through = if entered > 0.0 { 1.0 - (refused / entered).min(1.0) } else { 1.0 };
        let ports = self.ports.iter().zip(&before).zip(readings).map(|((spec, old), new)| {
            let (from, to) = match self.direction {
                Direction::Into => (&old.into, &new.into),
                Direction::Out => (&old.out, &new.out),
            };
            let bytes = (to.bytes - from.bytes) as f64;
            let kept = match self.direction {
                Direction::Into => passed(from, to) * through,
                Direction::Out => 1.0,
            };
            // a port that is read only is there for its drops and its queue
            let observed = spec.counted || spec.limitable;
            let rate = if observed { bytes * 8.0 / seconds } else { 0.0 };
            let queue = new.into.queue.max(new.out.queue).get();
            let queueing = queue as f64 * 8.0 / (spec.line.bps().max(1)) as f64;
            PortWindow { goodput: rate * kept, rate, queueing, rtt: new.rtt.map(Span::as_secs_f64) }
        });
        Some(Window { ports: ports.collect() })
    }
}

/// The part of the frames that were not dropped.
fn passed(old: &Counters, new: &Counters) -> f64 {
    let packets = (new.packets - old.packets).max(1) as f64;
    1.0 - ((new.drops - old.drops) as f64 / packets).min(1.0)
}

/// The mean bytes of a frame; those of a full one if there was none.
fn frame(old: &Counters, new: &Counters) -> f64 {
    let packets = new.packets - old.packets;
    if packets == 0 { FULL_FRAME } else { (new.bytes - old.bytes) as f64 / packets as f64 }
}

/// Whether `new` can follow `old` on a line of `rate` after `seconds`.
fn plausible(rate: Rate, seconds: f64, old: &Counters, new: &Counters) -> Option<()> {
    let bytes = new.bytes.checked_sub(old.bytes)?;
    new.packets.checked_sub(old.packets)?;
    new.drops.checked_sub(old.drops)?;
    let most = rate.bps() as f64 / 8.0 * seconds * COUNTED_LATE + 65_536.0;
    (bytes as f64 <= most).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PORT: PortSpec =
        PortSpec { line: Rate::from_mbps(8), limitable: true, counted: true, protected: false, edge: true };

    fn reading(bytes: u64, packets: u64, drops: u64) -> Reading {
        let counters = Counters { bytes, packets, drops, queue: Bytes::ZERO };
        Reading { into: counters, ..Reading::default() }
    }

    #[test]
    fn a_window_is_the_difference_of_two_readings_without_what_was_dropped() {
        let mut monitor = Monitor::new(vec![PORT], Direction::Into);
        let at = |s| Time::ZERO + Span::from_secs(s);
        assert_eq!(monitor.window(at(1), &[reading(1_000, 1, 0)]), None, "nothing to compare with");
        let window = monitor.window(at(3), &[reading(501_000, 501, 50)]).unwrap();
        assert_eq!((window.ports[0].rate, window.ports[0].goodput), (2_000_000.0, 1_800_000.0));
    }

    #[test]
    fn resets_jumps_and_standing_clocks_give_no_window_and_the_next_is_whole() {
        let mut monitor = Monitor::new(vec![PORT], Direction::Into);
        let at = |s| Time::ZERO + Span::from_secs(s);
        assert!(monitor.window(at(1), &[reading(1_000_000, 10, 0)]).is_none());
        assert!(monitor.window(at(2), &[reading(500_000, 10, 0)]).is_none(), "a reset");
        assert!(monitor.window(at(3), &[reading(1_000_000, 10, 0)]).is_some());
        assert!(monitor.window(at(4), &[reading(9_000_000, 10, 0)]).is_none(), "64 Mb in a second of 8");
        assert!(monitor.window(at(4), &[reading(9_000_000, 10, 0)]).is_none(), "no time has passed");
        assert!(monitor.window(at(5), &[]).is_none(), "a port is missing");
        assert!(monitor.window(at(5), &[reading(9_500_000, 10, 0)]).is_some());
    }

    #[test]
    fn drops_on_the_way_out_count_against_all_that_came_in() {
        let mut monitor = Monitor::new(vec![PORT; 2], Direction::Into);
        let at = |s| Time::ZERO + Span::from_secs(s);
        monitor.window(at(0), &[reading(0, 0, 0); 2]);
        let mut second = reading(500_000, 500, 0);
        // frames of 1,000 bytes, of which a tenth is dropped
        (second.out.bytes, second.out.packets, second.out.drops) = (900_000, 900, 100);
        let window = monitor.window(at(1), &[reading(500_000, 500, 0), second]).unwrap();
        assert_eq!(window.ports.iter().map(|port| port.goodput).collect::<Vec<_>>(), [3_600_000.0; 2]);
    }

    /// A port that is not counted loses half of what it sends; acknowledgements of 64 bytes come back, as many as data.
    #[test]
    fn losses_of_ports_that_do_not_count_are_not_those_of_the_others_alone() {
        let cross = PortSpec { limitable: false, counted: false, ..PORT };
        let mut monitor = Monitor::new(vec![PORT, cross, cross], Direction::Into);
        let at = |s| Time::ZERO + Span::from_secs(s);
        monitor.window(at(0), &[reading(0, 0, 0); 3]);
        let mut server = reading(9_600, 150, 0);
        (server.out.bytes, server.out.packets, server.out.drops) = (150_000, 150, 50);
        // the counted port sends 50 frames of 1,000 bytes, the other 150
        let readings = [reading(50_000, 50, 0), reading(150_000, 150, 0), server];
        let window = monitor.window(at(1), &readings).unwrap();
        // 50,000 of 209,600 bytes were dropped; by frames of counted ports it was all that they sent
        let goodput = 400_000.0 * (1.0 - 50_000.0 / 209_600.0);
        assert!((window.ports[0].goodput - goodput).abs() < 1e-6, "{:?}", window.ports);
    }
}
