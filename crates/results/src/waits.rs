//! Where frames waited: the ports and their queues, and how much of all waiting was there.

use std::ops::AddAssign;
use std::sync::Arc;
use std::time::Duration;

use headway_units::Span;
use serde::{Deserialize, Serialize};

/// Frames that ports took, and the time that they waited there until their transmission began, all together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Waited {
    /// How many.
    pub frames: u64,
    /// All their waiting.
    pub time: Duration,
}

impl Waited {
    /// Seconds that a frame waited, on average; 0 without any.
    pub fn mean(self) -> f64 {
        if self.frames == 0 { 0.0 } else { self.time.as_secs_f64() / self.frames as f64 }
    }
}

impl AddAssign for Waited {
    fn add_assign(&mut self, other: Waited) {
        self.frames = self.frames.saturating_add(other.frames);
        self.time = self.time.saturating_add(other.time);
    }
}

/// Packets of a flow that carried data and arrived, and how long they waited on their way, all together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FlowWaits {
    /// How many, repeated ones included.
    pub packets: u64,
    /// At ports of hosts.
    pub hosts: Span,
    /// At ports of switches.
    pub switches: Span,
}

impl FlowWaits {
    /// Seconds that a packet waited at hosts, or else at switches, on average; `None` without any packet.
    pub fn mean(self, at_hosts: bool) -> Option<f64> {
        let sum = if at_hosts { self.hosts } else { self.switches };
        (self.packets > 0).then(|| sum.as_secs_f64() / self.packets as f64)
    }
}

/// A port at which frames waited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortWaits {
    /// Its name, `<from>><to>`.
    pub port: Arc<str>,
    /// Whether it is a host's own.
    pub host: bool,
    /// The frames, and their waiting.
    pub waited: Waited,
}

/// Where frames waited in a run, or in several.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Waits {
    /// In the queues of hosts' own ports.
    pub hosts: Waited,
    /// In those of switches.
    pub switches: Waited,
    /// The ports where they waited most in all, the one with most first. Of a run at most [`Waits::MOST`].
    pub ports: Vec<PortWaits>,
}

impl Waits {
    /// A run has no more ports than this: the others have a small part each.
    pub const MOST: usize = 16;

    /// Adds those of another run.
    pub fn add(&mut self, other: &Waits) {
        self.hosts += other.hosts;
        self.switches += other.switches;
        for port in &other.ports {
            match self.ports.iter_mut().find(|own| own.port == port.port) {
                Some(own) => own.waited += port.waited,
                None => self.ports.push(port.clone()),
            }
        }
        // stable, so that equal ones keep the order of the network
        self.ports.sort_by_key(|port| std::cmp::Reverse(port.waited.time));
    }

    /// The queue where frames waited most, of cell number `cell`; `None` if none waited.
    pub fn longest(&self, cell: u32) -> Option<LongestWait> {
        let first = self.ports.first()?;
        let all = self.hosts.time.saturating_add(self.switches.time).as_secs_f64();
        let share = |time: Duration| if all > 0.0 { time.as_secs_f64() / all } else { 0.0 };
        Some(LongestWait {
            cell,
            port: first.port.to_string(),
            host: first.host,
            mean_wait_ns: first.waited.mean() * 1e9,
            share: share(first.waited.time),
            hosts_share: share(self.hosts.time),
            hosts_mean_wait_ns: self.hosts.mean() * 1e9,
            switches_mean_wait_ns: self.switches.mean() * 1e9,
        })
    }
}

/// The queue where frames waited most, over all repeats of a cell: as the manifest has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LongestWait {
    /// The cell's index.
    pub cell: u32,
    /// The port, `<from>><to>`.
    pub port: String,
    /// Whether it is a host's own, and not a switch's.
    pub host: bool,
    /// How long a frame waited there, on average, in nanoseconds.
    pub mean_wait_ns: f64,
    /// Its part of the waiting of all frames at all ports.
    pub share: f64,
    /// The part of all hosts' own ports.
    pub hosts_share: f64,
    /// How long a frame waited at a host's own port, on average, in nanoseconds.
    pub hosts_mean_wait_ns: f64,
    /// How long a frame waited at a switch, on average and at each, in nanoseconds.
    pub switches_mean_wait_ns: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waited(frames: u64, micros: u64) -> Waited {
        Waited { frames, time: Duration::from_micros(micros) }
    }

    fn port(port: &str, host: bool, waited: Waited) -> PortWaits {
        PortWaits { port: port.into(), host, waited }
    }

    #[test]
    fn repeats_are_added_by_port() {
        let mut all = Waits::default();
        assert_eq!(all.longest(0), None);
        all.add(&Waits {
            hosts: waited(10, 100),
            switches: waited(20, 300),
            ports: vec![port("s>a", false, waited(10, 200)), port("a>s", true, waited(10, 100))],
        });
        all.add(&Waits {
            hosts: waited(10, 500),
            switches: waited(10, 100),
            ports: vec![port("a>s", true, waited(10, 500)), port("s>b", false, waited(5, 50))],
        });
        let longest = all.longest(3).unwrap();
        assert_eq!((longest.cell, longest.port.as_str(), longest.host), (3, "a>s", true));
        // 600 of 1,000 us, by 20 frames
        assert!((longest.mean_wait_ns - 30_000.0).abs() < 1e-6 && (longest.share - 0.6).abs() < 1e-12, "{longest:?}");
        assert!((longest.hosts_share - 0.6).abs() < 1e-12);
        assert!((longest.switches_mean_wait_ns - 400_000.0 / 30.0).abs() < 1e-6);
        assert_eq!(all.ports.iter().map(|port| &*port.port).collect::<Vec<_>>(), ["a>s", "s>a", "s>b"]);
    }
}
