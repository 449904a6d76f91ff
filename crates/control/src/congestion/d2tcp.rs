//! D2TCP (Vamanan, Hasan and Vijaykumar, SIGCOMM 2012): DCTCP that gives way by deadlines.
//!
//! A window with marks is reduced by p/2 with p = α^d, where d = T_c / D is the time that the flow
//! still needs, with a sawtooth of 3/4 of its window on average, over the time that it has; d is kept within 0.5 and
//! 2, and is 1 without a deadline. A flow that is late has d = 0.5, as one that has all the time (an ns-3
//! implementation, FujiZ/ns-3 `d2tcp-socket.cc`). Everything else is [`Dctcp`].
//!
//! Leaves out: what [`Dctcp`] leaves out. The deadline is the transport's to know.

use headway_units::{Span, Time};

use super::{Ack, Cause, CongestionControl, Dctcp, Event, FlowDeadline, Parameter, Window};

/// Bounds of d.
const URGENCY: (f64, f64) = (0.5, 2.0);
/// The average of the sawtooth, of the window.
const SAWTOOTH: f64 = 0.75;

/// D2TCP's state.
#[derive(Debug, Clone, Default)]
pub struct D2tcp {
    dctcp: Dctcp,
    srtt: Option<Span>,
}

impl D2tcp {
    /// d for a window of `flight` bytes at `now`.
    fn urgency(&self, flow: Option<FlowDeadline>, now: Time, flight: u64) -> f64 {
        let (Some(flow), Some(srtt)) = (flow, self.srtt) else { return 1.0 };
        let have = flow.deadline.since(now).as_secs_f64();
        if have == 0.0 || flow.remaining == 0 || flight == 0 {
            return URGENCY.0;
        }
        let need = flow.remaining as f64 / (SAWTOOTH * flight as f64) * srtt.as_secs_f64();
        (need / have).clamp(URGENCY.0, URGENCY.1)
    }
}

impl CongestionControl for D2tcp {
    const DCTCP_ECN: bool = true;

    fn observe(&mut self, ack: &Ack<'_>, window: &mut Window) {
        self.srtt = ack.srtt.or(self.srtt);
        self.dctcp.observe(ack, window);
    }

    fn on_ack(&mut self, ack: &Ack<'_>, window: &mut Window) {
        self.dctcp.on_ack(ack, window);
    }

    fn on_congestion(&mut self, event: &Event<'_>, window: &mut Window) {
        if event.cause != Cause::Ece {
            self.dctcp.on_congestion(event, window);
            return;
        }
        let d = self.urgency(event.deadline, event.now, event.flight);
        let part = libm::round(libm::pow(self.dctcp.alpha(), d) * 1024.0) as u64;
        self.dctcp.reduce(part, event, window);
    }

    fn on_undo(&mut self, now: Time, window: &mut Window) {
        self.dctcp.on_undo(now, window);
    }

    fn marked_share(&self) -> Option<f64> {
        Some(self.dctcp.alpha())
    }

    fn parameters() -> &'static [Parameter] {
        Dctcp::parameters()
    }

    fn set(&mut self, name: &str, value: f64) {
        self.dctcp.set(name, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    /// The window after a mark, of 1024 segments, with α = 0.25 and a smoothed round trip of 1 ms.
    fn after(deadline: Option<FlowDeadline>) -> f64 {
        let mut control = D2tcp { srtt: Some(Span::from_millis(1)), ..D2tcp::default() };
        control.set("alpha_on_init", 256.0);
        let mut window = Window { cwnd: 1024 * MSS, ssthresh: 1024 * MSS, mss: 1000, growth_limit: 1 };
        let now = Time::ZERO + Span::from_secs(1);
        control.on_congestion(&Event { deadline, ..Event::of(now, Cause::Ece, 1024 * MSS) }, &mut window);
        window.ssthresh as f64 / (1024.0 * MSS as f64)
    }

    /// What takes 10 round trips of 3/4 of the window, with `ms` to go.
    fn due_in(ms: u64) -> FlowDeadline {
        let deadline = Time::ZERO + Span::from_secs(1) + Span::from_millis(ms);
        FlowDeadline { remaining: 10 * 768 * MSS, deadline }
    }

    /// α = 1/4: d = 1 leaves 7/8 of the window; d = 1/2, for a far deadline, p = 1/2 and 3/4; d = 2, for a near one,
    /// p = 1/16 and 31/32; and in between, T_c = 10 ms and D = 8 ms, d = 1.25 and p = 0.1768.
    #[test]
    fn deadlines_decide_how_much_is_given_up() {
        assert_eq!(after(None), 0.875);
        assert_eq!(after(Some(due_in(10))), 0.875);
        assert_eq!(after(Some(due_in(1000))), 0.75);
        assert_eq!(after(Some(due_in(1))), 0.968_75);
        assert!((after(Some(due_in(8))) - (1.0 - 0.1768 / 2.0)).abs() < 1.0 / 1024.0);
        // Too late.
        assert_eq!(after(Some(FlowDeadline { remaining: MSS, deadline: Time::ZERO })), 0.75);
    }

    #[test]
    fn a_loss_halves() {
        let mut window = Window { cwnd: 100 * MSS, ssthresh: 100 * MSS, mss: 1000, growth_limit: 1 };
        let event = Event { deadline: Some(due_in(1)), ..Event::of(Time::ZERO, Cause::Loss, 100 * MSS) };
        D2tcp::default().on_congestion(&event, &mut window);
        assert_eq!(window.ssthresh, 50 * MSS);
    }
}
