//! Captures: pcap files of what passes a host or a link.
//!
//! Source: the libpcap file format (pcap-savefile(5)) with nanoseconds; Ethernet without its checksum. Times are the
//! simulation's: of a frame that leaves a host, when its first bit does; otherwise when its last bit arrives.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use headway_units::Time;

/// A capture being written.
#[derive(Debug)]
pub(crate) struct Capture {
    file: BufWriter<File>,
}

const MAGIC_NANOSECONDS: u32 = 0xa1b2_3c4d;
const VERSION: u32 = 4 << 16 | 2;
const SNAPLEN: u32 = 65_535;
const ETHERNET: u32 = 1;

impl Capture {
    pub fn create(path: &Path) -> io::Result<Capture> {
        let mut capture = Capture { file: BufWriter::new(File::create(path)?) };
        capture.words(&[MAGIC_NANOSECONDS, VERSION, 0, 0, SNAPLEN, ETHERNET])?;
        Ok(capture)
    }

    fn words(&mut self, words: &[u32]) -> io::Result<()> {
        words.iter().try_for_each(|word| self.file.write_all(&word.to_le_bytes()))
    }

    pub fn write(&mut self, now: Time, frame: &[u8]) -> io::Result<()> {
        let nanos = now.picos() / 1000;
        let length = frame.len() as u32;
        self.words(&[(nanos / 1_000_000_000) as u32, (nanos % 1_000_000_000) as u32, length, length])?;
        self.file.write_all(frame)
    }

    pub fn finish(mut self) -> io::Result<()> {
        self.file.flush()
    }
}
