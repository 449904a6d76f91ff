//! What every control does over one fixed sequence of events, as tables that are checked in: `tests/traces/`.
//!
//! The numbers are the program's own: a change of behaviour shows as a difference that can be read. If it is meant,
//! `UPDATE=1 cargo test -p headway-control --test traces` writes the tables anew. The sequence knows no network: its round
//! trips, losses and marks are the same whatever the window. A round acknowledges the window that it began with, up to 200
//! segments, one at a time; the reductions are those of a transport by RFC 5681 (at once).

use std::fmt::Write as _;
use std::path::PathBuf;

use headway_control::congestion::{
    Ack, AnyController, Cause, Delivery, Event, FlowDeadline, Sibling, Start, State, Window,
};
use headway_units::{Span, Time};

const MSS: u32 = 1000;
/// The round trips of rounds, repeated, in microseconds: a queue that fills and empties.
const ROUND_TRIPS: [u64; 8] = [10_000, 10_200, 10_500, 11_000, 12_000, 11_000, 10_500, 10_200];

/// The most segments that the path delivers in a round.
const MAX_DELIVERED: u64 = 200;

/// What happens at the beginning of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Happening {
    Nothing,
    Congestion(Cause),
    /// The last congestion was none.
    Undo,
    /// A second without data.
    Idle,
}

const EVENTS: [(u32, Happening, &str); 6] = [
    (6, Happening::Congestion(Cause::Loss), "loss"),
    (16, Happening::Congestion(Cause::Ece), "mark"),
    (22, Happening::Congestion(Cause::Timeout), "time-out"),
    (30, Happening::Idle, "idle"),
    (34, Happening::Congestion(Cause::Loss), "loss"),
    (36, Happening::Undo, "undo"),
];
const ROUNDS: u32 = 40;

/// A sender as far as a control can tell.
struct Sender {
    control: AnyController,
    window: Window,
    now: Time,
    total: u64,
    lost: u64,
    srtt: Option<Span>,
    min_rtt: Option<Span>,
    state: State,
    /// cwnd and ssthresh before the last reduction.
    prior: (u64, u64),
}

impl Sender {
    fn new(name: &str) -> Sender {
        let mut control = AnyController::by_name(name).expect("a known control");
        let mut window = Window { growth_limit: u32::MAX, ..Window::initial(10, MSS) };
        let start = Start { now: Time::ZERO, rtt: Some(Span::from_millis(10)), seed: 1 };
        control.on_start(&start, &mut window);
        let prior = (window.cwnd, window.ssthresh);
        let state = State::Open;
        Sender { control, window, now: Time::ZERO, total: 0, lost: 0, srtt: None, min_rtt: None, state, prior }
    }

    /// This subflow, and another one that stays as it is.
    fn siblings(&self) -> Vec<Sibling> {
        if !self.control.is_coupled() {
            return Vec::new();
        }
        let (ms, mss) = (Span::from_millis, u64::from(MSS));
        let (srtt, min_rtt) = (self.srtt.unwrap_or(ms(10)), self.min_rtt.unwrap_or(ms(10)));
        vec![
            Sibling { cwnd: self.window.cwnd, srtt, min_rtt, between_losses: self.total, own: true },
            Sibling { cwnd: 20 * mss, srtt: ms(15), min_rtt: ms(12), between_losses: 400 * mss, own: false },
        ]
    }

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Nothing => {}
            Happening::Congestion(cause) => self.congestion(cause),
            Happening::Undo => {
                self.window.cwnd = self.window.cwnd.max(self.prior.0);
                self.window.ssthresh = self.window.ssthresh.max(self.prior.1);
                self.control.on_undo(self.now, &mut self.window);
            }
            Happening::Idle => {
                let idle = Span::from_secs(1);
                self.now += idle;
                self.control.on_restart(self.now, idle, &mut self.window);
            }
        }
    }

    fn congestion(&mut self, cause: Cause) {
        self.prior = (self.window.cwnd, self.window.ssthresh);
        let siblings = self.siblings();
        let (flight, una, deadline) = (self.window.cwnd, self.total, Some(flow_deadline()));
        let event = Event { now: self.now, cause, flight, una, deadline, siblings: &siblings };
        self.control.on_congestion(&event, &mut self.window);
        if cause != Cause::Ece {
            self.lost += u64::from(MSS);
        }
        self.state = match cause {
            Cause::Loss => State::Recovery,
            Cause::Ece => State::Reducing,
            Cause::Timeout => State::Loss,
        };
        if cause == Cause::Timeout {
            self.control.on_timeout(self.lost);
            self.window.cwnd = u64::from(MSS);
        } else if !self.control.manages_cwnd() {
            self.window.cwnd = self.window.ssthresh.min(self.window.cwnd);
        }
    }

    /// One round trip: as many acknowledgements as the window has segments.
    fn round(&mut self, rtt: Span) {
        let mss = u64::from(MSS);
        let count = self.window.segments().min(MAX_DELIVERED);
        let sent = self.total + count * mss;
        for n in 0..count {
            self.now += rtt / count;
            self.total += mss;
            self.srtt = Some(self.srtt.map_or(rtt, |srtt| (srtt * 7 + rtt) / 8));
            self.min_rtt = Some(self.min_rtt.map_or(rtt, |min| min.min(rtt)));
            let siblings = self.siblings();
            let flight = count * mss;
            let ack = Ack {
                total: self.total,
                lost: if n == 0 && self.state == State::Recovery { mss } else { 0 },
                lost_ever: self.lost,
                flight_before: flight,
                flight,
                una: self.total,
                nxt: sent + (n + 1) * mss,
                rtt: Some(rtt),
                srtt: self.srtt,
                min_rtt: self.min_rtt,
                ece: self.state == State::Reducing && n % 2 == 0,
                state: self.state,
                delivery: self.control.wants_delivery().then_some(Delivery {
                    before: self.total.saturating_sub(flight),
                    bytes: flight.min(self.total),
                    interval: Some(rtt),
                    app_limited: false,
                }),
                deadline: Some(flow_deadline()),
                siblings: &siblings,
                ..Ack::of(self.now, mss)
            };
            self.control.observe(&ack, &mut self.window);
            if !self.control.manages_cwnd() && !matches!(self.state, State::Recovery | State::Reducing) {
                self.control.on_ack(&ack, &mut self.window);
            }
        }
        if self.state != State::Open {
            self.state = State::Open;
            self.control.on_recovered(self.now, &mut self.window);
        }
    }
}

fn flow_deadline() -> FlowDeadline {
    FlowDeadline { remaining: 1_000_000, deadline: Time::ZERO + Span::from_secs(1) }
}

fn trace(name: &str) -> String {
    let mut sender = Sender::new(name);
    let mut text = format!(
        "{name}, segments of {MSS} B; after each round:\nround  event     rtt (us)       cwnd   ssthresh  pacing (kb/s)\n"
    );
    for (round, rtt) in (1..=ROUNDS).zip(ROUND_TRIPS.into_iter().cycle()) {
        let (_, happening, what) =
            EVENTS.into_iter().find(|&(at, ..)| at == round).unwrap_or((0, Happening::Nothing, ""));
        sender.happen(happening);
        sender.round(Span::from_micros(rtt));
        let Window { cwnd, ssthresh, .. } = sender.window;
        let ssthresh = if ssthresh == u64::MAX { "-".to_owned() } else { ssthresh.to_string() };
        let pacing = sender.control.pacing().map_or("-".to_owned(), |rate| (rate.bps() / 1000).to_string());
        writeln!(text, "{round:>5}  {what:<8}  {rtt:>8} {cwnd:>10} {ssthresh:>10} {pacing:>14}").unwrap();
    }
    text
}

#[test]
fn every_control_has_its_trace() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/traces");
    for name in AnyController::NAMES {
        let (file, text) = (folder.join(format!("{name}.txt")), trace(name));
        if std::env::var_os("UPDATE").is_some() {
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(&file, &text).unwrap();
        }
        let known = std::fs::read_to_string(&file).unwrap_or_default();
        assert_eq!(text, known, "{name}: if the change is meant, run this test with UPDATE=1");
    }
    let files = std::fs::read_dir(&folder).unwrap().count();
    assert_eq!(files, AnyController::NAMES.len(), "a trace of a control that is no more");
}
