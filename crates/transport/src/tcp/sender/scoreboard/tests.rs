//! The scoreboard by itself: segments of 100 bytes.

use super::*;

const MSS: u64 = 100;

fn board(n: u64) -> Scoreboard {
    let mut board = Scoreboard::default();
    for i in 0..n {
        board.push(1 + i * MSS, Time::from_picos(i), i * MSS, MSS as u32, false);
    }
    board
}

/// Blocks given as segment numbers, first..last.
fn sack(board: &mut Scoreboard, blocks: &[(u32, u32)], ack: u64, n: u64) -> bool {
    let mut sack = SackBlocks { count: blocks.len() as u8, ..SackBlocks::default() };
    for (to, &(a, b)) in sack.blocks.iter_mut().zip(blocks) {
        *to = (1 + a * MSS as u32, 1 + b * MSS as u32);
    }
    let news = board.mark_sacked(&sack, 1, ack, 1 + n * MSS, None);
    board.mark_lost(MSS, 3);
    news
}

/// RFC 6675 §4 `IsLost` with DupThresh 3: more than two segments' worth of bytes above, or three blocks.
#[test]
fn three_segments_above_mean_lost() {
    let mut b = board(10);
    assert!(sack(&mut b, &[(1, 2)], 1, 10));
    assert!(sack(&mut b, &[(1, 3)], 1, 10));
    assert_eq!((b.sacked(), b.lost_pending()), (200, 0)); // exactly 2·SMSS is not more than 2·SMSS
    assert!(sack(&mut b, &[(1, 4)], 1, 10));
    assert_eq!((b.sacked(), b.lost_pending()), (300, 100));
    assert_eq!(b.next_lost(), Some(0));
    assert!(!sack(&mut b, &[(1, 4)], 1, 10), "the same report is no news");
}

#[test]
fn holes_between_blocks_are_lost_once_enough_is_above_them() {
    let mut b = board(12);
    sack(&mut b, &[(8, 9), (5, 6), (2, 3)], 1, 12);
    // above segments 0, 1: 3 blocks; above 3, 4: 2 blocks and 200 bytes; above 6, 7: 1 block
    assert_eq!(b.lost_pending(), 200);
    sack(&mut b, &[(8, 11), (5, 6), (2, 3)], 1, 12);
    assert_eq!(b.lost_pending(), 600); // now also 3, 4, 6, 7
    let order: Vec<usize> = std::iter::from_fn(|| {
        let i = b.next_lost()?;
        b.retransmitted(i, Time::ZERO);
        Some(i)
    })
    .collect();
    assert_eq!(order, [0, 1, 3, 4, 6, 7]);
    assert_eq!(b.lost_pending(), 0);
}

#[test]
fn a_time_out_marks_everything_not_acknowledged_and_samples_skip_what_was_sent_twice() {
    let mut b = board(4);
    sack(&mut b, &[(2, 3)], 1, 4);
    b.mark_all_lost();
    assert_eq!((b.sacked(), b.lost_pending()), (100, 300));
    assert_eq!(b.next_lost(), Some(0));
    b.retransmitted(0, Time::from_picos(50));
    assert_eq!(b.lost_pending(), 200);
    assert_eq!(b.acknowledge(1 + MSS, None), None); // Karn
    assert_eq!(b.next_lost(), Some(0));
    assert_eq!(
        b.acknowledge(1 + 3 * MSS, None),
        Some(RttSample { first: Time::from_picos(1), last: Time::from_picos(1) })
    );
    assert_eq!((b.sacked(), b.lost_pending()), (0, 100));
}

#[test]
fn rescue_and_unproven_segments() {
    let mut b = board(5);
    sack(&mut b, &[(2, 3)], 1, 5);
    assert_eq!(b.next_unproven(), Some(0));
    b.retransmitted(0, Time::ZERO);
    assert_eq!(b.next_unproven(), Some(1));
    b.retransmitted(1, Time::ZERO);
    assert_eq!(b.next_unproven(), None); // 3 and 4 are above everything acknowledged
    assert_eq!(b.last_unsacked(), Some(4));
}

#[test]
fn what_was_sent_again_unproven_does_not_wait_once_it_is_proven_lost() {
    let mut b = board(10);
    sack(&mut b, &[(5, 6)], 1, 10);
    assert_eq!(b.next_unproven(), Some(0));
    b.retransmitted(0, Time::ZERO);
    sack(&mut b, &[(5, 8)], 1, 10);
    assert_eq!((b.sacked(), b.lost_pending()), (300, 400)); // 1 to 4; 0 is on its way
    assert_eq!(b.next_lost(), Some(1));
    b.acknowledge(1 + MSS, None);
    assert_eq!(b.lost_pending(), 400);
}

#[test]
fn reinjection_takes_each_piece_once() {
    let mut b = board(3);
    sack(&mut b, &[(1, 2)], 1, 3);
    let mut out = VecDeque::new();
    b.take_for_reinjection(&mut out);
    b.take_for_reinjection(&mut out);
    assert_eq!(out, [(0, 100), (200, 100)]);
}

/// `tcp_xmit_retransmit_queue` goes by `sk_buff`, and `tcp_fragment` makes two of one that is too long.
#[test]
fn what_left_in_a_burst_is_sent_again_in_one() {
    let mut b = Scoreboard::default();
    for i in 0..8 {
        b.push(1 + i * MSS, Time::ZERO, i * MSS, MSS as u32, false);
        if i % 4 == 0 {
            b.mark_burst_start();
        }
    }
    sack(&mut b, &[(1, 2)], 1, 8);
    b.mark_all_lost();
    let mut next = |most| {
        let burst = b.next_lost_burst(most)?;
        burst.clone().for_each(|index| _ = b.retransmitted(index, Time::ZERO));
        Some(burst)
    };
    assert_eq!(next(9), Some(0..1)); // 1 has arrived
    assert_eq!(next(9), Some(2..4)); // 4 begins another burst
    assert_eq!(next(3), Some(4..7));
    assert_eq!(next(3), Some(7..8));
    assert_eq!(next(3), None);
    b.mark_all_lost();
    b.retransmitted(0, Time::ZERO);
    b.retransmitted(2, Time::ZERO);
    b.retransmitted(3, Time::ZERO);
    assert_eq!(b.next_lost_burst(9), Some(4..7), "the burst was cut");
}
