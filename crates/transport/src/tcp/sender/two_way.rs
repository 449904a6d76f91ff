//! A sender of a two-way connection: it may be the acceptor's, and the window before it may be closed.

use headway_units::{Span, Time};

use super::{Phase, Repair, Sender};
use crate::network::Network;
use crate::segment::flag;
use crate::tcp::profile::Profile;

impl Sender {
    /// The acceptor's: the third part of the handshake has come, `round_trip` after the only SYN-ACK.
    pub fn accept(&mut self, now: Time, round_trip: Option<Span>, profile: &Profile, net: &Network) {
        (self.una, self.nxt, self.phase) = (1, 1, Phase::Established);
        if let Some(rtt) = round_trip {
            self.rtt.sample(rtt, rtt, self.una, self.nxt);
        }
        self.start_control(now, profile, net);
    }

    /// The opener's: the third part of the handshake leaves by itself, unless data or Linux has sent it.
    pub fn complete_handshake(&self, now: Time, profile: &Profile, net: &mut Network) {
        if self.outstanding() == 0 && !profile.recovery.is_linux() {
            self.control_segment(now, self.nxt, flag::ACK, profile, net);
        }
    }

    /// Whether something lost is to be sent.
    pub fn is_repairing(&self) -> bool {
        self.repair != Repair::None
    }

    /// The window is closed, and nothing is on its way that would be answered: asks after a time-out.
    pub fn await_window(&mut self, now: Time, profile: &Profile, net: &mut Network) {
        if self.outstanding() == 0 && self.timer.deadline() == Time::NEVER {
            self.set_timer(now, self.rtt.rto(), profile, net);
        }
    }

    /// Asks whether the window is open, by a segment of before what is expected (`net/ipv4/tcp_output.c:
    /// tcp_xmit_probe_skb`); the next time after twice as long (RFC 9293 §3.8.6.1).
    pub fn probe_window(&mut self, now: Time, profile: &Profile, net: &mut Network) {
        self.control_segment(now, self.una - 1, flag::ACK, profile, net);
        self.rtt.back_off();
        self.set_timer(now, self.rtt.rto(), profile, net);
    }

    /// The window has opened.
    pub fn window_opened(&mut self) {
        if self.outstanding() == 0 && self.phase == Phase::Established {
            self.rtt.end_back_off();
            self.timer.cancel();
        }
    }
}
