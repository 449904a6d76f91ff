//! All flows of a run in one order: by time, at equal times in the order of the file.

use headway_transport::{Application, FlowStart};
use headway_units::Time;

use super::traffic::{Planned, Starts};

/// The traffic of one run.
pub(super) struct Workload<'a> {
    /// In the order of the file.
    parts: Vec<Starts<'a>>,
}

impl<'a> Workload<'a> {
    pub fn new(parts: impl Iterator<Item = Starts<'a>>) -> Workload<'a> {
        Workload { parts: parts.collect() }
    }

    /// What acts first, and when.
    fn first(&mut self) -> Option<(Time, &mut Starts<'a>)> {
        let times = self.parts.iter_mut().enumerate().filter_map(|(place, part)| Some((part.next_time()?, place)));
        let (time, place) = times.min()?;
        Some((time, &mut self.parts[place]))
    }
}

/// The flows that nothing but time waits for.
impl Iterator for Workload<'_> {
    type Item = FlowStart;

    fn next(&mut self) -> Option<FlowStart> {
        let (time, first) = self.first()?;
        first.start(time)
    }
}

impl Application for Workload<'_> {
    fn next(&mut self) -> Time {
        self.first().map_or(Time::NEVER, |(time, _)| time)
    }

    fn act(&mut self, now: Time) -> Option<FlowStart> {
        self.first()?.1.start(now)
    }

    fn listens(&self) -> bool {
        self.parts.iter().any(Starts::waits)
    }

    fn completed(&mut self, at: Time, id: u64) {
        let traffic = Planned::traffic_of(id);
        if let Some(part) = self.parts.iter_mut().find(|part| part.index() == traffic) {
            part.completed(at, id);
        }
    }
}
