//! The size of an experiment before it runs: flows, events, time and memory, about; and the memory that is there for it.
//!
//! Numbers of flows and frames come from the plans ([`RunSize`]). The bytes below are what an allocator counted
//! (`tests/memory.rs` holds them), the times what `docs/speed.md` has, rounded to the slower side.

use std::time::Duration;

use headway_scenario::plan::RunSize;
use headway_units::Bytes;

use crate::cell::CellPlan;
use crate::error::Error;
use crate::experiment::Experiment;
use crate::live::Live;
use crate::machine::{Room, text};

/// Frames that cross a link in a second, on one core.
const HOPS_PER_SECOND: f64 = 8e6;
/// Seconds that a flow takes beside its frames: opened, closed, written down.
const SECONDS_PER_FLOW: f64 = 5e-6;
/// Seconds that a sample takes.
const SECONDS_PER_SAMPLE: f64 = 3e-7;

/// Bytes of a network while a scenario is planned and run: a directed link, a host or a switch.
const PLANNED: [f64; 2] = [150.0, 350.0];
/// And in each run.
const RUN: [f64; 2] = [370.0, 300.0];
/// A directed link with lossless ports, beyond that.
const LOSSLESS: f64 = 2300.0;
/// A connection that is open, with its flow.
const OPEN: f64 = 2000.0;
/// What is known of a flow until its run is written down.
const FLOW: f64 = 500.0;
/// The same of a sample.
const SAMPLE: f64 = 150.0;
/// A frame on its way, and its place in a scoreboard.
const FRAME: f64 = 100.0;
/// Any run.
const ANY: f64 = 4e6;

/// More than an estimate of memory is wrong by: a run that needs this many times what is there is not begun.
const CERTAIN: f64 = 2.0;

/// The size of an experiment, about.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Estimate {
    /// Its runs.
    pub runs: usize,
    /// Flows of modelled hosts, of all runs.
    pub flows: f64,
    /// Frames that cross a link, of all runs.
    pub hops: f64,
    /// Time of one core, of all runs.
    pub processor: Duration,
    /// Bytes that the largest run takes.
    pub largest: f64,
    /// Bytes of it that it takes in any case: its network, and flows that start together.
    pub certain: f64,
    /// Bytes of the networks of all points, which are there all the while.
    pub networks: f64,
    /// Some runs are on kernels, of which it says nothing.
    pub kernels: bool,
}

impl Estimate {
    /// Bytes that so many runs at a time take.
    pub fn memory(&self, threads: usize) -> f64 {
        self.networks + self.largest * threads.clamp(1, self.runs.max(1)) as f64
    }

    /// The time that it takes with so many runs at a time.
    pub fn time(&self, threads: usize) -> Duration {
        self.processor.div_f64(threads.clamp(1, self.runs.max(1)) as f64)
    }

    /// A warning if it takes more than there is, with `threads` runs at a time.
    pub fn warning(&self, threads: usize, room: &Room) -> Option<String> {
        let threads = threads.clamp(1, self.runs.max(1));
        let (needs, left) = (text(Bytes::new(self.largest as u64)), text(room.left));
        let of = room.of.name();
        match self.fitting(threads, room) {
            0 => Some(format!("a run takes about {needs} of memory, and {of} has {left} left: it will not be begun")),
            _ if self.largest > room.left.get() as f64 => {
                Some(format!("a run takes about {needs} of memory, and {of} has {left} left: it may end early"))
            }
            fitting if fitting < threads => Some(format!(
                "a run takes about {needs} of memory, and {of} has {left} left: {fitting} runs at a time, not {threads}"
            )),
            _ => None,
        }
    }

    /// How many runs at a time find room, at most `threads`; none if not even one does.
    pub(crate) fn fitting(&self, threads: usize, room: &Room) -> usize {
        let left = room.left.get() as f64;
        let all = left / self.largest.max(1.0);
        if all >= 1.0 {
            return (all as usize).min(threads);
        }
        usize::from(self.certain <= left && self.largest <= CERTAIN * left)
    }
}

/// Bytes of a run of this size: all, and those that it takes in any case.
fn bytes(size: &RunSize, lossless: bool) -> (f64, f64) {
    let link = RUN[0] + if lossless { LOSSLESS } else { 0.0 };
    let network = ANY + size.links * link + size.nodes * RUN[1];
    let all = network + size.open * OPEN + size.flows * FLOW + size.in_flight * FRAME + size.samples * SAMPLE;
    (all, network + size.together * (OPEN + FLOW))
}

impl Experiment {
    /// Its size with so many repeats, about: the policies of a point have the same traffic, unequal in how it is carried.
    pub fn estimate(&self, repeats: u32) -> Estimate {
        let mut all = Estimate { runs: self.plans.len() * repeats as usize, ..Estimate::default() };
        for point in self.plans.chunks(self.scenario.policy.len().max(1)) {
            let sizes = CellPlan::sizes(point);
            all.networks += sizes.first().map_or(0.0, |size| size.links * PLANNED[0] + size.nodes * PLANNED[1]);
            for (plan, size) in point.iter().zip(&sizes) {
                let times = f64::from(repeats);
                let seconds =
                    size.hops / HOPS_PER_SECOND + size.flows * SECONDS_PER_FLOW + size.samples * SECONDS_PER_SAMPLE;
                all.flows += times * size.flows;
                all.hops += times * size.hops;
                all.processor += Duration::try_from_secs_f64(times * seconds).unwrap_or(Duration::MAX / 1_000_000);
                all.kernels |= plan.place().is_some();
                let (largest, certain) = bytes(size, plan.is_lossless());
                all.largest = all.largest.max(largest);
                all.certain = all.certain.max(certain);
            }
        }
        all
    }

    /// How many of `threads` runs at a time find room for what they take.
    ///
    /// # Errors
    /// If not even one does.
    pub(crate) fn find_room(&self, threads: usize, repeats: u32) -> Result<usize, Error> {
        let Some(room) = Room::now() else { return Ok(threads) };
        let estimate = self.estimate(repeats);
        match estimate.fitting(threads, &room) {
            0 => Err(Error::Memory { needs: Bytes::new(estimate.largest as u64), room }),
            fitting => Ok(fitting),
        }
    }
}

/// Looks now and then whether there is room for a run to go on, and for what is made of it at its end.
#[derive(Debug)]
pub(crate) struct Watch {
    live: Live,
    looked: std::time::Instant,
    /// So much is left alone. Known at the first look, which short runs do not come to.
    reserve: Option<f64>,
}

/// The time between two looks.
const LOOK: Duration = Duration::from_millis(50);

/// There is no room for a run to go on.
#[derive(Debug, thiserror::Error)]
#[error("{} has {} of memory left, which is too little to go on", room.of.name(), text(room.left))]
pub(crate) struct Full {
    pub room: Room,
}

impl Watch {
    pub fn new(live: Live) -> Watch {
        Watch { live, looked: std::time::Instant::now(), reserve: None }
    }

    /// Whether the run may go on.
    pub fn look(&mut self) -> Result<(), Full> {
        if self.looked.elapsed() < LOOK {
            return Ok(());
        }
        self.looked = std::time::Instant::now();
        let Some(room) = Room::now() else { return Ok(()) };
        let left = room.left.get() as f64;
        // of a small machine less is left alone
        let reserve = *self.reserve.get_or_insert((left / 8.0).min(128e6));
        let look = self.live.look();
        // records and their encoded form come when flows and samples are there still
        let to_come = (look.done + look.open) as f64 * FLOW / 2.0 + look.samples as f64 * SAMPLE / 2.0;
        if left > reserve + to_come { Ok(()) } else { Err(Full { room }) }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_run_goes_on_while_there_is_room() {
        let long_ago = || Instant::now().checked_sub(Duration::from_secs(1)).unwrap();
        let watch = |reserve, looked| Watch { live: Live::default(), looked, reserve: Some(reserve) };
        assert!(watch(0.0, long_ago()).look().is_ok());
        let full = watch(f64::INFINITY, long_ago()).look().unwrap_err().to_string();
        assert!(full.ends_with("of memory left, which is too little to go on"), "{full}");
        assert!(watch(f64::INFINITY, Instant::now()).look().is_ok(), "it looks now and then only");
    }
}
