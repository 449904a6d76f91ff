//! `headway cost`.

use std::fmt::Write as _;

use headway_input::{ReadError, read_given};
use headway_scenario::cost::{
    DEFAULT_PRICES, DEFAULT_PRICES_NAME, Design, Estimate, PriceList, Published, fewest_levels, published, smallest_k,
    smallest_n,
};
use headway_scenario::{decode, unread};
use serde_json::{Value, json};

use crate::args::{CostArgs, CostTopology};
use crate::failure::Failure;
use crate::terminal;

/// The FatTree of 48-port switches: the size that the thesis and Al-Fares et al. work out.
const USUAL_HOSTS: u64 = 27_648;
/// A list of prices has at most so many bytes.
const LARGEST_PRICES: u64 = 4_000_000;

const ALL: [CostTopology; 5] = [
    CostTopology::FatTree,
    CostTopology::DualHomedFatTree,
    CostTopology::MultiHomedFatTree,
    CostTopology::Bcube,
    CostTopology::LeafSpine,
];

pub fn cost(args: &CostArgs) -> Result<(), Failure> {
    if args.show_prices {
        return terminal::data(DEFAULT_PRICES);
    }
    let list = price_list(args)?;
    let topologies = topologies(args)?;
    let sizes = sizes(args);
    let mut rows = Vec::new();
    for &hosts in &sizes {
        let row = topologies.iter().map(|&topology| {
            let design = design(topology, args, hosts)?;
            let estimate = Estimate::new(design, &list).map_err(|error| Failure::usage(error.to_string()))?;
            Ok((topology, design, estimate))
        });
        rows.push((hosts, row.collect::<Result<Vec<_>, Failure>>()?));
    }
    if args.json {
        let all = rows.iter().flat_map(|(hosts, row)| row.iter().map(|one| as_json(*hosts, one, &list)));
        return terminal::data(&format!("{}\n", all.collect::<Value>()));
    }
    let mut text = if rows.len() == 1 { String::new() } else { table(&rows, &list) };
    if let [(_, row)] = rows.as_slice() {
        for (index, one) in row.iter().enumerate() {
            text.push_str(if index > 0 { "\n" } else { "" });
            text.push_str(&block(one, &list));
        }
    }
    terminal::data(&text)
}

fn price_list(args: &CostArgs) -> Result<PriceList, Failure> {
    let Some(path) = &args.prices else { return Ok(PriceList::parse(DEFAULT_PRICES, DEFAULT_PRICES_NAME)?) };
    let name = path.display().to_string();
    let bytes = read_given(path, LARGEST_PRICES).map_err(|error| match error {
        ReadError::Size { most } => Failure::from(unread(&name, format!("a price list has at most {most} bytes"))),
        error => Failure::usage(format!("cannot read {name}: {error}")),
    })?;
    let text = decode(&name, bytes)?;
    Ok(PriceList::parse(&text, &name)?)
}

/// What is asked for: by name, or else by the keys that say a size. A key that none of them has is an error.
fn topologies(args: &CostArgs) -> Result<Vec<CostTopology>, Failure> {
    let keys = [
        ("--k", args.k.is_some(), &ALL[..3], true),
        ("--n", args.n.is_some(), &ALL[3..4], args.hosts.is_none()),
        ("--levels", args.levels.is_some(), &ALL[3..4], args.hosts.is_none()),
        ("--leaves", args.leaves.is_some(), &ALL[4..], true),
        ("--spines", args.spines.is_some(), &ALL[4..], false),
        ("--hosts-per-leaf", args.hosts_per_leaf.is_some(), &ALL[4..], false),
    ];
    let given = || keys.iter().filter(|(_, given, ..)| *given);
    let mut chosen: Vec<CostTopology> =
        ALL.into_iter().filter(|one| args.topology.is_empty() || args.topology.contains(one)).collect();
    if args.topology.is_empty() && given().any(|&(.., size)| size) {
        chosen.retain(|one| given().any(|(_, _, of, size)| *size && of.contains(one)));
    }
    for (key, _, of, _) in given() {
        if !of.iter().any(|one| chosen.contains(one)) {
            let names: Vec<&str> = of.iter().map(|&one| name(one)).collect();
            return Err(Failure::usage(format!("{key} says nothing of what is asked for"))
                .help(format!("it is for {}", names.join(", "))));
        }
    }
    Ok(chosen)
}

/// Numbers of hosts; none where sizes are given otherwise. A range has its ends and the sizes of fat-trees between.
fn sizes(args: &CostArgs) -> Vec<Option<u64>> {
    let by_size = args.k.is_some() || args.leaves.is_some() || args.n.is_some() || args.levels.is_some();
    match args.hosts {
        None if by_size => vec![None],
        None => vec![Some(USUAL_HOSTS)],
        Some((from, to)) if from == to => vec![Some(from)],
        Some((from, to)) => {
            let trees = (smallest_k(from)..=smallest_k(to)).step_by(2).map(|k| u64::from(k).pow(3) / 4);
            let between = trees.filter(|&hosts| from < hosts && hosts < to);
            [from].into_iter().chain(between).chain([to]).map(Some).collect()
        }
    }
}

fn design(topology: CostTopology, args: &CostArgs, hosts: Option<u64>) -> Result<Design, Failure> {
    let needs = |keys: &str| Failure::usage(format!("{} needs {keys}, or --hosts", name(topology)));
    let k = || hosts.map(smallest_k).or(args.k).ok_or_else(|| needs("--k"));
    Ok(match topology {
        CostTopology::FatTree => Design::FatTree { k: k()? },
        CostTopology::DualHomedFatTree => Design::DualHomedFatTree { k: k()? },
        CostTopology::MultiHomedFatTree => Design::MultiHomedFatTree { k: k()? },
        CostTopology::Bcube => {
            let (n, levels) = match (hosts, args.n, args.levels) {
                (Some(_), Some(_), Some(_)) => {
                    return Err(Failure::usage("--n and --levels say how many hosts a bcube has")
                        .help("leave one of them out, or --hosts"));
                }
                (Some(hosts), Some(n), None) => (n, fewest_levels(hosts, n)),
                // Four interfaces are what BCube's paper has in its example of a container, BCube_3.
                (Some(hosts), None, levels) => (smallest_n(hosts, levels.unwrap_or(4)), levels.unwrap_or(4)),
                (None, Some(n), Some(levels)) => (n, levels),
                (None, ..) => return Err(needs("both --n and --levels")),
            };
            Design::Bcube { n, levels }
        }
        CostTopology::LeafSpine => {
            let hosts_per_leaf = args.hosts_per_leaf.unwrap_or(24);
            let leaves = hosts.map(|hosts| hosts.div_ceil(u64::from(hosts_per_leaf)));
            let leaves = leaves.map(|leaves| u32::try_from(leaves).expect("at most a billion hosts"));
            let leaves = leaves.or(args.leaves).ok_or_else(|| needs("--leaves"))?;
            Design::TwoTier { leaves, spines: args.spines.unwrap_or(hosts_per_leaf), hosts_per_leaf }
        }
    })
}

fn name(topology: CostTopology) -> &'static str {
    match topology {
        CostTopology::FatTree => "fat-tree",
        CostTopology::DualHomedFatTree => "dual-homed-fat-tree",
        CostTopology::MultiHomedFatTree => "multi-homed-fat-tree",
        CostTopology::Bcube => "bcube",
        CostTopology::LeafSpine => "leaf-spine",
    }
}

/// A topology of some size, and what it costs.
type Costed<'a> = (CostTopology, Design, Estimate<'a>);

fn parameters(design: Design) -> Vec<(&'static str, u32)> {
    match design {
        Design::FatTree { k } | Design::DualHomedFatTree { k } | Design::MultiHomedFatTree { k } => vec![("k", k)],
        Design::Bcube { n, levels } => vec![("n", n), ("levels", levels)],
        Design::TwoTier { leaves, spines, hosts_per_leaf } => {
            vec![("leaves", leaves), ("spines", spines), ("hosts-per-leaf", hosts_per_leaf)]
        }
    }
}

/// One topology, tier by tier.
fn block((topology, design, estimate): &Costed, list: &PriceList) -> String {
    let inventory = &estimate.inventory;
    let size: Vec<String> = parameters(*design).iter().map(|(key, value)| format!("{key} = {value}")).collect();
    let mut text = format!(
        "{}, {}: {} hosts of {} interface{}, {} cables\n",
        name(*topology),
        size.join(", "),
        grouped(inventory.hosts),
        inventory.interfaces,
        if inventory.interfaces == 1 { "" } else { "s" },
        grouped(inventory.cables)
    );
    let millions = format!("million {}", list.currency);
    let mut rows =
        vec![["tier", "switches", "ports used", "device", "its ports", "price", &millions].map(str::to_owned)];
    for priced in &estimate.tiers {
        rows.push([
            priced.tier.name.to_owned(),
            grouped(priced.tier.switches),
            format!("{}{}", grouped(priced.tier.ports), if priced.fits() { "" } else { "*" }),
            priced.device.name.to_string(),
            grouped(u64::from(priced.device.ports)),
            money(priced.device.price),
            million(priced.cost),
        ]);
    }
    let extra = |what: &str, count: u64, price: f64, cost: f64| {
        [what, &grouped(count), "", "", "", &money(price), &million(cost)].map(str::to_owned)
    };
    if list.cable > 0.0 {
        rows.push(extra("cables", inventory.cables, list.cable, estimate.cables));
    }
    if list.interface > 0.0 {
        let interfaces = inventory.hosts * inventory.interfaces;
        rows.push(extra("interfaces", interfaces, list.interface, estimate.interfaces));
    }
    let total = ["all", &grouped(inventory.switches()), "", "", "", "", &million(estimate.total())].map(str::to_owned);
    rows.push(total);
    text.push_str(&columns(&rows, &[0, 3]));
    if let Some(Published { switches: [edge, aggregation, core], millions }) = published(*design) {
        let switches = [edge, aggregation, core].map(grouped).join(" + ");
        let _ = writeln!(text, "published (thesis §7.2.2): {switches} switches, {} million USD", grouped(millions));
    }
    if !estimate.fits() {
        text.push_str(MISFIT);
    }
    text
}

const MISFIT: &str =
    "* more ports than the largest device for this tier has; counted as one device, as the thesis does\n";

/// Topologies side by side over numbers of hosts.
fn table(rows: &[(Option<u64>, Vec<Costed>)], list: &PriceList) -> String {
    let names = rows[0].1.iter().map(|&(topology, ..)| name(topology).to_owned());
    let mut cells: Vec<Vec<String>> = vec![["hosts".to_owned()].into_iter().chain(names).collect()];
    for (hosts, row) in rows {
        let costs = row.iter().map(|(_, _, estimate)| {
            format!("{}{}", million(estimate.total()), if estimate.fits() { " " } else { "*" })
        });
        cells.push([grouped(hosts.unwrap_or(0))].into_iter().chain(costs).collect());
    }
    // The mark stands behind the number, so that numbers are in line.
    for heading in &mut cells[0][1..] {
        heading.push(' ');
    }
    let mut text = format!("million {}, the smallest of each topology with so many hosts\n", list.currency);
    text.push_str(&columns(&cells, &[]));
    if rows.iter().any(|(_, row)| row.iter().any(|(_, _, estimate)| !estimate.fits())) {
        text.push_str("* a switch needs more ports than the largest device for its tier has; counted as one device\n");
    }
    text
}

fn as_json(hosts: Option<u64>, (topology, design, estimate): &Costed, list: &PriceList) -> Value {
    let inventory = &estimate.inventory;
    let tiers = estimate.tiers.iter().map(|priced| {
        json!({
            "tier": priced.tier.name,
            "switches": priced.tier.switches,
            "ports_used": priced.tier.ports,
            "device": priced.device.name.as_str(),
            "device_ports": priced.device.ports,
            "fits": priced.fits(),
            "price": priced.device.price,
            "cost": priced.cost,
        })
    });
    let parameters: serde_json::Map<String, Value> =
        parameters(*design).into_iter().map(|(key, value)| (key.replace('-', "_"), json!(value))).collect();
    json!({
        "topology": name(*topology),
        "wanted_hosts": hosts,
        "parameters": parameters,
        "hosts": inventory.hosts,
        "interfaces_per_host": inventory.interfaces,
        "switches": inventory.switches(),
        "ports_used": inventory.ports(),
        "cables": inventory.cables,
        "tiers": tiers.collect::<Value>(),
        "currency": list.currency,
        "cable_cost": estimate.cables,
        "interface_cost": estimate.interfaces,
        "cost": estimate.total(),
        "fits": estimate.fits(),
        "published": published(*design).map(|published| json!({
            "switches": published.switches,
            "cost_millions": published.millions,
        })),
    })
}

/// Columns of text, to the left where `left` says so and to the right otherwise.
fn columns(rows: &[impl AsRef<[String]>], left: &[usize]) -> String {
    let count = rows.first().map_or(0, |row| row.as_ref().len());
    let width = |column: usize| rows.iter().map(|row| row.as_ref()[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..count).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let cells = row.as_ref().iter().zip(&widths).enumerate().map(|(column, (cell, &width))| {
            if left.contains(&column) { format!("{cell:width$}") } else { format!("{cell:>width$}") }
        });
        let line = cells.collect::<Vec<_>>().join("  ");
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

/// With commas between thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn money(amount: f64) -> String {
    if amount.fract() == 0.0 { grouped(amount as u64) } else { format!("{amount}") }
}

/// In millions, to the thousand.
fn million(amount: f64) -> String {
    let thousands = (amount / 1e3).round() as u64;
    format!("{}.{:03}", grouped(thousands / 1000), thousands % 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        assert_eq!([0, 999, 1000, 27_648, 1_234_567].map(grouped), ["0", "999", "1,000", "27,648", "1,234,567"]);
        assert_eq!([0.0, 1_217_664_000.0, 700_499.0].map(million), ["0.000", "1,217.664", "0.700"]);
        assert_eq!([7000.0, 2.5].map(money), ["7,000", "2.5"]);
    }
}
