//! Values that every daemon's configuration has, as they are written.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use headway_language::{Node, Reader, Value};

/// A path is at most this long: `PATH_MAX` of Linux.
const MAX_PATH: usize = 4096;

/// Reads the text of `node` with `parse`, whose error is a sentence about the value.
pub fn text<T>(
    node: &Node,
    expected: &str,
    reader: &mut Reader,
    parse: impl FnOnce(&str) -> Result<T, String>,
) -> Option<T> {
    let Value::Text(text) = &node.value else { return reader.wrong_kind(node, expected) };
    match parse(text) {
        Ok(value) => Some(value),
        Err(help) => {
            let message = format!("`{}` must be {expected}", reader.path());
            reader.problem(node.at, message, "", Some(help));
            None
        }
    }
}

/// A value that is written as text and printed as it reads.
#[macro_export]
macro_rules! textual {
    ($(#[doc = $about:literal])+ $name:ident($inner:ty), $expected:literal, $parse:expr, $show:expr) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct $name(pub $inner);

        impl $crate::language::Field for $name {
            fn read(node: &$crate::language::Node, reader: &mut $crate::language::Reader) -> Option<$name> {
                $crate::values::text(node, $expected, reader, $parse).map($name)
            }

            fn show(&self) -> Option<$crate::language::Shown> {
                let show: fn(&$inner) -> String = $show;
                Some($crate::language::Shown::Text(show(&self.0)))
            }

            fn schema(_: &mut $crate::language::Definitions) -> $crate::language::Json {
                $crate::json!({ "type": "string", "description": $expected })
            }
        }
    };
}

textual! {
    /// An absolute path.
    AbsolutePath(PathBuf), "an absolute path", path, |path| path.display().to_string()
}
textual! {
    /// A loopback address with a port.
    Endpoint(SocketAddr), "a loopback address with a port like \"127.0.0.1:9477\"", endpoint, SocketAddr::to_string
}

impl AbsolutePath {
    /// The path `text`, which is known to be one.
    pub fn new(text: &str) -> AbsolutePath {
        AbsolutePath(PathBuf::from(text))
    }
}

/// The beginning of `text`, for a message.
pub fn short(text: &str) -> String {
    text.chars().take(60).collect()
}

/// The absolute path `text`, in its plainest form.
///
/// # Errors
/// If it is none.
pub fn path(text: &str) -> Result<PathBuf, String> {
    let path = Path::new(text);
    if text.len() > MAX_PATH || text.contains(char::is_control) {
        return Err(format!("paths have at most {MAX_PATH} bytes and no control characters"));
    }
    if !path.is_absolute() {
        return Err(format!("`{}` does not begin with `/`", short(text)));
    }
    if path.components().any(|part| part.as_os_str() == "..") {
        return Err("write it without `..`".to_owned());
    }
    // Without doubled and trailing slashes, so that equal paths are equal.
    Ok(path.components().collect())
}

fn endpoint(text: &str) -> Result<SocketAddr, String> {
    let endpoint: SocketAddr = text.parse().map_err(|_| format!("`{}` is not an address with a port", short(text)))?;
    if !endpoint.ip().is_loopback() {
        return Err("anyone who reaches it could read it: metrics are only to be had on 127.0.0.0/8 or [::1]; put a \
                    proxy with access control before it"
            .to_owned());
    }
    if endpoint.port() == 0 {
        return Err("port 0 is none".to_owned());
    }
    Ok(endpoint)
}
