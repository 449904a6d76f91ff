//! Real guests on small networks, for the tests of this folder.
#![allow(dead_code, reason = "each test uses a part")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use headway_agent::protocol::{Command, Config, Expected, Flow, Host, Listener, Report, is_long};
use headway_engine::Streams;
use headway_fabric::{Graph, Limit, LinkId, NodeId, QueueSpec, Wire};
use headway_kernel::image::Image;
use headway_kernel::{CardSpec, Cpu, EPOCH_NS, GuestError, GuestPlan, Guests, HostOutput, RunPlan, Watch, Work};
use headway_transport::{Measure, Simulation, Stopped};
use headway_units::{Bytes, Rate, Span, Time};

/// Guests are pinned to processors and compared beside load: one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// The image, if there is one.
pub fn image() -> Option<Image> {
    Image::find(None).map_err(|error| eprintln!("skipped: {error}")).ok()
}

pub const SECOND: u64 = 1_000_000_000;

/// Hosts in a row of switches, or with cables of their own between two.
pub struct Lab {
    pub graph: Graph,
    pub hosts: Vec<NodeId>,
    pub plans: Vec<GuestPlan>,
    pub seconds: u64,
    pub threads: usize,
    pub processors: Vec<usize>,
    pub captures: Vec<(Watch, PathBuf)>,
    pub patience: Duration,
}

/// 100 Mb/s, and so much delay, loss and room for packets.
pub fn wire(delay: Span, loss: f64, packets: u32) -> Wire {
    let queue = QueueSpec::DropTail { limit: Some(Limit::Packets(packets)), mark: None };
    Wire { rate: Rate::from_mbps(100), delay, gap: Bytes::new(20), loss, queue }
}

pub fn address(host: usize, interface: usize) -> String {
    format!("10.{interface}.0.{}", host + 1)
}

impl Lab {
    /// Two hosts with `cables` between them.
    pub fn pair(cables: &[Wire], seconds: u64) -> Lab {
        let mut graph = Graph::new();
        let hosts: Vec<NodeId> = (0..2).map(|n| graph.add_host(format!("h{n}"), Span::ZERO).unwrap()).collect();
        for &cable in cables {
            graph.connect(hosts[0], hosts[1], cable, cable).unwrap();
        }
        Lab::of(graph, hosts, seconds)
    }

    /// Two hosts with a switch between them.
    pub fn switched(cable: Wire, latency: Span, seconds: u64) -> Lab {
        let mut graph = Graph::new();
        let hosts: Vec<NodeId> = (0..2).map(|n| graph.add_host(format!("h{n}"), Span::ZERO).unwrap()).collect();
        let switch = graph.add_switch("switch", latency).unwrap();
        for &host in &hosts {
            graph.connect(host, switch, cable, cable).unwrap();
        }
        Lab::of(graph, hosts, seconds)
    }

    pub fn of(graph: Graph, hosts: Vec<NodeId>, seconds: u64) -> Lab {
        let mut lab = Lab {
            graph,
            hosts,
            plans: Vec::new(),
            seconds,
            threads: 1,
            processors: Vec::new(),
            captures: Vec::new(),
            patience: Duration::from_secs(60),
        };
        for n in 0..lab.hosts.len() {
            let plan = lab.guest(&[n]);
            lab.plans.push(plan);
        }
        lab
    }

    /// A guest with these hosts.
    pub fn guest(&self, members: &[usize]) -> GuestPlan {
        let mut cards = Vec::new();
        let mut hosts = Vec::new();
        for (place, &n) in members.iter().enumerate() {
            let links = self.graph.interfaces(self.hosts[n]);
            let mut setup = String::from(
                "set -e\nfor b in rmem wmem; do echo 4096 131072 6291456 > /proc/sys/net/ipv4/tcp_$b; done\nexec ip -batch - <<end\n",
            );
            for (i, &link) in links.iter().enumerate() {
                let own = address(n, i);
                let _ = write!(
                    setup,
                    "link set eth{i} up\naddress add {own}/32 dev eth{i}\n\
                     neigh add 169.254.0.1 lladdr 02:00:00:00:00:01 dev eth{i} nud permanent\n\
                     route add 10.{i}.0.0/16 via 169.254.0.1 dev eth{i} onlink src {own}\n"
                );
                let wire = &self.graph.link(link).wire;
                cards.push((
                    link,
                    CardSpec {
                        mac: [2, 0, i as u8, 0, 0, n as u8 + 1],
                        mtu: 1500,
                        rate: wire.rate,
                        gap: wire.gap,
                        segmentation: true,
                        checksums: true,
                        cpu: place,
                    },
                ));
            }
            setup += "end\n";
            hosts.push(Host {
                name: format!("h{n}"),
                interfaces: links.len() as u32,
                setup: vec![vec!["/bin/sh".to_owned(), "-c".to_owned(), setup]],
                listeners: Vec::new(),
                expected: Vec::new(),
                daemons: Vec::new(),
                flows: Vec::new(),
                commands: Vec::new(),
                sample_ns: None,
            });
        }
        GuestPlan {
            config: Config {
                epoch_ns: EPOCH_NS,
                end_ns: EPOCH_NS + self.seconds * SECOND,
                files: false,
                names: BTreeMap::new(),
                hosts,
            },
            cards,
            carriers: BTreeMap::new(),
            cpus: vec![Cpu::default(); members.len()],
            memory: 32 << 20,
            seed: 11 + members[0] as u64,
        }
    }

    pub fn host(&mut self, name: &str) -> &mut Host {
        let hosts = self.plans.iter_mut().flat_map(|plan| &mut plan.config.hosts);
        hosts.into_iter().find(|host| host.name == name).expect("a host of the lab")
    }

    pub fn command(&mut self, host: &str, name: &str, start_ns: u64, stop_ns: Option<u64>, shell: &str) {
        let command = Command {
            name: name.to_owned(),
            shell: shell.to_owned(),
            start_ns: EPOCH_NS + start_ns,
            stop_ns: stop_ns.map(|stop| EPOCH_NS + stop),
        };
        self.host(host).commands.push(command);
    }

    /// A flow from h0 to h1.
    pub fn flow(&mut self, id: u64, start_ns: u64, size: Option<u64>, mptcp: bool) {
        let from: SocketAddr = format!("{}:{}", address(0, 0), 20_000 + id).parse().unwrap();
        let to = format!("{}:80", address(1, 0)).parse().unwrap();
        self.host("h0").flows.push(Flow {
            id,
            start_ns: EPOCH_NS + start_ns,
            size,
            sampled: true,
            mptcp,
            control: None,
            max_pacing_rate: None,
            connections: vec![(from, to)],
        });
        if is_long(size) {
            self.host("h1").expected.push(Expected { peer: from, port: 80, size });
        }
        let listener = Listener { port: 80, mptcp, control: None };
        if self.host("h1").listeners.is_empty() {
            self.host("h1").listeners.push(listener);
        }
    }

    pub fn run(&self, image: &Image) -> Result<(Vec<HostOutput>, Work, u64), GuestError> {
        let mut addresses = BTreeMap::new();
        for (n, &host) in self.hosts.iter().enumerate() {
            for (i, &link) in self.graph.interfaces(host).iter().enumerate() {
                addresses.insert(address(n, i).parse().unwrap(), link);
            }
        }
        let plan = RunPlan {
            linux: image.linux.clone(),
            initramfs: image.initramfs.clone(),
            system: image.system.clone(),
            fast_path: image.about.fast_path,
            guests: self.plans.clone(),
            addresses,
            files: None,
            captures: self.captures.clone(),
            processors: self.processors.clone(),
            threads: self.threads,
            patience: self.patience,
        };
        let guests = Guests::boot(&plan, &Arc::new(AtomicBool::new(false)))?;
        let measure = Measure::default();
        let mut simulation =
            Simulation::new(self.graph.clone(), Vec::<headway_transport::Transport>::new(), measure, Streams::new(1));
        let watched: Vec<LinkId> = guests.watched_links().collect();
        simulation.attach(Box::new(guests));
        for link in watched {
            simulation.watch(link);
        }
        let end = Time::ZERO + Span::from_secs(self.seconds);
        match simulation.run(end, &mut std::iter::empty()) {
            Ok(()) => {}
            Err(Stopped::External(error)) => return Err(*error.downcast::<GuestError>().expect("guests' own error")),
            Err(other) => panic!("{other}"),
        }
        let guests = simulation.detach::<Guests>();
        let (outputs, work) = guests.finish(end)?;
        Ok((outputs, work, simulation.finish().2.digest))
    }
}

pub fn output(outputs: &[HostOutput], host: &str, file: &str) -> String {
    let host = outputs.iter().find(|output| output.name == host).expect("a host of the lab");
    let (_, bytes) = host.files.iter().find(|(name, _)| name == file).expect("a command's output");
    String::from_utf8_lossy(bytes).into_owned()
}

pub fn reports<'a>(outputs: &'a [HostOutput], host: &str) -> &'a [Report] {
    &outputs.iter().find(|output| output.name == host).expect("a host of the lab").reports
}

pub fn alone() -> impl Sized {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}
