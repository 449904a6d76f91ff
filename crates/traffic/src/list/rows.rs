//! Rows under a header, whichever file they come from.

use std::collections::BTreeSet;

use headway_units::{Bytes, Span};

use super::error::{Fault, ListError, Place, listed, shorten};
use super::hosts::HostNames;
use super::paths::{self, PathRows};
use super::{FlowList, ListedFlow, MAX_LISTED};

/// The largest size: up to here every whole number is exact as `f64`.
const MAX_BYTES: u64 = 1 << 53;

/// Columns that say of which run a row is, in results of Headway.
const RUN: [&str; 2] = ["policy", "repeat"];

/// The column of traffics there.
const TRAFFIC: &str = "traffic";

/// How the traffic ends there of connections that carried the messages of others.
const CONNECTION: &str = "/connection";

/// So many values are named in place of one that no row has.
const MOST_OTHERS: usize = 12;

/// The unit of a column of times.
#[derive(Debug, Clone, Copy, PartialEq)]
struct TimeUnit {
    /// As it is written behind a number; empty: the cell has its own.
    suffix: &'static str,
    picos: f64,
    /// For messages.
    with: &'static str,
}

const TIME_UNITS: [(&str, TimeUnit); 6] = [
    ("start", TimeUnit { suffix: "", picos: 0.0, with: " with a unit" }),
    ("start_s", TimeUnit { suffix: "s", picos: 1e12, with: " in seconds" }),
    ("start_ms", TimeUnit { suffix: "ms", picos: 1e9, with: " in milliseconds" }),
    ("start_us", TimeUnit { suffix: "us", picos: 1e6, with: " in microseconds" }),
    ("start_ns", TimeUnit { suffix: "ns", picos: 1e3, with: " in nanoseconds" }),
    ("start_ps", TimeUnit { suffix: "ps", picos: 1.0, with: " in picoseconds" }),
];
const NANOSECONDS: TimeUnit = TIME_UNITS[4].1;

/// Where the parts of a flow are, as places of columns.
#[derive(Debug, Clone, Copy)]
struct Flow {
    start: (usize, TimeUnit),
    source: usize,
    destination: usize,
    size: usize,
    /// The size has a unit.
    unit: bool,
}

/// A value that rows must have to count.
#[derive(Debug)]
struct Selected {
    at: usize,
    column: String,
    value: String,
    /// A row had it.
    met: bool,
    /// Some others that rows had.
    others: BTreeSet<String>,
}

impl Selected {
    /// Whether a row has it.
    fn is_met(&mut self, cells: &[&str]) -> bool {
        let found = cells[self.at];
        let met = found == self.value;
        self.met |= met;
        if !met && !self.met && self.others.len() < MOST_OTHERS && !self.others.contains(found) {
            self.others.insert(shorten(found));
        }
        met
    }

    fn fault(self) -> Fault {
        let others: Vec<String> = self.others.iter().map(|other| format!("`{other}`")).collect();
        let found = match &others[..] {
            [] => "are no rows".to_owned(),
            [one] => format!("is {one}"),
            _ if others.len() == MOST_OTHERS => format!("are {}, …", others.join(", ")),
            _ => format!("are {}", others.join(", ")),
        };
        Fault::Selected { column: shorten(&self.column), value: shorten(&self.value), found }
    }
}

/// A list that is made row by row.
#[derive(Debug)]
pub struct Rows<'a> {
    hosts: HostNames<'a>,
    /// One for each flow of a row: two of a connection, one each way.
    flows: Vec<Flow>,
    /// Of connections: who does not send in a direction has no flow, and times are not from the list's beginning.
    connections: bool,
    columns: usize,
    /// Rows count whose cells have these values.
    select: Vec<Selected>,
    /// Of results, the column of traffics: connections that others' messages went over are no flows of their own.
    traffic: Option<usize>,
    /// Columns that must not change, with the value that they had.
    same: Vec<(usize, String, Option<String>)>,
    listed: Vec<ListedFlow>,
    paths: Option<PathRows>,
}

impl<'a> Rows<'a> {
    /// Rows under `header`, which is at `place`: of flows, or of connections as `headway trace` writes them. Of all rows
    /// those count that have the values of `select` in the columns that it names.
    ///
    /// # Errors
    /// If the header lacks a column.
    pub fn new(
        header: &[&str],
        place: Option<Place>,
        select: &[(String, String)],
        hosts: HostNames<'a>,
    ) -> Result<Rows<'a>, ListError> {
        let wrong = |fault| ListError { place, fault };
        let connections = header.contains(&"initiator") && header.contains(&"responder");
        let flows = if connections { connection(header) } else { flow(header).map(|flow| vec![flow]) };
        let flows = flows.map_err(wrong)?;
        let paths = if connections { None } else { PathRows::new(header).map_err(wrong)? };
        let chosen = |(column, value): &(String, String)| {
            let at = header.iter().position(|own| own == column);
            let fault = || Fault::NoColumn { column: shorten(column), found: listed(header) };
            let (column, value, others) = (column.clone(), value.clone(), BTreeSet::new());
            at.map(|at| Selected { at, column, value, met: false, others }).ok_or_else(|| wrong(fault()))
        };
        let select = select.iter().map(chosen).collect::<Result<Vec<_>, _>>()?;
        let of_run = |name: &str| RUN.contains(&name) || name.starts_with("sweep_");
        let same = header.iter().enumerate().filter(|(_, name)| of_run(name));
        let same = same.map(|(at, name)| (at, shorten(name), None)).collect();
        let results = RUN.iter().all(|name| header.contains(name));
        let traffic = header.iter().position(|name| results && *name == TRAFFIC);
        let (columns, listed) = (header.len(), Vec::new());
        Ok(Rows { hosts, flows, connections, columns, select, traffic, same, listed, paths })
    }

    /// The names of the columns that are looked at, of those of `header`.
    pub fn wanted<'h>(header: &[&'h str], select: &[(String, String)]) -> Vec<&'h str> {
        let own = |name: &str| {
            let bare = name.strip_prefix("initiator_").or_else(|| name.strip_prefix("responder_"));
            TIME_UNITS.iter().any(|(known, _)| *known == name)
                || ["initiator", "responder", "size", "size_bytes"].contains(&name)
                || ["bytes", "first_data_ns"].contains(&bare.unwrap_or(name))
                || SOURCES.contains(&name)
                || paths::COLUMNS.contains(&name)
                || DESTINATIONS.contains(&name)
                || RUN.contains(&name)
                || name == TRAFFIC
                || name.starts_with("sweep_")
                || select.iter().any(|(column, _)| column == name)
        };
        header.iter().copied().filter(|name| own(name)).collect()
    }

    /// Takes the row at `place`.
    ///
    /// # Errors
    /// [`ListError`], at that place.
    pub fn add(&mut self, place: Place, cells: &[&str]) -> Result<(), ListError> {
        self.take(place, cells).map_err(|fault| ListError::at(place, fault))
    }

    fn take(&mut self, place: Place, cells: &[&str]) -> Result<(), Fault> {
        if cells.len() != self.columns {
            return Err(Fault::Cells { expected: self.columns, found: cells.len() });
        }
        if !self.select.iter_mut().all(|own| own.is_met(cells)) {
            return Ok(());
        }
        let kept = self.traffic.is_some_and(|at| cells[at].ends_with(CONNECTION));
        if kept && self.flows.iter().all(|flow| cells[flow.size].is_empty()) {
            return Ok(());
        }
        for (at, column, before) in &mut self.same {
            let found = cells[*at];
            match before {
                None => *before = Some(shorten(found)),
                Some(before) if *before == shorten(found) => {}
                Some(before) => {
                    let (column, before) = (column.clone(), before.clone());
                    return Err(Fault::Runs { column, found: shorten(found), before });
                }
            }
        }
        if let Some(paths) = self.paths.as_mut().filter(|paths| paths.goes_on(cells)) {
            return paths.add(place, cells);
        }
        for at in 0..self.flows.len() {
            let flow = self.flows[at];
            let (bytes, (start, unit)) = (cells[flow.size], flow.start);
            if self.connections && (bytes == "0" || cells[start].is_empty()) {
                continue;
            }
            if self.listed.len() == MAX_LISTED {
                return Err(Fault::TooLong);
            }
            let time = if self.connections { since_1970(cells[start])? } else { time(cells[start], unit)? };
            let [source, destination] =
                [self.hosts.find(cells[flow.source])?, self.hosts.find(cells[flow.destination])?];
            if source == destination {
                return Err(Fault::Itself { host: shorten(cells[flow.source]) });
            }
            let size = if bytes.is_empty() { None } else { Some(size(bytes, flow.unit)?) };
            let paths = self.paths.as_mut().map_or(Ok(None), |paths| paths.begin(place, cells))?;
            self.listed.push(ListedFlow { time, source, destination, size, paths });
        }
        Ok(())
    }

    /// The list.
    ///
    /// # Errors
    /// If it has no flows.
    pub fn finish(mut self) -> Result<FlowList, ListError> {
        let Some(first) = self.listed.iter().map(|flow| flow.time).min() else {
            let missed = self.select.into_iter().find(|own| !own.met);
            return Err(ListError::whole(missed.map_or(Fault::Empty, Selected::fault)));
        };
        if self.connections {
            for flow in &mut self.listed {
                let nanos = (flow.time - first).picos();
                let wrong = || Fault::Start { found: nanos.to_string(), unit: " in nanoseconds after the first" };
                let picos = nanos.checked_mul(1000).ok_or_else(|| ListError::whole(wrong()))?;
                flow.time = Span::from_picos(picos);
            }
        }
        Ok(FlowList::new(self.listed, self.paths.map_or_else(Vec::new, PathRows::finish)))
    }
}

const SOURCES: [&str; 2] = ["source", "src"];
const DESTINATIONS: [&str; 2] = ["destination", "dst"];

/// The columns of a list of flows.
fn flow(header: &[&str]) -> Result<Flow, Fault> {
    let starts = TIME_UNITS.map(|(name, _)| name);
    let start = only(header, &starts, "the start", "`start` with units in its cells, or `start_s` … `start_ps`")?;
    let unit = TIME_UNITS.iter().find(|(name, _)| *name == header[start]).expect("it was looked for").1;
    let source = only(header, &SOURCES, "the source", "`source` or `src`")?;
    let destination = only(header, &DESTINATIONS, "the destination", "`destination` or `dst`")?;
    let sizes = ["bytes", "size_bytes", "size"];
    let size = only(header, &sizes, "the size", "`bytes`, or `size` with units in its cells")?;
    Ok(Flow { start: (start, unit), source, destination, size, unit: header[size] == "size" })
}

/// The columns of a list of connections, whose two directions are flows of their own.
fn connection(header: &[&str]) -> Result<Vec<Flow>, Fault> {
    let column = |name: &'static str| only(header, &[name], "the data of an end", name);
    let way = |source, destination, bytes, start| -> Result<Flow, Fault> {
        Ok(Flow {
            start: (column(start)?, NANOSECONDS),
            source: column(source)?,
            destination: column(destination)?,
            size: column(bytes)?,
            unit: false,
        })
    };
    Ok(vec![
        way("initiator", "responder", "initiator_bytes", "initiator_first_data_ns")?,
        way("responder", "initiator", "responder_bytes", "responder_first_data_ns")?,
    ])
}

/// The place of the one column that is called like one of `names`.
fn only(header: &[&str], names: &[&'static str], of: &'static str, called: &'static str) -> Result<usize, Fault> {
    let mut found = header.iter().enumerate().filter(|(_, name)| names.contains(name));
    let missing = || Fault::Missing { of, names: called, found: listed(header) };
    let (at, one) = found.next().ok_or_else(missing)?;
    match found.next() {
        Some((_, other)) => Err(Fault::Twice { of, one: shorten(one), other: shorten(other) }),
        None => Ok(at),
    }
}

/// A time of a capture. Nanoseconds since 1970 are beyond the range of a [`Span`]: until the first is known they stand in
/// it as they are.
fn since_1970(cell: &str) -> Result<Span, Fault> {
    let wrong = || Fault::Start { found: shorten(cell), unit: NANOSECONDS.with };
    cell.parse().map(Span::from_picos).map_err(|_| wrong())
}

fn time(cell: &str, unit: TimeUnit) -> Result<Span, Fault> {
    let wrong = || Fault::Start { found: shorten(cell), unit: unit.with };
    if unit.suffix.is_empty() {
        return cell.parse().map_err(|_| wrong());
    }
    if cell.len() < 40
        && let Ok(exact) = format!("{cell}{}", unit.suffix).parse()
    {
        return Ok(exact);
    }
    // finer than a picosecond, or written with an exponent
    let picos = cell.parse::<f64>().ok().map(|number| number * unit.picos + 0.5);
    let picos = picos.filter(|picos| (0.0..u64::MAX as f64).contains(picos)).ok_or_else(wrong)?;
    Ok(Span::from_picos(picos as u64))
}

fn size(cell: &str, unit: bool) -> Result<Bytes, Fault> {
    let bytes = if unit {
        cell.parse::<Bytes>().ok().map(Bytes::get)
    } else {
        // tables of other programs have whole numbers as floating-point ones
        let real =
            || cell.parse::<f64>().ok().filter(|own| own.fract() == 0.0 && *own >= 1.0 && *own <= MAX_BYTES as f64);
        cell.parse::<u64>().ok().or_else(|| real().map(|own| own as u64))
    };
    let form = if unit { ", with a unit" } else { "" };
    let bytes = bytes.filter(|bytes| (1..=MAX_BYTES).contains(bytes));
    bytes.map(Bytes::new).ok_or_else(|| Fault::Size { found: shorten(cell), form })
}
