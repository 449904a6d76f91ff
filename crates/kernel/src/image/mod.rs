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
mod doctor;
mod error;
mod files;
mod hash;
mod kernel;
mod machine;
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
    /// The image called `name`; without a name the one `HEADWAY_KERNEL` names, or the one with the newest kernel.
    ///
    /// # Errors
    /// There is none, or it was not made by this version of Headway.
    pub fn find(name: Option<&str>) -> Result<Image, ImageError> {
        let named = std::env::var("HEADWAY_KERNEL").ok().filter(|name| !name.is_empty());
        Image::find_in(Machine::here().kernels()?, name.or(named.as_deref()), own::sha256())
    }

    fn find_in(kernels: &Path, name: Option<&str>, own: &str) -> Result<Image, ImageError> {
        let image = if let Some(name) = name {
            cache::check_name(name)?;
            if !kernels.join(name).is_dir() {
                return Err(ImageError::NotFound { name: name.to_owned(), others: cache::names(kernels)? });
            }
            Image::open(kernels, name)?
        } else {
            let mut images = Image::list_in(kernels)?;
            // The last of equal versions is the first by name.
            images.reverse();
            let newest = images.into_iter().max_by_key(|image| source::version_numbers(&image.about.version));
            newest.ok_or(ImageError::NoImage)?
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
