//! SHA-256 of bytes, files and trees.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use sha2::{Digest, Sha256};

use super::about::Part;
use super::error::{ImageError, io};

fn text(digest: &[u8]) -> String {
    digest.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Of bytes.
pub fn bytes(bytes: &[u8]) -> String {
    text(&Sha256::digest(bytes))
}

/// Of several texts: none of them can be mistaken for parts of two.
pub fn texts<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let mut hash = Sha256::new();
    for text in texts {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text);
    }
    text(&hash.finalize())
}

/// Of a file, with its length.
pub fn file(path: &Path) -> Result<Part, ImageError> {
    let mut hash = Sha256::new();
    let bytes = read_into(&mut hash, path).map_err(io("read", path))?;
    Ok(Part { bytes, sha256: text(&hash.finalize()) })
}

fn read_into(hash: &mut Sha256, path: &Path) -> io::Result<u64> {
    let (mut file, mut buffer, mut total) = (File::open(path)?, vec![0; 1 << 16], 0);
    loop {
        let count = file.read(&mut buffer)?;
        if count == 0 {
            return Ok(total);
        }
        hash.update(&buffer[..count]);
        total += count as u64;
    }
}

/// Of a folder: names, kinds, whether executable, contents; without `.git`. Its length is that of all files.
pub fn tree(root: &Path, stop: &AtomicBool) -> Result<Part, ImageError> {
    let mut hash = Sha256::new();
    let bytes = folder(&mut hash, root, true, stop)?;
    Ok(Part { bytes, sha256: text(&hash.finalize()) })
}

fn folder(hash: &mut Sha256, path: &Path, top: bool, stop: &AtomicBool) -> Result<u64, ImageError> {
    let mut total = 0;
    if stop.load(Ordering::Relaxed) {
        return Err(ImageError::Interrupted);
    }
    let listed = fs::read_dir(path).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let mut entries = listed.map_err(io("read", path))?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        if top && entry.file_name() == ".git" {
            continue;
        }
        let path = entry.path();
        let about = fs::symlink_metadata(&path).map_err(io("read", &path))?;
        let name = entry.file_name();
        hash.update((name.len() as u64).to_le_bytes());
        hash.update(name.as_encoded_bytes());
        if about.is_dir() {
            hash.update(b"d");
            total += folder(hash, &path, false, stop)?;
            hash.update(b"end");
        } else if about.is_symlink() {
            let target = fs::read_link(&path).map_err(io("read", &path))?;
            hash.update(b"l");
            hash.update((target.as_os_str().len() as u64).to_le_bytes());
            hash.update(target.as_os_str().as_encoded_bytes());
        } else if about.is_file() {
            hash.update(if about.permissions().mode() & 0o111 == 0 { b"f" } else { b"x" });
            hash.update(about.len().to_le_bytes());
            total += read_into(hash, &path).map_err(io("read", &path))?;
        }
    }
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_the_standard() {
        // FIPS 180-2, appendix B.1.
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(bytes(b"abc"), abc);
        let file_abc = tempfile::NamedTempFile::new().unwrap();
        fs::write(file_abc.path(), "abc").unwrap();
        assert_eq!(file(file_abc.path()).unwrap(), Part { bytes: 3, sha256: abc.to_owned() });
    }

    #[test]
    fn texts_do_not_run_into_each_other() {
        assert_ne!(texts(["ab", "c"]), texts(["a", "bc"]));
    }

    #[test]
    fn a_tree_is_what_is_in_it() {
        let never = AtomicBool::new(false);
        let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for root in [&a, &b] {
            fs::create_dir(root.path().join("d")).unwrap();
            fs::write(root.path().join("d/f"), "x").unwrap();
        }
        fs::create_dir(b.path().join(".git")).unwrap();
        let before = tree(a.path(), &never).unwrap();
        assert_eq!(before, tree(b.path(), &never).unwrap());
        fs::write(b.path().join("d/f"), "y").unwrap();
        assert_ne!(before, tree(b.path(), &never).unwrap());
        fs::write(b.path().join("d/f"), "x").unwrap();
        fs::write(b.path().join("f"), "").unwrap();
        assert_ne!(before, tree(b.path(), &never).unwrap());
    }
}
