//! The folder with the images. An image appears in it whole, by a rename, or not at all.
//!
//! While an image is made, a lock on `.lock-NAME` keeps others from making it, and its files are in
//! `.build-NAME-PID`. Locks end with the processes that hold them, so a folder whose name's lock is free was left by
//! one that died.

use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::error::{ImageError, io};

/// The right to make the image of one name. Dropping it gives it up.
#[derive(Debug)]
pub struct Making {
    kernels: PathBuf,
    name: String,
    _lock: File,
}

impl Making {
    /// Takes the lock and clears away what dead processes left, of this name and of others.
    pub fn begin(kernels: &Path, name: &str) -> Result<Making, ImageError> {
        check_name(name)?;
        fs::create_dir_all(kernels).map_err(io("make", kernels))?;
        let Some(lock) = lock(kernels, name)? else { return Err(ImageError::Busy { name: name.to_owned() }) };
        let making = Making { kernels: kernels.to_owned(), name: name.to_owned(), _lock: lock };
        for (path, of) in left(kernels)? {
            let other = if of == name { None } else { lock_for_clearing(kernels, &of)? };
            if of == name || other.is_some() {
                fs::remove_dir_all(&path).map_err(io("remove", &path))?;
            }
        }
        Ok(making)
    }

    /// A new folder for the image, which is removed unless it becomes the image.
    pub fn stage(&self) -> Result<Stage<'_>, ImageError> {
        let path = self.kernels.join(format!(".build-{}-{}", self.name, std::process::id()));
        fs::create_dir(&path).map_err(io("make", &path))?;
        Ok(Stage { making: self, path })
    }

    /// Where the image will be.
    pub fn folder(&self) -> PathBuf {
        self.kernels.join(&self.name)
    }

    /// Where the log of its making goes.
    pub fn log(&self) -> PathBuf {
        self.kernels.join(format!("{}.log", self.name))
    }
}

/// A folder that becomes an image.
#[derive(Debug)]
pub struct Stage<'a> {
    making: &'a Making,
    /// Where it is.
    pub path: PathBuf,
}

impl Stage<'_> {
    /// Puts what is in the folder `within` of it in the place of the image, replacing the one that is there.
    pub fn finish(self, within: &str) -> Result<PathBuf, ImageError> {
        let (from, to) = (self.path.join(within), self.making.folder());
        match fs::symlink_metadata(&to) {
            Err(error) if error.kind() == ErrorKind::NotFound => fs::rename(&from, &to).map_err(io("make", &to))?,
            Err(error) => return Err(io("read", &to)(error)),
            Ok(_) => {
                // At no moment there is none; the old one is then in the stage and goes with it.
                if renameat_with(CWD, &from, CWD, &to, RenameFlags::EXCHANGE).is_err() {
                    // File systems that cannot exchange: for a moment there is none.
                    let old = self.path.join("replaced");
                    fs::rename(&to, &old).map_err(io("replace", &to))?;
                    fs::rename(&from, &to).map_err(io("make", &to))?;
                }
            }
        }
        Ok(to)
    }
}

impl Drop for Stage<'_> {
    fn drop(&mut self) {
        // A process that was killed a moment ago may have made a file in a folder that was empty. What cannot be removed
        // now is by the next build.
        for _ in 0..3 {
            match fs::remove_dir_all(&self.path) {
                Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => {}
                _ => return,
            }
        }
    }
}

/// Fails if an image cannot be called this.
pub fn check_name(name: &str) -> Result<(), ImageError> {
    let inside = |c: char| c.is_ascii_alphanumeric() || "._+-".contains(c);
    let first = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    let log = Path::new(name).extension().is_some_and(|extension| extension == "log");
    // Longer ones file systems do not take, with what is put around them.
    if first && name.chars().all(inside) && name.len() <= 200 && !log {
        Ok(())
    } else {
        Err(ImageError::BadName { name: name.to_owned() })
    }
}

/// The names of the folders that may be images, sorted.
pub fn names(kernels: &Path) -> Result<Vec<String>, ImageError> {
    let entries = match fs::read_dir(kernels) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(io("read", kernels)(error)),
    };
    let folders = entries.flatten().filter(|entry| entry.path().is_dir());
    let mut names: Vec<String> = folders.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.retain(|name| check_name(name).is_ok());
    names.sort_unstable();
    Ok(names)
}

fn lock(kernels: &Path, name: &str) -> Result<Option<File>, ImageError> {
    let path = kernels.join(format!(".lock-{name}"));
    let file = File::options().create(true).append(true).open(&path).map_err(io("write", &path))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(io("lock", &path)(error)),
    }
}

/// Without an error for what is not ours: somebody else's leftovers do not keep us from building.
fn lock_for_clearing(kernels: &Path, name: &str) -> Result<Option<File>, ImageError> {
    if check_name(name).is_err() {
        return Ok(None);
    }
    lock(kernels, name)
}

/// Folders of builds, with the names of the images they were to become.
fn left(kernels: &Path) -> Result<Vec<(PathBuf, String)>, ImageError> {
    let entries = fs::read_dir(kernels).map_err(io("read", kernels))?;
    let of = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().ok()?;
        let (of, process) = name.strip_prefix(".build-")?.rsplit_once('-')?;
        process.parse::<u32>().ok()?;
        Some((entry.path(), of.to_owned()))
    };
    Ok(entries.flatten().filter_map(of).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(stage: &Stage, content: &str) {
        fs::create_dir(stage.path.join("image")).unwrap();
        fs::write(stage.path.join("image/linux"), content).unwrap();
    }

    fn listed(kernels: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(kernels)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| !name.starts_with(".lock-"))
            .collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn names_are_those_of_plain_folders() {
        for good in ["linux-6.12.117", "a", "my_kernel+1"] {
            check_name(good).unwrap();
        }
        for bad in ["", ".", "..", ".build-a-1", "-x", "a/b", "a b", "ü", "a.log"] {
            assert!(matches!(check_name(bad), Err(ImageError::BadName { .. })), "{bad}");
        }
    }

    #[test]
    fn an_image_appears_whole_and_replaces_the_one_before() {
        let place = tempfile::tempdir().unwrap();
        let kernels = place.path().join("kernels");
        assert!(names(&kernels).unwrap().is_empty());
        for content in ["one", "two"] {
            let making = Making::begin(&kernels, "k").unwrap();
            let stage = making.stage().unwrap();
            put(&stage, content);
            let folder = stage.finish("image").unwrap();
            assert_eq!(fs::read_to_string(folder.join("linux")).unwrap(), content);
            assert_eq!(listed(&kernels), ["k"]);
        }
        assert_eq!(names(&kernels).unwrap(), ["k"]);
    }

    #[test]
    fn a_build_that_fails_leaves_nothing_and_the_image_before_stays() {
        let place = tempfile::tempdir().unwrap();
        let making = Making::begin(place.path(), "k").unwrap();
        let stage = making.stage().unwrap();
        put(&stage, "one");
        stage.finish("image").unwrap();
        let stage = making.stage().unwrap();
        put(&stage, "half");
        drop(stage);
        assert_eq!(listed(place.path()), ["k"]);
        assert_eq!(fs::read_to_string(place.path().join("k/linux")).unwrap(), "one");
    }

    #[test]
    fn one_name_is_made_once_at_a_time() {
        let place = tempfile::tempdir().unwrap();
        let first = Making::begin(place.path(), "k").unwrap();
        assert!(matches!(Making::begin(place.path(), "k"), Err(ImageError::Busy { name }) if name == "k"));
        Making::begin(place.path(), "other").unwrap();
        drop(first);
        Making::begin(place.path(), "k").unwrap();
    }

    #[test]
    fn what_dead_processes_left_is_removed_and_what_living_ones_use_is_not() {
        let place = tempfile::tempdir().unwrap();
        let alive = Making::begin(place.path(), "alive").unwrap();
        let stage = alive.stage().unwrap();
        for name in [".build-k-1", ".build-dead-other-77", "k.log", "image"] {
            fs::create_dir_all(place.path().join(name).join("deep/er")).unwrap();
        }
        let _making = Making::begin(place.path(), "k").unwrap();
        let stays = stage.path.file_name().unwrap().to_str().unwrap();
        assert_eq!(listed(place.path()), [stays, "image", "k.log"]);
    }
}
