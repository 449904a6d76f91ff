//! One run's outcome as one compact file, exactly, until all runs are merged.
//!
//! The file is [`MAGIC`], then a Snappy frame stream (whose chunks carry checksums) of postcard values:
//! a [`Header`] with a table of strings, then the flows, the samples, the commands, the paths and the links of the film. Only the program that wrote
//! such a file reads it (a folder of another version is not resumed), so it has no further versions.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::sync::Arc;

use headway_units::{Bytes, Rate, Span, Time};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use snap::read::FrameDecoder;
use snap::write::FrameEncoder;

use crate::film::{Film, FilmedLink, LinkStep, NodeKind, Topology, TopologyLink, TopologyNode};
use crate::record::{
    CommandRecord, Counters, CutCapture, Failed, FlowRecord, Job, Outcome, Output, PathRecord, Pauses, PortRecord,
    Sample,
};
use crate::waits::{FlowWaits, PortWaits, Waited, Waits};

pub(crate) const MAGIC: &[u8] = b"headway part 10\n";

#[derive(Serialize, Deserialize)]
struct Header {
    job: Job,
    end_ps: u64,
    digest: u64,
    counters: Counters,
    strings: Vec<String>,
    flows: u64,
    samples: u64,
    commands: u64,
    failed: Vec<Failed>,
    /// What ports have counted, if they have.
    ports: Option<Vec<PortRow>>,
    /// Captures that were cut, and when.
    cut: Vec<(String, u64)>,
    /// Where frames waited, if somebody looked.
    waits: Option<WaitsRow>,
    /// When a circular wait was found, and its ports.
    deadlock: Option<(u64, String)>,
    /// How many paths there are, if they were recorded.
    paths: Option<u64>,
    /// The network of its film, if it has one; the links follow behind all else.
    film: Option<FilmWire>,
}

/// A [`PortRecord`]: its name, what its queue dropped, and its [`Pauses`].
type PortRow = (u32, u64, [u64; 5]);

fn port_row(name: u32, port: &PortRecord) -> PortRow {
    let Pauses { sent, paused, deepest, headroom, drops } = port.pauses;
    (name, port.drops, [sent, paused.picos(), deepest, headroom, drops])
}

/// [`Waits`]: of hosts, of switches, and of ports by name, whether they are a host's.
type WaitsRow = (Waited, Waited, Vec<(u32, bool, Waited)>);

/// A [`FlowRecord`]; strings are places in the header's table.
#[derive(Serialize, Deserialize)]
struct FlowWire {
    id: u64,
    traffic: u32,
    source: u32,
    destination: u32,
    bytes: Option<u64>,
    delivered: u64,
    start_ps: u64,
    end_ps: Option<u64>,
    deadline_ps: Option<u64>,
    ideal_ps: Option<u64>,
    retransmissions: u32,
    timeouts: u32,
    marks: u32,
    subflows: u8,
    paths: u32,
    switched_ps: Option<u64>,
    stall_ps: Option<u64>,
    resets: u32,
    /// Packets, and the picoseconds that they waited at hosts and at switches.
    waits: Option<[u64; 3]>,
}

#[derive(Serialize, Deserialize)]
struct SampleWire {
    time_ps: u64,
    entity: u32,
    metric: u32,
    value: f64,
}

#[derive(Serialize, Deserialize)]
struct CommandWire {
    traffic: u32,
    host: u32,
    start_ps: u64,
    end_ps: u64,
    code: i32,
    ended: bool,
    stdout: Output,
    stderr: Output,
}

/// A [`PathRecord`]: flow, connection, subflow, picoseconds, and the two ways.
type PathWire = (u32, u8, u8, u64, [u32; 2]);

fn path_wire(path: &PathRecord, place: impl Fn(&Arc<str>) -> u32) -> PathWire {
    let PathRecord { flow, connection, subflow, time, .. } = *path;
    (flow, connection, subflow, time.picos(), [place(&path.path), place(&path.back)])
}

/// Reads so many paths of `flows` flows from `rest`; `text` gives strings by their places.
fn read_paths(
    count: u64,
    flows: usize,
    text: impl Fn(u32) -> io::Result<Arc<str>>,
    rest: &mut &[u8],
) -> io::Result<Vec<PathRecord>> {
    let mut paths = Vec::new();
    for _ in 0..count {
        let (flow, connection, subflow, time, [path, back]): PathWire = decode(rest)?;
        if flow as usize >= flows {
            return Err(invalid("a path is of no flow"));
        }
        let (path, back, time) = (text(path)?, text(back)?, Time::from_picos(time));
        paths.push(PathRecord { flow, connection, subflow, time, path, back });
    }
    Ok(paths)
}

/// A [`Film`] without its links.
#[derive(Serialize, Deserialize)]
struct FilmWire {
    /// Name, whether it is a switch, tier.
    nodes: Vec<(String, bool, u32)>,
    /// From, to, bit/s, picoseconds, limit.
    links: Vec<(u32, u32, u64, u64, Option<u64>)>,
    times_ps: Vec<u64>,
    filmed: u64,
}

/// A step of a [`FilmedLink`]: sent, queue, drops, flows.
type StepWire = (u64, u64, u32, u32);

impl FilmWire {
    fn new(film: &Film) -> FilmWire {
        let Topology { nodes, links } = &*film.topology;
        let node = |node: &TopologyNode| (node.name.clone(), node.kind == NodeKind::Switch, node.tier);
        let link =
            |link: &TopologyLink| (link.from, link.to, link.rate.bps(), link.delay.picos(), link.limit.map(Bytes::get));
        FilmWire {
            nodes: nodes.iter().map(node).collect(),
            links: links.iter().map(link).collect(),
            times_ps: film.times.iter().map(|time| time.picos()).collect(),
            filmed: film.links.len() as u64,
        }
    }

    /// The film, of which the links are read from `rest`.
    fn read(self, rest: &mut &[u8]) -> io::Result<Film> {
        let (ends, count) = (self.nodes.len() as u64, self.links.len() as u64);
        let node = |(name, switch, tier)| {
            let kind = if switch { NodeKind::Switch } else { NodeKind::Host };
            TopologyNode { name, kind, tier }
        };
        let link = |(from, to, rate, delay, limit): (u32, u32, u64, u64, Option<u64>)| {
            let (rate, delay, limit) = (Rate::from_bps(rate), Span::from_picos(delay), limit.map(Bytes::new));
            let there = u64::from(from.max(to)) < ends;
            there.then_some(TopologyLink { from, to, rate, delay, limit }).ok_or_else(|| invalid("a node is missing"))
        };
        let nodes = self.nodes.into_iter().map(node).collect();
        let links = self.links.into_iter().map(link).collect::<io::Result<_>>()?;
        let mut filmed = Vec::new();
        for _ in 0..self.filmed {
            let (link, steps): (u32, Vec<StepWire>) = decode(rest)?;
            if u64::from(link) >= count || steps.len() != self.times_ps.len() {
                return Err(invalid("a link of the film does not fit"));
            }
            let step = |(sent, queue, drops, flows)| LinkStep { sent, queue, drops, flows };
            filmed.push(FilmedLink { link, steps: steps.into_iter().map(step).collect() });
        }
        let times = self.times_ps.into_iter().map(Time::from_picos).collect();
        Ok(Film { topology: Arc::new(Topology { nodes, links }), times, links: filmed })
    }
}

/// Writes `outcome`. The writer is flushed, so a full disk is an error here and not later.
pub(crate) fn write<W: Write>(outcome: &Outcome, mut writer: W) -> io::Result<()> {
    writer.write_all(MAGIC)?;
    let mut frames = FrameEncoder::new(writer);
    let strings = strings(outcome);
    let place = |text: &Arc<str>| strings[&**text];
    let mut table = vec![String::new(); strings.len()];
    for (text, place) in &strings {
        (*text).clone_into(&mut table[*place as usize]);
    }
    let mut buffer = Vec::new();
    let header = Header {
        job: outcome.job,
        end_ps: outcome.end.picos(),
        digest: outcome.digest,
        counters: outcome.counters,
        strings: table,
        flows: outcome.flows.len() as u64,
        samples: outcome.samples.len() as u64,
        commands: outcome.commands.len() as u64,
        failed: outcome.failed.clone(),
        ports: outcome.ports.as_ref().map(|all| all.iter().map(|one| port_row(place(&one.port), one)).collect()),
        cut: outcome.cut.iter().map(|cut| (cut.name.to_string(), cut.at.picos())).collect(),
        waits: outcome.waits.as_ref().map(|own| {
            let ports = own.ports.iter().map(|one| (place(&one.port), one.host, one.waited)).collect();
            (own.hosts, own.switches, ports)
        }),
        deadlock: outcome.deadlock.as_ref().map(|(at, ports)| (at.picos(), ports.clone())),
        paths: outcome.paths.as_ref().map(|paths| paths.len() as u64),
        film: outcome.film.as_ref().map(FilmWire::new),
    };
    encode(&header, &mut buffer, &mut frames)?;
    for flow in &outcome.flows {
        let wire = FlowWire {
            id: flow.id,
            traffic: place(&flow.traffic),
            source: place(&flow.source),
            destination: place(&flow.destination),
            bytes: flow.bytes,
            delivered: flow.delivered,
            start_ps: flow.start.picos(),
            end_ps: flow.end.map(Time::picos),
            deadline_ps: flow.deadline.map(Span::picos),
            ideal_ps: flow.ideal.map(Span::picos),
            retransmissions: flow.retransmissions,
            timeouts: flow.timeouts,
            marks: flow.marks,
            subflows: flow.subflows,
            paths: place(&flow.paths),
            switched_ps: flow.switched.map(Time::picos),
            stall_ps: flow.stall.map(Span::picos),
            resets: flow.resets,
            waits: flow.waits.map(|own| [own.packets, own.hosts.picos(), own.switches.picos()]),
        };
        encode(&wire, &mut buffer, &mut frames)?;
    }
    for sample in &outcome.samples {
        let (entity, metric) = (place(&sample.entity), place(&sample.metric));
        let wire = SampleWire { time_ps: sample.time.picos(), entity, metric, value: sample.value };
        encode(&wire, &mut buffer, &mut frames)?;
    }
    for command in &outcome.commands {
        let wire = CommandWire {
            traffic: place(&command.traffic),
            host: place(&command.host),
            start_ps: command.start.picos(),
            end_ps: command.end.picos(),
            code: command.code,
            ended: command.ended,
            stdout: command.stdout.clone(),
            stderr: command.stderr.clone(),
        };
        encode(&wire, &mut buffer, &mut frames)?;
    }
    for path in outcome.paths.iter().flatten() {
        encode(&path_wire(path, place), &mut buffer, &mut frames)?;
    }
    for link in outcome.film.iter().flat_map(|film| &film.links) {
        let step = |step: &LinkStep| (step.sent, step.queue, step.drops, step.flows);
        let steps: Vec<StepWire> = link.steps.iter().map(step).collect();
        encode(&(link.link, steps), &mut buffer, &mut frames)?;
    }
    frames.into_inner().map_err(snap::write::IntoInnerError::into_error)?.flush()
}

/// Reads what [`write`] wrote; the error says what does not fit. Never panics, whatever the bytes.
pub(crate) fn read<R: Read>(mut reader: R) -> io::Result<Outcome> {
    let mut magic = [0; MAGIC.len()];
    reader.read_exact(&mut magic)?;
    if magic != MAGIC {
        return Err(invalid("it does not start like a part file"));
    }
    let mut bytes = Vec::new();
    FrameDecoder::new(reader).read_to_end(&mut bytes)?;
    let mut rest = bytes.as_slice();
    let mut header: Header = decode(&mut rest)?;
    let table: Vec<Arc<str>> = header.strings.iter().map(String::as_str).map(Arc::from).collect();
    let text = |place: u32| table.get(place as usize).cloned().ok_or_else(|| invalid("a string is missing"));
    // Each record takes a byte at least, which keeps a changed count from asking for all memory.
    let mut flows = Vec::with_capacity((header.flows as usize).min(rest.len() / size_of::<FlowWire>() + 1));
    for _ in 0..header.flows {
        let wire: FlowWire = decode(&mut rest)?;
        flows.push(FlowRecord {
            id: wire.id,
            traffic: text(wire.traffic)?,
            source: text(wire.source)?,
            destination: text(wire.destination)?,
            bytes: wire.bytes,
            delivered: wire.delivered,
            start: Time::from_picos(wire.start_ps),
            end: wire.end_ps.map(Time::from_picos),
            deadline: wire.deadline_ps.map(Span::from_picos),
            ideal: wire.ideal_ps.map(Span::from_picos),
            retransmissions: wire.retransmissions,
            timeouts: wire.timeouts,
            marks: wire.marks,
            subflows: wire.subflows,
            paths: text(wire.paths)?,
            switched: wire.switched_ps.map(Time::from_picos),
            stall: wire.stall_ps.map(Span::from_picos),
            resets: wire.resets,
            waits: wire.waits.map(|[packets, hosts, switches]| {
                let (hosts, switches) = (Span::from_picos(hosts), Span::from_picos(switches));
                FlowWaits { packets, hosts, switches }
            }),
        });
    }
    let mut samples = Vec::with_capacity((header.samples as usize).min(rest.len() / size_of::<SampleWire>() + 1));
    for _ in 0..header.samples {
        let wire: SampleWire = decode(&mut rest)?;
        let (entity, metric) = (text(wire.entity)?, text(wire.metric)?);
        samples.push(Sample { time: Time::from_picos(wire.time_ps), entity, metric, value: wire.value });
    }
    let mut commands = Vec::with_capacity((header.commands as usize).min(rest.len() / size_of::<CommandWire>() + 1));
    for _ in 0..header.commands {
        let wire: CommandWire = decode(&mut rest)?;
        commands.push(CommandRecord {
            traffic: text(wire.traffic)?,
            host: text(wire.host)?,
            start: Time::from_picos(wire.start_ps),
            end: Time::from_picos(wire.end_ps),
            code: wire.code,
            ended: wire.ended,
            stdout: wire.stdout,
            stderr: wire.stderr,
        });
    }
    let paths = header.paths.map(|count| read_paths(count, flows.len(), text, &mut rest)).transpose()?;
    let film = header.film.take().map(|film| film.read(&mut rest)).transpose()?;
    if !rest.is_empty() {
        return Err(invalid("it is longer than its contents"));
    }
    let end = Time::from_picos(header.end_ps);
    let port = |&(port, drops, [sent, paused, deepest, headroom, overflows]): &PortRow| {
        let pauses = Pauses { sent, paused: Span::from_picos(paused), deepest, headroom, drops: overflows };
        Ok(PortRecord { port: text(port)?, drops, pauses })
    };
    let ports = header.ports.as_ref().map(|all| all.iter().map(port).collect::<io::Result<_>>()).transpose()?;
    let waits = header.waits.take().map(|(hosts, switches, ports)| {
        let port = |(name, host, waited)| Ok(PortWaits { port: text(name)?, host, waited });
        let ports = ports.into_iter().map(port).collect::<io::Result<_>>()?;
        Ok::<_, io::Error>(Waits { hosts, switches, ports })
    });
    let waits = waits.transpose()?;
    let Header { job, counters, digest, failed, deadlock, cut, .. } = header;
    let cut = cut.into_iter().map(|(name, at)| CutCapture { name: name.into(), at: Time::from_picos(at) }).collect();
    let deadlock = deadlock.map(|(at, ports)| (Time::from_picos(at), ports));
    Ok(Outcome {
        job,
        flows,
        samples,
        ports,
        cut,
        waits,
        commands,
        failed,
        counters,
        deadlock,
        digest,
        end,
        film,
        paths,
    })
}

impl Outcome {
    /// All of it as bytes, for [`Outcome::decode`] of the same version.
    ///
    /// # Panics
    /// If there is no memory left.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        write(self, &mut bytes).expect("memory takes all");
        bytes
    }

    /// Reads what [`Outcome::encode`] made. Never panics, whatever the bytes.
    ///
    /// # Errors
    /// If they are something else, are cut, or were changed.
    pub fn decode(bytes: &[u8]) -> io::Result<Outcome> {
        read(bytes)
    }
}

/// Every string once, with its place in order of first use.
fn strings(outcome: &Outcome) -> BTreeMap<&str, u32> {
    let of_flows = outcome.flows.iter().flat_map(|f| [&f.traffic, &f.source, &f.destination, &f.paths]);
    let of_samples = outcome.samples.iter().flat_map(|sample| [&sample.entity, &sample.metric]);
    let mut strings = BTreeMap::new();
    let of_commands = outcome.commands.iter().flat_map(|command| [&command.traffic, &command.host]);
    let of_ports = outcome.ports.iter().flatten().map(|one| &one.port);
    let of_waits = outcome.waits.iter().flat_map(|own| &own.ports).map(|one| &one.port);
    let of_paths = outcome.paths.iter().flatten().flat_map(|path| [&path.path, &path.back]);
    let others = of_commands.chain(of_ports).chain(of_waits).chain(of_paths);
    for text in of_flows.chain(of_samples).chain(others) {
        let next = strings.len() as u32;
        strings.entry(&**text).or_insert(next);
    }
    strings
}

/// Through a buffer: postcard's own writer to a stream drops the stream's error.
fn encode<T: Serialize, W: Write>(value: &T, buffer: &mut Vec<u8>, writer: &mut W) -> io::Result<()> {
    buffer.clear();
    *buffer = postcard::to_extend(value, std::mem::take(buffer)).map_err(io::Error::other)?;
    writer.write_all(buffer)
}

fn decode<T: DeserializeOwned>(bytes: &mut &[u8]) -> io::Result<T> {
    let (value, rest) = postcard::take_from_bytes(bytes).map_err(|_| invalid("its records are cut or changed"))?;
    *bytes = rest;
    Ok(value)
}

fn invalid(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn text() -> impl Strategy<Value = Arc<str>> {
        prop_oneof![Just(Arc::from("short")), "\\PC{0,12}".prop_map(Arc::from)]
    }

    prop_compose! {
        fn flow()(
            (id, bytes, delivered, start) in any::<(u64, Option<u64>, u64, u64)>(),
            (end, deadline, ideal, switched, stall) in any::<(Option<u64>, Option<u64>, Option<u64>, Option<u64>, Option<u64>)>(),
            (retransmissions, timeouts, marks, subflows) in any::<(u32, u32, u32, u8)>(),
            (traffic, source, destination, paths) in (text(), text(), text(), text()),
            waits in any::<Option<(u64, u64, u64)>>(),
        ) -> FlowRecord {
            let span = Span::from_picos;
            let waits = waits.map(|(packets, at, of)| FlowWaits { packets, hosts: span(at), switches: span(of) });
            let (start, end) = (Time::from_picos(start), end.map(Time::from_picos));
            let (deadline, ideal) = (deadline.map(Span::from_picos), ideal.map(Span::from_picos));
            let (switched, stall) = (switched.map(Time::from_picos), stall.map(Span::from_picos));
            FlowRecord {
                id, traffic, source, destination, bytes, delivered, start, end, deadline, ideal,
                retransmissions, timeouts, marks, subflows, paths, switched, stall, resets: timeouts / 2, waits,
            }
        }
    }

    prop_compose! {
        fn sample()(time in any::<u64>(), entity in text(), metric in text(), value in any::<f64>()) -> Sample {
            Sample { time: Time::from_picos(time), entity, metric, value }
        }
    }

    fn output() -> impl Strategy<Value = Output> {
        (vec(any::<u8>(), 0..40), 0..2u64).prop_map(|(kept, cut)| Output { bytes: kept.len() as u64 + cut, kept })
    }

    prop_compose! {
        fn command()(
            (traffic, host) in (text(), text()),
            (start, end, code, ended) in any::<(u64, u64, i32, bool)>(),
            (stdout, stderr) in (output(), output()),
        ) -> CommandRecord {
            let (start, end) = (Time::from_picos(start), Time::from_picos(end));
            CommandRecord { traffic, host, start, end, code, ended, stdout, stderr }
        }
    }

    prop_compose! {
        fn waited()(frames in any::<u64>(), seconds in any::<u64>(), nanos in 0..1_000_000_000u32) -> Waited {
            Waited { frames, time: std::time::Duration::new(seconds, nanos) }
        }
    }

    prop_compose! {
        fn failed()(traffic in text(), reason in text(), flows in any::<u64>()) -> Failed {
            Failed { traffic: traffic.to_string(), reason: reason.to_string(), flows }
        }
    }

    prop_compose! {
        /// Any film of a network of up to four nodes, of which every second link was used.
        fn film()(
            names in prop::collection::btree_set("[a-z]{1,3}", 2..5),
            ends in vec((0..2u32, 0..2u32, 1..u64::MAX, any::<u64>(), any::<Option<u64>>()), 1..6),
            times in prop::collection::btree_set(any::<u64>(), 1..6),
            steps in vec(any::<(u64, u64, u32, u32)>(), 6..7),
        ) -> Film {
            let node = |(at, name): (u32, String)| {
                let kind = if at % 2 == 0 { NodeKind::Host } else { NodeKind::Switch };
                TopologyNode { name, kind, tier: at }
            };
            let link = |(from, to, rate, delay, limit): (u32, u32, u64, u64, Option<u64>)| {
                let (rate, delay, limit) = (Rate::from_bps(rate), Span::from_picos(delay), limit.map(Bytes::new));
                TopologyLink { from, to, rate, delay, limit }
            };
            let nodes = (0..).zip(names).map(node).collect();
            let links: Vec<TopologyLink> = ends.into_iter().map(link).collect();
            let times: Vec<Time> = times.into_iter().map(Time::from_picos).collect();
            let step = |&(sent, queue, drops, flows): &(u64, u64, u32, u32)| LinkStep { sent, queue, drops, flows };
            let steps: Vec<LinkStep> = steps.iter().take(times.len()).map(step).collect();
            let filmed = (0..links.len() as u32).step_by(2);
            let filmed = filmed.map(|link| FilmedLink { link, steps: steps.clone() }).collect();
            Film { topology: Arc::new(Topology { nodes, links }), times, links: filmed }
        }
    }

    prop_compose! {
        /// Any outcome of the run `job`, without kernel hosts.
        pub(crate) fn outcome(job: Job)(
            flows in vec(flow(), 0..20),
            samples in vec(sample(), 0..20),
            (events, packet_hops, drops, marks) in any::<(u64, u64, u64, u64)>(),
            (digest, end) in any::<(u64, u64)>(),
            film in prop::option::of(film()),
            ports in prop::option::of(vec((text(), any::<u64>(), any::<[u64; 5]>()).prop_map(|(port, drops, own)| {
                let [sent, paused, deepest, headroom, overflows] = own;
                let pauses = Pauses { sent, paused: Span::from_picos(paused), deepest, headroom, drops: overflows };
                PortRecord { port, drops, pauses }
            }), 0..3)),
            waits in prop::option::of((waited(), waited(), vec((text(), any::<bool>(), waited()), 0..3)).prop_map(|(hosts, switches, ports)| {
                let ports = ports.into_iter().map(|(port, host, waited)| PortWaits { port, host, waited }).collect();
                Waits { hosts, switches, ports }
            })),
            paths in prop::option::of(vec((any::<(u32, u8, u8, u64)>(), text(), text()), 0..9)),
        ) -> Outcome {
            let counters = Counters { events, packet_hops, drops, marks, overruns: marks / 2, astray: drops / 3, ring_drops: drops / 2, backlog_drops: marks / 3, card_drops: drops / 7, gap_frames: marks / 5, gap_bytes: marks / 7, down: drops / 5, headroom_drops: drops / 3, watchdog_drops: drops / 9, deadlocks: marks / 11, syns_dropped: drops / 13, syn_cookies: marks / 13, accept_overflows: drops / 17, refused: drops / 19 };
            let (commands, failed) = (Vec::new(), Vec::new());
            let deadlock = (marks % 2 == 1).then(|| (Time::from_picos(events), "a>b → b>a".to_owned()));
            let cut = (drops % 3 == 1).then(|| CutCapture { name: "a>b".into(), at: Time::from_picos(marks) });
            let cut = cut.into_iter().collect();
            let most = flows.len() as u32;
            let path = |((flow, connection, subflow, time), path, back): ((u32, u8, u8, u64), _, _)| {
                let time = Time::from_picos(time);
                (most > 0).then(|| PathRecord { flow: flow % most, connection, subflow, time, path, back })
            };
            let paths = paths.map(|paths| paths.into_iter().filter_map(path).collect());
            Outcome { job, flows, samples, ports, cut, waits, commands, failed, counters, deadlock, digest, end: Time::from_picos(end), film, paths }
        }
    }

    fn any_outcome() -> impl Strategy<Value = Outcome> {
        let modelled = (any::<u32>(), any::<u32>()).prop_flat_map(|(cell, repeat)| outcome(Job { cell, repeat }));
        (modelled, vec(command(), 0..5), vec(failed(), 0..3)).prop_map(|(modelled, commands, failed)| Outcome {
            commands,
            failed,
            ..modelled
        })
    }

    fn bytes(outcome: &Outcome) -> Vec<u8> {
        let mut bytes = Vec::new();
        write(outcome, &mut bytes).unwrap();
        bytes
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(outcome in any_outcome()) {
            prop_assert_eq!(read(bytes(&outcome).as_slice()).unwrap(), outcome);
        }

        #[test]
        fn a_cut_file_is_refused(outcome in any_outcome(), at in any::<prop::sample::Index>()) {
            let bytes = bytes(&outcome);
            prop_assert!(read(&bytes[..at.index(bytes.len())]).is_err());
        }

        #[test]
        fn a_changed_byte_is_refused(outcome in any_outcome(), at in any::<prop::sample::Index>(), by in 1..=255u8) {
            let mut bytes = bytes(&outcome);
            let at = at.index(bytes.len());
            bytes[at] ^= by;
            // The checksum lets some 2^-32 of changes pass.
            prop_assert!(read(bytes.as_slice()).is_err());
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in vec(any::<u8>(), 0..200)) {
            let _ = read(bytes.as_slice());
            let mut body = MAGIC.to_vec();
            let mut frames = FrameEncoder::new(&mut body);
            frames.write_all(&bytes).unwrap();
            drop(frames);
            let _ = read(body.as_slice());
        }
    }

    fn empty() -> Outcome {
        let job = Job { cell: 1, repeat: 2 };
        let (counters, end) = (Counters::default(), Time::ZERO);
        let (flows, samples, ports, commands, failed) = Default::default();
        let (waits, cut) = (None, Vec::new());
        Outcome {
            job,
            flows,
            samples,
            ports,
            cut,
            waits,
            commands,
            failed,
            counters,
            deadlock: None,
            digest: 0,
            end,
            film: None,
            paths: None,
        }
    }

    #[test]
    fn floats_keep_all_their_bits() {
        let values = [f64::NAN, -f64::NAN, f64::INFINITY, -0.0, f64::MIN_POSITIVE / 2.0];
        let mut outcome = empty();
        for value in values {
            outcome.samples.push(Sample { time: Time::NEVER, entity: "e".into(), metric: "m".into(), value });
        }
        let read = read(bytes(&outcome).as_slice()).unwrap();
        for (sample, value) in read.samples.iter().zip(values) {
            assert_eq!(sample.value.to_bits(), value.to_bits());
        }
    }

    #[test]
    fn a_file_with_more_behind_it_is_refused() {
        let mut bytes = bytes(&empty());
        let mut frames = FrameEncoder::new(&mut bytes);
        frames.write_all(b"more").unwrap();
        frames.flush().unwrap();
        drop(frames);
        assert_eq!(read(bytes.as_slice()).unwrap_err().to_string(), "it is longer than its contents");
    }

    #[test]
    fn strings_read_are_shared() {
        let mut outcome = empty();
        for _ in 0..2 {
            outcome.samples.push(Sample { time: Time::ZERO, entity: "e".into(), metric: "m".into(), value: 0.0 });
        }
        let read = read(bytes(&outcome).as_slice()).unwrap();
        assert!(Arc::ptr_eq(&read.samples[0].entity, &read.samples[1].entity));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_full_disk_is_an_error() {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let error = write(&empty(), io::BufWriter::new(full)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }
}
