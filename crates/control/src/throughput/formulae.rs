//! The throughput that losses allow.

use headway_units::{Bytes, Rate, Span};

/// C of Mathis' formula: the segments that a connection with one loss in each 1/p sends in a round trip are C/√p.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Constant(f64);

impl Constant {
    /// One loss in each 1/p segments, evenly spaced, and an acknowledgement for every `packets` segments (1, or 2 with
    /// delayed acknowledgements): √(3/(2·packets)), 1.22 and 0.87 (Mathis et al. 1997 §2).
    ///
    /// With 2 this is √(3/4), which is the √3/2 that Hasegawa and Jibiki print.
    ///
    /// # Panics
    /// If `packets` is zero.
    pub fn periodic(packets: u32) -> Constant {
        assert!(packets > 0, "an acknowledgement for no segment");
        Constant((3.0 / (2.0 * f64::from(packets))).sqrt())
    }

    /// Each segment is lost at random, independently of the others: 1.31, with delayed acknowledgements 0.93 (Mathis et
    /// al. 1997, table 1).
    pub const fn random(delayed_acks: bool) -> Constant {
        Constant(if delayed_acks { 0.93 } else { 1.31 })
    }

    /// Another one; `None` unless it is above zero and finite.
    pub fn new(constant: f64) -> Option<Constant> {
        (constant > 0.0 && constant.is_finite()).then_some(Constant(constant))
    }

    /// The number.
    pub const fn get(self) -> f64 {
        self.0
    }
}

/// MSS/d · C/√p, of Mathis et al. 1997; `None` without losses, where it says nothing.
///
/// # Panics
/// If `rtt` is zero, or `loss` is not a share from 0 to 1.
pub fn mathis(mss: Bytes, rtt: Span, loss: f64, constant: Constant) -> Option<Rate> {
    check(rtt, loss);
    (loss > 0.0).then(|| rate(mss, constant.get() / loss.sqrt(), rtt.as_secs_f64()))
}

/// s / (R·√(2bp/3) + `t_RTO`·3·√(3bp/8)·p·(1 + 32p²)), RFC 5348 §3.1; `None` without losses.
///
/// `packets` is b, the segments that an acknowledgement answers. RFC 5348 recommends four round trips for `t_RTO` and
/// uses the term before p without the min(1, …) that the paper of 1998 has around it; so does this.
///
/// # Panics
/// If `rtt` or `packets` is zero, or `loss` is not a share from 0 to 1.
pub fn padhye(mss: Bytes, rtt: Span, rto: Span, loss: f64, packets: u32) -> Option<Rate> {
    check(rtt, loss);
    assert!(packets > 0, "an acknowledgement for no segment");
    let (b, p) = (f64::from(packets), loss);
    let sending = rtt.as_secs_f64() * (2.0 * b * p / 3.0).sqrt();
    let waiting = rto.as_secs_f64() * 3.0 * (3.0 * b * p / 8.0).sqrt() * p * (1.0 + 32.0 * p * p);
    (loss > 0.0).then(|| rate(mss, 1.0, sending + waiting))
}

fn check(rtt: Span, loss: f64) {
    assert!(!rtt.is_zero(), "a round trip takes time");
    assert!((0.0..=1.0).contains(&loss), "a loss of {loss}");
}

/// `segments` of `mss` in `seconds`, to the nearest bit/s.
fn rate(mss: Bytes, segments: f64, seconds: f64) -> Rate {
    // `as` saturates.
    Rate::from_bps((mss.get() as f64 * 8.0 * segments / seconds).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: Bytes = Bytes::new(1460);
    const RTT: Span = Span::from_millis(100);

    /// Segments in a round trip.
    fn segments(rate: Option<Rate>) -> f64 {
        rate.expect("there are losses").bps() as f64 * RTT.as_secs_f64() / (MSS.get() as f64 * 8.0)
    }

    /// √(3/2)/√p by hand, and RFC 5348's formula with b = 1 and `t_RTO` = 4R evaluated apart from this code.
    #[test]
    fn values_computed_by_hand_come_out() {
        for (loss, packets, by_mathis, by_padhye) in [
            (1e-2, 1, 12.25, 11.23),
            (1e-3, 1, 38.73, 38.38),
            (1e-4, 1, 122.47, 122.36),
            (1e-5, 1, 387.3, 387.3),
            (1e-2, 2, 8.66, 7.94),
            (1e-3, 2, 27.39, 27.14),
            (1e-4, 2, 86.60, 86.52),
        ] {
            let got = segments(mathis(MSS, RTT, loss, Constant::periodic(packets)));
            assert!((got - by_mathis).abs() < 0.051, "Mathis, p = {loss}, b = {packets}: {got}");
            let got = segments(padhye(MSS, RTT, RTT * 4, loss, packets));
            assert!((got - by_padhye).abs() < 0.051, "Padhye, p = {loss}, b = {packets}: {got}");
        }
    }

    #[test]
    fn constants_are_those_of_the_paper_of_1997() {
        let near = |constant: Constant, value: f64| (constant.get() - value).abs() < 1e-4;
        assert!(near(Constant::periodic(1), 1.2247) && near(Constant::periodic(2), 0.8660));
        assert!(near(Constant::periodic(2), 3f64.sqrt() / 2.0), "the constant that the paper on relays prints");
        assert_eq!((Constant::random(false).get(), Constant::random(true).get()), (1.31, 0.93));
        assert_eq!([0.0, -1.0, f64::NAN, f64::INFINITY].map(Constant::new), [None; 4]);
    }

    #[test]
    fn without_losses_they_say_nothing_and_with_all_lost_they_stay_finite() {
        assert_eq!(mathis(MSS, RTT, 0.0, Constant::periodic(1)), None);
        assert_eq!(padhye(MSS, RTT, RTT * 4, 0.0, 1), None);
        assert!(segments(padhye(MSS, RTT, RTT * 4, 1.0, 1)) < 0.01);
    }
}
