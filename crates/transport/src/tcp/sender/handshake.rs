//! Opening a subflow (RFC 9293 §3.5, RFC 8684 §3.2), and losing and regaining its interface's carrier.

use headway_control::congestion::Start;
use headway_units::{Span, Time};

use super::{Phase, Progress, Sender};
use crate::endpoint::{Side, endpoint};
use crate::network::Network;
use crate::segment::{Frame, NO_EXTRA, Segment, flag, frame_size, syn_options};
use crate::tcp::profile::Profile;
use crate::tcp::rtt::RttEstimator;

impl Sender {
    /// Sends SYN.
    pub fn open(&mut self, now: Time, profile: &Profile, net: &mut Network) {
        self.last_sent = now;
        self.control_segment(now, 0, flag::SYN, profile, net);
        self.set_timer(now, self.rtt.rto(), profile, net);
    }

    /// Handles the answer to SYN.
    pub fn on_syn_ack(&mut self, now: Time, profile: &Profile, net: &mut Network) -> Progress {
        if self.phase != Phase::Opening {
            // our ACK was lost
            self.control_segment(now, self.nxt, flag::ACK, profile, net);
            return Progress::default();
        }
        self.una = 1;
        // Timestamps tell which SYN was answered.
        if self.handshake_retries == 0 || profile.timestamps && profile.recovery.is_linux() {
            let rtt = now.since(self.last_sent);
            self.rtt.sample(rtt, rtt, self.una, self.nxt);
        } else {
            // RFC 6298 §5.7 and RFC 5681 §3.1: a lost SYN means three seconds and one segment. Linux takes its initial
            // window if SYN was retransmitted once (`tcp_init_transfer`).
            let initial = Span::from_secs(3).max(profile.initial_rto);
            self.rtt = RttEstimator::of(profile, initial);
        }
        if self.handshake_retries > u32::from(profile.recovery.is_linux()) {
            self.window.cwnd = u64::from(self.window.mss);
        }
        self.start_control(now, profile, net);
        if self.join {
            self.phase = Phase::Joining;
            self.handshake_retries = 0;
            self.last_sent = now;
            self.control_segment(now, 1, flag::ACK, profile, net);
            self.set_timer(now, self.rtt.rto(), profile, net);
            return Progress::default();
        }
        self.phase = Phase::Established;
        self.timer.cancel();
        if profile.recovery.is_linux() {
            // Linux answers before the application can write, so no data rides on it.
            self.control_segment(now, 1, flag::ACK, profile, net);
        }
        Progress { established: true, sampled: self.rtt.srtt().is_some(), ..Progress::default() }
    }

    /// The handshake is over for the congestion control, for output and for rate samples.
    pub(super) fn start_control(&mut self, now: Time, profile: &Profile, net: &Network) {
        let seed =
            net.seed ^ (u64::from(self.connection) << 32 | u64::from(self.id)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.control.on_start(&Start { now, rtt: self.rtt.srtt(), seed }, &mut self.window);
        if let Some(output) = &mut self.output {
            output.established(now);
            self.update_pacing_rate(profile);
        }
        if let Some(rate) = &mut self.rate {
            rate.restart(now);
        }
    }

    /// SYN, or the join's third packet, was not answered.
    pub(super) fn on_handshake_timeout(&mut self, now: Time, profile: &Profile, net: &mut Network) {
        self.counters.timeouts += 1;
        // a repeated SYN is a segment that is sent again, as in Linux (`tcpi_total_retrans`)
        self.counters.retransmissions += u32::from(self.phase == Phase::Opening);
        self.handshake_retries += 1;
        let (number, tag) = if self.phase == Phase::Opening { (0, flag::SYN) } else { (1, flag::ACK) };
        self.rtt.back_off();
        self.control_segment(now, number, tag, profile, net);
        self.set_timer(now, self.rtt.rto(), profile, net);
    }

    /// A segment without data.
    pub(super) fn control_segment(&self, now: Time, number: u64, tag: u8, profile: &Profile, net: &mut Network) {
        let frame = Frame {
            hop: self.route,
            size: frame_size(if tag & flag::SYN != 0 { syn_options(profile) } else { 0 }, profile.overhead),
            tos: 0,
            tag,
            body: Segment { number: number as u32, data_number: 0, amount: 0, extra: NO_EXTRA },
        };
        net.send(now, endpoint(self.id, Side::Receiver), frame);
    }

    /// The interface has lost its carrier: nobody hears of this subflow until it is back.
    pub fn lose_carrier(&mut self) {
        self.carrier_down = true;
        self.failed = true;
    }

    /// The carrier is back, or another interface is taken: what is outstanding is tried at once, with the time-out as
    /// it was before the back-off.
    pub fn regain_carrier(&mut self, now: Time, profile: &Profile, net: &mut Network) {
        self.carrier_down = false;
        self.rtt.end_back_off();
        match self.phase {
            Phase::Opening => {
                self.failed = false;
                self.open(now, profile, net);
            }
            Phase::Established if self.outstanding() == 0 => self.failed = false,
            Phase::Joining | Phase::Established => {
                self.failed &= self.phase == Phase::Established;
                let soon = now.saturating_add(Span::from_picos(1));
                if soon < self.timer.deadline() {
                    self.timer.set(soon, &mut net.queue, self.timer_source());
                }
            }
            Phase::Closed => {}
        }
    }
}
