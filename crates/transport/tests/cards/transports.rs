//! What is paced beside plain TCP: acknowledgements are not; subflows, datagrams and hosts with cores are.

use headway_transport::{CardModel, Costs, FlowRate, HostModel, Profile, Release, SampleKind, SampleOf};
use headway_units::{Bytes, Rate, Span};

use super::spacing::card;
use crate::common::{FULL, MSS, Setup, assert_near, line, multipath, parallel, profile, wire};

const GIGABIT: Rate = Rate::from_gbps(1);

/// A host whose data is paced at 10 Mb/s downloads at the rate of the line: its acknowledgements do not wait.
#[test]
fn acknowledgements_are_not_paced() {
    let net = line(&[wire(GIGABIT, Span::from_micros(5)), wire(GIGABIT, Span::from_micros(50))]);
    let outcome = Setup::new(&net.net, profile())
        .card(net.sink, card(Release::Gap, FlowRate::Static(Rate::from_mbps(10))))
        .flow((net.source, net.sink), None, Span::ZERO)
        .flow((net.sink, net.source), None, Span::ZERO)
        .sample(Span::from_millis(10), &[SampleKind::Goodput])
        .run(Span::from_millis(300));
    let line = f64::from(MSS) / FULL as f64;
    // acknowledgements of the other flow take their part: one of 84 B for each of its frames, 10 Mb/s · 84/1538
    assert_near("the download", outcome.goodput(0, Span::from_millis(100)), (1e9 - 0.6e6) * line, 0.002);
    assert_near("what is paced", outcome.goodput(1, Span::from_millis(100)), 10e6 * line, 0.02);
}

/// Each subflow has the pace: two of 200 Mb/s carry 400.
#[test]
fn subflows_have_a_pace_each() {
    let access = wire(GIGABIT, Span::from_micros(5));
    let path = (wire(GIGABIT, Span::from_micros(100)), 0);
    let net = parallel(access, &[path, path]);
    let outcome = Setup::new(&net.net, Profile { receive_window: Bytes::new(1 << 30), ..multipath("lia", 2) })
        .card(net.multi.0, card(Release::Gap, FlowRate::Static(Rate::from_mbps(200))))
        .flow(net.multi, None, Span::ZERO)
        .sample(Span::from_millis(10), &[SampleKind::Goodput])
        .run(Span::from_millis(300));
    let expected = 400e6 * f64::from(MSS) / FULL as f64;
    assert_near("goodput", outcome.goodput(0, Span::from_millis(150)), expected, 0.01);
    assert_eq!(outcome.totals.drops, 0);
}

/// Frames that a core has finished wait in the card, too; nothing is lost from sight.
#[test]
fn hosts_with_cores_have_cards() {
    let net = line(&[wire(GIGABIT, Span::from_micros(5)), wire(GIGABIT, Span::from_micros(50))]);
    let costs = Costs { burst: Span::from_micros(2), ..Costs::default() };
    let outcome = Setup::new(&net.net, profile())
        .host(net.source, HostModel { costs, ..HostModel::default() })
        .card(net.source, CardModel { queue: 100, ..card(Release::Gap, FlowRate::Static(Rate::from_mbps(300))) })
        .flow((net.source, net.sink), None, Span::ZERO)
        .sample(Span::from_millis(10), &[SampleKind::Goodput])
        .run(Span::from_secs(1));
    assert!(outcome.totals.card_drops > 0, "an endless window overflows a queue of 100");
    let series = outcome.series(SampleKind::Goodput, SampleOf::Flow(0, 0), Span::from_millis(100));
    let most = series.iter().map(|&(_, value)| value).fold(0.0, f64::max);
    assert!(most <= 300e6 * f64::from(MSS) / FULL as f64 * 1.01, "{most}");
}
