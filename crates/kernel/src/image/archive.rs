//! Archives of first files, in the format `newc` of cpio (Documentation/driver-api/early-userspace/buffer-format.rst
//! in the kernel). The bytes depend on names and contents alone: entries are sorted, times and owners are 0, numbers
//! of inodes follow the order.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::{OpenOptionsExt, symlink};
use std::path::Path;
use std::time::UNIX_EPOCH;

use super::error::{ImageError, io};

/// Files to be, by their paths inside: relative, without `.` and `..`.
#[derive(Debug, Default)]
pub struct Archive {
    entries: BTreeMap<String, Entry>,
}

#[derive(Debug, PartialEq, Eq)]
enum Entry {
    Folder { mode: u32 },
    File { mode: u32, content: Vec<u8> },
    Link { target: String },
    Device { mode: u32, major: u32, minor: u32 },
}

impl Archive {
    /// A folder, with `mode`. Folders above others come by themselves, with 755.
    pub fn folder(&mut self, path: &str, mode: u32) {
        self.put(path, Entry::Folder { mode });
    }

    /// A file, with `mode`.
    pub fn file(&mut self, path: &str, mode: u32, content: impl Into<Vec<u8>>) {
        self.put(path, Entry::File { mode, content: content.into() });
    }

    /// A symbolic link.
    pub fn link(&mut self, path: &str, target: &str) {
        self.put(path, Entry::Link { target: target.to_owned() });
    }

    /// A character device, readable and writable for all.
    pub fn device(&mut self, path: &str, major: u32, minor: u32) {
        self.put(path, Entry::Device { mode: 0o666, major, minor });
    }

    /// Whether there is something at `path`.
    pub fn has(&self, path: &str) -> bool {
        self.entries.contains_key(path)
    }

    /// Whether there is a folder at `path`.
    pub fn has_folder(&self, path: &str) -> bool {
        matches!(self.entries.get(path), Some(Entry::Folder { .. }))
    }

    /// All paths, sorted.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    /// Writes folders, files and links into the folder `at`, with times of 0; devices only an archive can have.
    pub fn write(&self, at: &Path) -> Result<(), ImageError> {
        fs::create_dir_all(at).map_err(io("make", at))?;
        for (path, entry) in &self.entries {
            let path = at.join(path);
            match entry {
                Entry::Folder { .. } => fs::create_dir(&path),
                Entry::File { mode, content } => write_file(&path, *mode, content),
                Entry::Link { target } => symlink(target, &path),
                Entry::Device { .. } => Ok(()),
            }
            .map_err(io("write", &path))?;
        }
        // From the deepest on, for what is made in a folder is noted in its time.
        for (path, entry) in self.entries.iter().rev() {
            if let Entry::Folder { .. } = entry {
                let path = at.join(path);
                File::open(&path).and_then(|folder| folder.set_modified(UNIX_EPOCH)).map_err(io("write", &path))?;
            }
        }
        Ok(())
    }

    /// The content of a file, if it is one.
    pub fn content(&self, path: &str) -> Option<&[u8]> {
        match self.entries.get(path) {
            Some(Entry::File { content, .. }) => Some(content),
            _ => None,
        }
    }

    fn put(&mut self, path: &str, entry: Entry) {
        let clean = |part: &str| !matches!(part, "" | "." | "..") && !part.contains('\0');
        assert!(path.split('/').all(clean), "`{path}` is no path inside an archive");
        for (at, _) in path.match_indices('/') {
            self.entries.entry(path[..at].to_owned()).or_insert(Entry::Folder { mode: 0o755 });
        }
        self.entries.insert(path.to_owned(), entry);
    }

    /// The archive.
    pub fn bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for (inode, (path, entry)) in (1..).zip(&self.entries) {
            let (kind, device, content): (u32, (u32, u32), &[u8]) = match entry {
                Entry::Folder { mode } => (0o040_000 | mode, (0, 0), b""),
                Entry::File { mode, content } => (0o100_000 | mode, (0, 0), content),
                Entry::Link { target } => (0o120_777, (0, 0), target.as_bytes()),
                Entry::Device { mode, major, minor } => (0o020_000 | mode, (*major, *minor), b""),
            };
            put_entry(&mut out, inode, kind, device, path, content);
        }
        put_entry(&mut out, 0, 0, (0, 0), "TRAILER!!!", b"");
        pad(&mut out, 512);
        out
    }
}

fn write_file(path: &Path, mode: u32, content: &[u8]) -> std::io::Result<()> {
    let mut file = File::options().write(true).create_new(true).mode(mode).open(path)?;
    file.write_all(content)?;
    file.set_modified(UNIX_EPOCH)
}

fn put_entry(out: &mut Vec<u8>, inode: u32, mode: u32, device: (u32, u32), path: &str, content: &[u8]) {
    let size = u32::try_from(content.len()).expect("the format ends at 4 GiB, and so does what fits into a guest");
    // A folder has two names at least, its own and its `.`; unpackers do not look.
    let links = if mode & 0o170_000 == 0o040_000 { 2 } else { 1 };
    let name_size = path.len() as u32 + 1;
    let mut header = String::from("070701");
    for field in [inode, mode, 0, 0, links, 0, size, 0, 0, device.0, device.1, name_size, 0] {
        let _ = write!(header, "{field:08x}");
    }
    out.extend_from_slice(header.as_bytes());
    out.extend_from_slice(path.as_bytes());
    out.push(0);
    pad(out, 4);
    out.extend_from_slice(content);
    pad(out, 4);
}

fn pad(out: &mut Vec<u8>, multiple: usize) {
    out.resize(out.len().next_multiple_of(multiple), 0);
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::process::{Command, Stdio};

    use super::*;

    fn example() -> Archive {
        let mut archive = Archive::default();
        archive.file("bin/tool", 0o755, *b"#!/bin/sh\n");
        archive.link("sbin", "bin");
        archive.folder("tmp", 0o1777);
        archive.file("etc/hosts", 0o644, *b"");
        archive
    }

    #[test]
    fn an_entry_is_as_the_format_says() {
        let mut archive = Archive::default();
        archive.file("a", 0o644, *b"hello");
        archive.device("d", 5, 1);
        let bytes = archive.bytes();
        let head = "070701\
            00000001\
            000081a4\
            00000000\
            00000000\
            00000001\
            00000000\
            00000005\
            00000000\
            00000000\
            00000000\
            00000000\
            00000002\
            00000000";
        assert_eq!(&bytes[..110], head.as_bytes());
        assert_eq!(&bytes[110..120], b"a\0hello\0\0\0");
        let device = std::str::from_utf8(&bytes[120..230]).unwrap();
        assert_eq!(&device[14..22], "000021b6", "a character device with 666");
        assert_eq!((&device[78..86], &device[86..94]), ("00000005", "00000001"));
        assert_eq!(bytes.len() % 512, 0);
    }

    #[test]
    fn the_order_of_making_does_not_matter() {
        let mut other = Archive::default();
        other.file("etc/hosts", 0o644, *b"");
        other.folder("tmp", 0o1777);
        other.link("sbin", "bin");
        other.file("bin/tool", 0o755, *b"#!/bin/sh\n");
        assert_eq!(example().bytes(), other.bytes());
    }

    #[test]
    #[should_panic(expected = "no path inside")]
    fn a_path_does_not_lead_outside() {
        Archive::default().folder("../etc", 0o755);
    }

    #[test]
    fn a_folder_gets_the_same_with_times_of_0() {
        let place = tempfile::tempdir().unwrap();
        let at = place.path().join("out");
        example().write(&at).unwrap();
        assert_eq!(fs::read(at.join("bin/tool")).unwrap(), b"#!/bin/sh\n");
        assert_eq!(fs::read_link(at.join("sbin")).unwrap().to_str(), Some("bin"));
        for name in ["bin", "bin/tool", "etc", "etc/hosts", "tmp"] {
            assert_eq!(fs::metadata(at.join(name)).unwrap().modified().unwrap(), UNIX_EPOCH, "{name}");
        }
    }

    #[test]
    fn cpio_unpacks_it() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("archive"), example().bytes()).unwrap();
        let out = place.path().join("out");
        fs::create_dir(&out).unwrap();
        let unpack = |program: &str, first: &[&str]| {
            let input = fs::File::open(place.path().join("archive")).unwrap();
            let mut command = Command::new(program);
            command.args(first).arg("-i").current_dir(&out).stdin(input).stdout(Stdio::null()).stderr(Stdio::null());
            command.status()
        };
        let Ok(status) = unpack("cpio", &[]).or_else(|_| unpack("busybox", &["cpio"])) else {
            println!("skipped: neither cpio nor busybox is here");
            return;
        };
        assert!(status.success());
        assert_eq!(fs::read(out.join("bin/tool")).unwrap(), b"#!/bin/sh\n");
        assert_eq!(fs::metadata(out.join("bin/tool")).unwrap().permissions().mode() & 0o777, 0o755);
        assert_eq!(fs::read_link(out.join("sbin")).unwrap().to_str(), Some("bin"));
        assert!(out.join("tmp").is_dir() && out.join("etc/hosts").is_file());
    }
}
