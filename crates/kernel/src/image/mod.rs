//! Images: a kernel and its first files, built on the user's machine into a cache.
//!
//! A kernel is GPL software of some megabytes, so none comes with Headway: [`build`] makes one from the source
//! package of the distribution, or from a tree of the user's. The same inputs (source, configuration, patches,
//! compiler; programs) give the same bytes, in any folder, and what is made once is not made again.
//!
//! ```text
//! <cache>/kernels/NAME/linux            the kernel, a static program (User-Mode Linux)
//! <cache>/kernels/NAME/initramfs.cpio   its first files; `/init` is Headway's agent
//! <cache>/kernels/NAME/system/          programs, our daemons among them, and libraries, which guests mount at
//!                                       `/system` (hostfs, read-only)
//! <cache>/kernels/NAME/config           its complete configuration
//! <cache>/kernels/NAME/image.json       what all this was made of, see [`About`]
//! <cache>/kernels/NAME.log              what the last build of it printed
//! ```
//!
//! The cache is `$HEADWAY_CACHE`, `$XDG_CACHE_HOME/headway` or `~/.cache/headway`.
//!
//! Left out: architectures other than x86-64, modules, block devices.

#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "images are made in the world, with its clock and environment; runs see none of it"
)]

mod about;
mod archive;
mod build;
mod cache;
mod config;
mod diff;
mod doctor;
mod error;
mod files;
mod hash;
mod kernel;
mod machine;
mod needs;
mod own;
mod patches;
mod probe;
mod source;
mod step;

use std::fs;
use std::path::{Path, PathBuf};

pub use about::{About, FORMAT, Part, Patch, Program, Source};
pub use build::{BuildOptions, Progress, build};
pub use doctor::{Finding, State, doctor};
pub use error::ImageError;
pub use own::{Own, own};

use error::io;
use machine::Machine;

/// A kernel with its first files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// Its name.
    pub name: String,
    /// Its folder.
    pub folder: PathBuf,
    /// The kernel, a program.
    pub linux: PathBuf,
    /// The first files.
    pub initramfs: PathBuf,
    /// The folder that guests mount at `/system`; the programs among the first files lead there.
    pub system: PathBuf,
    /// What it is made of.
    pub about: About,
}

impl Image {
    /// The image called `name`; without a name the one `HEADWAY_KERNEL` names, or the one with the newest kernel that is
    /// not patched ([`Image::is_patched`]); a patched one is taken unasked only where there is no other.
    ///
    /// # Errors
    /// There is none, or it was not made by this version of Headway.
    pub fn find(name: Option<&str>) -> Result<Image, ImageError> {
        let named = named();
        Image::find_in(Machine::here().kernels()?, name.or(named.as_deref()), own::sha256())
    }

    /// Which of `images`, as [`Image::list`] has them, [`Image::find`] gives without a name, current or not.
    pub fn unasked(images: &[Image]) -> Option<&Image> {
        match named() {
            Some(name) => images.iter().find(|image| image.name == name),
            None => Image::usual(images),
        }
    }

    /// The newest of those that are not patched; of equal versions the distribution's before a tree's, then the first by
    /// name. `images` are sorted by name.
    fn usual(images: &[Image]) -> Option<&Image> {
        let rank = |image: &&Image| {
            let about = &image.about;
            (!image.is_patched(), source::version_numbers(&about.version), !about.source.is_tree())
        };
        // the last of equals is taken, so they come backwards
        images.iter().rev().max_by_key(rank)
    }

    fn find_in(kernels: &Path, name: Option<&str>, own: &str) -> Result<Image, ImageError> {
        let image = if let Some(name) = name {
            cache::check_name(name)?;
            if !kernels.join(name).is_dir() {
                return Err(ImageError::NotFound { name: name.to_owned(), others: cache::names(kernels)? });
            }
            Image::open(kernels, name)?
        } else {
            Image::usual(&Image::list_in(kernels)?).cloned().ok_or(ImageError::NoImage)?
        };
        if image.about.own_sha256 == own { Ok(image) } else { Err(ImageError::Stale { name: image.name }) }
    }

    /// All images, sorted by name. Those that are damaged are left out.
    ///
    /// # Errors
    /// The cache cannot be read.
    pub fn list() -> Result<Vec<Image>, ImageError> {
        Image::list_in(Machine::here().kernels()?)
    }

    fn list_in(kernels: &Path) -> Result<Vec<Image>, ImageError> {
        Ok(cache::names(kernels)?.iter().filter_map(|name| Image::open(kernels, name).ok()).collect())
    }

    /// Whether its agent and daemons are those of this version of Headway.
    pub fn is_current(&self) -> bool {
        self.about.own_sha256 == own::sha256()
    }

    /// The patches of the user's, in order. Ours come behind them: the seed's, then the fast path's.
    pub fn patches(&self) -> &[Patch] {
        let mut rest = &self.about.patches[..];
        for ours in [&patches::FAST_PATH, &patches::SEED] {
            if let [before @ .., last] = rest
                && ours.is(&last.name)
            {
                rest = before;
            }
        }
        rest
    }

    /// Whether its source is not as somebody published it: patched when it was built, or a tree with changes that are not
    /// committed.
    pub fn is_patched(&self) -> bool {
        !self.patches().is_empty() || self.about.source.is_changed()
    }

    /// The changes of its source in words, such as `patched with a.patch, b.patch`; empty if it is not patched.
    pub fn changes(&self) -> String {
        let names: Vec<&str> = self.patches().iter().map(|patch| patch.name.as_str()).collect();
        let patched = (!names.is_empty()).then(|| format!("patched with {}", names.join(", ")));
        let changed = self.about.source.is_changed().then(|| "of a tree with uncommitted changes".to_owned());
        patched.into_iter().chain(changed).collect::<Vec<_>>().join(", ")
    }

    /// Which one it is, for people: `linux-6.12.117 (Linux 6.12.117)`, with its changes behind the version.
    pub fn title(&self) -> String {
        let changes = self.changes();
        let gap = if changes.is_empty() { "" } else { ", " };
        format!("{} (Linux {}{gap}{changes})", self.name, self.about.version)
    }

    /// Bytes on disk.
    pub fn size(&self) -> u64 {
        self.about.linux.bytes + self.about.initramfs.bytes + self.about.system.bytes
    }

    fn open(kernels: &Path, name: &str) -> Result<Image, ImageError> {
        let folder = kernels.join(name);
        let damaged = |what: String| ImageError::Damaged { name: name.to_owned(), what, path: folder.clone() };
        let path = folder.join("image.json");
        let text = fs::read_to_string(&path).map_err(|error| damaged(format!("image.json: {error}")))?;
        let mut about: About = serde_json::from_str(&text).map_err(|error| damaged(format!("image.json: {error}")))?;
        if about.format != FORMAT {
            return Err(ImageError::Stale { name: name.to_owned() });
        }
        // A folder that was renamed by hand.
        name.clone_into(&mut about.name);
        let image = Image {
            name: name.to_owned(),
            linux: folder.join("linux"),
            initramfs: folder.join("initramfs.cpio"),
            system: folder.join("system"),
            folder: folder.clone(),
            about,
        };
        // Lengths only: to hash them would cost every run some tens of milliseconds.
        for (path, part) in [(&image.linux, &image.about.linux), (&image.initramfs, &image.about.initramfs)] {
            let bytes = fs::metadata(path).map_err(io("read", path)).map_err(|error| damaged(error.to_string()))?.len();
            if bytes != part.bytes {
                return Err(damaged(format!("{} has {bytes} bytes instead of {}", path.display(), part.bytes)));
            }
        }
        if !image.system.is_dir() {
            return Err(damaged(format!("{} is not there", image.system.display())));
        }
        Ok(image)
    }
}

/// The name in `HEADWAY_KERNEL`.
fn named() -> Option<String> {
    std::env::var("HEADWAY_KERNEL").ok().filter(|name| !name.is_empty())
}
