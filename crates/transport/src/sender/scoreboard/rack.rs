//! Loss by time (RFC 8985): segments sent well before one that was delivered.

use headway_units::{Span, Time};

use super::Scoreboard;
use super::sent::{Sent, bit};

impl Scoreboard {
    /// RFC 8985 §6.2 step 5: what was sent before the segment `(at, end)`, by more than `wait`, and was not reported
    /// until now is lost. `rtt` is what that segment took. Returns how long to wait for those not yet lost, if any.
    pub fn rack(&mut self, now: Time, (at, end): (Time, u64), rtt: Span, wait: Span) -> Span {
        let Some(mut timed) = self.timed.take() else { return Span::ZERO };
        let mut longest = Span::ZERO;
        // What is left until a segment sent then is lost; zero if it is.
        let remaining = |sent: Time| (rtt + wait).saturating_sub(now.since(sent));
        let mut passed = true;
        for index in self.index_of(timed.first)..self.segments.len() {
            let segment = self.segments[index];
            if segment.state & (bit::SACKED | bit::LOST | bit::EVER_RETRANS) == 0 {
                if (at, end) <= (segment.sent_at, segment.end()) {
                    break;
                }
                let left = remaining(segment.sent_at);
                if left.is_zero() {
                    self.lose(index);
                } else {
                    longest = longest.max(left);
                    passed = false;
                }
            }
            if passed {
                timed.first = segment.end();
            }
        }
        let mut retransmissions = timed.retransmissions.take().unwrap_or_default();
        let mut kept = 0;
        while let Some(&(sent, seq)) = retransmissions.get(kept) {
            let index = self.index_of(seq);
            let open = |s: &&Sent| s.state & bit::SACKED == 0 && !s.awaits_retransmission();
            let current = self.segments.get(index).filter(|s| s.seq == seq && s.sent_at == sent).filter(open);
            let Some(segment) = current else {
                retransmissions.remove(kept);
                continue;
            };
            if (at, end) <= (sent, segment.end()) {
                break;
            }
            let left = remaining(sent);
            if left.is_zero() {
                self.lose(index);
                retransmissions.remove(kept);
            } else {
                longest = longest.max(left);
                kept += 1;
            }
        }
        timed.retransmissions = Some(retransmissions);
        self.timed = Some(timed);
        longest
    }
}
