//! Wall time per virtual second of kernel hosts: pairs of hosts, each pair with a cable of 100 Mb/s and 5 ms, and one
//! endless TCP flow that fills it.
//!
//! `cargo bench -p headway-kernel` runs 2, 8 and 16 hosts, with the fast path for network cards and without, by one
//! thread and by two, and prints one line of JSON each. Booting is not counted. Needs an image. `-- HOSTS FAST THREADS`
//! (`-- 16 true 2`) runs one of them. Not a test: nothing depends on the figures.

#![expect(clippy::disallowed_types, reason = "a benchmark looks at the clock")]

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use headway_agent::protocol::{Config, Expected, Flow, Host, Listener, Report};
use headway_engine::Streams;
use headway_fabric::{Graph, Limit, LinkId, QueueSpec, Wire};
use headway_kernel::image::Image;
use headway_kernel::{CardSpec, Cpu, EPOCH_NS, GuestPlan, Guests, RunPlan};
use headway_transport::{Measure, Simulation};
use headway_units::{Bytes, Rate, Span, Time};

const SECONDS: u64 = 5;
const PORT: u16 = 5000;

fn address(host: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, host as u8 + 1)
}

/// Host `n`, which sends to the next one if its number is even.
fn guest(n: usize, link: LinkId, wire: &Wire) -> GuestPlan {
    let own = address(n);
    let setup = format!(
        "for b in rmem wmem; do echo 4096 131072 6291456 > /proc/sys/net/ipv4/tcp_$b; done\nexec ip -batch - <<end\n\
         link set eth0 up\naddress add {own}/32 dev eth0\n\
         neigh add 169.254.0.1 lladdr 02:00:00:00:00:01 dev eth0 nud permanent\n\
         route add 10.0.0.0/16 via 169.254.0.1 dev eth0 onlink src {own}\nend\n"
    );
    let sends = n.is_multiple_of(2);
    let ends = |from: usize| (SocketAddr::from((address(from), 20_000)), SocketAddr::from((address(from + 1), PORT)));
    let flow = || Flow {
        id: 0,
        start_ns: EPOCH_NS + 1_000_000,
        size: None,
        sampled: false,
        mptcp: false,
        control: None,
        max_pacing_rate: None,
        connections: vec![ends(n)],
    };
    let expected = || Expected { peer: ends(n - 1).0, port: PORT, size: None };
    let host = Host {
        name: format!("h{n}"),
        interfaces: 1,
        setup: vec![["/bin/sh", "-c", &setup].map(str::to_owned).to_vec()],
        daemons: Vec::new(),
        listeners: if sends { vec![] } else { vec![Listener { port: PORT, mptcp: false, control: None }] },
        expected: if sends { vec![] } else { vec![expected()] },
        flows: if sends { vec![flow()] } else { vec![] },
        commands: vec![],
        sample_ns: None,
    };
    let card = CardSpec {
        mac: [2, 0, 0, 0, 0, n as u8 + 1],
        mtu: 1500,
        rate: wire.rate,
        gap: wire.gap,
        segmentation: true,
        checksums: true,
        cpu: 0,
    };
    GuestPlan {
        config: Config {
            epoch_ns: EPOCH_NS,
            end_ns: EPOCH_NS + SECONDS * 1_000_000_000,
            files: false,
            names: BTreeMap::new(),
            hosts: vec![host],
        },
        cards: vec![(link, card)],
        carriers: BTreeMap::new(),
        cpus: vec![Cpu::default()],
        memory: 32 << 20,
        seed: n as u64 + 1,
    }
}

fn run(image: &Image, hosts: usize, fast_path: bool, threads: usize) {
    let queue = QueueSpec::DropTail { limit: Some(Limit::Packets(100)), mark: None };
    let wire = Wire { rate: Rate::from_mbps(100), delay: Span::from_millis(5), gap: Bytes::new(20), loss: 0.0, queue };
    let mut graph = Graph::new();
    let (mut guests, mut addresses) = (Vec::new(), BTreeMap::new());
    for first in (0..hosts).step_by(2) {
        let pair = [first, first + 1].map(|n| graph.add_host(format!("h{n}"), Span::ZERO).expect("a new name"));
        let (there, back) = graph.connect(pair[0], pair[1], wire, wire).expect("two hosts");
        for (n, link) in [(first, there), (first + 1, back)] {
            addresses.insert(address(n).into(), link);
            guests.push(guest(n, link, &wire));
        }
    }
    let plan = RunPlan {
        linux: image.linux.clone(),
        initramfs: image.initramfs.clone(),
        system: image.system.clone(),
        fast_path,
        guests,
        addresses,
        files: None,
        captures: vec![],
        processors: (0..threads).collect(),
        threads,
        patience: Duration::from_secs(60),
    };
    let began = Instant::now();
    let guests = Guests::boot(&plan, &Arc::new(AtomicBool::new(false))).expect("guests that boot");
    let boot = began.elapsed().as_secs_f64();
    let measure = Measure::default();
    let mut simulation = Simulation::new(graph, Vec::<headway_transport::Transport>::new(), measure, Streams::new(1));
    simulation.attach(Box::new(guests));
    let end = Time::ZERO + Span::from_secs(SECONDS);
    let began = Instant::now();
    simulation.run(end, &mut std::iter::empty()).expect("guests that go on");
    let wall = began.elapsed().as_secs_f64();
    let (outputs, work) = simulation.detach::<Guests>().finish(end).expect("guests that end");
    let received = outputs.iter().flat_map(|output| &output.reports).map(|report| match report {
        Report::Received { bytes, .. } => *bytes,
        _ => 0,
    });
    let mbps = received.sum::<u64>() as f64 * 8.0 / 1e6 / SECONDS as f64;
    println!(
        "{{\"hosts\": {hosts}, \"fast_path\": {fast_path}, \"threads\": {threads}, \"wall_s_per_virtual_s\": {:.3}, \
         \"goodput_mbps\": {mbps:.1}, \"frames\": {}, \"runs\": {}, \"boot_s\": {boot:.2}, \"kernel\": \"{}\"}}",
        wall / SECONDS as f64,
        work.cards.sent,
        work.runs,
        image.about.version
    );
}

fn main() {
    let image = match Image::find(None) {
        Ok(image) => image,
        Err(error) => return eprintln!("skipped: {error}"),
    };
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    if let [hosts, fast, threads] = &words[..] {
        let number = |word: &str| word.parse().expect("HOSTS FAST THREADS, as in 16 true 2");
        return run(&image, number(hosts), fast == "true", number(threads));
    }
    for (fast, threads) in [(false, 1), (true, 1), (true, 2)] {
        for hosts in [2, 8, 16] {
            run(&image, hosts, fast, threads);
        }
    }
}
