//! Our changes of the kernel's source, and how they are applied.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use super::about::Patch;
use super::config::HZ;
use super::error::{ImageError, io};
use super::hash;
use super::machine::Machine;
use super::source::version_numbers;

/// A change of ours in several versions, one for each kernel that moved its surroundings.
#[derive(Debug)]
pub struct Change {
    /// A word in a file that is there once the change is in.
    mark: (&'static str, &'static str),
    versions: &'static [Version],
}

#[derive(Debug)]
struct Version {
    name: &'static str,
    /// The first kernel it was made for.
    from: [u32; 2],
    text: &'static str,
}

/// Random numbers from a seed. Nothing is repeatable without.
pub const SEED: Change = Change {
    mark: ("arch/um/os-Linux/util.c", "UML_SEED"),
    versions: &[
        Version { name: "seed-6.12.patch", from: [6, 12], text: include_str!("../../data/patches/seed-6.12.patch") },
        Version { name: "seed-7.2.patch", from: [7, 2], text: include_str!("../../data/patches/seed-7.2.patch") },
    ],
};

/// Network cards through shared memory: faster, and nothing else.
pub const FAST_PATH: Change = Change {
    mark: ("arch/um/kernel/time.c", "time_travel_log_kick"),
    versions: &[
        Version {
            name: "fast-path-6.12.patch",
            from: [6, 12],
            text: include_str!("../../data/patches/fast-path-6.12.patch"),
        },
        Version {
            name: "fast-path-7.2.patch",
            from: [7, 2],
            text: include_str!("../../data/patches/fast-path-7.2.patch"),
        },
    ],
};

/// What became of a change.
#[derive(Debug, PartialEq, Eq)]
pub enum Applied {
    /// It is in now.
    Now(Patch),
    /// The tree had it before.
    Before,
    /// No version of it fits.
    Not,
}

impl Change {
    /// Whether a patch of this name is a version of it.
    pub fn is(&self, name: &str) -> bool {
        self.versions.iter().any(|version| version.name == name)
    }

    /// SHA-256 of every version of it: all decide what a kernel becomes.
    pub fn sha256(&self) -> String {
        hash::texts(self.versions.iter().map(|version| version.text))
    }

    /// Applies the version that was made for the newest kernel not newer than `kernel`, or else the first that fits.
    pub fn apply(&self, machine: &Machine, tree: &Path, kernel: &str) -> Result<Applied, ImageError> {
        let (file, word) = self.mark;
        if fs::read_to_string(tree.join(file)).is_ok_and(|text| text.contains(word)) {
            return Ok(Applied::Before);
        }
        let numbers = version_numbers(kernel);
        let (mut order, newer): (Vec<_>, Vec<_>) =
            self.versions.iter().partition(|version| version.from[..] <= numbers[..]);
        order.reverse();
        for version in order.into_iter().chain(newer) {
            // Without fuzz: what is not exactly where it was is not what the change was made for.
            if patch(machine, tree, version.text, &["--fuzz=0", "--dry-run"])?.is_ok() {
                if let Err(output) = patch(machine, tree, version.text, &["--fuzz=0"])? {
                    return Err(ImageError::Patch { file: PathBuf::from(version.name), output });
                }
                let sha256 = hash::bytes(version.text.as_bytes());
                return Ok(Applied::Now(Patch { name: version.name.to_owned(), sha256 }));
            }
        }
        Ok(Applied::Not)
    }
}

/// Whether a patch of the user's applies to `tree`, which stays as it is.
pub fn try_file(machine: &Machine, tree: &Path, file: &Path, text: &str) -> Result<(), ImageError> {
    patch(machine, tree, text, &["--dry-run"])?.map_err(|output| refused(file, &output))
}

fn refused(file: &Path, output: &str) -> ImageError {
    ImageError::Patch { file: file.to_owned(), output: output.trim_end().to_owned() }
}

/// Applies a patch of the user's.
pub fn apply_file(machine: &Machine, tree: &Path, file: &Path, text: &str) -> Result<Patch, ImageError> {
    try_file(machine, tree, file, text)?;
    patch(machine, tree, text, &[])?.map_err(|output| refused(file, &output))?;
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Patch { name, sha256: hash::bytes(text.as_bytes()) })
}

/// What `patch` says if it cannot.
fn patch(machine: &Machine, tree: &Path, text: &str, args: &[&str]) -> Result<Result<(), String>, ImageError> {
    let input = tempfile::NamedTempFile::new().map_err(io("write to", &std::env::temp_dir()))?;
    fs::write(input.path(), text).map_err(io("write", input.path()))?;
    let mut command = machine.command("patch");
    command.args(["-p1", "--forward", "--batch", "--no-backup-if-mismatch", "--reject-file=-"]).args(args);
    command.arg("-d").arg(tree).arg("-i").arg(input.path()).stdin(Stdio::null());
    let output = command.output().map_err(io("run", Path::new("patch")))?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    Ok(if output.status.success() { Ok(()) } else { Err(said) })
}

/// Sets the kernel's timer ticks, which `arch/um/Kconfig` fixes at 100.
pub fn set_hz(tree: &Path, kernel: &str) -> Result<(), ImageError> {
    let path = tree.join("arch/um/Kconfig");
    let text = fs::read_to_string(&path).map_err(io("read", &path))?;
    let wanted = format!("config HZ\n\tint\n\tdefault {HZ}\n");
    if text.contains(&wanted) {
        return Ok(());
    }
    let changed = text.replacen("config HZ\n\tint\n\tdefault 100\n", &wanted, 1);
    if changed == text {
        let file = PathBuf::from("arch/um/Kconfig");
        return Err(ImageError::Edit { what: "the timer ticks", version: kernel.to_owned(), file });
    }
    fs::write(&path, changed).map_err(io("write", &path))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree with what the seed's change looks for, `before` lines further down than in 6.12.
    fn tree(text: &str) -> tempfile::TempDir {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir_all(place.path().join("arch/um/os-Linux")).unwrap();
        fs::write(place.path().join("arch/um/os-Linux/util.c"), text).unwrap();
        place
    }

    const UTIL: &str = "\nssize_t os_getrandom(void *buf, size_t len, unsigned int flags)\n{\n\treturn getrandom(buf, \
                        len, flags);\n}\n\n/*\n";

    #[test]
    fn a_change_is_made_once() {
        let (machine, place) = (Machine::here(), tree(UTIL));
        if machine.program("patch").is_none() {
            println!("skipped: patch is not here");
            return;
        }
        let Applied::Now(patch) = SEED.apply(&machine, place.path(), "6.13.1").unwrap() else { panic!("not applied") };
        assert_eq!(patch.name, "seed-6.12.patch");
        let text = fs::read_to_string(place.path().join("arch/um/os-Linux/util.c")).unwrap();
        assert!(text.contains("getenv(\"UML_SEED\")"));
        assert_eq!(SEED.apply(&machine, place.path(), "6.13.1").unwrap(), Applied::Before);
        let newer = SEED.apply(&machine, tree(UTIL).path(), "7.3").unwrap();
        assert!(matches!(newer, Applied::Now(patch) if patch.name == "seed-7.2.patch"));
    }

    #[test]
    fn a_change_that_does_not_fit_is_left_out() {
        let machine = Machine::here();
        let place = tree("ssize_t os_getrandom(void)\n{\n}\n");
        assert_eq!(SEED.apply(&machine, place.path(), "6.12").unwrap(), Applied::Not);
        assert_eq!(FAST_PATH.apply(&machine, place.path(), "6.12").unwrap(), Applied::Not);
    }

    #[test]
    fn a_users_patch_that_does_not_apply_is_an_error() {
        let machine = Machine::here();
        if machine.program("patch").is_none() {
            println!("skipped: patch is not here");
            return;
        }
        let place = tree("one\n");
        let text = "--- a/arch/um/os-Linux/util.c\n+++ b/arch/um/os-Linux/util.c\n@@ -1 +1 @@\n-one\n+two\n";
        let file = Path::new("mine.patch");
        assert_eq!(apply_file(&machine, place.path(), file, text).unwrap().name, "mine.patch");
        let again = apply_file(&machine, place.path(), file, text);
        assert!(matches!(again, Err(ImageError::Patch { .. })), "{again:?}");
    }

    #[test]
    fn ticks_are_set_or_it_is_an_error() {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir_all(place.path().join("arch/um")).unwrap();
        let path = place.path().join("arch/um/Kconfig");
        fs::write(&path, "config HZ\n\tint\n\tdefault 100\n\nconfig NR_CPUS\n\tdefault 100\n").unwrap();
        for _ in 0..2 {
            set_hz(place.path(), "6.12").unwrap();
            let text = fs::read_to_string(&path).unwrap();
            assert_eq!(text, "config HZ\n\tint\n\tdefault 1000\n\nconfig NR_CPUS\n\tdefault 100\n");
        }
        fs::write(&path, "config HZ\n\tint \"ticks\"\n").unwrap();
        assert!(matches!(set_hz(place.path(), "6.12"), Err(ImageError::Edit { .. })));
    }
}
