//! Messages as Linux 6.18 (those with `6.1` in their name: 6.1.192) and iproute2 sent them. The first line of each file in `captured` is the command; what follows
//! are datagrams in hex, with empty lines between them.

use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use headway_linux::diag::{Mptcp, SubflowInfo, Tcp};
use headway_linux::mptcp::{Connection, Endpoint, Event, Limits, Subflow};
use headway_linux::netlink::codec::{DONE, ERROR, Message, Writer, attributes, messages};
use headway_linux::netlink::generic::Family;
use headway_linux::route::{Address, Change, Link, OperState, Prefix, Route, RouteKind, Rule};
use headway_linux::{FourTuple, Malformed, Token};

fn datagrams(name: &str) -> Vec<Vec<u8>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captured").join(format!("{name}.hex"));
    let text = std::fs::read_to_string(path).expect("the file is there");
    let (command, rest) = text.split_once('\n').unwrap();
    assert!(command.starts_with("# ip ") || command.starts_with("# ss "), "{command}");
    let byte = |hex: &str| u8::from_str_radix(hex, 16).expect("hex");
    rest.split("\n\n").map(|d| d.split_whitespace().map(byte).collect()).filter(|d: &Vec<u8>| !d.is_empty()).collect()
}

/// Every message of a file, but ends of dumps.
fn each<T>(name: &str, mut read: impl FnMut(&Message<'_>) -> T) -> Vec<T> {
    let mut list = Vec::new();
    for datagram in datagrams(name) {
        for message in messages(&datagram) {
            let message = message.unwrap();
            if message.kind == DONE {
                assert_eq!(message.outcome().unwrap(), (0, None));
            } else {
                list.push(read(&message));
            }
        }
    }
    list
}

/// The bytes of a request behind its netlink header.
fn request(name: &str) -> Vec<u8> {
    let payloads = each(name, |m| m.payload.to_vec());
    assert_eq!(payloads.len(), 1);
    payloads.into_iter().next().unwrap()
}

fn written(write: impl FnOnce(&mut Writer)) -> Vec<u8> {
    let mut writer = Writer::default();
    write(&mut writer);
    writer.bytes().to_vec()
}

fn pair(local: &str, remote: &str) -> FourTuple {
    FourTuple { local: local.parse().unwrap(), remote: remote.parse().unwrap() }
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn prefix(text: &str) -> Prefix {
    text.parse().unwrap()
}

#[test]
fn events_of_the_end_that_connected() {
    let token = Token(0xf808_a4ec);
    let first = pair("10.0.1.1:46324", "10.0.1.2:7001");
    let connection = Connection { token, pair: first, server_side: false, deny_join_initial: false };
    let second = Subflow {
        token,
        pair: pair("10.0.2.1:34885", "10.0.2.2:7001"),
        local_id: 7,
        remote_id: 3,
        backup: false,
        interface: 0,
        error: None,
        reset_reason: None,
    };
    let marked = Subflow { pair: first, local_id: 0, remote_id: 0, backup: true, ..second };
    let six =
        Connection { token: Token(0xf3d5_91d8), pair: pair("[fd00:1::1]:47614", "[fd00:1::2]:7001"), ..connection };
    let events = each("events", |m| Event::parse(m.payload).unwrap().expect("a known event"));
    let expected = [
        Event::Created(connection),
        Event::Established(connection),
        Event::Announced { token, id: 3, ip: ip("10.0.2.2"), port: Some(7001) },
        Event::SubflowEstablished(second),
        Event::SubflowPriority(marked),
        Event::Created(six),
        Event::Established(six),
        Event::Closed(six.token),
        Event::SubflowClosed(second),
        Event::Removed { token, id: 3 },
        Event::Closed(token),
        // `ip mptcp endpoint add … signal port 8443` has the kernel listen.
        Event::ListenerCreated("[fd00:2::1]:8443".parse().unwrap()),
    ];
    assert_eq!(events, expected);
}

#[test]
fn events_of_the_end_that_accepted() {
    let events = each("events-server", |m| Event::parse(m.payload).unwrap().expect("a known event"));
    let token = Token(0x7b6e_3bc3);
    let first = pair("10.0.1.2:7001", "10.0.1.1:46324");
    let connection = Connection { token, pair: first, server_side: true, deny_join_initial: false };
    assert_eq!(events[0], Event::ListenerCreated(first.local));
    assert_eq!(events[1..3], [Event::Created(connection), Event::Established(connection)]);
    let second = Subflow {
        token,
        pair: pair("10.0.2.2:7001", "10.0.2.1:34885"),
        local_id: 3,
        remote_id: 7,
        backup: true,
        interface: 0,
        error: None,
        reset_reason: None,
    };
    assert_eq!(events[4], Event::SubflowEstablished(second));
    assert_eq!(events[3], Event::ListenerCreated(second.pair.local));
    assert_eq!(events[9], Event::SubflowClosed(second));
    let closed: Vec<_> = events[11..].iter().map(|e| matches!(e, Event::ListenerClosed(_))).collect();
    assert_eq!(closed, [true; 3]);
}

#[test]
fn the_family_and_its_groups() {
    let families = each("family", |m| Family::parse(m.payload).unwrap());
    let groups = vec![("mptcp_pm_cmds".to_owned(), 8), ("mptcp_pm_events".to_owned(), 9)];
    assert_eq!(families, [Family { id: 28, groups }]);
}

#[test]
fn a_refusal_and_its_words() {
    let refusals = each("endpoint-delete-refused", |m| (m.kind, m.outcome().unwrap()));
    assert_eq!(refusals, [(ERROR, (22, Some("address not found".to_owned())))]);
}

#[test]
fn endpoints_and_limits_are_asked_and_told_as_by_ip() {
    let none = Endpoint {
        id: 5,
        ip: ip("10.0.2.1"),
        port: None,
        interface: 3,
        signal: false,
        subflow: true,
        backup: true,
        fullmesh: true,
        implicit: false,
    };
    let six = Endpoint {
        id: 6,
        ip: ip("fd00:2::1"),
        port: Some(8443),
        interface: 0,
        signal: true,
        subflow: false,
        backup: false,
        fullmesh: false,
        ..none
    };
    assert_eq!(written(|w| none.write_add(w)), request("endpoint-add-1"));
    assert_eq!(written(|w| six.write_add(w)), request("endpoint-add-2"));
    assert_eq!(each("endpoint-show", |m| Endpoint::parse(m.payload).unwrap()), [none, six]);
    let limits = Limits { subflows: 3, add_addr_accepted: 2 };
    assert_eq!(written(|w| limits.write_set(w)), request("limits-set"));
    assert_eq!(each("limits-show", |m| Limits::parse(m.payload).unwrap()), [limits]);
}

/// The numbers are what a C program makes of the bytes with `struct tcp_info` of `linux/tcp.h`.
#[test]
fn tcp_sockets_as_ss_asks_for_them() {
    let first = Tcp {
        pair: pair("10.0.1.1:46324", "10.0.1.2:7001"),
        state: 1,
        interface: 0,
        uid: 0,
        cgroup: Some(1),
        srtt: Duration::from_micros(36),
        min_rtt: Some(Duration::from_micros(5)),
        last_ack: Duration::from_millis(48),
        last_sent: Duration::from_millis(68),
        timeouts: 0,
        unacked: 0,
        cwnd: 97,
        mss: 1448,
        acked: 118_530,
        sent: 118_529,
        unsent: 0,
        delivery_rate: 1_670_769_230,
        subflow: Some(SubflowInfo {
            token: Token(0xf808_a4ec),
            local_id: 0,
            remote_id: 0,
            backup_local: false,
            backup_remote: true,
            join: false,
            initiator: true,
            fully_established: true,
        }),
    };
    let second = Tcp {
        pair: pair("10.0.2.1:34885", "10.0.2.2:7001"),
        srtt: Duration::from_micros(75),
        min_rtt: Some(Duration::from_micros(75)),
        last_ack: Duration::from_millis(292),
        last_sent: Duration::from_millis(292),
        cwnd: 10,
        acked: 1,
        sent: 0,
        delivery_rate: 0,
        subflow: Some(SubflowInfo {
            local_id: 7,
            remote_id: 3,
            backup_local: true,
            backup_remote: false,
            join: true,
            ..first.subflow.unwrap()
        }),
        ..first.clone()
    };
    assert_eq!(each("ss-tcp", |m| Tcp::parse(m.payload).unwrap()), [first, second]);
    let six = each("ss-tcp6", |m| Tcp::parse(m.payload).unwrap());
    assert_eq!(six.len(), 1);
    assert_eq!(six[0].pair, pair("[fd00:1::1]:47614", "[fd00:1::2]:7001"));
    assert_eq!((six[0].mss, six[0].cwnd, six[0].acked, six[0].sent), (1428, 11, 2, 1));
    assert_eq!(six[0].subflow.unwrap().token, Token(0xf3d5_91d8));
}

/// The back-off of a recovery without timestamps outlasts many answers: `tcp_ack` clears the one with every new
/// acknowledgement, `tcp_ack_update_rtt` the other only with a round trip.
#[test]
fn timeouts_are_those_without_an_answer_since() {
    const HEAD: usize = 72;
    const INFO: u16 = 2;
    for (retransmits, backoff) in [(0, 3), (2, 3)] {
        let timeouts = each("ss-tcp", |m| {
            let mut of_info = attributes(&m.payload[HEAD..]).map(Result::unwrap).filter(|one| one.kind == INFO);
            let info = of_info.next().expect("ss asks for it").value;
            let at = info.as_ptr() as usize - m.payload.as_ptr() as usize;
            let mut payload = m.payload.to_vec();
            (payload[at + 2], payload[at + 4]) = (retransmits, backoff);
            Tcp::parse(&payload).unwrap().timeouts
        });
        assert_eq!(timeouts, [retransmits; 2]);
    }
}

#[test]
fn mptcp_connections_as_ss_asks_for_them() {
    let expected = Mptcp {
        token: Token(0xf808_a4ec),
        pair: pair("10.0.1.1:46324", "10.0.1.2:7001"),
        state: 1,
        uid: 0,
        cgroup: Some(1),
        fallback: false,
        write_seq: 15_342_705_479_907_725_312,
        snd_una: 15_342_705_479_907_725_312,
        sent: Some(100_001),
        acked: Some(100_001),
        received: Some(1),
        subflows: 1,
    };
    assert_eq!(each("ss-mptcp", |m| Mptcp::parse(m.payload).unwrap()), [expected]);
}

/// The same message with `INET_DIAG_INFO` cut, as of an older kernel whose struct ends earlier.
fn older(payload: &[u8], length: usize) -> Vec<u8> {
    written(|w| {
        w.raw(&payload[..72]);
        for attribute in attributes(&payload[72..]) {
            let attribute = attribute.unwrap();
            let cut = if attribute.kind == 2 { length } else { attribute.value.len() };
            w.attribute(attribute.kind, &attribute.value[..cut]);
        }
    })
}

#[test]
fn what_older_kernels_do_not_tell_is_none() {
    let tcp = each("ss-tcp", |m| Tcp::parse(&older(m.payload, 104)).unwrap());
    assert_eq!(tcp[0].srtt, Duration::from_micros(36));
    assert_eq!((tcp[0].min_rtt, tcp[0].acked, tcp[0].sent, tcp[0].delivery_rate), (None, 0, 0, 0));
    // Linux 6.1: up to mptcpi_csum_enabled, and padding.
    let mptcp = each("ss-mptcp", |m| Mptcp::parse(&older(m.payload, 48)).unwrap());
    assert_eq!((mptcp[0].token, mptcp[0].snd_una), (Token(0xf808_a4ec), 15_342_705_479_907_725_312));
    assert_eq!((mptcp[0].sent, mptcp[0].acked, mptcp[0].received), (None, None, None));
    let none = each("ss-mptcp", |m| Mptcp::parse(&older(m.payload, 20)).unwrap_err());
    assert_eq!(none, [Malformed::Short { what: "mptcp_info", need: 40, have: 20 }]);
}

#[test]
fn routes_are_asked_and_told_as_by_ip() {
    let by_way = Route {
        table: 99,
        gateway: Some(ip("10.0.2.2")),
        interface: 3,
        source: Some(ip("10.0.2.1")),
        onlink: true,
        metric: 7,
        protocol: 201,
        ..Route::to(prefix("10.7.0.0/16"))
    };
    let six = Route {
        table: 4321,
        gateway: Some(ip("fd00:2::2")),
        interface: 3,
        protocol: 201,
        ..Route::to(Prefix::ALL_IPV6)
    };
    let link = Route { table: 99, interface: 3, protocol: 201, ..Route::to(prefix("10.0.2.0/24")) };
    for (route, name) in [(by_way, "route-add-1"), (six, "route-add-2"), (link, "route-add-3")] {
        let (ours, theirs) = (written(|w| route.write(w)), request(name));
        // The order of attributes follows that of the words on the command line, and `default` is written in IPv6.
        let sorted = |bytes: &[u8]| {
            let mut list: Vec<_> =
                attributes(&bytes[12..]).map(|a| a.map(|a| (a.kind, a.value.to_vec())).unwrap()).collect();
            list.retain(|(kind, value)| *kind != 1 || value.iter().any(|b| *b != 0));
            list.sort();
            (bytes[..12].to_vec(), list)
        };
        assert_eq!(sorted(&ours), sorted(&theirs), "{name}");
    }
    let read = |m: &Message<'_>| Route::parse(m.payload).unwrap().expect("of IPv4 or IPv6");
    assert_eq!(each("route-show", read), [link, by_way]);
    assert_eq!(each("route-show-6", read), [Route { metric: 1024, ..six }]);
    let found = each("route-get", read);
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].interface, found[0].gateway, found[0].table), (3, Some(ip("10.0.2.2")), 99));
    assert_eq!((found[0].destination, found[0].kind), (prefix("10.7.1.1"), RouteKind::Unicast));
}

#[test]
fn rules_are_asked_and_told_as_by_ip() {
    let rule = |from: Prefix, to, table, priority, protocol| Rule { from, to, table, priority, protocol, other: false };
    let ours = rule(prefix("10.0.2.1"), prefix("10.7.0.0/16"), 99, 500, 201);
    let six = rule(prefix("fd00:2::1"), Prefix::ALL_IPV6, 4321, 501, 201);
    assert_eq!(written(|w| ours.write(w)), request("rule-add-1"));
    let theirs = request("rule-add-2");
    assert_eq!(written(|w| six.write(w)).len(), theirs.len());
    assert_eq!(Rule::parse(&theirs).unwrap(), Some(six));
    let read = |m: &Message<'_>| Rule::parse(m.payload).unwrap().expect("of IPv4 or IPv6");
    let all = Prefix::ALL_IPV4;
    // 2 is RTPROT_KERNEL.
    let expected = [rule(all, all, 255, 0, 2), ours, rule(all, all, 254, 32766, 2), rule(all, all, 253, 32767, 2)];
    assert_eq!(each("rule-show", read), expected);
    let all = Prefix::ALL_IPV6;
    let expected = [rule(all, all, 255, 0, 2), six, rule(all, all, 254, 32766, 2)];
    assert_eq!(each("rule-show-6", read), expected);
}

#[test]
fn links_and_addresses_as_ip_shows_them() {
    let links = each("link-show", |m| Link::parse(m.payload).unwrap().expect("a link"));
    let link =
        |index, name: &str, state, mtu| Link { index, name: name.to_owned(), up: true, carrier: true, state, mtu };
    let expected = [
        link(1, "lo", OperState::Unknown, 65536),
        link(2, "p1", OperState::Up, 1500),
        link(3, "p2", OperState::Up, 1500),
    ];
    assert_eq!(links, expected);
    let addresses = each("address-show", |m| Address::parse(m.payload).unwrap().expect("an address"));
    let address = |text: &str, prefix, global| Address {
        interface: 3,
        ip: ip(text),
        prefix,
        global,
        usable: true,
        deprecated: false,
    };
    let expected =
        [address("10.0.2.1", 24, true), address("fd00:2::1", 64, true), address("fe80::3c1f:c3ff:fe29:91a", 64, false)];
    assert_eq!(addresses, expected);
}

#[test]
fn changes_as_ip_monitor_hears_them() {
    let changes: Vec<Change> = each("changes", |m| Change::parse(m).unwrap()).into_iter().flatten().collect();
    let new = Address { interface: 3, ip: ip("10.0.2.77"), prefix: 24, global: true, usable: true, deprecated: false };
    assert!(changes.contains(&Change::AddressAdded(new)), "{changes:?}");
    assert!(changes.contains(&Change::AddressRemoved(new)), "{changes:?}");
    assert!(changes.iter().any(|c| matches!(c, Change::LinkChanged(l) if l.index == 3 && !l.up && !l.usable())));
    assert_eq!(changes.last(), Some(&Change::LinkRemoved { index: 3, name: "p2".to_owned() }));
}

/// What headway-lane does to a connection, as Linux 6.1 tells of it: a long lane is opened as a backup, which this kernel
/// does not heed, marked, used instead of the short one, and left again.
#[test]
fn linux_6_1_tells_of_a_connection_that_is_moved() {
    let token = Token(0x4fb5_76b4);
    let first = pair("10.0.1.1:59786", "10.0.1.2:7001");
    let connection = Connection { token, pair: first, server_side: false, deny_join_initial: false };
    let second = Subflow {
        token,
        pair: pair("10.0.2.1:48545", "10.0.2.2:7001"),
        local_id: 102,
        remote_id: 1,
        backup: false,
        interface: 0,
        error: None,
        reset_reason: None,
    };
    let six =
        Connection { token: Token(0x97dd_4752), pair: pair("[fd00:1::1]:51296", "[fd00:1::2]:7001"), ..connection };
    let read = |name| each(name, |m| Event::parse(m.payload).unwrap().expect("a known event"));
    let expected = [
        Event::Created(connection),
        Event::Established(connection),
        Event::SubflowEstablished(second),
        Event::Closed(token),
        Event::Created(six),
        Event::Established(six),
        Event::Closed(six.token),
    ];
    assert_eq!(read("events-6.1"), expected);

    let flip = |pair: FourTuple| FourTuple { local: pair.remote, remote: pair.local };
    let token = Token(0x67df_3f61);
    let connection = Connection { token, pair: flip(first), server_side: true, ..connection };
    let second = Subflow { token, pair: flip(second.pair), local_id: 1, remote_id: 102, ..second };
    let first = Subflow { pair: flip(first), local_id: 0, remote_id: 0, ..second };
    let six = Connection { token: Token(0x15e7_1731), pair: flip(six.pair), ..connection };
    let marked = |one: Subflow, backup| Event::SubflowPriority(Subflow { backup, ..one });
    let expected = [
        Event::Created(connection),
        Event::Established(connection),
        Event::SubflowEstablished(second),
        marked(second, true),
        marked(second, false),
        marked(first, true),
        marked(first, false),
        marked(second, true),
        Event::Closed(token),
        Event::Created(six),
        Event::Established(six),
        Event::Closed(six.token),
    ];
    assert_eq!(read("events-server-6.1"), expected);
}

#[test]
fn linux_6_1_counts_bytes_by_subflow_only() {
    let tcp = each("ss-tcp-6.1", |m| Tcp::parse(m.payload).unwrap());
    let seen: Vec<_> = tcp.iter().map(|one| (one.pair, one.sent, one.acked, one.cgroup)).collect();
    let expected = [
        (pair("10.0.1.1:59786", "10.0.1.2:7001"), 1_110_000, 1_110_001, Some(1)),
        (pair("10.0.2.1:48545", "10.0.2.2:7001"), 1_650_000, 1_650_001, Some(1)),
    ];
    assert_eq!(seen, expected);
    let subflows: Vec<SubflowInfo> = tcp.iter().map(|one| one.subflow.unwrap()).collect();
    let token = Token(0x4fb5_76b4);
    assert!(subflows.iter().all(|one| one.token == token && one.initiator && one.fully_established));
    assert_eq!(subflows.iter().map(|one| (one.local_id, one.join)).collect::<Vec<_>>(), [(0, false), (102, true)]);
    let mptcp = each("ss-mptcp-6.1", |m| Mptcp::parse(m.payload).unwrap());
    assert_eq!(mptcp.len(), 1);
    assert_eq!((mptcp[0].token, mptcp[0].snd_una), (token, 0x1a88_1893_3ff7_84ae));
    assert_eq!((mptcp[0].sent, mptcp[0].acked, mptcp[0].received), (None, None, None));
    assert_eq!((mptcp[0].write_seq, mptcp[0].subflows, mptcp[0].fallback), (mptcp[0].snd_una, 1, false));
}
