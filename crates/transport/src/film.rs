//! What links did, step by step: read from the counters that ports keep anyway, between two events of the loop.
//!
//! How long a run has something to show is known only at its end. So steps begin short, and when there are too many of
//! them two and two become one; times at the end in which nothing happens count for nothing. Looking changes nothing in
//! the run: no event is set, and events, their order and their digest stay as they are.

use headway_fabric::LinkId;
use headway_units::{Span, Time};

/// Times in a step, evenly spread and the last of them its end, at which queues are looked at.
const LOOKS: u64 = 4;

/// The first steps are so many times shorter than those of a film over the whole run. A run that falls silent within that
/// part of its time has fewer steps than it may.
const FINEST: u64 = 32;

/// What a link did in a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LinkStep {
    /// Bytes that have left the port, preamble and inter-frame gap included. Of frames that a failure cut off on the wire
    /// nothing counts from then on.
    pub sent: u64,
    /// The most bytes that were queued when it was looked: four times in a step or more often, the last of them its end.
    pub queue: u64,
    /// Frames that did not get over it: dropped by the queue, refused by a limit, damaged, or lost since it was down.
    pub drops: u32,
    /// The most flows that had data on their way over it at the end of the step, and at the ends of the shorter ones that
    /// it was made of.
    pub flows: u32,
}

impl LinkStep {
    fn add(&mut self, later: &LinkStep) {
        self.sent += later.sent;
        self.queue = self.queue.max(later.queue);
        self.drops = self.drops.saturating_add(later.drops);
        self.flows = self.flows.max(later.flows);
    }
}

/// The links of a run step by step; see [`Simulation::film`](crate::Simulation::film).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkFilm {
    /// When each step ended: the first began with the run, and all but the last are equally long. At least one.
    pub times: Vec<Time>,
    /// The links that were used, in their order, with what they did in each step.
    pub links: Vec<(LinkId, Vec<LinkStep>)>,
}

/// What has passed a port: bytes on the wire, and frames that did not get over the link.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Passed {
    pub sent: u64,
    pub drops: u64,
}

/// A link that did something in a step.
#[derive(Debug)]
struct Row {
    step: u32,
    link: u32,
    did: LinkStep,
}

/// A film that is being made.
#[derive(Debug)]
pub(crate) struct Filming {
    /// At most so many steps.
    most: u32,
    /// When the run ends.
    end: Time,
    /// The time between two looks.
    look: Span,
    /// When it is looked next.
    next: Time,
    /// By link: at the end of the step before, and what it does in this one.
    before: Vec<Passed>,
    current: Vec<LinkStep>,
    /// In order of time.
    rows: Vec<Row>,
    /// The state of the network's counters when nothing was going on at the end of a step.
    silent: Option<[u64; 3]>,
    /// By link: the flow that was counted there last.
    counted: Vec<u32>,
}

/// No flow.
const NOBODY: u32 = u32::MAX;

impl Filming {
    /// Of a run that ends at `end`, over so many links, in at most `most` steps.
    pub fn new(most: u32, end: Time, links: usize) -> Filming {
        assert!(most > 0, "a film has steps");
        let looks = u64::from(most) * LOOKS * FINEST;
        let look = Span::from_picos(end.picos().div_ceil(looks).max(1));
        Filming {
            most,
            end,
            look,
            next: Time::ZERO.saturating_add(look).min(end),
            before: vec![Passed::default(); links],
            current: vec![LinkStep::default(); links],
            rows: Vec::new(),
            silent: None,
            counted: vec![NOBODY; links],
        }
    }

    /// When it is looked next, if that is before `end`.
    pub fn due(&self, end: Time) -> Option<Time> {
        Some(self.next).filter(|&next| next < end)
    }

    fn step(&self) -> u64 {
        self.look.picos() * LOOKS
    }

    /// Whether a step ends at `now`.
    pub fn ends_step(&self, now: Time) -> bool {
        now >= self.end || now.picos().is_multiple_of(self.step())
    }

    /// Whether nothing has happened since nothing was going on, by the same counters.
    pub fn is_silent(&self, counters: [u64; 3]) -> bool {
        self.silent == Some(counters)
    }

    /// So many bytes are queued at the port of a link now.
    pub fn note_queue(&mut self, link: usize, bytes: u64) {
        let queue = &mut self.current[link].queue;
        *queue = bytes.max(*queue);
    }

    /// So much has passed the port of a link since the start, now that the step ends.
    pub fn note_passed(&mut self, link: usize, passed: Passed) {
        let before = &mut self.before[link];
        let did = &mut self.current[link];
        did.sent = passed.sent.saturating_sub(before.sent);
        did.drops = (passed.drops - before.drops).min(u64::from(u32::MAX)) as u32;
        *before = Passed { sent: passed.sent.max(before.sent), drops: passed.drops };
    }

    /// A flow has data on its way over these links, now that the step ends. Its subflows come one after the other.
    pub fn note_flow(&mut self, flow: u32, links: impl Iterator<Item = LinkId>) {
        for link in links {
            if std::mem::replace(&mut self.counted[link.index()], flow) != flow {
                self.current[link.index()].flows += 1;
            }
        }
    }

    /// The step that ends now is over, with the network's counters as they are.
    pub fn close_step(&mut self, now: Time, counters: [u64; 3]) {
        let already = self.rows.len();
        let number = |step: u64| (now.picos().saturating_sub(1) / step) as u32;
        let step = number(self.step());
        for (link, did) in (0..).zip(&mut self.current) {
            let did = std::mem::take(did);
            if did != LinkStep::default() {
                self.rows.push(Row { step, link, did });
            }
        }
        self.counted.fill(NOBODY);
        self.silent = (self.rows.len() == already).then_some(counters);
        while self.rows.last().is_some_and(|last| last.step >= self.most) {
            self.look = self.look.saturating_mul(2);
            for row in &mut self.rows {
                row.step /= 2;
            }
            self.join();
        }
    }

    /// It has been looked at `now`, or need not be.
    pub fn go_on(&mut self, now: Time) {
        let looks = now.picos() / self.look.picos();
        let next = Time::from_picos(self.look.picos().saturating_mul(looks + 1));
        // after the end nothing is due
        self.next = if now >= self.end { Time::NEVER } else { next.min(self.end) };
    }

    /// Joins what a link did in the same step.
    fn join(&mut self) {
        self.rows.sort_by_key(|row| (row.step, row.link));
        self.rows.dedup_by(|later, kept| {
            let same = (later.step, later.link) == (kept.step, kept.link);
            if same {
                kept.did.add(&later.did);
            }
            same
        });
    }

    /// The film.
    pub fn finish(mut self) -> LinkFilm {
        self.join();
        let step = self.step();
        let steps = self.rows.last().map_or(1, |last| last.step as usize + 1);
        let end = |number: u64| Time::from_picos(step.saturating_mul(number)).min(self.end);
        let times = (1..=steps as u64).map(end).collect();
        let mut links: Vec<(LinkId, Vec<LinkStep>)> = Vec::new();
        self.rows.sort_by_key(|row| (row.link, row.step));
        for Row { step, link, did } in self.rows {
            if links.last().is_none_or(|(last, _)| last.0 != link) {
                links.push((LinkId(link), vec![LinkStep::default(); steps]));
            }
            if let Some((_, own)) = links.last_mut() {
                own[step as usize] = did;
            }
        }
        LinkFilm { times, links }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plays a run of `end` in which a link sends a byte in every picosecond of `busy`, and looks at it.
    fn play(most: u32, end: u64, busy: std::ops::Range<u64>) -> LinkFilm {
        let end = Time::from_picos(end);
        let mut filming = Filming::new(most, end, 2);
        let mut looks = 0;
        while let Some(now) = filming.due(Time::NEVER) {
            let sent = now.picos().clamp(busy.start, busy.end) - busy.start;
            let counters = [sent, 0, 0];
            if !filming.is_silent(counters) {
                looks += 1;
                filming.note_queue(1, u64::from(busy.contains(&now.picos())));
                if filming.ends_step(now) {
                    filming.note_passed(1, Passed { sent, drops: 0 });
                    filming.close_step(now, counters);
                }
            }
            filming.go_on(now);
        }
        // four in a step; each of five doublings follows half the steps
        assert!(looks <= u64::from(most) * LOOKS * 7, "{looks}");
        filming.finish()
    }

    #[test]
    fn nothing_is_lost_when_steps_are_joined() {
        for (most, end, busy) in [
            (200, 1_000_000_000, 0..1_000_000_000),
            (200, 1_000_000_007, 0..1_000_000_007),
            (200, 1_000_000_000, 0..37_123_456),
            (10, 999_999_999, 500_000_000..700_000_001),
            (1, 12_345, 3..400),
            (7, 3, 0..3),
        ] {
            let film = play(most, end, busy.clone());
            assert_eq!(film.links.len(), 1, "the other link was not used");
            let (link, steps) = &film.links[0];
            assert_eq!((link.0, steps.len()), (1, film.times.len()));
            assert!(steps.len() <= most as usize);
            assert_eq!(steps.iter().map(|step| step.sent).sum::<u64>(), busy.end - busy.start);
            let mut before = 0;
            for (time, step) in film.times.iter().zip(steps) {
                let expected = time.picos().clamp(busy.start, busy.end) - busy.start;
                assert_eq!(before + step.sent, expected, "what was sent until {time:?}");
                before = expected;
            }
            assert!(film.times.is_sorted_by(|one, other| one < other));
            assert!(film.times.last().unwrap().picos() >= busy.end.min(end));
        }
    }

    #[test]
    fn a_run_that_falls_silent_has_steps_as_fine_as_one_that_ends() {
        let long = play(200, 3_200_000_000, 0..100_000_000);
        assert_eq!((long.times.len(), long.times[0].picos()), (200, 500_000));
        let whole = play(200, 3_200_000_000, 0..3_200_000_000);
        assert_eq!((whole.times.len(), whole.times[0].picos()), (200, 16_000_000));
        let half = play(200, 3_200_000_000, 0..1_700_000_000);
        assert!((100..=200).contains(&half.times.len()));
    }

    #[test]
    fn a_run_without_traffic_has_one_step_and_no_link() {
        let film = play(200, 1_000_000, 0..0);
        assert_eq!((film.times.len(), film.links.len()), (1, 0));
    }

    #[test]
    fn a_flow_counts_once_on_a_link() {
        let mut filming = Filming::new(1, Time::from_picos(1), 3);
        let links = |ids: &[u32]| ids.iter().map(|&id| LinkId(id)).collect::<Vec<_>>().into_iter();
        filming.note_flow(0, links(&[0, 1]));
        filming.note_flow(0, links(&[0, 2]));
        filming.note_flow(1, links(&[0]));
        filming.close_step(Time::from_picos(1), [0; 3]);
        let film = filming.finish();
        let flows: Vec<u32> = film.links.iter().map(|(_, steps)| steps[0].flows).collect();
        assert_eq!(flows, [2, 1, 1]);
    }
}
