//! Failures of the command: exit codes other than 0, and their messages.

use std::fmt::Write as _;

use headway_capture::CaptureError;
use headway_experiment::report::ReportError;
use headway_experiment::{NotMeasured, RunError};
use headway_results::Error;
use headway_scenario::Problems;

use crate::shell::resume_command;
use crate::sweeps::like;

/// It ran, but a check failed.
const CHECK: u8 = 1;
/// The command line or the scenario is wrong.
pub const USAGE: u8 = 2;
/// The machine does not let us: a folder that cannot be written, a full disk.
const ENVIRONMENT: u8 = 3;
/// As shells count an end by Ctrl-C: 128 + SIGINT.
pub const INTERRUPTED: u8 = 130;

/// What takes less memory.
const MEMORY: &str = "memory goes by flows and samples: a shorter `duration`, rarer arrivals or a longer `measure.interval` \
                      take less, and so do fewer runs at a time (--threads)";

/// An exit code and the message for it.
#[derive(Debug)]
pub struct Failure {
    pub code: u8,
    text: Text,
    help: Option<String>,
}

#[derive(Debug)]
enum Text {
    /// A line; `error: ` is put before it.
    Line(String),
    /// A line that is no error.
    Plain(String),
    /// They have a form of their own.
    Problems(Problems),
}

impl Failure {
    fn new(code: u8, text: Text) -> Failure {
        Failure { code, text, help: None }
    }

    pub fn check(text: impl Into<String>) -> Failure {
        Failure::new(CHECK, Text::Line(text.into()))
    }

    pub fn usage(text: impl Into<String>) -> Failure {
        Failure::new(USAGE, Text::Line(text.into()))
    }

    pub fn environment(text: impl Into<String>) -> Failure {
        Failure::new(ENVIRONMENT, Text::Line(text.into()))
    }

    /// With the code of another.
    pub fn of_code(code: u8, text: impl Into<String>) -> Failure {
        Failure::new(code, Text::Line(text.into()))
    }

    pub fn interrupted(text: impl Into<String>) -> Failure {
        Failure::new(INTERRUPTED, Text::Plain(text.into()))
    }

    /// With a line on the remedy.
    pub fn help(mut self, help: impl Into<String>) -> Failure {
        self.help = Some(help.into());
        self
    }

    /// As it goes to stderr, with or without colours.
    pub fn render(&self, colour: bool) -> String {
        let paint =
            |code: &str, word: &str| if colour { format!("\x1b[{code}m{word}\x1b[0m") } else { word.to_owned() };
        let mut text = match &self.text {
            Text::Line(line) => format!("{} {line}\n", paint("1;31", "error:")),
            Text::Plain(line) => format!("{line}\n"),
            Text::Problems(problems) => format!("{}\n", problems.render(colour)),
        };
        if let Some(help) = &self.help {
            let _ = writeln!(text, "{} {help}", paint("1;36", "help:"));
        }
        text
    }
}

impl From<Problems> for Failure {
    fn from(problems: Problems) -> Failure {
        Failure::new(USAGE, Text::Problems(problems))
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        let text = error.to_string();
        match error {
            // A folder that was named and is not what it should be.
            Error::Interrupted { path } => Failure::usage(text).help(format!("go on with: {}", resume_command(&path))),
            Error::Shard { .. } => Failure::usage(text).help("`headway merge` makes results of all shards"),
            Error::Complete { .. }
            | Error::NotStore { .. }
            | Error::StoreFormat { .. }
            | Error::NotOurs { .. }
            | Error::NoManifest { .. }
            | Error::Mismatch { .. }
            | Error::Format { .. } => Failure::usage(text),
            Error::Io { action: "read", ref source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
                Failure::usage(text)
            }
            Error::Io { .. }
            | Error::Busy { .. }
            | Error::Space { .. }
            | Error::Damaged { .. }
            | Error::Missing { .. } => Failure::environment(text),
        }
    }
}

impl From<NotMeasured> for Failure {
    fn from(error: NotMeasured) -> Failure {
        match error {
            NotMeasured::Results(error) => error.into(),
            NotMeasured::NotKept { metric, .. } if metric.is_of_packets() => {
                Failure::usage(error.to_string()).help("runs with `measure.waits=true` have it")
            }
            error @ NotMeasured::NotKept { .. } => Failure::usage(error.to_string())
                .help("claims of the scenario can be about it; its summary.csv has the metrics that are kept"),
        }
    }
}

impl From<ReportError> for Failure {
    fn from(error: ReportError) -> Failure {
        match error {
            ReportError::Results(error) => error.into(),
            error @ ReportError::Taken { .. } => {
                Failure::usage(error.to_string()).help("name another file, or remove this one")
            }
            error @ (ReportError::Order { .. } | ReportError::Steps { .. } | ReportError::Write { .. }) => {
                Failure::environment(error.to_string())
            }
        }
    }
}

impl From<CaptureError> for Failure {
    fn from(error: CaptureError) -> Failure {
        let text = error.to_string();
        match error {
            CaptureError::Io { source, .. } if source.kind() != std::io::ErrorKind::NotFound => {
                Failure::environment(text)
            }
            // What was read before it is reported.
            CaptureError::Damaged { .. } => Failure::check(text),
            CaptureError::Io { .. }
            | CaptureError::Empty { .. }
            | CaptureError::Foreign { .. }
            | CaptureError::Unsupported { .. } => Failure::usage(text),
        }
    }
}

impl From<headway_experiment::Error> for Failure {
    fn from(error: headway_experiment::Error) -> Failure {
        use headway_experiment::Error;
        let text = error.to_string();
        match error {
            Error::Scenario(problems) => problems.into(),
            Error::Results(error) => error.into(),
            Error::Image(error) => error.into(),
            Error::Memory { .. } => Failure::environment(text).help(MEMORY),
            Error::Machine(_) | Error::OtherWorker { .. } | Error::Write { .. } => Failure::environment(text),
            Error::VerifyRealTime => {
                Failure::usage("--verify runs everything twice, and times of namespaces are never the same")
                    .help("leave out --verify, or run with --hosts linux")
            }
            Error::Finished { .. } => Failure::usage(text).help("for a new run, leave out --resume"),
            Error::OtherScenario { error, kept } => {
                Failure::from(error).help(format!("what it began with is in {}", kept.display()))
            }
            Error::NotStored { .. } => Failure::usage(text).help("name a folder with --out"),
            Error::ShardsMissing { ref missing, of, like: (ref command, ref folder) } => {
                let next = like(command, folder, missing[0], of);
                Failure::usage(text).help(format!("run what is missing, first: {next}"))
            }
            Error::ShardUnfinished { ref path, .. } | Error::ShardDamaged { ref path, .. } => {
                Failure::usage(text).help(format!("go on with: {}", resume_command(path)))
            }
            Error::NotAShard { .. } => {
                Failure::usage(text).help("shards are made by `headway run --shard 1/4 --out DIR`")
            }
            Error::NoStore
            | Error::NoShards
            | Error::OtherShard { .. }
            | Error::OtherShardFile { .. }
            | Error::ShardTwice { .. }
            | Error::NoFolder { .. }
            | Error::OtherFile { .. }
            | Error::Read { .. } => Failure::usage(text),
            Error::TooManyFolders { .. } => Failure::environment(format!("{text}; name another with --out")),
        }
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Failure {
        let text = error.to_string();
        match error {
            RunError::Results(error) => error.into(),
            RunError::NoPath(..) => Failure::usage(text),
            RunError::Memory(..) => Failure::environment(text).help(MEMORY),
            RunError::Kernels(..) | RunError::NotAsked { .. } => Failure::environment(text),
            // the command gives no policies of its own; a program's are at fault like a check
            RunError::NotDeterministic(_) | RunError::Undecided(..) | RunError::Own(..) => Failure::check(text),
            RunError::Interrupted { .. } | RunError::Aborted => Failure::interrupted(text),
        }
    }
}
