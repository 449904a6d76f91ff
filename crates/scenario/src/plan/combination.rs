//! Which parts of a transport can be combined on modelled hosts.

use headway_control::congestion::AnyController;
use headway_transport::{Pacing, Profile};

use super::error::PlanError;
use crate::schema::{ReceiveWindow, Recovery, TransportRecord};
use crate::stack::Repair;

/// Checks `transport`, which is `own` with `control` and stands at `at`.
pub(super) fn check(
    transport: &TransportRecord,
    own: &Profile,
    control: &AnyController,
    at: &[&str],
) -> Result<(), PlanError> {
    let fault = |key: &str, message: String| PlanError::new(&[at, &[key]].concat(), message);
    without_sack(transport, at)?;
    let name = control.name();
    if !own.recovery.is_linux() && (control.manages_cwnd() || control.wants_delivery()) {
        let needs = if control.manages_cwnd() { "sets its window itself" } else { "measures delivery" };
        let message = format!("`{name}` {needs}, which a sender by the letter of the RFCs has no place for");
        return Err(fault("control", message).help("stack = \"linux\", or recovery = \"rack\""));
    }
    if control.dctcp_ecn() && !own.ecn {
        let message = format!("`{name}` counts marks, and without ECN no packet is marked");
        return Err(fault("ecn", message).help("put ecn = true into the transport"));
    }
    if own.offload.is_none() && transport.small_queues == Some(true) {
        let message = "`small-queues` needs `segmentation-offload`: it holds bursts back";
        return Err(
            fault("small-queues", message.to_owned()).help("segmentation-offload = \"65160B\", as Linux has it")
        );
    }
    if own.max_pacing_rate.is_some() && own.pacing == Pacing::Control && !control.manages_cwnd() {
        let message = format!("`max-pacing-rate` limits what is paced, and `{name}` paces nothing by itself");
        return Err(fault("max-pacing-rate", message).help("leave `pacing` out, or put pacing = \"always\""));
    }
    if own.delayed_ack.compression && !own.delayed_ack.adaptive {
        let message = "`compression` of acknowledgements needs `adaptive`, whose rules it is one of";
        return Err(
            PlanError::new(&[at, &["delayed-ack", "compression"]].concat(), message.to_owned()).help("adaptive = true")
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

/// `recovery = "new-reno"`: rejects parts that need selective acknowledgements.
fn without_sack(transport: &TransportRecord, at: &[&str]) -> Result<(), PlanError> {
    let repair = Repair::of(transport);
    let needing = repair.needing_sack();
    if repair.recovery != Recovery::NewReno || needing.is_empty() {
        return Ok(());
    }
    // the place is a key of the file, not one that the stack brings along
    let of_stack = Repair::of_stack(transport.stack).needing_sack();
    let written = needing.iter().find(|part| !of_stack.contains(part)).map(|(key, _)| *key);
    let message = if let Some(key) = written {
        format!("`{key}` needs selective acknowledgements, and recovery = \"new-reno\" has none")
    } else {
        let keys: Vec<String> = needing.iter().map(|(key, _)| format!("`{key}`")).collect();
        format!(
            "recovery = \"new-reno\" has no selective acknowledgements, and stack = \"{}\" has {}, which {} them",
            transport.stack.as_str(),
            keys.join(", "),
            if keys.len() == 1 { "needs" } else { "need" }
        )
    };
    let off: Vec<&str> = needing.iter().map(|(_, without)| *without).collect();
    Err(PlanError::new(&[at, &[written.unwrap_or("recovery")]].concat(), message)
        .help(format!("recovery = \"sack\" or \"rack\"; or {}", off.join(", "))))
}
