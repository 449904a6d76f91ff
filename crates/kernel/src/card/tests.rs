//! A card against memory that a test writes as a guest would, and as a hostile one could.

use std::fs::File;
use std::os::fd::OwnedFd;

use headway_units::{Bytes, Rate};
use proptest::prelude::*;
use vm_memory::Bytes as _;

use super::*;

const SIZE: u64 = 1 << 20;
const BASE: u64 = 0x10_0000;
const DESCRIPTORS: [u64; 2] = [BASE, BASE + 0x4000];
const AVAILABLE: [u64; 2] = [BASE + 0x1000, BASE + 0x5000];
const USED: [u64; 2] = [BASE + 0x2000, BASE + 0x6000];
const BUFFERS: u64 = BASE + 0x1_0000;

fn spec() -> CardSpec {
    CardSpec {
        mac: [2, 0, 0, 0, 0, 1],
        mtu: 1500,
        rate: Rate::from_mbps(100),
        gap: Bytes::new(20),
        segmentation: true,
        checksums: true,
        cpu: 0,
    }
}

fn memory_file() -> OwnedFd {
    let file = rustix::fs::memfd_create("test", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
    rustix::fs::ftruncate(&file, SIZE).unwrap();
    file
}

/// A card whose rings stand in memory, and that memory.
fn card(events: bool) -> (Card, GuestMemoryMmap) {
    let file = memory_file();
    let copy = FileOffset::new(File::from(file.try_clone().unwrap()), 0);
    let memory = GuestMemoryMmap::from_ranges_with_files([(GuestAddress(BASE), SIZE as usize, Some(copy))]).unwrap();
    let mut card = Card::new(spec(), events, Vec::new());
    let region = Region { address: BASE, size: SIZE, offset: 0 };
    card.configure(&mut Request::SetMemory(vec![(region, file)])).unwrap();
    for ring in 0..2 {
        let at = ring as usize;
        card.configure(&mut Request::SetRingSize { ring, size: 16 }).unwrap();
        card.configure(&mut Request::SetRingAddress {
            ring,
            descriptors: DESCRIPTORS[at],
            used: USED[at],
            available: AVAILABLE[at],
        })
        .unwrap();
        card.configure(&mut Request::SetRingEnable { ring, enable: true }).unwrap();
    }
    (card, memory)
}

/// Offers buffer `n` of `ring`, holding `bytes` or, empty, 2 KB for the card to write.
fn offer(memory: &GuestMemoryMmap, ring: usize, n: u16, bytes: &[u8]) {
    let at = BUFFERS + 0x2000 * u64::from(n) + 0x4_0000 * ring as u64;
    memory.write_slice(bytes, GuestAddress(at)).unwrap();
    let descriptor = DESCRIPTORS[ring] + 16 * u64::from(n);
    let (length, flags) = if ring == RECEIVE { (2048u32, 2u16) } else { (bytes.len() as u32, 0) };
    memory.write_obj(at, GuestAddress(descriptor)).unwrap();
    memory.write_obj(length, GuestAddress(descriptor + 8)).unwrap();
    memory.write_obj(flags, GuestAddress(descriptor + 12)).unwrap();
    let index: u16 = memory.read_obj(GuestAddress(AVAILABLE[ring] + 2)).unwrap();
    memory.write_obj(n, GuestAddress(AVAILABLE[ring] + 4 + 2 * u64::from(index % 16))).unwrap();
    memory.write_obj(index + 1, GuestAddress(AVAILABLE[ring] + 2)).unwrap();
}

fn used(memory: &GuestMemoryMmap, ring: usize) -> u16 {
    memory.read_obj(GuestAddress(USED[ring] + 2)).unwrap()
}

/// A frame of `size` bytes behind an empty header.
fn plain(size: usize) -> Vec<u8> {
    vec![0; Header::SIZE + size]
}

#[test]
fn a_buffer_comes_back_when_its_last_bit_has_left() {
    let (mut card, memory) = card(false);
    let mut cpu = Busy::default();
    offer(&memory, TRANSMIT, 0, &plain(1514));
    offer(&memory, TRANSMIT, 1, &plain(60));
    card.kick(1000, TRANSMIT as u32, None, &mut cpu);
    // 1,514 and 4 and 20 bytes at 80 ns, then the smallest frame
    let starts: Vec<u64> = card.outgoing.iter().map(|frame| frame.start).collect();
    assert_eq!(starts, [1_000_000, 1_000_000 + 1538 * 80_000]);
    let ends = [1000 + 1538 * 80, 1000 + (1538 + 84) * 80];
    assert_eq!(card.next(&cpu), ends[0]);
    assert!(!card.act(ends[0] - 1, &mut cpu));
    assert_eq!(used(&memory, TRANSMIT), 0);
    assert!(card.act(ends[0], &mut cpu), "an interrupt is wanted unless the guest says otherwise");
    assert_eq!((used(&memory, TRANSMIT), card.next(&cpu)), (1, ends[1]));
    memory.write_obj(1u16, GuestAddress(AVAILABLE[TRANSMIT])).unwrap(); // VIRTQ_AVAIL_F_NO_INTERRUPT
    card.interrupts = [false; 2];
    assert!(!card.act(ends[1], &mut cpu));
    assert_eq!((used(&memory, TRANSMIT), card.next(&cpu)), (2, u64::MAX));
}

#[test]
fn doorbells_that_were_written_down_take_what_was_there_then() {
    let (mut card, memory) = card(false);
    let mut cpu = Busy::default();
    for n in 0..3 {
        offer(&memory, TRANSMIT, n, &plain(100));
    }
    card.kick(1000, TRANSMIT as u32, Some(1), &mut cpu);
    assert_eq!(card.outgoing.len(), 1);
    card.kick(50_000, TRANSMIT as u32, Some(3), &mut cpu);
    let starts: Vec<u64> = card.outgoing.iter().map(|frame| frame.start / 1000).collect();
    assert_eq!(starts, [1000, 50_000, 50_000 + (100 + 24) * 80]);
}

#[test]
fn what_arrives_goes_to_the_guest_or_is_counted() {
    let (mut card, memory) = card(false);
    let mut cpu = Busy::default();
    offer(&memory, RECEIVE, 0, &[]);
    card.arrive(500, vec![7; 1514]);
    card.arrive(600, vec![8; 60]);
    assert!(card.act(500, &mut cpu));
    assert_eq!(used(&memory, RECEIVE), 1);
    let length: u32 = memory.read_obj(GuestAddress(USED[RECEIVE] + 8)).unwrap();
    assert_eq!(length, 12 + 1514);
    let byte: u8 = memory.read_obj(GuestAddress(BUFFERS + 12 + 1513)).unwrap();
    assert_eq!(byte, 7);
    card.act(600, &mut cpu);
    assert_eq!((card.counters.received, card.counters.overruns), (1, 1));
}

#[test]
fn a_busy_processor_gathers_what_arrives_meanwhile() {
    let (mut card, memory) = card(false);
    let mut cpu = Busy { cost: Cpu { packet: 100, interrupt: 1000 }, until: 0 };
    for n in 0..8 {
        offer(&memory, RECEIVE, n, &[]);
    }
    for time in [0, 10, 500, 2000] {
        card.arrive(time, vec![0; 60]);
    }
    card.act(0, &mut cpu);
    assert_eq!((used(&memory, RECEIVE), cpu.until, card.next(&cpu)), (1, 1100, 1100));
    card.act(1100, &mut cpu);
    assert_eq!((used(&memory, RECEIVE), cpu.until, card.next(&cpu)), (3, 2300, 2300));
    // sending takes the same processor
    offer(&memory, TRANSMIT, 0, &plain(60));
    card.kick(1200, TRANSMIT as u32, None, &mut cpu);
    assert_eq!((card.outgoing[0].start, cpu.until), (2_400_000, 2400));
}

#[test]
fn configuration_that_makes_no_sense_is_refused() {
    let mut card = Card::new(spec(), true, Vec::new());
    let mut refused = |request: Request| {
        let mut request = request;
        card.configure(&mut request).unwrap_err()
    };
    assert_eq!(refused(Request::SetRingSize { ring: 2, size: 4 }), "speaks of ring 2; a card has two");
    assert_eq!(refused(Request::SetRingSize { ring: 0, size: 3 }), "wants a ring of 3 buffers");
    assert_eq!(refused(Request::SetRingSize { ring: 0, size: 1 << 16 }), "wants a ring of 65536 buffers");
    assert!(refused(Request::SetFeatures(1 << 40)).contains("does not offer"));
    assert!(refused(Request::SetRingEnable { ring: 0, enable: true }).contains("before it shares"));
    assert!(refused(Request::GetConfig { offset: 60, size: 5 }).contains("reads 5 bytes"));
    assert!(refused(Request::GetConfig { offset: u32::MAX, size: u32::MAX }).contains("reads"));
    let region = Region { address: 0, size: 2 * SIZE, offset: 0 };
    assert!(refused(Request::SetMemory(vec![(region, memory_file())])).contains("of a file of"));
    let region = Region { address: u64::MAX - 10, size: SIZE, offset: 0 };
    assert!(refused(Request::SetMemory(vec![(region, memory_file())])).contains("memory region"));
}

#[derive(Debug, Clone)]
enum Act {
    Write(u64, u64),
    Kick(u32, Option<u16>),
    Arrive(usize),
    Wait(u64),
    Address(u32, u64, u64, u64),
    Size(u32, u32),
    Enable(u32, bool),
    Base(u32, u32),
}

fn act() -> impl Strategy<Value = Act> {
    let place = prop_oneof![BASE..BASE + 0x8000, BASE..BASE + SIZE, any::<u64>()];
    let value = prop_oneof![0u64..20, BASE..BASE + SIZE, any::<u64>()];
    prop_oneof![
        8 => (place.clone(), value).prop_map(|(at, value)| Act::Write(at, value)),
        4 => (0u32..3, any::<Option<u16>>()).prop_map(|(ring, stop)| Act::Kick(ring, stop)),
        2 => (0usize..2000).prop_map(Act::Arrive),
        4 => (0u64..1_000_000).prop_map(Act::Wait),
        1 => (0u32..3, place.clone(), place.clone(), place).prop_map(|(ring, a, b, c)| Act::Address(ring, a, b, c)),
        1 => (0u32..3, 0u32..300).prop_map(|(ring, size)| Act::Size(ring, size)),
        1 => (0u32..3, any::<bool>()).prop_map(|(ring, enable)| Act::Enable(ring, enable)),
        1 => (0u32..3, any::<u32>()).prop_map(|(ring, base)| Act::Base(ring, base)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Whatever a guest writes into its memory and whatever it says, the card neither panics nor spins, its wire keeps
    /// its order, and no buffer is on it twice as often as the ring has places.
    #[test]
    fn a_hostile_guest_does_no_harm(events in any::<bool>(), acts in prop::collection::vec(act(), 1..200)) {
        let (mut card, memory) = card(events);
        let mut cpu = Busy::default();
        let mut now = 0;
        let mut last = 0;
        for act in acts {
            match act {
                Act::Write(at, value) => {
                    let _ = memory.write_obj(value, GuestAddress(at));
                }
                Act::Kick(ring, stop) => card.kick(now, ring, stop, &mut cpu),
                Act::Arrive(size) => card.arrive(now, vec![0; size]),
                Act::Wait(nanos) => {
                    now += nanos;
                    card.act(now, &mut cpu);
                }
                Act::Address(ring, descriptors, used, available) => {
                    let _ = card.configure(&mut Request::SetRingAddress { ring, descriptors, used, available });
                }
                Act::Size(ring, size) => drop(card.configure(&mut Request::SetRingSize { ring, size })),
                Act::Enable(ring, enable) => drop(card.configure(&mut Request::SetRingEnable { ring, enable })),
                Act::Base(ring, base) => drop(card.configure(&mut Request::SetRingBase { ring, base })),
            }
            prop_assert!(card.sending.len() <= usize::from(RING));
            for frame in card.outgoing.drain(..) {
                prop_assert!(frame.start >= last && frame.frame.len() <= 1518);
                last = frame.start;
            }
        }
    }
}

#[test]
fn the_carrier_goes_and_comes_back_at_its_times() {
    let state = |card: &mut Card| {
        let config = card.configure(&mut Request::GetConfig { offset: 0, size: 8 }).unwrap().unwrap();
        config[12 + 6]
    };
    let mut card = Card::new(spec(), true, vec![100, 250]);
    let mut cpu = Busy::default();
    let offered = card.offered();
    card.configure(&mut Request::SetFeatures(offered)).unwrap();
    assert_eq!((card.next(&cpu), state(&mut card)), (100, 1));
    assert!(!card.act(99, &mut cpu) && !card.take_config_changed());
    card.act(100, &mut cpu);
    assert_eq!((card.take_config_changed(), card.next(&cpu), state(&mut card)), (true, 250, 0));
    card.act(250, &mut cpu);
    assert_eq!((card.take_config_changed(), card.next(&cpu), state(&mut card)), (true, u64::MAX, 1));
    let without = Card::new(spec(), true, Vec::new());
    assert_eq!(offered & !without.offered(), feature::STATUS, "who has nothing to tell does not offer to");
}
