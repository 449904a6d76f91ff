//! The machine images are made on: where its programs are, where the kernel's sources, where images are kept.

use std::env;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::error::ImageError;

/// Debian's package, and those with its name elsewhere.
pub const PACKAGE: &str = "linux-source-6.12";

/// What this module asks of the machine, in one place, so that tests can put another in it.
#[derive(Debug, Clone)]
pub struct Machine {
    /// Where programs are looked for.
    pub path: OsString,
    /// What [`PACKAGE`] installs.
    pub tarball: PathBuf,
    /// The folder with the images, if there is a place for one.
    pub kernels: Option<PathBuf>,
}

impl Machine {
    /// This machine.
    pub fn here() -> Machine {
        // Where `tc` and others are on Debian is not in the PATH of ordinary users.
        let mut path = env::var_os("PATH").unwrap_or_default();
        if !path.is_empty() {
            path.push(":");
        }
        path.push("/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin");
        let folder = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let cache = folder("HEADWAY_CACHE")
            // The specification of base directories has relative ones ignored.
            .or_else(|| folder("XDG_CACHE_HOME").filter(|path| path.is_absolute()).map(|path| path.join("headway")))
            .or_else(|| folder("HOME").map(|path| path.join(".cache/headway")))
            .and_then(|path| std::path::absolute(path).ok());
        let tarball = PathBuf::from(format!("/usr/src/{PACKAGE}.tar.xz"));
        Machine { path, tarball, kernels: cache.map(|path| path.join("kernels")) }
    }

    /// The folder with the images; it need not be there yet.
    pub fn kernels(&self) -> Result<&Path, ImageError> {
        self.kernels.as_deref().ok_or(ImageError::NoCache)
    }

    /// Where a program is: in the PATH by its name, or where it says if it has a slash.
    pub fn program(&self, name: &str) -> Option<PathBuf> {
        let runs =
            |path: &Path| path.metadata().is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0);
        if name.contains('/') {
            return Some(PathBuf::from(name)).filter(|path| runs(path));
        }
        // An empty part of PATH means the folder we are in, which is no place to take programs from.
        env::split_paths(&self.path)
            .filter(|folder| folder.is_absolute())
            .map(|folder| folder.join(name))
            .find(|path| runs(path))
    }

    /// A command of this machine, in an environment that does not reach its results: of the user's, it has `HOME`,
    /// the proxies and the folder for temporary files.
    pub fn command(&self, name: &str) -> Command {
        let mut command = Command::new(self.program(name).unwrap_or_else(|| name.into()));
        command.env_clear().env("PATH", &self.path).env("LC_ALL", "C").env("TZ", "UTC0");
        for name in ["HOME", "TMPDIR", "http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"]
        {
            if let Some(value) = env::var_os(name) {
                command.env(name, value);
            }
        }
        command
    }

    /// What a short command prints, if it ends well.
    pub fn ask(&self, name: &str, args: &[&str]) -> Option<String> {
        self.program(name)?;
        let output = self.command(name).args(args).output().ok().filter(|output| output.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// A tool that building needs and this machine lacks.
    pub fn missing_tools(&self) -> Vec<&'static Tool> {
        TOOLS.iter().filter(|tool| self.program(tool.name).is_none()).collect()
    }
}

/// A program that building a kernel needs.
#[derive(Debug)]
pub struct Tool {
    /// Its name.
    pub name: &'static str,
    /// Debian's package with it.
    pub package: &'static str,
    /// What it does there.
    pub what_for: &'static str,
}

const fn tool(name: &'static str, package: &'static str, what_for: &'static str) -> Tool {
    Tool { name, package, what_for }
}

/// All of them.
pub const TOOLS: [Tool; 10] = [
    tool("gcc", "gcc libc6-dev", "compiles the kernel"),
    tool("ld", "binutils", "links the kernel"),
    tool("make", "make", "builds the kernel"),
    tool("flex", "flex", "reads the kernel's configuration"),
    tool("bison", "bison", "reads the kernel's configuration"),
    tool("bc", "bc", "computes the kernel's constants of time"),
    tool("patch", "patch", "changes the kernel's source"),
    tool("tar", "tar", "unpacks the kernel's source"),
    tool("xz", "xz-utils", "unpacks the kernel's source"),
    tool("ldd", "libc-bin", "finds the libraries of programs"),
];

/// The command that installs these packages.
pub fn install<'a>(packages: impl IntoIterator<Item = &'a str>) -> String {
    let mut all: Vec<&str> = packages.into_iter().flat_map(str::split_whitespace).collect();
    all.sort_unstable();
    all.dedup();
    format!("apt-get install {}", all.join(" "))
}
