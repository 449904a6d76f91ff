//! Where a scenario comes from: a file, the standard input, or those that come with the command.

use std::path::{Path, PathBuf};

use headway_experiment::{Source, SourceError};
use headway_input::{ReadError, read_given, read_stream};

use crate::bundled as all;
use crate::failure::Failure;

/// Reads `file`, or takes the bundled scenario of that name if there is no such file, or the standard input
/// for `-`.
pub fn find(file: &Path) -> Result<Source, Failure> {
    let name = file.display().to_string();
    if name == "-" {
        let read = read_stream(std::io::stdin().lock(), Source::LARGEST);
        return decode("standard input", read, PathBuf::from("."));
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
    match read_given(file, Source::LARGEST) {
        Err(error) if error.is_missing() => bundled(&name),
        read => decode(&name, read, file.parent().map_or_else(PathBuf::new, Path::to_path_buf)),
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

fn decode(name: &str, read: Result<Vec<u8>, ReadError>, folder: PathBuf) -> Result<Source, Failure> {
    Source::of_file(name, read, folder).map_err(|error| match error {
        SourceError::Problems(problems) => problems.into(),
        SourceError::Read(error @ ReadError::Io(_)) => Failure::environment(format!("cannot read {name}: {error}")),
        SourceError::Read(error) => Failure::usage(format!("cannot read {name}: {error}")),
    })
}
