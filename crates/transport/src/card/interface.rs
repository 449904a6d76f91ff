//! One interface of a card: what waits for its line, and the next event.

use headway_control::pacing::{Choice, ClassSpec, FlowIndex, Line, Pace, Schedule};
use headway_engine::{EventClass, EventQueue, Source};
use headway_fabric::{Endpoint, Wire};
use headway_units::{Bytes, Span, Time};

use super::line::{GapRun, Progress};
use super::{ACKNOWLEDGEMENTS, CardCounters, CardModel, FlowRate, REST, Release};
use crate::segment::{Frame, NO_EXTRA, Segment};
use crate::timer::{Fired, Timer};

/// A frame that waits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outgoing {
    pub to: Endpoint,
    pub frame: Frame,
}

/// A flow at an interface.
#[derive(Debug, Clone, Copy)]
pub(super) struct Flow {
    index: FlowIndex,
    pub rate: FlowRate,
}

/// What an interface does now.
#[derive(Debug)]
pub(crate) enum Next {
    /// Nothing.
    Wait,
    /// A frame leaves: see [`Cards::leave`](super::Cards::leave).
    Frame,
    /// This gap frame leaves.
    Gap(Frame),
}

#[derive(Debug)]
pub(super) struct Interface {
    number: u32,
    /// Which of the cards it belongs to.
    pub card: usize,
    release: Release,
    schedule: Schedule<Outgoing>,
    acknowledgements: FlowIndex,
    progress: Progress,
    /// Gap frames under way, or to follow the frame that is.
    run: Option<GapRun>,
    timer: Timer,
    choice: Option<Choice>,
    counters: CardCounters,
    /// Bytes of the line between frames.
    between: u32,
    /// Where gap frames go.
    route: u32,
    pub gaps_in_flight: u64,
}

impl Interface {
    pub fn new(number: u32, card: usize, wire: &Wire, model: &CardModel, route: u32) -> Interface {
        let between = wire.gap.get() as u32;
        let line = Line::of_wire(wire.rate, model.mtu).between(between);
        let own = model.classes.iter().map(|class| ClassSpec { limit: class.limit, share: class.share });
        let rest = ClassSpec { limit: None, share: 1 };
        let mut classes = vec![rest, rest];
        classes.extend(own);
        // half of the line, if it comes to that: acknowledgements that waited would slow down the other direction
        classes[ACKNOWLEDGEMENTS].share = classes[REST..].iter().map(|class| class.share).sum();
        let patience = match model.release {
            Release::Timer(granularity) => wire.rate.bytes_in(granularity).get(),
            Release::Gap | Release::GapFrames => 0,
        };
        let mut schedule = Schedule::new(line, model.limit, &classes, patience);
        let acknowledgements = schedule.open(ACKNOWLEDGEMENTS, model.burst);
        Interface {
            number,
            card,
            release: model.release,
            schedule,
            acknowledgements,
            progress: Progress { free: Time::ZERO, position: 0 },
            run: None,
            timer: Timer::OFF,
            choice: None,
            counters: CardCounters::default(),
            between,
            route,
            gaps_in_flight: 0,
        }
    }

    pub fn waiting(&self) -> usize {
        self.schedule.len()
    }

    pub fn is_full(&self, model: &CardModel) -> bool {
        self.schedule.len() >= model.queue as usize
    }

    pub fn count_drop(&mut self) {
        self.counters.drops += 1;
    }

    /// Bytes of the line between frames.
    pub fn overhead(&self) -> u32 {
        self.between
    }

    /// What has been done until `now`; gap frames that begin then are.
    pub fn counters(&self, now: Time) -> CardCounters {
        let mut counters = self.counters;
        if let Some(run) = &self.run {
            let begun = run.begun(now.saturating_add(Span::from_picos(1)), self.schedule.line());
            let bytes = begun.end.position - self.progress.position;
            count_gaps(&mut counters, begun.frames, bytes, self.between);
        }
        counters
    }

    /// A flow that begins to send here: of a class of the model, or of none.
    pub fn open(&mut self, class: Option<usize>, model: &CardModel) -> Flow {
        let rate = class.and_then(|class| model.classes[class].rate).unwrap_or(model.rate);
        let class = class.map_or(REST, |class| REST + 1 + class);
        Flow { index: self.schedule.open(class, model.burst), rate }
    }

    pub fn close(&mut self, flow: Flow) {
        self.schedule.close(flow.index);
    }

    fn source(&self) -> Source {
        Source::new(EventClass::Card, self.number)
    }

    /// Takes in a frame of `flow`, or an acknowledgement.
    pub fn push(&mut self, now: Time, flow: Option<Flow>, paced: bool, outgoing: Outgoing, events: &mut EventQueue) {
        let line = *self.schedule.line();
        if self.run.is_none() {
            self.progress.idle_until(now, &line);
        }
        let begun = self.run.as_ref().map(|run| run.begun(now, &line));
        let free = begun.map_or(self.progress, |begun| begun.end);
        // A timer lets what has no pace go at once: as of its last tick.
        let position = if paced { free.position } else { self.released(free).min(free.position) };
        let flow = flow.map_or(self.acknowledgements, |flow| flow.index);
        self.schedule.push(flow, u32::from(outgoing.frame.size), paced, position, outgoing);
        if let Some(run) = &self.run {
            let earliest = self.schedule.earliest().expect("a frame waits");
            if earliest >= run.end.position {
                return;
            }
            let begun = begun.expect("gap frames are under way");
            self.end_run(begun.frames, begun.end);
        }
        self.plan(events);
    }

    /// Of the gap frames so many were sent, and the line is now here.
    fn end_run(&mut self, frames: u64, end: Progress) {
        count_gaps(&mut self.counters, frames, end.position - self.progress.position, self.between);
        self.progress = end;
        self.run = None;
    }

    /// Sets the event for what comes next, from where the line is free.
    fn plan(&mut self, events: &mut EventQueue) {
        let Some(earliest) = self.schedule.earliest() else { return self.timer.cancel() };
        let line = *self.schedule.line();
        let at = match self.release {
            Release::GapFrames => self.progress.free,
            Release::Gap => match line.fill(earliest.saturating_sub(self.progress.position)) {
                None => self.progress.free,
                Some(frames) => {
                    let run = GapRun::new(self.progress, frames, &line);
                    self.run = Some(run);
                    run.end.free
                }
            },
            Release::Timer(_) if earliest <= self.released(self.progress) => self.progress.free,
            Release::Timer(granularity) => {
                let due = self.progress.free.saturating_add(
                    line.rate().transmission(Bytes::new(earliest.saturating_sub(self.progress.position))),
                );
                next_tick(due, granularity)
            }
        };
        let source = self.source();
        self.timer.set(at, events, source);
    }

    /// Up to where frames have been released when the line is at `progress`.
    fn released(&self, progress: Progress) -> u64 {
        let Release::Timer(granularity) = self.release else { return progress.position };
        let since = Span::from_picos(progress.free.picos() % granularity.picos());
        progress.position.saturating_sub(self.schedule.line().rate().bytes_in(since).get())
    }

    /// Handles the event, which must be the earliest.
    pub fn fire(&mut self, now: Time, sequence: u32, events: &mut EventQueue) -> Next {
        if self.timer.fire(now, sequence, events) == Fired::Early {
            return Next::Wait;
        }
        if let Some(run) = self.run {
            let line = *self.schedule.line();
            let begun = run.begun(now, &line);
            self.end_run(begun.frames, begun.end);
        }
        self.progress.idle_until(now, self.schedule.line());
        let Some(earliest) = self.schedule.earliest() else { return Next::Wait };
        let released = self.released(self.progress);
        let line = self.schedule.line();
        // A gap that no frame can fill is made up for by the next one.
        let gap = match self.release {
            Release::Gap | Release::GapFrames => line.fill(earliest.saturating_sub(released)),
            Release::Timer(_) if earliest > released => {
                self.plan(events);
                return Next::Wait;
            }
            Release::Timer(_) => None,
        };
        if let Some(gap) = gap {
            assert!(self.release == Release::GapFrames, "the event of an interface is its next frame's");
            return Next::Gap(self.send_gap(gap.first(), events));
        }
        self.choice = self.schedule.choose(released.max(earliest));
        Next::Frame
    }

    /// The frame of the choice that was made.
    pub fn chosen(&self) -> &Outgoing {
        self.schedule.peek(self.choice.as_ref().expect("a frame was chosen"))
    }

    /// Takes it, with the pace of its flow.
    pub fn leave(&mut self, now: Time, pace: Pace, events: &mut EventQueue) -> Outgoing {
        let choice = self.choice.take().expect("a frame was chosen");
        assert!(now == self.progress.free, "a frame leaves when the line is free");
        let outgoing = self.schedule.take(&choice, self.progress.position, pace);
        let line = *self.schedule.line();
        self.progress.occupy(line.taken_by(u32::from(outgoing.frame.size)), &line);
        self.plan(events);
        outgoing
    }

    /// A gap frame takes so much of the line.
    fn send_gap(&mut self, bytes: u64, events: &mut EventQueue) -> Frame {
        count_gaps(&mut self.counters, 1, bytes, self.between);
        self.gaps_in_flight += 1;
        let line = *self.schedule.line();
        self.progress.occupy(bytes, &line);
        self.plan(events);
        let body = Segment { number: 0, data_number: 0, amount: 0, extra: NO_EXTRA };
        Frame { hop: self.route, size: (bytes - u64::from(self.between)) as u16, tos: 0, tag: 0, body }
    }
}

/// Counts gap frames that took so many bytes of the line.
fn count_gaps(counters: &mut CardCounters, frames: u64, line: u64, between: u32) {
    counters.gap_frames += frames;
    counters.gap_bytes += line - frames * u64::from(between);
}

/// The first tick that is not before `time`.
fn next_tick(time: Time, granularity: Span) -> Time {
    let beyond = time.picos() % granularity.picos();
    if beyond == 0 { time } else { time.saturating_add(Span::from_picos(granularity.picos() - beyond)) }
}
