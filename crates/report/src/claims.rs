//! Claims and whether they held.

use std::fmt::Write as _;

use headway_results::{Case, Verdict};

use crate::grid::{Align, Cell, Column, render};
use crate::number::three_digits;
use crate::text::wrapped;
use crate::{Layout, counted, harmless};

/// Up to so many points are listed one by one.
const FEW: usize = 3;
/// So many points at which a claim fails are listed.
const MAX_FAILURES: usize = 5;

const INDENT: &str = "          ";

const NOT_EVALUATED: &str = "not evaluated";

/// The verdicts with their numbers: `held` or `not held` for each, then the points one by one if they are few,
/// the first of those that fail if some do, else the two between which the others lie, what the source printed, and why
/// it is known not to hold. At the end the texts of claims that were `left_out` because nothing of what they are about
/// was run. Empty without any claims.
pub fn claims(verdicts: &[Verdict], left_out: &[String], layout: Layout) -> String {
    let mut text = String::new();
    if verdicts.is_empty() && left_out.is_empty() {
        return text;
    }
    let _ = writeln!(text, "{}", layout.bold(&tally(verdicts, left_out)));
    for verdict in verdicts {
        let word = match (verdict.held, &verdict.known) {
            _ if !verdict.is_judged() => layout.dim(NOT_EVALUATED),
            (true, _) => layout.good("held    "),
            (false, None) => layout.bad("not held"),
            // Nobody is to be alarmed.
            (false, Some(_)) => layout.bold("not held"),
        };
        stated(&mut text, &word, word_width(verdict), &verdict.text, layout);
        for line in details(verdict, layout).into_iter().chain(remarks(verdict)) {
            // Lines of tables fit, and must keep their gaps.
            let lines = match line.chars().count() + INDENT.len() {
                all if all <= layout.width => vec![line],
                _ => wrapped(&line, layout.width.saturating_sub(INDENT.len()), indent_of(&line)),
            };
            for line in lines {
                let _ = writeln!(text, "{INDENT}{}", harmless(&line));
            }
        }
    }
    for claim in left_out {
        stated(&mut text, &layout.dim(NOT_EVALUATED), NOT_EVALUATED.len(), claim, layout);
    }
    text
}

/// What stands in front of a claim's text takes so many characters.
fn word_width(verdict: &Verdict) -> usize {
    if verdict.is_judged() { INDENT.len() - 2 } else { NOT_EVALUATED.len() }
}

/// A claim behind `word`, which is `width` wide; further lines begin where details do.
fn stated(text: &mut String, word: &str, width: usize, claim: &str, layout: Layout) {
    // As many blanks in front as the word takes; then they are taken off again.
    let front = format!("{}  {}", "x".repeat(width), harmless(claim));
    let lines = wrapped(&front, layout.width, INDENT.len());
    for (place, line) in lines.iter().enumerate() {
        let _ = match line.get(width..).filter(|_| place == 0) {
            Some(rest) => writeln!(text, "{word}{rest}"),
            None => writeln!(text, "{line}"),
        };
    }
}

/// Further lines of `line` begin two characters behind its own first one.
fn indent_of(line: &str) -> usize {
    line.chars().take_while(|c| *c == ' ').count() + 2
}

/// `3 of 5 claims held (1 known not to), 2 not evaluated`.
pub fn tally(verdicts: &[Verdict], left_out: &[String]) -> String {
    let held = verdicts.iter().filter(|verdict| verdict.held).count();
    let judged = || verdicts.iter().filter(|verdict| verdict.is_judged());
    let known = judged().filter(|verdict| !verdict.held && verdict.known.is_some()).count();
    let mut text = format!("{held} of {} held", counted(judged().count(), "claim"));
    if known > 0 {
        let _ = write!(text, " ({known} known not to)");
    }
    let not_evaluated = left_out.len() + verdicts.len() - judged().count();
    if not_evaluated > 0 {
        let _ = write!(text, ", {not_evaluated} not evaluated");
    }
    text
}

/// What belongs to a verdict beside its numbers.
fn remarks(verdict: &Verdict) -> Vec<String> {
    let mut lines = Vec::new();
    if !verdict.printed.is_empty() {
        let texts: Vec<&str> = verdict.printed.iter().map(|printed| printed.text.as_str()).collect();
        lines.push(format!("published: {}", texts.join("; ")));
    }
    if verdict.skipped > 0 {
        lines.push(format!("not evaluated at {}, which were not run", counted(verdict.skipped, "further point")));
    }
    match &verdict.known {
        _ if !verdict.is_judged() => {}
        Some(reason) if verdict.held => lines.push(format!("known not to hold, but it does: {reason}")),
        Some(reason) => lines.push(format!("known not to hold: {reason}")),
        None => {}
    }
    lines
}

fn details(verdict: &Verdict, layout: Layout) -> Vec<String> {
    let cases = &verdict.cases;
    if cases.iter().any(|case| case.published.is_some()) {
        return table(verdict, layout);
    }
    let with_point = |case: &Case| with_point(verdict, case);
    let failing: Vec<&Case> = cases.iter().filter(|case| !case.held).collect();
    if cases.is_empty() {
        return vec!["no sweep point is as its `at` says".to_owned()];
    }
    if cases.len() <= FEW {
        let some = !failing.is_empty() && failing.len() < cases.len();
        let line = |case: &Case| match (some, case.held) {
            (true, false) => format!("{}; fails", with_point(case)),
            (true, true) => format!("{}; holds", with_point(case)),
            (false, _) => with_point(case),
        };
        return cases.iter().map(line).collect();
    }
    if failing.is_empty() {
        let mut lines = vec![format!("at all {} points, the extremes being", cases.len())];
        lines.extend(extremes(cases).map(|case| format!("  {}", with_point(case))));
        return lines;
    }
    let mut lines = vec![format!("at {} of {} points, not at", cases.len() - failing.len(), cases.len())];
    lines.extend(failing.iter().take(MAX_FAILURES).map(|case| format!("  {}", with_point(case))));
    if failing.len() > MAX_FAILURES {
        lines.push(format!("  and {} more", failing.len() - MAX_FAILURES));
    }
    lines
}

/// All points, each beside the cell of the published table that it has.
fn table(verdict: &Verdict, layout: Layout) -> Vec<String> {
    let words = |case: &Case| match (case.is_judged(), case.held) {
        (false, _) => "suspect, not judged",
        (true, true) => "holds",
        (true, false) => "fails",
    };
    let row = |case: &Case| {
        let cell = case.published.as_ref();
        let printed = cell.map_or(&[][..], |cell| &cell.printed);
        let published: Vec<&str> = printed.iter().map(|printed| without_source(&printed.text)).collect();
        let ours = cell.map_or("", |cell| cell.ours.as_str());
        let (published, ratios) = (published.join("; "), ratios(verdict, case).join(" and "));
        [case.point.clone(), published, ours.to_owned(), ratios, words(case).to_owned()]
    };
    let rows: Vec<[String; 5]> = verdict.cases.iter().map(row).collect();
    let column = |(at, head): (usize, &str)| {
        Column::new(&[head], Align::Left, rows.iter().map(|row| Cell::from(row[at].clone())).collect())
    };
    let heads = ["point", "published", "ours", "ours ÷ published", ""];
    let columns: Vec<Column> = heads.into_iter().enumerate().map(column).collect();
    // Further parts must say which points they are about; the columns stand in one colour, as all details.
    let narrow = Layout { width: layout.width.saturating_sub(INDENT.len()), colour: false };
    let text = render(&columns, 1, narrow);
    let sources = verdict.cases.iter().filter_map(|case| case.published.as_ref());
    let source = sources.flat_map(|cell| &cell.printed).find_map(|printed| source(&printed.text));
    // Of a comparison the table has one of the two numbers.
    let failing: Vec<&Case> =
        verdict.cases.iter().filter(|case| case.second.is_some() && case.is_judged() && !case.held).collect();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.extend(source.map(|source| format!("published in {source}")));
    lines.extend(failing.iter().take(MAX_FAILURES).map(|case| format!("fails at {}", with_point(verdict, case))));
    if failing.len() > MAX_FAILURES {
        lines.push(format!("and at {} more", failing.len() - MAX_FAILURES));
    }
    lines
}

/// A printed number is followed by its source in brackets.
fn source(text: &str) -> Option<&str> {
    text.split_once(" (")?.1.strip_suffix(')')
}

fn without_source(text: &str) -> &str {
    text.split_once(" (").map_or(text, |(number, _)| number)
}

/// What we measured over what was printed, for each number that was.
fn ratios(verdict: &Verdict, case: &Case) -> Vec<String> {
    let shown = |ratio: &Option<f64>| ratio.map_or_else(|| "–".to_owned(), three_digits);
    verdict.ratios(case).iter().map(shown).collect()
}

fn with_point(verdict: &Verdict, case: &Case) -> String {
    let ratios = match &ratios(verdict, case)[..] {
        [] => String::new(),
        ratios => format!("; {} × published", ratios.join(" and ")),
    };
    let point = if case.point.is_empty() { String::new() } else { format!("{}: ", case.point) };
    format!("{point}{}{ratios}", case.numbers)
}

/// The points with the smallest and the largest first value, in proportion to the second if there is one; that
/// point of the two at which the claim is closest to failing is the weakest of all.
fn extremes(cases: &[Case]) -> impl Iterator<Item = &Case> {
    let size = |case: &Case| {
        let second = case.second.map_or(Some(1.0), |second| second.value);
        // Without a value it cannot have held, so it does not come here.
        case.first.value.zip(second).map_or(0.0, |(first, second)| first / second)
    };
    let order = |a: &&Case, b: &&Case| size(a).total_cmp(&size(b));
    let (least, most) = (cases.iter().min_by(order), cases.iter().max_by(order));
    let different = most.filter(|most| least.is_some_and(|least| !std::ptr::eq(*most, least)));
    least.into_iter().chain(different)
}

#[cfg(test)]
mod tests {
    use headway_results::{Estimate, Printed, PublishedCell};

    use super::*;

    fn case(point: &str, held: bool, first: f64, second: f64) -> Case {
        let estimate = |value| Estimate { value: Some(value), low: Some(value), high: Some(value), n: 2 };
        let numbers = format!("lanes fct.mean = {first} ms < tcp fct.mean = {second} ms");
        Case {
            point: point.into(),
            held,
            numbers,
            first: estimate(first),
            second: Some(estimate(second)),
            published: None,
        }
    }

    fn verdict(text: &str, cases: Vec<Case>) -> Verdict {
        let held = !cases.is_empty() && cases.iter().all(|case| case.held);
        Verdict { text: text.into(), held, known: None, printed: Vec::new(), skipped: 0, cases }
    }

    fn many(fail: &[usize]) -> Vec<Case> {
        let point = |i: usize| case(&format!("n = {i}"), !fail.contains(&i), 1.0 + i as f64, 20.0);
        (0..20).map(point).collect()
    }

    #[test]
    fn verdicts_come_with_their_numbers() {
        let verdicts = [
            verdict("One point", vec![case("", true, 1.0, 2.0)]),
            verdict("Few points", vec![case("n = 1", true, 1.0, 2.0), case("n = 2", false, 3.0, 2.0)]),
            verdict("Many points", many(&[])),
            verdict("Many points, some not", many(&[3, 4])),
            verdict("About nothing", Vec::new()),
        ];
        let expected = "\
2 of 5 claims held
held      One point
          lanes fct.mean = 1 ms < tcp fct.mean = 2 ms
not held  Few points
          n = 1: lanes fct.mean = 1 ms < tcp fct.mean = 2 ms; holds
          n = 2: lanes fct.mean = 3 ms < tcp fct.mean = 2 ms; fails
held      Many points
          at all 20 points, the extremes being
            n = 0: lanes fct.mean = 1 ms < tcp fct.mean = 20 ms
            n = 19: lanes fct.mean = 20 ms < tcp fct.mean = 20 ms
not held  Many points, some not
          at 18 of 20 points, not at
            n = 3: lanes fct.mean = 4 ms < tcp fct.mean = 20 ms
            n = 4: lanes fct.mean = 5 ms < tcp fct.mean = 20 ms
not held  About nothing
          no sweep point is as its `at` says
";
        let text = claims(&verdicts, &[], Layout::PLAIN);
        assert_eq!(text, expected, "\n{text}");
    }

    #[test]
    fn cells_of_a_published_table_stand_beside_ours_one_by_one() {
        let cell = |point: &str, held, suspect, (published, ours): (f64, f64)| {
            let printed = vec![Printed { text: format!("{published} Mb/s (table 3)"), value: Some(published) }];
            let published = Some(PublishedCell { printed, ours: format!("{ours} Mb/s"), suspect });
            Case { published, ..case(point, held, ours, 1.0) }
        };
        let cells = vec![
            cell("loss=0, delay=0ms", true, false, (390.0, 400.0)),
            cell("loss=0, delay=10ms", false, true, (21.0, 210.0)),
            cell("loss=0.1%, delay=0ms", true, false, (8.61, 8.0)),
        ];
        let mut verdict = verdict("As in table 3", cells);
        verdict.held = true;
        let expected = "\
1 of 1 claim held
held      As in table 3
          point                 published  ours      ours ÷ published
          loss=0, delay=0ms     390 Mb/s   400 Mb/s  1.03              holds
          loss=0, delay=10ms    21 Mb/s    210 Mb/s  10.0              suspect, not judged
          loss=0.1%, delay=0ms  8.61 Mb/s  8 Mb/s    0.929             holds
          published in table 3
";
        let text = claims(&[verdict], &[], Layout::PLAIN);
        assert_eq!(text, expected, "\n{text}");
    }

    /// A cell with a published number beside it.
    fn cell(point: &str, held: bool, suspect: bool) -> Case {
        let printed = vec![Printed { text: "2 ms (table 3)".into(), value: Some(2.0) }];
        Case { published: Some(PublishedCell { printed, ours: "1 ms".into(), suspect }), ..case(point, held, 1.0, 2.0) }
    }

    #[test]
    fn a_claim_that_nothing_judges_is_neither_held_nor_failed() {
        let mut doubtful =
            verdict("All cells are suspect", vec![cell("n = 1", true, true), cell("n = 2", false, true)]);
        doubtful.held = false;
        assert!(!doubtful.failed());
        let verdicts = [doubtful, verdict("One point", vec![case("", true, 1.0, 2.0)])];
        assert_eq!(tally(&verdicts, &["left out".into()]), "1 of 1 claim held, 2 not evaluated");
        let text = claims(&verdicts, &[], Layout::PLAIN);
        assert!(text.contains("not evaluated  All cells are suspect\n"), "{text}");
        assert!(text.contains("n = 1  2 ms       1 ms  0.500             suspect, not judged\n"), "{text}");
    }

    #[test]
    fn both_numbers_of_a_comparison_stand_with_cells_that_fail() {
        let text =
            claims(&[verdict("x", vec![cell("n = 1", true, false), cell("n = 2", false, false)])], &[], Layout::PLAIN);
        let expected = "\
          published in table 3
          fails at n = 2: lanes fct.mean = 1 ms < tcp fct.mean = 2 ms; 0.500 × published
";
        assert!(text.ends_with(expected), "{text}");
    }

    #[test]
    fn a_long_list_of_failures_is_cut() {
        let all: Vec<usize> = (0..20).collect();
        let text = claims(&[verdict("None", many(&all))], &[], Layout::PLAIN);
        assert!(text.contains("at 0 of 20 points, not at\n"), "{text}");
        assert!(text.ends_with("  and 15 more\n"), "{text}");
    }

    #[test]
    fn colour_is_only_there_when_asked_for() {
        let verdicts = [verdict("One", vec![case("", false, 1.0, 2.0)])];
        assert!(!claims(&verdicts, &[], Layout::PLAIN).contains('\x1b'));
        let text = claims(&verdicts, &[], Layout { colour: true, ..Layout::PLAIN });
        assert!(text.contains("\x1b[1;31mnot held\x1b[0m"), "{text}");
        assert_eq!(claims(&[], &[], Layout::PLAIN), "");
    }

    #[test]
    fn what_was_published_and_what_is_known_stand_with_the_verdict() {
        let printed = |text: &str, value| Printed { text: text.into(), value };
        let mut numbers = verdict("With numbers", vec![case("n = 1", true, 1.0, 2.0), case("n = 2", false, 3.0, 2.0)]);
        numbers.printed = vec![printed("2.00 ms (table 1)", Some(2.0)), printed("long", None)];
        numbers.known = Some("other queues".into());
        numbers.skipped = 3;
        let mut words = verdict("With words", vec![case("", true, 1.0, 2.0)]);
        words.printed = vec![printed("about 2 ms (figure 1)", None)];
        words.known = Some("it was once".into());
        let expected = "\
1 of 2 claims held (1 known not to), 1 not evaluated
not held  With numbers
          n = 1: lanes fct.mean = 1 ms < tcp fct.mean = 2 ms; 0.500 and – × published; holds
          n = 2: lanes fct.mean = 3 ms < tcp fct.mean = 2 ms; 1.50 and – × published; fails
          published: 2.00 ms (table 1); long
          not evaluated at 3 further points, which were not run
          known not to hold: other queues
held      With words
          lanes fct.mean = 1 ms < tcp fct.mean = 2 ms
          published: about 2 ms (figure 1)
          known not to hold, but it does: it was once
not evaluated  About what is not run
";
        let text = claims(&[numbers, words], &["About what is not run".into()], Layout::PLAIN);
        assert_eq!(text, expected, "\n{text}");
    }
}
