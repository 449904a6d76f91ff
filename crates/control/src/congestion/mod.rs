//! Congestion control: how a sender's window follows acknowledgements, loss and marks.
//!
//! A control changes a [`Window`] and, if it paces, says a rate; loss detection, retransmission and timers are the
//! transport's. So is the way from `cwnd` down to `ssthresh` when there is congestion (at once, or by proportional
//! rate reduction) and back when it turns out that there was none. Adding a control takes one file in this folder
//! and one line in the list below.

use std::fmt;

use headway_units::{Rate, Span, Time};

mod balia;
mod bbr;
mod bic;
mod compound;
mod cubic;
mod d2tcp;
mod dctcp;
mod fast;
mod h_tcp;
mod highspeed;
mod hystart;
mod illinois;
mod lia;
mod linux;
mod new_reno;
mod olia;
mod own;
mod rounds;
mod scalable;
mod vegas;
mod westwood;
mod wvegas;

pub use balia::Balia;
pub use bbr::Bbr;
pub use bic::Bic;
pub use compound::Compound;
pub use cubic::Cubic;
pub use d2tcp::D2tcp;
pub use dctcp::Dctcp;
pub use fast::Fast;
pub use h_tcp::Htcp;
pub use highspeed::HighSpeed;
pub use illinois::Illinois;
pub use lia::Lia;
pub use new_reno::NewReno;
pub use olia::Olia;
pub use own::{Needs, Own, OwnControl, OwnControlKind};
pub use scalable::Scalable;
pub use vegas::Vegas;
pub use westwood::Westwood;
pub use wvegas::WVegas;

/// A sender's congestion window, in bytes of payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Congestion window.
    pub cwnd: u64,
    /// Slow-start threshold; `u64::MAX` until the first congestion event unless set otherwise.
    pub ssthresh: u64,
    /// Largest payload of a segment (SMSS of RFC 5681).
    pub mss: u32,
    /// The most segments by which one acknowledgement grows the window in slow start: L of RFC 3465. 1 is RFC 5681's
    /// rule (eq. 2); Linux has no limit.
    pub growth_limit: u32,
}

impl Window {
    /// A window of `packets` segments in slow start, by the rule of RFC 5681.
    pub fn initial(packets: u32, mss: u32) -> Window {
        Window { cwnd: u64::from(packets) * u64::from(mss), ssthresh: u64::MAX, mss, growth_limit: 1 }
    }

    /// Whether the window grows by slow start (RFC 5681 §3.1: cwnd < ssthresh).
    #[inline]
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// cwnd in whole segments, at least 1: what Linux calls `snd_cwnd`.
    #[inline]
    pub fn segments(&self) -> u64 {
        (self.cwnd / u64::from(self.mss)).max(1)
    }

    /// `count` segments in bytes.
    #[inline]
    pub fn bytes(&self, count: u64) -> u64 {
        count.saturating_mul(u64::from(self.mss))
    }

    /// The threshold after congestion with `flight` bytes to be halved: RFC 5681 eq. 4,
    /// max(FlightSize / 2, 2·SMSS).
    pub fn halved(&self, flight: u64) -> u64 {
        (flight / 2).max(2 * u64::from(self.mss))
    }

    /// The threshold after congestion that leaves `part` of `flight` bytes, in whole segments and at least two.
    pub fn reduced(&self, flight: u64, part: f64) -> u64 {
        let mss = u64::from(self.mss);
        let segments = (flight as f64 * part / mss as f64) as u64;
        segments.max(2) * mss
    }

    /// Slow start for `acked` newly acknowledged bytes: RFC 5681 eq. 2, cwnd += min(N, L·SMSS).
    /// Returns the bytes left over once cwnd has reached ssthresh.
    #[inline]
    pub fn slow_start(&mut self, acked: u64) -> u64 {
        let grow = acked.min(u64::from(self.mss) * u64::from(self.growth_limit));
        let grown = (self.cwnd + grow).min(self.ssthresh);
        let used = grown - self.cwnd;
        self.cwnd = grown;
        grow - used
    }
}

/// Growth by one segment for each so many acknowledged: what has been earned and does not yet make a segment
/// (Linux' `snd_cwnd_cnt`; `net/ipv4/tcp_cong.c: tcp_cong_avoid_ai`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Credit {
    bytes: u64,
}

impl Credit {
    /// Adds `acked` bytes, and one segment to the window for each `per` bytes (a whole window: Reno's rule).
    #[inline]
    pub fn grow(&mut self, window: &mut Window, per: u64, acked: u64) {
        let per = per.max(1);
        // What was earned at a larger window is spent at once, but gently.
        if self.bytes >= per {
            self.bytes = 0;
            window.cwnd += u64::from(window.mss);
        }
        self.bytes += acked;
        if self.bytes >= per {
            let segments = self.bytes / per;
            self.bytes -= segments * per;
            window.cwnd = window.cwnd.saturating_add(window.bytes(segments));
        }
    }

    /// As [`grow`](Self::grow) by the letter of RFC 5681 §3.1: an acknowledgement brings at most one segment, and what
    /// is left over counts on.
    #[inline]
    pub fn grow_by_one(&mut self, window: &mut Window, per: u64, acked: u64) {
        self.bytes += acked;
        if self.bytes >= per {
            self.bytes -= per;
            window.cwnd += u64::from(window.mss);
        }
    }

    /// Forgets what was earned.
    pub fn clear(&mut self) {
        self.bytes = 0;
    }
}

/// A delivery-rate sample (draft-cheng-iccrg-delivery-rate-estimation; Linux' `struct rate_sample`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivery {
    /// [`Ack::total`] when the segment was sent whose acknowledgement gave the sample.
    pub before: u64,
    /// Bytes delivered since.
    pub bytes: u64,
    /// In this time; `None` if it is shorter than the shortest round trip, and then the sample is no rate.
    pub interval: Option<Span>,
    /// The sender had nothing to send, or no room in its own buffers, when the segment was sent.
    pub app_limited: bool,
}

/// What remains to be done by when, of a flow that has a deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowDeadline {
    /// Bytes not yet acknowledged.
    pub remaining: u64,
    /// When they should be.
    pub deadline: Time,
}

/// What a control learns when its connection is established.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Start {
    /// When that is.
    pub now: Time,
    /// The round trip of the handshake, if it was measured.
    pub rtt: Option<Span>,
    /// What a control's random choices follow from: the same for the same connection of the same run.
    pub seed: u64,
}

/// What a control learns from an acknowledgement.
#[derive(Debug, Clone, Copy)]
pub struct Ack<'a> {
    /// When it arrived.
    pub now: Time,
    /// Bytes newly acknowledged: in sequence, and selectively if the transport knows how (Linux: `acked_sacked`).
    pub acked: u64,
    /// All that was ever delivered, this included.
    pub total: u64,
    /// Bytes found lost by this acknowledgement.
    pub lost: u64,
    /// All that was ever found lost, by acknowledgements and by timers (Linux: `tp->lost`).
    pub lost_ever: u64,
    /// Bytes believed to be in the network before this acknowledgement, and now.
    pub flight_before: u64,
    /// See [`flight_before`](Self::flight_before).
    pub flight: u64,
    /// Everything below this position of the subflow is acknowledged.
    pub una: u64,
    /// The position that is sent next: what an acknowledgement must reach to end a round that begins now.
    pub nxt: u64,
    /// The round-trip time that this acknowledgement measured, if it did.
    pub rtt: Option<Span>,
    /// Smoothed round-trip time of this path, if there is a sample.
    pub srtt: Option<Span>,
    /// The shortest round trip seen.
    pub min_rtt: Option<Span>,
    /// It carries an ECN echo (ECE).
    pub ece: bool,
    /// The congestion window was what kept the sender from sending (RFC 5681 §3.1 grows it only then).
    pub cwnd_limited: bool,
    /// In which repair the transport is.
    pub state: State,
    /// When pacing lets the next segment go, if that is later than now (Linux: `tcp_wstamp_ns`).
    pub departure: Option<Time>,
    /// The rate at which data was delivered, for controls that [want it](AnyController::wants_delivery).
    pub delivery: Option<Delivery>,
    /// The flow's deadline, if it has one.
    pub deadline: Option<FlowDeadline>,
    /// All established subflows of the connection, this one included; empty for controls that are not coupled.
    pub siblings: &'a [Sibling],
}

impl Ack<'_> {
    /// An acknowledgement of `acked` bytes at `now` with nothing else known: for tests and worked examples.
    pub fn of(now: Time, acked: u64) -> Ack<'static> {
        Ack {
            now,
            acked,
            total: acked,
            lost: 0,
            lost_ever: 0,
            flight_before: acked,
            flight: 0,
            una: acked,
            nxt: acked,
            rtt: None,
            srtt: None,
            min_rtt: None,
            ece: false,
            cwnd_limited: true,
            state: State::Open,
            departure: None,
            delivery: None,
            deadline: None,
            siblings: &[],
        }
    }
}

/// What the transport is doing about congestion (Linux' `enum tcp_ca_state`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Nothing.
    Open,
    /// Something is missing, or was retransmitted and not reported yet, but there is no loss to repair. Only some
    /// transports tell it from [`Open`](State::Open), and controls treat it the same unless they say otherwise.
    Disorder,
    /// The window is being reduced after an ECN echo.
    Reducing,
    /// Fast recovery.
    Recovery,
    /// Repair after a retransmission time-out.
    Loss,
}

/// Why a window is reduced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// Loss found by duplicate or selective acknowledgements, or by time (RACK).
    Loss,
    /// An ECN echo (ECE, RFC 3168).
    Ece,
    /// The retransmission timer fired for the first time for this data.
    Timeout,
}

/// A congestion event; at most one for each window.
#[derive(Debug, Clone, Copy)]
pub struct Event<'a> {
    /// When it was noticed.
    pub now: Time,
    /// What it was.
    pub cause: Cause,
    /// What is to be reduced, in bytes: RFC 5681's FlightSize, or cwnd where the stack takes that (Linux).
    pub flight: u64,
    /// Everything below this position of the subflow is acknowledged.
    pub una: u64,
    /// The flow's deadline, if it has one.
    pub deadline: Option<FlowDeadline>,
    /// As in [`Ack::siblings`].
    pub siblings: &'a [Sibling],
}

impl Event<'_> {
    /// An event with nothing else known: for tests and worked examples.
    pub fn of(now: Time, cause: Cause, flight: u64) -> Event<'static> {
        Event { now, cause, flight, una: 0, deadline: None, siblings: &[] }
    }
}

/// A subflow as a coupled control sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sibling {
    /// Congestion window in bytes; the slow-start threshold while in recovery (RFC 6356 §3).
    pub cwnd: u64,
    /// Smoothed round-trip time; never zero.
    pub srtt: Span,
    /// The shortest round trip seen; never zero.
    pub min_rtt: Span,
    /// Bytes acknowledged between the last two losses, or since the last one if that is more (OLIA's l).
    pub between_losses: u64,
    /// Whether it is the subflow that is asked.
    pub own: bool,
}

/// A setting of a control, by name.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameter {
    /// As a scenario writes it.
    pub name: &'static str,
    /// What it is, with its unit and source.
    pub about: &'static str,
    /// Its value unless set.
    pub default: f64,
    /// The smallest value it may have.
    pub low: f64,
    /// The largest value it may have.
    pub high: f64,
}

/// What a congestion control does.
///
/// For each acknowledgement that brings news the transport calls [`observe`](CongestionControl::observe), in every state, then
/// [`on_ack`](CongestionControl::on_ack) if the window may grow. For each congestion event it calls
/// [`on_congestion`](CongestionControl::on_congestion), and brings cwnd to the new ssthresh itself (after a time-out: to one
/// segment). A control with [`MANAGES_CWND`](CongestionControl::MANAGES_CWND) sets cwnd alone, in `observe`.
pub trait CongestionControl: Default {
    /// Looks at the connection's other subflows.
    const COUPLED: bool = false;
    /// Wants [`Ack::delivery`], which costs the transport time and memory.
    const WANTS_DELIVERY: bool = false;
    /// Sets cwnd itself in every state; the transport neither reduces nor grows it (BBR). For such a control
    /// [`observe`](CongestionControl::observe) comes last, after an acknowledgement's losses and what follows from them
    /// (`net/ipv4/tcp_input.c: tcp_cong_control`). After a time-out the transport leaves it what is in flight and one
    /// segment (`tcp_enter_loss`).
    const MANAGES_CWND: bool = false;
    /// [`on_ack`](CongestionControl::on_ack) is for it also when the window was not what kept the sender from sending
    /// ([`Ack::cwnd_limited`] tells): Vegas and what follows it, which look at delay instead.
    const GROWS_APP_LIMITED: bool = false;
    /// Needs ECN; echoes are for [`observe`](CongestionControl::observe) to count, and the receiver tells marks exactly
    /// (RFC 8257 §3.2).
    const DCTCP_ECN: bool = false;
    /// May answer [`pacing`](CongestionControl::pacing).
    const PACES: bool = Self::MANAGES_CWND;

    /// The connection is established; called once, before anything else.
    fn on_start(&mut self, _start: &Start, _window: &mut Window) {}

    /// Measures at all: [`observe`](CongestionControl::observe) does something.
    const OBSERVES: bool = true;

    /// News of any kind arrived, in any state: measurements. Called before growth or reduction.
    fn observe(&mut self, _ack: &Ack<'_>, _window: &mut Window) {}

    /// New data was acknowledged while the window was fully used and no reduction was under way: grows cwnd.
    fn on_ack(&mut self, ack: &Ack<'_>, window: &mut Window);

    /// There is congestion: sets ssthresh, at least two segments. cwnd is the transport's business.
    fn on_congestion(&mut self, event: &Event<'_>, window: &mut Window);

    /// The retransmission timer has fired, and `lost` bytes were ever found lost. For every time-out, whether or not it
    /// was one more congestion event; if it was, after [`on_congestion`](CongestionControl::on_congestion) (Linux: `set_state`
    /// with `TCP_CA_Loss`).
    fn on_timeout(&mut self, _lost: u64) {}

    /// The reduction is complete: cwnd has come down to ssthresh, and what was lost is repaired.
    fn on_recovered(&mut self, _now: Time, _window: &mut Window) {}

    /// The last congestion was none (Eifel, F-RTO, DSACK): the transport has restored cwnd and ssthresh.
    fn on_undo(&mut self, _now: Time, _window: &mut Window) {}

    /// Data flows again after nothing was outstanding for `idle`.
    fn on_restart(&mut self, _now: Time, _idle: Span, _window: &mut Window) {}

    /// The rate at which to send, if the control paces.
    fn pacing(&self) -> Option<Rate> {
        None
    }

    /// The moving average of the share of marked data, if the control keeps one (α of RFC 8257 §3.3).
    fn marked_share(&self) -> Option<f64> {
        None
    }

    /// What can be set.
    fn parameters() -> &'static [Parameter] {
        &[]
    }

    /// Sets a parameter of [`parameters`](CongestionControl::parameters) to a value within its range.
    fn set(&mut self, _name: &str, _value: f64) {}
}

/// A name that is no congestion control.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownControl(pub String);

impl fmt::Display for UnknownControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown congestion control `{}`; known: {}", self.0, AnyController::NAMES.join(", "))
    }
}

impl std::error::Error for UnknownControl {}

/// A parameter that a control does not have, or a value that it cannot take.
#[derive(Debug, Clone, PartialEq)]
pub enum BadParameter {
    /// The control has none of this name.
    Unknown {
        /// The control's name.
        control: String,
        /// What was given.
        name: String,
        /// The names it has.
        known: Vec<&'static str>,
    },
    /// Out of range.
    Range {
        /// Which.
        parameter: Parameter,
        /// What was given.
        value: f64,
    },
}

impl fmt::Display for BadParameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadParameter::Unknown { control, name, known } if known.is_empty() => {
                write!(f, "`{control}` has no parameter `{name}`; it has none at all")
            }
            BadParameter::Unknown { control, name, known } => {
                write!(f, "`{control}` has no parameter `{name}`; it has {}", known.join(", "))
            }
            BadParameter::Range { parameter: Parameter { name, low, high, .. }, value } => {
                write!(f, "`{name}` = {value} is not within {low} to {high}")
            }
        }
    }
}

impl std::error::Error for BadParameter {}

// The states are boxed except the smallest ones, so that a sender that uses those stays small.
macro_rules! controls {
    ($($name:literal => $control:ident in $store:ty;)+) => {
        /// Any of the congestion controls, by name.
        #[derive(Debug, Clone)]
        pub enum AnyController {
            $(#[doc = concat!("`", $name, "`")] $control($store),)+
            /// `own:NAME`, given by the program.
            Own(Box<Own>),
        }

        impl AnyController {
            /// The names a scenario may use.
            pub const NAMES: &[&str] = &[$($name),+];

            /// A fresh state of the control called `name`.
            ///
            /// # Errors
            /// If there is none of that name; the message lists all.
            pub fn by_name(name: &str) -> Result<AnyController, UnknownControl> {
                match name {
                    $($name => Ok(AnyController::$control(<$store>::default())),)+
                    _ => Err(UnknownControl(name.to_owned())),
                }
            }

            /// The name it is known by.
            pub fn name(&self) -> &str {
                match self { $(AnyController::$control(_) => $name,)+ AnyController::Own(own) => own.written() }
            }

            /// See [`CongestionControl::COUPLED`].
            #[inline]
            pub fn is_coupled(&self) -> bool {
                match self {
                    $(AnyController::$control(_) => <$control as CongestionControl>::COUPLED,)+
                    AnyController::Own(own) => own.needs().coupled,
                }
            }

            /// See [`CongestionControl::OBSERVES`].
            #[inline]
            pub fn observes(&self) -> bool {
                match self {
                    $(AnyController::$control(_) => <$control as CongestionControl>::OBSERVES,)+
                    AnyController::Own(own) => own.needs().observes,
                }
            }

            /// See [`CongestionControl::WANTS_DELIVERY`].
            #[inline]
            pub fn wants_delivery(&self) -> bool {
                match self {
                    $(AnyController::$control(_) => <$control as CongestionControl>::WANTS_DELIVERY,)+
                    AnyController::Own(own) => own.needs().delivery,
                }
            }

            /// See [`CongestionControl::MANAGES_CWND`].
            #[inline]
            pub fn manages_cwnd(&self) -> bool {
                match self {
                    $(AnyController::$control(_) => <$control as CongestionControl>::MANAGES_CWND,)+
                    AnyController::Own(own) => own.needs().manages_cwnd,
                }
            }

            /// See [`CongestionControl::GROWS_APP_LIMITED`].
            #[inline]
            pub fn grows_app_limited(&self) -> bool {
                match self {
                    $(AnyController::$control(_) => <$control as CongestionControl>::GROWS_APP_LIMITED,)+
                    AnyController::Own(own) => own.needs().grows_app_limited,
                }
            }

            /// See [`CongestionControl::DCTCP_ECN`].
            #[inline]
            pub fn dctcp_ecn(&self) -> bool {
                match self {
                    $(AnyController::$control(_) => <$control as CongestionControl>::DCTCP_ECN,)+
                    AnyController::Own(own) => own.needs().dctcp_ecn,
                }
            }

            /// See [`CongestionControl::PACES`].
            #[inline]
            pub fn paces(&self) -> bool {
                match self {
                    $(AnyController::$control(_) => <$control as CongestionControl>::PACES,)+
                    AnyController::Own(own) => own.needs().paces,
                }
            }

            /// What can be set. An own control has got its parameters before.
            pub fn parameters(&self) -> &'static [Parameter] {
                match self {
                    $(AnyController::$control(_) => <$control as CongestionControl>::parameters(),)+
                    AnyController::Own(_) => &[],
                }
            }

            /// See [`CongestionControl::on_start`].
            pub fn on_start(&mut self, start: &Start, window: &mut Window) {
                match self { $(AnyController::$control(c) => c.on_start(start, window),)+ AnyController::Own(own) => own.on_start(start, window) }
            }

            /// See [`CongestionControl::observe`].
            #[inline]
            pub fn observe(&mut self, ack: &Ack<'_>, window: &mut Window) {
                match self { $(AnyController::$control(c) => c.observe(ack, window),)+ AnyController::Own(own) => own.observe(ack, window) }
            }

            /// See [`CongestionControl::on_ack`].
            #[inline]
            pub fn on_ack(&mut self, ack: &Ack<'_>, window: &mut Window) {
                match self { $(AnyController::$control(c) => c.on_ack(ack, window),)+ AnyController::Own(own) => own.on_ack(ack, window) }
            }

            /// See [`CongestionControl::on_congestion`].
            pub fn on_congestion(&mut self, event: &Event<'_>, window: &mut Window) {
                match self { $(AnyController::$control(c) => c.on_congestion(event, window),)+ AnyController::Own(own) => own.on_congestion(event, window) }
            }

            /// See [`CongestionControl::on_timeout`].
            pub fn on_timeout(&mut self, lost: u64) {
                match self { $(AnyController::$control(c) => c.on_timeout(lost),)+ AnyController::Own(own) => own.on_timeout(lost) }
            }

            /// See [`CongestionControl::on_recovered`].
            pub fn on_recovered(&mut self, now: Time, window: &mut Window) {
                match self { $(AnyController::$control(c) => c.on_recovered(now, window),)+ AnyController::Own(own) => own.on_recovered(now, window) }
            }

            /// See [`CongestionControl::on_undo`].
            pub fn on_undo(&mut self, now: Time, window: &mut Window) {
                match self { $(AnyController::$control(c) => c.on_undo(now, window),)+ AnyController::Own(own) => own.on_undo(now, window) }
            }

            /// See [`CongestionControl::on_restart`].
            pub fn on_restart(&mut self, now: Time, idle: Span, window: &mut Window) {
                match self { $(AnyController::$control(c) => c.on_restart(now, idle, window),)+ AnyController::Own(own) => own.on_restart(now, idle, window) }
            }

            /// See [`CongestionControl::pacing`].
            #[inline]
            pub fn pacing(&self) -> Option<Rate> {
                match self { $(AnyController::$control(c) => c.pacing(),)+ AnyController::Own(own) => own.pacing() }
            }

            /// See [`CongestionControl::marked_share`]; an own control has none.
            pub fn marked_share(&self) -> Option<f64> {
                match self { $(AnyController::$control(c) => c.marked_share(),)+ AnyController::Own(_) => None }
            }

            fn set_unchecked(&mut self, name: &str, value: f64) {
                match self { $(AnyController::$control(c) => c.set(name, value),)+ AnyController::Own(_) => {} }
            }
        }
    };
}

impl AnyController {
    /// The program's, if it is that.
    pub fn own(&self) -> Option<&Own> {
        if let AnyController::Own(own) = self { Some(own) } else { None }
    }

    /// The program's, if it is that.
    #[inline]
    pub fn own_mut(&mut self) -> Option<&mut Own> {
        if let AnyController::Own(own) = self { Some(own) } else { None }
    }

    /// Sets a parameter.
    ///
    /// # Errors
    /// If the control has none of that name, or the value is out of its range.
    pub fn set(&mut self, name: &str, value: f64) -> Result<(), BadParameter> {
        let parameters = self.parameters();
        let Some(parameter) = parameters.iter().find(|p| p.name == name) else {
            let known = parameters.iter().map(|p| p.name).collect();
            return Err(BadParameter::Unknown { control: self.name().to_owned(), name: name.to_owned(), known });
        };
        // A NaN is in no range.
        if !(parameter.low..=parameter.high).contains(&value) {
            return Err(BadParameter::Range { parameter: *parameter, value });
        }
        self.set_unchecked(name, value);
        Ok(())
    }
}

controls! {
    "new-reno" => NewReno in NewReno;
    "lia" => Lia in Lia;
    "cubic" => Cubic in Box<Cubic>;
    "bic" => Bic in Box<Bic>;
    "highspeed" => HighSpeed in HighSpeed;
    "scalable" => Scalable in Scalable;
    "h-tcp" => Htcp in Box<Htcp>;
    "westwood" => Westwood in Box<Westwood>;
    "illinois" => Illinois in Box<Illinois>;
    "dctcp" => Dctcp in Box<Dctcp>;
    "d2tcp" => D2tcp in Box<D2tcp>;
    "bbr" => Bbr in Box<Bbr>;
    "vegas" => Vegas in Box<Vegas>;
    "olia" => Olia in Olia;
    "balia" => Balia in Balia;
    "wvegas" => WVegas in Box<WVegas>;
    "compound" => Compound in Box<Compound>;
    "fast" => Fast in Box<Fast>;
}

#[cfg(test)]
mod bottleneck;
#[cfg(test)]
mod coupled_tests;
#[cfg(test)]
mod harness;
#[cfg(test)]
mod response;
