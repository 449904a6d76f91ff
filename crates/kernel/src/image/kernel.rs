//! How a kernel is made of its source.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::about::Patch;
use super::config::{Config, FRAGMENT, HZ};
use super::error::{ImageError, io};
use super::hash;
use super::machine::Machine;
use super::patches::{Applied, FAST_PATH, SEED, apply_file, set_hz};
use super::source::Origin;
use super::step::Steps;
use super::{FORMAT, Progress, diff};

/// All that decides a kernel's bytes.
#[derive(Debug)]
pub struct Recipe {
    /// The source.
    pub origin: Origin,
    /// The user's additions to the configuration.
    pub fragment: String,
    /// The user's patches: files and contents.
    pub patches: Vec<(PathBuf, String)>,
    /// Compiler and linker.
    pub compiler: String,
    /// SHA-256 of the C library that is linked into it.
    pub library: String,
}

/// Files of the user's for a build.
#[derive(Debug, Default)]
pub struct Given {
    /// Additions to the configuration.
    pub fragment: String,
    /// Patches: files and contents.
    pub patches: Vec<(PathBuf, String)>,
}

impl Given {
    /// The largest that is read; all of Linux 6.12's own patches together are smaller.
    const LARGEST: u64 = 64 << 20;

    /// Reads them, and sees that patches are patches, which costs nothing beside what follows.
    pub fn read(fragment: Option<&Path>, patches: &[PathBuf]) -> Result<Given, ImageError> {
        let text = |what, path: &Path| {
            let unreadable = |source| ImageError::Unreadable { what, file: path.to_owned(), source };
            headway_input::read_text(path, Given::LARGEST).map_err(|error| unreadable(error.into()))
        };
        let fragment = fragment.map(|path| text("configuration", path)).transpose()?.unwrap_or_default();
        let read = |path: &PathBuf| {
            let text = text("patch", path)?;
            diff::check(&text).map_err(|why| ImageError::Malformed { file: path.clone(), why })?;
            Ok((path.clone(), text))
        };
        let patches = patches.iter().map(read).collect::<Result<_, ImageError>>()?;
        Ok(Given { fragment, patches })
    }
}

/// A kernel.
#[derive(Debug)]
pub struct Kernel {
    /// The program.
    pub linux: PathBuf,
    /// Its complete configuration.
    pub config: String,
    /// Its version.
    pub version: String,
    /// What was applied.
    pub patches: Vec<Patch>,
    /// Whether the fast path for network cards is in it.
    pub fast_path: bool,
}

impl Recipe {
    /// Adds `given` and what this machine compiles with to the source.
    pub fn new(machine: &Machine, origin: Origin, given: Given) -> Result<Recipe, ImageError> {
        let first = |name| {
            let text = machine.ask(name, &["--version"]).unwrap_or_default();
            text.lines().next().unwrap_or_default().trim().to_owned()
        };
        let library = machine.ask("gcc", &["-print-file-name=libc.a"]).unwrap_or_default();
        let library = Path::new(library.trim());
        let library = if library.is_absolute() { hash::file(library)?.sha256 } else { String::new() };
        let Given { fragment, patches } = given;
        Ok(Recipe { origin, fragment, patches, compiler: format!("{}, {}", first("gcc"), first("ld")), library })
    }

    /// SHA-256 over it: kernels of equal recipes are equal.
    pub fn sha256(&self) -> String {
        let (format, hz) = (FORMAT.to_string(), HZ.to_string());
        let (seed, fast_path) = (SEED.sha256(), FAST_PATH.sha256());
        let source = &self.origin.about;
        let sha256 = source.sha256.as_deref().unwrap_or_default();
        let ours = [&format, &hz, &seed, &fast_path, FRAGMENT, &source.name, sha256, &self.fragment];
        let patches = self.patches.iter().map(|(_, text)| text.as_str());
        hash::texts(ours.into_iter().chain([self.compiler.as_str(), &self.library]).chain(patches))
    }

    /// Makes the kernel in the folder `at`.
    pub fn make(
        &self,
        machine: &Machine,
        jobs: u32,
        at: &Path,
        steps: &mut Steps,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Kernel, ImageError> {
        let (tree, out) = (at.join("source"), at.join("out"));
        progress(Progress::Step(format!("unpacking {}", self.origin.describe())));
        self.origin.unpack(machine, steps, &tree)?;
        let version = version(machine, &tree)?;

        progress(Progress::Step("patching".to_owned()));
        let mut patches = Vec::new();
        for (file, text) in &self.patches {
            steps.go_on()?;
            patches.push(apply_file(machine, &tree, file, text)?);
        }
        match SEED.apply(machine, &tree, &version)? {
            Applied::Now(patch) => patches.push(patch),
            Applied::Before => {
                progress(Progress::Note("the source takes random numbers from a seed already".to_owned()));
            }
            Applied::Not => return Err(ImageError::Seed { version }),
        }
        let fast_path = match FAST_PATH.apply(machine, &tree, &version)? {
            Applied::Now(patch) => {
                patches.push(patch);
                true
            }
            Applied::Before => {
                progress(Progress::Note("the source has the fast path for network cards already".to_owned()));
                true
            }
            Applied::Not => {
                progress(Progress::Note(format!(
                    "the fast path for network cards does not apply to Linux {version} and is left out: packets cost \
                     about twice the time"
                )));
                false
            }
        };
        set_hz(&tree, &version)?;

        progress(Progress::Step("configuring".to_owned()));
        let config = self.configure(machine, &tree, &out, steps, progress)?;
        progress(Progress::Step("compiling".to_owned()));
        let mut compiled = 0;
        let mut seen = |text: &[u8]| {
            compiled += text.windows(6).filter(|window| window == b"\n  CC ").count() as u32;
            progress(Progress::Compiled(compiled));
        };
        let mut make = kbuild(machine, &tree, &out);
        make.arg(format!("-j{jobs}")).arg("linux");
        steps.run("compiling", &mut make, &mut seen)?;
        Ok(Kernel { linux: out.join("linux"), config, version, patches, fast_path })
    }

    /// What all the rest takes from `allnoconfig`, ours and the user's, which wins.
    fn configure(
        &self,
        machine: &Machine,
        tree: &Path,
        out: &Path,
        steps: &mut Steps,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<String, ImageError> {
        fs::create_dir_all(out).map_err(io("make", out))?;
        let fragment = out.with_file_name("fragment");
        fs::write(&fragment, format!("{FRAGMENT}{}", self.fragment)).map_err(io("write", &fragment))?;
        let mut make = kbuild(machine, tree, out);
        make.env("KCONFIG_ALLCONFIG", &fragment).arg("allnoconfig");
        steps.run("configuring", &mut make, &mut |_| ())?;
        let path = out.join(".config");
        let text = fs::read_to_string(&path).map_err(io("read", &path))?;
        let config = Config::parse(&text);
        let missing = config.missing();
        if !missing.is_empty() {
            return Err(ImageError::Config { missing });
        }
        let refused = config.refused(&self.fragment);
        if !refused.is_empty() {
            progress(Progress::Note(format!("this kernel does not take {}", refused.join(", "))));
        }
        Ok(text)
    }
}

fn version(machine: &Machine, tree: &Path) -> Result<String, ImageError> {
    let folder = tree.display().to_string();
    let said = machine.ask("make", &["-s", "--no-print-directory", "-C", &folder, "ARCH=um", "kernelversion"]);
    let version = said.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    version.ok_or_else(|| ImageError::NotATree { path: tree.to_owned(), lacks: "`make kernelversion`".to_owned() })
}

/// `make`, with all that the kernel's build takes from its surroundings held fixed.
fn kbuild(machine: &Machine, tree: &Path, out: &Path) -> Command {
    let mut make = machine.command("make");
    make.arg("-C").arg(tree).arg("ARCH=um");
    let mut folder = std::ffi::OsString::from("O=");
    folder.push(out);
    make.arg(folder);
    make.env("KBUILD_BUILD_TIMESTAMP", "Thu Jan  1 00:00:00 UTC 1970").env("SOURCE_DATE_EPOCH", "0");
    make.env("KBUILD_BUILD_USER", "headway").env("KBUILD_BUILD_HOST", "headway").env("KBUILD_BUILD_VERSION", "1");
    make
}
