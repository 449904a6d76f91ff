//! Lanes: which subflows of a multipath connection may carry data now.
//!
//! A host has several disjoint paths. One, the *short-flow lane* (SL), is kept free of queues for
//! flows that must finish soon; the others, *long-flow lanes* (LL), carry what takes long. Nobody
//! knows a flow's size when it starts, so every connection starts on the SL, its LL subflows only
//! probe, and once a [`Judge`] takes it for long it moves to the LLs, once and for good.
//!
//! [`Lanes`] decides that for one connection. It sees no packets and no clock: the caller passes
//! times and smoothed RTTs, and asks [`Lanes::permit`] what each subflow may do whenever a call
//! returned [`Permits::Changed`]. The simulator calls [`Lanes::observe`] per ACK; a daemon calls it
//! per poll of the kernel's sockets (then take [`LinkCost::smoothing`] = 1, see there).
//!
//! On which lane a connection starts is decided before it exists, by [`HostLanes`], from what this
//! host's earlier connections saw. A connection may also come back to the SL, see [`Return`].
//!
//! What is left out: how a permit is enforced, and choosing among several LLs (their coupled
//! congestion control does).
//!
//! Source: S. Fujii's master thesis, Univ. of Tokyo 2015, §5.2.2 (eq. 5.1–5.7, Algorithm 1), called
//! "the thesis" here, and the kernel he published (github.com/ShogoFujii/PS-MPTCP,
//! `net/ipv4/tcp_cong.c`), called "the author's code": read for its units, not copied. Where this
//! deviates, the place says so; `docs/lanes.md` lists all deviations.

mod history;
mod judge;
mod start;
#[cfg(test)]
mod tests;

use std::error::Error;
use std::fmt;

use headway_units::{Bytes, Rate, Span, Time};

pub use history::{History, HistoryError, Peer};
pub use judge::{
    Backlog, BytesSent, Deadline, DeliveryRate, Judge, JudgeNeeds, LinkCost, Own, OwnJudge, OwnJudgeKind,
    ParameterError, Seen,
};
pub use start::{Beginning, HostLanes, Start};

/// The most subflows of one connection, a limit that keeps the state inline; the author's code has
/// the same one (`INTERFACE_NUM`).
pub const MAX_SUBFLOWS: usize = 8;

/// The lane of a subflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// Short-flow lane (SL): every connection starts here.
    Short,
    /// Long-flow lane (LL): for connections judged long.
    Long,
}

/// What a subflow may do now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Permit {
    /// Its congestion control decides. A subflow that comes from [`Permit::Probe`] starts in slow start.
    Normal,
    /// A window of one packet, which yields an RTT sample per round trip (Algorithm 1 line 31). A subflow that comes
    /// from [`Permit::Normal`] first drains what is in flight.
    Probe,
    /// A window of so many packets, at least 2: a receiver that acknowledges every second packet answers at once, where a
    /// lone one waits for its timer. Not in the thesis.
    Sip(u8),
    /// No new data: the thesis' cwnd = 0 (Algorithm 1 line 22).
    ///
    /// What is in flight and its retransmissions still finish, under the congestion window as it
    /// was: bytes given to a subflow are acknowledged there or, much later, retransmitted on another
    /// one, and until then they block the connection's in-order delivery. (Measured on Linux: an SL
    /// throttled to one packet with data still queued blocks the connection for seconds.)
    Hold,
}

/// Whether a call changed what subflows may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[must_use = "a change has to be applied: ask `Lanes::permit` for every subflow"]
pub enum Permits {
    /// All permits are as before.
    Unchanged,
    /// Ask [`Lanes::permit`] again for every subflow.
    Changed,
}

/// A subflow's place in its [`Lanes`]: the lowest that was free when it was added, so it is given
/// again after [`Lanes::remove`]; forget it then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SubflowIndex(u8);

impl SubflowIndex {
    /// Below [`MAX_SUBFLOWS`], for the caller's own arrays.
    pub const fn get(self) -> usize {
        self.0 as usize
    }
}

/// One new measurement of a subflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Observation {
    /// The stack's smoothed RTT; zero means that there is none yet (as `tcpi_rtt` has it).
    pub srtt: Span,
    /// The last single sample, if the stack tells it; else `srtt` stands for it. Zero means unset.
    pub latest: Option<Span>,
    /// The stack's own minimum RTT, if it keeps one. Without it the minimum is that of all `srtt`
    /// seen, which is what the thesis does; a stack's minimum is of single samples, so it is lower
    /// and the queueing delay comes out larger. Zero means unset.
    pub min_rtt: Option<Span>,
}

/// How far a connection is, over all its subflows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// Bytes that the other end has acknowledged since the connection opened. Only grows.
    pub acked: Bytes,
    /// Bytes that the application has written and the other end has not acknowledged.
    pub backlog: Bytes,
}

/// When a connection that was judged long comes back to the short lanes: once every LL has a queue longer by `margin`
/// than the emptiest SL's, without a break for `hold`. The judge then begins anew, as if the connection had just opened.
///
/// The thesis' switch is for good; this is an addition. The hysteresis is `margin` and `hold` on the way back, and the
/// judge's whole patience (its deadline, its bytes) on the way out again. A connection on its LLs probes the SLs with a
/// packet per round trip, where the thesis' stops using them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Return {
    /// By so much the LLs' queueing delay exceeds the SLs'.
    pub margin: Span,
    /// For so long, on every sample.
    pub hold: Span,
}

/// What a connection that was judged long takes of its SLs: a window of `packets` on each, until a sample there shows a
/// queueing delay of more than `below`; then nothing for `pause`. What short flows leave is not lost then, and the queue
/// that it costs them is bounded. The thesis leaves the SLs alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leftovers {
    /// The window; fewer than 2 count as 2, see [`Permit::Sip`].
    pub packets: u8,
    /// The queueing delay, of a single sample.
    pub below: Span,
    /// How long a lane is left alone that was not empty.
    pub pause: Span,
}

/// [`MAX_SUBFLOWS`] subflows exist already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooManySubflows;

impl fmt::Display for TooManySubflows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a connection has at most {MAX_SUBFLOWS} subflows")
    }
}

impl Error for TooManySubflows {}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Subflow {
    role: Role,
    /// False from `failed` until the next sample.
    alive: bool,
    /// τ0, the smallest RTT; `None` is Algorithm 1's 0 (line 3).
    min_rtt: Option<Span>,
    /// The part of the cost that comes from measurements, smoothed; `None` before the first.
    congestion: Option<f64>,
    /// The queueing delay, smoothed by a quarter.
    delay: Option<Span>,
    /// Until when its leftovers are not taken.
    shunned: Time,
}

/// Who may send what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// SL normal, LL probes: not judged yet.
    Short,
    /// SL holds, LL normal: judged long.
    Long,
    /// LL normal, SL sips: the connection belongs on an LL, none is alive, and it has not waited long enough.
    Waiting,
    /// All normal: no subflow of the lane where the connection belongs is alive.
    Open,
}

/// The lanes of one connection.
///
/// State is inline (8 subflows, under 1 KB), nothing is allocated. All methods take time that
/// only moves forward; an earlier `now` counts as the latest one seen.
#[derive(Debug, Clone, PartialEq)]
pub struct Lanes {
    judge: Judge,
    /// When it opened, or last came back: where the judge counts from.
    opened: Time,
    latest: Time,
    /// On the LLs since.
    long_since: Option<Time>,
    /// The first time that it was judged long.
    switched: Option<Time>,
    returns: u32,
    back: Option<Return>,
    patience: Span,
    /// Since when the connection has belonged on an LL without one that is alive.
    waiting: Option<Time>,
    leftovers: Option<Leftovers>,
    /// Since when the LLs have been fuller than [`Return::margin`] allows.
    crowded: Option<Time>,
    progress: Progress,
    /// What was acknowledged at `opened`.
    base: Bytes,
    /// Where the present window of the delivery rate began, and what was acknowledged then.
    mark: (Time, Bytes),
    rate: Option<Rate>,
    subflows: [Option<Subflow>; MAX_SUBFLOWS],
}

impl Lanes {
    /// The window on SLs while a long connection waits for an LL, packets.
    pub const WAITING: u8 = 2;

    /// The lanes of a connection that opened at `opened`, without subflows.
    ///
    /// Deviation: Algorithm 1 (line 2) sets a deadline per subflow when that is created; here the
    /// age of the *connection* counts, which is the metric that §5.2.2 argues for (flow duration),
    /// and does not restart when a subflow is replaced.
    ///
    /// # Errors
    /// A parameter of the judge is out of its range.
    pub fn new(judge: impl Into<Judge>, opened: Time) -> Result<Lanes, ParameterError> {
        let judge = judge.into();
        judge.validate()?;
        Ok(Lanes {
            judge,
            opened,
            latest: opened,
            long_since: None,
            switched: None,
            returns: 0,
            back: None,
            patience: Span::ZERO,
            waiting: None,
            leftovers: None,
            crowded: None,
            progress: Progress::default(),
            base: Bytes::ZERO,
            mark: (opened, Bytes::ZERO),
            rate: None,
            subflows: [None; MAX_SUBFLOWS],
        })
    }

    /// Comes back to the short lanes by the rule `back`; without one, never.
    pub fn returning(mut self, back: Option<Return>) -> Lanes {
        self.back = back;
        self
    }

    /// Waits for `patience` before it uses the SLs in full because no LL is alive, and until then has a window of
    /// [`Lanes::WAITING`] packets on them. Zero, the default: at once.
    ///
    /// An LL that is full loses packets, and with them a lone SYN or the last segments of a window: its subflow times
    /// out, looks dead, and without patience one long flow after the other comes to fill the SL.
    pub fn patient(mut self, patience: Span) -> Lanes {
        self.patience = patience;
        self
    }

    /// Takes what short flows leave of the SLs after the switch; without it, nothing.
    pub fn taking(mut self, leftovers: Option<Leftovers>) -> Lanes {
        self.leftovers = leftovers;
        self
    }

    /// Judged long before its first packet: by [`HostLanes::begin`].
    pub fn long_from_the_start(mut self) -> Lanes {
        (self.long_since, self.switched) = (Some(self.opened), Some(self.opened));
        self
    }

    /// Adds an established subflow.
    ///
    /// Ask for the permits of all subflows afterwards: the first SL sends LLs back to probing, and
    /// after the switch the first LL puts the SLs on hold. An LL added after the deadline is used
    /// from the next [`Lanes::observe`] or [`Lanes::tick`] on.
    ///
    /// # Errors
    /// There are [`MAX_SUBFLOWS`] already.
    pub fn add_subflow(&mut self, role: Role) -> Result<SubflowIndex, TooManySubflows> {
        let free = self.subflows.iter().position(Option::is_none).ok_or(TooManySubflows)?;
        self.subflows[free] =
            Some(Subflow { role, alive: true, min_rtt: None, congestion: None, delay: None, shunned: Time::ZERO });
        self.wait();
        Ok(SubflowIndex(free as u8))
    }

    /// The subflow is closed. Nothing of it is kept.
    pub fn remove(&mut self, subflow: SubflowIndex) -> Permits {
        let before = self.state();
        self.subflows[subflow.get()] = None;
        self.wait();
        self.since(before)
    }

    /// The subflow's path seems down (retransmission timeout): it no longer counts as a lane, and
    /// its cost and minimum RTT are forgotten, because the path that comes back may be another one
    /// and a minimum that is too low for it would make it look congested for ever.
    ///
    /// Its next observation brings it back. Whether one timeout or several are a failure is the
    /// caller's choice.
    pub fn failed(&mut self, subflow: SubflowIndex) -> Permits {
        let before = self.state();
        if let Some(s) = &mut self.subflows[subflow.get()] {
            (s.alive, s.min_rtt, s.congestion, s.delay) = (false, None, None, None);
        }
        self.wait();
        self.since(before)
    }

    /// A new sample from `subflow` (Algorithm 1 lines 5–18).
    ///
    /// An observation claims that an ACK came back since the last one: a poller must skip sockets
    /// that received none (`tcpi_last_ack_recv`), else old values count again and a failed subflow
    /// looks alive. Without an RTT (`srtt` zero) only the liveness counts; for a removed subflow
    /// this is [`Lanes::tick`].
    pub fn observe(&mut self, now: Time, subflow: SubflowIndex, observation: Observation) -> Permits {
        let before = self.state();
        let others = if self.judge.common_base() {
            self.subflows.iter().flatten().filter_map(|s| s.min_rtt).min()
        } else {
            None
        };
        if let Some(s) = &mut self.subflows[subflow.get()] {
            s.alive = true;
            if !observation.srtt.is_zero() {
                let samples = [s.min_rtt, observation.min_rtt.filter(|rtt| !rtt.is_zero()), Some(observation.srtt)];
                s.min_rtt = samples.into_iter().flatten().min();
                // ν(t) = τ(t) − τ0 (eq. 5.4). τ0 is brought up to date first, which Algorithm 1 does
                // after the cost (line 10): ν then is never negative.
                let base = s.min_rtt.into_iter().chain(others).min().unwrap_or_default();
                let delay = observation.srtt.saturating_sub(base);
                s.congestion = Some(self.judge.congestion(s.congestion, delay));
                let delay = s.delay.map_or(delay, |old| old - old / 4 + delay / 4);
                s.delay = Some(delay);
                if let Some(leftovers) = self.leftovers {
                    let latest = observation.latest.filter(|rtt| !rtt.is_zero()).unwrap_or(observation.srtt);
                    if latest.saturating_sub(s.min_rtt.unwrap_or_default()) > leftovers.below {
                        s.shunned = now.saturating_add(leftovers.pause);
                    }
                }
            }
        }
        self.judge_at(now);
        self.since(before)
    }

    /// How far the connection is by now. Of earlier calls only the last counts, so a poller loses nothing but time.
    pub fn progress(&mut self, now: Time, progress: Progress) -> Permits {
        let before = self.state();
        self.progress = Progress { acked: self.progress.acked.max(progress.acked), ..progress };
        self.judge_at(now);
        self.since(before)
    }

    /// Whether the connection would be on a long lane, had it one: time to open it, where that is done late.
    pub fn wants_long(&self) -> bool {
        self.long_since.is_some() || self.judge.is_long(self.latest.since(self.opened), &self.seen())
    }

    /// Time passed without a sample. To be called at [`Lanes::deadline`], or as often as one likes.
    pub fn tick(&mut self, now: Time) -> Permits {
        let before = self.state();
        self.judge_at(now);
        self.since(before)
    }

    /// What comes next is another flow on the same connection: the judge begins as if it had just opened, and it is on the
    /// SLs again. For applications that keep connections open; the thesis has one flow per connection.
    pub fn anew(&mut self, now: Time) -> Permits {
        let before = self.state();
        self.latest = self.latest.max(now);
        // what waited then was of the flow before
        self.progress.backlog = Bytes::ZERO;
        self.begin_anew();
        self.since(before)
    }

    /// Whether it is judged long now.
    pub fn is_long(&self) -> bool {
        self.long_since.is_some()
    }

    /// When the deadline is over ([`Time::NEVER`] past the end of time): the instant to call
    /// [`Lanes::tick`] in case that no ACK arrives. The link-cost judge may switch before it, with an
    /// observation, and after it.
    pub fn deadline(&self) -> Time {
        self.opened.saturating_add(self.judge.deadline())
    }

    /// What `subflow` may do. A removed subflow: nothing new.
    pub fn permit(&self, subflow: SubflowIndex) -> Permit {
        match (self.subflows[subflow.get()].map(|s| s.role), self.mode()) {
            (None, _) => Permit::Hold,
            (Some(Role::Short), Mode::Waiting) => Permit::Sip(Lanes::WAITING),
            (Some(Role::Short), Mode::Long) => match (self.leftovers, self.back) {
                (Some(own), _) if self.is_free(subflow.get()) => Permit::Sip(own.packets.max(2)),
                (None, Some(_)) => Permit::Probe,
                _ => Permit::Hold,
            },
            (Some(Role::Long), Mode::Short) => Permit::Probe,
            _ => Permit::Normal,
        }
    }

    /// When the connection was first judged long. Without a [`Return`] it stays so, even while no LL is left to use.
    pub fn switched(&self) -> Option<Time> {
        self.switched
    }

    /// How often it came back to the short lanes.
    pub fn returns(&self) -> u32 {
        self.returns
    }

    /// The queueing delay of `subflow`, smoothed by a quarter; `None` without a measurement.
    pub fn queueing_delay(&self, subflow: SubflowIndex) -> Option<Span> {
        self.subflows[subflow.get()]?.delay
    }

    /// The link cost of `subflow` at the latest time seen, a pure number (negative for an SL long
    /// before its deadline). `None` without a measurement or under a judge that has no cost.
    pub fn link_cost(&self, subflow: SubflowIndex) -> Option<f64> {
        let s = self.subflows[subflow.get()]?;
        self.judge.cost(s.role, s.congestion?, self.latest.since(self.opened))
    }

    /// Takes the decision of Algorithm 1 lines 12–18, where it can be taken, or that of the way back.
    fn judge_at(&mut self, now: Time) {
        self.latest = self.latest.max(now);
        self.measure_rate();
        match (self.long_since, self.back) {
            // No switch without an LL that is alive: there would be nothing to switch to.
            (None, _) if self.alive(Role::Long) && self.wants_long() => {
                self.long_since = Some(self.latest);
                self.switched = self.switched.or(self.long_since);
            }
            (Some(_), Some(back)) => self.come_back(back),
            _ => {}
        }
        self.wait();
    }

    fn wait(&mut self) {
        if self.alive(Role::Long) || !self.wants_long() {
            self.waiting = None;
        } else {
            self.waiting.get_or_insert(self.latest);
        }
    }

    fn come_back(&mut self, back: Return) {
        let (Some(short), Some(long)) = (self.emptiest(Role::Short), self.emptiest(Role::Long)) else {
            self.crowded = None;
            return;
        };
        if long <= short.checked_add(back.margin).unwrap_or(Span::MAX) {
            self.crowded = None;
            return;
        }
        let since = *self.crowded.get_or_insert(self.latest);
        if self.latest.since(since) >= back.hold {
            self.returns += 1;
            self.begin_anew();
        }
    }

    fn begin_anew(&mut self) {
        (self.long_since, self.crowded, self.waiting) = (None, None, None);
        (self.opened, self.base) = (self.latest, self.progress.acked);
        (self.mark, self.rate) = ((self.latest, self.progress.acked), None);
    }

    fn measure_rate(&mut self) {
        let Some(window) = self.judge.window() else { return };
        let (since, acked) = self.mark;
        let time = self.latest.since(since);
        if time >= window && !time.is_zero() {
            let bits = u128::from(self.progress.acked.saturating_sub(acked).get()) * 8;
            let bps = bits * 1_000_000_000_000 / u128::from(time.picos());
            self.rate = Some(Rate::from_bps(u64::try_from(bps).unwrap_or(u64::MAX)));
            self.mark = (self.latest, self.progress.acked);
        }
    }

    fn seen(&self) -> Seen {
        let age = self.latest.since(self.opened);
        Seen {
            now: self.latest,
            short_alive: self.alive(Role::Short),
            short: self.cheapest(Role::Short, age),
            long: self.cheapest(Role::Long, age),
            acked: self.progress.acked.saturating_sub(self.base),
            backlog: self.progress.backlog,
            rate: self.rate,
        }
    }

    fn emptiest(&self, role: Role) -> Option<Span> {
        let lane = self.subflows.iter().flatten().filter(|s| s.alive && s.role == role);
        lane.filter_map(|s| s.delay).min()
    }

    fn alive(&self, role: Role) -> bool {
        self.subflows.iter().flatten().any(|s| s.alive && s.role == role)
    }

    fn cheapest(&self, role: Role, age: Span) -> Option<f64> {
        let lane = self.subflows.iter().flatten().filter(|s| s.role == role);
        lane.filter_map(|s| self.judge.cost(role, s.congestion?, age)).reduce(f64::min)
    }

    fn mode(&self) -> Mode {
        let waits = self.waiting.is_some_and(|since| self.latest.since(since) < self.patience);
        match self.long_since {
            _ if waits && self.alive(Role::Short) => Mode::Waiting,
            None if self.alive(Role::Short) => Mode::Short,
            Some(_) if self.alive(Role::Long) => Mode::Long,
            _ => Mode::Open,
        }
    }

    /// Whether leftovers may be taken of the lane at `place`.
    fn is_free(&self, place: usize) -> bool {
        self.subflows[place].is_some_and(|s| s.alive && s.shunned <= self.latest)
    }

    /// What permits follow from: the mode, and a bit for each subflow whose leftovers are taken.
    fn state(&self) -> (Mode, u8) {
        let mode = self.mode();
        if self.leftovers.is_none() || mode != Mode::Long {
            return (mode, 0);
        }
        (mode, (0..MAX_SUBFLOWS).fold(0, |bits, place| bits | u8::from(self.is_free(place)) << place))
    }

    fn since(&self, before: (Mode, u8)) -> Permits {
        if self.state() == before { Permits::Unchanged } else { Permits::Changed }
    }
}
