//! Gap frames: how many, and how long, so that the next frame leaves at its byte.
//!
//! Source: R. Takano et al., "Improving TCP performance by using precise software pacing method", IEICE technical report,
//! 2005, eqs. 2–5, called "the paper" in this module, and "Design and evaluation of precise software pacing mechanisms for
//! fast long-distance networks", PFLDnet 2005.

use headway_units::Rate;

/// The smallest Ethernet frame, checksum included (IEEE 802.3 §4A.4.2, minFrameSize).
const SMALLEST_FRAME: u32 = 64;
/// The header of an Ethernet frame.
const HEADER: u32 = 14;
/// The frame check sequence.
const CHECKSUM: u32 = 4;
/// Preamble with start delimiter, and inter-frame gap.
const BETWEEN: u32 = 8 + 12;

/// A wire, as its sender sees it: frames of what sizes take how much of the line.
///
/// There are two ways to count a frame, and the two constructors are the only place where the difference matters: a host
/// hands frames to its card without their checksum, a fabric counts it. On the line they are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line {
    /// Bits per second.
    rate: Rate,
    /// The paper's `hw_gap`: bytes of the line that a frame takes beyond its size.
    overhead: u32,
    /// Sizes of the smallest and the largest frame.
    smallest: u32,
    largest: u32,
}

/// The fastest line. The arithmetic holds 2⁴³ bit/s, a little more.
pub const FASTEST: Rate = Rate::from_gbps(8_000);
/// The largest frame's data.
pub const LARGEST_MTU: u32 = 65_500;
/// The most bytes of the line between frames.
pub const LARGEST_BETWEEN: u32 = 65_535;

impl Line {
    /// A line of `rate` with data of up to `mtu` bytes in a frame. Sizes are those of frames handed to the card, without
    /// checksum: `hw_gap` is inter-frame gap, preamble and checksum, 24 B.
    ///
    /// # Panics
    /// If the rate is zero or over [`FASTEST`], or the MTU not of 46 B to [`LARGEST_MTU`].
    pub const fn of_host(rate: Rate, mtu: u32) -> Line {
        Line::new(rate, BETWEEN + CHECKSUM, SMALLEST_FRAME - CHECKSUM, mtu, HEADER)
    }

    /// As [`of_host`](Line::of_host), where a frame's size is header to checksum: 20 B of the line are not in it.
    ///
    /// # Panics
    /// As [`of_host`](Line::of_host).
    pub const fn of_wire(rate: Rate, mtu: u32) -> Line {
        Line::new(rate, BETWEEN, SMALLEST_FRAME, mtu, HEADER + CHECKSUM)
    }

    /// As [`of_wire`](Line::of_wire), for a wire that has so many bytes between frames.
    ///
    /// # Panics
    /// If that is more than [`LARGEST_BETWEEN`].
    #[must_use]
    pub const fn between(mut self, overhead: u32) -> Line {
        assert!(overhead <= LARGEST_BETWEEN, "a line has room between frames");
        self.overhead = overhead;
        self
    }

    const fn new(rate: Rate, overhead: u32, smallest: u32, mtu: u32, framing: u32) -> Line {
        assert!(rate.bps() > 0 && rate.bps() <= FASTEST.bps(), "a line has a rate");
        assert!(mtu + framing >= smallest && mtu <= LARGEST_MTU, "frames hold data");
        Line { rate, overhead, smallest, largest: mtu + framing }
    }

    /// Bits per second.
    pub const fn rate(&self) -> Rate {
        self.rate
    }

    /// Bytes of the line that a frame of `size` takes.
    pub const fn taken_by(&self, size: u32) -> u64 {
        size as u64 + self.overhead as u64
    }

    /// The least that a frame takes: 84 B on Ethernet. A gap that is smaller cannot be made of frames.
    pub const fn least(&self) -> u64 {
        self.taken_by(self.smallest)
    }

    /// The most that a gap frame takes: 1,538 B with an MTU of 1,500 B.
    pub const fn most(&self) -> u64 {
        self.taken_by(self.largest)
    }

    /// Eqs. 4 and 5 for an inter-packet gap of `ipg` bytes, which has the real frame's own hardware gap within it, as
    /// eq. 3 has it. The gap frames, or `None` if there is no room for one.
    ///
    /// The paper's two equations depend on each other: `gap_bytes = ipg − hw_gap·(n + 1)` and `n = ⌈gap_bytes / MTU⌉`.
    /// With the bytes of the line in their place, `gap_bytes + n·hw_gap = ipg − hw_gap`, of which each gap frame takes
    /// `MTU + hw_gap` at most, so `n = ⌈(ipg − hw_gap) / (MTU + hw_gap)⌉`. Where the last frame would be left with its
    /// hardware gap or less the equations have no common solution: `n − 1` frames are too few, and with `n` they ask for
    /// one less. A gap needs `n` then, and the frame before gives the last one what it lacks.
    pub const fn gap_frames(&self, ipg: u64) -> Option<GapFrames> {
        match ipg.checked_sub(self.overhead as u64) {
            Some(bytes) => self.fill(bytes),
            None => None,
        }
    }

    /// The gap frames that take exactly `line` bytes of the line; `None` if no frame is so small.
    pub const fn fill(&self, line: u64) -> Option<GapFrames> {
        if line < self.least() {
            return None;
        }
        // Eq. 5 without the real packet, solved together with eq. 4: see `gap_frames`.
        let count = line.div_ceil(self.most());
        // Where less than a frame would be left for the last one, the one before leaves it what it needs. That is not
        // possible if frames are of nearly one size; the frame before is then the last.
        let last = line - (count - 1) * self.most();
        if last >= self.least() || count == 1 {
            return Some(GapFrames {
                most: self.most(),
                full: count - 1,
                shorter: None,
                last,
                overhead: self.overhead,
            });
        }
        let shorter = self.most() + last - self.least();
        if shorter < self.least() {
            let full = count - 2;
            return Some(GapFrames {
                most: self.most(),
                full,
                shorter: None,
                last: self.most(),
                overhead: self.overhead,
            });
        }
        let shorter = Some(shorter);
        Some(GapFrames { most: self.most(), full: count - 2, shorter, last: self.least(), overhead: self.overhead })
    }
}

/// Gap frames that follow each other: full ones, and those at the end. Amounts are bytes of the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GapFrames {
    most: u64,
    full: u64,
    shorter: Option<u64>,
    last: u64,
    overhead: u32,
}

impl GapFrames {
    /// How many: eq. 5 without the real packet.
    pub const fn count(&self) -> u64 {
        self.full + self.shorter.is_some() as u64 + 1
    }

    /// Bytes of the line.
    pub const fn line(&self) -> u64 {
        let shorter = match self.shorter {
            Some(shorter) => shorter,
            None => 0,
        };
        self.full * self.most + shorter + self.last
    }

    /// Bytes in the frames: eq. 4.
    pub const fn bytes(&self) -> u64 {
        self.line() - self.count() * self.overhead as u64
    }

    /// Frames of equal size, in order: how many, and the bytes of the line that each takes.
    pub fn runs(&self) -> impl Iterator<Item = (u64, u64)> + use<> {
        let full = (self.full > 0).then_some((self.full, self.most));
        full.into_iter().chain(self.shorter.map(|shorter| (1, shorter))).chain([(1, self.last)])
    }

    /// The first of them: bytes of the line.
    pub fn first(&self) -> u64 {
        self.runs().next().map_or(self.last, |(_, line)| line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pacing::Target;
    use headway_units::Span;
    use proptest::prelude::*;

    const GIGABIT: Rate = Rate::from_gbps(1);

    /// The paper, §2.1, and PFLDnet 2005: at half of the line's rate the gap is as long as the packet.
    #[test]
    fn at_half_the_rate_the_gap_is_the_packet() {
        let line = Line::of_host(GIGABIT, 1500);
        let half = Target::of_rate(Rate::from_mbps(500));
        assert_eq!(half.inter_packet_gap(1514, &line), 1514);
        // eqs. 4 and 5: one gap frame and the real one have a hardware gap of 24 B each
        let gap = line.gap_frames(1514).unwrap();
        assert_eq!((gap.count(), gap.bytes()), (1, 1514 - 2 * 24));
        // as ports count, the same bytes of the line
        let wire = Line::of_wire(GIGABIT, 1500);
        assert_eq!((line.most(), wire.most(), line.least(), wire.least()), (1538, 1538, 84, 84));
        assert_eq!(wire.fill(1538).map(|gap| (gap.count(), gap.bytes())), Some((1, 1518)));
    }

    /// Eq. 3 by hand: 100 Mb/s of 1 Gb/s with packets of 1,514 B leave 9 · 1,514 = 13,626 B, of which eqs. 4 and 5 make 9
    /// gap frames: 13,626 − 24 · 10 = 13,386 B, and ⌈13,386 / 1,514⌉ = 9.
    #[test]
    fn a_gap_longer_than_the_mtu_takes_several_frames() {
        let line = Line::of_host(GIGABIT, 1500);
        let ipg = Target::of_rate(Rate::from_mbps(100)).inter_packet_gap(1514, &line);
        assert_eq!(ipg, 13_626);
        let gap = line.gap_frames(ipg).unwrap();
        assert_eq!((gap.count(), gap.bytes()), (9, 13_386));
        assert_eq!(gap.runs().collect::<Vec<_>>(), [(8, 1538), (1, 13_602 - 8 * 1538)]);
    }

    /// Eq. 1: a window of 100 packets of 1,500 B and a round trip of 10 ms are 120 Mb/s.
    #[test]
    fn the_dynamic_rate_is_a_window_a_round_trip() {
        let target = Target::of_window(100 * 1500, Span::from_millis(10)).unwrap();
        assert_eq!(target.rate(), Rate::from_mbps(120));
    }

    #[test]
    fn what_is_less_than_a_frame_is_no_gap() {
        let line = Line::of_host(GIGABIT, 1500);
        assert_eq!((line.gap_frames(10), line.gap_frames(24 + 83)), (None, None));
        assert_eq!(line.gap_frames(24 + 84).map(|gap| (gap.count(), gap.bytes())), Some((1, 60)));
        // one byte more than a full frame: the first leaves the second its 84
        let gap = line.fill(1539).unwrap();
        assert_eq!(gap.runs().collect::<Vec<_>>(), [(1, 1455), (1, 84)]);
    }

    /// Frames far apart: a gap frame of 1,518 B takes 67,053 B of the line.
    #[test]
    fn a_line_may_have_much_between_frames() {
        let line = Line::of_wire(GIGABIT, 1500).between(LARGEST_BETWEEN);
        assert_eq!((line.most(), line.least()), (1518 + 65_535, 64 + 65_535));
        let gap = line.fill(3 * line.most()).unwrap();
        assert_eq!((gap.count(), gap.bytes()), (3, 3 * 1518));
    }

    proptest! {
        /// Frames of nearly one size do not make every gap: what is left is less than a frame, and no more would fit.
        #[test]
        fn small_frames_leave_less_than_a_frame(ipg in 0_u64..1 << 40, mtu in 46_u32..129) {
            let line = Line::of_host(GIGABIT, mtu);
            let Some(gap) = line.gap_frames(ipg) else {
                prop_assert!(ipg < 24 + 84);
                return Ok(());
            };
            let runs: Vec<_> = gap.runs().collect();
            prop_assert_eq!(runs.iter().map(|run| run.0).sum::<u64>(), gap.count());
            let made = runs.iter().map(|run| run.0 * run.1).sum::<u64>();
            prop_assert!(made <= ipg - 24 && ipg - 24 - made < 84, "{} of {}", made, ipg - 24);
            prop_assert!(runs.iter().all(|run| (84..=u64::from(mtu) + 38).contains(&run.1)));
        }

        /// Every gap that can be made of frames is, to the byte, with the number of frames that eqs. 4 and 5 agree on.
        #[test]
        fn gaps_are_exact(ipg in 0_u64..1 << 40, mtu in 129_u32..9000) {
            let line = Line::of_host(GIGABIT, mtu);
            let Some(gap) = line.gap_frames(ipg) else {
                prop_assert!(ipg < 24 + 84);
                return Ok(());
            };
            prop_assert_eq!(gap.bytes() + 24 * (gap.count() + 1), ipg, "eq. 4");
            let mtu_frame = u64::from(mtu) + 14;
            let rest = (ipg - 24) % (mtu_frame + 24);
            if rest == 0 || rest > 24 {
                prop_assert_eq!(gap.bytes().div_ceil(mtu_frame), gap.count(), "eq. 5");
            } else {
                // no number of frames satisfies both equations
                let agrees = |n: u64| (ipg - 24 * (n + 1)).div_ceil(mtu_frame) == n;
                prop_assert!(!agrees(gap.count()) && !agrees(gap.count() - 1));
            }
            let runs: Vec<_> = gap.runs().collect();
            prop_assert_eq!(runs.iter().map(|run| run.0).sum::<u64>(), gap.count());
            prop_assert_eq!(runs.iter().map(|run| run.0 * run.1).sum::<u64>(), ipg - 24);
            prop_assert!(runs.iter().all(|run| (84..=u64::from(mtu) + 38).contains(&run.1)));
        }

        /// What is left after the first gap frame is made of the same frames as if it had been asked for at once.
        #[test]
        fn gaps_can_be_made_one_frame_at_a_time(line_bytes in 84_u64..100_000) {
            let line = Line::of_wire(GIGABIT, 1500);
            let (mut left, mut sizes) = (line_bytes, Vec::new());
            while left > 0 {
                let first = line.fill(left).unwrap().first();
                sizes.push(first);
                left -= first;
            }
            let runs = line.fill(line_bytes).unwrap();
            let at_once: Vec<u64> = runs.runs().flat_map(|(count, size)| vec![size; count as usize]).collect();
            prop_assert_eq!(sizes, at_once);
        }
    }
}
