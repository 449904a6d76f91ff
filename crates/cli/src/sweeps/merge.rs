//! `headway merge`.

use std::path::{Path, PathBuf};

use clap::Parser as _;
use headway_experiment::Destination;

use crate::args::{Cli, Command, RunOptions};
use crate::failure::Failure;
use crate::run::{RESULTS, show};
use crate::shell::quoted;
use crate::sweeps::args::MergeArgs;

pub fn merge(args: &MergeArgs) -> Result<(), Failure> {
    let folders = shards(&args.folders);
    let destination = match &args.out {
        Some(path) => Destination::New(path.clone()),
        None => Destination::Numbered(PathBuf::from(RESULTS)),
    };
    let session = headway_experiment::merge(&folders, &destination, &crate::command_line(), args.no_report)?;
    let finished = session.finish()?;
    show(&finished, &RunOptions { json: args.json, quiet: args.quiet, ..RunOptions::default() }, &args.tables)
}

/// `folders`, with those that are none of ours replaced by the folders in them that are.
fn shards(folders: &[PathBuf]) -> Vec<PathBuf> {
    let ours = |folder: &Path| folder.join("manifest.json").exists();
    let mut all = Vec::new();
    for folder in folders {
        let inside = std::fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
        let mut inside: Vec<PathBuf> = inside.filter(|path| ours(path)).collect();
        if ours(folder) || inside.is_empty() {
            all.push(folder.clone());
        } else {
            inside.sort_unstable();
            all.append(&mut inside);
        }
    }
    all
}

/// Whether the arguments `command` of `headway run` have a scenario.
fn names_scenario(command: &[String]) -> bool {
    let words = std::iter::once("headway").chain(command.iter().map(String::as_str));
    match Cli::try_parse_from(words) {
        Ok(Cli { command: Command::Run(args) }) => args.file.is_some(),
        // Another version's, or another program's: it is taken as it is.
        _ => true,
    }
}

/// The command that runs shard `index` of `of`, made of that of another shard, which ran with the arguments `command` into
/// `folder`.
pub fn like(command: &[String], folder: &Path, index: u32, of: u32) -> String {
    let mut words = vec!["headway".to_owned()];
    let mut arguments = command.iter();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--shard" | "--out" | "--resume" => drop(arguments.next()),
            text if ["--shard=", "--out=", "--resume="].iter().any(|own| text.starts_with(own)) => {}
            text => words.push(quoted(Path::new(text))),
        }
    }
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let stem = if stem.len() == name.len() { format!("{name}-") } else { stem.to_owned() };
    let out = folder.with_file_name(format!("{stem}{index}"));
    // The shard may have been gone on with by its folder alone, which has the scenario.
    if !names_scenario(command) {
        words.push(quoted(&folder.join("scenario.toml")));
    }
    format!("{} --shard {index}/{of} --out {}", words.join(" "), quoted(&out))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_of_another_shard_is_like_its_neighbours() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let of = |text: &str, folder: &str| like(&words(text), Path::new(folder), 3, 4);
        let command = "run my.toml --shard 1/4 --out a/s1 --quick";
        assert_eq!(of(command, "a/s1"), "headway run my.toml --quick --shard 3/4 --out a/s3");
        assert_eq!(of("run --shard=1/4 --out=first my.toml", "first"), "headway run my.toml --shard 3/4 --out first-3");
        assert_eq!(of("run it's --shard 1/4", "x/1"), r"headway run 'it'\''s' --shard 3/4 --out x/3");
        let resumed = "run --resume a/1 --threads 2";
        assert_eq!(of(resumed, "a/1"), "headway run --threads 2 a/1/scenario.toml --shard 3/4 --out a/3");
    }
}
