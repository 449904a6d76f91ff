//! A fragment of SONiC's `config_db.json` for one switch.
//!
//! Tables and fields are those of SONiC's own template (`files/build_templates/qos_config.j2`), its design of headroom that
//! is computed, and its YANG models (`sonic-pfcwd.yang`: times in ms). All values are text there. What depends on the
//! memory of the device is not in it: sizes of `BUFFER_POOL`, profiles of lossy traffic and of what leaves.

use std::collections::{BTreeMap, BTreeSet};

use headway_control::lossless::Ramp;
use headway_scenario::equipment::{
    Class, Equipment, Link, Marks as ClassMarks, NodeKind, Port, StuckFrames, Threshold,
};
use headway_units::{Bytes, Span};
use serde_json::{Map, Value, json};

use super::args::{Marks, PlanArgs};
use crate::failure::Failure;

/// The name of all maps.
const NAME: &str = "HEADWAY";
/// The watchdog's times, ms, if the policy has none: those that SONiC's `pfcwd start_default` takes.
const WATCHDOG_MS: u64 = 200;
/// The longest times that it knows, ms, and the shortest one (`sonic-pfcwd.yang`).
const LONGEST_MS: [u64; 2] = [5_000, 60_000];
const SHORTEST_MS: u64 = 100;
/// A lossless priority may take so many times what is free of the pool: 2 to this (1/8, as RoCE switches have it).
const DYNAMIC: i32 = -3;
/// The exponents that chips have: 1/128 to 64 (what is below and above stands for nothing and all).
const EXPONENTS: std::ops::RangeInclusive<i32> = -7..=6;
/// Names of ports count in steps of this if nobody says otherwise.
const LANES: u32 = 4;

/// The fragment.
pub fn text(equipment: &Equipment, args: &PlanArgs) -> Result<String, Failure> {
    let (name, ports) = if let Some(wanted) = &args.switch {
        equipment.switches.iter().find(|(name, _)| name == wanted).ok_or_else(|| {
            let names: Vec<&str> = equipment.switches.iter().take(8).map(|(name, _)| name.as_str()).collect();
            Failure::usage(format!("there is no switch `{wanted}`")).help(format!("there are {}", names.join(", ")))
        })?
    } else {
        let with_hosts = |(_, ports): &&(String, Vec<Port>)| {
            ports.iter().any(|port| equipment.links[port.link].from == NodeKind::Host)
        };
        let first = equipment.switches.iter().find(with_hosts).or(equipment.switches.first());
        first.ok_or_else(|| Failure::usage("this topology has no switch"))?
    };
    let lanes = args.lanes.unwrap_or(LANES);
    let all = fragment(equipment, ports, lanes, args.marks)?;
    for (place, port) in ports.iter().enumerate() {
        crate::terminal::say(&format!("{name}: {} is the cable to {}", ethernet(place, lanes), port.peer));
    }
    Ok(format!("{all:#}\n"))
}

fn ethernet(place: usize, lanes: u32) -> String {
    format!("Ethernet{}", place as u64 * u64::from(lanes))
}

/// All tables for these ports.
pub fn fragment(equipment: &Equipment, ports: &[Port], lanes: u32, marks: Option<Marks>) -> Result<Value, Failure> {
    let lossless = equipment.lossless();
    let list = lossless.iter().map(u8::to_string).collect::<Vec<_>>().join(",");
    let named = |place: usize| ethernet(place, lanes);
    let with_ports =
        |of: &dyn Fn(&Port) -> Value| object(ports.iter().enumerate().map(|(place, port)| (named(place), of(port))));
    let port_map = json!({
        "dscp_to_tc_map": NAME,
        "tc_to_queue_map": NAME,
        "tc_to_pg_map": NAME,
        "pfc_to_queue_map": NAME,
        "pfc_enable": list,
        "pfcwd_sw_enable": list,
    });
    let mut groups = Map::new();
    let mut queues = Map::new();
    let mut profiles: BTreeMap<String, &Link> = BTreeMap::new();
    let mut ramps: BTreeMap<String, Ramp> = BTreeMap::new();
    for (place, port) in ports.iter().enumerate() {
        let link = &equipment.links[port.link];
        for priority in &lossless {
            groups.insert(format!("{}|{priority}", named(place)), json!({ "profile": profile_name(link) }));
        }
        // names have whole metres and Mb/s: of cables that share one the headroom is that of the longest
        let known = profiles.entry(profile_name(link)).or_insert(link);
        if equipment.headroom(link) > equipment.headroom(known) {
            *known = link;
        }
        for (queue, class) in all_queues(equipment) {
            let mut own = Map::from_iter([("scheduler".to_owned(), json!(format!("scheduler.{queue}")))]);
            if let Some((name, ramp)) = marked(link, class, lossless.contains(&queue), marks) {
                own.insert("wred_profile".to_owned(), json!(name));
                let known = ramps.entry(name).or_insert(ramp);
                if ramp.min < known.min {
                    *known = ramp;
                }
            }
            queues.insert(format!("{}|{queue}", named(place)), Value::Object(own));
        }
    }
    let (mode, threshold) = threshold(equipment)?;
    let watchdog = watchdog(equipment)?;
    let mut all = maps(equipment);
    let rest = json!({
        "PORT_QOS_MAP": with_ports(&|_| port_map.clone()),
        "BUFFER_POOL": { "ingress_lossless_pool": { "type": "ingress", "mode": mode } },
        "BUFFER_PROFILE": object(profiles.into_iter().map(|(name, link)| (name, profile(equipment, link, &threshold)))),
        "BUFFER_PG": groups,
        "CABLE_LENGTH": { "AZURE": with_ports(&|port| json!(format!("{}m", equipment.links[port.link].metres()))) },
        "SCHEDULER": object(all_queues(equipment).map(|(queue, class)| scheduler(equipment, queue, class))),
        "QUEUE": queues,
        "PFC_WD": with_ports(&|_| watchdog.clone()),
    });
    all.extend(rest.as_object().cloned().unwrap_or_default());
    if !ramps.is_empty() {
        all.insert("WRED_PROFILE".to_owned(), object(ramps.iter().map(|(name, ramp)| (name.clone(), wred(ramp)))));
    }
    Ok(Value::Object(all))
}

fn object(all: impl Iterator<Item = (String, Value)>) -> Value {
    Value::Object(all.collect())
}

/// The maps from a DSCP to a queue and a priority group. Traffic classes are the priorities.
fn maps(equipment: &Equipment) -> Map<String, Value> {
    let eight = |of: &dyn Fn(u8) -> u8| object((0..8).map(|own: u8| (own.to_string(), json!(of(own).to_string()))));
    let lossless = equipment.lossless();
    // all that may be lost shares a group that no lossless priority has
    let lossy = (0..8).find(|own| !lossless.contains(own)).unwrap_or(0);
    let group = |own: u8| if lossless.contains(&own) { own } else { lossy };
    let dscp = (0..64_u8).map(|dscp| (dscp.to_string(), json!((dscp >> 3).to_string())));
    let of = |table: &str, map: Value| (table.to_owned(), object([(NAME.to_owned(), map)].into_iter()));
    Map::from_iter([
        of("DSCP_TO_TC_MAP", object(dscp)),
        of("TC_TO_QUEUE_MAP", eight(&|own| queue(equipment, own))),
        of("TC_TO_PRIORITY_GROUP_MAP", eight(&group)),
        of("MAP_PFC_PRIORITY_TO_QUEUE", eight(&|own| own)),
    ])
}

/// The queue of a priority. A lossless one has that of its own number: the watchdog takes bits of `pfcwd_sw_enable` for
/// queues (`pfcwdorch.cpp` of sonic-swss). Others of a class share the queue of one of them.
fn queue(equipment: &Equipment, priority: u8) -> u8 {
    let class = equipment.class_of(priority);
    if class.lossless.contains(&priority) {
        return priority;
    }
    let lossy = || class.priorities.iter().copied().filter(|own| !class.lossless.contains(own));
    // strict queues go by number
    if class.strict { lossy().max() } else { lossy().min() }.unwrap_or(priority)
}

/// All queues that are used, with their classes.
fn all_queues(equipment: &Equipment) -> impl Iterator<Item = (u8, &Class)> {
    let all: BTreeSet<u8> = (0..8).map(|own| queue(equipment, own)).collect();
    all.into_iter().map(|queue| (queue, equipment.class_of(queue)))
}

/// Queues of a class have equal parts of its share.
fn scheduler(equipment: &Equipment, queue: u8, class: &Class) -> (String, Value) {
    let own = if class.strict {
        json!({ "type": "STRICT" })
    } else {
        let queues = all_queues(equipment).filter(|(_, other)| other.number == class.number).count() as u32;
        json!({ "type": "DWRR", "weight": (class.share / queues.max(1)).max(1).to_string() })
    };
    (format!("scheduler.{queue}"), own)
}

/// As SONiC names profiles that it makes itself: rate in Mb/s and cable.
fn profile_name(link: &Link) -> String {
    format!("pg_lossless_{}_{}m_profile", link.rate.bps() / 1_000_000, link.metres())
}

/// When a priority group asks for a pause.
struct Pauses {
    /// It goes on at this, which it has for itself; the chip's pipeline or two full frames if there is none here.
    xon: Option<Bytes>,
    /// What a profile has beside that.
    fields: Vec<(&'static str, String)>,
}

/// The mode of the pool, and the thresholds of its profiles.
fn threshold(equipment: &Equipment) -> Result<(&'static str, Pauses), Failure> {
    match equipment.settings.threshold {
        None => Ok(("dynamic", Pauses { xon: None, fields: vec![("dynamic_th", DYNAMIC.to_string())] })),
        // what is shared comes after what a group has for itself
        Some(Threshold::Fixed { xoff, xon }) => {
            let fields = vec![("static_th", xoff.saturating_sub(xon).get().to_string())];
            Ok(("static", Pauses { xon: Some(xon), fields }))
        }
        Some(Threshold::Share { alpha, reserve, offset }) => {
            let exponent = alpha.log2().floor() as i32;
            if !EXPONENTS.contains(&exponent) {
                let text = format!("`buffer.alpha` of {alpha} is none that chips have: they have 1/128 to 64");
                return Err(Failure::usage(text));
            }
            if 2_f64.powi(exponent) < alpha {
                crate::terminal::say(&format!("alpha is 2^{exponent}: chips have powers of two, and not {alpha}"));
            }
            let mut fields = vec![("dynamic_th", exponent.to_string())];
            if equipment.chip.is_none() {
                fields.push(("xon_offset", offset.get().to_string()));
            }
            // a chip's pipeline is what its groups have
            Ok(("dynamic", Pauses { xon: equipment.chip.is_none().then_some(reserve), fields }))
        }
    }
}

/// What a lossless priority of an input has for itself: headroom, and room up to XON.
fn profile(equipment: &Equipment, link: &Link, pauses: &Pauses) -> Value {
    let headroom = equipment.headroom(link).get();
    let default = || equipment.chip.map_or(2 * (equipment.mtu.get() + 18), |chip| chip.pipeline.get());
    let xon = pauses.xon.map_or_else(default, Bytes::get);
    let mut all = json!({
        "pool": "ingress_lossless_pool",
        "xon": xon.to_string(),
        "xoff": headroom.to_string(),
        "size": xon.saturating_add(headroom).to_string(),
    });
    for (field, value) in &pauses.fields {
        all[*field] = json!(value);
    }
    all
}

/// The watchdog's times, in whole ms.
fn watchdog(equipment: &Equipment) -> Result<Value, Failure> {
    let Some(own) = &equipment.settings.watchdog else {
        let time = WATCHDOG_MS.to_string();
        return Ok(json!({ "action": "drop", "detection_time": time, "restoration_time": time }));
    };
    let time = |key: &str, span: Span, longest: u64| {
        let time = span.picos().div_ceil(Span::from_millis(1).picos());
        if (SHORTEST_MS..=longest).contains(&time) {
            return Ok(time.to_string());
        }
        let text = format!("`watchdog.{key}` of {span} is none that SONiC has: {SHORTEST_MS} to {longest} ms");
        Err(Failure::usage(text).help("change it with --set, or leave the watchdog out of the policy for 200 ms"))
    };
    Ok(json!({
        "action": if own.action == StuckFrames::Drop { "drop" } else { "forward" },
        "detection_time": time("detect", own.detect, LONGEST_MS[0])?,
        "restoration_time": time("restore", own.restore, LONGEST_MS[1])?,
    }))
}

/// The marks of a queue with their name: those for `wanted`, otherwise the class's, the topology's, or DCQCN's.
fn marked(link: &Link, class: &Class, lossless: bool, wanted: Option<Marks>) -> Option<(String, Ramp)> {
    let rate = link.rate.bps() / 1_000_000;
    let step = |at: Bytes| Ramp { min: at, max: at, probability: 1.0 };
    let by_rate = |ramp: Ramp| lossless.then(|| (format!("{NAME}_{rate}"), ramp));
    match (wanted, class.marks, link.mark) {
        (Some(Marks::None), ..) => None,
        (Some(Marks::Dctcp), ..) => by_rate(step(link.dctcp)),
        (Some(Marks::Dcqcn), ..) | (None, None, None) => by_rate(link.dcqcn),
        (None, Some(own), _) => {
            let ramp = match own {
                ClassMarks::Step(at) => step(at),
                ClassMarks::Ramp { min, max, probability } => Ramp { min, max, probability },
            };
            Some((format!("{NAME}_CLASS_{}", class.number), ramp))
        }
        (None, None, Some(at)) => Some((format!("{NAME}_TOPOLOGY_{rate}"), step(at))),
    }
}

/// Marks of what leaves; a chance is in whole percent, and 1 at least if there is one.
fn wred(ramp: &Ramp) -> Value {
    let least = if ramp.probability > 0.0 { 1.0 } else { 0.0 };
    json!({
        "ecn": "ecn_all",
        "wred_green_enable": "true",
        "green_min_threshold": ramp.min.get().to_string(),
        "green_max_threshold": ramp.max.get().to_string(),
        "green_drop_probability": format!("{:.0}", (ramp.probability * 100.0).max(least)),
    })
}
