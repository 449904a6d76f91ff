//! vhost-user messages: how a guest tells us where the rings of a card are.
//!
//! Source: the vhost-user protocol of QEMU's documentation (docs/interop/vhost-user.rst) and Linux'
//! `arch/um/drivers/virtio_uml.c`, which speaks a part of it. Messages come from the guest and may say anything;
//! [`Request::parse`] takes nothing for granted but their length.

use std::os::fd::OwnedFd;

/// The header of a message: request, flags, bytes that follow.
pub(crate) const HEADER: usize = 12;
/// More than this follows no header.
pub(crate) const LONGEST: usize = 4096;

const VERSION: u32 = 1;
const REPLY: u32 = 1 << 2;
const NEED_REPLY: u32 = 1 << 3;

/// What the card can do (virtio 1.2 §5.1.3, §6, and vhost-user's own bit 30).
pub(crate) mod feature {
    pub const CSUM: u64 = 1 << 0;
    pub const GUEST_CSUM: u64 = 1 << 1;
    pub const MTU: u64 = 1 << 3;
    pub const MAC: u64 = 1 << 5;
    pub const HOST_TSO4: u64 = 1 << 11;
    pub const HOST_TSO6: u64 = 1 << 12;
    pub const HOST_ECN: u64 = 1 << 13;
    pub const STATUS: u64 = 1 << 16;
    pub const EVENT_IDX: u64 = 1 << 29;
    pub const PROTOCOL: u64 = 1 << 30;
    pub const VERSION_1: u64 = 1 << 32;
}

/// What the protocol's extensions are that we offer.
mod extension {
    pub const REPLY_ACK: u64 = 1 << 3;
    pub const BACKEND_REQ: u64 = 1 << 5;
    pub const CONFIG: u64 = 1 << 9;
    pub const INBAND_NOTIFICATIONS: u64 = 1 << 14;
}

/// A part of the guest's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Region {
    pub address: u64,
    pub size: u64,
    pub offset: u64,
}

/// What a guest asks.
#[derive(Debug)]
pub(crate) enum Request {
    GetFeatures,
    SetFeatures(u64),
    SetOwner,
    GetExtensions,
    SetExtensions,
    SetMemory(Vec<(Region, OwnedFd)>),
    SetBackchannel(OwnedFd),
    SetRingSize {
        ring: u32,
        size: u32,
    },
    SetRingAddress {
        ring: u32,
        descriptors: u64,
        used: u64,
        available: u64,
    },
    SetRingBase {
        ring: u32,
        base: u32,
    },
    SetRingEnable {
        ring: u32,
        enable: bool,
    },
    /// Where doorbells and interrupts would go; they go as messages.
    SetRingFile,
    GetConfig {
        offset: u32,
        size: u32,
    },
    Kick {
        ring: u32,
    },
}

/// A request and whether it waits for an answer.
#[derive(Debug)]
pub(crate) struct Envelope {
    pub request: Request,
    number: u32,
    need_reply: bool,
}

/// The request number and the bytes that follow it, from a header.
pub(crate) fn header(bytes: [u8; HEADER]) -> Result<(u32, u32, usize), String> {
    let word = |at: usize| u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let (number, flags, size) = (word(0), word(4), word(8) as usize);
    if flags & 3 != VERSION {
        return Err(format!("sends vhost-user messages of version {}, not 1", flags & 3));
    }
    if size > LONGEST {
        return Err(format!("sends a vhost-user message of {size} bytes"));
    }
    Ok((number, flags, size))
}

impl Envelope {
    /// Reads a message.
    ///
    /// # Errors
    /// What is wrong with it, to follow "the guest".
    pub fn parse(number: u32, flags: u32, payload: &[u8], mut files: Vec<OwnedFd>) -> Result<Envelope, String> {
        let short = || format!("sends a vhost-user request {number} of {} bytes", payload.len());
        let u32_at = |at: usize| -> Result<u32, String> {
            let bytes = payload.get(at..at + 4).ok_or_else(short)?;
            Ok(u32::from_ne_bytes(bytes.try_into().expect("four bytes")))
        };
        let u64_at = |at: usize| -> Result<u64, String> {
            let bytes = payload.get(at..at + 8).ok_or_else(short)?;
            Ok(u64::from_ne_bytes(bytes.try_into().expect("eight bytes")))
        };
        let request = match number {
            1 => Request::GetFeatures,
            2 => Request::SetFeatures(u64_at(0)?),
            3 => Request::SetOwner,
            5 => {
                let count = u32_at(0)? as usize;
                if count > 8 || count != files.len() {
                    return Err(format!("shares {count} memory regions and {} files", files.len()));
                }
                let region = |i: usize| -> Result<Region, String> {
                    let at = 8 + 32 * i;
                    // bytes 16 to 24 are the address in the guest's process, which is the same
                    Ok(Region { address: u64_at(at)?, size: u64_at(at + 8)?, offset: u64_at(at + 24)? })
                };
                let regions = (0..count).map(region).collect::<Result<Vec<_>, _>>()?;
                Request::SetMemory(regions.into_iter().zip(files).collect())
            }
            8 => Request::SetRingSize { ring: u32_at(0)?, size: u32_at(4)? },
            9 => Request::SetRingAddress {
                ring: u32_at(0)?,
                descriptors: u64_at(8)?,
                used: u64_at(16)?,
                available: u64_at(24)?,
            },
            10 => Request::SetRingBase { ring: u32_at(0)?, base: u32_at(4)? },
            12..=14 => Request::SetRingFile,
            15 => Request::GetExtensions,
            16 => Request::SetExtensions,
            18 => Request::SetRingEnable { ring: u32_at(0)?, enable: u32_at(4)? != 0 },
            21 => Request::SetBackchannel(files.pop().ok_or("gives no file for interrupts")?),
            24 => Request::GetConfig { offset: u32_at(0)?, size: u32_at(4)? },
            35 => Request::Kick { ring: u32_at(0)? },
            _ => return Err(format!("sends a vhost-user request {number}, which a network card does not know")),
        };
        Ok(Envelope { request, number, need_reply: flags & NEED_REPLY != 0 })
    }

    /// The answer with `payload`; without one, an acknowledgement if the guest waits for it.
    pub fn answer(&self, payload: Option<&[u8]>) -> Option<Vec<u8>> {
        let success = 0u64.to_ne_bytes();
        let payload = payload.or(self.need_reply.then_some(&success))?;
        Some(message(self.number, VERSION | REPLY, payload))
    }
}

fn message(number: u32, flags: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER + payload.len());
    for word in [number, flags, payload.len() as u32] {
        bytes.extend_from_slice(&word.to_ne_bytes());
    }
    bytes.extend_from_slice(payload);
    bytes
}

/// The message that interrupts the guest for `ring`; it is answered with as many bytes.
pub(crate) fn call(ring: u32) -> Vec<u8> {
    const VRING_CALL: u32 = 4;
    let mut payload = ring.to_ne_bytes().to_vec();
    payload.extend_from_slice(&0u32.to_ne_bytes());
    message(VRING_CALL, VERSION | NEED_REPLY, &payload)
}

/// The message that tells the guest to read a card's configuration again; it is answered with as many bytes as [`call`].
pub(crate) fn config_changed() -> Vec<u8> {
    const CONFIG_CHANGE: u32 = 2;
    message(CONFIG_CHANGE, VERSION | NEED_REPLY, &[])
}

/// The length of the answer to [`call`].
pub(crate) const CALL_ANSWER: usize = HEADER + 8;

/// The protocol's extensions that we know.
pub(crate) fn extensions() -> u64 {
    extension::REPLY_ACK | extension::BACKEND_REQ | extension::CONFIG | extension::INBAND_NOTIFICATIONS
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(number: u32, words: &[u32]) -> Result<Envelope, String> {
        let payload: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        Envelope::parse(number, VERSION | NEED_REPLY, &payload, Vec::new())
    }

    #[test]
    fn a_request_is_answered_with_its_number() {
        let envelope = parse(8, &[1, 256]).unwrap();
        assert!(matches!(envelope.request, Request::SetRingSize { ring: 1, size: 256 }));
        let answer = envelope.answer(None).unwrap();
        assert_eq!(answer.len(), HEADER + 8);
        assert_eq!(answer[..4], 8u32.to_ne_bytes());
        assert_eq!(answer[4..8], (VERSION | REPLY).to_ne_bytes());
        let silent = Envelope::parse(3, VERSION, &[], Vec::new()).unwrap();
        assert_eq!(silent.answer(None), None);
    }

    #[test]
    fn what_is_wrong_is_said() {
        assert_eq!(parse(8, &[1]).unwrap_err(), "sends a vhost-user request 8 of 4 bytes");
        assert_eq!(parse(5, &[1, 0]).unwrap_err(), "shares 1 memory regions and 0 files");
        assert_eq!(parse(21, &[]).unwrap_err(), "gives no file for interrupts");
        assert!(parse(99, &[]).unwrap_err().contains("does not know"));
        let mut bytes = [0; HEADER];
        bytes[4] = 2;
        assert_eq!(header(bytes).unwrap_err(), "sends vhost-user messages of version 2, not 1");
        bytes[4] = 1;
        bytes[11] = 0x7f;
        assert!(header(bytes).unwrap_err().contains("bytes"));
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_request_or_an_error(
            number in 0u32..64,
            flags in any::<u32>(),
            payload in prop::collection::vec(any::<u8>(), 0..300),
        ) {
            if let Ok(envelope) = Envelope::parse(number, flags, &payload, Vec::new()) {
                let _ = envelope.answer(None);
            }
        }
    }
}
