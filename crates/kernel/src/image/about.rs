//! What an image says of itself, in `image.json`.

use serde::{Deserialize, Serialize};

/// The number of the format of `image.json`, and of what an image has to have.
pub const FORMAT: u32 = 1;

/// [`Source::name`] of trees.
pub const TREE: &str = "tree";

/// What an image is made of. It has neither dates nor places: the same inputs give the same text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// [`FORMAT`] when it was made.
    pub format: u32,
    /// The image's name.
    pub name: String,
    /// The kernel's version, as `make kernelversion` says it.
    pub version: String,
    /// Where the kernel comes from.
    pub source: Source,
    /// The compiler, as `cc --version` says it in its first line.
    pub compiler: String,
    /// SHA-256 of the kernel's complete configuration, the file `config`.
    pub config_sha256: String,
    /// What was changed in the source, in order.
    pub patches: Vec<Patch>,
    /// SHA-256 over all that decides the kernel's bytes: a kernel with the same is not built again.
    pub inputs_sha256: String,
    /// The kernel.
    pub linux: Part,
    /// The first files.
    pub initramfs: Part,
    /// The files outside, which guests mount; the hash is over all of them.
    pub system: Part,
    /// SHA-256 over Headway's own programs: the agent, which is `/init`, and the daemons. Images of before there were
    /// daemons have the agent's here, which is no such hash.
    #[serde(alias = "agent_sha256")]
    pub own_sha256: String,
    /// What was taken into the image by name.
    pub programs: Vec<Program>,
    /// Ticks per second of the kernel's timers (TCP's among them).
    pub hz: u32,
    /// Whether the kernel has the fast path for network cards.
    pub fast_path: bool,
    /// The congestion controls, by the names the kernel knows them by.
    pub controls: Vec<String>,
    /// The queueing disciplines, by the names `tc` knows them by.
    pub queues: Vec<String>,
}

/// Where a kernel comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// The package and its version, or `tree`.
    pub name: String,
    /// SHA-256 over the tree, or of the package's archive, if it was read.
    pub sha256: Option<String>,
    /// `git describe` of the tree.
    pub describe: Option<String>,
}

impl Source {
    /// Whether it is a tree of the user's.
    pub fn is_tree(&self) -> bool {
        self.name == TREE
    }

    /// Whether it is a tree with changes that git has not seen committed (`git describe --dirty`).
    pub fn is_changed(&self) -> bool {
        self.describe.as_deref().is_some_and(|text| text.ends_with("-dirty"))
    }
}

/// A change of the source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Patch {
    /// Its file's name.
    pub name: String,
    /// SHA-256 of it.
    pub sha256: String,
}

/// A file of an image, or a folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// How long it is, or how long all its files are.
    pub bytes: u64,
    /// SHA-256 of it.
    pub sha256: String,
}

/// A program in the image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// Where it is, inside.
    pub path: String,
    /// SHA-256 of it.
    pub sha256: String,
}
