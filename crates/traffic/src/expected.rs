//! How many flows a traffic is expected to start, before it is drawn.

use headway_units::Span;

use crate::arrival::Arrival;
use crate::ends::Ends;
use crate::flows::Traffic;
use crate::pairs::Pattern;

/// Flows on average over the seeds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Expected {
    /// All of them.
    pub flows: f64,
    /// Those that start at one instant, at most.
    pub at_once: f64,
    /// The mean size of a flow; `None`: without end.
    pub bytes: Option<f64>,
}

impl Arrival {
    /// The arrivals of one process in `span`. In a closed loop the flows of an arrival take `round`.
    pub fn expected(self, span: Span, round: Span) -> f64 {
        let each = |gap: Span| span.picos() as f64 / gap.picos().max(1) as f64;
        match self {
            _ if span.is_zero() => 0.0,
            Arrival::Once { count } => f64::from(count),
            Arrival::Poisson { mean } => each(mean),
            Arrival::Periodic { period, .. } => each(period).ceil(),
            Arrival::ClosedLoop { think } => each(think.saturating_add(round)).max(1.0),
        }
    }

    /// How many arrivals of one process are at the same instant.
    const fn together(self) -> u32 {
        match self {
            Arrival::Once { count } => count,
            _ => 1,
        }
    }

    /// Whether all processes of a traffic keep one beat.
    const fn is_in_step(self) -> bool {
        matches!(self, Arrival::Once { .. } | Arrival::Periodic { .. })
    }
}

impl Traffic {
    /// The flows that it is expected to start between the hosts of `ends`, where one takes `round`.
    pub fn expected(&self, ends: Ends, round: Span) -> Expected {
        let part = |count: usize, share: Option<f64>| count as f64 * share.unwrap_or(1.0);
        let sources = part(ends.sources(), self.shares.sources);
        let (destinations, others) = match ends {
            Ends::Within { .. } => (sources, (sources - 1.0).max(0.0)),
            Ends::Between { destinations, .. } => (part(destinations, self.shares.destinations), sources),
        };
        let (processes, each) = match self.pattern {
            Pattern::Random | Pattern::Permutation => (sources, 1.0),
            Pattern::EachDestination => (destinations, 1.0),
            Pattern::AllToAll => (destinations * others, 1.0),
            Pattern::Incast => (1.0, others),
        };
        let span = self.stop.since(self.start);
        let flows = processes * each * self.arrival.expected(span, round);
        let instant = each * f64::from(self.arrival.together());
        let at_once = if self.arrival.is_in_step() { processes * instant } else { instant };
        let parts = if self.shared { others.max(1.0) } else { 1.0 };
        let bytes = self.size.as_ref().map(|size| (size.mean().get() as f64 / parts).max(1.0));
        Expected { flows, at_once: at_once.min(flows), bytes }
    }
}

#[cfg(test)]
mod tests {
    use headway_engine::Streams;
    use headway_units::{Bytes, Time};

    use super::*;
    use crate::share::Shares;
    use crate::size::{Fixed, Size};

    /// What is expected is the mean of what is drawn.
    #[test]
    fn what_is_expected_is_what_is_drawn() {
        let ms = Span::from_millis;
        let arrivals = [
            Arrival::Once { count: 3 },
            Arrival::Poisson { mean: ms(2) },
            Arrival::Periodic { period: ms(7), jitter: ms(3) },
        ];
        let patterns =
            [Pattern::Random, Pattern::EachDestination, Pattern::AllToAll, Pattern::Permutation, Pattern::Incast];
        let places = [Ends::Within { hosts: 12 }, Ends::Between { sources: 12, destinations: 8 }];
        for arrival in arrivals {
            for pattern in patterns {
                for (ends, share, shared) in
                    places.into_iter().flat_map(|ends| [(ends, None, false), (ends, Some(0.5), true)])
                {
                    let traffic = Traffic {
                        name: "t".to_owned(),
                        pattern,
                        shares: Shares { sources: share, destinations: None },
                        size: Some(Size::Fixed(Fixed::new(Bytes::from_kb(60)).unwrap())),
                        shared,
                        arrival,
                        start: Time::ZERO + ms(5),
                        stop: Time::ZERO + ms(1005),
                    };
                    let expected = traffic.expected(ends, Span::ZERO);
                    let flows: Vec<_> = traffic.flows(ends, Streams::new(3)).unwrap().collect();
                    let told = format!("{arrival:?} {pattern:?} {ends:?} {share:?}: {expected:?}, {}", flows.len());
                    // Poisson with n flows deviates by √n, an incast of b by √(n b): four of these
                    let slack = match (arrival, pattern) {
                        (Arrival::Poisson { .. }, Pattern::Incast) => 4.0 * (expected.flows * 12.0).sqrt(),
                        (Arrival::Poisson { .. }, _) => 4.0 * expected.flows.sqrt(),
                        // of the last beat some come too late
                        (Arrival::Periodic { .. }, _) => expected.at_once,
                        _ => 0.5,
                    };
                    assert!((flows.len() as f64 - expected.flows).abs() <= slack, "{told}");
                    let bytes = flows.iter().map(|flow| flow.size.unwrap().get() as f64).sum::<f64>();
                    let mean = bytes / flows.len() as f64;
                    assert!((mean / expected.bytes.unwrap() - 1.0).abs() < 0.01, "{told}: {mean} B");
                }
            }
        }
    }
}
