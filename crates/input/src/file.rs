//! Regular files of bounded size.

use std::fs::{self, File, FileType, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

use headway_units::Bytes;
use thiserror::Error;

/// Why a file is not read.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The operating system refused.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// It is no regular file, but this.
    #[error("it is {0}, not a file")]
    Kind(&'static str),
    /// It is larger than allowed.
    #[error("it has more than {}", Bytes::new(*most))]
    Size {
        /// So many bytes are allowed.
        most: u64,
    },
    /// Its size is 0 and yet it has content: files below `/proc` are so, and some of them never end.
    #[error("it is made by the system while it is read; copy it to a file")]
    Made,
    /// It is not UTF-8.
    #[error("line {line} is not UTF-8 text")]
    Text {
        /// The line, counted from 1.
        line: usize,
    },
}

impl ReadError {
    /// Whether there is no such file.
    pub fn is_missing(&self) -> bool {
        matches!(self, ReadError::Io(error) if error.kind() == io::ErrorKind::NotFound)
    }
}

impl From<ReadError> for io::Error {
    fn from(error: ReadError) -> io::Error {
        match error {
            ReadError::Io(error) => error,
            ReadError::Text { .. } => io::Error::new(io::ErrorKind::InvalidData, error),
            _ => io::Error::new(io::ErrorKind::InvalidInput, error),
        }
    }
}

/// The kind of a file that is not regular, with its article.
fn kind(kind: FileType) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        if kind.is_fifo() {
            return "a pipe";
        } else if kind.is_socket() {
            return "a socket";
        } else if kind.is_char_device() || kind.is_block_device() {
            return "a device";
        }
    }
    if kind.is_dir() { "a folder" } else { "of an unknown kind" }
}

fn regular(metadata: &fs::Metadata) -> Result<(), ReadError> {
    if metadata.is_file() { Ok(()) } else { Err(ReadError::Kind(kind(metadata.file_type()))) }
}

/// Opens the regular file at `path`, of any size, for reading.
///
/// # Errors
/// If it cannot be opened or is not a regular file.
pub fn open(path: &Path) -> Result<File, ReadError> {
    // Before it is opened, because opening alone makes some devices act; and once more after, because the name may
    // lead elsewhere by then.
    regular(&fs::metadata(path)?)?;
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY);
    }
    let file = options.open(path)?;
    regular(&file.metadata()?)?;
    Ok(file)
}

/// Reads the regular file at `path`, of at most `most` bytes.
///
/// # Errors
/// If it cannot be read, is not a regular file, or is larger; nothing is read of it then.
pub fn read(path: &Path, most: u64) -> Result<Vec<u8>, ReadError> {
    let file = open(path)?;
    let size = file.metadata()?.len();
    if size > most {
        return Err(ReadError::Size { most });
    }
    if size > 0 {
        return read_stream(file, most);
    }
    // One byte, without waiting for it, tells an empty file from one that the system makes.
    match file.take(1).read(&mut [0]) {
        Ok(0) => Ok(Vec::new()),
        Ok(_) => Err(ReadError::Made),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(ReadError::Made),
        Err(error) => Err(error.into()),
    }
}

/// As [`read`], as text.
///
/// # Errors
/// As there, or if it is not UTF-8.
pub fn read_text(path: &Path, most: u64) -> Result<String, ReadError> {
    text(read(path, most)?)
}

/// Reads the file at `path` as [`read`] does. The names by which a shell gives a stream that it has opened itself
/// (`/dev/stdin`, `/dev/fd/63` for `<(command)`) may also be pipes; they are waited for, and read as [`read_stream`] does.
///
/// # Errors
/// As there.
pub fn read_given(path: &Path, most: u64) -> Result<Vec<u8>, ReadError> {
    if !is_stream(path) {
        return read(path, most);
    }
    let metadata = fs::metadata(path)?;
    if metadata.is_dir() {
        return Err(ReadError::Kind("a folder"));
    }
    read_stream(File::open(path)?, most)
}

fn is_stream(path: &Path) -> bool {
    let Some(path) = path.to_str() else { return false };
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let of_process = ["/dev/fd/", "/proc/self/fd/"].iter().find_map(|folder| path.strip_prefix(folder));
    path == "/dev/stdin" || of_process.is_some_and(number)
}

/// Reads `stream` to its end, which must come after at most `most` bytes.
///
/// # Errors
/// If it cannot be read, or goes on.
pub fn read_stream(stream: impl Read, most: u64) -> Result<Vec<u8>, ReadError> {
    let mut bytes = Vec::new();
    stream.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most { Err(ReadError::Size { most }) } else { Ok(bytes) }
}

/// `bytes` as text.
///
/// # Errors
/// If they are not UTF-8.
pub fn text(bytes: Vec<u8>) -> Result<String, ReadError> {
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        ReadError::Text { line: error.as_bytes()[..valid].split(|&byte| byte == b'\n').count() }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder_with(name: &str, content: &[u8]) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        fs::write(&path, content).unwrap();
        (folder, path)
    }

    #[test]
    fn a_file_is_read_up_to_its_limit() {
        let (_folder, path) = folder_with("a", b"1234");
        assert_eq!(read(&path, 4).unwrap(), b"1234");
        assert_eq!(read(&path, 3).unwrap_err().to_string(), "it has more than 3B");
        let (_folder, empty) = folder_with("b", b"");
        assert_eq!(read(&empty, 0).unwrap(), b"");
    }

    /// A file of 1 TB of nothing takes no room on the disk; reading it would take all memory.
    #[test]
    fn a_file_over_the_limit_is_not_read() {
        let (_folder, path) = folder_with("a", b"");
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        if file.set_len(1 << 40).is_ok() {
            assert!(matches!(read(&path, 1 << 20), Err(ReadError::Size { most: 1_048_576 })));
        }
    }

    #[test]
    fn the_line_that_is_no_text_is_named() {
        assert!(matches!(text(b"a\nb\n\xff\n".to_vec()), Err(ReadError::Text { line: 3 })));
        assert_eq!(text("ä".into()).unwrap(), "ä");
    }

    #[test]
    fn streams_are_read_up_to_their_limit() {
        assert_eq!(read_stream(&b"12"[..], 2).unwrap(), b"12");
        assert!(matches!(read_stream(io::repeat(1), 1000), Err(ReadError::Size { most: 1000 })));
    }

    #[test]
    fn missing_files_are_told_from_others() {
        let folder = tempfile::tempdir().unwrap();
        assert!(read(&folder.path().join("none"), 9).unwrap_err().is_missing());
        let error = read(folder.path(), 9).unwrap_err();
        assert!(!error.is_missing());
        assert_eq!(error.to_string(), "it is a folder, not a file");
        assert_eq!(io::Error::from(error).to_string(), "it is a folder, not a file");
    }

    /// None of these would ever end: nobody writes the pipe, and the device has no end.
    #[test]
    #[cfg(unix)]
    fn pipes_sockets_and_devices_are_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::from_raw_mode(0o600)).unwrap();
        assert_eq!(read(&pipe, 9).unwrap_err().to_string(), "it is a pipe, not a file");
        assert!(open(&pipe).is_err());
        let socket = folder.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        assert_eq!(read(&socket, 9).unwrap_err().to_string(), "it is a socket, not a file");
        assert_eq!(read(Path::new("/dev/zero"), 9).unwrap_err().to_string(), "it is a device, not a file");
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
        assert_eq!(read_given(&link, 9).unwrap_err().to_string(), "it is a device, not a file");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn files_that_the_system_makes_are_refused() {
        assert!(matches!(read(Path::new("/proc/self/status"), 1 << 20), Err(ReadError::Made)));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_pipe_that_the_shell_gives_is_read() {
        use std::io::Write as _;
        use std::os::fd::AsRawFd as _;
        let (reader, mut writer) = io::pipe().unwrap();
        writer.write_all(b"abc").unwrap();
        drop(writer);
        let path = format!("/dev/fd/{}", reader.as_raw_fd());
        assert_eq!(read_given(Path::new(&path), 3).unwrap(), b"abc");
        for other in ["/dev/fd/", "/dev/fd/../zero", "/dev/fd/3/x", "/dev/zero"] {
            assert!(!is_stream(Path::new(other)), "{other}");
        }
    }
}
