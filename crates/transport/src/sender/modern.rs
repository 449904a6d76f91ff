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
use super::scoreboard::{News, Reading, Stamp};
use super::{Context, Permit, Phase, Progress, Repair, Sender};
use crate::network::{Network, SackBlocks};
use crate::profile::{Profile, Recovery, Reduction};
use crate::rtt::tick;
use crate::segment::{flag, unwrap};

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

/// What only senders with [`profile::Modern`](crate::profile::Modern), bursts or pacing have.
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
            self.failed = false;
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
        if !self.control.owns_window() {
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
        let limited = self.is_window_limited();
        let delivery = self.delivery(now, facts);
        let departure = self.modern.as_ref().map(|modern| modern.output.departure());
        Ack { echo: facts.echo, limited, delivery, departure, ..self.account(now, facts.before, rtt, context) }
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
            limited: stamp.limited,
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
                        self.begin_reduction(now, Cause::Echo, context, profile);
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
        } else if self.control.counts_marks() {
            // `dctcp_state`: loss weighs more than the marks for which the window is coming down
            self.congested(now, Cause::Loss, context, profile);
        }
        self.repair = Repair::Fast;
        // A control that owns the window leaves room for what this acknowledgement tells to have arrived.
        self.force = !self.control.owns_window();
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
        if profile.modern.is_some_and(|m| m.reduction == Reduction::AtOnce) && !self.control.owns_window() {
            self.window.cwnd = self.window.ssthresh.min(cwnd);
        }
        self.note_reduction();
    }

    /// `tcp_end_cwnd_reduction`; `down`: cwnd is now ssthresh.
    fn end_reduction(&mut self, now: Time, down: bool) {
        if self.control.owns_window() {
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

    // ---- undo ----------------------------------------------------------------------------------------------------

    fn may_undo(&self, facts: &Facts) -> bool {
        let Some(modern) = &self.modern else { return false };
        modern.undo_from.is_some() && (modern.undo_left == Some(0) || modern.first_again.is_none() || facts.early)
    }

    fn may_undo_by_time(&self, facts: &Facts) -> bool {
        self.modern.as_ref().is_some_and(|m| m.undo_from.is_some() && facts.early)
    }

    fn try_undo_recovery(&mut self, now: Time, facts: &Facts) {
        if self.may_undo(facts) {
            self.undo(now, false);
        } else {
            let modern = self.more();
            modern.persist = modern.persist.saturating_sub(1);
            if modern.persist == 0 {
                modern.steps = 1;
            }
        }
    }

    /// All that was sent again has been reported twice: none of it was lost (RFC 3708 §3).
    fn try_undo_by_reports(&mut self, now: Time, profile: &Profile) {
        let all = self.more().undo_from.is_some() && self.more().undo_left == Some(0);
        if all && profile.modern.is_some_and(|m| m.undo) {
            let modern = self.more();
            modern.persist = (modern.persist + 1).min(RECOVERIES);
            self.undo(now, false);
            if self.repair == Repair::Fast {
                self.repair = Repair::None;
            }
        }
    }

    /// `tcp_undo_cwnd_reduction`
    fn undo(&mut self, now: Time, none_lost: bool) {
        if none_lost {
            self.board.none_lost();
        }
        let modern = self.more();
        let (prior_cwnd, prior_ssthresh) = (modern.prior_cwnd, modern.prior_ssthresh);
        modern.undo_from = None;
        modern.advanced = true;
        modern.validated = now;
        if let Some(ssthresh) = prior_ssthresh {
            if !self.control.owns_window() {
                self.window.cwnd = self.window.cwnd.max(prior_cwnd);
            }
            if ssthresh > self.window.ssthresh {
                self.window.ssthresh = ssthresh;
                self.reduced = false;
            }
            self.control.on_undo(now, &mut self.window);
        }
    }

    // ---- the window --------------------------------------------------------------------------------------------

    /// `tcp_cong_control`: reduces or grows the window.
    fn follow(&mut self, now: Time, rtt: Option<Span>, facts: &Facts, context: &Context<'_>, profile: &Profile) {
        let mut told = self.told(now, rtt, facts, context);
        if facts.news.stamp.is_some() || told.acked > 0 {
            let modern = self.more();
            modern.delivered_at = now;
            if told.total > modern.limited_until {
                modern.limited_until = 0;
            }
            if let Some((_, sent)) = facts.news.stamp {
                modern.first_sent = sent;
            }
        }
        if self.control.owns_window() {
            told.state = self.state();
            self.control.observe(&told, &mut self.window);
            return;
        }
        if self.is_reducing() {
            self.reduce(told.acked, told.lost, facts.advanced, profile);
            return;
        }
        let raises = facts.advanced || self.more().reordering > profile.duplicate_threshold && facts.sacked;
        let asked = told.limited || self.control.always_asked();
        if raises && told.acked > 0 && asked && self.permit == Permit::Normal {
            told.echo = facts.echo;
            self.control.on_ack(&told, &mut self.window);
        }
    }

    /// `tcp_cwnd_reduction` (RFC 6937 §3.1, with Linux' slow-start reduction bound), or its elder `tcp_cwnd_down`.
    fn reduce(&mut self, acked: u64, lost: u64, advanced: bool, profile: &Profile) {
        let mss = self.mss();
        let flight = self.pipe();
        let ssthresh = self.window.ssthresh;
        let modern = self.modern.as_mut().expect("a modern sender has its state");
        match profile.modern.map_or(Reduction::AtOnce, |m| m.reduction) {
            Reduction::AtOnce => {}
            Reduction::Halving => {
                // one segment down for every second acknowledgement, and no more than one segment beyond the flight
                modern.delivered += 1;
                if modern.delivered.is_multiple_of(2) && self.window.cwnd > ssthresh {
                    self.window.cwnd -= mss;
                }
                self.window.cwnd = self.window.cwnd.min(flight + mss).max(mss);
            }
            Reduction::Proportional => {
                if acked == 0 || modern.prior_cwnd == 0 {
                    return;
                }
                modern.delivered += acked;
                let mut may = if flight > ssthresh {
                    let share = u128::from(ssthresh) * u128::from(modern.delivered) / u128::from(modern.prior_cwnd);
                    (share as u64).next_multiple_of(mss).saturating_sub(modern.out)
                } else {
                    let mut may = modern.delivered.saturating_sub(modern.out).max(acked);
                    if advanced && lost == 0 {
                        may += mss;
                    }
                    may.min(ssthresh - flight)
                };
                if modern.out == 0 {
                    may = may.max(mss); // fast retransmit, whatever the window
                }
                self.window.cwnd = (flight + may).max(mss);
            }
        }
    }

    /// `tcp_is_cwnd_limited`
    fn is_window_limited(&self) -> bool {
        let Some(modern) = &self.modern else { return self.limited };
        modern.full || self.window.in_slow_start() && self.window.cwnd < 2 * modern.most_out
    }

    /// `tcp_cwnd_validate`: what of the window is used.
    fn validate(&mut self, now: Time, full: bool, drained: bool, profile: &Profile) {
        let (una, nxt, out, cwnd) = (self.una, self.nxt, self.outstanding(), self.window.cwnd);
        let rto = self.rtt.rto();
        let modern = self.more();
        if una >= modern.usage || full || !modern.full && out > modern.most_out {
            modern.full = full;
            modern.most_out = out;
            modern.usage = nxt;
        }
        if self.is_window_limited() {
            let modern = self.more();
            modern.used = 0;
            modern.validated = now;
            return;
        }
        let modern = self.more();
        modern.used = modern.used.max(out);
        // `tcp_cwnd_application_limited` (RFC 2861): a window of which the application used less for an RTO comes half
        // way down.
        let decay =
            drained && profile.idle_restart == crate::profile::IdleRestart::Decay && !self.control.owns_window();
        if decay && now.since(self.more().validated) >= rto {
            let initial = u64::from(profile.initial_window) * self.mss();
            let used = self.more().used.max(initial);
            if self.repair == Repair::None && used < cwnd {
                self.window.ssthresh = self.current_ssthresh();
                self.window.cwnd = u64::midpoint(cwnd, used) / self.mss() * self.mss();
            }
            let modern = self.more();
            modern.used = 0;
            modern.validated = now;
        }
    }

    // ---- sending -----------------------------------------------------------------------------------------------

    /// New data is about to be sent.
    pub(super) fn note_new(&mut self, now: Time, span: u64, profile: &Profile, net: &mut Network) {
        let idle = self.outstanding() == 0;
        let reducing = self.is_reducing();
        let modern = self.more();
        if reducing {
            modern.out += span;
        }
        modern.sent = true;
        modern.probing = false;
        if idle {
            modern.delivered_at = now;
            modern.first_sent = now;
        }
        // not the end of a reordering window: `tcp_event_new_data_sent`
        if profile.modern.is_some() && (idle || self.more().pending == Pending::Probe) {
            self.rearm(now, profile, net);
        }
    }

    /// A new segment has been put on the board; returns the bits that it leaves with.
    pub(super) fn note_pushed(&mut self) -> u8 {
        if std::mem::take(&mut self.more().output.fresh) {
            self.board.mark_head();
        }
        self.stamp_sent(None);
        self.marks()
    }

    /// Accounts for `span` bytes sent in this turn.
    pub(super) fn note_resent(&mut self, now: Time, span: u64) {
        let reducing = self.is_reducing();
        let modern = self.more();
        if reducing {
            modern.out += span;
        }
        modern.undo_left = Some(modern.undo_left.unwrap_or(0) + span);
        if modern.first_again.is_none() {
            modern.first_again = Some(now);
            modern.epoch = (modern.epoch + 1) & 3;
        }
    }

    /// The stamp of a segment that is being sent.
    pub(super) fn stamp_sent(&mut self, index: Option<usize>) {
        let total = self.total();
        let Some(modern) = self.modern.as_mut().filter(|_| self.control.wants_delivery()) else { return };
        let stamp = Stamp {
            delivered: total,
            delivered_at: modern.delivered_at,
            first_sent: modern.first_sent,
            limited: modern.limited_until > 0,
        };
        self.board.stamp(index, stamp);
    }

    /// Sends again what is lost, as far as the window and the pace allow: what left in one burst and was lost side by
    /// side leaves in one burst again (`tcp_xmit_retransmit_queue`, which goes by `sk_buff`).
    pub(super) fn repair_modern(&mut self, now: Time, more_data: bool, profile: &Profile, net: &mut Network) {
        if self.more().try_new {
            self.more().try_new = false;
            if more_data {
                return; // the connection's turn sends new data first
            }
            self.more().f_rto = false;
        }
        let mut head = false;
        while self.board.lost() > 0 {
            // `tcp_retransmit_timer` waits for nothing
            let forced = self.force && self.repair == Repair::Timeout;
            let room = self.repair_window().saturating_sub(self.pipe()) / self.mss();
            if room == 0 && !self.force || !forced && self.is_repair_held(now, profile, net) {
                break;
            }
            let most = if forced { 1 } else { room.max(1).min(self.burst_size(profile) / self.mss()) };
            self.force = false;
            let Some(lost) = self.board.next_lost_burst(most as usize) else { break };
            head |= lost.start == 0;
            let bytes = lost.len() as u64 * self.mss();
            for index in lost.clone() {
                if index + 1 == lost.end && lost.len() > 1 {
                    self.end_burst();
                }
                self.resend(now, index, profile, net);
            }
            self.note_output(now, bytes, profile, net);
        }
        self.force = false;
        if head && self.more().pending != Pending::Reordering {
            self.more().pending = Pending::Retransmission;
            self.set_timer(now, self.rtt.rto(), profile, net);
        }
    }

    /// Whether one segment may go beyond the window: a probe.
    pub fn is_probing(&self) -> bool {
        self.modern.as_ref().is_some_and(|m| m.probing)
    }

    /// See [`Sender::end_turn`].
    pub(super) fn end_modern_turn(&mut self, now: Time, unsent: u64, profile: &Profile, net: &mut Network) {
        let sent = std::mem::take(&mut self.more().sent);
        let probe = std::mem::take(&mut self.more().output.probe_due);
        if probe {
            self.finish_probe(now, profile, net);
        }
        let deferred = std::mem::take(&mut self.more().output.deferred);
        let full = self.pipe() + self.mss() > self.window.cwnd || deferred;
        if sent || full {
            self.validate(now, full, unsent == 0, profile);
        }
        if sent && !probe && profile.modern.is_some() {
            self.set_probe_timer(now, false, profile, net);
        }
        // `tcp_rate_check_app_limited`
        if unsent == 0 && self.board.lost() == 0 && !full {
            let until = (self.total() + self.pipe()).max(1);
            self.more().limited_until = until;
        }
    }

    // ---- timers ------------------------------------------------------------------------------------------------

    /// `tcp_rearm_rto`: the time-out of the oldest segment outstanding.
    fn rearm(&mut self, now: Time, profile: &Profile, net: &mut Network) {
        let mut after = self.rtt.rto();
        if self.more().pending != Pending::Retransmission
            && let Some(head) = self.board.first_at()
        {
            after = after.saturating_sub(now.since(head)).max(Span::from_micros(1));
        }
        self.more().pending = Pending::Retransmission;
        self.set_timer(now, after, profile, net);
    }

    /// RFC 8985 §7.2; `tcp_schedule_loss_probe`. `fresh`: the time-out would start anew.
    fn set_probe_timer(&mut self, now: Time, fresh: bool, profile: &Profile, net: &mut Network) -> bool {
        let wanted = profile.modern.is_some_and(|m| m.tail_loss_probe)
            && self.outstanding() > 0
            && (self.repair == Repair::Reducing || self.repair == Repair::None && !self.is_disordered());
        if !wanted {
            return false;
        }
        let mut after = match self.rtt.srtt() {
            // the answer to a lone segment may be delayed
            Some(srtt) if self.board.len() == 1 => srtt * 2 + self.rtt.floor(),
            Some(srtt) => srtt * 2 + TIMEOUT_MIN,
            None => Span::from_secs(1),
        };
        let left = match self.board.first_at() {
            Some(head) if !fresh => self.rtt.rto().saturating_sub(now.since(head)),
            _ => self.rtt.rto(),
        };
        if !left.is_zero() {
            after = after.min(left);
        }
        self.more().pending = Pending::Probe;
        self.set_timer(now, after, profile, net);
        true
    }

    pub(super) fn on_timeout_modern(&mut self, now: Time, context: &Context<'_>, profile: &Profile, net: &mut Network) {
        match self.more().pending {
            Pending::Reordering => self.on_reordering_timeout(now, context, profile, net),
            Pending::Probe => {
                // new data if there is some, else the last segment again: decided in the connection's turn
                if self.more().probe.is_none() {
                    let modern = self.more();
                    modern.probing = true;
                    modern.output.probe_due = true;
                } else {
                    self.rearm(now, profile, net);
                }
            }
            Pending::Retransmission => self.on_retransmission_timeout(now, context, profile, net),
        }
    }

    /// `tcp_send_loss_probe`, after new data had its chance: the last segment again, if there was none. It is no
    /// retransmission to the accounts (`__tcp_retransmit_skb`).
    fn finish_probe(&mut self, now: Time, profile: &Profile, net: &mut Network) {
        let again = self.more().probing;
        self.more().probing = false;
        if again {
            let Some(last) = self.board.last() else { return };
            self.resend_probe(now, last, profile, net);
        }
        let nxt = self.nxt;
        let modern = self.more();
        modern.probe = Some(nxt);
        modern.probe_again = again;
        // the time-out counts from the probe, not from what it probes for
        modern.pending = Pending::Retransmission;
        self.rearm(now, profile, net);
    }

    /// `tcp_rack_reo_timeout`
    fn on_reordering_timeout(&mut self, now: Time, context: &Context<'_>, profile: &Profile, net: &mut Network) {
        let before = (self.pipe(), self.board.lost_ever());
        self.rack(now);
        if self.pipe() != before.0 && self.repair != Repair::Fast {
            self.enter_recovery(now, false, context, profile);
            if !self.control.owns_window() {
                let lost = self.board.lost_ever() - before.1;
                self.reduce(self.mss(), lost, false, profile);
            }
        }
        self.rearm(now, profile, net);
    }

    /// `tcp_retransmit_timer`, `tcp_enter_loss`
    fn on_retransmission_timeout(&mut self, now: Time, context: &Context<'_>, profile: &Profile, net: &mut Network) {
        self.counters.timeouts += 1;
        let fresh = matches!(self.repair, Repair::None | Repair::Reducing);
        let retransmits = self.more().retransmits;
        if profile.recovery == Recovery::Rack {
            let rtt = self.more().latest_rtt;
            self.board.mark_old_lost(now, rtt);
        } else {
            self.board.mark_all_lost();
        }
        // ssthresh is lowered once for a window (RFC 5681 §3.1)
        if self.repair == Repair::None || self.point <= self.una || self.repair == Repair::Timeout && retransmits == 0 {
            let prior = (self.window.cwnd, self.current_ssthresh());
            let modern = self.more();
            modern.prior_cwnd = prior.0;
            modern.prior_ssthresh = Some(prior.1);
            self.congested(now, Cause::Timeout, context, profile);
            self.begin_undo();
        }
        self.window.cwnd = self.pipe() + self.mss();
        self.control.on_timeout(self.board.lost_ever());
        self.failed = true;
        self.repair = Repair::Timeout;
        self.point = self.nxt;
        self.force = true;
        self.note_reduction();
        let modern = self.more();
        modern.validated = now;
        modern.probe = None;
        modern.probing = false;
        modern.try_new = false;
        modern.f_rto = profile.modern.is_some_and(|m| m.f_rto) && (fresh || retransmits > 0);
        modern.retransmits += 1;
        self.rtt.back_off();
        self.set_timer(now, self.rtt.rto(), profile, net);
    }
}
