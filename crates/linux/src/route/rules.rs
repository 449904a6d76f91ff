//! Rules: which packets ask which table.

use super::{INET, INET6, Prefix, address, family};
use crate::netlink::codec::{Malformed, Writer, attributes, u32_at};

/// `struct fib_rule_hdr`, bytes.
const HEADER: usize = 12;

/// `FR_ACT_TO_TBL`.
const TO_TABLE: u8 = 1;
/// `FIB_RULE_INVERT`.
const INVERT: u32 = 2;

// FRA_…
const DST: u16 = 1;
const SRC: u16 = 2;
const PRIORITY: u16 = 6;
const SUPPRESS_PREFIXLEN: u16 = 14;
const TABLE: u16 = 15;
const PAD: u16 = 18;
const PROTOCOL: u16 = 21;

/// A rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// For packets from these addresses. Its family is the rule's.
    pub from: Prefix,
    /// For packets to these; as long as 0 it is all of them.
    pub to: Prefix,
    /// The table they ask.
    pub table: u32,
    /// The lowest is asked first.
    pub priority: u32,
    /// Who made it (`RTPROT_…`), so that it can be told from others. The kernel does not tell rules apart by it.
    pub protocol: u8,
    /// It has conditions or does something that is not told here. Such a rule is only listed.
    pub other: bool,
}

impl Rule {
    /// Writes what follows the header of an `RTM_NEWRULE` or `RTM_DELRULE`.
    pub fn write(&self, w: &mut Writer) {
        let table = u8::try_from(self.table).unwrap_or(0);
        w.raw(&[family(self.from.ip), self.to.length, self.from.length, 0, table, 0, 0, TO_TABLE]);
        w.raw(&u32::to_ne_bytes(0));
        if self.from.length != 0 {
            w.ip(SRC, self.from.ip);
        }
        if self.to.length != 0 {
            w.ip(DST, self.to.ip);
        }
        w.attribute(PRIORITY, &self.priority.to_ne_bytes());
        if self.table > 255 {
            w.attribute(TABLE, &self.table.to_ne_bytes());
        }
        w.attribute(PROTOCOL, &[self.protocol]);
    }

    /// Reads an `RTM_NEWRULE`. `None`: neither IPv4 nor IPv6.
    ///
    /// # Errors
    /// If bytes are missing.
    pub fn parse(payload: &[u8]) -> Result<Option<Self>, Malformed> {
        let short = Malformed::Short { what: "a fib_rule_hdr", need: HEADER, have: payload.len() };
        let (header, rest) = payload.split_at_checked(HEADER).ok_or(short)?;
        let all = match header[0] {
            INET => Prefix::ALL_IPV4,
            INET6 => Prefix::ALL_IPV6,
            _ => return Ok(None),
        };
        let flags = u32_at(header, 8).unwrap_or(0);
        let mut rule = Self {
            from: Prefix { length: header[2], ..all },
            to: Prefix { length: header[1], ..all },
            table: header[4].into(),
            priority: 0,
            protocol: 0,
            other: header[3] != 0 || header[7] != TO_TABLE || flags & INVERT != 0,
        };
        for attribute in attributes(rest) {
            let attribute = attribute?;
            match attribute.kind {
                DST => rule.to.ip = address(&attribute)?,
                SRC => rule.from.ip = address(&attribute)?,
                PRIORITY => rule.priority = attribute.u32()?,
                TABLE => rule.table = attribute.u32()?,
                PROTOCOL => rule.protocol = attribute.u8()?,
                // The kernel always tells this one; -1 is none.
                SUPPRESS_PREFIXLEN => rule.other |= attribute.u32()? != u32::MAX,
                PAD => {}
                // All others, those of kernels to come too, are conditions.
                _ => rule.other = true,
            }
        }
        Ok(Some(rule))
    }
}
