//! Congestion control: how a sender's window follows acknowledgements, loss and marks.
//!
//! A control changes a [`Window`] and nothing else; loss detection, retransmission and timers are the
//! transport's. Adding a control takes one file in this folder and one line in the list below.

use std::fmt;

use headway_units::{Span, Time};

mod lia;
mod new_reno;

pub use lia::Lia;
pub use new_reno::NewReno;

/// A sender's congestion window, in bytes of payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Congestion window.
    pub cwnd: u64,
    /// Slow-start threshold; `u64::MAX` until the first congestion event unless set otherwise.
    pub ssthresh: u64,
    /// Largest payload of a segment (SMSS of RFC 5681).
    pub mss: u32,
}

impl Window {
    /// A window of `packets` segments in slow start.
    pub fn initial(packets: u32, mss: u32) -> Window {
        Window { cwnd: u64::from(packets) * u64::from(mss), ssthresh: u64::MAX, mss }
    }

    /// Whether the window grows by slow start (RFC 5681 §3.1: cwnd < ssthresh).
    #[inline]
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// The threshold after congestion with `in_flight` bytes outstanding: RFC 5681 eq. 4,
    /// max(FlightSize / 2, 2·SMSS).
    pub fn halved(&self, in_flight: u64) -> u64 {
        (in_flight / 2).max(2 * u64::from(self.mss))
    }

    /// Slow start for `acked` newly acknowledged bytes: RFC 5681 eq. 2, cwnd += min(N, SMSS).
    /// Returns the bytes left over once cwnd has reached ssthresh.
    #[inline]
    pub fn slow_start(&mut self, acked: u64) -> u64 {
        let grow = acked.min(u64::from(self.mss));
        let grown = (self.cwnd + grow).min(self.ssthresh);
        let used = grown - self.cwnd;
        self.cwnd = grown;
        grow - used
    }
}

/// What a control learns from an acknowledgement of new data outside recovery.
#[derive(Debug, Clone, Copy)]
pub struct Ack<'a> {
    /// When it arrived.
    pub now: Time,
    /// Newly acknowledged bytes.
    pub acked: u64,
    /// Smoothed round-trip time of this path, if there is a sample.
    pub srtt: Option<Span>,
    /// All established subflows of the connection, this one included; empty for controls that are not coupled.
    pub siblings: &'a [Sibling],
}

/// A subflow as a coupled control sees it.
#[derive(Debug, Clone, Copy)]
pub struct Sibling {
    /// Congestion window in bytes; the slow-start threshold while in recovery (RFC 6356 §3).
    pub cwnd: u64,
    /// Smoothed round-trip time; never zero.
    pub srtt: Span,
}

/// What a congestion control does. The transport calls exactly one of these per event.
pub trait Control: Default {
    /// New data was acknowledged while the window was fully used and no recovery was under way.
    fn on_ack(&mut self, ack: &Ack<'_>, window: &mut Window);

    /// Loss found by duplicate or selective acknowledgements, or an ECN echo; at most once per window.
    /// Sets ssthresh and cwnd. `in_flight` is RFC 5681's FlightSize in bytes.
    fn on_loss(&mut self, now: Time, in_flight: u64, window: &mut Window);

    /// The retransmission timer fired for the first time for this segment. RFC 5681 §3.1: cwnd is one segment.
    fn on_timeout(&mut self, now: Time, in_flight: u64, window: &mut Window);
}

/// A name that is no congestion control.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownControl(pub String);

impl fmt::Display for UnknownControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown congestion control `{}`; known: {}", self.0, Congestion::NAMES.join(", "))
    }
}

impl std::error::Error for UnknownControl {}

macro_rules! controls {
    ($($name:literal => $control:ident, coupled: $coupled:literal;)+) => {
        /// Any of the congestion controls, by name.
        #[derive(Debug, Clone)]
        pub enum Congestion {
            $(#[doc = concat!("`", $name, "`")] $control($control),)+
        }

        impl Congestion {
            /// The names a scenario may use.
            pub const NAMES: &[&str] = &[$($name),+];

            /// A fresh state of the control called `name`.
            ///
            /// # Errors
            /// If there is none of that name; the message lists all.
            pub fn by_name(name: &str) -> Result<Congestion, UnknownControl> {
                match name {
                    $($name => Ok(Congestion::$control($control::default())),)+
                    _ => Err(UnknownControl(name.to_owned())),
                }
            }

            /// The name it is known by.
            pub fn name(&self) -> &'static str {
                match self { $(Congestion::$control(_) => $name,)+ }
            }

            /// Whether it looks at the connection's other subflows.
            #[inline]
            pub fn is_coupled(&self) -> bool {
                match self { $(Congestion::$control(_) => $coupled,)+ }
            }

            /// See [`Control::on_ack`].
            #[inline]
            pub fn on_ack(&mut self, ack: &Ack<'_>, window: &mut Window) {
                match self { $(Congestion::$control(c) => c.on_ack(ack, window),)+ }
            }

            /// See [`Control::on_loss`].
            pub fn on_loss(&mut self, now: Time, in_flight: u64, window: &mut Window) {
                match self { $(Congestion::$control(c) => c.on_loss(now, in_flight, window),)+ }
            }

            /// See [`Control::on_timeout`].
            pub fn on_timeout(&mut self, now: Time, in_flight: u64, window: &mut Window) {
                match self { $(Congestion::$control(c) => c.on_timeout(now, in_flight, window),)+ }
            }
        }
    };
}

controls! {
    "new-reno" => NewReno, coupled: false;
    "lia" => Lia, coupled: true;
}

#[cfg(test)]
mod harness;
