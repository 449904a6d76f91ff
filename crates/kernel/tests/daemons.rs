//! Daemons of hosts, and carriers that go: what programs inside guests see.
//!
//! These tests need a kernel image (`headway kernel build`) and skip, saying so, where there is none.

mod lab;

use headway_agent::protocol::Daemon;
use headway_kernel::{EPOCH_NS, GuestError};
use headway_units::Span;

use lab::{Lab, alone, image, output, wire};

const MS: u64 = 1_000_000;

fn cables() -> Lab {
    let cable = wire(Span::from_millis(1), 0.0, 100);
    Lab::pair(&[cable, cable], 2)
}

#[test]
fn a_program_sees_the_carrier_go_and_come_back() {
    let Some(image) = image() else { return };
    let _alone = alone();
    let mut lab = cables();
    lab.plans[0].carriers.insert(0, vec![EPOCH_NS + 300 * MS, EPOCH_NS + 600 * MS]);
    lab.command("h0", "monitor", 0, None, "exec ip monitor link");
    for (name, at) in [("before", 299), ("gone", 301), ("still", 599), ("back", 601)] {
        let see = "cat /sys/class/net/eth0/carrier /sys/class/net/eth1/carrier; ip address show dev eth0";
        lab.command("h0", name, at * MS, None, see);
    }
    lab.command("h1", "other", 301 * MS, None, "cat /sys/class/net/eth0/carrier");
    // It is of no use while the carrier is gone, and keeps its address.
    lab.command("h0", "ping", 350 * MS, None, "ping -c 1 -W 1 10.0.0.2");
    lab.command("h0", "ping-again", 650 * MS, None, "ping -c 1 -W 1 10.0.0.2");
    lab.host("h0").commands.sort_by_key(|command| command.start_ns);
    let (outputs, _, digest) = lab.run(&image).unwrap();
    let said = |name: &str| output(&outputs, "h0", &format!("{name}.stdout"));
    for (name, eth0) in [("before", 1), ("gone", 0), ("still", 0), ("back", 1)] {
        let text = said(name);
        assert!(text.starts_with(&format!("{eth0}\n1\n")) && text.contains("inet 10.0.0.1/32"), "{name}: {text}");
        assert_eq!(text.contains("NO-CARRIER"), eth0 == 0, "{name}: {text}");
    }
    assert_eq!(output(&outputs, "h1", "other.stdout"), "1\n", "a cable's other end is told by itself");
    assert!(said("ping").contains(" 0 packets received") && said("ping-again").contains(" 1 packets received"));
    let monitor = said("monitor");
    assert!(monitor.contains("eth0: <NO-CARRIER,") && !monitor.contains("eth1: <NO-CARRIER,"), "{monitor}");
    assert_eq!(lab.run(&image).unwrap().2, digest);
}

#[test]
fn the_image_has_the_daemon_in_path() {
    let Some(image) = image() else { return };
    let _alone = alone();
    let mut lab = cables();
    lab.command("h0", "where", 0, None, "command -v headway-lane && readlink -f /bin/headway-lane");
    let (outputs, ..) = lab.run(&image).unwrap();
    assert_eq!(output(&outputs, "h0", "where.stdout"), "/usr/local/sbin/headway-lane\n/system/bin/headway-lane\n");
}

#[test]
fn a_daemon_that_is_not_ready_ends_the_run_with_its_last_words() {
    let Some(image) = image() else { return };
    let _alone = alone();
    for (line, wanted) in [
        ("cat lane.toml >&2; exit 7", "daemon `lane` ended with code 7 before it was ready: what it is told"),
        ("echo waiting; exec sleep 1000", " ms that it is ready: waiting"),
    ] {
        let mut lab = cables();
        let words = ["/bin/sh", "-c", line].map(str::to_owned).into();
        let files = vec![("lane.toml".to_owned(), "what it is told\n".to_owned())];
        lab.host("h0").daemons.push(Daemon { name: "lane".to_owned(), words, files });
        match lab.run(&image) {
            Err(GuestError::Host { host, message, .. }) => {
                assert!(host == "h0" && message.contains(wanted), "{host}: {message}");
            }
            other => panic!("{other:?}"),
        }
    }
}
