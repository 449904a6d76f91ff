//! Netlink messages and attributes in bytes, read without copying and written into one buffer.
//!
//! Integers are in host byte order, as the kernel's are; addresses and the ports of events are in network byte order,
//! which is for the caller. Sources: `include/uapi/linux/netlink.h`, `Documentation/userspace-api/netlink/intro.rst`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Bytes that are not what they should be. Nothing that the kernel sends is; other senders are not listened to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// A message's header says a length that is impossible here.
    #[error("a netlink message says it has {said} bytes, where {have} are left")]
    Message {
        /// The length it says.
        said: usize,
        /// What is left, header included.
        have: usize,
    },
    /// An attribute's header says a length that is impossible here.
    #[error("a netlink attribute says it has {said} bytes, where {have} are left")]
    Attribute {
        /// The length it says.
        said: usize,
        /// What is left, header included.
        have: usize,
    },
    /// An attribute's value has another length than its type.
    #[error("netlink attribute {kind} has {have} bytes; {need} expected")]
    Value {
        /// Which attribute.
        kind: u16,
        /// What it should have.
        need: usize,
        /// What it has.
        have: usize,
    },
    /// A fixed part is cut off.
    #[error("{what} has {have} bytes; at least {need} expected")]
    Short {
        /// Of what.
        what: &'static str,
        /// What it should have.
        need: usize,
        /// What it has.
        have: usize,
    },
    /// Something that the message is of no use without is not there.
    #[error("{message} without {attribute}")]
    Missing {
        /// The message.
        message: &'static str,
        /// What is missing.
        attribute: &'static str,
    },
    /// An address family other than IPv4 and IPv6.
    #[error("{what} of address family {family}; 2 (IPv4) or 10 (IPv6) expected")]
    Family {
        /// Of what.
        what: &'static str,
        /// The family.
        family: u16,
    },
    /// What another decoder found.
    #[error("{what}: {reason}")]
    Other {
        /// Of what.
        what: &'static str,
        /// What it says.
        reason: String,
    },
}

/// `NLMSG_ERROR`: an error, or an acknowledgement (error 0).
pub const ERROR: u16 = 2;
/// `NLMSG_DONE`: the end of a dump.
pub const DONE: u16 = 3;
/// `NLM_F_REQUEST`.
pub const REQUEST: u16 = 0x1;
/// `NLM_F_ACK`.
pub const ACK: u16 = 0x4;
/// `NLM_F_DUMP_INTR`: what is dumped has changed meanwhile.
pub const INTERRUPTED: u16 = 0x10;
/// `NLM_F_DUMP`.
pub const DUMP: u16 = 0x300;
/// `NLM_F_CAPPED`: an error message without the request's payload.
const CAPPED: u16 = 0x100;
/// `NLM_F_ACK_TLVS`: an error message with attributes.
const ACK_TLVS: u16 = 0x200;
/// `struct nlmsghdr`, bytes.
pub const HEADER: usize = 16;
/// `NLA_F_NESTED`.
const NESTED: u16 = 0x8000;
/// What is left of an attribute's type without its flags.
const KIND: u16 = 0x3fff;

/// The first `N` bytes at `at`, if they are there.
fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

/// A `u8` at a place.
pub fn u8_at(bytes: &[u8], at: usize) -> Option<u8> {
    bytes.get(at).copied()
}

/// A `u16` in host byte order at a place.
pub fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    array(bytes, at).map(u16::from_ne_bytes)
}

/// A `u32` in host byte order at a place.
pub fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(u32::from_ne_bytes)
}

/// A `u64` in host byte order at a place.
pub fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    array(bytes, at).map(u64::from_ne_bytes)
}

/// A message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message<'a> {
    /// `nlmsg_type`.
    pub kind: u16,
    /// `nlmsg_flags`.
    pub flags: u16,
    /// `nlmsg_seq`.
    pub sequence: u32,
    /// What follows the header.
    pub payload: &'a [u8],
}

impl Message<'_> {
    /// What an `NLMSG_ERROR` or `NLMSG_DONE` says: the errno (0: fine) and the kernel's words (extended acknowledgement).
    ///
    /// # Errors
    /// If bytes are missing.
    pub fn outcome(&self) -> Result<(u16, Option<String>), Malformed> {
        let error = u32_at(self.payload, 0).map(u32::cast_signed);
        // A DONE of old kernels may have no number.
        let error = match error {
            Some(error) => error,
            None if self.kind == DONE => 0,
            None => return Err(Malformed::Short { what: "NLMSG_ERROR", need: 4, have: self.payload.len() }),
        };
        let errno = u16::try_from(error.unsigned_abs()).unwrap_or(u16::MAX);
        let mut words = None;
        if self.flags & ACK_TLVS != 0 {
            let header = if self.kind == DONE {
                4
            } else if self.flags & CAPPED != 0 {
                4 + HEADER
            } else {
                4 + align(u32_at(self.payload, 4).unwrap_or(0) as usize)
            };
            for attribute in attributes(self.payload.get(header..).unwrap_or_default()) {
                let attribute = attribute?;
                if attribute.kind == 1 {
                    let text = attribute.value.strip_suffix(&[0]).unwrap_or(attribute.value);
                    words = Some(String::from_utf8_lossy(text).into_owned());
                }
            }
        }
        Ok((errno, words))
    }
}

/// The messages in what one read of a socket gave. Ends after the first error.
pub fn messages(bytes: &[u8]) -> Messages<'_> {
    Messages { rest: bytes }
}

/// Iterator over messages.
#[derive(Debug, Clone)]
pub struct Messages<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Messages<'a> {
    type Item = Result<Message<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        let bytes = std::mem::take(&mut self.rest);
        if bytes.is_empty() {
            return None;
        }
        let said = u32_at(bytes, 0).unwrap_or(0) as usize;
        if said < HEADER || said > bytes.len() {
            return Some(Err(Malformed::Message { said, have: bytes.len() }));
        }
        self.rest = bytes.get(align(said)..).unwrap_or_default();
        Some(Ok(Message {
            kind: u16_at(bytes, 4)?,
            flags: u16_at(bytes, 6)?,
            sequence: u32_at(bytes, 8)?,
            payload: &bytes[HEADER..said],
        }))
    }
}

/// An attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attribute<'a> {
    /// `nla_type` without its flags.
    pub kind: u16,
    /// What follows the header.
    pub value: &'a [u8],
}

#[expect(clippy::missing_errors_doc, reason = "all fail alike: the value has not the type's length")]
impl<'a> Attribute<'a> {
    fn exactly<const N: usize>(&self) -> Result<[u8; N], Malformed> {
        self.value.try_into().map_err(|_| Malformed::Value { kind: self.kind, need: N, have: self.value.len() })
    }

    /// As a `u8`.
    pub fn u8(&self) -> Result<u8, Malformed> {
        self.exactly().map(u8::from_ne_bytes)
    }

    /// As a `u16` in host byte order.
    pub fn u16(&self) -> Result<u16, Malformed> {
        self.exactly().map(u16::from_ne_bytes)
    }

    /// As a `u16` in network byte order.
    pub fn be16(&self) -> Result<u16, Malformed> {
        self.exactly().map(u16::from_be_bytes)
    }

    /// As a `u32` in host byte order.
    pub fn u32(&self) -> Result<u32, Malformed> {
        self.exactly().map(u32::from_ne_bytes)
    }

    /// As a `u64` in host byte order.
    pub fn u64(&self) -> Result<u64, Malformed> {
        self.exactly().map(u64::from_ne_bytes)
    }

    /// As an IPv4 address.
    pub fn ipv4(&self) -> Result<IpAddr, Malformed> {
        self.exactly::<4>().map(|b| IpAddr::V4(Ipv4Addr::from(b)))
    }

    /// As an IPv6 address; an IPv4 address mapped into one becomes that.
    pub fn ipv6(&self) -> Result<IpAddr, Malformed> {
        self.exactly::<16>().map(|b| Ipv6Addr::from(b).to_canonical())
    }

    /// The attributes inside.
    pub fn nested(&self) -> Attributes<'a> {
        attributes(self.value)
    }
}

/// The attributes in a payload behind its fixed part. Ends after the first error.
pub fn attributes(bytes: &[u8]) -> Attributes<'_> {
    Attributes { rest: bytes }
}

/// Iterator over attributes.
#[derive(Debug, Clone)]
pub struct Attributes<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Attributes<'a> {
    type Item = Result<Attribute<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        let bytes = std::mem::take(&mut self.rest);
        if bytes.is_empty() {
            return None;
        }
        let said = u16_at(bytes, 0).map_or(0, usize::from);
        if said < 4 || said > bytes.len() {
            return Some(Err(Malformed::Attribute { said, have: bytes.len() }));
        }
        self.rest = bytes.get(align(said)..).unwrap_or_default();
        Some(Ok(Attribute { kind: u16_at(bytes, 2)? & KIND, value: &bytes[4..said] }))
    }
}

/// Netlink aligns everything to four bytes.
fn align(length: usize) -> usize {
    length.saturating_add(3) & !3
}

/// Messages being written, one behind the other.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    /// What was written.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Forget it; the memory is kept.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    /// Another message; `body` writes what follows its header.
    pub fn message(&mut self, kind: u16, flags: u16, sequence: u32, body: impl FnOnce(&mut Self)) {
        let start = self.bytes.len();
        self.raw(&[0; 4]);
        self.raw(&kind.to_ne_bytes());
        self.raw(&flags.to_ne_bytes());
        self.raw(&sequence.to_ne_bytes());
        self.raw(&[0; 4]);
        body(self);
        let length = (self.bytes.len() - start) as u32;
        self.bytes[start..start + 4].copy_from_slice(&length.to_ne_bytes());
    }

    /// Bytes as they are, such as a message's fixed part, whose length must be a multiple of four.
    pub fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// An attribute.
    ///
    /// # Panics
    /// Beyond 64 kB, which nothing of ours comes near.
    pub fn attribute(&mut self, kind: u16, value: &[u8]) {
        self.header(kind, value.len());
        self.raw(value);
        self.bytes.resize(align(self.bytes.len()), 0);
    }

    /// An address as an attribute.
    pub fn ip(&mut self, kind: u16, ip: IpAddr) {
        match ip {
            IpAddr::V4(ip) => self.attribute(kind, &ip.octets()),
            IpAddr::V6(ip) => self.attribute(kind, &ip.octets()),
        }
    }

    /// Attributes in an attribute.
    ///
    /// # Panics
    /// Beyond 64 kB, which nothing of ours comes near.
    pub fn nest(&mut self, kind: u16, body: impl FnOnce(&mut Self)) {
        let start = self.bytes.len();
        self.header(kind | NESTED, 0);
        body(self);
        let length = u16::try_from(self.bytes.len() - start).expect("our own attributes are small");
        self.bytes[start..start + 2].copy_from_slice(&length.to_ne_bytes());
    }

    fn header(&mut self, kind: u16, value: usize) {
        let length = u16::try_from(4 + value).expect("our own attributes are small");
        self.raw(&length.to_ne_bytes());
        self.raw(&kind.to_ne_bytes());
    }
}
