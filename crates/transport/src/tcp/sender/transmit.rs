//! Segments on their way out: new data, retransmissions, and a window that was idle.

use headway_control::lanes::Permit;
use headway_fabric::ecn;
use headway_units::Time;

use super::scoreboard::Payload;
use super::{Phase, Repair, Sender};
use crate::endpoint::{Side, endpoint};
use crate::network::Network;
use crate::segment::{Frame, NO_EXTRA, Segment, flag, frame_size};
use crate::tcp::profile::{IdleRestart, Profile};

impl Sender {
    /// Sends new data, `len` bytes at connection position `data`; `fin` ends the subflow.
    #[inline(never)]
    pub fn send_new(&mut self, now: Time, data: u64, len: u32, fin: bool, profile: &Profile, net: &mut Network) {
        self.send_next(now, data, len, fin, profile, net);
    }

    /// [`send_new`](Self::send_new), for where most data comes from.
    #[expect(clippy::inline_always, reason = "a call for every segment costs a tenth of what it does in the sender")]
    #[inline(always)]
    pub fn send_next(&mut self, now: Time, data: u64, len: u32, fin: bool, profile: &Profile, net: &mut Network) {
        if self.outstanding() == 0 && self.nxt > 1 && self.permit == Permit::Normal {
            self.restart(now, profile);
        } else if self.output.is_some() {
            self.note_start(now);
        }
        let payload = Payload { seq: self.nxt, data, len, fin };
        if self.output.is_some() {
            self.note_new(now, payload.span(), profile, net);
        }
        self.nxt += payload.span();
        self.board.push(payload.seq, now, data, len, fin);
        let bits = if self.output.is_some() { self.note_pushed() } else { 0 };
        self.data_segment(now, payload, bits, true, profile, net);
    }

    /// Data flows again after nothing was outstanding. A window that has not been used for an RTO says nothing about
    /// the path any more.
    fn restart(&mut self, now: Time, profile: &Profile) {
        let initial = u64::from(profile.initial_window) * u64::from(profile.mss);
        let (idle, rto) = (now.since(self.last_sent), self.rtt.rto());
        if idle > rto && !self.control.manages_cwnd() {
            match profile.idle_restart {
                IdleRestart::Keep => {}
                // RFC 5681 §4.1
                IdleRestart::Restart => self.window.cwnd = self.window.cwnd.min(initial),
                // RFC 2861; `tcp_cwnd_restart`
                IdleRestart::Decay => {
                    let before = self.window.cwnd;
                    if self.window.ssthresh != u64::MAX {
                        self.window.ssthresh = self.current_ssthresh();
                    }
                    let mut unused = idle.saturating_sub(rto);
                    while !unused.is_zero() && self.window.cwnd > initial {
                        self.window.cwnd = self.window.bytes(self.window.segments() / 2);
                        unused = unused.saturating_sub(rto);
                    }
                    self.window.cwnd = self.window.cwnd.max(initial.min(before));
                }
            }
        }
        self.control.on_restart(now, idle, &mut self.window);
    }

    /// Something is about to be sent. If there is something outstanding but nothing in the network, because all of it
    /// was found lost, Linux' controls take it for a start as well (`tcp_output.c: tcp_event_data_sent`).
    fn note_start(&mut self, now: Time) {
        let start = self.output.is_some() && self.outstanding() > 0 && self.pipe() == 0;
        if start && !self.control.manages_cwnd() {
            self.control.on_restart(now, now.since(self.last_sent), &mut self.window);
        }
    }

    /// Retransmits segments known to be lost, as far as the window allows, and others by the rules of the engine.
    /// `more_data` waits in the connection.
    #[inline]
    pub fn repair(&mut self, now: Time, more_data: bool, profile: &Profile, net: &mut Network) {
        if self.phase == Phase::Established && self.repair != Repair::None {
            self.continue_repair(now, more_data, profile, net);
        }
    }

    #[inline(never)]
    fn continue_repair(&mut self, now: Time, more_data: bool, profile: &Profile, net: &mut Network) {
        if profile.recovery.is_linux() {
            self.repair_linux(now, more_data, profile, net);
        } else {
            self.repair_rfc(now, more_data, profile, net);
        }
    }

    /// The window for retransmissions. On hold the thesis' window is zero, but what was lost must arrive all the
    /// same.
    pub(super) fn retransmission_window(&self) -> u64 {
        if self.permit == Permit::Hold { self.window.cwnd } else { self.allowed() }
    }

    /// Retransmits a segment.
    pub(super) fn retransmit(&mut self, now: Time, index: usize, profile: &Profile, net: &mut Network) {
        self.note_start(now);
        let payload = self.board.retransmitted(index, now);
        if self.linux.is_some() {
            self.note_retransmission(now, payload.span());
        }
        self.send_retransmission(now, index, payload, profile, net);
    }

    /// Retransmits a segment as a tail loss probe or RFC 6675's rescue: its bytes count in flight once.
    pub(super) fn retransmit_once_counted(&mut self, now: Time, index: usize, profile: &Profile, net: &mut Network) {
        let payload = self.board.probed(index, now);
        self.send_retransmission(now, index, payload, profile, net);
    }

    fn send_retransmission(&mut self, now: Time, index: usize, payload: Payload, profile: &Profile, net: &mut Network) {
        self.counters.retransmissions += 1;
        self.stamp_sent(Some(index));
        let bits = self.segment_bits();
        self.data_segment(now, payload, bits, false, profile, net);
    }

    /// Sends a segment with the bits of `tag` and those that every one has.
    #[expect(clippy::inline_always, reason = "retransmissions must not cost new data a call")]
    #[inline(always)]
    fn data_segment(
        &mut self,
        now: Time,
        Payload { seq, data, len, fin }: Payload,
        mut tag: u8,
        new: bool,
        profile: &Profile,
        net: &mut Network,
    ) {
        tag |= flag::ACK | if fin { flag::FIN } else { 0 };
        // RFC 3168 §6.1.2, §6.1.5: retransmissions carry neither CWR nor an ECT codepoint; RFC 8257 §3.5 has all
        // segments carry one.
        let capable = profile.ecn && (new || self.control.dctcp_ecn());
        if new && self.cwr_pending {
            self.cwr_pending = false;
            tag |= if profile.ecn { flag::CWR } else { 0 };
        }
        let frame = Frame {
            hop: self.route,
            size: frame_size(len, profile.overhead),
            tos: if capable { ecn::CAPABLE } else { 0 },
            tag,
            body: Segment { number: seq as u32, data_number: data as u32, amount: len, extra: NO_EXTRA },
        };
        self.last_sent = now;
        self.count_prr_out(len);
        net.send(now, endpoint(self.id, Side::Receiver), frame);
        // RFC 6298 §5.1
        if self.timer.deadline() == Time::NEVER {
            self.set_timer(now, self.rtt.rto(), profile, net);
        }
    }
}
