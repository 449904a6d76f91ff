//! Which parts of a transport can be combined on modelled hosts.
//!
//! Loss recovery comes in two sorts: by the letter of RFC 6582 and RFC 6675, and as Linux does it, all of it by selective
//! acknowledgements (`headway_transport::Modern`). Any part of the second makes a sender one of that sort.

use headway_control::congestion::AnyController;
use headway_transport::{Modern, Profile, Recovery, Reduction, Stack};

use super::error::PlanError;
use crate::schema::{ReceiveWindow, TransportRecord};
use crate::stack::modern;

/// A part of [`Modern`].
type PartOf = (&'static str, fn(&Modern) -> bool, &'static str);

/// The parts of [`Modern`]: their keys, whether they are as senders without selective acknowledgements can have them, and
/// what to write for that.
const PARTS: [PartOf; 4] = [
    ("reduction", |m| m.reduction != Reduction::Halving, "reduction = \"at-once\""),
    ("tail-loss-probe", |m| !m.tail_loss_probe, "tail-loss-probe = false"),
    ("f-rto", |m| !m.f_rto, "f-rto = false"),
    ("undo", |m| !m.undo, "undo = false"),
];

/// Checks `transport`, which is `own` with `control` and stands at `at`.
pub(super) fn check(
    transport: &TransportRecord,
    own: &Profile,
    control: &AnyController,
    at: &[&str],
) -> Result<(), PlanError> {
    let fault = |key: &str, message: String| PlanError::new(&[at, &[key]].concat(), message);
    if own.recovery == Recovery::NewReno {
        without_reports(transport, own, at)?;
    }
    let name = control.name();
    if own.modern.is_none() && (control.owns_window() || control.wants_delivery()) {
        let needs = if control.owns_window() { "sets its window itself" } else { "measures delivery" };
        let message = format!("`{name}` {needs}, which a sender by the letter of the RFCs has no place for");
        return Err(fault("control", message).help("stack = \"linux\", or recovery = \"rack\""));
    }
    if control.counts_marks() && !own.ecn {
        let message = format!("`{name}` counts marks, and without ECN no packet is marked");
        return Err(fault("ecn", message).help("put ecn = true into the transport"));
    }
    if own.offload.is_none() && transport.small_queues == Some(true) {
        let message = "`small-queues` needs `segmentation-offload`: it holds bursts back";
        return Err(
            fault("small-queues", message.to_owned()).help("segmentation-offload = \"65160B\", as Linux has it")
        );
    }
    if let Some(ReceiveWindow::Growing(window)) = &transport.receive_window
        && window.initial > window.most
    {
        let (Some(initial), Some(most)) = (window.initial, window.most) else { return Ok(()) };
        let message = format!("a receive window that begins with {initial} cannot grow to {most}");
        return Err(fault("receive-window", message).help("make `initial` at most `most`"));
    }
    Ok(())
}

/// `recovery = "new-reno"`: without selective acknowledgements there is the letter alone.
fn without_reports(transport: &TransportRecord, own: &Profile, at: &[&str]) -> Result<(), PlanError> {
    let given = modern(own);
    let stacks = modern(&Stack::from(transport.stack).profile());
    let needing: Vec<_> = PARTS.iter().filter(|(_, letter, _)| !letter(&given)).collect();
    if needing.is_empty() {
        return Ok(());
    }
    // the place is what the file says, not what the stack brings along
    let written = needing.iter().find(|(_, letter, _)| letter(&stacks)).map(|(key, ..)| *key);
    let keys: Vec<String> = needing.iter().map(|(key, ..)| format!("`{key}`")).collect();
    let message = match written {
        Some(key) => format!("`{key}` needs selective acknowledgements, and recovery = \"new-reno\" has none"),
        None => format!(
            "recovery = \"new-reno\" has no selective acknowledgements, and stack = \"{}\" has {}, which {} them",
            transport.stack.as_str(),
            keys.join(", "),
            if keys.len() == 1 { "needs" } else { "need" }
        ),
    };
    let off: Vec<&str> = needing.iter().map(|(.., letter)| *letter).collect();
    let key = written.unwrap_or("recovery");
    Err(PlanError::new(&[at, &[key]].concat(), message)
        .help(format!("recovery = \"sack\" or \"rack\"; or {}", off.join(", "))))
}
