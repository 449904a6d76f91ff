//! Loss recovery as Linux does it: one state machine over acknowledgements, time and probes.
//!
//! Sources: `net/ipv4/tcp_input.c` (`tcp_ack`, `tcp_fastretrans_alert`, `tcp_process_loss`, `tcp_cwnd_reduction`),
//! `tcp_recovery.c`, `tcp_output.c` (`tcp_send_loss_probe`, `tcp_cwnd_validate`) and `tcp_timer.c` of Linux 6.12; RFC
//! 8985 (RACK-TLP), RFC 6937 (PRR), RFC 5682 (F-RTO), RFC 3522 (Eifel), RFC 2883 (D-SACK).
//!
//! Leaves out: receivers that take back what they reported, connections without selective acknowledgements, thin-stream
//! time-outs, MTU probes. Timestamps are known by the repair in which a segment was sent, not by their value.

use headway_control::congestion::{Ack, Cause, Delivery};
use headway_units::{Span, Time};

use super::output::Output;
use super::scoreboard::{News, Reading};
use super::{Context, Phase, Progress, Repair, Sender};
use crate::network::Network;
use crate::sack_pool::SackBlocks;
use crate::segment::{flag, unwrap};
use crate::tcp::profile::{Profile, Recovery, Reduction};
use crate::tcp::rtt::tick;

mod timers;
mod turn;
mod undo;
mod window;

/// Linux' `TCP_TIMEOUT_MIN_US`: two ticks.
const TIMEOUT_MIN: Span = Span::from_millis(2);
/// Recoveries after which a widened reordering window returns to its first width (RFC 8985 §6.2 step 4).
const RECOVERIES: u8 = 16;
/// `sysctl_tcp_max_reordering`.
const MAX_REORDERING: u32 = 300;

/// What the retransmission timer is set for (Linux' `icsk_pending`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pending {
    Retransmission,
    /// A tail loss probe.
    Probe,
    /// The end of RACK's reordering window.
    Reordering,
}

/// What only senders with [`profile::Modern`](crate::tcp::profile::Modern), bursts or pacing have.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own; together they are no state machine")]
pub(super) struct Modern {
    pub output: Output,
    pending: Pending,

    // proportional rate reduction (RFC 6937 §3)
    /// cwnd when the reduction began.
    prior_cwnd: u64,
    delivered: u64,
    out: u64,

    // undo
    /// Where the repair began, while it may still turn out to have been needless.
    undo_from: Option<u64>,
    /// Bytes sent again in it that were not reported twice; `None` before the first.
    undo_left: Option<u64>,
    prior_ssthresh: Option<u64>,
    /// When this repair first sent again (`retrans_stamp`).
    first_again: Option<Time>,
    /// Counts repairs that sent again, modulo four: what stands for timestamps.
    epoch: u8,
    f_rto: bool,
    /// F-RTO: new data before more is sent again.
    try_new: bool,
    retransmits: u32,
    /// Linux' Disorder: something was missing or sent again when the last acknowledgement had been handled, without a
    /// repair.
    disordered: bool,

    // RACK (RFC 8985 §5.2)
    latest: (Time, u64),
    latest_rtt: Span,
    advanced: bool,
    reordered: bool,
    steps: u32,
    persist: u8,
    /// The window is not widened again before this is acknowledged.
    widened: u64,
    /// Segments (Linux' `tp->reordering`).
    reordering: u32,

    // tail loss probe (RFC 8985 §7)
    probe: Option<u64>,
    probe_again: bool,
    /// A probe is to be sent in this turn.
    probing: bool,

    // whether the window is used (`tcp_cwnd_validate`)
    full: bool,
    most_out: u64,
    usage: u64,
    validated: Time,
    used: u64,
    /// New data was sent in this turn.
    sent: bool,

    // delivery rate
    delivered_at: Time,
    first_sent: Time,
    limited_until: u64,
}

impl Modern {
    /// The state for `profile`, if it needs any.
    pub fn new(profile: &Profile) -> Option<Box<Modern>> {
        let needed = profile.modern.is_some() || Output::needed(profile);
        needed.then(|| {
            Box::new(Modern {
                output: Output::default(),
                pending: Pending::Retransmission,
                prior_cwnd: 0,
                delivered: 0,
                out: 0,
                undo_from: None,
                undo_left: None,
                prior_ssthresh: None,
                first_again: None,
                epoch: 0,
                f_rto: false,
                try_new: false,
                retransmits: 0,
                disordered: false,
                latest: (Time::ZERO, 0),
                latest_rtt: Span::ZERO,
                advanced: false,
                reordered: false,
                steps: 1,
                persist: 0,
                widened: 0,
                reordering: profile.duplicate_threshold,
                probe: None,
                probe_again: false,
                probing: false,
                full: false,
                most_out: 0,
                usage: 0,
                validated: Time::ZERO,
                used: 0,
                sent: false,
                delivered_at: Time::ZERO,
                first_sent: Time::ZERO,
                limited_until: 0,
            })
        })
    }

    /// Time-outs in a row.
    pub fn failures(&self) -> u32 {
        self.retransmits
    }

    /// Linux' Disorder.
    pub fn is_disordered(&self) -> bool {
        self.disordered
    }

    /// The connection is established.
    pub fn established(&mut self, now: Time) {
        self.validated = now;
        self.delivered_at = now;
        self.first_sent = now;
    }
}

/// What `on_ack_modern` hands from step to step: Linux' `flag` and `sack_state`.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own; together they are no state machine")]
struct Facts {
    advanced: bool,
    sacked: bool,
    echo: bool,
    duplicate: bool,
    /// The acknowledged original was sent before this repair sent anything again.
    early: bool,
    before: (u64, u64, u64),
    news: News,
    set_timer: bool,
    /// Something sent again was lost again.
    lost_again: bool,
}

impl Sender {
    fn more(&mut self) -> &mut Modern {
        self.modern.as_mut().expect("a modern sender has its state")
    }

    fn mss(&self) -> u64 {
        u64::from(self.window.mss)
    }

    /// The bits of a segment that is about to leave: what stands for its timestamp, and the end of a burst.
    pub(super) fn marks(&mut self) -> u8 {
        let Some(modern) = &mut self.modern else { return 0 };
        let push = if std::mem::take(&mut modern.output.ends) { flag::PUSH } else { 0 };
        modern.epoch << flag::EPOCH_SHIFT | push
    }

    fn is_reducing(&self) -> bool {
        matches!(self.repair, Repair::Reducing | Repair::Fast)
    }

    /// `tcp_try_keep_open`
    fn keep_open(&mut self) {
        let disordered = self.board.sacked() > 0 || self.board.lost() > 0 || self.board.again() > 0;
        self.more().disordered = disordered && self.repair == Repair::None;
    }

    fn is_disordered(&self) -> bool {
        self.modern.as_ref().is_some_and(|m| m.disordered)
    }

    // ---- acknowledgements --------------------------------------------------------------------------------------

    #[expect(clippy::too_many_arguments, reason = "an acknowledgement and where it is handled")]
    pub(super) fn on_ack_modern(
        &mut self,
        now: Time,
        ack: u64,
        tag: u8,
        blocks: Option<SackBlocks>,
        context: &Context<'_>,
        profile: &Profile,
        net: &mut Network,
    ) -> Progress {
        let mut progress = Progress::default();
        let before = (self.total(), self.pipe(), self.board.lost_ever());
        let reading = Reading { too_soon: self.too_soon(now), point: self.point, highest: self.board.highest() };
        let mut facts = Facts {
            advanced: ack > self.una,
            sacked: false,
            echo: profile.ecn && tag & flag::ECE != 0,
            duplicate: false,
            early: self.is_early(now, tag, profile),
            before,
            news: News::default(),
            set_timer: false,
            lost_again: false,
        };
        if let Some(blocks) = &blocks {
            facts.duplicate = self.on_duplicate_report(blocks, ack);
            let news = Some((&mut facts.news, &reading));
            facts.sacked = self.board.mark_sacked(blocks, self.una, ack, self.nxt, news);
        }
        if self.outstanding() == 0 {
            return progress;
        }
        let sample = if facts.advanced {
            progress.revived = std::mem::take(&mut self.failed);
            self.more().retransmits = 0;
            let sample = self.board.acknowledge(ack, Some((&mut facts.news, &reading)));
            self.una = ack;
            facts.set_timer = true;
            sample
        } else {
            None
        };
        let rtt = self.measure(now, sample.map(|s| (s.first, s.last)), &mut facts, profile);
        progress.sampled = rtt.is_some();
        self.note_order(now, &facts);
        if facts.echo {
            self.counters.marks += 1;
        }
        if !self.control.manages_cwnd() {
            let told = self.told(now, rtt, &facts, context);
            self.control.observe(&told, &mut self.window);
        }
        self.on_probe_answered(now, ack, &facts, context, profile);
        let dubious = facts.sacked || facts.echo || facts.duplicate || !facts.advanced || self.repair != Repair::None;
        if dubious || self.is_disordered() {
            self.alert(now, &mut facts, context, profile, net);
            self.keep_open();
        }
        if self.outstanding() == 0 {
            self.timer.cancel();
            if self.board.finished() {
                self.phase = Phase::Closed;
                progress.closed = true;
            }
        } else if facts.set_timer && !self.set_probe_timer(now, true, profile, net) {
            self.rearm(now, profile, net);
        }
        self.follow(now, rtt, &facts, context, profile);
        self.update_rate(profile);
        progress
    }

    /// Sent after this and acknowledged now is too soon for a second copy (RFC 8985 §6.2 step 2).
    fn too_soon(&self, now: Time) -> Time {
        let elapsed = now.since(Time::ZERO);
        Time::ZERO + elapsed.saturating_sub(self.rtt.min().unwrap_or(Span::ZERO))
    }

    /// The Eifel test: what is acknowledged was sent before this repair sent anything again (RFC 3522 §3.2). Linux'
    /// timestamps count milliseconds, so shorter round trips tell nothing unless a tick lies between.
    fn is_early(&self, now: Time, tag: u8, profile: &Profile) -> bool {
        let Some(modern) = self.modern.as_ref().filter(|_| profile.timestamps) else { return false };
        let Some(first) = modern.first_again else { return false };
        let echo = (tag & flag::EPOCH) >> flag::EPOCH_SHIFT;
        let sent = self.too_soon(now).min(first);
        echo != modern.epoch && tick(sent) < tick(first)
    }

    /// RFC 2883: a first block below the acknowledgement, or within the second, reports a duplicate.
    fn on_duplicate_report(&mut self, blocks: &SackBlocks, ack: u64) -> bool {
        if !blocks.duplicate {
            return false;
        }
        let (start, end) = blocks.blocks[0];
        let (start, end) = (unwrap(self.una, start), unwrap(self.una, end));
        let resent = if end <= ack { end - start } else { self.board.resent_within(start, end) };
        let modern = self.more();
        if let (Some(from), Some(left)) = (modern.undo_from, modern.undo_left)
            && end > from
        {
            modern.undo_left = Some(left.saturating_sub(resent));
        }
        // RFC 8985 §6.2 step 4, once a round trip
        if self.una >= self.more().widened {
            let next = self.nxt;
            let modern = self.more();
            modern.widened = next;
            modern.steps = (modern.steps + 1).min(255);
            modern.persist = RECOVERIES;
        }
        true
    }

    /// Round-trip samples (`tcp_ack_update_rtt`): of what was acknowledged in sequence, else selectively, else by
    /// timestamps, which count milliseconds.
    fn measure(
        &mut self,
        now: Time,
        sample: Option<(Time, Time)>,
        facts: &mut Facts,
        profile: &Profile,
    ) -> Option<Span> {
        // `tcp_rtt_tsopt_us`: the difference of two counts
        let whole = |sent: Time| Span::from_millis(tick(now).saturating_sub(tick(sent)).max(1));
        let (long, short) = match (sample, facts.news.sacked) {
            // the variation follows the segment at the head, the shortest round trip what was reported last
            (Some((first, _)), Some((_, last))) | (Some((first, last)), None) | (None, Some((first, last))) => {
                (now.since(first), now.since(last))
            }
            (None, None) if profile.timestamps && facts.advanced => {
                let sent = facts.news.again?;
                (whole(sent), whole(sent))
            }
            _ => return None,
        };
        // Do not put the time-out off by reports of what was sent before the head was last sent
        // (`tcp_clean_rtx_queue`); by others do.
        if !facts.advanced
            && let (Some((first, _)), Some(head)) = (facts.news.sacked, self.board.first_at())
        {
            facts.set_timer |= first < head;
        }
        self.rtt.sample(long, short, self.una, self.nxt);
        Some(short)
    }

    /// RACK's latest delivery, and signs of reordering.
    fn note_order(&mut self, now: Time, facts: &Facts) {
        let mss = self.mss();
        let fack = self.board.highest();
        let modern = self.more();
        // `tcp_rack_advance`: the round trip is that of the segment looked at last, whether or not it was sent last.
        if let (Some(latest), Some(passed)) = (facts.news.latest, facts.news.passed) {
            modern.advanced = true;
            modern.latest_rtt = now.since(passed);
            modern.latest = modern.latest.max(latest);
        }
        if let Some(seq) = facts.news.reordered {
            modern.reordered = true;
            let segments = (fack.saturating_sub(seq)).div_ceil(mss) as u32;
            modern.reordering = modern.reordering.max(segments.min(MAX_REORDERING));
        }
    }

    fn told<'a>(&self, now: Time, rtt: Option<Span>, facts: &Facts, context: &Context<'a>) -> Ack<'a> {
        let cwnd_limited = self.is_window_limited();
        let delivery = self.delivery(now, facts);
        let departure = self.modern.as_ref().map(|modern| modern.output.departure());
        Ack { ece: facts.echo, cwnd_limited, delivery, departure, ..self.account(now, facts.before, rtt, context) }
    }

    /// A rate sample (draft-cheng-iccrg-delivery-rate-estimation §3.3; `tcp_rate_gen`).
    fn delivery(&self, now: Time, facts: &Facts) -> Option<Delivery> {
        let (stamp, sent) = facts.news.stamp?;
        let sending = sent.since(stamp.first_sent);
        let acking = now.since(stamp.delivered_at);
        let interval = sending.max(acking);
        let valid = self.rtt.min().is_none_or(|min| interval >= min) && !interval.is_zero();
        Some(Delivery {
            before: stamp.delivered,
            bytes: self.total() - stamp.delivered,
            interval: valid.then_some(interval),
            app_limited: stamp.limited,
        })
    }

    /// RFC 8985 §7.4.2: whether the probe repaired a loss.
    fn on_probe_answered(&mut self, now: Time, ack: u64, facts: &Facts, context: &Context<'_>, profile: &Profile) {
        let Some(end) = self.more().probe.filter(|&end| ack >= end) else { return };
        if !self.more().probe_again || facts.duplicate {
            self.more().probe = None;
        } else if ack > end {
            // the last segment was lost: congestion, already repaired
            self.begin_reduction(now, Cause::Loss, context, profile);
            self.end_reduction(now, true);
            self.repair = Repair::None;
            self.keep_open();
        } else if !facts.advanced && !facts.sacked {
            self.more().probe = None;
        }
    }

    // ---- the state machine (`tcp_fastretrans_alert`) -----------------------------------------------------------

    /// A recovery that ends while something is still lost, though sent again since, is followed by the next at once
    /// (`tcp_time_to_recover`).
    fn alert(&mut self, now: Time, facts: &mut Facts, context: &Context<'_>, profile: &Profile, net: &mut Network) {
        if facts.echo {
            self.more().prior_ssthresh = None;
        }
        let complete = self.una >= self.point;
        match self.repair {
            Repair::None if !self.is_disordered() => self.more().first_again = None,
            Repair::Reducing if complete && self.una != self.point => {
                self.end_reduction(now, true);
                self.repair = Repair::None;
            }
            Repair::Fast if complete => {
                self.try_undo_recovery(now, facts);
                self.end_reduction(now, self.more_undo());
                self.repair = Repair::None;
            }
            _ => {}
        }
        match self.repair {
            Repair::Fast => {
                if facts.advanced && self.may_undo_by_time(facts) && profile.modern.is_some_and(|m| m.undo) {
                    // a hole was filled by what was late, not by what was sent again
                    if self.board.again() > 0 {
                        return;
                    }
                    self.undo(now, true);
                    self.repair = Repair::None;
                } else {
                    self.try_undo_by_reports(now, profile);
                }
                self.identify(now, facts, profile, net);
                if self.repair != Repair::Fast && self.board.missing() > 0 {
                    self.enter_recovery(now, facts.echo, context, profile);
                }
            }
            Repair::Timeout => {
                self.process_loss(now, facts, profile);
                self.identify(now, facts, profile, net);
                if self.repair != Repair::Timeout && self.board.missing() > 0
                    || self.repair == Repair::Timeout && facts.lost_again
                {
                    self.enter_recovery(now, facts.echo, context, profile);
                }
            }
            Repair::None | Repair::Reducing => {
                if self.repair == Repair::None {
                    self.try_undo_by_reports(now, profile);
                }
                self.identify(now, facts, profile, net);
                if self.board.missing() > 0 {
                    self.enter_recovery(now, facts.echo, context, profile);
                } else {
                    if self.board.again() == 0 {
                        self.more().first_again = None;
                    }
                    if facts.echo && self.repair == Repair::None {
                        self.more().undo_from = None;
                        self.begin_reduction(now, Cause::Ece, context, profile);
                        self.repair = Repair::Reducing;
                    }
                }
            }
        }
    }

    fn more_undo(&self) -> bool {
        self.modern.as_ref().is_some_and(|m| m.undo_from.is_some())
    }

    /// Finds what is lost: by time (RACK), or by what was reported above it.
    fn identify(&mut self, now: Time, facts: &mut Facts, profile: &Profile, net: &mut Network) {
        if profile.recovery != Recovery::Rack {
            self.board.mark_lost(self.mss(), profile.duplicate_threshold);
            return;
        }
        if !self.more().advanced {
            return;
        }
        self.more().advanced = false;
        let again = self.board.again();
        let wait = self.rack(now);
        if !wait.is_zero() {
            facts.set_timer = false;
            self.more().pending = Pending::Reordering;
            self.set_timer(now, wait + TIMEOUT_MIN, profile, net);
        }
        facts.lost_again = self.board.again() < again;
    }

    /// Marks what RACK finds lost; returns how long to wait for the rest.
    fn rack(&mut self, now: Time) -> Span {
        let wait = self.reordering_window();
        let (latest, rtt) = (self.more().latest, self.more().latest_rtt);
        self.board.rack(now, latest, rtt, wait)
    }

    /// RFC 8985 §6.2 step 4; `tcp_rack_reo_wnd`.
    fn reordering_window(&mut self) -> Span {
        let in_repair = matches!(self.repair, Repair::Fast | Repair::Timeout);
        let sacked = self.board.sacked() / self.mss();
        let modern = self.more();
        if !modern.reordered && (in_repair || sacked >= u64::from(modern.reordering)) {
            return Span::ZERO;
        }
        let steps = modern.steps;
        let min = self.rtt.min().unwrap_or(Span::ZERO);
        (min / 4).saturating_mul(u64::from(steps)).min(self.rtt.srtt().unwrap_or(Span::ZERO))
    }

    fn enter_recovery(&mut self, now: Time, echo: bool, context: &Context<'_>, profile: &Profile) {
        let already = self.is_reducing();
        // `tcp_retrans_stamp_cleanup`
        if self.board.again() == 0 && !self.board.first_sent_again() {
            self.more().first_again = None;
        }
        self.more().prior_ssthresh = None;
        self.begin_undo();
        if !already {
            if !echo {
                self.more().prior_ssthresh = Some(self.current_ssthresh());
            }
            self.begin_reduction(now, Cause::Loss, context, profile);
        } else if self.control.dctcp_ecn() {
            // `dctcp_state`: loss weighs more than the marks for which the window is coming down
            self.congested(now, Cause::Loss, context, profile);
        }
        self.repair = Repair::Fast;
        // A control that owns the window leaves room for what this acknowledgement tells to have arrived.
        self.force = !self.control.manages_cwnd();
    }

    /// `tcp_current_ssthresh`: what an undo returns to.
    fn current_ssthresh(&self) -> u64 {
        if self.is_reducing() || self.window.ssthresh == u64::MAX {
            self.window.ssthresh
        } else {
            self.window.ssthresh.max(self.window.cwnd / 4 * 3)
        }
    }

    fn begin_undo(&mut self) {
        let (una, again) = (self.una, self.board.again());
        let modern = self.more();
        modern.undo_from = Some(una);
        modern.undo_left = (again > 0).then_some(again);
    }

    /// `tcp_init_cwnd_reduction`
    fn begin_reduction(&mut self, now: Time, cause: Cause, context: &Context<'_>, profile: &Profile) {
        self.point = self.nxt;
        let cwnd = self.window.cwnd;
        let modern = self.more();
        modern.probe = None;
        modern.prior_cwnd = cwnd;
        modern.delivered = 0;
        modern.out = 0;
        self.congested(now, cause, context, profile);
        if profile.modern.is_some_and(|m| m.reduction == Reduction::AtOnce) && !self.control.manages_cwnd() {
            self.window.cwnd = self.window.ssthresh.min(cwnd);
        }
        self.note_reduction();
    }

    /// `tcp_end_cwnd_reduction`; `down`: cwnd is now ssthresh.
    fn end_reduction(&mut self, now: Time, down: bool) {
        if self.control.manages_cwnd() {
            self.control.on_recovered(now, &mut self.window);
            return;
        }
        if self.window.ssthresh != u64::MAX && down {
            self.window.cwnd = self.window.ssthresh;
            self.more().validated = now;
        }
        self.control.on_recovered(now, &mut self.window);
    }

    /// `tcp_process_loss`: after a time-out.
    fn process_loss(&mut self, now: Time, facts: &Facts, profile: &Profile) {
        let undo = profile.modern.is_some_and(|m| m.undo);
        let recovered = self.una >= self.point;
        if facts.advanced && undo && self.may_undo(facts) {
            self.undo(now, true);
            self.repair = Repair::None;
            return;
        }
        if self.more().f_rto {
            // RFC 5682 §3.1 step 3.b: what was sent once has arrived, so not all was lost
            if facts.news.original {
                self.undo(now, true);
                self.repair = Repair::None;
                return;
            }
            if self.nxt > self.point {
                if facts.sacked || !facts.advanced {
                    self.more().f_rto = false; // step 3.a: the loss was real
                }
            } else if facts.advanced && !recovered {
                self.point = self.nxt;
                self.more().try_new = true; // step 2.b
                return;
            }
        }
        if recovered {
            self.try_undo_recovery(now, facts);
            self.repair = Repair::None;
            self.control.on_recovered(now, &mut self.window);
        }
    }
}
