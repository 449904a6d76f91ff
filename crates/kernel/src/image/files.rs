//! The files of a kernel host: the agent and daemons, a shell and its tools, programs for networks, and what the user
//! adds; each with the libraries it needs.
//!
//! Only the agent and the shell, and what is under `/var`, are first files, which take memory of every guest twice while it
//! boots. The rest stays outside, in a folder that guests mount at [`SYSTEM`] and read as they need it; links in
//! the first files lead there.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use headway_agent::protocol::SYSTEM;

use super::about::Program;
use super::archive::Archive;
use super::error::{ImageError, io};
use super::hash;
use super::machine::Machine;
use super::own::Own;

/// Programs every image has, with Debian's packages. The first has the small tools.
pub const PROGRAMS: [(&str, &str); 6] = [
    ("busybox", "busybox-static"),
    ("ip", "iproute2"),
    ("ss", "iproute2"),
    ("tc", "iproute2"),
    ("ethtool", "ethtool"),
    ("iperf3", "iperf3"),
];

/// Taken where they are here. Debian's busybox, as a shell and wherever it starts programs, takes its own `ip` and `tc`
/// before those in PATH; it has no `nstat`.
const BETTER: [&str; 10] = ["dash", "nstat", "env", "timeout", "nice", "nohup", "setsid", "taskset", "time", "xargs"];

const FOLDERS: [(&str, u32); 17] = [
    ("bin", 0o755),
    ("dev", 0o755),
    ("dev/pts", 0o755),
    ("dev/shm", 0o1777),
    ("etc", 0o755),
    ("etc/headway", 0o755),
    ("files", 0o755),
    ("proc", 0o555),
    ("root", 0o700),
    ("run", 0o755),
    ("share", 0o755),
    ("sys", 0o555),
    ("system", 0o755),
    ("tmp", 0o1777),
    ("var/cache", 0o755),
    ("var/lib", 0o755),
    ("var/log", 0o755),
];

/// One folder for programs, one for libraries, as Debian has it since version 12. And where our daemon looks for its
/// configuration if nobody says otherwise.
const LINKS: [(&str, &str); 9] = [
    ("sbin", "bin"),
    ("usr/bin", "../bin"),
    ("usr/sbin", "../bin"),
    ("usr/lib", "../lib"),
    ("usr/lib64", "../lib64"),
    ("usr/local/bin", "../../bin"),
    ("usr/local/sbin", "../../bin"),
    ("var/run", "../run"),
    ("etc/headway/lane.toml", "/run/headway/lane.toml"),
];

const DEVICES: [(&str, u32, u32); 7] = [
    ("dev/null", 1, 3),
    ("dev/zero", 1, 5),
    ("dev/full", 1, 7),
    ("dev/random", 1, 8),
    ("dev/urandom", 1, 9),
    ("dev/tty", 5, 0),
    ("dev/console", 5, 1),
];

const TEXTS: [(&str, &str); 6] = [
    (
        "etc/passwd",
        "root:x:0:0:root:/root:/bin/sh\n\
         www-data:x:33:33:www-data:/var/www:/bin/false\n\
         nobody:x:65534:65534:nobody:/:/bin/false\n",
    ),
    ("etc/group", "root:x:0:\nadm:x:4:\ntty:x:5:\nwww-data:x:33:\nnogroup:x:65534:\n"),
    ("etc/hosts", "127.0.0.1 localhost\n::1 localhost\n"),
    ("etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\nservices: files\nprotocols: files\n"),
    ("etc/protocols", "ip 0 IP\nicmp 1 ICMP\ntcp 6 TCP\nudp 17 UDP\nipv6-icmp 58 IPv6-ICMP\n"),
    ("etc/services", "http 80/tcp\nhttps 443/tcp\n"),
];

/// Folders whose files keep their places; programs from elsewhere go to `/bin`.
const KEPT: [&str; 9] = ["bin", "etc", "lib", "lib32", "lib64", "opt", "sbin", "usr", "var"];

/// What kernel hosts have, and the programs in it that were asked for by name.
#[derive(Debug)]
pub struct Files {
    /// The first files.
    pub first: Archive,
    /// The files outside.
    pub system: Archive,
    /// What was asked for, in order.
    pub programs: Vec<Program>,
}

/// Gathers them from this machine, until `stop` is set.
pub fn gather(machine: &Machine, own: Own<'_>, add: &[String], stop: &AtomicBool) -> Result<Files, ImageError> {
    let mut gathering = Gathering {
        machine,
        stop,
        first: Archive::default(),
        system: Archive::default(),
        seen: BTreeSet::new(),
        programs: Vec::new(),
    };
    for (path, mode) in FOLDERS {
        gathering.first.folder(path, mode);
    }
    for (path, target) in LINKS {
        gathering.first.link(path, target);
    }
    for (path, major, minor) in DEVICES {
        gathering.first.device(path, major, minor);
    }
    for (path, text) in TEXTS {
        gathering.first.file(path, 0o644, text);
    }
    gathering.first.file("init", 0o755, own.agent);
    for (name, program) in own.daemons {
        gathering.system.file(&format!("bin/{name}"), 0o755, *program);
    }
    for (name, _) in PROGRAMS {
        gathering.named(name)?;
    }
    for name in add {
        gathering.named(name)?;
    }
    for path in BETTER.iter().filter_map(|name| machine.program(name)) {
        if let Some(place) = inside(&path) {
            gathering.file(&path, &place)?;
        }
    }
    gathering.link_system();
    gathering.applets()?;
    Ok(Files { first: gathering.first, system: gathering.system, programs: gathering.programs })
}

struct Gathering<'a> {
    machine: &'a Machine,
    stop: &'a AtomicBool,
    first: Archive,
    system: Archive,
    /// What was looked at, by its path on this machine.
    seen: BTreeSet<PathBuf>,
    programs: Vec<Program>,
}

impl Gathering<'_> {
    /// Where a file belongs: what hosts write to, and the shell, which can then do without what is outside, are first
    /// files.
    fn layer(&mut self, inside: &str) -> &mut Archive {
        if inside == "bin/busybox" || inside.starts_with("var/") { &mut self.first } else { &mut self.system }
    }

    /// A program by its name, or a file or folder by its path.
    fn named(&mut self, name: &str) -> Result<(), ImageError> {
        let failed = |why: String| ImageError::Program { name: name.to_owned(), why };
        let path = if name.contains('/') {
            std::path::absolute(name).map_err(|error| failed(error.to_string()))?
        } else {
            self.machine.program(name).ok_or_else(|| failed("there is no such program in PATH".to_owned()))?
        };
        let about = fs::metadata(&path).map_err(|error| failed(error.to_string()))?;
        if about.is_dir() {
            if !is_system(&path) {
                let why = "a folder outside of /usr, /opt, /etc and /var is better given to a scenario, as its files";
                return Err(failed(why.to_owned()));
            }
            return self.folder(&path);
        }
        let inside = if is_system(&path) {
            inside(&path)
        } else {
            Some(format!("bin/{}", path.file_name().unwrap_or_default().display()))
        };
        let inside = inside.ok_or_else(|| failed("its path is not text".to_owned()))?;
        self.file(&path, &inside)?;
        let sha256 = hash::bytes(self.layer(&inside).content(&inside).unwrap_or_default());
        let program = Program { path: format!("/{inside}"), sha256 };
        if !self.programs.contains(&program) {
            self.programs.push(program);
        }
        Ok(())
    }

    fn folder(&mut self, path: &Path) -> Result<(), ImageError> {
        let Some(place) = inside(path) else { return Ok(()) };
        if !self.layer(&place).has(&place) {
            self.layer(&place).folder(&place, 0o755);
        }
        let entries = fs::read_dir(path).map_err(io("read", path))?;
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths {
            let Some(place) = inside(&path) else { continue };
            let about = fs::symlink_metadata(&path).map_err(io("read", &path))?;
            if about.is_dir() {
                // Compiled again by Python where they are missed; half of what Python's library takes.
                if path.file_name().is_some_and(|name| name != "__pycache__") {
                    self.folder(&path)?;
                }
            } else if about.is_symlink() {
                // Relative links stay, for what they name comes along or is not wanted.
                let target = fs::read_link(&path).map_err(io("read", &path))?;
                if let Some(target) = target.to_str() {
                    self.layer(&place).link(&place, target);
                }
                if let Ok(target) = fs::canonicalize(&path)
                    && target.is_file()
                    && let Some(place) = inside(&target)
                {
                    self.one_of_many(&target, &place)?;
                }
            } else if about.is_file() {
                self.one_of_many(&path, &place)?;
            }
        }
        Ok(())
    }

    /// A file of a folder: not every script and library in it has to work.
    fn one_of_many(&mut self, path: &Path, inside: &str) -> Result<(), ImageError> {
        match self.file(path, inside) {
            Err(ImageError::Program { .. }) => {
                let (content, mode) = read(path)?;
                self.layer(inside).file(inside, mode, content);
                Ok(())
            }
            other => other,
        }
    }

    /// A file, and what it needs to run.
    fn file(&mut self, path: &Path, inside: &str) -> Result<(), ImageError> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(ImageError::Interrupted);
        }
        if !self.seen.insert(path.to_owned()) {
            return Ok(());
        }
        let (content, mode) = read(path)?;
        if content.starts_with(b"\x7fELF") {
            self.libraries(path, &content)?;
        } else if let Some(interpreter) = interpreter(&content).filter(|_| mode == 0o755) {
            self.interpreter(path, &interpreter)?;
        }
        self.layer(inside).file(inside, mode, content);
        Ok(())
    }

    /// The program that runs a script, if it is not one that every image has.
    fn interpreter(&mut self, script: &Path, interpreter: &str) -> Result<(), ImageError> {
        if matches!(interpreter, "/bin/sh" | "/usr/bin/sh" | "/usr/bin/env") {
            return Ok(());
        }
        let path = Path::new(interpreter);
        let why = || format!("what runs it, {interpreter}, is not here");
        let failed = || ImageError::Program { name: script.display().to_string(), why: why() };
        let place = Some(path).filter(|path| path.is_file()).and_then(inside).ok_or_else(failed)?;
        self.file(path, &place)
    }

    fn libraries(&mut self, path: &Path, content: &[u8]) -> Result<(), ImageError> {
        let failed = |why: String| ImageError::Program { name: path.display().to_string(), why };
        let output = self.machine.command("ldd").arg(path).output().map_err(io("run ldd for", path))?;
        let said = String::from_utf8_lossy(&output.stdout);
        let mut paths = match parse_ldd(&said) {
            Ok(paths) => paths,
            Err(library) => return Err(failed(format!("its library {library} is not here"))),
        };
        // The C library loads this one when a thread is cancelled, and ends the program if it cannot.
        let cancels = content.windows(14).any(|window| window == b"pthread_cancel");
        let c_library = paths.iter().find(|path| path.file_name().is_some_and(|name| name == "libc.so.6"));
        if let Some(library) = c_library.filter(|_| cancels).map(|path| path.with_file_name("libgcc_s.so.1"))
            && library.is_file()
        {
            paths.push(library);
        }
        let usual = paths.iter().find_map(|path| inside(path)?.strip_suffix("/libc.so.6").map(str::to_owned));
        for library in paths {
            let place = inside(&library).ok_or_else(|| failed(format!("{} is not text", library.display())))?;
            self.file(&library, &place)?;
            // Guests have no list of further folders, so all libraries are to be found in the usual one.
            if let (Some(usual), Some((_, name))) = (&usual, place.rsplit_once('/')) {
                let known = format!("{usual}/{name}");
                if !place.starts_with("lib64/ld-") && !self.system.has(&known) {
                    self.system.link(&known, &format!("/{place}"));
                }
            }
        }
        Ok(())
    }

    /// Links from the first files to those outside, as high up as there is no folder already.
    fn link_system(&mut self) {
        for path in self.system.paths() {
            let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
            let at = ends.map(|end| &path[..end]).find(|part| !self.first.has_folder(part));
            if let Some(at) = at {
                let up = "../".repeat(at.matches('/').count());
                self.first.link(at, &format!("{up}{}/{at}", SYSTEM.trim_start_matches('/')));
            }
        }
    }

    /// Links to the shell for all it can do, where there is no program of that name.
    fn applets(&mut self) -> Result<(), ImageError> {
        let failed = |why: &str| ImageError::Program { name: "busybox".to_owned(), why: why.to_owned() };
        if self.first.has("bin/dash") && !self.first.has("bin/sh") {
            self.first.link("bin/sh", "dash");
        }
        if self.programs.first().is_none_or(|program| program.path != "/bin/busybox") {
            return Err(failed("it is not in a folder for programs"));
        }
        let list = self.machine.ask("busybox", &["--list"]).ok_or_else(|| failed("`busybox --list` fails"))?;
        for applet in list.split_whitespace().filter(|name| !name.contains('/')) {
            let place = format!("bin/{applet}");
            if !self.first.has(&place) {
                self.first.link(&place, "busybox");
            }
        }
        if !self.first.has("bin/sh") {
            return Err(failed("it has no shell"));
        }
        Ok(())
    }
}

/// The content of a file, and the mode it gets.
fn read(path: &Path) -> Result<(Vec<u8>, u32), ImageError> {
    let content = fs::read(path).map_err(io("read", path))?;
    let mode = fs::metadata(path).map_err(io("read", path))?.permissions().mode();
    Ok((content, if mode & 0o111 == 0 { 0o644 } else { 0o755 }))
}

fn is_system(path: &Path) -> bool {
    let mut parts = path.components().skip(1);
    parts.next().is_some_and(|first| KEPT.iter().any(|known| first.as_os_str() == *known)) && parts.next().is_some()
}

/// Where a file goes: where it is, but with one folder for programs and one for libraries. Nothing if that is no text.
fn inside(path: &Path) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(part) => parts.push(part.to_str()?),
            Component::ParentDir => {
                parts.pop();
            }
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    let parts = match &parts[..] {
        ["usr", rest @ ..] if matches!(rest.first(), Some(&("bin" | "sbin" | "lib" | "lib64"))) => rest,
        ["usr", "local", rest @ ..] if matches!(rest.first(), Some(&("bin" | "sbin"))) => rest,
        all => all,
    };
    match parts {
        [] => None,
        ["sbin", rest @ ..] => Some(format!("bin/{}", rest.join("/"))),
        all => Some(all.join("/")),
    }
}

/// The program in the first line of a script.
fn interpreter(content: &[u8]) -> Option<String> {
    let line = content.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    std::str::from_utf8(line).ok()?.split_whitespace().next().map(str::to_owned)
}

/// The libraries in what `ldd` prints; a name that it did not find is an error. Static programs have none.
fn parse_ldd(text: &str) -> Result<Vec<PathBuf>, String> {
    let mut paths = Vec::new();
    for line in text.lines().map(str::trim) {
        let (name, place) = line.split_once(" => ").unwrap_or((line, line));
        if place == "not found" {
            return Err(name.to_owned());
        }
        let place = place.split(" (").next().unwrap_or_default();
        if place.starts_with('/') && !place.ends_with(':') {
            paths.push(PathBuf::from(place));
        }
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ldd_says_is_understood() {
        let text = "\tlinux-vdso.so.1 (0x00007ffd)\n\tlibm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x0000)\n\
                    \t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n";
        let paths = parse_ldd(text).unwrap();
        assert_eq!(paths, [Path::new("/lib/x86_64-linux-gnu/libm.so.6"), Path::new("/lib64/ld-linux-x86-64.so.2")]);
        assert_eq!(parse_ldd("\tliba.so.1 => not found\n"), Err("liba.so.1".to_owned()));
        assert_eq!(parse_ldd("\tstatically linked\n"), Ok(Vec::new()));
    }

    #[test]
    fn files_have_one_place() {
        let cases = [
            ("/usr/sbin/tc", "bin/tc"),
            ("/sbin/tc", "bin/tc"),
            ("/usr/local/bin/x", "bin/x"),
            ("/usr/lib/x86_64-linux-gnu/libc.so.6", "lib/x86_64-linux-gnu/libc.so.6"),
            ("/lib64/ld-linux-x86-64.so.2", "lib64/ld-linux-x86-64.so.2"),
            ("/usr/share/nginx", "usr/share/nginx"),
            ("/lib/a/../b", "lib/b"),
        ];
        for (path, place) in cases {
            assert_eq!(inside(Path::new(path)).as_deref(), Some(place), "{path}");
        }
        assert!(is_system(Path::new("/usr/bin/x")) && !is_system(Path::new("/home/me/x")));
        assert!(!is_system(Path::new("/usr")));
    }

    #[test]
    fn scripts_name_what_runs_them() {
        assert_eq!(interpreter(b"#! /usr/bin/python3 -I\nx").as_deref(), Some("/usr/bin/python3"));
        assert_eq!(interpreter(b"x"), None);
    }

    #[test]
    fn an_image_has_a_shell_libraries_and_what_is_added() {
        let machine = Machine::here();
        let lacks = PROGRAMS.iter().any(|(name, _)| machine.program(name).is_none());
        if lacks || machine.program("ldd").is_none() {
            println!("skipped: not all of the programs of an image are here");
            return;
        }
        let place = tempfile::tempdir().unwrap();
        let script = place.path().join("mine");
        fs::write(&script, "#!/bin/sh\n").unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        let add = [script.display().to_string()];
        let own = Own { agent: b"agent", daemons: &[("headway-test", b"daemon")] };
        let files = gather(&machine, own, &add, &AtomicBool::new(false)).unwrap();
        let programs: Vec<&str> = files.programs.iter().map(|program| program.path.as_str()).collect();
        assert_eq!(
            programs,
            ["/bin/busybox", "/bin/ip", "/bin/ss", "/bin/tc", "/bin/ethtool", "/bin/iperf3", "/bin/mine"]
        );
        for path in [
            "init",
            "bin/busybox",
            "bin/sh",
            "dev/console",
            "etc/passwd",
            "sbin",
            "tmp",
            "bin/ip",
            "lib",
            "bin/headway-test",
        ] {
            assert!(files.first.has(path), "{path}");
        }
        for path in ["bin/ip", "bin/mine", "bin/headway-test", "lib64/ld-linux-x86-64.so.2"] {
            assert!(files.system.has(path), "{path}");
        }
        // What takes memory of every guest.
        assert!(files.first.bytes().len() < 4_000_000);
        let again = gather(&machine, own, &add, &AtomicBool::new(false)).unwrap();
        assert_eq!((files.first.bytes(), files.system.bytes()), (again.first.bytes(), again.system.bytes()));
        let unknown = gather(&machine, own, &["no-such-program".to_owned()], &AtomicBool::new(false));
        assert!(matches!(unknown, Err(ImageError::Program { name, .. }) if name == "no-such-program"));
        assert!(matches!(gather(&machine, own, &add, &AtomicBool::new(true)), Err(ImageError::Interrupted)));
    }
}
