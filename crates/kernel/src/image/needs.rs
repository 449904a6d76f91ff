//! What building a kernel needs of this machine: tools, headers, a library, programs for kernel hosts, the source. All
//! that is missing is named at once, before anything is read or unpacked.

use std::fs;
use std::path::PathBuf;

use super::error::ImageError;
use super::files::PROGRAMS;
use super::machine::{Machine, PACKAGE, install};

/// Headers that the kernel's part in user space and its helpers are compiled with, with Debian's packages.
const HEADERS: [(&str, &str); 2] = [("stdio.h", "libc6-dev"), ("asm/unistd.h", "linux-libc-dev")];

/// The static C library that the kernel is linked with, where gcc looks for it.
pub fn static_library(machine: &Machine) -> Option<PathBuf> {
    let said = machine.ask("gcc", &["-print-file-name=libc.a"])?;
    // A name without a folder is gcc's way to say that it knows none.
    let path = PathBuf::from(said.trim());
    (path.components().count() > 1).then(|| fs::canonicalize(&path).unwrap_or(path))
}

/// The headers that gcc does not find, with their packages; none without gcc, whose package brings them.
pub fn missing_headers(machine: &Machine) -> Vec<(&'static str, &'static str)> {
    if machine.program("gcc").is_none() {
        return Vec::new();
    }
    let lacks = |(header, _): &(&str, &str)| {
        machine.ask("gcc", &["-E", "-include", header, "-x", "c", "/dev/null", "-o", "/dev/null"]).is_none()
    };
    HEADERS.into_iter().filter(lacks).collect()
}

/// Whether the distribution's source is here, or can be downloaded.
pub fn has_source(machine: &Machine) -> bool {
    let known = || machine.ask("apt-cache", &["show", "--no-all-versions", PACKAGE]);
    machine.tarball.is_file()
        || (machine.program("dpkg-deb").is_some() && known().is_some_and(|text| text.contains("Version: ")))
}

/// Fails if anything is missing that building needs, for a source of the user's or, with `own_source`, the distribution's.
/// `add` are names of programs that the user wants to have.
pub fn check(machine: &Machine, own_source: bool, add: &[String]) -> Result<(), ImageError> {
    let (mut missing, mut packages) = (Vec::new(), Vec::new());
    let mut lacks = |what: String, package: &'static str| {
        missing.push(what);
        packages.push(package);
    };
    for tool in machine.missing_tools() {
        lacks(tool.name.to_owned(), tool.package);
    }
    for (header, package) in missing_headers(machine) {
        lacks(format!("the header {header}"), package);
    }
    if machine.program("gcc").is_some() && static_library(machine).is_none() {
        lacks("the static C library".to_owned(), "libc6-dev");
    }
    for (name, package) in PROGRAMS {
        if machine.program(name).is_none() {
            lacks(name.to_owned(), package);
        }
    }
    if own_source && !has_source(machine) {
        lacks("the kernel's source".to_owned(), PACKAGE);
    }
    let added: Vec<&str> =
        add.iter().map(String::as_str).filter(|name| !name.contains('/') && machine.program(name).is_none()).collect();
    if missing.is_empty() {
        if added.is_empty() {
            return Ok(());
        }
        let why = "there is no such program in PATH".to_owned();
        return Err(ImageError::Program { name: added.join(", "), why });
    }
    missing.extend(added.iter().map(|name| format!("{name} (of --add)")));
    Err(ImageError::Tools { missing, remedy: install(packages) })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    use super::super::machine::TOOLS;
    use super::*;

    fn program(bin: &Path, name: &str, text: &str) {
        fs::write(bin.join(name), format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// A machine with `programs`, all of which end well.
    fn machine(place: &Path, programs: &[&str]) -> Machine {
        let bin = place.join("bin");
        fs::create_dir_all(&bin).unwrap();
        for name in programs {
            program(&bin, name, "");
        }
        Machine { path: bin.into(), tarball: place.join("source.tar.xz"), kernels: None }
    }

    fn lacking(machine: &Machine, add: &[&str]) -> (Vec<String>, String) {
        let add: Vec<String> = add.iter().map(|&name| name.to_owned()).collect();
        match check(machine, true, &add) {
            Err(ImageError::Tools { missing, remedy }) => (missing, remedy),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn all_that_is_missing_is_named_at_once() {
        let place = tempfile::tempdir().unwrap();
        let machine = machine(place.path(), &["ld", "make", "patch", "tar", "xz", "ldd", "busybox", "ip", "ss", "tc"]);
        // one that has no headers and no library, as without libc6-dev
        program(&place.path().join("bin"), "gcc", "case $1 in -E) exit 1;; *) echo libc.a;; esac");
        let (missing, remedy) = lacking(&machine, &["nginx"]);
        let wanted = [
            "flex",
            "bison",
            "bc",
            "the header stdio.h",
            "the header asm/unistd.h",
            "the static C library",
            "ethtool",
            "iperf3",
            "the kernel's source",
            "nginx (of --add)",
        ];
        assert_eq!(missing, wanted);
        let packages = "bc bison ethtool flex iperf3 libc6-dev linux-libc-dev linux-source-6.12";
        assert_eq!(remedy, format!("apt-get install {packages}"));
    }

    #[test]
    fn nothing_is_missing_where_all_is_there() {
        let place = tempfile::tempdir().unwrap();
        let names: Vec<&str> = TOOLS.iter().map(|tool| tool.name).chain(PROGRAMS.map(|(name, _)| name)).collect();
        let machine = machine(place.path(), &names);
        program(&place.path().join("bin"), "gcc", "echo /usr/lib/libc.a");
        assert_eq!(lacking(&machine, &[]).0, ["the kernel's source"]);
        check(&machine, false, &[]).unwrap();
        fs::write(&machine.tarball, "").unwrap();
        check(&machine, true, &[]).unwrap();
        let two = ["nginx".to_owned(), "/no/such".to_owned(), "ab".to_owned()];
        let error = check(&machine, true, &two).unwrap_err().to_string();
        assert!(error.starts_with("cannot take nginx, ab into the image"), "{error}");
    }
}
