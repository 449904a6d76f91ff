//! Captures that are made up: for benchmarks and tests. Checksums are zero.

use crate::packet::Address;
pub use crate::writing::PcapWriter;

/// A TCP segment that is to be written.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    /// Who sends it, and from which port.
    pub source: (Address, u16),
    /// Who receives it.
    pub destination: (Address, u16),
    /// The sequence number.
    pub sequence: u32,
    /// The acknowledgement number.
    pub acknowledgement: u32,
    /// See [`crate::packet`].
    pub flags: u8,
    /// Bytes of data, all zero.
    pub payload: u32,
    /// IPv4's identification.
    pub id: u16,
    /// Options, whose length must be a multiple of 4 up to 40.
    pub options: &'a [u8],
}

impl Frame<'_> {
    /// IP's header and all behind it.
    ///
    /// # Panics
    /// If the options are too long.
    pub fn ip(&self, into: &mut Vec<u8>) {
        let header = 20 + self.options.len();
        assert!(header <= 60 && header.is_multiple_of(4), "options of {} bytes", self.options.len());
        let length = header as u32 + self.payload;
        if let Some((source, destination)) = self.v4() {
            into.extend([0x45, 0]);
            // What does not fit is 0, as cards that cut segments for the host have it.
            into.extend(u16::try_from(length + 20).unwrap_or(0).to_be_bytes());
            into.extend(self.id.to_be_bytes());
            into.extend([0x40, 0, 64, 6, 0, 0]);
            into.extend(source);
            into.extend(destination);
        } else {
            into.extend([0x60, 0, 0, 0]);
            into.extend(u16::try_from(length).unwrap_or(0).to_be_bytes());
            into.extend([6, 64]);
            into.extend(self.source.0.0);
            into.extend(self.destination.0.0);
        }
        into.extend(self.source.1.to_be_bytes());
        into.extend(self.destination.1.to_be_bytes());
        into.extend(self.sequence.to_be_bytes());
        into.extend(self.acknowledgement.to_be_bytes());
        into.extend([(header as u8 / 4) << 4, self.flags, 0xff, 0xff, 0, 0, 0, 0]);
        into.extend(self.options);
        into.resize(into.len() + self.payload as usize, 0);
    }

    /// The same in Ethernet, with these VLAN tags.
    pub fn ethernet(&self, vlans: &[u16], into: &mut Vec<u8>) {
        into.extend([2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2]);
        for vlan in vlans {
            into.extend([0x81, 0x00]);
            into.extend(vlan.to_be_bytes());
        }
        into.extend(if self.v4().is_some() { [0x08, 0x00] } else { [0x86, 0xdd] });
        self.ip(into);
    }

    fn v4(&self) -> Option<([u8; 4], [u8; 4])> {
        let mapped = |address: Address| std::net::Ipv6Addr::from(address.0).to_ipv4_mapped().map(|v4| v4.octets());
        mapped(self.source.0).zip(mapped(self.destination.0))
    }
}
