//! Captures of modelled hosts and links: what taps of a run see, written as headers of TCP over IPv4 into pcap files.
//!
//! Hosts and interfaces have the addresses that they would have as kernels. Left out, since models have none of them: the
//! content of packets, which is zeros, IP's identification, and MPTCP's authentication codes and announcements of addresses.
//! Timestamps (RFC 7323) are the time at the place of the capture, in milliseconds, and echoes are the latest that was seen
//! there.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use headway_capture::writing::{EndPoint, Mapping, PcapFile, Segment, TcpOptions, first_data_number};
use headway_emulation::Captures;
use headway_engine::splitmix64;
use headway_fabric::{Graph, LinkId};
use headway_kernel::Watch;
use headway_kernel::setup::{ipv4, mac};
use headway_results::{CutCapture, Error};
use headway_transport::{Simulation, Tap, TapPlace, TappedSegment};
use headway_units::Time;

/// No file is larger.
const LARGEST: u64 = 1_000_000_000;

/// The ports that openers take, in turn, as Linux' (`net.ipv4.ip_local_port_range`), and where acceptors listen.
const FIRST_PORT: u16 = 32_768;
const PORTS: u32 = 28_232;
const SERVICE: u16 = 80;

const SYN: u8 = 2;
const ACK: u8 = 16;

/// The captures of a run that are being written.
#[derive(Debug)]
pub(crate) struct Capturing(Arc<Mutex<Files>>);

/// A file.
#[derive(Debug)]
struct CaptureFile {
    name: Arc<str>,
    path: PathBuf,
    file: PcapFile<BufWriter<File>>,
    /// When the first packet found no room.
    cut: Option<Time>,
}

/// The files, and what has been seen of connections.
#[derive(Debug)]
struct Files {
    open: Vec<CaptureFile>,
    /// The file of an interface, by the link that leaves it, and that of a link.
    interfaces: BTreeMap<LinkId, usize>,
    links: BTreeMap<LinkId, usize>,
    /// Address and number of each interface, by the link that leaves it.
    ends: BTreeMap<LinkId, (u32, u32)>,
    /// By subflow: the latest timestamps of the two directions, and whether the opener has answered the handshake.
    subflows: Vec<Seen>,
    error: Option<(PathBuf, io::Error)>,
    options: TcpOptions,
    bytes: Vec<u8>,
}

/// What has been seen of a subflow.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    stamps: [u32; 2],
    answered: bool,
}

impl Capturing {
    /// Has `simulation` write `captures` into `folder`.
    pub fn begin(captures: &Captures, folder: &Path, simulation: &mut Simulation) -> Result<Capturing, Error> {
        let failed = |action| move |path: &Path, source| Error::Io { action, path: path.to_path_buf(), source };
        fs::create_dir_all(folder).map_err(|source| failed("create")(folder, source))?;
        let mut files = Files {
            open: Vec::new(),
            interfaces: BTreeMap::new(),
            links: BTreeMap::new(),
            ends: ends(simulation.graph()),
            subflows: Vec::new(),
            error: None,
            options: TcpOptions::new(),
            bytes: Vec::new(),
        };
        for (name, watches) in captures {
            let path = folder.join(format!("{}.pcap", name.replace('>', "-to-")));
            let file = File::create(&path).and_then(|file| PcapFile::new(BufWriter::new(file), LARGEST));
            let file = file.map_err(|source| failed("create")(&path, source))?;
            let place = files.open.len();
            files.open.push(CaptureFile { name: name.as_str().into(), path, file, cut: None });
            for watch in watches {
                match watch {
                    Watch::Interface(link) => files.interfaces.insert(*link, place),
                    Watch::Link(link) => files.links.insert(*link, place),
                };
            }
        }
        let [interfaces, links] = [&files.interfaces, &files.links].map(|of| of.keys().copied().collect::<Vec<_>>());
        let files = Arc::new(Mutex::new(files));
        simulation.tap(Box::new(Writer(Arc::clone(&files))), &interfaces, &links);
        Ok(Capturing(files))
    }

    /// Writes what is left; gives the captures that have not all packets.
    pub fn finish(self) -> Result<Vec<CutCapture>, Error> {
        let mut files = lock(&self.0);
        let failed = |(path, source)| Error::Io { action: "write", path, source };
        if let Some(error) = files.error.take() {
            return Err(failed(error));
        }
        let mut cut = Vec::new();
        for CaptureFile { name, path, file, cut: at } in files.open.drain(..) {
            file.finish().map_err(|source| failed((path, source)))?;
            cut.extend(at.map(|at| CutCapture { name, at }));
        }
        Ok(cut)
    }
}

/// Interfaces by the links that leave them: the numbers of their hosts and theirs there.
fn ends(graph: &Graph) -> BTreeMap<LinkId, (u32, u32)> {
    let hosts = (0..).zip(graph.hosts());
    let interfaces = hosts.flat_map(|(number, host)| {
        (0..).zip(graph.interfaces(host)).map(move |(interface, &link)| (link, (number, interface)))
    });
    interfaces.collect()
}

fn lock(files: &Mutex<Files>) -> MutexGuard<'_, Files> {
    files.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The tap.
#[derive(Debug)]
struct Writer(Arc<Mutex<Files>>);

impl Tap for Writer {
    fn see(&mut self, segment: &TappedSegment<'_>) {
        lock(&self.0).see(segment);
    }
}

impl Files {
    fn see(&mut self, seen: &TappedSegment<'_>) {
        let place = match seen.place {
            TapPlace::Sent(link) | TapPlace::Received(link) => self.interfaces.get(&link),
            TapPlace::Passed(link) => self.links.get(&link),
        };
        let Some(&place) = place else { return };
        self.write_options(seen);
        let subflow = seen.subflow;
        let direction = usize::from(!seen.from_opener);
        let [own, other] = [direction, 1 - direction].map(|direction| isn(subflow.serial, direction));
        let port = FIRST_PORT + (subflow.serial % PORTS) as u16;
        let ends = [self.end(subflow.opener, port), self.end(subflow.acceptor, SERVICE)];
        let shift = subflow.window_scale.filter(|_| seen.flags & SYN == 0).unwrap_or(0);
        let segment = Segment {
            source: ends[direction],
            destination: ends[1 - direction],
            sequence: own.wrapping_add(seen.sequence),
            acknowledgement: if seen.flags & ACK == 0 { 0 } else { other.wrapping_add(seen.acknowledgement) },
            flags: seen.flags,
            window: u16::try_from(seen.window >> shift).unwrap_or(u16::MAX),
            ecn: seen.ecn,
            id: 0,
            options: self.options.bytes(),
            payload: seen.payload,
        };
        self.bytes.clear();
        let length = segment.write(&mut self.bytes);
        let file = &mut self.open[place];
        match file.file.packet(seen.time.picos() / 1000, &self.bytes, length) {
            Ok(true) => {}
            Ok(false) => {
                file.cut.get_or_insert(seen.time);
            }
            Err(error) => {
                self.error.get_or_insert((file.path.clone(), error));
            }
        }
    }

    fn end(&self, link: LinkId, port: u16) -> EndPoint {
        let (host, interface) = self.ends.get(&link).copied().unwrap_or_default();
        EndPoint { mac: mac(host, interface), address: ipv4(host, interface), port }
    }

    fn write_options(&mut self, seen: &TappedSegment<'_>) {
        let subflow = seen.subflow;
        let at = subflow.serial as usize;
        if self.subflows.len() <= at {
            self.subflows.resize(at + 1, Seen::default());
        }
        let state = &mut self.subflows[at];
        let direction = usize::from(!seen.from_opener);
        let syn = seen.flags & SYN != 0;
        let options = &mut self.options;
        options.clear();
        if syn {
            options.mss(u16::try_from(subflow.mss).unwrap_or(u16::MAX));
        }
        if subflow.timestamps {
            let now = (seen.time.picos() / 1_000_000_000) as u32;
            state.stamps[direction] = now;
            options.timestamps(now, state.stamps[1 - direction], syn && subflow.selective);
        } else if syn && subflow.selective {
            options.sack_permitted();
        }
        if let Some(shift) = subflow.window_scale.filter(|_| syn) {
            options.window_scale(shift);
        }
        if subflow.multipath {
            write_mptcp(options, seen, &mut state.answered);
        }
        let other = isn(subflow.serial, 1 - direction);
        options.sack(seen.sack.iter().map(|&(from, to)| (other.wrapping_add(from), other.wrapping_add(to))));
    }
}

/// The options of MPTCP; `answered` says whether the opener has sent the third segment of its handshake.
fn write_mptcp(options: &mut TcpOptions, seen: &TappedSegment<'_>, answered: &mut bool) {
    let subflow = seen.subflow;
    let [opener, acceptor] = [0, 1].map(|side| key(subflow.first, side));
    let (id, join) = (subflow.nth as u8, subflow.nth > 0);
    let nonce = isn(subflow.serial, 2 + usize::from(!seen.from_opener));
    match (seen.flags & SYN != 0, seen.flags & ACK != 0) {
        (true, false) if join => options.mp_join(acceptor, id, nonce),
        (true, false) => options.mp_capable(&[]),
        (true, true) if join => options.mp_join_answer(id, nonce),
        (true, true) => options.mp_capable(&[acceptor]),
        _ if seen.from_opener && !*answered && seen.payload == 0 => {
            *answered = true;
            if join { options.mp_join_end() } else { options.mp_capable(&[opener, acceptor]) }
        }
        _ => write_dss(options, seen, [opener, acceptor]),
    }
}

/// The data sequence signal.
fn write_dss(options: &mut TcpOptions, seen: &TappedSegment<'_>, [opener, acceptor]: [u64; 2]) {
    let subflow = seen.subflow;
    let (own, other) = if seen.from_opener { (opener, acceptor) } else { (acceptor, opener) };
    let [own, other] = [own, other].map(first_data_number);
    let wide = subflow.mapping >= 24;
    let mapping = seen.data.filter(|_| options.room() >= 24).map(|data| Mapping {
        data: own.wrapping_add(u64::from(data)),
        wide,
        sequence: seen.sequence,
        length: u16::try_from(seen.payload).unwrap_or(u16::MAX),
    });
    options.dss((other as u32).wrapping_add(seen.data_acknowledgement), mapping);
}

/// The initial number of a direction, and other numbers of a subflow that nobody should guess.
fn isn(serial: u32, which: usize) -> u32 {
    (splitmix64(u64::from(serial) << 2 | which as u64) >> 32) as u32
}

/// The key of an end of the connection that begins with subflow number `first`.
fn key(first: u32, side: u64) -> u64 {
    splitmix64(1 << 40 | u64::from(first) << 1 | side)
}
