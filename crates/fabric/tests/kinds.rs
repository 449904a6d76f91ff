//! A queue discipline and a topology are a file of their own and a line in a list; nothing else in the crate knows them.
//! And a topology needs no more than the crate's public methods.

use std::fs;
use std::path::{Path, PathBuf};

use headway_engine::Streams;
use headway_fabric::topology::{Built, TopologyError};
use headway_fabric::{Choice, Fabric, Graph, Paths, QueueSpec, Wire};
use headway_units::{Bytes, Rate, Span};

/// Rust files below `folder`, without those of tests.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") && !path.ends_with("tests.rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// The code of a file, without comments and tests.
fn code(file: &Path) -> String {
    let text = fs::read_to_string(file).unwrap();
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let lines: Vec<&str> = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    lines.join("\n")
}

/// The words that stand between `before` and `after` on a line.
fn between(code: &str, before: &str, after: char) -> Vec<String> {
    let found = code.lines().filter_map(|line| line.strip_prefix(before)?.split_once(after));
    found.map(|(word, _)| word.to_owned()).collect()
}

fn names(code: &str, word: &str) -> bool {
    code.split(|c: char| !c.is_alphanumeric() && c != '_').any(|token| token == word)
}

/// Panics if `kind`, whose own file is `own` in a folder of its sort, is named elsewhere than in the list of that folder.
/// Another kind may build on it.
fn assert_in_two_files(kind: &str, own: &Path, others: &[PathBuf]) {
    let list = own.with_file_name("mod.rs");
    for file in sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src")) {
        if file != own && file != list && !others.contains(&file) {
            assert!(!names(&code(&file), kind), "{kind} is named in {}", file.display());
        }
    }
}

#[test]
fn a_queue_discipline_is_named_in_two_files() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/queue");
    let kinds: Vec<(PathBuf, Vec<String>)> =
        sources(&folder).into_iter().map(|file| (file.clone(), between(&code(&file), "impl Spec for ", ' '))).collect();
    assert!(kinds.iter().map(|(_, specs)| specs.len()).sum::<usize>() >= 4);
    for (own, specs) in &kinds {
        for spec in specs {
            assert_in_two_files(spec, own, &[]);
            let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
            for other in fs::read_dir(crates).unwrap().map(|entry| entry.unwrap().path()) {
                if other.join("src").is_dir() && !other.ends_with("fabric") {
                    let naming = sources(&other.join("src")).into_iter().filter(|file| names(&code(file), spec));
                    assert!(naming.count() <= 2, "{spec} in {}", other.display());
                }
            }
        }
    }
}

#[test]
fn a_topology_is_named_in_two_files() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/topology");
    let files: Vec<PathBuf> =
        sources(&folder).into_iter().filter(|file| code(file).contains("pub fn build(&self)")).collect();
    assert!(files.len() >= 9);
    for own in &files {
        let kinds = between(&code(own), "pub struct ", ' ');
        assert!(!kinds.is_empty());
        for kind in kinds {
            assert_in_two_files(&kind, own, &files);
        }
    }
}

/// A worked example of a topology: switches in a circle with a host each, by the crate's public methods alone.
struct Ring {
    switches: u32,
    wire: Wire,
}

impl Ring {
    fn build(&self) -> Result<Built, TopologyError> {
        if self.switches < 3 {
            return Err(TopologyError::Parameter { name: "switches", value: self.switches, allowed: "at least 3" });
        }
        let mut graph = Graph::new();
        let (mut hosts, mut ring) = (Vec::new(), Vec::new());
        for i in 0..self.switches {
            ring.push(graph.add_switch(format!("switch{i}"), Span::ZERO)?);
            hosts.push(graph.add_host(format!("host{i}"), Span::ZERO)?);
        }
        for (i, (&host, &switch)) in hosts.iter().zip(&ring).enumerate() {
            graph.connect(host, switch, self.wire, self.wire)?;
            graph.connect(switch, ring[(i + 1) % ring.len()], self.wire, self.wire)?;
        }
        Ok(Built { graph, hosts, top: ring })
    }
}

/// Between hosts of a ring of six that are d switches apart, paths have min(d, 6 − d) + 2 links.
#[test]
fn a_ring_is_a_topology() {
    let queue = QueueSpec::DropTail { limit: None, mark: None };
    let wire = Wire { rate: Rate::from_gbps(1), delay: Span::ZERO, gap: Bytes::new(20), loss: 0.0, queue };
    let built = Ring { switches: 6, wire }.build().unwrap();
    let mut paths = Paths::new(&built.graph);
    for apart in 1..6 {
        let [from, to] = [0, apart].map(|i| built.graph.interfaces(built.hosts[i])[0]);
        let mut path = Vec::new();
        paths.path(from, to, Choice::Ecmp(7), &mut path).unwrap();
        assert_eq!(path.len(), apart.min(6 - apart) + 2);
    }
    let fabric: Fabric<()> = Fabric::new(&built.graph, Streams::new(1));
    assert_eq!((fabric.in_flight(), built.graph.links().len()), (0, 24));
    assert!(Ring { switches: 2, wire }.build().is_err());
}
