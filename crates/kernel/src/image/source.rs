//! Where the kernel's source comes from.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use super::about::{Source, TREE};
use super::error::{ImageError, io};
use super::hash;
use super::machine::{Machine, PACKAGE};
use super::step::Steps;

/// The oldest kernel whose external time goes through shared memory.
const OLDEST: [u32; 2] = [6, 12];

/// Where a kernel's source comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    kind: Kind,
    /// The kernel's version, as far as it is known before the source is unpacked.
    pub version: String,
    /// What the image says of it.
    pub about: Source,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    /// An archive on this machine.
    Archive(PathBuf),
    /// The package, still to be downloaded.
    Package,
    /// A tree of the user's.
    Tree(PathBuf),
}

impl Origin {
    /// The tree the user names, or Debian's package: installed, or to be downloaded.
    pub fn find(machine: &Machine, tree: Option<&Path>, stop: &AtomicBool) -> Result<Origin, ImageError> {
        let origin = match tree {
            Some(tree) => Origin::tree(machine, tree, stop)?,
            None if machine.tarball.is_file() => Origin::archive(machine)?,
            None => Origin::package(machine)?,
        };
        new_enough(&origin.version)?;
        Ok(origin)
    }

    fn tree(machine: &Machine, tree: &Path, stop: &AtomicBool) -> Result<Origin, ImageError> {
        let (path, version) = examine(tree)?;
        let folder = path.display().to_string();
        let describe = path
            .join(".git")
            .exists()
            .then(|| machine.ask("git", &["-C", &folder, "describe", "--always", "--tags", "--dirty"]))
            .flatten();
        let about = Source {
            name: TREE.to_owned(),
            sha256: Some(hash::tree(&path, stop)?.sha256),
            describe: describe.map(|text| text.trim().to_owned()),
        };
        Ok(Origin { kind: Kind::Tree(path), version, about })
    }

    fn archive(machine: &Machine) -> Result<Origin, ImageError> {
        let path = machine.tarball.clone();
        let installed = machine
            .ask("dpkg-query", &["-W", "-f", "${db:Status-Status} ${Version}", PACKAGE])
            .and_then(|text| text.trim().strip_prefix("installed ").map(str::to_owned));
        let (name, version, sha256) = if let Some(version) = installed {
            // The same text as when it is downloaded: installing the package afterwards changes nothing.
            (format!("{PACKAGE} {version}"), upstream(&version), None)
        } else {
            let file = path.display().to_string();
            let first = ["-xJOf", &file, "--occurrence=1", "--wildcards", "--no-wildcards-match-slash", "*/Makefile"];
            let Some(version) = machine.ask("tar", &first).as_deref().and_then(makefile_version) else {
                return Err(ImageError::NotATree { path, lacks: "Makefile with a version".to_owned() });
            };
            (PACKAGE.to_owned(), version, Some(hash::file(&path)?.sha256))
        };
        Ok(Origin { kind: Kind::Archive(path), version, about: Source { name, sha256, describe: None } })
    }

    fn package(machine: &Machine) -> Result<Origin, ImageError> {
        let why = || format!("{} is not there, and apt knows no package {PACKAGE}", machine.tarball.display());
        let known = machine.ask("apt-cache", &["show", "--no-all-versions", PACKAGE]);
        let version = known.as_deref().and_then(|text| text.lines().find_map(|line| line.strip_prefix("Version: ")));
        let version = version.ok_or_else(|| ImageError::NoSource { why: why() })?;
        let about = Source { name: format!("{PACKAGE} {version}"), sha256: None, describe: None };
        Ok(Origin { kind: Kind::Package, version: upstream(version), about })
    }

    /// One that cannot be unpacked.
    #[cfg(test)]
    pub fn test(version: &str, about: Source) -> Origin {
        Origin { kind: Kind::Package, version: version.to_owned(), about }
    }

    /// Where it comes from, for a person.
    pub fn describe(&self) -> String {
        match &self.kind {
            Kind::Archive(path) | Kind::Tree(path) => format!("Linux {} from {}", self.version, path.display()),
            Kind::Package => format!("Linux {} from the package {}", self.version, self.about.name),
        }
    }

    /// Makes a tree of it in the folder `into`, which must not be there yet; the original stays as it is.
    pub fn unpack(&self, machine: &Machine, steps: &mut Steps, into: &Path) -> Result<(), ImageError> {
        fs::create_dir_all(into).map_err(io("make", into))?;
        match &self.kind {
            Kind::Archive(path) => untar(machine, steps, path, into),
            Kind::Package => {
                let downloads = into.with_extension("download");
                fs::create_dir_all(&downloads).map_err(io("make", &downloads))?;
                let result =
                    download(machine, steps, &downloads).and_then(|archive| untar(machine, steps, &archive, into));
                result.and_then(|()| fs::remove_dir_all(&downloads).map_err(io("remove", &downloads)))
            }
            Kind::Tree(path) => {
                let listed = fs::read_dir(path).and_then(Iterator::collect::<std::io::Result<Vec<_>>>);
                let entries = listed.map_err(io("read", path))?.into_iter().filter(|entry| entry.file_name() != ".git");
                let mut copy = machine.command("cp");
                copy.args(["-a", "--reflink=auto", "--target-directory"]).arg(into);
                copy.args(entries.map(|entry| entry.path()));
                steps.run("copying the source", &mut copy, &mut |_| ())?;
                // A tree that was built in place cannot be built out of place.
                let mut clean = machine.command("make");
                clean.arg("-C").arg(into).args(["ARCH=um", "mrproper"]);
                steps.run("cleaning the copy of the source", &mut clean, &mut |_| ())
            }
        }
    }
}

/// The absolute path and the version of the kernel source tree `tree`: a look at a few files, where [`Origin::find`] reads
/// all of them.
pub fn examine(tree: &Path) -> Result<(PathBuf, String), ImageError> {
    let path = fs::canonicalize(tree).map_err(io("find", tree))?;
    for file in ["Makefile", "Kconfig", "arch/um/Kconfig"] {
        if !path.join(file).is_file() {
            return Err(ImageError::NotATree { path, lacks: file.to_owned() });
        }
    }
    let makefile = fs::read_to_string(path.join("Makefile")).map_err(io("read", &path.join("Makefile")))?;
    let Some(version) = makefile_version(&makefile) else {
        return Err(ImageError::NotATree { path, lacks: "version in its Makefile".to_owned() });
    };
    new_enough(&version)?;
    Ok((path, version))
}

fn new_enough(version: &str) -> Result<(), ImageError> {
    let numbers = version_numbers(version);
    if numbers.len() < 2 || numbers[..2] < OLDEST[..] {
        return Err(ImageError::TooOld { version: version.to_owned() });
    }
    Ok(())
}

fn untar(machine: &Machine, steps: &mut Steps, archive: &Path, into: &Path) -> Result<(), ImageError> {
    let mut tar = machine.command("tar");
    tar.arg("-xJf").arg(archive).arg("-C").arg(into).args(["--strip-components=1", "--no-same-owner"]);
    // A quarter of the source: registers of a graphics driver that depends on `!UML`.
    tar.arg("--exclude=*/drivers/gpu/drm/amd/include/asic_reg");
    steps.run("unpacking the source", &mut tar, &mut |_| ())
}

/// The archive in Debian's package, without installing it.
fn download(machine: &Machine, steps: &mut Steps, folder: &Path) -> Result<PathBuf, ImageError> {
    let mut apt = machine.command("apt-get");
    apt.args(["download", PACKAGE]).current_dir(folder);
    steps.run("downloading the source", &mut apt, &mut |_| ()).map_err(|error| match error {
        ImageError::Step { tail, .. } => {
            let why = tail.lines().rfind(|line| line.starts_with("E: ")).unwrap_or("apt-get download failed");
            ImageError::NoSource { why: why.trim_start_matches("E: ").to_owned() }
        }
        error => error,
    })?;
    let package = only(folder, ".deb")?;
    let mut extract = machine.command("dpkg-deb");
    extract.arg("-x").arg(&package).arg(folder);
    steps.run("unpacking the package", &mut extract, &mut |_| ())?;
    only(&folder.join("usr/src"), ".tar.xz")
}

/// The file in `folder` whose name ends so.
fn only(folder: &Path, ending: &str) -> Result<PathBuf, ImageError> {
    let entries = fs::read_dir(folder).map_err(io("read", folder))?;
    let mut paths = entries.flatten().map(|entry| entry.path());
    let found = paths.find(|path| path.as_os_str().as_encoded_bytes().ends_with(ending.as_bytes()));
    found.ok_or_else(|| ImageError::NoSource { why: format!("there is no {ending} file in the package {PACKAGE}") })
}

/// The kernel's version in a package's: `6.12.117` of `6.12.117-1~deb12u1`.
fn upstream(package: &str) -> String {
    let without_epoch = package.split_once(':').map_or(package, |(_, rest)| rest);
    without_epoch.rsplit_once('-').map_or(without_epoch, |(version, _)| version).to_owned()
}

/// The version in the first lines of the kernel's Makefile, as `make kernelversion` says it.
fn makefile_version(makefile: &str) -> Option<String> {
    let value = |name: &str| {
        let line = |line: &str| Some(line.strip_prefix(name)?.trim_start().strip_prefix('=')?.trim().to_owned());
        makefile.lines().take(20).find_map(line)
    };
    let (major, minor) = (value("VERSION")?, value("PATCHLEVEL")?);
    let sub = value("SUBLEVEL").filter(|text| !text.is_empty()).map_or_else(String::new, |text| format!(".{text}"));
    Some(format!("{major}.{minor}{sub}{}", value("EXTRAVERSION").unwrap_or_default()))
}

/// The numbers a version starts with: 6, 12, 3 of `6.12.3-rc1`.
pub fn version_numbers(version: &str) -> Vec<u32> {
    let digits = version.split(|c: char| !c.is_ascii_digit() && c != '.').next().unwrap_or_default();
    digits.split('.').map_while(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read() {
        let makefile = "# SPDX\nVERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 117\nEXTRAVERSION =\nNAME = Baby\n";
        assert_eq!(makefile_version(makefile).as_deref(), Some("6.12.117"));
        let candidate = makefile.replace("EXTRAVERSION =", "EXTRAVERSION = -rc1").replace("117", "0");
        assert_eq!(makefile_version(&candidate).as_deref(), Some("6.12.0-rc1"));
        assert_eq!(makefile_version("all:\n"), None);
        assert_eq!(upstream("6.12.117-1~deb12u1"), "6.12.117");
        assert_eq!(version_numbers("6.12.0-rc1"), [6, 12, 0]);
        assert_eq!(version_numbers("7.2"), [7, 2]);
        assert!(version_numbers("v1").is_empty());
    }

    fn tree(version: &str) -> tempfile::TempDir {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir_all(place.path().join("arch/um")).unwrap();
        let (major, minor) = version.split_once('.').unwrap();
        fs::write(place.path().join("Makefile"), format!("VERSION = {major}\nPATCHLEVEL = {minor}\n")).unwrap();
        for file in ["Kconfig", "arch/um/Kconfig"] {
            fs::write(place.path().join(file), "").unwrap();
        }
        place
    }

    #[test]
    fn a_tree_is_checked() {
        let (machine, never) = (Machine::here(), AtomicBool::new(false));
        let find = |place: &Path| Origin::find(&machine, Some(place), &never);
        let good = tree("6.12");
        assert_eq!(find(good.path()).unwrap().version, "6.12");
        assert!(matches!(find(tree("6.11").path()), Err(ImageError::TooOld { version }) if version == "6.11"));
        fs::remove_file(good.path().join("arch/um/Kconfig")).unwrap();
        assert!(matches!(find(good.path()), Err(ImageError::NotATree { lacks, .. }) if lacks == "arch/um/Kconfig"));
        assert!(matches!(find(Path::new("/nowhere")), Err(ImageError::Io { .. })));
    }
}
