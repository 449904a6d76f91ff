//! The model at one delay and loss.

use headway_control::throughput::{Bound, Constant, Limit, Path, Route, Sender, Stretch};
use headway_units::{Rate, Span};
use serde_json::{Value, json};

use super::args::{ConstantArg, RelayArgs, Sides};
use crate::failure::Failure;

/// The options that all points have in common.
pub struct Model {
    sender: Sender,
    /// With neither delay nor loss added.
    route: Route,
    sides: Sides,
}

/// A delay and a loss of the access sides.
#[derive(Debug, Clone, Copy)]
pub struct Added {
    /// In each direction.
    pub delay: Span,
    /// Share of packets lost.
    pub loss: f64,
}

/// A formula's throughput without and with relays.
pub struct Pair {
    pub direct: Bound,
    pub relayed: Bound,
    /// The place of the segment that decides, from the client on.
    slowest: usize,
}

/// Both formulae at a point.
pub struct Point {
    pub added: Added,
    /// Of the whole path.
    pub rtt: Span,
    pub mathis: Pair,
    pub padhye: Pair,
}

impl Model {
    pub fn new(args: &RelayArgs) -> Result<Model, Failure> {
        if args.mss.is_zero() {
            return Err(Failure::usage("--mss must be at least 1B"));
        }
        let long = args.access_rtt.saturating_mul(2);
        let Some(long) = args.rtt.picos().checked_sub(long.picos()).map(Span::from_picos) else {
            return Err(Failure::usage(format!(
                "--rtt {} is less than twice --access-rtt {}, which is part of it",
                args.rtt, args.access_rtt
            )));
        };
        let link = |rate: Rate| data_rate(rate, args);
        let access = Stretch { rtt: args.access_rtt, loss: 0.0, link: Some(link(args.link)?) };
        let long = Stretch { rtt: long, loss: args.long_loss.value, link: Some(link(args.long_link)?) };
        let relays = args.relays.iter().map(|share| share.value).collect();
        let (host_window, relay_window) = (args.window, args.relay_window);
        let constant = match args.constant {
            ConstantArg::Periodic => Constant::periodic(args.packets_per_ack),
            ConstantArg::Random => Constant::random(args.packets_per_ack > 1),
            ConstantArg::Number(constant) => constant,
        };
        let sender = Sender { mss: args.mss, constant, packets_per_ack: args.packets_per_ack, min_rto: args.min_rto };
        let route = Route { client: access, long, server: access, host_window, relay_window, relays };
        Ok(Model { sender, route, sides: args.sides })
    }

    /// C of Mathis' formula.
    pub fn constant(&self) -> f64 {
        self.sender.constant.get()
    }

    pub fn at(&self, added: Added) -> Result<Point, Failure> {
        let mut route = self.route.clone();
        let sides = match self.sides {
            Sides::Both => [true, true],
            Sides::Client => [true, false],
            Sides::Server => [false, true],
        };
        for (side, _) in [&mut route.client, &mut route.server].into_iter().zip(sides).filter(|(_, has)| *has) {
            let rtt = side.rtt.checked_add(added.delay.saturating_mul(2));
            side.rtt = rtt.ok_or_else(|| Failure::usage(format!("a delay of {} is too long", added.delay)))?;
            side.loss = added.loss;
        }
        let wrong = |error: headway_control::throughput::RouteError| {
            let at = format!("delay {}, loss {}%", added.delay, added.loss * 100.0);
            Failure::usage(format!("{error} (at {at})"))
        };
        let direct = route.direct().map_err(wrong)?;
        let pair = |bound: fn(&Path, &Sender) -> Bound| {
            let (relayed, slowest) = route.relayed(&self.sender, bound).map_err(wrong)?;
            Ok::<_, Failure>(Pair { direct: bound(&direct, &self.sender), relayed, slowest })
        };
        let (mathis, padhye) = (pair(Path::by_mathis)?, pair(Path::by_padhye)?);
        Ok(Point { added, rtt: direct.rtt(), mathis, padhye })
    }
}

/// The data that a link of this rate carries.
fn data_rate(rate: Rate, args: &RelayArgs) -> Result<Rate, Failure> {
    if rate.is_zero() {
        return Err(Failure::usage("a link must have a rate above 0"));
    }
    let (mss, headers) = (args.mss.get() as f64, args.headers.get() as f64);
    Ok(Rate::from_bps((rate.bps() as f64 * mss / (mss + headers)).round() as u64))
}

impl Pair {
    /// Times that the relayed throughput is the direct one.
    pub fn gain(&self) -> f64 {
        self.relayed.rate.bps() as f64 / self.direct.rate.bps() as f64
    }

    fn json(&self) -> Value {
        json!({
            "direct_bps": self.direct.rate.bps(),
            "direct_limit": limit(self.direct.limit),
            "relayed_bps": self.relayed.rate.bps(),
            "relayed_limit": limit(self.relayed.limit),
            "relayed_slowest_segment": self.slowest + 1,
            "gain": self.gain(),
        })
    }
}

impl Point {
    pub fn json(&self) -> Value {
        json!({
            "delay_ns": self.added.delay.nanos(),
            "loss": self.added.loss,
            "rtt_ns": self.rtt.nanos(),
            "mathis": self.mathis.json(),
            "padhye": self.padhye.json(),
        })
    }
}

pub fn limit(limit: Limit) -> &'static str {
    match limit {
        Limit::Window => "window",
        Limit::Loss => "loss",
        Limit::Link => "link",
    }
}

/// In Mb/s, with the bound that decides.
pub fn shown(bound: Bound) -> String {
    let mbps = headway_report::three_digits(bound.rate.bps() as f64 / 1e6);
    let mark = match bound.limit {
        Limit::Window => 'w',
        Limit::Loss => 'p',
        Limit::Link => 'l',
    };
    format!("{mbps} {mark}")
}
