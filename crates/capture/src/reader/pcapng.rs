//! pcapng: blocks with their length at both ends, in sections that have byte orders and interfaces of their own.

use super::{Link, MAX_CAPTURED, Order, Record};
use crate::error::CaptureError;
use crate::source::Buffer;

/// The first bytes of a section header block, the same in both byte orders.
pub(super) const SECTION: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];

const BYTE_ORDER: u32 = 0x1a2b_3c4d;

const INTERFACE: u32 = 1;
const OLD_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const STATISTICS: u32 = 5;
const ENHANCED_PACKET: u32 = 6;

/// The longest block: as Wireshark.
const MAX_BLOCK: usize = 16 << 20;

/// The most interfaces of a section.
const MAX_INTERFACES: usize = 1 << 16;

/// How an interface's clock counts.
#[derive(Debug, Clone, Copy)]
enum Clock {
    /// Nanoseconds to a tick.
    Coarse(u64),
    /// Ticks to a nanosecond.
    Fine(u64),
    /// So many halvings of a second.
    Binary(u32),
}

#[derive(Debug, Clone, Copy)]
struct Interface {
    link: Link,
    /// 0: no limit.
    snaplen: u32,
    clock: Clock,
    /// Added to its times, in nanoseconds.
    offset: i128,
    /// What it says it dropped.
    dropped: u64,
}

impl Interface {
    #[inline]
    fn time(&self, ticks: u64) -> u64 {
        let nanos = match self.clock {
            Clock::Coarse(unit) => u128::from(ticks) * u128::from(unit),
            Clock::Fine(unit) => u128::from(ticks / unit),
            Clock::Binary(halvings) => (u128::from(ticks) * 1_000_000_000) >> halvings,
        };
        (nanos as i128 + self.offset).clamp(0, i128::from(i64::MAX)) as u64
    }
}

/// The section under way.
#[derive(Debug, Default)]
pub(super) struct Section {
    order: Order,
    interfaces: Vec<Interface>,
    /// Of the last packet with a time, for those without.
    time: u64,
    dropped_before: u64,
}

impl Section {
    pub fn dropped(&self) -> u64 {
        self.interfaces.iter().fold(self.dropped_before, |sum, interface| sum.saturating_add(interface.dropped))
    }

    pub fn next(&mut self, buffer: &mut Buffer) -> Result<Option<Record>, CaptureError> {
        loop {
            if !buffer.ensure(12)? {
                return match buffer.window().len() {
                    0 => Ok(None),
                    there => {
                        Err(buffer.damaged(format!("the file ends in a block's header, after {there} of 12 bytes")))
                    }
                };
            }
            let head = buffer.window();
            let is_section = head[..4] == SECTION;
            if is_section {
                let big = [false, true].into_iter().find(|&big| Order { big }.u32(head, 8) == BYTE_ORDER);
                let Some(big) = big else {
                    return Err(buffer.damaged("a section header without the byte-order magic 1a2b3c4d"));
                };
                self.order = Order { big };
            }
            let (kind, total) = (self.order.u32(head, 0), self.order.u32(head, 4) as usize);
            if !total.is_multiple_of(4) || !(12..=MAX_BLOCK).contains(&total) {
                return Err(buffer.damaged(format!("a block (type {kind:#x}) cannot have a length of {total} bytes")));
            }
            if !buffer.ensure(total)? {
                let there = buffer.window().len();
                return Err(buffer
                    .damaged(format!("the file ends in a block (type {kind:#x}), after {there} of {total} bytes")));
            }
            let block = &buffer.window()[..total];
            let again = self.order.u32(block, total - 4) as usize;
            if again != total {
                return Err(buffer.damaged(format!(
                    "a block (type {kind:#x}) has a length of {total} bytes at its beginning and {again} at its end"
                )));
            }
            let read = if is_section { self.begin(block).map(|()| None) } else { self.block(kind, block) };
            match read {
                Ok(Some(record)) => return Ok(Some(record)),
                Ok(None) => buffer.consume(total),
                Err(what) => return Err(buffer.damaged(what)),
            }
        }
    }

    fn begin(&mut self, block: &[u8]) -> Result<(), String> {
        if block.len() < 28 {
            return Err("a section header that is too short".to_owned());
        }
        let major = self.order.u16(block, 12);
        if major != 1 {
            return Err(format!("a section of pcapng version {major}; only 1 is read"));
        }
        self.dropped_before = self.dropped();
        self.interfaces.clear();
        Ok(())
    }

    /// A block's packet, if it has one.
    #[inline]
    fn block(&mut self, kind: u32, block: &[u8]) -> Result<Option<Record>, String> {
        let order = self.order;
        let total = block.len();
        // Bytes that there must be up to the packet's data.
        let fixed = match kind {
            ENHANCED_PACKET | OLD_PACKET => 28,
            SIMPLE_PACKET => 12,
            INTERFACE => 16,
            STATISTICS => 20,
            _ => return Ok(None),
        };
        let Some(room) = total.checked_sub(fixed + 4) else {
            return Err(format!("a block (type {kind:#x}) of {total} bytes is too short"));
        };
        match kind {
            INTERFACE => self.interface(block).map(|()| None),
            STATISTICS => {
                if let Some(interface) = self.interfaces.get_mut(order.u32(block, 8) as usize) {
                    // isb_ifdrop; the last block of an interface counts.
                    for (code, value) in Options::new(order, &block[20..total - 4]) {
                        if code == 5 && value.len() == 8 {
                            interface.dropped = order.u64(value, 0);
                        }
                    }
                }
                Ok(None)
            }
            SIMPLE_PACKET => {
                let interface = self.find(0)?;
                let length = order.u32(block, 8);
                let limit = if interface.snaplen == 0 { u32::MAX } else { interface.snaplen };
                let captured = (length.min(limit) as usize).min(room);
                Ok(Some(Record { time: self.time, link: interface.link, at: 12, captured, length, total }))
            }
            _ => {
                let number = if kind == OLD_PACKET { u32::from(order.u16(block, 8)) } else { order.u32(block, 8) };
                let interface = self.find(number as usize)?;
                let ticks = u64::from(order.u32(block, 12)) << 32 | u64::from(order.u32(block, 16));
                let (captured, length) = (order.u32(block, 20), order.u32(block, 24));
                if captured as usize > room || captured > MAX_CAPTURED.max(interface.snaplen) {
                    return Err(format!(
                        "a packet's header cannot be right: {captured} bytes captured, in a block with room for {room}"
                    ));
                }
                self.time = interface.time(ticks);
                let captured = captured as usize;
                Ok(Some(Record { time: self.time, link: interface.link, at: 28, captured, length, total }))
            }
        }
    }

    #[inline]
    fn find(&self, number: usize) -> Result<Interface, String> {
        self.interfaces.get(number).copied().ok_or_else(|| {
            format!("a packet of interface {number}, of which the section has described {}", self.interfaces.len())
        })
    }

    fn interface(&mut self, block: &[u8]) -> Result<(), String> {
        let order = self.order;
        if self.interfaces.len() == MAX_INTERFACES {
            return Err(format!("more than {MAX_INTERFACES} interfaces in a section"));
        }
        let mut interface = Interface {
            link: Link::new(u32::from(order.u16(block, 8))),
            snaplen: order.u32(block, 12),
            clock: Clock::Coarse(1000),
            offset: 0,
            dropped: 0,
        };
        for (code, value) in Options::new(order, &block[16..block.len() - 4]) {
            match (code, value) {
                // if_tsresol
                (9, &[resolution]) => {
                    let power = u32::from(resolution & 0x7f);
                    interface.clock = match resolution {
                        0..=9 => Clock::Coarse(10u64.pow(9 - power)),
                        10..=28 => Clock::Fine(10u64.pow(power - 9)),
                        0x80.. => Clock::Binary(power),
                        _ => return Err(format!("an interface whose clock counts in 10^-{power} s")),
                    };
                }
                // if_tsoffset, in seconds
                (14, value) if value.len() == 8 => {
                    interface.offset = i128::from(order.u64(value, 0).cast_signed()) * 1_000_000_000;
                }
                _ => {}
            }
        }
        self.interfaces.push(interface);
        Ok(())
    }
}

/// The options at the end of a block. One that does not fit ends them: no packet depends on it.
struct Options<'a> {
    order: Order,
    rest: &'a [u8],
}

impl<'a> Options<'a> {
    fn new(order: Order, rest: &'a [u8]) -> Options<'a> {
        Options { order, rest }
    }
}

impl<'a> Iterator for Options<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<(u16, &'a [u8])> {
        if self.rest.len() < 4 {
            return None;
        }
        let (code, length) = (self.order.u16(self.rest, 0), usize::from(self.order.u16(self.rest, 2)));
        let value = self.rest.get(4..4 + length)?;
        self.rest = self.rest.get(4 + length.next_multiple_of(4)..).unwrap_or(&[]);
        (code != 0).then_some((code, value))
    }
}
