//! What happened over time, in a bounded number of intervals.

use crate::flow::Class;

/// The most intervals; where there would be more, ten become one.
const MAX_INTERVALS: usize = 20_000;
const FACTOR: usize = 10;

/// What happened in an interval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Interval {
    /// Packets of any kind.
    pub packets: u64,
    /// Their bytes on the wire.
    pub bytes: u64,
    /// Connections that began. Those that were open when the capture began did so with it.
    pub opened: u64,
    /// Connections that ended, or were last heard of.
    pub closed: u64,
    /// Flows that started, by class.
    pub starts: [u64; Class::ALL.len()],
}

/// Intervals of the same length, from the first packet on.
#[derive(Debug)]
pub struct Series {
    begin: Option<u64>,
    length: u64,
    intervals: Vec<Interval>,
}

impl Series {
    /// Intervals of `length` nanoseconds; as they are too many, ten times as long, and so on.
    pub fn new(length: u64) -> Series {
        Series { begin: None, length: length.max(1), intervals: Vec::new() }
    }

    /// The interval of `time`; times before the first are taken for it.
    #[inline]
    pub fn at(&mut self, time: u64) -> &mut Interval {
        let begin = *self.begin.get_or_insert(time);
        let since = time.saturating_sub(begin);
        let mut place = (since / self.length) as usize;
        if place >= self.intervals.len() {
            while place >= MAX_INTERVALS {
                self.coarsen();
                place = (since / self.length) as usize;
            }
            self.intervals.resize(place + 1, Interval::default());
        }
        &mut self.intervals[place]
    }

    fn coarsen(&mut self) {
        self.length = self.length.saturating_mul(FACTOR as u64);
        self.intervals =
            self.intervals.chunks(FACTOR).map(|some| some.iter().copied().fold(Interval::default(), sum)).collect();
    }

    /// How long an interval is, in nanoseconds.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// The intervals, each with when it begins and the connections that were open at some time in it.
    pub fn intervals(&self) -> impl Iterator<Item = (u64, u64, &Interval)> {
        let mut open = 0u64;
        let begin = self.begin.unwrap_or(0);
        self.intervals.iter().enumerate().map(move |(at, interval)| {
            let during = open + interval.opened;
            open = during.saturating_sub(interval.closed);
            (begin + at as u64 * self.length, during, interval)
        })
    }

    /// How the counts of flows of a class in equal times vary: variance over mean, and the time. Of a Poisson process it
    /// is 1 whatever the time. The time is such that on average 10 flows or more start in it, and there are at least 20
    /// such times; `None` if there is no such time.
    pub fn dispersion(&self, class: usize) -> Option<(f64, u64)> {
        let total: u64 = self.intervals.iter().map(|interval| interval.starts[class]).sum();
        let count = self.intervals.len() as u64;
        let together = (10 * count).div_ceil(total.max(1)).max(1);
        let groups = count / together;
        if total == 0 || groups < 20 {
            return None;
        }
        // The last, which may not be whole, is left out.
        let sums = self.intervals.chunks_exact(together as usize);
        let sums: Vec<f64> =
            sums.map(|some| some.iter().map(|interval| interval.starts[class]).sum::<u64>() as f64).collect();
        let mean = sums.iter().sum::<f64>() / sums.len() as f64;
        let variance = sums.iter().map(|n| (n - mean) * (n - mean)).sum::<f64>() / (sums.len() - 1) as f64;
        (mean > 0.0).then(|| (variance / mean, together * self.length))
    }
}

fn sum(a: Interval, b: Interval) -> Interval {
    let mut starts = a.starts;
    starts.iter_mut().zip(b.starts).for_each(|(own, other)| *own += other);
    Interval {
        packets: a.packets + b.packets,
        bytes: a.bytes + b.bytes,
        opened: a.opened + b.opened,
        closed: a.closed + b.closed,
        starts,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_intervals_become_fewer_with_the_same_sums() {
        let mut series = Series::new(1);
        for time in [100, 100 + 19_999, 100 + 20_000, 100 + 450_000] {
            series.at(time).packets += 1;
        }
        assert_eq!(series.length(), 100);
        let all: Vec<_> = series.intervals().filter(|(.., interval)| interval.packets > 0).map(|(at, ..)| at).collect();
        assert_eq!(all, [100, 100 + 19_900, 100 + 20_000, 100 + 450_000]);
    }

    #[test]
    fn who_is_open_in_an_interval_is_counted_in_it() {
        let mut series = Series::new(10);
        series.at(0).opened += 2;
        series.at(5).closed += 1;
        series.at(25).closed += 1;
        series.at(35).opened += 1;
        let open: Vec<u64> = series.intervals().map(|(_, open, _)| open).collect();
        assert_eq!(open, [2, 1, 1, 1]);
    }

    #[test]
    fn a_regular_process_does_not_vary_and_a_clumped_one_does() {
        let mut regular = Series::new(10);
        let mut clumped = Series::new(10);
        for n in 0..1000 {
            regular.at(n * 10).starts[0] += 1;
            clumped.at(n / 100 * 1000).starts[0] += 1;
        }
        clumped.at(9_999).packets += 1;
        let (value, length) = regular.dispersion(0).unwrap();
        assert_eq!((value, length), (0.0, 100));
        // One in ten times has all 100 of ten: mean 10, variance 90/100 of 10 * 100 (with n - 1 beneath).
        let (value, _) = clumped.dispersion(0).unwrap();
        assert!((value - 900.0 / 10.0 * 100.0 / 99.0).abs() < 1e-9, "{value}");
        assert_eq!(Series::new(10).dispersion(0), None);
    }
}
