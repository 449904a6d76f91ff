//! A fragment of SONiC's `config_db.json` for one switch.
//!
//! Tables and fields are those of SONiC's own template (`files/build_templates/qos_config.j2`), its design of headroom that
//! is computed, and its YANG models (`sonic-pfcwd.yang`: times in ms). All values are text there. What depends on the
//! memory of the device is not in it: sizes of `BUFFER_POOL`, profiles of lossy traffic and of what leaves.

use headway_scenario::equipment::{Equipment, NodeKind, Port};
use serde_json::{Map, Value, json};

use super::args::{Marks, PlanArgs};
use crate::failure::Failure;

/// The name of all maps.
const NAME: &str = "HEADWAY";
/// The watchdog's times, ms: those that SONiC's `pfcwd start_default` takes.
const WATCHDOG_MS: &str = "200";
/// A lossless priority may take so many times what is free of the pool: 2 to this (1/8, as RoCE switches have it).
const DYNAMIC: &str = "-3";

/// The fragment.
pub fn text(equipment: &Equipment, args: &PlanArgs) -> Result<String, Failure> {
    let (name, ports) = match &args.switch {
        Some(wanted) => equipment.switches.iter().find(|(name, _)| name == wanted).ok_or_else(|| {
            let names: Vec<&str> = equipment.switches.iter().take(8).map(|(name, _)| name.as_str()).collect();
            Failure::usage(format!("there is no switch `{wanted}`")).help(format!("there are {}", names.join(", ")))
        })?,
        None => {
            let with_hosts = |(_, ports): &&(String, Vec<Port>)| {
                ports.iter().any(|port| equipment.links[port.link].from == NodeKind::Host)
            };
            let first = equipment.switches.iter().find(with_hosts).or(equipment.switches.first());
            first.ok_or_else(|| Failure::usage("this topology has no switch"))?
        }
    };
    for (place, port) in ports.iter().enumerate() {
        crate::terminal::say(&format!("{name}: {} is the cable to {}", ethernet(place, args.lanes), port.peer));
    }
    Ok(format!("{:#}\n", fragment(equipment, ports, args.lanes, args.marks)))
}

fn ethernet(place: usize, lanes: u32) -> String {
    format!("Ethernet{}", place as u64 * u64::from(lanes))
}

/// All tables for these ports.
pub fn fragment(equipment: &Equipment, ports: &[Port], lanes: u32, marks: Marks) -> Value {
    let queue = |priority: u8| equipment.class_of(priority).number.to_string();
    let object = |all: &mut dyn Iterator<Item = (String, Value)>| Value::Object(all.collect::<Map<String, Value>>());
    let text = |value: String| Value::String(value);
    let lossless = equipment.lossless();
    let list = lossless.iter().map(u8::to_string).collect::<Vec<_>>().join(",");
    let named = |place: usize| ethernet(place, lanes);
    let with_ports = |of: &dyn Fn(&Port) -> Value| {
        object(&mut ports.iter().enumerate().map(|(place, port)| (named(place), of(port))))
    };
    // traffic classes are the priorities; a priority group for each lossless one, 0 for all others
    let group = |own: u8| if lossless.contains(&own) { own } else { 0 };
    let eight = |of: &dyn Fn(u8) -> String| object(&mut (0..8).map(|own: u8| (own.to_string(), text(of(own)))));
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
    for (place, port) in ports.iter().enumerate() {
        for priority in &lossless {
            groups.insert(format!("{}|{priority}", named(place)), json!({ "profile": profile_name(equipment, port) }));
        }
        for class in &equipment.classes {
            let mut own = Map::from_iter([("scheduler".to_owned(), json!(format!("scheduler.{}", class.number)))]);
            if class.lossless && marks != Marks::None {
                own.insert("wred_profile".to_owned(), json!(marks_name(equipment, port)));
            }
            queues.insert(format!("{}|{}", named(place), class.number), Value::Object(own));
        }
    }
    let scheduler = |class: &headway_scenario::equipment::Class| {
        let own = if class.strict {
            json!({ "type": "STRICT" })
        } else {
            json!({ "type": "DWRR", "weight": class.share.max(1).to_string() })
        };
        (format!("scheduler.{}", class.number), own)
    };
    let mut all = json!({
        "DSCP_TO_TC_MAP": { NAME: object(&mut (0..64_u8).map(|dscp| (dscp.to_string(), text((dscp >> 3).to_string())))) },
        "TC_TO_QUEUE_MAP": { NAME: eight(&queue) },
        "TC_TO_PRIORITY_GROUP_MAP": { NAME: eight(&|own| group(own).to_string()) },
        "MAP_PFC_PRIORITY_TO_QUEUE": { NAME: eight(&queue) },
        "PORT_QOS_MAP": with_ports(&|_| port_map.clone()),
        "BUFFER_POOL": { "ingress_lossless_pool": { "type": "ingress", "mode": "dynamic" } },
        "BUFFER_PROFILE": object(&mut ports.iter().map(|port| (profile_name(equipment, port), profile(equipment, port)))),
        "BUFFER_PG": Value::Object(groups),
        "CABLE_LENGTH": { "AZURE": with_ports(&|port| json!(format!("{}m", equipment.links[port.link].metres()))) },
        "SCHEDULER": object(&mut equipment.classes.iter().map(scheduler)),
        "QUEUE": Value::Object(queues),
        "PFC_WD": with_ports(&|_| {
            json!({ "action": "drop", "detection_time": WATCHDOG_MS, "restoration_time": WATCHDOG_MS })
        }),
    });
    if marks != Marks::None {
        all["WRED_PROFILE"] =
            object(&mut ports.iter().map(|port| (marks_name(equipment, port), wred(equipment, port, marks))));
    }
    all
}

/// As SONiC names profiles that it makes itself: rate in Mb/s and cable.
fn profile_name(equipment: &Equipment, port: &Port) -> String {
    let link = &equipment.links[port.link];
    format!("pg_lossless_{}_{}m_profile", link.rate.bps() / 1_000_000, link.metres())
}

/// What a lossless priority of an input has for itself: headroom, and room up to XON.
fn profile(equipment: &Equipment, port: &Port) -> Value {
    let headroom = equipment.links[port.link].chosen().get();
    // without a chip's constants: two full frames
    let xon = equipment.chip.map_or(2 * (equipment.mtu.get() + 18), |chip| chip.pipeline.get());
    json!({
        "pool": "ingress_lossless_pool",
        "xon": xon.to_string(),
        "xoff": headroom.to_string(),
        "size": (xon + headroom).to_string(),
        "dynamic_th": DYNAMIC,
    })
}

fn marks_name(equipment: &Equipment, port: &Port) -> String {
    format!("{NAME}_{}", equipment.links[port.link].rate.bps() / 1_000_000)
}

/// Marks of what leaves at the rate of the port's cable.
fn wred(equipment: &Equipment, port: &Port, marks: Marks) -> Value {
    let link = &equipment.links[port.link];
    let (min, max, percent) = match marks {
        Marks::Dctcp => (link.dctcp.get(), link.dctcp.get(), 100.0),
        Marks::Dcqcn | Marks::None => (link.dcqcn.min.get(), link.dcqcn.max.get(), link.dcqcn.probability * 100.0),
    };
    json!({
        "ecn": "ecn_all",
        "wred_green_enable": "true",
        "green_min_threshold": min.to_string(),
        "green_max_threshold": max.to_string(),
        "green_drop_probability": format!("{percent:.0}"),
    })
}
