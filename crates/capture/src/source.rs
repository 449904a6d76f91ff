//! Bytes of a capture, decompressed where they have to be, in one large buffer that is used again and again.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Chain, Cursor, Read};

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use crate::error::CaptureError;

/// What is read at a time: of the order of a core's second cache, so that headers are still there when they are looked
/// at.
const BUFFER: usize = 256 << 10;

/// As many first bytes as any magic number needs.
const HEAD: usize = 16;

/// Compressed bytes read at a time.
const COMPRESSED: usize = 64 << 10;

const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// The input with its first bytes, which were looked at.
type Whole = Chain<Cursor<Vec<u8>>, Box<dyn Read + Send>>;

/// A stream of bytes from a file or a pipe.
enum Source {
    Plain(Whole),
    Gzip(Box<MultiGzDecoder<BufReader<Whole>>>),
    Zstd(Box<Zstd<Whole>>),
}

impl Source {
    /// Looks at the first bytes of `input`.
    fn new(mut input: Box<dyn Read + Send>) -> io::Result<Source> {
        let mut head = Vec::with_capacity(HEAD);
        (&mut input).take(HEAD as u64).read_to_end(&mut head)?;
        let (gzip, zstd) = (head.starts_with(GZIP), is_zstd(&head));
        let whole = Cursor::new(head).chain(input);
        Ok(if gzip {
            Source::Gzip(Box::new(MultiGzDecoder::new(BufReader::with_capacity(COMPRESSED, whole))))
        } else if zstd {
            Source::Zstd(Box::new(Zstd::new(whole)))
        } else {
            Source::Plain(whole)
        })
    }
}

impl Read for Source {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Source::Plain(source) => source.read(into),
            Source::Gzip(source) => source.read(into),
            Source::Zstd(source) => source.read(into),
        }
    }
}

/// A frame, or a skippable frame (RFC 8878 §3.1.2), as some tools write before the first.
fn is_zstd(head: &[u8]) -> bool {
    head.starts_with(ZSTD) || (head.len() >= 4 && head[0] & 0xf0 == 0x50 && head[1..4] == [0x2a, 0x4d, 0x18])
}

/// The frames of a zstd file, one after the other (RFC 8878 §3).
struct Zstd<R: Read> {
    source: BufReader<R>,
    decoder: FrameDecoder,
    in_frame: bool,
}

impl<R: Read> Zstd<R> {
    fn new(source: R) -> Zstd<R> {
        // The decoder's own bound on windows (128 MiB) stays: a header cannot ask for more memory.
        Zstd { source: BufReader::with_capacity(COMPRESSED, source), decoder: FrameDecoder::new(), in_frame: false }
    }

    /// Begins the next frame; `false` at the end.
    fn begin(&mut self) -> io::Result<bool> {
        loop {
            if self.source.fill_buf()?.is_empty() {
                return Ok(false);
            }
            match self.decoder.reset(&mut self.source) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                    let length = u64::from(length);
                    if io::copy(&mut (&mut self.source).take(length), &mut io::sink())? < length {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
                Err(error) => return Err(io::Error::new(io::ErrorKind::InvalidData, error)),
            }
        }
    }

    fn end(&mut self) -> io::Result<()> {
        self.in_frame = false;
        match (self.decoder.get_checksum_from_data(), self.decoder.get_calculated_checksum()) {
            (Some(said), Some(found)) if said != found => {
                Err(io::Error::new(io::ErrorKind::InvalidData, "the checksum of a zstd frame does not fit its data"))
            }
            _ => Ok(()),
        }
    }
}

impl<R: Read> Read for Zstd<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.in_frame {
                if !self.begin()? {
                    return Ok(0);
                }
                self.in_frame = true;
            }
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                self.decoder
                    .decode_blocks(&mut self.source, BlockDecodingStrategy::UptoBlocks(1))
                    .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
            }
            let read = self.decoder.read(into)?;
            if read > 0 || into.is_empty() {
                return Ok(read);
            }
            self.end()?;
        }
    }
}

/// The bytes of one capture: a window that moves on.
pub(crate) struct Buffer {
    name: String,
    source: Source,
    data: Vec<u8>,
    /// What is in the window: `data[start..end]`.
    start: usize,
    end: usize,
    /// The place of `data[start]` in the (decompressed) file.
    offset: u64,
}

impl Buffer {
    /// Opens `path`, or the standard input for `-`.
    pub fn open(path: &str) -> Result<Buffer, CaptureError> {
        let io = |action| move |source| CaptureError::Io { action, file: path.to_owned(), source };
        if path == "-" {
            return Buffer::new("the standard input", Box::new(io::stdin()));
        }
        let file = File::open(path).map_err(io("open"))?;
        if file.metadata().map_err(io("open"))?.is_dir() {
            return Err(io("read")(io::ErrorKind::IsADirectory.into()));
        }
        Buffer::new(path, Box::new(file))
    }

    /// Reads from `input`, which messages call `name`.
    pub fn new(name: &str, input: Box<dyn Read + Send>) -> Result<Buffer, CaptureError> {
        let source =
            Source::new(input).map_err(|source| CaptureError::Io { action: "read", file: name.to_owned(), source })?;
        Ok(Buffer { name: name.to_owned(), source, data: vec![0; BUFFER], start: 0, end: 0, offset: 0 })
    }

    /// What messages call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Reads until the window has `wanted` bytes; `false` if the file ends before.
    pub fn ensure(&mut self, wanted: usize) -> Result<bool, CaptureError> {
        if self.end - self.start >= wanted {
            return Ok(true);
        }
        self.fill(wanted)
    }

    #[cold]
    fn fill(&mut self, wanted: usize) -> Result<bool, CaptureError> {
        self.data.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if wanted > self.data.len() {
            self.data.resize(wanted, 0);
        }
        while self.end < wanted {
            match self.source.read(&mut self.data[self.end..]) {
                Ok(0) => return Ok(false),
                Ok(read) => self.end += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.failed(error)),
            }
        }
        Ok(true)
    }

    /// What reading `source` failed with: a damaged compression is damage, all else the system's refusal.
    fn failed(&self, error: io::Error) -> CaptureError {
        let kind = match self.source {
            Source::Plain(_) => {
                return CaptureError::Io { action: "read", file: self.name.clone(), source: error };
            }
            Source::Gzip(_) => "gzip",
            Source::Zstd(_) => "zstd",
        };
        // A system's error has its number; a decoder's has none.
        if error.raw_os_error().is_some() {
            return CaptureError::Io { action: "read", file: self.name.clone(), source: error };
        }
        let what = if error.kind() == io::ErrorKind::UnexpectedEof {
            format!("the {kind} data ends in the middle")
        } else {
            format!("the {kind} data is damaged ({error})")
        };
        CaptureError::Damaged {
            file: self.name.clone(),
            offset: self.offset + self.window().len() as u64,
            compressed: true,
            what,
        }
    }

    /// What was read and not consumed.
    pub fn window(&self) -> &[u8] {
        &self.data[self.start..self.end]
    }

    /// Moves the window `bytes` on, which must be in it.
    pub fn consume(&mut self, bytes: usize) {
        debug_assert!(self.start + bytes <= self.end, "no more than there is");
        self.start += bytes;
        self.offset += bytes as u64;
    }

    /// The place of the window in the file.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// That what is at the window's beginning is wrong.
    pub fn damaged(&self, what: impl Into<String>) -> CaptureError {
        let compressed = !matches!(self.source, Source::Plain(_));
        CaptureError::Damaged { file: self.name.clone(), offset: self.offset, compressed, what: what.into() }
    }
}
