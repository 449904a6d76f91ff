//! Samples of the delivery rate, for controls that want them (draft-cheng-iccrg-delivery-rate-estimation;
//! `net/ipv4/tcp_rate.c` of Linux 6.12). Only Linux' engine takes them.

use headway_control::congestion::Delivery;
use headway_units::Time;

use super::Sender;
use super::scoreboard::{SackState, Stamp};
use crate::tcp::profile::Profile;

/// The state of sampling.
#[derive(Debug)]
pub(super) struct RateSampler {
    /// When bytes were last delivered (`delivered_mstamp`).
    delivered_at: Time,
    /// When the first segment of the flight was sent (`first_tx_mstamp`).
    first_sent: Time,
    /// Until so many bytes are delivered, samples say more of the application than of the path (`app_limited`); zero:
    /// none does.
    app_limited_until: u64,
}

impl RateSampler {
    /// The state for `profile`, if it needs any.
    pub fn new(profile: &Profile) -> Option<Box<RateSampler>> {
        let needed = profile.recovery.is_linux() && profile.control.wants_delivery();
        needed.then(|| Box::new(RateSampler { delivered_at: Time::ZERO, first_sent: Time::ZERO, app_limited_until: 0 }))
    }

    /// A flight begins now.
    pub fn restart(&mut self, now: Time) {
        self.delivered_at = now;
        self.first_sent = now;
    }

    /// An acknowledgement brought `delivered` bytes in all; `sent` is when the segment sent last of them was.
    pub fn delivered(&mut self, now: Time, delivered: u64, sent: Option<Time>) {
        self.delivered_at = now;
        if delivered > self.app_limited_until {
            self.app_limited_until = 0;
        }
        if let Some(sent) = sent {
            self.first_sent = sent;
        }
    }
}

impl Sender {
    /// The stamp of a segment that is being sent: the one just pushed, or a retransmission (`index`).
    pub(super) fn stamp_sent(&mut self, index: Option<usize>) {
        let delivered = self.delivered();
        let Some(rate) = &self.rate else { return };
        let stamp = Stamp {
            delivered,
            delivered_at: rate.delivered_at,
            first_sent: rate.first_sent,
            app_limited: rate.app_limited_until > 0,
        };
        self.board.stamp(index, stamp);
    }

    /// A sample (§3.3 of the draft; `tcp_rate_gen`).
    pub(super) fn rate_sample(&self, now: Time, state: &SackState) -> Option<Delivery> {
        let (stamp, sent) = state.stamp?;
        let sending = sent.since(stamp.first_sent);
        let acking = now.since(stamp.delivered_at);
        let interval = sending.max(acking);
        let valid = self.rtt.min().is_none_or(|min| interval >= min) && !interval.is_zero();
        Some(Delivery {
            before: stamp.delivered,
            bytes: self.delivered() - stamp.delivered,
            interval: valid.then_some(interval),
            app_limited: stamp.app_limited,
        })
    }

    /// The application has nothing more to send, and the window is not full (`tcp_rate_check_app_limited`).
    pub(super) fn note_app_limited(&mut self) {
        let until = (self.delivered() + self.pipe()).max(1);
        if let Some(rate) = &mut self.rate {
            rate.app_limited_until = until;
        }
    }
}
