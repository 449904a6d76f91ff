//! Settings for people, and as JSON.

use std::fmt::Write as _;

use headway_scenario::equipment::{Class, Equipment, Link, Marks, NodeKind, StuckFrames, Threshold};
use serde_json::{Value, json};

/// What sends over a cable.
fn sender(link: &Link) -> &'static str {
    if link.from == NodeKind::Host { "hosts" } else { "switches" }
}

fn priorities(all: &[u8]) -> String {
    all.iter().map(u8::to_string).collect::<Vec<_>>().join(" ")
}

fn marks(class: &Class) -> String {
    match class.marks {
        None => "-".to_owned(),
        Some(Marks::Step(at)) => at.get().to_string(),
        Some(Marks::Ramp { min, max, probability }) => {
            format!("{} {}, {} % there", min.get(), max.get(), probability * 100.0)
        }
    }
}

/// What the policy says beside classes.
fn settings(equipment: &Equipment) -> String {
    let own = &equipment.settings;
    let mut text = String::new();
    match own.threshold {
        None => {}
        Some(Threshold::Share { alpha, reserve, offset }) => {
            let _ = writeln!(
                text,
                "A lossless priority of an input has {} B and {alpha} times what is free of the shared buffer; it goes on {} B \
                 below that.",
                reserve.get(),
                offset.get()
            );
        }
        Some(Threshold::Fixed { xoff, xon }) => {
            let _ = writeln!(text, "XOFF is {} B, XON {} B.", xoff.get(), xon.get());
        }
    }
    if let Some(headroom) = own.headroom {
        let short: usize = equipment.links.iter().filter(|link| headroom < link.needed()).map(|link| link.count).sum();
        let _ = writeln!(text, "The policy's headroom is {} B; {short} cables may need more.", headroom.get());
    }
    if let Some(own) = &own.watchdog {
        let frames = if own.action == StuckFrames::Drop { "dropped" } else { "forwarded" };
        let _ = writeln!(
            text,
            "Frames are {frames} after a pause of {}, until there was none for {}.",
            own.detect, own.restore
        );
    }
    if !text.is_empty() {
        text.insert(0, '\n');
    }
    text
}

/// Tables of all settings.
pub fn text(equipment: &Equipment) -> String {
    let chip = equipment.chip.map_or_else(|| "worst cases of IEEE 802.3".to_owned(), |chip| chip.name.to_owned());
    let mut text = format!(
        "Headroom for each lossless priority, {} of {} B packets, in cells of {} ({chip})\n\n",
        if equipment.lossless().len() == 1 { "one" } else { "several" },
        equipment.mtu.get(),
        equipment.cell
    );
    let rows = equipment.links.iter().map(|link| {
        vec![
            sender(link).to_owned(),
            link.rate.to_string(),
            format!("{} m", link.metres()),
            link.count.to_string(),
            link.headroom.get().to_string(),
            link.chip_headroom.map_or_else(|| "-".to_owned(), |bytes| bytes.get().to_string()),
            link.cells.to_string(),
            link.mark.map_or_else(|| "-".to_owned(), |bytes| bytes.get().to_string()),
            link.dctcp.get().to_string(),
            format!("{} {}", link.dcqcn.min.get(), link.dcqcn.max.get()),
        ]
    });
    let names = [
        "from",
        "rate",
        "cable",
        "cables",
        "headroom B",
        "chip's B",
        "cells",
        "marks B",
        "DCTCP mark B",
        "DCQCN min max B",
    ];
    text.push_str(&align(&names, &rows.collect::<Vec<_>>()));
    text.push_str("\nClasses of every port\n\n");
    let rows = equipment.classes.iter().map(|class| {
        let share = if class.strict { "strict".to_owned() } else { format!("{} %", class.share) };
        let lossless = if class.lossless.is_empty() { "-".to_owned() } else { priorities(&class.lossless) };
        let own = priorities(&class.priorities);
        vec![class.number.to_string(), class.name.clone(), own, share, lossless, marks(class)]
    });
    text.push_str(&align(&["number", "class", "priorities", "ETS", "lossless", "marks B"], &rows.collect::<Vec<_>>()));
    text.push_str(&settings(equipment));
    let total: u64 = equipment
        .switches
        .iter()
        .map(|(_, ports)| ports.iter().map(|port| equipment.headroom(&equipment.links[port.link]).get()).sum::<u64>())
        .max()
        .unwrap_or(0)
        * equipment.lossless().len() as u64;
    let _ = writeln!(
        text,
        "\nMarks are for a round trip of {}. The switch with the most headroom needs {total} B of it.\n\
         Marks must come before pauses: an input pauses at XOFF, which is to lie above the marks of the queues that it \
         feeds.",
        equipment.rtt
    );
    text
}

/// Columns as wide as their longest cell, numbers to the left as the rest.
fn align(names: &[&str], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        rows.iter().map(|row| row[column].chars().count()).chain([names[column].chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..names.len()).map(width).collect();
    let line = |cells: Vec<&str>| {
        let cells = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    let head = line(names.to_vec());
    rows.iter().fold(head, |text, row| text + &line(row.iter().map(String::as_str).collect()))
}

/// The same for programs.
pub fn json(equipment: &Equipment) -> Value {
    let links = equipment.links.iter().map(|link| {
        json!({
            "from": sender(link),
            "rate_bps": link.rate.bps(),
            "delay_ps": link.delay.picos(),
            "cable_m": link.metres(),
            "cables": link.count,
            "headroom_bytes": link.headroom.get(),
            "chip_headroom_bytes": link.chip_headroom.map(headway_units::Bytes::get),
            "cells": link.cells,
            "mark_bytes": link.mark.map(headway_units::Bytes::get),
            "pfc_delay_bits": link.delay_bits,
            "dctcp_mark_bytes": link.dctcp.get(),
            "dcqcn_min_bytes": link.dcqcn.min.get(),
            "dcqcn_max_bytes": link.dcqcn.max.get(),
            "dcqcn_probability": link.dcqcn.probability,
        })
    });
    let classes = equipment.classes.iter().map(|class| {
        json!({
            "number": class.number,
            "name": class.name,
            "priorities": class.priorities,
            "strict": class.strict,
            "share_percent": class.share,
            "lossless": class.lossless,
            "marks": class.marks.map(|own| match own {
                Marks::Step(at) => json!({ "min_bytes": at.get(), "max_bytes": at.get(), "probability": 1.0 }),
                Marks::Ramp { min, max, probability } => {
                    json!({ "min_bytes": min.get(), "max_bytes": max.get(), "probability": probability })
                }
            }),
        })
    });
    let own = &equipment.settings;
    let threshold = own.threshold.map(|threshold| match threshold {
        Threshold::Share { alpha, reserve, offset } => {
            json!({ "alpha": alpha, "reserve_bytes": reserve.get(), "offset_bytes": offset.get() })
        }
        Threshold::Fixed { xoff, xon } => json!({ "xoff_bytes": xoff.get(), "xon_bytes": xon.get() }),
    });
    let watchdog = own.watchdog.as_ref().map(|own| {
        json!({
            "detect_ps": own.detect.picos(),
            "restore_ps": own.restore.picos(),
            "action": if own.action == StuckFrames::Drop { "drop" } else { "forward" },
        })
    });
    json!({
        "mtu_bytes": equipment.mtu.get(),
        "cell_bytes": equipment.cell.get(),
        "chip": equipment.chip.map(|chip| chip.name),
        "rtt_ps": equipment.rtt.picos(),
        "links": links.collect::<Vec<_>>(),
        "classes": classes.collect::<Vec<_>>(),
        "threshold": threshold,
        "watchdog": watchdog,
        "headroom_bytes": own.headroom.map(headway_units::Bytes::get),
    })
}
