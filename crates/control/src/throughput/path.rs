//! The throughput of one connection.

use headway_units::{Bytes, Rate, Span};
use thiserror::Error;

use super::{Constant, mathis, padhye};

/// The properties of a sender that the formulae ask for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sender {
    /// Data of a full segment.
    pub mss: Bytes,
    /// C of Mathis' formula.
    pub constant: Constant,
    /// Segments that an acknowledgement answers (b of Padhye's formula), at least 1.
    pub packets_per_ack: u32,
    /// The shortest retransmission time-out. Padhye's formula is given the larger of it and four round trips.
    pub min_rto: Span,
}

/// What a connection sends over.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Path {
    rtt: Span,
    loss: f64,
    window: Bytes,
    link: Option<Rate>,
}

/// The bound that decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// A window of data in a round trip.
    Window,
    /// The reductions after losses.
    Loss,
    /// The slowest link.
    Link,
}

/// A throughput, and the bound that decides it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bound {
    /// Data, in bits a second.
    pub rate: Rate,
    /// The smallest bound.
    pub limit: Limit,
}

/// Why there is no such path.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum PathError {
    /// With a round trip of zero every bound but the link's is infinite.
    #[error("a round trip must take some time")]
    NoRoundTrip,
    /// Nothing can be sent.
    #[error("the window must have room for something")]
    NoWindow,
    /// Not a share, or all is lost.
    #[error("the share of lost packets must be from 0 to less than 1, and is {0}")]
    Loss(f64),
}

impl Path {
    /// A path of `rtt`, on which this share of the data's packets is lost, for a connection that has at most `window` in
    /// flight. `link` is the data that the slowest link carries, without headers; `None`: it is no limit.
    ///
    /// # Errors
    /// If a bound would be infinite or zero.
    pub fn new(rtt: Span, loss: f64, window: Bytes, link: Option<Rate>) -> Result<Path, PathError> {
        if rtt.is_zero() {
            return Err(PathError::NoRoundTrip);
        }
        if window.is_zero() {
            return Err(PathError::NoWindow);
        }
        if !(0.0..1.0).contains(&loss) {
            return Err(PathError::Loss(loss));
        }
        Ok(Path { rtt, loss, window, link })
    }

    /// Its round-trip time.
    pub fn rtt(&self) -> Span {
        self.rtt
    }

    /// The share of packets lost.
    pub fn loss(&self) -> f64 {
        self.loss
    }

    /// min(W/d, C·MSS/(d·√p), link).
    pub fn by_mathis(&self, sender: &Sender) -> Bound {
        self.least(mathis(sender.mss, self.rtt, self.loss, sender.constant))
    }

    /// The same with Padhye's formula for the losses.
    pub fn by_padhye(&self, sender: &Sender) -> Bound {
        let rto = self.rtt.saturating_mul(4).max(sender.min_rto);
        self.least(padhye(sender.mss, self.rtt, rto, self.loss, sender.packets_per_ack))
    }

    fn least(&self, losses: Option<Rate>) -> Bound {
        let window = Rate::from_bps((self.window.get() as f64 * 8.0 / self.rtt.as_secs_f64()).round() as u64);
        let bounds = [(Some(window), Limit::Window), (losses, Limit::Loss), (self.link, Limit::Link)];
        let least = bounds.into_iter().filter_map(|(rate, limit)| Some(Bound { rate: rate?, limit }));
        least.min_by_key(|bound| bound.rate).expect("the window bounds every path")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SENDER: Sender = Sender {
        mss: Bytes::new(1460),
        constant: Constant::random(true),
        packets_per_ack: 2,
        min_rto: Span::from_millis(200),
    };

    fn path(rtt: Span, loss: f64) -> Path {
        Path::new(rtt, loss, Bytes::new(65_535), Some(Rate::from_mbps(941))).unwrap()
    }

    /// 65,535 B in 28.6 ms are 18.3 Mb/s: Windows XP without relay and without losses (Hasegawa and Jibiki, figure 7).
    #[test]
    fn a_window_in_a_round_trip_where_nothing_is_lost() {
        let bound = path(Span::from_micros(28_600), 0.0).by_mathis(&SENDER);
        assert_eq!((bound.rate, bound.limit), (Rate::from_bps(18_331_469), Limit::Window));
        assert_eq!(bound, path(Span::from_micros(28_600), 0.0).by_padhye(&SENDER));
    }

    #[test]
    fn the_smallest_bound_decides() {
        assert_eq!(path(Span::from_micros(28_600), 1e-2).by_mathis(&SENDER).limit, Limit::Loss);
        assert_eq!(path(Span::from_micros(100), 0.0).by_mathis(&SENDER).limit, Limit::Link);
        // A time-out of 200 ms is long beside a round trip of 100 us, and only Padhye's formula knows of it.
        let (mathis, padhye) = (path(Span::from_micros(650), 1e-3), path(Span::from_micros(650), 1e-3));
        assert!(padhye.by_padhye(&SENDER).rate.bps() * 10 < mathis.by_mathis(&SENDER).rate.bps() * 8);
    }

    #[test]
    fn paths_without_a_finite_throughput_are_refused() {
        let new = |rtt, loss, window| Path::new(rtt, loss, Bytes::new(window), None).unwrap_err();
        assert_eq!(new(Span::ZERO, 0.0, 1), PathError::NoRoundTrip);
        assert_eq!(new(Span::from_millis(1), 0.0, 0), PathError::NoWindow);
        for loss in [1.0, -0.1, f64::INFINITY] {
            assert_eq!(new(Span::from_millis(1), loss, 1), PathError::Loss(loss));
        }
    }
}
