//! `headway slurm`: a script that runs a sweep on a cluster.
//!
//! Sources: sbatch(1) of Slurm 24.05: `--array`, `--parsable`, `--dependency=afterok`, `--kill-on-invalid-dep`, `--requeue`, `--wrap`, file name
//! patterns; SLURM_ARRAY_TASK_ID and SLURM_CPUS_PER_TASK in the environment of tasks.

use std::fmt::Write as _;
use std::path::Path;

use crate::failure::Failure;
use crate::shell::{behind, quoted};
use crate::sweeps::args::SlurmArgs;
use crate::{source, terminal};

pub fn slurm(args: &SlurmArgs) -> Result<(), Failure> {
    if args.file == Path::new("-") {
        return Err(Failure::usage("the tasks cannot read the standard input; write the scenario to a file"));
    }
    let source = source::find(&args.file)?;
    let scenario = source.scenario(args.how.overrides())?;
    let repeats = args.how.repeats.unwrap_or(scenario.record.repeats) as usize;
    let runs = scenario.record.sweep.len() * scenario.record.policy.len() * repeats;
    if runs < args.shards as usize {
        return Err(Failure::usage(format!("there are {runs} runs only, fewer than {} shards", args.shards)));
    }
    let out = args.out.to_string_lossy();
    let plain = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || "/._-+".contains(c));
    if out.is_empty() || !plain(&out) {
        let failure = Failure::usage(format!("{} cannot stand in a script of Slurm", quoted(&args.out)));
        return Err(failure.help("name a folder of letters, digits, `/`, `.`, `_`, `-` and `+` with --out"));
    }
    for (option, is_set) in
        [("--threads", args.how.threads.is_some()), ("--json", args.how.json), ("--quiet", args.how.quiet)]
    {
        if is_set {
            let failure = Failure::usage(format!("{option} has no meaning in a script of Slurm"));
            return Err(failure.help("a task has as many threads as --cpus says"));
        }
    }
    if out.trim_matches('/').is_empty() {
        return Err(Failure::usage("the root of all folders is no place for results").help("name another with --out"));
    }
    for option in &args.sbatch {
        if !option.starts_with("--") || option.contains(|c: char| c.is_control()) {
            let failure = Failure::usage(format!("`{}` is no option of sbatch", option.escape_debug()));
            return Err(failure.help("write it as `--sbatch=--partition=short`"));
        }
    }
    terminal::data(&script(args, &scenario.record.name.to_string(), out.trim_end_matches('/')))
}

/// The script. One file, so that nothing has to be kept together: called by hand it submits itself as the array, and the merge
/// behind it; as a task of the array it runs its shard.
fn script(args: &SlurmArgs, name: &str, out: &str) -> String {
    let SlurmArgs { shards, cpus, .. } = args;
    let how = behind(&args.how.words());
    let none = if args.how.store.no_store { " --no-store" } else { "" };
    let store =
        args.how.store.store.as_ref().map_or_else(|| none.to_owned(), |path| format!(" --store {}", quoted(path)));
    let report = if args.how.no_report { " --no-report" } else { "" };
    let extra = behind(&args.sbatch);
    let mut text = String::from("#!/bin/bash\n");
    for line in [
        format!("--job-name=headway-{name}"),
        format!("--array=1-{shards}"),
        "--ntasks=1".to_owned(),
        format!("--cpus-per-task={cpus}"),
        "--requeue".to_owned(),
        format!("--output={out}-shards/%a.log"),
    ] {
        let _ = writeln!(text, "#SBATCH {line}");
    }
    for option in &args.sbatch {
        let _ = writeln!(text, "#SBATCH {}", quoted(Path::new(option)));
    }
    let file = quoted(&args.file);
    let _ = write!(
        text,
        r#"
# {name} in {shards} shards. `bash THIS-FILE` submits the shards, and behind them the job that makes {out} of them.
# Submitted again, shards go on where they were stopped. HEADWAY names the command if it is not in PATH.
set -eu
export HEADWAY="${{HEADWAY:-headway}}"

if [ -z "${{SLURM_ARRAY_TASK_ID:-}}" ]; then
    mkdir -p {out}-shards
    array=$(sbatch --parsable "$0")
    merge=$(sbatch --parsable --dependency="afterok:${{array%%;*}}" --kill-on-invalid-dep=yes --job-name=headway-merge \
        --output={out}-shards/merge.log{extra} \
        --wrap='exec "$HEADWAY" merge {out}-shards --out {out}{report}')
    echo "shards: job ${{array%%;*}}; results in {out} after job ${{merge%%;*}}"
    exit
fi

exec "$HEADWAY" run {file}{how}{store} --threads "${{SLURM_CPUS_PER_TASK:-1}}" \
    --shard "$SLURM_ARRAY_TASK_ID/{shards}" --out "{out}-shards/$SLURM_ARRAY_TASK_ID"
"#
    );
    text
}
