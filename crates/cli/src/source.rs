//! Where a scenario comes from: a file, the standard input, or those that come with the command.

use std::fs;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use headway_experiment::Source;

use crate::bundled as all;
use crate::failure::Failure;

/// Reads `file`, or takes the bundled scenario of that name if there is no such file, or the standard input
/// for `-`.
pub fn find(file: &Path) -> Result<Source, Failure> {
    let name = file.display().to_string();
    if name == "-" {
        let mut bytes = Vec::new();
        let read = std::io::stdin().lock().read_to_end(&mut bytes);
        read.map_err(|error| Failure::environment(format!("cannot read the standard input: {error}")))?;
        return decode("standard input".to_owned(), bytes, PathBuf::from("."));
    }
    if file.is_dir() {
        let failure = Failure::usage(format!("{name} is a folder, not a scenario file"));
        let inside = file.join("scenario.toml");
        return Err(if inside.exists() {
            failure.help(format!("its scenario is {}", inside.display()))
        } else {
            failure
        });
    }
    match fs::read(file) {
        Ok(bytes) => decode(name, bytes, file.parent().map_or_else(PathBuf::new, Path::to_path_buf)),
        Err(error) if error.kind() == ErrorKind::NotFound => bundled(&name),
        Err(error) => Err(Failure::environment(format!("cannot read {name}: {error}"))),
    }
}

/// The bundled scenario `name`.
pub fn bundled(name: &str) -> Result<Source, Failure> {
    if let Some(own) = all::find(name) {
        let name = format!("{}.toml (bundled)", own.name);
        return Ok(Source { name, text: own.text.to_owned(), folder: PathBuf::from(".") });
    }
    let failure = Failure::usage(format!("there is no file {name} and no bundled scenario of that name"));
    let stem = Path::new(name).file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    Err(failure.help(match all::nearest(stem) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "`headway list` prints the bundled ones".to_owned(),
    }))
}

fn decode(name: String, bytes: Vec<u8>, folder: PathBuf) -> Result<Source, Failure> {
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Source { name, text, folder }),
        Err(error) => {
            let valid = error.utf8_error().valid_up_to();
            let line = error.as_bytes()[..valid].split(|byte| *byte == b'\n').count();
            Err(Failure::usage(format!("{name} is not text: line {line} is not UTF-8")))
        }
    }
}
