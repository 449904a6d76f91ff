//! Headroom for priority flow control.

use headway_units::{Bytes, Rate, Span};

/// Bytes of a pause frame, header to checksum: the smallest frame (IEEE 802.3 §4A.4.2, annex 31B).
pub const PAUSE_FRAME: Bytes = Bytes::new(64);

/// Bits of preamble, start delimiter and inter-frame gap (IEEE 802.3 §4A.4.2), which count in the worst-case sum.
const BETWEEN: u64 = 160;

/// A cable between a sender of lossless traffic and a switch that may ask it to pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cable {
    /// The rate towards the switch.
    pub rate: Rate,
    /// The rate back, over which pause frames go.
    pub back_rate: Rate,
    /// From the last bit sent until the switch counts the frame: propagation, and what its interface and pipeline take.
    pub delay: Span,
    /// The same of a pause frame, until the sender begins to react.
    pub back_delay: Span,
    /// From then until the sender has stopped to begin frames.
    pub response: Span,
    /// The largest lossless frame, header to checksum.
    pub frame: Bytes,
    /// The largest frame of any priority that the switch sends back, which a pause frame may have to wait for.
    pub back_frame: Bytes,
    /// Bytes of wire time per frame that are not in the frame; 20 on Ethernet.
    pub gap: Bytes,
}

/// Bits and bytes of a table by rate: the rate up to which a row is, and its two delays in bit times.
type Row = (u64, u64, u64);

/// Upper bounds by rate in Gb/s: delay of an interface, and response (the sum of what IEEE 802.3 annex 31B.3.7 and its
/// clauses for each kind of interface allow, as vendors tabulate them:
/// <https://www.besthub.dev/articles/how-to-compute-headroom-for-lossless-ethernet-links-part-2-6f1dc894e989>). Of
/// 400 Gb/s the source has the response alone; its interface is taken to need what it takes at 100 Gb/s, in time.
const BOUNDS: [Row; 5] =
    [(10, 8_192, 30_720), (25, 6_144, 40_960), (40, 24_576, 60_416), (100, 122_880, 201_728), (400, 491_520, 463_360)];

/// The row of the slowest rate that is at least `rate`, or of the fastest.
fn row(rate: Rate) -> Row {
    let fits = BOUNDS.iter().find(|(gbps, ..)| rate <= Rate::from_gbps(*gbps));
    *fits.unwrap_or(&BOUNDS[BOUNDS.len() - 1])
}

/// What so many bits take at `rate`, rounded up.
fn bit_times(bits: u64, rate: Rate) -> Span {
    rate.transmission(Bytes::new(bits.div_ceil(8)))
}

/// The most that an interface of `rate` may take from the medium to the MAC or back. Of a rate between two in the table it
/// is the faster one's number of bits, and so more than enough.
pub fn interface_delay(rate: Rate) -> Span {
    bit_times(row(rate).1, rate)
}

/// The most that a port of `rate` may take from a pause frame at its MAC until it begins no more frames.
pub fn response_delay(rate: Rate) -> Span {
    bit_times(row(rate).2, rate)
}

/// The delays of real equipment at `rate` on a cable with this `propagation`: towards the switch and back, with the
/// response ([`Cable::delay`], [`Cable::back_delay`], [`Cable::response`]). The worst-case sum has one interface delay a
/// way.
pub fn standard_response(rate: Rate, propagation: Span) -> (Span, Span, Span) {
    let way = propagation + interface_delay(rate);
    (way, way, response_delay(rate))
}

/// Headroom by the worst-case sum: a frame of any priority that the switch has just begun to send back, the pause frame,
/// both ways, the response, and a lossless frame that the sender has just begun (IEEE 802.1Q-2018 annex
/// N). The reverse direction is taken to be as fast as the forward one; it is not in the sum.
///
/// The threshold at which the switch asks is taken to lie so low that the frame that crosses it fits below it:
/// compare [`whole_frame_headroom`].
pub fn standard_headroom(cable: &Cable) -> Bytes {
    let frames = (cable.back_frame + PAUSE_FRAME + cable.frame).get() * 8 + 3 * BETWEEN;
    // the pause frame in the source is of 512 bits and 160 between, as here
    let waits = bits_in(cable.rate, cable.delay + cable.back_delay + cable.response);
    Bytes::new((u128::from(frames) + waits).div_ceil(8).try_into().unwrap_or(u64::MAX))
}

/// Bits that pass in `span`, rounded up.
fn bits_in(rate: Rate, span: Span) -> u128 {
    (u128::from(rate.bps()) * u128::from(span.picos())).div_ceil(1_000_000_000_000)
}

/// Headroom that is enough, to the byte but for rounding, where the switch compares whole frames with its threshold: what
/// goes beyond is in the headroom, and the first such frame makes it ask.
///
/// Let the first frame beyond the threshold be counted at t. The pause frame may wait for a frame that was just begun; the
/// sender obeys at t' = t + (`back_frame` + gap + 64 B + gap) / `back_rate` + `back_delay` + `response`. Frames counted
/// after t began in the time from t − `delay` until t', in which Δ = t' − t + `delay` carries R = Δ · `rate` bytes of the
/// wire. Beyond that there is the frame that began just before t', of at most M = `frame`. Frames that fill S ≤ R bytes of
/// the wire, with the gap g each, have at most S − g ⌈S / (M + g)⌉ bytes. That falls by g where one more frame is needed, so
/// the most of it for all S ≤ R counts: k M + max(0, r − g), with k whole frames of M + g in R and r bytes left. With the
/// frame that crosses, which is in the headroom as a whole, this is k M + max(0, r − g) + 2 M. The bound is reached but for
/// less than a byte where frames of any size come back to back.
pub fn whole_frame_headroom(cable: &Cable) -> Bytes {
    let back = cable.back_rate.transmission(cable.back_frame + cable.gap)
        + cable.back_rate.transmission(PAUSE_FRAME + cable.gap);
    let window = back + cable.back_delay + cable.response + cable.delay;
    let wire = bits_in(cable.rate, window).div_ceil(8);
    let [frame, gap] = [cable.frame, cable.gap].map(|bytes| u128::from(bytes.get()));
    let full = (frame + gap).max(1);
    let bytes = wire / full * frame + (wire % full).saturating_sub(gap) + 2 * frame;
    Bytes::new(bytes.try_into().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cable(gbps: u64, [back_frame, frame]: [u64; 2], metres: u64) -> Cable {
        let rate = Rate::from_gbps(gbps);
        let (delay, back_delay, response) = standard_response(rate, Span::from_nanos(5 * metres));
        let [frame, back_frame] = [frame, back_frame].map(Bytes::new);
        Cable { rate, back_rate: rate, delay, back_delay, response, frame, back_frame, gap: Bytes::new(20) }
    }

    /// The published totals, in KB to one place: 9216 B frames of other priorities and 2300 B ones that must not be lost
    /// on 100 m, and 1518 B ones on 2 m (the article at [`BOUNDS`]).
    #[test]
    fn the_worst_case_sum_is_the_published_one() {
        for (gbps, long, short) in [(10, 18.8, 9.1), (25, 21.4, 9.9), (40, 30.3, 17.0), (100, 80.1, 59.3)] {
            for (frames, metres, published) in [([9216, 2300], 100, long), ([1518, 1518], 2, short)] {
                let bytes = standard_headroom(&cable(gbps, frames, metres)).get() as f64;
                let rounded = (bytes / 100.0).round() / 10.0;
                assert!((rounded - published).abs() < 1e-9, "{gbps} Gb/s, {metres} m: {rounded} KB, not {published}");
            }
        }
    }

    /// 10 Gb/s, 9216 and 2300 B, 100 m in bit times: 73,888 + 672 + 2 · 8,192 + 2 · 5,000 + 30,720 + 18,560 = 150,224.
    #[test]
    fn the_parts_of_the_sum_are_the_published_ones() {
        assert_eq!(standard_headroom(&cable(10, [9216, 2300], 100)), Bytes::new(150_224 / 8));
        assert_eq!(interface_delay(Rate::from_gbps(10)), Span::from_picos(819_200));
        assert_eq!(response_delay(Rate::from_gbps(100)), Span::from_picos(2_017_280));
        // between two rates of the table the faster one's bits, at the own rate
        assert_eq!(response_delay(Rate::from_gbps(50)), Rate::from_gbps(50).transmission(Bytes::new(201_728 / 8)));
        assert_eq!(interface_delay(Rate::from_gbps(800)), Rate::from_gbps(800).transmission(Bytes::new(491_520 / 8)));
    }

    /// Without delays and gaps: the frame that the pause frame waits for, the pause frame, the frame that had begun, and
    /// the one that crossed.
    #[test]
    fn whole_frames_need_one_frame_more() {
        let bare = Cable {
            delay: Span::ZERO,
            back_delay: Span::ZERO,
            response: Span::ZERO,
            gap: Bytes::ZERO,
            ..cable(10, [1518, 9018], 0)
        };
        assert_eq!(whole_frame_headroom(&bare), Bytes::new(1518 + 64 + 9018 + 9018));
        // 1 µs both ways at 10 Gb/s is 2,500 B more
        let far = Cable { delay: Span::from_micros(1), back_delay: Span::from_micros(1), ..bare };
        assert_eq!(whole_frame_headroom(&far), whole_frame_headroom(&bare) + Bytes::new(2500));
        // a slow way back counts at the forward rate
        let slow = Cable { back_rate: Rate::from_gbps(1), ..bare };
        assert_eq!(whole_frame_headroom(&slow), Bytes::new(10 * (1518 + 64) + 2 * 9018));
        // gaps take wire time that needs no room: 1,518 + 84 + 20 B of wire time are at least two frames of 1,000 B
        let gaps = Cable { gap: Bytes::new(20), frame: Bytes::new(1000), ..bare };
        assert_eq!(whole_frame_headroom(&gaps), Bytes::new(1518 + 20 + 64 + 20 - 2 * 20 + 2 * 1000));
    }

    /// Three full frames and 8 B of wire in the window of 3,697.6 ns: a fourth begins just before the sender obeys.
    #[test]
    fn a_rest_shorter_than_a_gap_takes_nothing_away() {
        let way = Span::from_nanos(1200);
        let own = Cable { delay: way, back_delay: way, response: Span::ZERO, ..cable(10, [1518, 1518], 0) };
        assert_eq!(whole_frame_headroom(&own), Bytes::new(5 * 1518));
    }

    #[test]
    fn a_longer_cable_never_needs_less() {
        let mut before = Bytes::ZERO;
        for nanos in 0..5000 {
            let own = Cable { delay: Span::from_nanos(nanos), ..cable(10, [1518, 1518], 0) };
            let now = whole_frame_headroom(&own);
            assert!(now >= before, "{before:?} at {} ns, {now:?} at {nanos} ns", nanos - 1);
            before = now;
        }
    }

    #[test]
    fn hostile_numbers_saturate() {
        let huge = Cable {
            delay: Span::from_picos(u64::MAX / 4),
            rate: Rate::from_bps(u64::MAX),
            gap: Bytes::ZERO,
            ..cable(10, [0, 1], 0)
        };
        assert_eq!(whole_frame_headroom(&huge), Bytes::new(u64::MAX));
        let nothing = Cable { frame: Bytes::ZERO, ..huge };
        assert_eq!(whole_frame_headroom(&nothing), Bytes::ZERO, "frames of no bytes need no room");
    }
}
