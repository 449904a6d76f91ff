//! Warnings as sentences.

use headway_results::{Output, SweepPoint, Warning};

use crate::summary::count;
use crate::waits::time;
use crate::{counted, harmless};

/// `warning` as a sentence without a full stop.
pub fn warning(warning: &Warning) -> String {
    let frames = |n: &u64| counted(*n as usize, "frame");
    // the last words of a program, behind a colon
    let said = |line: &str| if line.is_empty() { String::new() } else { format!(": {line}") };
    let text = match warning {
        Warning::Unfinished { traffic, touched, cells, policy, sweep, unfinished, flows, stuck } => {
            let at = if sweep.is_empty() { String::new() } else { format!(" at {sweep}") };
            let advice = match stuck {
                0 => "a longer `drain` gives them time".to_owned(),
                _ => format!(
                    "{} in all runs got nothing any more (behind paused ports or a link that is down), for which a \
                     longer `drain` does nothing",
                    counted(*stuck as usize, "flow")
                ),
            };
            format!(
                "traffic {traffic}: not all flows finished in {touched} of {cells} cells, worst with policy \
                 {policy}{at}: {} of {} flows in a run; {advice}",
                count(*unfinished),
                count(*flows),
            )
        }
        Warning::Reset { traffic, flows, runs } => {
            let (flows, runs) = (counted(*flows as usize, "flow"), counted(*runs as usize, "run"));
            format!("traffic {traffic}: {flows} in {runs} did not finish, reset because a relay crashed")
        }
        Warning::Failed { traffic, reason, flows } => {
            format!("{} of `{traffic}` failed: {reason}", counted(*flows as usize, "flow"))
        }
        Warning::CardOverruns(n) => {
            format!("{} found no buffer in the network card of a kernel host and were dropped", frames(n))
        }
        Warning::Astray(n) => format!("{} of kernel hosts went to addresses that nobody has", frames(n)),
        Warning::RingFull(n) => {
            format!("{} found the receive ring of a modelled host full and were dropped", frames(n))
        }
        Warning::BacklogFull(n) => {
            format!("{} found the backlog of a core of a modelled host full and were dropped", frames(n))
        }
        Warning::PacingQueueFull(n) => {
            format!("{} found the queue of a card that paces full and were dropped", frames(n))
        }
        Warning::HeadroomFull(n) => {
            format!("{} of lossless priorities found the headroom full and were dropped", frames(n))
        }
        Warning::SynsDropped(n) => {
            format!("servers had no place for {n} SYNs and dropped them, which clients send again after a time-out")
        }
        Warning::AcceptQueueFull(n) => {
            format!("the accept queue of a server was full {n} times when a handshake ended, and the end was dropped")
        }
        Warning::Refused(n) => format!("servers whose accept queue was full reset {n} connections"),
        Warning::Deadlock { count, at, policy, ports } => {
            let times = if *count == 1 { "once".to_owned() } else { format!("{count} times") };
            format!(
                "paused ports waited for each other in a circle {times}, first with policy {policy} at {at}: {ports}"
            )
        }
        Warning::CommandFailed { traffic, host, code, more, line } => {
            let more = if *more == 0 { String::new() } else { format!(", and {more} more like it") };
            format!("the command of `{traffic}` on `{host}` ended with code {code}{more}{}", said(line))
        }
        Warning::DaemonEnded { daemon, host, at, code, more, line } => {
            let more = if *more == 0 { String::new() } else { format!(", and in {more} more runs") };
            format!("the daemon `{daemon}` of `{host}` ended at {at} with code {code}{more}{}", said(line))
        }
        Warning::OutputCut { traffic } => {
            let most = Output::MAX_KEPT / 1_000_000;
            format!("a command of `{traffic}` wrote more than {most} MB, of which the rest is not kept")
        }
        Warning::CaptureCut { name, at, more } => {
            let more = if *more == 0 { String::new() } else { format!(", and {} more", counted(*more, "capture")) };
            format!("the capture of {name} ends at {at}{more}: a file has 1 GB at most")
        }
        Warning::Unmarked { .. } | Warning::HostQueue { .. } => of_queues(warning),
        Warning::Machine(text) => text.clone(),
        Warning::NotKept { name } => {
            format!("the results do not hold {name}, which the scenario names; running scenario.toml again needs it")
        }
    };
    harmless(&text)
}

/// Warnings of queues.
fn of_queues(warning: &Warning) -> String {
    let at = |sweep: &SweepPoint| if sweep.is_empty() { String::new() } else { format!(" at {sweep}") };
    match warning {
        Warning::Unmarked { policy, sweep, traffics, port, more } => {
            let names: Vec<String> = traffics.iter().map(|name| format!("`{name}`")).collect();
            let (ports, verb) = match more {
                0 => (format!("the queue of {port}"), "does"),
                more => (format!("the queues of {port} and {}", counted(*more, "more port")), "do"),
            };
            format!(
                "policy {policy}{}: flows of {} act on ECN marks, and {ports} on their way {verb} not mark: congestion \
                 there is seen by losses alone (`mark` of the queue, or `ecn` of one that has it)",
                at(sweep),
                names.join(", ")
            )
        }
        Warning::HostQueue { touched, cells, policy, sweep, port, mean, share } => format!(
            "packets waited mostly in hosts' own queues in {touched} of {cells} cells, most with policy {policy}{}: {:.0} % of \
             all waiting, {} a packet at {port}; the answer may be about that queue (`topology.host-queue`), not about the \
             network",
            at(sweep),
            share * 100.0,
            time(*mean)
        ),
        _ => unreachable!("the caller knows"),
    }
}
