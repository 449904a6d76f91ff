//! `docs/fidelity.md` and its plots.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use super::compare::{Line, Metric};
use super::points::QUICK;
use super::{Compared, count, plot, store, table};
use crate::failure::Failure;

const HEAD: &str = "# How close the model is to Linux\n\n\
    Written by `headway fidelity`, not by hand. Every [point](glossary.md) is one sweep point of a scenario in \
    `fidelity/`. Each of its repeats is run twice with the seed of its file (1 unless it says otherwise): with \
    modelled hosts, and with [kernel hosts](kernel-hosts.md), which are real Linux kernels in virtual time. \
    Topology, queues, flows and their start times are the same. Either side gives the same result, to the last \
    digit, every time.\n\n";

/// What the traces of points that miss have shown. By hand: look again when the table changes.
const MISSES: &str = "## Where it misses, and why\n\n\
    As of the numbers below. At some points both sides agree for thousands of segments, and then one side loses a \
    packet more or less. This is chance where the mean over repeats agrees. The other differences, or those not \
    known to be chance, are these.\n\n\
    * The first difference of the long traces looked at (`bulk-1g-200us` and `tiny`, new-reno; `two-way`, cubic) is \
    at the receiver. In the first two it comes after 23 acknowledgements; up to there every burst and every \
    acknowledgement is the same. A kernel's window begins to grow from 65,536 − 1,448 B (`tcp_init_buffer_space`) \
    and reaches 85,595 B in eight steps, as its advertised windows show; the model's grows from 65,160 B to 84,074 B \
    in seven. Each step makes one more acknowledgement quick (`tcp_grow_window`), so from the 24th segment on \
    delayed acknowledgements are of other pairs of segments, bursts begin elsewhere, and a drop-tail queue loses \
    other packets of them. It is the best next step.\n\
    * `tiny`: with three frames of buffer the phase of a burst decides which of its segments finds room. Both sides \
    swing with the delay, and not together: -1 to +13 % at 18 to 22 ms, and near some delays (here 9.6 ms) the \
    model's NewReno falls into an orbit that loses the last segment of each burst, and has half of the kernel's \
    throughput. Random processing times at hosts take such phases out (`random-processing`).\n\
    * `bulk-1g-200us`, bbr, 25KB: BBR v1 takes a loss of over 20 % for a policer, and the random phase of its cycle \
    decides whether this happens. Of seven phases of the model, five gave -4 to -5 % and two +149 %, as below; the \
    kernel's result is one draw. `loss`, bbr at 0.1 %, has 17 % fewer retransmissions; not traced.\n\
    * `bulk-100m-20ms` and `loss`, bic, 25KB and 1 %: between builds of the model that differed in other matters, \
    BIC and Westwood at 25KB moved between -5 and +12 %. Probably chance; one repeat cannot show it.\n\
    * `mptcp` and `mptcp-short`, new-reno: the losses of the second subflow's first slow start. The connection's own \
    retransmission timer and heads of buffers are left out. How much a connection puts on the slower path goes by \
    pieces of 32 KB: with 600 KB and CUBIC an earlier build of the model had 131 KB there and the kernel 140, and \
    the join was sent within 20 µs of the kernel's. With buffers of a few frames, which no point here has, NewReno \
    is far off: at three frames on both paths the model carries 5.7 Mb/s and the kernel 19.6 (CUBIC: 15.4 and \
    15.8).\n\
    * `two-way`, cubic, 125KB: acknowledgements wait behind data of the other direction and come in bunches, so \
    small differences grow. The first ones are those of the receiver again: one flow is acknowledged differently \
    from its 33rd segment on and shifts the other's acknowledgements by a burst (0.12 ms); the other has its own \
    from its 146th on. The errors of throughput of the eight directions are between -5 and +3 %, those of CUBIC with \
    250KB within 1 %; each direction's round trip is within 2 %.\n\
    * `sharing-mixed`, vegas with new-reno, and `behind-bulk`, cubic, 250KB, short flows (two time-outs on each side \
    are the 99th percentile): few events decide. `incast`, cubic, 64KB: the median of 8 senders is 9 % short and the \
    99th percentile of 15 senders 15 %; both sides have time-outs (14 and 20, 69 and 75), which chance spreads over \
    other flows.\n\
    * The send buffer is that of kernel hosts: 2,304 B for a segment of the window, 832 B for a piece beyond its \
    bytes (`tcp_sndbuf_expand`, `skb->truesize`). Both follow from `MAX_TCP_HEADER`, which the kernel's \
    configuration decides: with wireless drivers or tunnels they are 4,352 B and 1,280 B, and pieces end elsewhere. \
    Not in the model: segments that are acknowledged selectively are joined to one piece, and retransmitted ones cut \
    from theirs, so in recovery the buffer has more or less room.\n\n";

const METHOD: &str = "## Method\n\n\
    * **To repeat it**: `headway fidelity` runs the model at all points and compares it with the kernels' results in \
    `fidelity/kernel.jsonl`. `--kernel-hosts` also runs the kernels again (needs `headway kernel build`). `headway \
    fidelity NAME…` takes the points whose names contain a NAME, `--set KEY=VALUE` changes the model's side. A \
    single point: `headway run fidelity/FILE.toml --hosts linux --set 'sweep.control=\"cubic\"'`.\n\
    * **Packet by packet**: `headway fidelity NAME --trace DIR` writes the segments that pass the senders on both \
    sides, in one form, and reports the first difference.\n\
    * **A new point** is another value in a `[sweep]`, or another scenario in `fidelity/` with one policy; names of \
    the sweep that are controls are called `control` and `rival`. Lines that end in `# model only` are settings of \
    the model. The kernels' numbers are out of date when the rest of a file changes, or the settings of kernels that \
    follow from it (addresses, routes, sysctls). `--accept` keeps the present errors as `fidelity/baseline.csv`. \
    `--check` fails where a number that misses its goal is further off than there, by more than a third of the \
    goal.\n\
    * **Error** is (model − kernel) / kernel.\n\
    * **Throughput**: data delivered by all endless flows of a traffic, over the time from the first start to the \
    end of the run, so slow start counts. **FCT**: over the flows of all repeats. **Retransmissions**: retransmitted \
    segments of all flows and repeats; the kernel's are `tcpi_total_retrans`, its timeouts `tcpi_total_rto`. \
    **Fairness**: Jain's index. **rtt**, **cwnd**: means over samples of the smoothed round-trip time and of the \
    congestion window (`tcpi_rtt`, `tcpi_snd_cwnd`); **rtt(t)**, **cwnd(t)**: root of the mean squared difference of \
    the two sides' samples of the first flow, over the kernel's mean.\n\
    * **Goals**: throughput within 3 %, median FCT 5 %, 99th percentile and retransmissions 15 %.\n\
    * **Noise** (`~`): beyond the goal, but no further apart than chance may put them. Both sides draw the same \
    random numbers, but after the first different packet, other packets are lost. Throughput: zero is in the 95 % \
    interval of the difference, repeat by repeat (t-test of pairs), from 4 repeats on. FCT: zero is in the 95 % interval \
    of the quantiles' difference, by the bootstrap over pairs of the same flow, from 5 expected flows beyond the \
    quantile on (10 flows for the median, 500 for the 99th percentile). Counts: 2·√n, so that 2 and 3 are not 50 % \
    apart. `!` marks errors beyond both. The share *within the goal alone* excuses nothing by chance.\n\
    * Loss is drawn for each packet of a cable in both directions, so acknowledgements are lost, too.\n\
    * **Same start, same chance**: flows that start together are each late by a random `jitter`, the same on both \
    sides, or have cables of different lengths. Otherwise the order within an instant would decide which flow loses \
    packets. Where chance decides anyway (loss, flows that share a path), a point has several repeats, each with its \
    own start times and losses.\n\
    * The receive window grows from 65,160 B to 6 MB on both sides, where a point does not set it.\n\n";

/// Writes the page and its plots to `docs`. `files` are the names of the scenarios.
pub fn write(docs: &Path, files: &BTreeSet<&str>, compared: &[Compared], notes: &[String]) -> Result<(), Failure> {
    let lines: Vec<Line> = compared.iter().flat_map(|one| one.lines.iter().cloned()).collect();
    let mut page = HEAD.to_owned();
    let kernels: BTreeSet<String> =
        compared.iter().map(|one| format!("Linux {} (`{:.12}`)", one.record.linux, one.record.linux_sha256)).collect();
    let kernels: Vec<String> = kernels.into_iter().collect();
    let _ = writeln!(
        page,
        "{} points of {} scenarios, {}.\n\n## Summary\n",
        compared.len(),
        files.len(),
        kernels.join(", ")
    );
    page += &summary(&lines);
    for note in table::folded(notes) {
        let _ = writeln!(page, "* {note}");
    }
    page += "\n";
    page += METHOD;
    page += MISSES;
    page += &plots(docs, compared, &lines)?;
    page += &all(&lines);
    store::write(&docs.join("fidelity.md"), &page)
}

/// Counts by scenario and metric.
fn summary(lines: &[Line]) -> String {
    let goals: Vec<Metric> = Metric::ALL.into_iter().filter(|metric| metric.goal().is_some()).collect();
    let mut text = "Numbers within the goal + within noise / compared:\n\n| scenario |".to_owned();
    for metric in &goals {
        let _ = write!(text, " {metric} ({} %) |", metric.goal().unwrap_or_default() * 100.0);
    }
    text += "\n|---|---|---|---|---|\n";
    let mut families: BTreeMap<&str, Vec<&Line>> = BTreeMap::new();
    for line in lines {
        families.entry(family(&line.point)).or_default().push(line);
    }
    let everything: Vec<&Line> = lines.iter().collect();
    for (family, own) in families.into_iter().chain([("**all**", everything)]) {
        let _ = write!(text, "| {family} |");
        for &metric in &goals {
            let [met, noise, missed] = count(own.iter().copied().filter(|line| line.metric == metric));
            let all = met + noise + missed;
            let _ = if all == 0 { write!(text, " |") } else { write!(text, " {met} + {noise} / {all} |") };
        }
        text += "\n";
    }
    text += "| **within the goal alone** |";
    for &metric in &goals {
        let [met, noise, missed] = count(lines.iter().filter(|line| line.metric == metric));
        let _ = write!(text, "{} |", table::share(met, met + noise + missed));
    }
    text + "\n\n"
}

fn family(point: &str) -> &str {
    point.split(':').next().unwrap_or(point)
}

fn plots(docs: &Path, compared: &[Compared], lines: &[Line]) -> Result<String, Failure> {
    let mut text = "## Plots\n\n".to_owned();
    for metric in Metric::ALL {
        let Some(goal) = metric.goal() else { continue };
        let own = lines.iter().filter(|line| line.metric == metric);
        let rows: Vec<(String, f64)> = own.map(|line| (label(line), line.error)).collect();
        if rows.is_empty() {
            continue;
        }
        let file = format!("{}.svg", metric.name().replace('.', "-"));
        let title = format!("{metric}: error of the model, goal ± {} %", goal * 100.0);
        store::write(&docs.join("fidelity").join(&file), &plot::errors(&title, goal, &rows))?;
        let _ = writeln!(text, "![{title}](fidelity/{file})\n");
    }
    for one in compared.iter().filter(|one| QUICK.contains(&one.point.name.as_str())) {
        for (name, kernel) in &one.record.measured.0 {
            let Some(model) = one.model.0.get(name).filter(|_| !kernel.cwnds.is_empty()) else { continue };
            let title = format!("{}, {name}", one.point.name);
            let longest = kernel.cwnds.iter().map(Vec::len).max().unwrap_or(1).max(1);
            let step = kernel.end_us.first().copied().unwrap_or(0) as f64 / 1e6 / longest as f64;
            let file = |what: &str| {
                format!("{}-{name}-{what}.svg", one.point.name.replace([':', ',', '='], "-").replace('.', "_"))
            };
            let window = plot::paths(&title, "congestion window, kB", step, 1e3, &kernel.cwnds, &model.cwnds);
            let rtt = plot::paths(&title, "smoothed round-trip time, ms", step, 1e3, &kernel.rtts, &model.rtts);
            for (what, svg) in [("cwnd", window), ("rtt", rtt)] {
                let file = file(what);
                store::write(&docs.join("fidelity").join(&file), &svg)?;
                let _ = writeln!(text, "![{title}: {what}](fidelity/{file})\n");
            }
        }
    }
    Ok(text)
}

fn label(line: &Line) -> String {
    let name = line.point.replace("control=", "").replace("buffer=", "");
    if line.traffic == "bulk" || line.traffic == "answers" { name } else { format!("{name} {}", line.traffic) }
}

fn all(lines: &[Line]) -> String {
    let mut text = "## All points\n\nErrors of the model; retransmissions and timeouts as kernel→model.\n\n".to_owned();
    let mut rows = table::cells(lines).into_iter();
    let heads = rows.next().unwrap_or_default();
    let _ = writeln!(text, "| {} |", heads.join(" | "));
    let _ = writeln!(text, "|{}", "---|".repeat(heads.len()));
    for row in rows {
        let _ = writeln!(text, "| {} |", row.join(" | "));
    }
    text
}
