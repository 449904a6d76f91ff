//! The model over delays and losses: a table for a person, rows for programs.

use std::fmt::Write as _;

use headway_report::{table, three_digits};
use headway_units::Span;
use serde_json::{Value, json};

use super::args::{Axis, RelayArgs, Share};
use super::point::{Added, Model, Point, limit, shown};
use crate::failure::Failure;
use crate::terminal;

pub fn grid(model: &Model, args: &RelayArgs) -> Result<String, Failure> {
    let delays = delays(args);
    let mut rows = Vec::new();
    for loss in losses(args) {
        let of = |&delay: &Span| model.at(Added { delay, loss: loss.value });
        let points = delays.iter().map(of).collect::<Result<Vec<_>, _>>()?;
        rows.push((loss, points));
    }
    if args.csv {
        return Ok(csv(&rows));
    }
    if args.json {
        let points = rows.iter().flat_map(|(_, points)| points.iter().map(Point::json));
        return Ok(format!("{}\n", json!({ "constant": model.constant(), "points": points.collect::<Value>() })));
    }
    let surface = matches!((&args.delay, &args.loss), (Axis::Range(..), _) | (_, Axis::Range(..)));
    let mut text = String::new();
    if !surface {
        text.push_str(&flat(&rows));
        text.push('\n');
    }
    let heading = "Gain: relayed ÷ direct throughput by Mathis' formula, by loss and delay";
    let _ = writeln!(text, "{heading}");
    text.push_str(&gains(&delays, &rows));
    Ok(text)
}

fn flat(rows: &[(Share, Vec<Point>)]) -> String {
    let headers = ["loss", "delay", "RTT", "Mathis: direct", "relayed", "gain", "Padhye: direct", "relayed", "gain"];
    let row = |loss: &Share, point: &Point| {
        let mut cells = vec![loss.text.clone(), point.added.delay.to_string(), rtt(point)];
        for pair in [&point.mathis, &point.padhye] {
            cells.extend([shown(pair.direct), shown(pair.relayed), three_digits(pair.gain())]);
        }
        cells
    };
    let cells: Vec<Vec<String>> =
        rows.iter().flat_map(|(loss, points)| points.iter().map(|point| row(loss, point))).collect();
    let note = "Mb/s; limited by: w window, p losses, l link\n";
    format!("{}{note}", table(&headers, &cells, terminal::layout()))
}

fn gains(delays: &[Span], rows: &[(Share, Vec<Point>)]) -> String {
    let names: Vec<String> = delays.iter().map(Span::to_string).collect();
    let headers: Vec<&str> = ["loss \\ delay"].into_iter().chain(names.iter().map(String::as_str)).collect();
    let row = |(loss, points): &(Share, Vec<Point>)| {
        let gains = points.iter().map(|point| three_digits(point.mathis.gain()));
        [loss.text.clone()].into_iter().chain(gains).collect()
    };
    let cells: Vec<Vec<String>> = rows.iter().map(row).collect();
    table(&headers, &cells, terminal::layout())
}

pub fn rtt(point: &Point) -> String {
    format!("{} ms", three_digits(point.rtt.as_millis_f64()))
}

fn csv(rows: &[(Share, Vec<Point>)]) -> String {
    let mut text = String::from("loss,delay_ns,rtt_ns");
    for formula in ["mathis", "padhye"] {
        let _ = write!(text, ",{formula}_direct_bps,{formula}_direct_limit");
        let _ = write!(text, ",{formula}_relayed_bps,{formula}_relayed_limit,{formula}_gain");
    }
    text.push('\n');
    for point in rows.iter().flat_map(|(_, points)| points) {
        let _ = write!(text, "{},{},{}", point.added.loss, point.added.delay.nanos(), point.rtt.nanos());
        for pair in [&point.mathis, &point.padhye] {
            let (direct, relayed) = (pair.direct, pair.relayed);
            let _ = write!(text, ",{},{}", direct.rate.bps(), limit(direct.limit));
            let _ = write!(text, ",{},{},{}", relayed.rate.bps(), limit(relayed.limit), pair.gain());
        }
        text.push('\n');
    }
    text
}

fn delays(args: &RelayArgs) -> Vec<Span> {
    match &args.delay {
        Axis::List(delays) => delays.clone(),
        Axis::Range(from, to) => {
            let spaced = spaced(from.as_secs_f64(), to.as_secs_f64(), args.points);
            // Whole microseconds where they are many, so that headings stay short.
            let round = |seconds: f64| {
                let span = Span::from_secs_f64(seconds);
                let whole = Span::from_micros((seconds * 1e6).round() as u64);
                if seconds >= 1e-4 { whole } else { span }
            };
            spaced.map(round).collect()
        }
    }
}

fn losses(args: &RelayArgs) -> Vec<Share> {
    match &args.loss {
        Axis::List(losses) => losses.clone(),
        Axis::Range(from, to) => {
            let share = |value: f64| Share { value, text: format!("{}%", three_digits(value * 100.0)) };
            spaced(from.value, to.value, args.points).map(share).collect()
        }
    }
}

/// `points` values from `from` to `to`, with the same factor between neighbours.
fn spaced(from: f64, to: f64, points: u16) -> impl Iterator<Item = f64> {
    (0..points).map(move |point| match point {
        0 => from,
        _ if point + 1 == points => to,
        _ => from * (to / from).powf(f64::from(point) / f64::from(points - 1)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_even_in_their_logarithm_and_have_both_ends() {
        let values: Vec<f64> = spaced(0.001, 10.0, 5).collect();
        for (value, expected) in values.iter().zip([0.001, 0.01, 0.1, 1.0, 10.0]) {
            assert!((value / expected - 1.0).abs() < 1e-9, "{values:?}");
        }
        assert_eq!((values[0], values[4]), (0.001, 10.0));
    }
}
