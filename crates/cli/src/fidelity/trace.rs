//! The segments that pass the senders of a point, from both sides in one form.
//!
//! Leaves out what both have not: receivers, and of the kernel's segments all options but selective acknowledgements.
//! Times of a kernel's segments are when their first bit leaves, of a model's when they are given to the card.
//!
//! Sources: pcap-savefile(5); RFC 791 §3.1, RFC 9293 §3.1, RFC 7323 §2 (window scale), RFC 2018 §3 (SACK).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use headway_experiment::{KernelOptions, Options, Traced};
use headway_kernel::image::Image;
use headway_results::Job;

use super::points::{File, Point};
use super::store;
use crate::args::FidelityArgs;
use crate::failure::Failure;
use crate::shell;
use crate::terminal;

/// A segment at its sender.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Row {
    time_ns: u64,
    /// `HOST#NUMBER`, by the order in which the host opens connections.
    connection: String,
    out: bool,
    flags: u8,
    /// First byte, or first byte missing, from 0.
    number: u32,
    /// Bytes of payload, or of window.
    amount: u32,
    sack: Vec<(u32, u32)>,
    marked: bool,
}

const SYN: u8 = 2;
/// The capture of one short run.
const LARGEST_CAPTURE: u64 = 1 << 32;
const ACK: u8 = 16;

/// Writes `POINT.model.txt` and `POINT.kernel.txt` for the first repeat of `points` to `folder`.
pub fn trace(folder: &Path, files: &[File], points: &[Point], args: &FidelityArgs) -> Result<(), Failure> {
    let image = if args.model_only { None } else { Some(Arc::new(Image::find(args.kernel.as_deref())?)) };
    for point in points {
        let model = match files[point.file].models(&args.set)? {
            Some(side) if side.cells.contains_key(&point.sweep) => {
                let job = Job { cell: side.cells[&point.sweep], repeat: 0 };
                let rows = side.experiment.trace(job, side.experiment.scenario.seed)?;
                rows.iter().map(|(host, row)| of_model(host, row)).collect()
            }
            _ => Vec::new(),
        };
        if model.is_empty() {
            terminal::say(&format!("note: {}: the model has no {}", point.name, point.controls.join(" or no ")));
        }
        let path = |side: &str| folder.join(format!("{}.{side}.txt", point.name.replace([':', ',', '='], "-")));
        store::write(&path("model"), &text(&model))?;
        let Some(image) = &image else { continue };
        let kernel = of_kernels(&files[point.file], point, image, args.kernel.as_deref())?;
        store::write(&path("kernel"), &text(&kernel))?;
        terminal::data(&difference(&point.name, &kernel, &model))?;
    }
    if !args.quiet {
        terminal::say(&format!("written to {}", shell::quoted(folder)));
    }
    Ok(())
}

fn of_model(host: &str, row: &Traced) -> Row {
    // SYN takes the number 0.
    let relative = |number: u32| if row.flags & SYN != 0 { 0 } else { number.wrapping_sub(1) };
    Row {
        time_ns: row.time.picos() / 1000,
        connection: format!("{host}#{}", row.subflow),
        out: row.out,
        flags: row.flags,
        number: relative(row.number),
        amount: row.amount,
        sack: row.sack.iter().map(|&(from, to)| (relative(from), relative(to))).collect(),
        marked: row.marked,
    }
}

/// Runs the point with kernel hosts, of the kernel that was asked for, that are captured where they send.
fn of_kernels(file: &File, point: &Point, image: &Arc<Image>, kernel: Option<&str>) -> Result<Vec<Row>, Failure> {
    let plain = file.kernels(Vec::new(), kernel)?;
    let seed = plain.experiment.scenario.seed;
    let job = Job { cell: plain.cells[&point.sweep], repeat: 0 };
    let guests = Some(KernelOptions { image: Arc::clone(image), processors: headway_kernel::processors() });
    let options = Options { seed, threads: 1, verify: false, kernel: guests, abort: Arc::default() };
    let scratch = tempfile::tempdir()
        .map_err(|error| Failure::environment(format!("cannot make a temporary folder: {error}")))?;
    // Once without captures, for who sends; time is cheaper here than knowing it from the scenario.
    let senders = plain.experiment.outcome(job, scratch.path(), &options, 0)?;
    let senders: BTreeSet<&str> = senders.flows.iter().map(|flow| &*flow.source).collect();
    let names: Vec<String> = senders.iter().map(|host| format!("{host:?}")).collect();
    let side = file.kernels(vec![format!("measure.capture=[{}]", names.join(","))], kernel)?;
    side.experiment.outcome(job, scratch.path(), &options, 0)?;
    let mut rows = Vec::new();
    for host in senders {
        let path = scratch.path().join("captures").join(format!("{}-0", job.cell)).join(format!("{host}.pcap"));
        let bytes = headway_input::read(&path, LARGEST_CAPTURE)
            .map_err(|error| Failure::environment(format!("cannot read {}: {error}", path.display())))?;
        rows.extend(of_capture(host, &bytes));
    }
    rows.sort_by_key(|row| row.time_ns);
    Ok(rows)
}

/// A connection that the captured host has opened.
#[derive(Debug)]
struct Connection {
    number: usize,
    /// Of the first byte of data.
    first: u32,
    /// By which the other end's window is shifted.
    scale: u8,
}

/// One end and the other, with their ports.
type Ends = ([u8; 4], u16, [u8; 4], u16);

/// The TCP segments of a capture (nanoseconds, little-endian, Ethernet) of `host` that belong to connections it opened.
fn of_capture(host: &str, bytes: &[u8]) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut connections: BTreeMap<Ends, Connection> = BTreeMap::new();
    let word = |at: usize| bytes.get(at..at + 4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
    let mut at = 24;
    while let (Some(seconds), Some(nanos), Some(length)) = (word(at), word(at + 4), word(at + 8)) {
        let time_ns = u64::from(seconds) * 1_000_000_000 + u64::from(nanos);
        let Some(frame) = bytes.get(at + 16..at + 16 + length as usize) else { break };
        at += 16 + length as usize;
        if let Some(segment) = Segment::read(frame)
            && let Some(row) = row(host, time_ns, &segment, &mut connections)
        {
            rows.push(row);
        }
    }
    rows
}

fn row(host: &str, time_ns: u64, segment: &Segment<'_>, connections: &mut BTreeMap<Ends, Connection>) -> Option<Row> {
    let (source, sport, destination, dport) = segment.ends;
    let back = (destination, dport, source, sport);
    if segment.flags & (SYN | ACK) == SYN && !connections.contains_key(&back) {
        let number = connections.len();
        let new = || Connection { number, first: segment.sequence.wrapping_add(1), scale: 0 };
        connections.entry(segment.ends).or_insert_with(new);
    }
    let out = connections.contains_key(&segment.ends);
    let connection = connections.get_mut(if out { &segment.ends } else { &back })?;
    let is_syn = segment.flags & SYN != 0;
    let relative = |number: u32| if is_syn { 0 } else { number.wrapping_sub(connection.first) };
    let sack = segment.sack();
    let row = Row {
        time_ns,
        connection: format!("{host}#{}", connection.number),
        out,
        flags: segment.flags,
        number: relative(if out { segment.sequence } else { segment.acknowledgement }),
        amount: if out { segment.payload } else { segment.window << if is_syn { 0 } else { connection.scale } },
        sack: sack.into_iter().map(|(from, to)| (relative(from), relative(to))).filter(|_| !out).collect(),
        marked: segment.marked,
    };
    if !out && is_syn {
        // RFC 7323 §2.3: not more than 14
        connection.scale = segment.option(3).and_then(|own| own.first().copied()).unwrap_or(0).min(14);
    }
    Some(row)
}

/// What is of interest in a TCP segment over IPv4 and Ethernet.
#[derive(Debug)]
struct Segment<'a> {
    ends: Ends,
    sequence: u32,
    acknowledgement: u32,
    flags: u8,
    window: u32,
    payload: u32,
    marked: bool,
    options: &'a [u8],
}

impl Segment<'_> {
    fn read(frame: &[u8]) -> Option<Segment<'_>> {
        let half = |bytes: &[u8], at: usize| Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
        let word = |bytes: &[u8], at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        if half(frame, 12)? != 0x0800 {
            return None;
        }
        let ip = frame.get(14..)?;
        let header = usize::from(ip.first()? & 15) * 4;
        if *ip.get(9)? != 6 {
            return None;
        }
        let tcp = ip.get(header..usize::from(half(ip, 2)?))?;
        let offset = usize::from(tcp.get(12)? >> 4) * 4;
        let address = |at: usize| ip.get(at..at + 4)?.try_into().ok();
        Some(Segment {
            ends: (address(12)?, half(tcp, 0)?, address(16)?, half(tcp, 2)?),
            sequence: word(tcp, 4)?,
            acknowledgement: word(tcp, 8)?,
            flags: *tcp.get(13)?,
            window: u32::from(half(tcp, 14)?),
            payload: tcp.len().checked_sub(offset)? as u32,
            marked: ip.get(1)? & 3 == 3,
            options: tcp.get(20..offset)?,
        })
    }

    /// What is in the option `kind`, if it is there.
    fn option(&self, kind: u8) -> Option<&[u8]> {
        let mut rest = self.options;
        while let Some(&own) = rest.first() {
            let length = match own {
                0 => return None,
                1 => 1,
                _ => usize::from(*rest.get(1)?).max(2),
            };
            if own == kind {
                return rest.get(2..length);
            }
            rest = rest.get(length..)?;
        }
        None
    }

    fn sack(&self) -> Vec<(u32, u32)> {
        let word = |b: &[u8]| u32::from_be_bytes([b[0], b[1], b[2], b[3]]);
        let blocks = self.option(5).unwrap_or_default().chunks_exact(8);
        blocks.map(|block| (word(block), word(&block[4..]))).collect()
    }
}

/// A line for each segment.
fn text(rows: &[Row]) -> String {
    let mut text = "# time_s connection direction flags sequence:end bytes, or ack win sack\n".to_owned();
    for row in rows {
        let names = [(SYN, 'S'), (1, 'F'), (ACK, '.'), (64, 'E'), (128, 'W')];
        let flags: String = names.iter().filter(|(bit, _)| row.flags & bit != 0).map(|(_, name)| name).collect();
        let (seconds, nanos) = (row.time_ns / 1_000_000_000, row.time_ns % 1_000_000_000);
        let _ = write!(text, "{seconds}.{nanos:09} {} ", row.connection);
        let _ = if row.out {
            let end = row.number.wrapping_add(row.amount);
            write!(text, "> {flags:3} {}:{end} {}", row.number, row.amount)
        } else {
            write!(text, "< {flags:3} ack {} win {}", row.number, row.amount)
        };
        if !row.sack.is_empty() {
            let blocks: Vec<String> = row.sack.iter().map(|(from, to)| format!("{from}:{to}")).collect();
            let _ = write!(text, " sack {}", blocks.join(","));
        }
        text += if row.marked { " ce\n" } else { "\n" };
    }
    text
}

/// Counts, and the first data segment of each connection that is not the same on both sides.
fn difference(point: &str, kernel: &[Row], model: &[Row]) -> String {
    let mut report = format!("{point}\n");
    for (name, rows) in [("kernel", kernel), ("model", model)] {
        let data = rows.iter().filter(|row| row.out && row.amount > 0);
        let mut highest: BTreeMap<&str, u32> = BTreeMap::new();
        let (mut count, mut again) = (0, 0);
        for row in data {
            count += 1;
            let highest = highest.entry(&row.connection).or_default();
            again += u32::from(row.number < *highest);
            *highest = (*highest).max(row.number.saturating_add(row.amount));
        }
        let acks = rows.iter().filter(|row| !row.out).count();
        let _ = writeln!(report, "  {name}: {count} data segments, {again} of them again, {acks} acknowledgements");
    }
    let data = |rows: &[Row]| {
        let mut all: BTreeMap<String, Vec<Row>> = BTreeMap::new();
        for row in rows.iter().filter(|row| row.out && row.amount > 0) {
            all.entry(row.connection.clone()).or_default().push(row.clone());
        }
        all
    };
    let (kernel, model) = (data(kernel), data(model));
    for (connection, theirs) in kernel.iter().take(4) {
        let Some(ours) = model.get(connection) else { continue };
        let same = theirs.iter().zip(ours).take_while(|(k, m)| (k.number, k.amount) == (m.number, m.amount)).count();
        let apart = |(k, m): (&Row, &Row)| (k.time_ns as f64 - m.time_ns as f64) / 1e6;
        let late = theirs.iter().zip(ours).take(same).position(|pair| apart(pair).abs() > 1.0);
        let late = late.map_or_else(String::new, |at| {
            let by = apart((&theirs[at], &ours[at]));
            let when = if by > 0.0 { "earlier" } else { "later" };
            format!(", within 1 ms up to number {at}, which the model sends {:.3} ms {when}", by.abs())
        });
        let _ = writeln!(report, "  {connection}: the first {same} data segments are the same{late}; then");
        for (name, row) in [("kernel", theirs.get(same)), ("model", ours.get(same))] {
            let line = row.map_or_else(
                || "nothing".to_owned(),
                |row| format!("{}:{} at {:.6} s", row.number, row.number + row.amount, row.time_ns as f64 / 1e9),
            );
            let _ = writeln!(report, "    {name}: {line}");
        }
    }
    report
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame of a TCP segment with `options` and `payload` bytes of data.
    fn frame(from: u8, to: u8, flags: u8, numbers: (u32, u32), options: &[u8], payload: usize) -> Vec<u8> {
        let mut tcp = vec![0, from, 0, to];
        tcp.extend(numbers.0.to_be_bytes());
        tcp.extend(numbers.1.to_be_bytes());
        tcp.extend([((20 + options.len()) / 4 * 16) as u8, flags, 0, 100, 0, 0, 0, 0]);
        tcp.extend(options);
        tcp.resize(tcp.len() + payload, 0);
        let mut frame = vec![0; 12];
        frame.extend([8, 0, 0x45, 0]);
        frame.extend(((20 + tcp.len()) as u16).to_be_bytes());
        frame.extend([0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, from, 10, 0, 0, to]);
        frame.extend(tcp);
        frame
    }

    #[test]
    fn captures_become_rows_with_numbers_from_the_first_byte() {
        let mut capture = vec![0; 24];
        let sack = [1, 1, 5, 10, 0, 0, 7, 209, 0, 0, 11, 185];
        for (time, frame) in [
            (1, frame(1, 2, SYN, (1000, 0), &[], 0)),
            (2, frame(2, 1, SYN | ACK, (5, 1001), &[3, 3, 7, 0], 0)),
            (3, frame(1, 2, ACK, (1001, 6), &[], 500)),
            (4, frame(2, 1, ACK, (6, 1501), &sack, 0)),
            (5, frame(7, 9, ACK, (1, 1), &[], 10)),
        ] {
            for word in [0, time, frame.len() as u32, frame.len() as u32] {
                capture.extend(word.to_le_bytes());
            }
            capture.extend(frame);
        }
        // Window 100 × 2⁷; blocks 2001:3001 from 1001.
        let wanted = "# time_s connection direction flags sequence:end bytes, or ack win sack\n\
            0.000000001 a#0 > S   0:0 0\n\
            0.000000002 a#0 < S.  ack 0 win 100\n\
            0.000000003 a#0 > .   0:500 500\n\
            0.000000004 a#0 < .   ack 500 win 12800 sack 1000:2000\n";
        assert_eq!(text(&of_capture("a", &capture)), wanted);
        // one that is cut, and noise
        assert_eq!(of_capture("a", &capture[..capture.len() - 1]).len(), 4);
        assert!(Segment::read(&capture[24..40]).is_none());
    }
}
