use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::mpsc;

use super::*;
use serde_json::{Value, json};

fn operations(folder: &Path) -> Operations {
    Operations { socket: folder.join("run/lane.sock"), metrics: None, state: folder.to_owned() }
}

/// The pages of a daemon that manages three.
fn pages(request: &Request) -> Response {
    answer(request, || "headway_x_managed 3\n".to_owned(), || json!({ "managed": 3 }))
}

/// A server on a clock that the test holds.
struct Rig {
    folder: tempfile::TempDir,
    server: Server,
    now: Duration,
}

impl Rig {
    fn new() -> Rig {
        let folder = tempfile::tempdir().unwrap();
        let server = Server::bind(&operations(folder.path())).unwrap();
        Rig { folder, server, now: Duration::from_secs(100) }
    }

    fn connect(&self) -> UnixStream {
        let stream = UnixStream::connect(operations(self.folder.path()).socket).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        stream
    }

    fn serve(&mut self) {
        self.server.serve(self.now, pages);
    }

    fn ask(&mut self, request: &[u8]) -> String {
        let mut stream = self.connect();
        stream.write_all(request).unwrap();
        self.serve();
        rest(&mut stream)
    }
}

fn rest(stream: &mut impl Read) -> String {
    let mut all = String::new();
    stream.read_to_string(&mut all).unwrap();
    all
}

#[test]
fn status_and_metrics_are_answered() {
    let mut rig = Rig::new();
    let status = rig.ask(b"GET /status HTTP/1.1\r\nHost: x\r\n\r\n");
    let (head, body) = status.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n") && head.contains("application/json"), "{head}");
    assert!(head.contains(&format!("Content-Length: {}\r\n", body.len())), "{head}");
    assert_eq!(serde_json::from_str::<Value>(body).unwrap()["managed"], 3);
    let metrics = rig.ask(b"GET /metrics?x=1 HTTP/1.1\r\n\r\n");
    assert!(metrics.contains("headway_x_managed 3\n"), "{metrics}");
    assert_eq!(rig.server.connections.len(), 0);
}

#[test]
fn metrics_ask_for_no_status_and_nobody_gets_status_over_tcp() {
    for (path, tcp, wanted) in [
        ("/metrics", false, &["metrics"][..]),
        ("/metrics", true, &["metrics"]),
        ("/status", false, &["status"]),
        ("/status", true, &[]),
    ] {
        let asked = std::cell::RefCell::new(Vec::new());
        let ask = |what| asked.borrow_mut().push(what);
        let _ = answer(
            &Request { path: path.to_owned(), tcp },
            || {
                ask("metrics");
                String::new()
            },
            || ask("status"),
        );
        assert_eq!(asked.into_inner(), wanted, "{path}");
    }
}

#[test]
fn wrong_requests_are_refused() {
    let mut rig = Rig::new();
    let long = format!("GET /{} HTTP/1.1\r\n", "x".repeat(MAX_REQUEST));
    let headers = format!("GET / HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(65));
    for (request, status) in [
        ("GET /nothing HTTP/1.1\r\n\r\n", 404),
        ("POST /status HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello", 405),
        ("\0\0\0\r\n\r\n", 400),
        (&long, 431),
        (&headers, 431),
    ] {
        let answer = rig.ask(request.as_bytes());
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{request:.20}: {answer}");
    }
}

#[test]
fn requests_come_in_pieces_and_who_takes_too_long_is_dropped() {
    let mut rig = Rig::new();
    let mut slow = rig.connect();
    slow.write_all(b"GET /status HT").unwrap();
    rig.serve();
    assert_eq!(rig.server.timeout(rig.now), Some(PATIENCE));
    rig.now += PATIENCE / 2;
    assert_eq!(rig.server.timeout(rig.now), Some(PATIENCE / 2));
    let mut quick = rig.connect();
    quick.write_all(b"GET /status HT").unwrap();
    rig.serve();
    rig.now += PATIENCE / 2;
    quick.write_all(b"TP/1.1\r\n\r\n").unwrap();
    rig.serve();
    assert!(rest(&mut quick).starts_with("HTTP/1.1 200"));
    assert_eq!(rest(&mut slow), "");
    assert_eq!(rig.server.timeout(rig.now), None);
}

#[test]
fn a_further_connection_takes_the_place_of_the_oldest() {
    let mut rig = Rig::new();
    let mut all: Vec<UnixStream> = Vec::new();
    for _ in 0..=MAX_CONNECTIONS {
        all.push(rig.connect());
        rig.serve();
    }
    assert_eq!(rig.server.connections.len(), MAX_CONNECTIONS);
    assert_eq!(rest(&mut all[0]), "");
    all[1].write_all(b"GET /status HTTP/1.1\r\n\r\n").unwrap();
    rig.serve();
    assert!(rest(&mut all[1]).starts_with("HTTP/1.1 200"));
}

#[test]
fn events_reach_all_who_follow_and_slow_readers_are_dropped() {
    let mut rig = Rig::new();
    let mut follower = rig.connect();
    let mut sleeper = rig.connect();
    for stream in [&mut follower, &mut sleeper] {
        stream.write_all(b"GET /events HTTP/1.1\r\n\r\n").unwrap();
    }
    rig.serve();
    assert!(rig.server.has_followers());
    // Who follows may do so for ever.
    rig.now += 100 * PATIENCE;
    rig.serve();
    let (lines, received) = mpsc::channel();
    let reader = std::thread::spawn(move || {
        let mut all = String::new();
        let mut buffer = [0; 8192];
        while let Ok(read @ 1..) = follower.read(&mut buffer) {
            all.push_str(std::str::from_utf8(&buffer[..read]).unwrap());
            lines.send(all.len()).unwrap();
        }
        all
    });
    let event = serde_json::json!({ "event": "switch", "text": "x".repeat(1000) });
    let mut sent = 0;
    // More than a socket's buffer and the backlog of one who does not read.
    while rig.server.connections.len() == 2 {
        rig.server.publish(&event);
        sent += 1;
        assert!(sent < 10_000, "nobody is dropped");
        let whole = sent * (serde_json::to_string(&event).unwrap().len() + 1);
        while received.recv().unwrap() < whole {
            rig.serve();
        }
    }
    let kept = rig.server.connections.len();
    drop(rig);
    let all = reader.join().unwrap();
    assert_eq!((kept, all.lines().filter(|line| line.starts_with('{')).count()), (1, sent));
}

#[test]
fn who_leaves_is_forgotten_and_the_number_of_followers_is_bounded() {
    let mut rig = Rig::new();
    let follow = |rig: &mut Rig| {
        let mut stream = rig.connect();
        stream.write_all(b"GET /events HTTP/1.1\r\n\r\n").unwrap();
        rig.serve();
        stream
    };
    let mut all: Vec<UnixStream> = (0..MAX_FOLLOWERS).map(|_| follow(&mut rig)).collect();
    assert!(rest(&mut follow(&mut rig)).starts_with("HTTP/1.1 503"));
    drop(all.pop());
    rig.serve();
    assert_eq!(rig.server.connections.len(), MAX_FOLLOWERS - 1);
    all.push(follow(&mut rig));
    assert_eq!(rig.server.connections.len(), MAX_FOLLOWERS);
}

#[test]
fn a_dead_daemons_socket_is_replaced_and_a_living_ones_is_not() {
    let rig = Rig::new();
    let error = Server::bind(&operations(rig.folder.path())).unwrap_err();
    assert!(matches!(error, BindError::Served(_)), "{error}");
    let folder = tempfile::tempdir().unwrap();
    let socket = operations(folder.path()).socket;
    std::fs::create_dir_all(socket.parent().unwrap()).unwrap();
    // Dropping a listener leaves its file, as a kill does.
    drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
    let server = Server::bind(&operations(folder.path())).unwrap();
    UnixStream::connect(&socket).unwrap();
    drop(server);
    assert!(!socket.exists());
    std::fs::write(&socket, "something else").unwrap();
    assert!(matches!(Server::bind(&operations(folder.path())), Err(BindError::Occupied(_))));
    assert_eq!(std::fs::read_to_string(&socket).unwrap(), "something else");
}

/// As after `ss -K`: it wakes `poll` for ever, and accepts nothing.
#[test]
fn a_listener_that_died_does_not_wake_the_loop_and_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut server = Server::bind(&Operations { metrics: Some(port), ..operations(folder.path()) }).unwrap();
    server.tcp = None;
    let dead = rustix::net::socket(rustix::net::AddressFamily::INET, rustix::net::SocketType::STREAM, None).unwrap();
    server.tcp = Some(TcpListener::from(dead));
    let mut now = Duration::from_secs(1);
    assert_eq!(server.interests(now).count(), 2);
    server.serve(now, |_| unreachable!());
    assert_eq!((server.failures(), server.interests(now).count()), (1, 0));
    let pause = server.timeout(now).unwrap();
    assert!(pause >= Duration::from_millis(100), "{pause:?}");
    // before it is time nothing is tried
    server.serve(now, |_| unreachable!());
    assert_eq!(server.failures(), 0);
    now += pause;
    assert_eq!(server.timeout(now), Some(Duration::ZERO));
    server.serve(now, |_| unreachable!());
    assert_eq!((server.failures(), server.interests(now).count(), server.timeout(now)), (0, 2, None));
    let mut stream = TcpStream::connect(port).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
    server.serve(now, pages);
    assert!(rest(&mut stream).starts_with("HTTP/1.1 200"));
}

#[test]
fn who_connects_over_tcp_drives_nobody_from_the_unix_socket() {
    let mut rig = Rig::new();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let operations = Operations { metrics: Some(port), ..operations(rig.folder.path()) };
    rig.server.rebind(&operations).unwrap();
    let mut first = rig.connect();
    first.write_all(b"GET /status HT").unwrap();
    rig.serve();
    let mut flood = Vec::new();
    for _ in 0..10 * MAX_CONNECTIONS {
        flood.push(TcpStream::connect(port).unwrap());
        rig.serve();
    }
    assert_eq!(rig.server.connections.len(), 1 + MAX_TCP);
    first.write_all(b"TP/1.1\r\n\r\n").unwrap();
    rig.serve();
    assert!(rest(&mut first).starts_with("HTTP/1.1 200"));
}

#[test]
fn a_new_configuration_moves_what_it_moves_and_nothing_else() {
    let mut rig = Rig::new();
    let ports: Vec<SocketAddr> =
        (0..2).map(|_| TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()).collect();
    let at = |socket: &str, metrics| Operations {
        socket: rig.folder.path().join(socket),
        metrics,
        state: rig.folder.path().to_owned(),
    };
    let old = at("run/lane.sock", None);
    let metrics = |server: &mut Server, port: SocketAddr| {
        let mut stream = TcpStream::connect(port).ok()?;
        stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
        server.serve(Duration::ZERO, pages);
        Some(rest(&mut stream).starts_with("HTTP/1.1 200"))
    };
    rig.server.rebind(&at("run/lane.sock", Some(ports[0]))).unwrap();
    assert_eq!(metrics(&mut rig.server, ports[0]), Some(true));
    // another socket, the same port
    let new = at("run/new.sock", Some(ports[0]));
    rig.server.rebind(&new).unwrap();
    assert_eq!(metrics(&mut rig.server, ports[0]), Some(true));
    assert!(UnixStream::connect(&new.socket).is_ok() && !old.socket.exists());
    // what cannot be had changes nothing
    let _taken = TcpListener::bind(ports[1]).unwrap();
    assert!(matches!(rig.server.rebind(&at("run/lane.sock", Some(ports[1]))), Err(BindError::Tcp { .. })));
    assert!(UnixStream::connect(&new.socket).is_ok() && !old.socket.exists());
    assert_eq!(metrics(&mut rig.server, ports[0]), Some(true));
    rig.server.rebind(&at("run/new.sock", None)).unwrap();
    assert_eq!(metrics(&mut rig.server, ports[0]), None);
}

#[test]
fn the_lock_is_no_link_and_nobody_elses() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let socket = operations(folder.path()).socket;
    let lock = socket.with_extension("sock.lock");
    let elsewhere = folder.path().join("elsewhere");
    std::fs::create_dir_all(socket.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &lock).unwrap();
    assert!(matches!(Server::bind(&operations(folder.path())), Err(BindError::Unix { .. })));
    assert!(!elsewhere.exists());
    std::fs::remove_file(&lock).unwrap();
    // of a daemon before this one
    std::fs::write(&lock, "").unwrap();
    std::fs::set_permissions(&lock, std::fs::Permissions::from_mode(0o644)).unwrap();
    let _server = Server::bind(&operations(folder.path())).unwrap();
    assert_eq!(std::fs::metadata(&lock).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn over_tcp_there_are_only_metrics() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::bind(&operations(folder.path())).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    server.tcp = Some(listener);
    let mut ask = |path: &str| {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\n\r\n").unwrap();
        // Loopback delivers before connect and write return.
        server.serve(Duration::ZERO, pages);
        rest(&mut stream)
    };
    assert!(ask("/metrics").starts_with("HTTP/1.1 200"));
    assert!(ask("/status").starts_with("HTTP/1.1 404"));
    assert!(ask("/events").starts_with("HTTP/1.1 404"));
}
