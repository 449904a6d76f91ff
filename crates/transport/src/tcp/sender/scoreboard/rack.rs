//! Loss by time (RFC 8985): segments sent well before one that was delivered.

use headway_units::{Span, Time};

use super::Scoreboard;
use super::sent::{Sent, bit};

impl Scoreboard {
    /// RFC 8985 §6.2 step 5: segments sent before the one that ends with `(at, end)`, by more than `wait`, and not
    /// reported until now are lost. `rtt` is that segment's round trip. Returns how long to wait for those not yet
    /// lost, if any.
    pub fn rack(&mut self, now: Time, (at, end): (Time, u64), rtt: Span, wait: Span) -> Span {
        let Some(mut timed) = self.timed.take() else { return Span::ZERO };
        let mut longest = Span::ZERO;
        // The time until a segment sent then is lost; zero if it is.
        let remaining = |sent: Time| (rtt + wait).saturating_sub(now.since(sent));
        let mut passed = true;
        for index in self.index_of(timed.first)..self.segments.len() {
            let segment = self.segments[index];
            if segment.state & (bit::SACKED | bit::LOST | bit::EVER_RETRANS) == 0 {
                if (at, end) <= (segment.at, segment.end()) {
                    break;
                }
                let after = remaining(segment.at);
                if after.is_zero() {
                    self.lose(index);
                } else {
                    longest = longest.max(after);
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
            let current = self.segments.get(index).filter(|s| s.seq == seq && s.at == sent).filter(open);
            let Some(segment) = current else {
                retransmissions.remove(kept);
                continue;
            };
            if (at, end) <= (sent, segment.end()) {
                break;
            }
            let after = remaining(sent);
            if after.is_zero() {
                self.lose(index);
                retransmissions.remove(kept);
            } else {
                longest = longest.max(after);
                kept += 1;
            }
        }
        timed.retransmissions = Some(retransmissions);
        self.timed = Some(timed);
        longest
    }
}
