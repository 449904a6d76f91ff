//! The way between two hosts, whole or split by relays.

use headway_units::{Bytes, Rate, Span};
use thiserror::Error;

use super::{Bound, Path, PathError, Sender};

/// A part of the way that is alike: its share of the round trip, its losses, its slowest link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stretch {
    /// Its part of the round-trip time.
    pub rtt: Span,
    /// The share of the data's packets that is lost on it.
    pub loss: f64,
    /// The data that its slowest link carries, without headers; `None`: it is no limit.
    pub link: Option<Rate>,
}

/// The way from a client to a server over a long link, with access networks at both ends.
#[derive(Debug, Clone, PartialEq)]
pub struct Route {
    /// From the client to the long link.
    pub client: Stretch,
    /// The long link.
    pub long: Stretch,
    /// From the long link to the server.
    pub server: Stretch,
    /// The most that a connection has in flight if one end is a host.
    pub host_window: Bytes,
    /// The most that a connection between two relays has in flight.
    pub relay_window: Bytes,
    /// Where relays stand on the long link, as shares of it from the client's end, in rising order: 0 and 1 are a relay
    /// at either end. Losses and the round trip of the long link are spread evenly over it.
    pub relays: Vec<f64>,
}

/// A connection between two neighbours: hosts or relays.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Segment {
    /// What it sends over.
    pub path: Path,
    /// Its place among the segments, from the client on.
    pub index: usize,
}

/// Why there is no such route.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum RouteError {
    /// Of the whole, or of a segment (its place, from the client on).
    #[error("segment {} of the way: {error}", index + 1)]
    Segment {
        /// The segment's place.
        index: usize,
        /// What is wrong with it.
        error: PathError,
    },
    /// Outside the long link, or out of order.
    #[error("a relay stands at {0}, which must be from 0 to 1 and behind the one before")]
    Position(f64),
}

impl Route {
    /// The whole way as one path, for a connection from host to host.
    ///
    /// # Errors
    /// If it has no finite throughput.
    pub fn direct(&self) -> Result<Path, RouteError> {
        self.between(0.0, 1.0, [true, true], self.host_window).map_err(|error| RouteError::Segment { index: 0, error })
    }

    /// The connections that the relays make of it, from the client on. Without relays it is the whole way.
    ///
    /// # Errors
    /// If a relay stands outside the long link or before its predecessor, or a segment has no finite throughput.
    pub fn segments(&self) -> Result<Vec<Segment>, RouteError> {
        let mut before = 0.0;
        let mut segments = Vec::with_capacity(self.relays.len() + 1);
        for (index, &at) in self.relays.iter().chain(&[1.0]).enumerate() {
            // Written so that NaN fails, too.
            if !(before <= at && at <= 1.0) {
                return Err(RouteError::Position(at));
            }
            let ends = [index == 0, index == self.relays.len()];
            // The end that is a host has a host's buffers, whatever the other one could take.
            let window = if ends == [false, false] { self.relay_window } else { self.host_window };
            let path = self.between(before, at, ends, window);
            segments.push(Segment { path: path.map_err(|error| RouteError::Segment { index, error })?, index });
            before = at;
        }
        Ok(segments)
    }

    /// The throughput over all relays, by `bound` for each segment: that of the slowest one, and its place.
    ///
    /// # Errors
    /// As [`Route::segments`].
    #[expect(clippy::missing_panics_doc, reason = "n relays make n + 1 segments")]
    pub fn relayed(&self, sender: &Sender, bound: fn(&Path, &Sender) -> Bound) -> Result<(Bound, usize), RouteError> {
        let bounds = self.segments()?.into_iter().map(|segment| (bound(&segment.path, sender), segment.index));
        Ok(bounds.min_by_key(|(bound, _)| bound.rate).expect("n relays make n + 1 segments"))
    }

    /// From one place of the long link to another, with the access networks at `ends`.
    fn between(&self, from: f64, to: f64, ends: [bool; 2], window: Bytes) -> Result<Path, PathError> {
        let share = to - from;
        let mut rtt = self.long.rtt.as_secs_f64() * share;
        let mut kept = libm::pow(1.0 - self.long.loss, share);
        let mut link = if share > 0.0 { self.long.link } else { None };
        for (access, _) in [self.client, self.server].iter().zip(ends).filter(|(_, taken)| *taken) {
            rtt += access.rtt.as_secs_f64();
            kept *= 1.0 - access.loss;
            link = [link, access.link].into_iter().flatten().min();
        }
        // Exact where nothing is lost: 1 − 1 is 0.
        Path::new(Span::from_secs_f64(rtt), 1.0 - kept, window, link)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::throughput::{Constant, Limit};

    const SENDER: Sender = Sender {
        mss: Bytes::new(1460),
        constant: Constant::random(true),
        packets_per_ack: 2,
        min_rto: Span::from_millis(200),
    };

    /// The field test of Hasegawa and Jibiki 2011 with Windows XP: 64 KB, 28.6 ms in all, 0.65 ms of it on either side.
    fn field_test(loss: f64, relays: &[f64]) -> Route {
        let access = Stretch { rtt: Span::from_micros(650), loss, link: Some(Rate::from_mbps(941)) };
        Route {
            client: access,
            long: Stretch { rtt: Span::from_micros(27_300), loss: 0.0, link: Some(Rate::from_mbps(9_410)) },
            server: access,
            host_window: Bytes::new(65_535),
            relay_window: Bytes::new(8_000_000),
            relays: relays.to_vec(),
        }
    }

    /// Published: 18.3 Mb/s direct, 806 Mb/s relayed, 44 times (figure 7).
    #[test]
    fn two_relays_leave_the_hosts_window_to_the_short_round_trip() {
        let route = field_test(0.0, &[0.0, 1.0]);
        assert_eq!(route.direct().unwrap().by_mathis(&SENDER).rate, Rate::from_bps(18_331_469));
        let (relayed, slowest) = route.relayed(&SENDER, Path::by_mathis).unwrap();
        assert_eq!((relayed.rate, relayed.limit, slowest), (Rate::from_bps(806_584_615), Limit::Window, 0));
    }

    /// One relay leaves a host at one end of the long link, and its window with it.
    #[test]
    fn one_relay_leaves_the_long_link_to_a_hosts_window() {
        let (relayed, slowest) = field_test(0.0, &[0.0]).relayed(&SENDER, Path::by_mathis).unwrap();
        // 65,535 B in 27.95 ms
        assert_eq!((relayed.rate, slowest), (Rate::from_bps(18_757_782), 1));
        // In the middle, both segments have half the round trip: 65,535 B in 14.3 ms.
        let (middle, _) = field_test(0.0, &[0.5]).relayed(&SENDER, Path::by_mathis).unwrap();
        assert_eq!(middle.rate, Rate::from_bps(36_662_937));
    }

    /// Both sides lose: 1 − (1 − p)² on the whole way, p on a side.
    #[test]
    fn each_segment_has_its_own_losses_only() {
        let route = field_test(1e-3, &[0.0, 1.0]);
        let losses: Vec<f64> = route.segments().unwrap().iter().map(|segment| segment.path.loss()).collect();
        assert!((losses[0] - 1e-3).abs() < 1e-12 && losses[1] == 0.0 && (losses[2] - 1e-3).abs() < 1e-12);
        assert!((route.direct().unwrap().loss() - 0.001_999).abs() < 1e-12);
        let rtts: u64 = route.segments().unwrap().iter().map(|segment| segment.path.rtt().picos()).sum();
        assert_eq!(rtts, route.direct().unwrap().rtt().picos(), "segments are the whole");
    }

    #[test]
    fn without_relays_the_only_segment_is_the_whole() {
        let route = field_test(1e-3, &[]);
        let segments = route.segments().unwrap();
        assert_eq!((segments.len(), segments[0].path), (1, route.direct().unwrap()));
    }

    #[test]
    fn relays_stand_on_the_long_link_and_in_order() {
        for relays in [&[-0.1][..], &[1.5], &[0.5, 0.2], &[f64::NAN]] {
            assert!(matches!(field_test(0.0, relays).segments(), Err(RouteError::Position(_))), "{relays:?}");
        }
        // Two at one place: the connection between them takes no time.
        let error = RouteError::Segment { index: 1, error: PathError::NoRoundTrip };
        assert_eq!(field_test(0.0, &[0.5, 0.5]).segments(), Err(error));
    }
}
