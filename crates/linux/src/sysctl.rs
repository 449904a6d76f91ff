//! Sysctls by their dotted names. Those below `net` are of the calling thread's network namespace.

use std::fs;
use std::io;
use std::path::PathBuf;

/// Why a sysctl was not read or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// What was given is no name of a sysctl.
    #[error("`{0}` is no name of a sysctl: words with dots between them, such as net.mptcp.enabled")]
    Name(String),
    /// The kernel does not have it.
    #[error("this kernel has no sysctl {0}")]
    Unknown(String),
    /// Reading or writing it failed.
    #[error("sysctl {name}: {action}: {source}")]
    Failed {
        /// Its name.
        name: String,
        /// What was tried.
        action: String,
        /// How it failed. EINVAL: the value is none that it takes. EACCES, EPERM: privileges are missing.
        source: io::Error,
    },
}

impl Error {
    /// The kernel does not have it: it is older or was built without the feature.
    pub fn is_unknown(&self) -> bool {
        matches!(self, Self::Unknown(_))
    }
}

/// The file of a sysctl. As of sysctl(8), a slash stands for a dot inside a word: `net.ipv4.conf.eth0/1.rp_filter`.
fn file(name: &str) -> Result<PathBuf, Error> {
    let mut path = PathBuf::from("/proc/sys");
    for word in name.split('.') {
        if word.is_empty() || word.contains('\0') || word.starts_with('/') {
            return Err(Error::Name(name.to_owned()));
        }
        let word = word.replace('/', ".");
        if word == "." || word == ".." {
            return Err(Error::Name(name.to_owned()));
        }
        path.push(word);
    }
    Ok(path)
}

fn failed(name: &str, action: impl FnOnce() -> String) -> impl FnOnce(io::Error) -> Error {
    move |source| match source.kind() {
        io::ErrorKind::NotFound => Error::Unknown(name.to_owned()),
        _ => Error::Failed { name: name.to_owned(), action: action(), source },
    }
}

/// A sysctl's value without the end of the line.
///
/// # Errors
/// [`Error::Unknown`] if the kernel does not have it.
pub fn read(name: &str) -> Result<String, Error> {
    let text = fs::read_to_string(file(name)?).map_err(failed(name, || "reading".to_owned()))?;
    Ok(text.trim_end().to_owned())
}

/// Gives a sysctl a value.
///
/// # Errors
/// [`Error::Unknown`] if the kernel does not have it.
pub fn write(name: &str, value: &str) -> Result<(), Error> {
    let path = file(name)?;
    // Without `create`: what is not there is not to be made.
    let open = fs::OpenOptions::new().write(true).open(path);
    open.and_then(|mut file| io::Write::write_all(&mut file, value.as_bytes()))
        .map_err(failed(name, || format!("writing `{value}`")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_every_kernel_has() {
        assert_eq!(read("kernel.ostype").unwrap(), "Linux");
    }

    #[test]
    fn a_sysctl_that_the_kernel_has_not_is_named() {
        let error = read("net.mptcp.no_such_thing").unwrap_err();
        assert!(error.is_unknown());
        assert_eq!(error.to_string(), "this kernel has no sysctl net.mptcp.no_such_thing");
        assert!(write("net.mptcp.no_such_thing", "1").unwrap_err().is_unknown());
    }

    #[test]
    fn a_value_that_it_does_not_take_is_named() {
        // Read-only for everyone, so nothing can be broken by it.
        let error = write("kernel.ostype", "Minix").unwrap_err().to_string();
        assert!(error.starts_with("sysctl kernel.ostype: writing `Minix`: "), "{error}");
    }

    #[test]
    fn names_do_not_lead_out_of_proc_sys() {
        for name in ["", ".", "..", "net..ipv4", "/etc/passwd", "net./etc", "net.//.mounts", "net.\0", "net.a/../b"] {
            assert!(matches!(read(name), Err(Error::Name(_))), "{name}");
        }
        // A slash is a dot inside a word.
        assert_eq!(file("net.ipv4.conf.eth0/1.x").unwrap(), PathBuf::from("/proc/sys/net/ipv4/conf/eth0.1/x"));
    }
}
