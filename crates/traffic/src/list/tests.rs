use proptest::prelude::*;

use super::*;

const NAMES: [&str; 4] = ["left0", "left1", "right0", "right1"];

fn hosts() -> HostNames<'static> {
    HostNames::new(NAMES.into_iter())
}

fn parse(text: &str) -> Result<Vec<ListedFlow>, String> {
    chosen(text, &[])
}

fn chosen(text: &str, select: &[(&str, &str)]) -> Result<Vec<ListedFlow>, String> {
    let select: Vec<_> = select.iter().map(|(column, value)| (String::from(*column), String::from(*value))).collect();
    let list = FlowList::parse(text.as_bytes(), &select, &hosts());
    list.map(|list| list.flows().to_vec()).map_err(|error| error.to_string())
}

fn flow(picos: u64, source: u32, destination: u32, bytes: u64) -> ListedFlow {
    let size = (bytes > 0).then_some(Bytes::new(bytes));
    ListedFlow { time: Span::from_picos(picos), source, destination, size, paths: None }
}

#[test]
fn csv_has_names_or_indices_and_units_in_cells_or_headers() {
    let text = "\u{feff}# made by hand\nstart,source,destination,size\n2us,left0,right1,1.5KB\n\n1.5us,0,2,64KB\n";
    assert_eq!(parse(text), Ok(vec![flow(1_500_000, 0, 2, 64_000), flow(2_000_000, 0, 3, 1_500)]));
    let text = "bytes,dst,other,src,start_ns\n100,3,x,1,0.25\n,2,\"a, b\",1,1e3\n1e4,2,,1,0.0001\n";
    assert_eq!(parse(text), Ok(vec![flow(0, 1, 2, 10_000), flow(250, 1, 3, 100), flow(1_000_000, 1, 2, 0)]));
}

#[test]
fn flows_of_one_instant_stay_in_the_order_of_the_list() {
    let text = "start_s,source,destination,bytes\n1,0,1,5\n0,0,1,4\n1,0,1,3\n";
    let sizes: Vec<u64> = parse(text).unwrap().iter().map(|flow| flow.size.unwrap().get()).collect();
    assert_eq!(sizes, [4, 5, 3]);
}

/// Addresses as in captures: the first one to appear is the first host.
#[test]
fn hosts_stand_for_addresses_in_the_order_in_which_they_appear() {
    let text = "start_us,source,destination,bytes\n0,10.0.0.9,10.0.0.7,1\n1,10.0.0.7,2001:db8::1,2\n";
    assert_eq!(parse(text), Ok(vec![flow(0, 0, 1, 1), flow(1_000_000, 1, 2, 2)]));
    let many =
        "start_us,source,destination,bytes\n0,10.0.0.1,10.0.0.2,1\n0,10.0.0.3,10.0.0.4,1\n0,10.0.0.5,10.0.0.1,1\n";
    assert_eq!(parse(many).unwrap_err(), "line 4: `10.0.0.5` is one address more than there are hosts (4)");
}

/// As `headway trace` writes connections: each direction with data is a flow, times are since 1970.
#[test]
fn each_direction_of_a_captured_connection_is_a_flow() {
    let header = "connection,initiator,initiator_port,responder,initiator_bytes,initiator_first_data_ns,responder_bytes,responder_first_data_ns";
    let text = format!(
        "{header}\n0,10.0.0.1,5,10.0.0.2,100,1700000000000000100,2000,1700000000000000900\n1,10.0.0.2,6,10.0.0.1,7,1700000000000000000,0,\n"
    );
    let expected = vec![flow(0, 1, 0, 7), flow(100_000, 0, 1, 100), flow(900_000, 1, 0, 2000)];
    // nanoseconds since 1970 are beyond the range of picoseconds, and are made relative before
    assert_eq!(parse(&text), Ok(expected));
}

#[test]
fn rows_of_one_run_are_chosen_by_their_columns() {
    let text = "policy,repeat,start_ps,source,destination,bytes\ntcp,0,5,0,1,9\nlane,0,5,0,1,9\nlane,1,6,0,1,8\n";
    let error = parse(text).unwrap_err();
    assert_eq!(
        error,
        "line 3: `policy` is `lane`, and `tcp` in the rows before: these are the flows of several runs; choose one with \
         `select`"
    );
    assert_eq!(chosen(text, &[("policy", "lane"), ("repeat", "1")]), Ok(vec![flow(6, 0, 1, 8)]));
    let missed = [
        (&[("policy", "none")][..], "no row has `policy` = `none`; there are `lane`, `tcp`"),
        (&[("policy", "lane"), ("repeat", "7")], "no row has `repeat` = `7`; there are `0`, `1`"),
        (&[("policy", "tcp"), ("repeat", "7")], "no row has `repeat` = `7`; there is `0`"),
    ];
    for (select, error) in missed {
        assert_eq!(chosen(text, select).unwrap_err(), error);
    }
    let error = chosen(text, &[("point", "1")]).unwrap_err();
    assert!(error.starts_with("line 1: there is no column `point`; the columns are `policy`, `repeat`,"), "{error}");
}

/// In results of Headway, connections that carried messages stand beside the messages.
#[test]
fn connections_that_carried_the_messages_of_others_are_no_flows() {
    let text = "policy,repeat,traffic,start_ps,source,destination,bytes\ntcp,0,kept,5,0,1,9\ntcp,0,kept/connection,0,1,0,\n\
        tcp,0,long,6,0,1,\n";
    let endless = ListedFlow { size: None, ..flow(6, 0, 1, 1) };
    assert_eq!(parse(text), Ok(vec![flow(5, 0, 1, 9), endless]));
    assert_eq!(chosen(text, &[("traffic", "kept/connection")]).unwrap_err(), "it has no flows");
}

#[test]
fn mistakes_have_their_line() {
    let row = |row: &str| parse(&format!("start_us,source,destination,bytes\n0,0,1,5\n{row}\n")).unwrap_err();
    for (text, message) in [
        ("x,0,1,5", "line 3: `x` is not a time in microseconds from 0 to 18,446,744 s"),
        ("-1,0,1,5", "line 3: `-1` is not a time in microseconds from 0 to 18,446,744 s"),
        ("1e99,0,1,5", "line 3: `1e99` is not a time in microseconds from 0 to 18,446,744 s"),
        ("nan,0,1,5", "line 3: `nan` is not a time in microseconds from 0 to 18,446,744 s"),
        ("0,0,1,0", "line 3: `0` is not a number of bytes from 1 to 2^53"),
        ("0,0,1,5KB", "line 3: `5KB` is not a number of bytes from 1 to 2^53"),
        ("0,0,4,5", "line 3: there is no host 4: 4 hosts are counted from 0"),
        ("0,left,1,5", "line 3: there is no host `left`"),
        ("0,,1,5", "line 3: there is no host ``"),
        ("0,1,left1,5", "line 3: `1` sends to itself"),
        ("0,10.0.0.1,1,5", "line 3: `10.0.0.1` is an address, and the rows before have names or indices"),
        ("0,0,1", "line 3: 3 cells under a header of 4"),
        ("0,0,1,5,6", "line 3: 5 cells under a header of 4"),
    ] {
        assert_eq!(row(text), message);
    }
    assert_eq!(parse("").unwrap_err(), "it has no flows");
    assert_eq!(parse("start_us,source,destination,bytes\n").unwrap_err(), "it has no flows");
    let error = parse("start_us,source,bytes\n").unwrap_err();
    assert_eq!(
        error,
        "line 1: no column has the destination: it is called `destination` or `dst`; the columns are `start_us`, `source`, `bytes`"
    );
    let error = parse("start,start_us,source,destination,bytes\n").unwrap_err();
    assert_eq!(error, "line 1: two columns have the start: `start` and `start_us`");
    let error = FlowList::parse(b"start_us,source,destination,bytes\n0,\xff,1,5\n", &[], &hosts()).unwrap_err();
    assert_eq!(error.to_string(), "line 2: this is not UTF-8");
    assert_eq!(parse("start,source,destination,bytes\n5,0,1,5\n").unwrap_err().split(':').next(), Some("line 2"));
}

/// The form of `sim/datacenter/connection_matrices/bidir.cm` and `outcast_incast.cm` of csg-htsim.
#[test]
fn connection_matrices_have_picoseconds_and_indices() {
    let text = "Nodes 4\nConnections 3\n# both ways\n0->3 start 0 size 2000000\n3->0 id 2 start 1000 size 5 prio 7\n1->2 start 0.000000 size 0\n";
    assert_eq!(parse(text), Ok(vec![flow(0, 0, 3, 2_000_000), flow(0, 1, 2, 0), flow(1000, 3, 0, 5)]));
}

#[test]
fn mistakes_in_matrices_have_their_line() {
    for (text, message) in [
        ("Nodes 16\nConnections 1\n0->1 start 0 size 1\n", "line 1: it is for 16 hosts, and there are 4"),
        ("Connections 2\n0->1 start 0 size 1\n", "line 1: the head says 2 connections, and there are 1"),
        ("Connections x\n", "line 1: `Connections x` is not a connection such as `0->13 start 0 size 2000000`"),
        ("0->4 start 0 size 1\n", "line 1: there is no host 4: 4 hosts are counted from 0"),
        ("0->0 start 0 size 1\n", "line 1: `0` sends to itself"),
        ("0->1 size 1\n", "line 1: `0->1` is not a connection such as `0->13 start 0 size 2000000`"),
        ("0->1 start -1 size 1\n", "line 1: `-1` is not a time in picoseconds from 0 to 18,446,744 s"),
        ("0->1 start 0 size x\n", "line 1: `x` is not a number of bytes from 1 to 2^53, or 0 for a flow without end"),
        (
            "0->1 start 0 size 1\n0->1 trigger 3 size 1\n",
            "line 2: `trigger`: a flow that waits for a trigger cannot be replayed; only connections with a start can",
        ),
        (
            "0->1 start 0 size 1\ntrigger id 3 oneshot\n",
            "line 2: `trigger id 3 oneshot`: a trigger cannot be replayed; only connections with a start can",
        ),
        ("Nodes 4\n", "it has no flows"),
    ] {
        assert_eq!(parse(text).unwrap_err(), message);
    }
}

proptest! {
    /// Whatever a file holds: a list or a mistake, and a list is in order and between the hosts.
    #[test]
    fn any_text_is_a_list_or_a_mistake(
        head in prop::sample::select(vec!["start_us,source,destination,bytes\n", "Nodes 4\n", "start,src,dst,size\n", ""]),
        body in "([0-9a-z.,:>\\- \"\n]|left0|right1|start |size |->|us|KB){0,60}",
    ) {
        if let Ok(flows) = parse(&format!("{head}{body}")) {
            prop_assert!(flows.is_sorted_by_key(|flow| flow.time));
            prop_assert!(flows.iter().all(|flow| flow.source < 4 && flow.destination < 4 && flow.source != flow.destination));
        }
    }
}

/// Connection, subflow, forth and back.
type Path = (u8, u8, String, String);

/// The paths of each flow.
fn paths(text: &str) -> Result<Vec<Vec<Path>>, String> {
    let list = FlowList::parse(text.as_bytes(), &[], &hosts()).map_err(|error| error.to_string())?;
    let own = |path: &ListedPath| (path.connection, path.subflow, path.forth.to_string(), path.back.to_string());
    Ok(list.flows().iter().map(|flow| list.paths(flow).iter().map(own).collect()).collect())
}

#[test]
fn a_row_gives_its_flow_a_path_and_rows_of_one_flow_give_each_subflow_its_first() {
    let path = |connection, subflow, forth: &str, back: &str| (connection, subflow, forth.into(), back.into());
    let text = "start_s,source,destination,bytes,path_back,path\n2,0,1,5,,a b\n1,0,1,4,,\n1,0,1,3,b a,\n";
    assert_eq!(
        paths(text),
        Ok(vec![vec![], vec![path(0, 0, "", "b a")], vec![path(0, 0, "a b", "")]]),
        "in order of time"
    );
    let header = "traffic,flow,start_ps,source,destination,bytes,connection,subflow,time_ps,path,path_back\n";
    let rows = "x,0,5,0,1,9,0,0,5,a b,b a\nx,0,5,0,1,9,0,0,8,a c,c a\nx,0,5,0,1,9,0,1,6,a d,d a\nx,1,4,0,1,9,0,0,4,a e,e a\ny,1,7,0,1,9,1,0,7,a f,\n";
    let of_x0 = vec![path(0, 0, "a b", "b a"), path(0, 1, "a d", "d a")];
    let expected = vec![vec![path(0, 0, "a e", "e a")], of_x0, vec![path(1, 0, "a f", "")]];
    assert_eq!(paths(&format!("{header}{rows}")), Ok(expected));
    // no other columns are those of paths
    assert_eq!(paths("start_s,source,destination,bytes,flow,paths\n1,0,1,5,1,0\n1,0,1,5,1,0\n").unwrap().len(), 2);
}

#[test]
fn damaged_paths_are_told_with_their_line() {
    for (header, row, message) in [
        ("path,flow,subflow", "a b,0,-1", "line 2: `-1` is not the number of a subflow, from 0 to 255"),
        ("path,flow,connection", "a b,0,256", "line 2: `256` is not the number of a connection, from 0 to 255"),
        (
            "path,subflow",
            "a b,0",
            "line 1: no column has the flow of a subflow: it is called `flow`; the columns are `start_s`, `source`, `destination`, `bytes`, `path`, `subflow`",
        ),
    ] {
        let text = format!("start_s,source,destination,bytes,{header}\n1,0,1,5,{row}\n");
        assert_eq!(paths(&text).unwrap_err(), message);
    }
    let long = format!("start_s,source,destination,bytes,path\n1,0,1,5,{}\n", "a ".repeat(40_000));
    assert!(paths(&long).unwrap_err().ends_with("…` has 79999 bytes, more than 65,536"));
}
