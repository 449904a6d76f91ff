//! The network card of a guest: two virtio rings on one side, a wire on the other.
//!
//! A card takes frames from the guest's ring in order and transmits one at a time; a buffer goes back to the guest when
//! its last bit has left. So a full wire fills the ring and then the guest's own queueing discipline, as with real
//! cards. What arrives is put into the guest's buffers at once; if it has left none, the frame is lost and counted.
//!
//! Source: virtio 1.2 §5.1 (network device), through the queues of rust-vmm. Rings and buffers are the guest's memory
//! and may hold anything.
//!
//! Left out: several queues, receive segmentation offload, control queue, interrupt moderation (but see [`Cpu`]).

pub(crate) mod offload;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;

use headway_units::{Bytes, Rate};
use virtio_queue::{Queue, QueueT};
use vm_memory::{Bytes as _, FileOffset, GuestAddress, GuestMemoryMmap};

use crate::guest::vhost::{Region, Request, extensions, feature};
use offload::Header;

/// Buffers in a ring at most.
const RING: u16 = 256;
const RECEIVE: usize = 0;
const TRANSMIT: usize = 1;
/// The largest frame in a ring: a segmented one, and its header.
const LARGEST: usize = 65_536 + 256;
/// Bytes of an Ethernet frame that are not in a ring: its checksum.
const CHECKSUM: usize = 4;
/// The smallest Ethernet frame.
pub(crate) const SMALLEST: usize = 64;

/// What a card is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CardSpec {
    /// Its address.
    pub mac: [u8; 6],
    /// Largest IP packet.
    pub mtu: u16,
    /// Rate of its wire.
    pub rate: Rate,
    /// What each frame takes on the wire beyond its own bytes.
    pub gap: Bytes,
    /// Whether the card segments TCP for the kernel.
    pub segmentation: bool,
    /// Whether the card computes and trusts checksums.
    pub checksums: bool,
    /// Which of its guest's processors serves it, see [`Cpu`].
    pub cpu: usize,
}

/// A processor that costs time. Guests compute in no time at all; this delays what goes in and out of their cards as if
/// each interrupt for what arrives and each packet took a while: what arrives waits while the processor is busy, and
/// comes with all that arrived meanwhile; what is sent leaves later. That a buffer has been sent is told for nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cpu {
    /// Nanoseconds per packet (of a segmented one: all segments together).
    pub packet: u64,
    /// Nanoseconds per interrupt.
    pub interrupt: u64,
}

/// A processor's costs and until when it is busy.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Busy {
    pub cost: Cpu,
    pub until: u64,
}

/// A frame on its way out: when its first bit leaves, in picoseconds of the guest, and its bytes.
#[derive(Debug)]
pub(crate) struct Outgoing {
    pub start: u64,
    pub frame: Vec<u8>,
}

/// What a card has seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CardCounters {
    /// Frames that left.
    pub sent: u64,
    /// Frames given to the guest.
    pub received: u64,
    /// Frames for which the guest had no buffer.
    pub overruns: u64,
    /// Buffers of the guest that made no sense.
    pub malformed: u64,
}

/// Whether there is light on the cable.
#[derive(Debug)]
struct Carrier {
    /// The guest is offered to know of it.
    told: bool,
    /// When (ns) it goes, comes back, … from now on.
    turns: VecDeque<u64>,
    up: bool,
    /// The guest is to read it again.
    changed: bool,
}

/// One card.
#[derive(Debug)]
pub(crate) struct Card {
    spec: CardSpec,
    /// Offers to say with an index, not a flag, when the next doorbell and interrupt are wanted (virtio 1.2 §2.7.10):
    /// fewer of both, but the next doorbell must be asked for while the guest runs, which the fast path does not.
    events: bool,
    memory: Option<GuestMemoryMmap>,
    rings: [Queue; 2],
    features: u64,
    carrier: Carrier,
    /// Interrupts to deliver, per ring.
    pub interrupts: [bool; 2],
    /// Picoseconds until the wire is free.
    free: u64,
    /// Buffers that the wire has: when (ns) their last bit leaves, and their heads.
    sending: VecDeque<(u64, u16)>,
    /// What has arrived: when (ns), and the frame.
    arrived: VecDeque<(u64, Vec<u8>)>,
    /// Frames that left or will.
    pub outgoing: VecDeque<Outgoing>,
    pub counters: CardCounters,
    scratch: Vec<u8>,
}

impl Card {
    /// A card without a guest. `events`: whether the guest is served at each doorbell; `carrier`: when (ns) its carrier
    /// goes, comes back, …, in order.
    pub fn new(spec: CardSpec, events: bool, carrier: Vec<u64>) -> Card {
        let ring = || Queue::new(RING).expect("256 is a power of two");
        Card {
            spec,
            events,
            memory: None,
            rings: [ring(), ring()],
            features: 0,
            carrier: Carrier { told: !carrier.is_empty(), turns: carrier.into(), up: true, changed: false },
            interrupts: [false; 2],
            free: 0,
            sending: VecDeque::new(),
            arrived: VecDeque::new(),
            outgoing: VecDeque::new(),
            counters: CardCounters::default(),
            scratch: Vec::new(),
        }
    }

    pub fn spec(&self) -> &CardSpec {
        &self.spec
    }

    /// Whether the guest is to be told to read the configuration again; asked once.
    pub fn take_config_changed(&mut self) -> bool {
        std::mem::take(&mut self.carrier.changed)
    }

    /// The shortest time (ns) for which a frame occupies the wire.
    pub fn shortest(&self) -> u64 {
        self.transmission(SMALLEST) / 1000
    }

    fn transmission(&self, frame: usize) -> u64 {
        self.spec.rate.transmission(Bytes::new(frame as u64) + self.spec.gap).picos()
    }

    fn offered(&self) -> u64 {
        let mut offered = feature::PROTOCOL | feature::VERSION_1 | feature::MAC | feature::MTU;
        if self.events {
            offered |= feature::EVENT_IDX;
        }
        if self.carrier.told {
            offered |= feature::STATUS;
        }
        if self.spec.checksums {
            offered |= feature::CSUM | feature::GUEST_CSUM;
            if self.spec.segmentation {
                offered |= feature::HOST_TSO4 | feature::HOST_TSO6 | feature::HOST_ECN;
            }
        }
        offered
    }

    /// Handles a request other than a doorbell. Gives the answer's payload, if it has one.
    ///
    /// # Errors
    /// What is wrong with it, to follow "the guest".
    pub fn configure(&mut self, request: &mut Request) -> Result<Option<Vec<u8>>, String> {
        let ring = |rings: &mut [Queue; 2], ring: u32| -> Result<usize, String> {
            let known = (ring as usize) < rings.len();
            known.then_some(ring as usize).ok_or_else(|| format!("speaks of ring {ring}; a card has two"))
        };
        match request {
            Request::GetFeatures => return Ok(Some(self.offered().to_ne_bytes().to_vec())),
            Request::GetExtensions => return Ok(Some(extensions().to_ne_bytes().to_vec())),
            Request::SetFeatures(features) => {
                let unknown = *features & !self.offered();
                if unknown != 0 {
                    return Err(format!("wants features {unknown:#x} that the card does not offer"));
                }
                self.features = *features;
                for ring in &mut self.rings {
                    ring.set_event_idx(*features & feature::EVENT_IDX != 0);
                }
            }
            Request::SetMemory(regions) => self.memory = Some(map(std::mem::take(regions))?),
            Request::SetRingSize { ring: which, size } => {
                let which = ring(&mut self.rings, *which)?;
                let size = u16::try_from(*size).map_err(|_| format!("wants a ring of {size} buffers"))?;
                self.rings[which].try_set_size(size).map_err(|_| format!("wants a ring of {size} buffers"))?;
            }
            Request::SetRingAddress { ring: which, descriptors, used, available } => {
                let which = ring(&mut self.rings, *which)?;
                let set = &mut self.rings[which];
                set.set_ready(false);
                let odd = |_| "puts a ring at an odd address".to_owned();
                set.try_set_desc_table_address(GuestAddress(*descriptors)).map_err(odd)?;
                set.try_set_used_ring_address(GuestAddress(*used)).map_err(odd)?;
                set.try_set_avail_ring_address(GuestAddress(*available)).map_err(odd)?;
                set.set_next_avail(0);
                set.set_next_used(0);
            }
            Request::SetRingBase { ring: which, base } => {
                let which = ring(&mut self.rings, *which)?;
                let base = *base as u16;
                self.rings[which].set_next_avail(base);
                self.rings[which].set_next_used(base);
            }
            Request::SetRingEnable { ring: which, enable } => {
                let which = ring(&mut self.rings, *which)?;
                let set = &mut self.rings[which];
                set.set_ready(*enable);
                if *enable {
                    let memory = self.memory.as_ref().ok_or("enables a ring before it shares its memory")?;
                    if !set.is_valid(memory) {
                        set.set_ready(false);
                        return Err("puts a ring outside its memory".to_owned());
                    }
                }
            }
            Request::GetConfig { offset, size } => {
                let mut space = [0u8; 64];
                space[..6].copy_from_slice(&self.spec.mac);
                space[6] = u8::from(self.carrier.up); // VIRTIO_NET_S_LINK_UP
                space[8] = 1; // one pair of rings
                space[10..12].copy_from_slice(&self.spec.mtu.to_le_bytes());
                let (from, len) = (*offset as usize, *size as usize);
                let part = from.checked_add(len).and_then(|end| space.get(from..end));
                let part = part.ok_or_else(|| format!("reads {len} bytes of configuration at {from}"))?;
                let mut payload = Vec::with_capacity(12 + len);
                for word in [*offset, *size, 0] {
                    payload.extend_from_slice(&word.to_ne_bytes());
                }
                payload.extend_from_slice(part);
                return Ok(Some(payload));
            }
            Request::SetOwner
            | Request::SetExtensions
            | Request::SetRingFile
            | Request::SetBackchannel(_)
            | Request::Kick { .. } => {}
        }
        Ok(None)
    }

    /// The guest has rung the doorbell of `ring` at `now` (ns); with `available`, when its ring stood there.
    pub fn kick(&mut self, now: u64, ring: u32, available: Option<u16>, cpu: &mut Busy) {
        if ring as usize != TRANSMIT {
            return;
        }
        // The wire has at most a ring of buffers; a guest that offers more is not believed.
        while self.sending.len() < usize::from(RING) {
            if available.is_some_and(|stop| self.rings[TRANSMIT].next_avail() == stop) {
                return;
            }
            if !self.take(now, cpu) {
                break;
            }
        }
        let Some(memory) = &self.memory else { return };
        if self.rings[TRANSMIT].ready() {
            let _ = self.rings[TRANSMIT].enable_notification(memory);
        }
    }

    /// Takes one buffer from the transmit ring.
    fn take(&mut self, now: u64, cpu: &mut Busy) -> bool {
        let Some(memory) = &self.memory else { return false };
        let Some(chain) = self.rings[TRANSMIT].pop_descriptor_chain(memory) else { return false };
        let head = chain.head_index();
        let mut bytes = std::mem::take(&mut self.scratch);
        bytes.clear();
        let read =
            chain.reader(memory).ok().and_then(|reader| reader.take(LARGEST as u64).read_to_end(&mut bytes).ok());
        let mut begin = now;
        if cpu.cost != Cpu::default() {
            begin = now.max(cpu.until) + cpu.cost.packet;
            cpu.until = begin;
        }
        let mut free = self.free.max(begin * 1000);
        let mut whole = false;
        if read.is_some()
            && let Some((header, frame)) = bytes.split_first_chunk_mut::<{ Header::SIZE }>()
            && frame.len() >= 14
        {
            let header = Header::from_bytes(header);
            let (rate, gap) = (self.spec.rate, self.spec.gap);
            let most = usize::from(self.spec.mtu) + 18;
            let outgoing = &mut self.outgoing;
            let before = outgoing.len();
            let mut fits = true;
            let made = offload::segments(header, frame, &mut |frame| {
                fits &= frame.len() <= most;
                let size = (frame.len() + CHECKSUM).max(SMALLEST);
                outgoing.push_back(Outgoing { start: free, frame: frame.to_vec() });
                free += rate.transmission(Bytes::new(size as u64) + gap).picos();
            });
            whole = made.is_ok() && fits;
            if whole {
                self.counters.sent += (outgoing.len() - before) as u64;
            } else {
                outgoing.truncate(before);
            }
        }
        if whole {
            self.free = free;
            self.sending.push_back((free.div_ceil(1000), head));
        } else {
            self.counters.malformed += 1;
            // it goes back to the guest in its turn
            let end = self.sending.back().map_or(now, |&(end, _)| end);
            self.sending.push_back((end.max(now + 1), head));
        }
        self.scratch = bytes;
        true
    }

    /// A frame arrives at `now` (ns).
    pub fn arrive(&mut self, now: u64, frame: Vec<u8>) {
        self.arrived.push_back((now, frame));
    }

    /// When (ns) the card has something to do by itself.
    pub fn next(&self, cpu: &Busy) -> u64 {
        let sent = self.sending.front().map_or(u64::MAX, |&(time, _)| time);
        let arrived = self.arrived.front().map_or(u64::MAX, |&(time, _)| time.max(cpu.until));
        let carrier = self.carrier.turns.front().copied().unwrap_or(u64::MAX);
        sent.min(arrived).min(carrier)
    }

    /// When (ns) the buffer that is on the wire goes back.
    pub fn next_sent(&self) -> u64 {
        self.sending.front().map_or(u64::MAX, |&(time, _)| time)
    }

    /// Does what is due at `now` (ns). Returns whether the guest is to be interrupted.
    pub fn act(&mut self, now: u64, cpu: &mut Busy) -> bool {
        while self.carrier.turns.front().is_some_and(|&time| time <= now) {
            self.carrier.turns.pop_front();
            self.carrier.up = !self.carrier.up;
            self.carrier.changed = self.features & feature::STATUS != 0;
        }
        let Some(memory) = &self.memory else {
            self.sending.clear();
            self.arrived.clear();
            return false;
        };
        let mut returned = false;
        while let Some(&(time, head)) = self.sending.front() {
            if time > now {
                break;
            }
            self.sending.pop_front();
            let _ = self.rings[TRANSMIT].add_used(memory, head, 0);
            returned = true;
        }
        if returned {
            self.interrupts[TRANSMIT] |= wants_interrupt(&mut self.rings[TRANSMIT], memory);
        }
        let mut given = 0;
        while let Some((time, _)) = self.arrived.front() {
            if (*time).max(cpu.until) > now {
                break;
            }
            let Some((_, frame)) = self.arrived.pop_front() else { break };
            let ring = &mut self.rings[RECEIVE];
            let Some(chain) = ring.pop_descriptor_chain(memory) else {
                self.counters.overruns += 1;
                continue;
            };
            let head = chain.head_index();
            let verified = self.features & feature::GUEST_CSUM != 0;
            let length = Header::SIZE + frame.len();
            let wrote =
                chain.writer(memory).ok().filter(|writer| writer.available_bytes() >= length).and_then(|mut writer| {
                    writer.write_all(&Header::received(verified)).and_then(|()| writer.write_all(&frame)).ok()
                });
            if wrote.is_none() {
                self.counters.malformed += 1;
            }
            let length = if wrote.is_some() { length as u32 } else { 0 };
            let _ = ring.add_used(memory, head, length);
            given += 1;
        }
        if given > 0 {
            self.counters.received += given;
            self.interrupts[RECEIVE] |= wants_interrupt(&mut self.rings[RECEIVE], memory);
            if cpu.cost != Cpu::default() {
                cpu.until = now.max(cpu.until) + cpu.cost.interrupt + given * cpu.cost.packet;
            }
        }
        self.carrier.changed || self.interrupts.contains(&true)
    }
}

/// Whether the guest wants to know what was put into `ring`.
fn wants_interrupt(ring: &mut Queue, memory: &GuestMemoryMmap) -> bool {
    const NO_INTERRUPT: u16 = 1;
    if ring.event_idx_enabled() {
        return ring.needs_notification(memory).unwrap_or(false);
    }
    memory.read_obj::<u16>(GuestAddress(ring.avail_ring())).is_ok_and(|flags| flags & NO_INTERRUPT == 0)
}

/// Maps what a guest shares of its memory.
fn map(regions: Vec<(Region, OwnedFd)>) -> Result<GuestMemoryMmap, String> {
    const MOST: u64 = 1 << 36;
    let mut ranges = Vec::with_capacity(regions.len());
    for (region, file) in regions {
        if region.size == 0 || region.size > MOST || region.address.checked_add(region.size).is_none() {
            return Err(format!("shares a memory region of {} bytes at {:#x}", region.size, region.address));
        }
        // beyond the file's end there is a signal instead of memory
        let held = rustix::fs::fstat(&file).map_or(0, |about| about.st_size as u64);
        if region.offset.checked_add(region.size).is_none_or(|end| end > held) {
            return Err(format!("shares {} bytes at {} of a file of {held}", region.size, region.offset));
        }
        let file = FileOffset::new(File::from(file), region.offset);
        ranges.push((GuestAddress(region.address), region.size as usize, Some(file)));
    }
    ranges.sort_by_key(|range| range.0);
    GuestMemoryMmap::from_ranges_with_files(ranges)
        .map_err(|error| format!("shares memory that cannot be had: {error}"))
}
