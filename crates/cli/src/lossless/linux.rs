//! Commands for the cards of Linux hosts: `dcb` of iproute2.
//!
//! A card sends into classes (`ets`), obeys and asks for pauses (`pfc`), and keeps what comes in (`buffer`). Priorities
//! follow from the DSCP (`app`): class selectors, whose upper three bits are the priority.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use headway_scenario::equipment::{Equipment, Link, NodeKind};

use crate::failure::Failure;

/// What `delay` of `dcb pfc` has room for (an unsigned 16-bit number in dcbnl).
const MOST_DELAY: u64 = u16::MAX as u64;
/// Lossless priorities with a buffer each, of eight: the first one is that of all others.
const MOST_LOSSLESS: usize = 7;
/// The longest name of a device (`IFNAMSIZ`, with its end).
const LONGEST_NAME: usize = 15;

/// The commands for each kind of card.
pub fn commands(equipment: &Equipment, device: &str) -> Result<String, Failure> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.:@".contains(c);
    if device.is_empty() || device.len() > LONGEST_NAME || !device.chars().all(plain) {
        return Err(Failure::usage(format!("--device `{device}` is no name of a card"))
            .help("1 to 15 letters, digits and -_.:@, such as eth0"));
    }
    if equipment.lossless().len() > MOST_LOSSLESS {
        let text = "eight lossless priorities have no eight buffers beside that of all others";
        return Err(Failure::usage(text).help("cards have buffers 0 to 7: name seven priorities at most"));
    }
    let mut cards: BTreeMap<(u64, u64), &Link> = BTreeMap::new();
    for link in equipment.links.iter().filter(|link| link.from == NodeKind::Host) {
        cards.insert((link.rate.bps(), link.delay.picos()), link);
    }
    if cards.is_empty() {
        return Err(Failure::usage("no host of this topology has a cable to a switch, so no card is set"));
    }
    let mut text = String::new();
    for link in cards.into_values() {
        let _ = writeln!(text, "# {} hosts at {}, {} m", link.count, link.rate, link.metres());
        text.push_str(&card(equipment, link, device));
    }
    Ok(text)
}

fn card(equipment: &Equipment, link: &Link, device: &str) -> String {
    let map = |all: Vec<(String, String)>| {
        all.into_iter().map(|(key, value)| format!("{key}:{value}")).collect::<Vec<_>>().join(" ")
    };
    let each = |value: &dyn Fn(u8) -> String| map((0..8).map(|own| (own.to_string(), value(own))).collect());
    let classes = &equipment.classes;
    let kinds =
        classes.iter().map(|own| (own.number.to_string(), if own.strict { "strict" } else { "ets" }.to_owned()));
    let shares = classes.iter().map(|own| (own.number.to_string(), own.share.to_string()));
    let mut text = format!(
        "dcb ets set dev {device} willing off tc-tsa all:strict {} tc-bw all:0 {} prio-tc {}\n",
        map(kinds.collect()),
        map(shares.collect()),
        each(&|own| equipment.class_of(own).number.to_string()),
    );
    let lossless = equipment.lossless();
    let on = lossless.iter().map(|own| (own.to_string(), "on".to_owned()));
    let _ = write!(text, "dcb pfc set dev {device} prio-pfc all:off {}", map(on.collect()));
    if link.delay_bits <= MOST_DELAY {
        let _ = writeln!(text, " delay {}", link.delay_bits);
    } else {
        let _ = writeln!(text, "\n# delay: {} bits are more than dcb can say ({MOST_DELAY})", link.delay_bits);
    }
    // a card does not have the chip of the switches
    let headroom = equipment.settings.headroom.unwrap_or(link.headroom);
    let buffers =
        lossless.iter().zip(1..).map(|(_, buffer): (&u8, u8)| (buffer.to_string(), headroom.get().to_string()));
    let of = |own: u8| lossless.iter().position(|one| *one == own).map_or(0, |place| place + 1);
    let _ = writeln!(
        text,
        "dcb buffer set dev {device} prio-buffer {} buffer-size {}",
        each(&|own| of(own).to_string()),
        map(buffers.collect()),
    );
    for priority in 0..8_u8 {
        let _ = writeln!(text, "dcb app replace dev {device} dscp-prio {}:{priority}", priority << 3);
    }
    text
}
