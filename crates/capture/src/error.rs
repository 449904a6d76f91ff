//! What is wrong with a capture, with the place.

use std::io;

use thiserror::Error;

/// Why a capture cannot be read, or cannot be read further.
#[derive(Debug, Error)]
pub enum CaptureError {
    /// The operating system refused.
    #[error("cannot {action} {file}: {source}")]
    Io {
        /// What was tried: `open`, `read`.
        action: &'static str,
        /// The file.
        file: String,
        /// What the system said.
        source: io::Error,
    },
    /// A file without a byte.
    #[error("{file} is empty; a capture has a header even if no packet was seen")]
    Empty {
        /// The file.
        file: String,
    },
    /// Something else than a capture.
    #[error("{file} is not a pcap or pcapng file: it looks like {looks}")]
    Foreign {
        /// The file.
        file: String,
        /// What it looks like, with its first bytes where that says more.
        looks: String,
    },
    /// A capture of a kind that is not read.
    #[error("{file}: {what}")]
    Unsupported {
        /// The file.
        file: String,
        /// What it has that is not read.
        what: String,
    },
    /// A record that cannot be right, or the end of the file within one.
    #[error("{file}: at byte {offset}{}: {what}", if *.compressed { " of the decompressed data" } else { "" })]
    Damaged {
        /// The file.
        file: String,
        /// Where the record (or block) begins that is wrong; all before it was read.
        offset: u64,
        /// Whether `offset` counts in what a compressed file holds.
        compressed: bool,
        /// What is wrong.
        what: String,
    },
}

impl CaptureError {
    /// Whether the file was a capture and some of it may have been read before this.
    pub fn is_damage(&self) -> bool {
        matches!(self, CaptureError::Damaged { .. })
    }
}
