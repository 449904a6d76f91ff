//! For the fixed points of delay-based controls: flows of equal delay share one bottleneck with an endless buffer, in
//! steps of one round trip. The round trip is what the windows make it: the propagation delay, or (Σ windows)/rate.

use headway_units::{Span, Time};

use super::{Ack, AnyController, Sibling, State, Window};

const MSS: u64 = 1000;

struct Flow {
    control: AnyController,
    window: Window,
    una: u64,
}

pub(super) struct Bottleneck {
    /// Segments per second.
    rate: f64,
    base: Span,
    now: Time,
    flows: Vec<Flow>,
}

impl Bottleneck {
    pub(super) fn new(rate: f64, base: Span, controls: Vec<AnyController>) -> Bottleneck {
        let flow = |control| {
            let window = Window { growth_limit: u32::MAX, ..Window::initial(10, MSS as u32) };
            Flow { control, window, una: 0 }
        };
        Bottleneck { rate, base, now: Time::ZERO, flows: controls.into_iter().map(flow).collect() }
    }

    fn total(&self) -> f64 {
        self.flows.iter().map(|f| f.window.segments()).sum::<u64>() as f64
    }

    /// Segments in the buffer.
    pub(super) fn queued(&self) -> f64 {
        (self.total() - self.rate * self.base.as_secs_f64()).max(0.0)
    }

    pub(super) fn windows(&self) -> Vec<u64> {
        self.flows.iter().map(|f| f.window.segments()).collect()
    }

    /// Coupled flows are those of one connection.
    fn siblings(&self, srtt: Span, own: usize) -> Vec<Sibling> {
        if !self.flows[own].control.is_coupled() {
            return Vec::new();
        }
        let cwnds = self.flows.iter().map(|f| f.window.cwnd).enumerate();
        cwnds.map(|(i, cwnd)| Sibling { cwnd, srtt, min_rtt: self.base, between_losses: 0, own: i == own }).collect()
    }

    /// So many round trips; each flow's window is acknowledged in each, segment by segment.
    pub(super) fn run(&mut self, rounds: u32) {
        for _ in 0..rounds {
            let rtt = Span::from_secs_f64(self.base.as_secs_f64() + self.queued() / self.rate);
            self.now += rtt;
            for own in 0..self.flows.len() {
                let siblings = self.siblings(rtt, own);
                self.flows[own].round(self.now, rtt, self.base, &siblings);
            }
        }
    }
}

impl Flow {
    fn round(&mut self, now: Time, rtt: Span, base: Span, siblings: &[Sibling]) {
        for _ in 0..self.window.segments() {
            let nxt = self.una + self.window.cwnd;
            self.una += MSS;
            let ack = Ack {
                una: self.una,
                total: self.una,
                nxt,
                rtt: Some(rtt),
                srtt: Some(rtt),
                min_rtt: Some(base),
                state: State::Open,
                siblings,
                ..Ack::of(now, MSS)
            };
            self.control.observe(&ack, &mut self.window);
            self.control.on_ack(&ack, &mut self.window);
        }
    }
}
