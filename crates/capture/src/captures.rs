//! Several files as one capture.

use crate::error::CaptureError;
use crate::reader::{Packet, Reader};

/// Packets of one or more files in order of time: rotated files of one place, or files of a host's several interfaces.
///
/// Each file is opened when the time of its first packet has come, so a thousand rotated files do not have to be open
/// together. Within a file packets stay in its order.
pub struct Captures {
    /// Files that are not begun, by the time of their first packet, the last first.
    waiting: Vec<(u64, String)>,
    /// Files under way, each at a packet.
    active: Vec<Reader>,
    current: Option<usize>,
    errors: Vec<CaptureError>,
    bytes: u64,
    dropped: u64,
}

impl Captures {
    /// Opens all files (`-`: the standard input, which must be the only one) and looks at their first packets.
    ///
    /// # Errors
    /// [`CaptureError`] if one cannot be opened or is no capture. One that is damaged from its first packet on is an
    /// error of [`Captures::errors`].
    pub fn open(paths: &[String]) -> Result<Captures, CaptureError> {
        let mut captures = Captures {
            waiting: Vec::new(),
            active: Vec::new(),
            current: None,
            errors: Vec::new(),
            bytes: 0,
            dropped: 0,
        };
        for path in paths {
            let mut reader = Reader::open(path)?;
            match reader.advance() {
                Ok(true) => {}
                Ok(false) => {
                    captures.close(&reader);
                    continue;
                }
                Err(error) if error.is_damage() => {
                    captures.close(&reader);
                    captures.errors.push(error);
                    continue;
                }
                Err(error) => return Err(error),
            }
            // A pipe cannot be opened again.
            let again = std::fs::metadata(path).is_ok_and(|about| about.is_file());
            if paths.len() == 1 || !again {
                captures.active.push(reader);
            } else if let Some(packet) = reader.packet() {
                captures.waiting.push((packet.time, path.clone()));
            }
        }
        // The last first, and of equal ones the last named.
        captures.waiting.sort_by_key(|&(time, _)| time);
        captures.waiting.reverse();
        Ok(captures)
    }

    /// One reader.
    pub fn one(reader: Reader) -> Captures {
        let mut captures = Captures {
            waiting: Vec::new(),
            active: Vec::new(),
            current: None,
            errors: Vec::new(),
            bytes: 0,
            dropped: 0,
        };
        captures.begin(reader);
        captures
    }

    fn close(&mut self, reader: &Reader) {
        self.bytes += reader.position();
        self.dropped += reader.dropped();
    }

    /// Puts a reader that is before its first packet among those under way.
    fn begin(&mut self, mut reader: Reader) {
        match reader.advance() {
            Ok(true) => self.active.push(reader),
            Ok(false) => self.close(&reader),
            Err(error) => {
                self.close(&reader);
                self.errors.push(error);
            }
        }
    }

    /// The next packet; `None` at the end of all files.
    #[inline]
    pub fn next_packet(&mut self) -> Option<Packet<'_>> {
        if let Some(current) = self.current {
            let reader = &mut self.active[current];
            match reader.advance() {
                Ok(true) => {}
                ended => {
                    let reader = self.active.swap_remove(current);
                    self.close(&reader);
                    self.errors.extend(ended.err());
                }
            }
        }
        if self.active.len() == 1 && self.waiting.is_empty() {
            self.current = Some(0);
        } else {
            self.choose();
        }
        self.active.get(self.current?)?.packet()
    }

    /// Opens the files whose time has come, and goes to the one with the earliest packet.
    fn choose(&mut self) {
        loop {
            let times = self.active.iter().map(|reader| reader.packet().map_or(u64::MAX, |packet| packet.time));
            let earliest = times.enumerate().min_by_key(|&(_, time)| time);
            self.current = earliest.map(|(place, _)| place);
            let limit = earliest.map_or(u64::MAX, |(_, time)| time);
            match self.waiting.last() {
                Some(&(time, _)) if time <= limit => {}
                _ => return,
            }
            let Some((_, path)) = self.waiting.pop() else { return };
            match Reader::open(&path) {
                Ok(reader) => self.begin(reader),
                Err(error) => self.errors.push(error),
            }
        }
    }

    /// What went wrong so far: a file ends there for us, others go on.
    pub fn errors(&self) -> &[CaptureError] {
        &self.errors
    }

    /// What went wrong, in the end.
    pub fn into_errors(self) -> Vec<CaptureError> {
        self.errors
    }

    /// Bytes of the files (decompressed) that were read.
    pub fn bytes(&self) -> u64 {
        self.bytes + self.active.iter().map(Reader::position).sum::<u64>()
    }

    /// Packets that the capturing machines say they dropped; known when their files have ended, and only of pcapng.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }
}
