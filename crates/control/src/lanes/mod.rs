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
//! What is left out: how a permit is enforced, congestion inside the SL among short flows, choosing
//! among several LLs (their coupled congestion control does), coming back from the LLs to the SL,
//! anything known about a path before its first RTT sample.
//!
//! Source: S. Fujii's master thesis, Univ. of Tokyo 2015, §5.2.2 (eq. 5.1–5.7, Algorithm 1), called
//! "the thesis" here, and the kernel he published (github.com/ShogoFujii/PS-MPTCP,
//! `net/ipv4/tcp_cong.c`), called "the author's code": read for its units, not copied. Where this
//! deviates, the place says so; `docs/lanes.md` lists all deviations.

mod deadline;
mod judge;
mod link_cost;
#[cfg(test)]
mod tests;

use std::error::Error;
use std::fmt;

use headway_units::{Span, Time};

pub use deadline::Deadline;
pub use judge::{Judge, ParameterError};
pub use link_cost::LinkCost;

use judge::Seen;

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
    /// A window of one packet, which yields an RTT sample per round trip (Algorithm 1 line 31).
    Probe,
    /// No new data: the thesis' cwnd = 0 (Algorithm 1 line 22).
    ///
    /// What is in flight and its retransmissions still finish, under the congestion window as it
    /// was: bytes given to a subflow are acknowledged there or, much later, sent again on another
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
    /// The stack's own minimum RTT, if it keeps one. Without it the minimum is that of all `srtt`
    /// seen, which is what the thesis does; a stack's minimum is of single samples, so it is lower
    /// and the queueing delay comes out larger. Zero means unset.
    pub min_rtt: Option<Span>,
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
}

/// Who may send what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// SL normal, LL probes: not judged yet.
    Short,
    /// SL holds, LL normal: judged long.
    Long,
    /// All normal: no subflow of the lane where the connection belongs is alive.
    Open,
}

/// The lanes of one connection.
///
/// State is inline (8 subflows, under 512 bytes), nothing is allocated. All methods take time that
/// only moves forward; an earlier `now` counts as the latest one seen.
#[derive(Debug, Clone, PartialEq)]
pub struct Lanes {
    judge: Judge,
    opened: Time,
    latest: Time,
    switched: Option<Time>,
    subflows: [Option<Subflow>; MAX_SUBFLOWS],
}

impl Lanes {
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
        Ok(Lanes { judge, opened, latest: opened, switched: None, subflows: [None; MAX_SUBFLOWS] })
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
        self.subflows[free] = Some(Subflow { role, alive: true, min_rtt: None, congestion: None });
        Ok(SubflowIndex(free as u8))
    }

    /// The subflow is closed. Nothing of it is kept.
    pub fn remove(&mut self, subflow: SubflowIndex) -> Permits {
        let before = self.mode();
        self.subflows[subflow.get()] = None;
        self.since(before)
    }

    /// The subflow's path seems down (retransmission timeout): it no longer counts as a lane, and
    /// its cost and minimum RTT are forgotten, because the path that comes back may be another one
    /// and a minimum that is too low for it would make it look congested for ever.
    ///
    /// Its next observation brings it back. Whether one timeout or several are a failure is the
    /// caller's choice.
    pub fn failed(&mut self, subflow: SubflowIndex) -> Permits {
        let before = self.mode();
        if let Some(s) = &mut self.subflows[subflow.get()] {
            (s.alive, s.min_rtt, s.congestion) = (false, None, None);
        }
        self.since(before)
    }

    /// A new sample from `subflow` (Algorithm 1 lines 5–18).
    ///
    /// An observation claims that an ACK came back since the last one: a poller must skip sockets
    /// that received none (`tcpi_last_ack_recv`), else old values count again and a failed subflow
    /// looks alive. Without an RTT (`srtt` zero) only the liveness counts; for a removed subflow
    /// this is [`Lanes::tick`].
    pub fn observe(&mut self, now: Time, subflow: SubflowIndex, observation: Observation) -> Permits {
        let before = self.mode();
        if let Some(s) = &mut self.subflows[subflow.get()] {
            s.alive = true;
            if !observation.srtt.is_zero() {
                let samples = [s.min_rtt, observation.min_rtt.filter(|rtt| !rtt.is_zero()), Some(observation.srtt)];
                s.min_rtt = samples.into_iter().flatten().min();
                // ν(t) = τ(t) − τ0 (eq. 5.4). τ0 is brought up to date first, which Algorithm 1 does
                // after the cost (line 10): ν then is never negative.
                let delay = observation.srtt.saturating_sub(s.min_rtt.unwrap_or_default());
                s.congestion = Some(self.judge.congestion(s.congestion, delay));
            }
        }
        self.judge_at(now);
        self.since(before)
    }

    /// Time passed without a sample. To be called at [`Lanes::deadline`], or as often as one likes.
    pub fn tick(&mut self, now: Time) -> Permits {
        let before = self.mode();
        self.judge_at(now);
        self.since(before)
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
            (None, _) | (Some(Role::Short), Mode::Long) => Permit::Hold,
            (Some(Role::Long), Mode::Short) => Permit::Probe,
            _ => Permit::Normal,
        }
    }

    /// When the connection was judged long; it stays so, even while no LL is left to use.
    pub fn switched(&self) -> Option<Time> {
        self.switched
    }

    /// The link cost of `subflow` at the latest time seen, a pure number (negative for an SL long
    /// before its deadline). `None` without a measurement or under a judge that has no cost.
    pub fn link_cost(&self, subflow: SubflowIndex) -> Option<f64> {
        let s = self.subflows[subflow.get()]?;
        self.judge.cost(s.role, s.congestion?, self.latest.since(self.opened))
    }

    /// Takes the decision of Algorithm 1 lines 12–18, where it can be taken.
    fn judge_at(&mut self, now: Time) {
        self.latest = self.latest.max(now);
        // No switch without an LL that is alive: there would be nothing to switch to.
        if self.switched.is_none() && self.alive(Role::Long) {
            let age = self.latest.since(self.opened);
            let seen = Seen {
                short_alive: self.alive(Role::Short),
                short: self.cheapest(Role::Short, age),
                long: self.cheapest(Role::Long, age),
            };
            if self.judge.is_long(age, &seen) {
                self.switched = Some(self.latest);
            }
        }
    }

    fn alive(&self, role: Role) -> bool {
        self.subflows.iter().flatten().any(|s| s.alive && s.role == role)
    }

    fn cheapest(&self, role: Role, age: Span) -> Option<f64> {
        let lane = self.subflows.iter().flatten().filter(|s| s.role == role);
        lane.filter_map(|s| self.judge.cost(role, s.congestion?, age)).reduce(f64::min)
    }

    fn mode(&self) -> Mode {
        match self.switched {
            None if self.alive(Role::Short) => Mode::Short,
            Some(_) if self.alive(Role::Long) => Mode::Long,
            _ => Mode::Open,
        }
    }

    fn since(&self, before: Mode) -> Permits {
        if self.mode() == before { Permits::Unchanged } else { Permits::Changed }
    }
}
