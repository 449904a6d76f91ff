//! Plots as SVG. Numbers have fixed digits, so that equal numbers give equal files.

use std::fmt::Write as _;

use super::measured::Series;

const KERNEL: &str = "#1b6ca8";
const MODEL: &str = "#d1495b";
const GREY: &str = "#999999";

fn open(width: f64, height: f64) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
         font-family=\"sans-serif\" font-size=\"10\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    )
}

fn text(svg: &mut String, (x, y): (f64, f64), anchor: &str, colour: &str, content: &str) {
    let content = content.replace('&', "&amp;").replace('<', "&lt;");
    let _ =
        writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" fill=\"{colour}\">{content}</text>");
}

fn line(svg: &mut String, from: (f64, f64), to: (f64, f64), style: &str) {
    let ((x1, y1), (x2, y2)) = (from, to);
    let _ = writeln!(svg, "<path d=\"M{x1:.1} {y1:.1}L{x2:.1} {y2:.1}\" stroke=\"{GREY}\" {style}/>");
}

/// Errors of one metric, a row for each name, with the goal as a band. What is beyond the edge is drawn on it.
pub fn errors(title: &str, goal: f64, rows: &[(String, f64)]) -> String {
    const LEFT: f64 = 330.0;
    const WIDE: f64 = 420.0;
    let edge = (goal * 6.0).min(1.0);
    let height = 40.0 + 12.0 * rows.len() as f64;
    let x = |error: f64| LEFT + WIDE * (0.5 + 0.5 * (error / edge).clamp(-1.0, 1.0));
    let mut svg = open(LEFT + WIDE + 70.0, height + 20.0);
    text(&mut svg, (LEFT + WIDE / 2.0, 14.0), "middle", "black", title);
    let (low, high) = (x(-goal), x(goal));
    let band = height - 30.0;
    let _ = writeln!(
        svg,
        "<rect x=\"{low:.1}\" y=\"24\" width=\"{:.1}\" height=\"{band:.1}\" fill=\"#e4f1e4\"/>",
        high - low
    );
    line(&mut svg, (x(0.0), 24.0), (x(0.0), height - 6.0), "");
    for tick in [-edge, -goal, goal, edge] {
        text(&mut svg, (x(tick), height + 8.0), "middle", GREY, &format!("{:+.0}%", tick * 100.0));
    }
    for (index, (name, error)) in rows.iter().enumerate() {
        let y = 34.0 + 12.0 * index as f64;
        let good = error.abs() <= goal;
        let colour = if good { KERNEL } else { MODEL };
        text(&mut svg, (LEFT - 8.0, y + 3.0), "end", "black", name);
        let _ = writeln!(svg, "<circle cx=\"{:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"/>", x(*error));
        if error.abs() > edge {
            text(&mut svg, (LEFT + WIDE + 8.0, y + 3.0), "start", colour, &super::table::percent(*error));
        }
    }
    svg + "</svg>\n"
}

/// One quantity over time, of kernel and model; the series of one side are drawn alike. `step` is in seconds; values
/// are divided by `unit`.
pub fn paths(title: &str, axis: &str, step: f64, unit: f64, kernel: &[Series], model: &[Series]) -> String {
    const LEFT: f64 = 50.0;
    const WIDE: f64 = 640.0;
    const HIGH: f64 = 180.0;
    let all = || kernel.iter().chain(model);
    let longest = all().map(Vec::len).max().unwrap_or(0).max(1) as f64;
    let most = all().flatten().filter_map(|value| *value).max().unwrap_or(0).max(1) as f64;
    let mut svg = open(LEFT + WIDE + 20.0, HIGH + 60.0);
    text(&mut svg, (LEFT, 14.0), "start", "black", title);
    text(&mut svg, (LEFT + WIDE, 14.0), "end", KERNEL, "kernel");
    text(&mut svg, (LEFT + WIDE - 45.0, 14.0), "end", MODEL, "model");
    let at = |index: f64, value: f64| (LEFT + WIDE * index / longest, 24.0 + HIGH * (1.0 - value / most));
    for part in [0.0, 0.5, 1.0] {
        let y = at(0.0, most * part).1;
        line(&mut svg, (LEFT, y), (LEFT + WIDE, y), "stroke-width=\"0.3\"");
        text(&mut svg, (LEFT - 4.0, y + 3.0), "end", GREY, &format!("{:.0}", most * part / unit));
        let x = at(longest * part, 0.0).0;
        text(&mut svg, (x, HIGH + 38.0), "middle", GREY, &format!("{:.1} s", longest * part * step));
    }
    text(&mut svg, (LEFT, HIGH + 54.0), "start", GREY, axis);
    for (series, colour) in
        kernel.iter().map(|series| (series, KERNEL)).chain(model.iter().map(|series| (series, MODEL)))
    {
        let mut path = String::new();
        let mut pen = 'M';
        for (index, value) in series.iter().enumerate() {
            let Some(value) = value else {
                pen = 'M';
                continue;
            };
            let (x, y) = at((index + 1) as f64, *value as f64);
            let _ = write!(path, "{pen}{x:.1} {y:.1}");
            pen = 'L';
        }
        let _ = writeln!(svg, "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.2\"/>");
    }
    svg + "</svg>\n"
}
