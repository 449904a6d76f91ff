//! The documentation holds together: every relative link and anchor of a page leads somewhere, every page of `docs/`
//! is in an index, pages that code and scenarios name exist, complete scenarios in pages are right, and the glossary is
//! in order and leads on.

#[path = "docs/commands.rs"]
mod commands;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write as _;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the workspace is two levels up")
}

/// All files below `folder` but hidden ones, builds and results, as paths from the root.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> =
        fs::read_dir(root().join(folder)).expect("a folder").map(|entry| entry.unwrap()).collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let name = entry.file_name().into_string().expect("names in UTF-8");
        let path = folder.join(&name);
        let kind = entry.file_type().unwrap();
        let skipped = name.starts_with('.') || ["target", "results"].contains(&name.as_str());
        if kind.is_dir() && !skipped {
            files(&path, found);
        } else if kind.is_file() && !skipped {
            found.push(path);
        }
    }
}

fn all_files() -> Vec<PathBuf> {
    let mut found = Vec::new();
    files(Path::new(""), &mut found);
    found
}

fn read(path: &Path) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn is_page(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "md")
}

/// The lines of a page outside fenced and indented code, with their numbers from 1.
fn prose(text: &str) -> Vec<(usize, &str)> {
    let mut fenced = false;
    let mut blank = true;
    let mut indented = false;
    let mut lines = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            // code begins behind a blank line and goes on while lines are indented; a table in a list is indented, too
            let deep = line.starts_with("    ") && !line.trim_start().starts_with(['*', '|']);
            indented = deep && (blank || indented);
            if !indented {
                lines.push((number + 1, line));
            }
        }
        blank = line.trim().is_empty();
    }
    lines
}

/// A line without its code spans.
fn without_code(line: &str) -> String {
    let mut kept = String::new();
    let mut rest = line;
    while let Some(start) = rest.find('`') {
        let ticks = rest[start..].chars().take_while(|&character| character == '`').count();
        let fence = "`".repeat(ticks);
        let inside = start + ticks;
        let Some(length) = rest[inside..].find(&fence) else { break };
        kept.push_str(&rest[..start]);
        rest = &rest[inside + length + ticks..];
    }
    kept + rest
}

/// Where the links of a page lead, with the lines they are on.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, line) in prose(text) {
        let line = without_code(line);
        for (position, _) in line.match_indices("](") {
            let target = &line[position + 2..];
            let mut depth = 1;
            let end = target.find(|character| {
                depth += match character {
                    '(' => 1,
                    ')' => -1,
                    _ => 0,
                };
                depth == 0
            });
            let end = end.unwrap_or_else(|| panic!("line {number}: a link without its end: {line}"));
            found.push((number, target[..end].to_owned()));
        }
    }
    found
}

/// The anchors that hosts of repositories make of a page's headings.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut counts = BTreeMap::new();
    let mut found = BTreeSet::new();
    for (_, line) in prose(text) {
        let marks = line.chars().take_while(|&character| character == '#').count();
        let Some(heading) = line[marks..].strip_prefix(' ').filter(|_| (1..=6).contains(&marks)) else { continue };
        let anchor: String = heading
            .trim()
            .to_lowercase()
            .chars()
            .filter(|character| character.is_alphanumeric() || " -_".contains(*character))
            .map(|character| if character == ' ' { '-' } else { character })
            .collect();
        let count = counts.entry(anchor.clone()).or_insert(0);
        found.insert(if *count == 0 { anchor } else { format!("{anchor}-{count}") });
        *count += 1;
    }
    found
}

/// `to` as seen from the page `from`; none if it is outside the repository.
fn resolve(from: &Path, to: &str) -> Option<PathBuf> {
    let mut path = from.parent().expect("a page is in a folder").to_path_buf();
    for part in Path::new(to).components() {
        match part {
            Component::Normal(name) => path.push(name),
            Component::CurDir => {}
            Component::ParentDir => {
                if !path.pop() {
                    return None;
                }
            }
            _ => return None,
        }
    }
    Some(path)
}

/// What is wrong with a link from the page `from` to `target`.
fn broken(from: &Path, target: &str) -> Option<&'static str> {
    if ["http://", "https://", "mailto:"].iter().any(|scheme| target.starts_with(scheme)) {
        return None;
    }
    let (file, anchor) = target.split_once('#').map_or((target, None), |(file, anchor)| (file, Some(anchor)));
    let path = if file.is_empty() { Some(from.to_path_buf()) } else { resolve(from, file) };
    let Some(path) = path.filter(|path| root().join(path).exists()) else { return Some("there is no such file") };
    match anchor {
        None => None,
        Some(_) if !is_page(&path) => Some("only pages have anchors"),
        Some(anchor) => (!anchors(&read(&path)).contains(anchor)).then_some("there is no such heading"),
    }
}

#[test]
fn every_relative_link_and_anchor_of_every_page_resolves() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for page in all_files().iter().filter(|path| is_page(path)) {
        for (line, target) in links(&read(page)) {
            count += 1;
            if let Some(reason) = broken(page, &target) {
                wrong.push(format!("{}:{line}: {target}: {reason}", page.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 100, "only {count} links were found, so they are not looked for in the right way");
}

#[test]
fn every_page_of_docs_is_in_the_index_of_its_folder_and_every_such_index_in_the_first_one() {
    let first = Path::new("docs/README.md");
    let pages: Vec<PathBuf> =
        all_files().into_iter().filter(|path| path.starts_with("docs") && is_page(path) && path != first).collect();
    for page in pages {
        let own = page.with_file_name("README.md");
        let index = if page == own { first } else { &own };
        let listed = links(&read(index)).iter().any(|(_, target)| {
            let file = target.split('#').next().expect("a part before any #");
            resolve(index, file).as_ref() == Some(&page)
        });
        assert!(listed, "{} does not link to {}", index.display(), page.display());
    }
}

#[test]
fn pages_that_code_scenarios_and_scripts_name_exist() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for path in all_files().iter().filter(|path| !is_page(path)) {
        let Ok(text) = fs::read_to_string(root().join(path)) else { continue };
        for (position, _) in text.match_indices("docs/") {
            let name: String = text[position..]
                .chars()
                .take_while(|&character| character.is_ascii_alphanumeric() || "/._-".contains(character))
                .collect();
            let name = name.trim_end_matches('.');
            if is_page(Path::new(name)) {
                count += 1;
                if !root().join(name).is_file() {
                    wrong.push(format!("{} names {name}", path.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 20, "only {count} pages are named, so they are not looked for in the right way");
}

#[test]
fn complete_scenarios_in_pages_are_right() {
    let mut count = 0;
    for page in all_files().iter().filter(|path| is_page(path)) {
        for block in read(page).split("```toml\n").skip(1) {
            let scenario = block.split("```").next().expect("a part before the end of the block");
            if !scenario.starts_with("name = ") {
                continue; // a part of a scenario
            }
            count += 1;
            let mut headway = Command::new(env!("CARGO_BIN_EXE_headway"))
                .args(["check", "-"])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .expect("headway starts");
            headway.stdin.take().expect("a pipe").write_all(scenario.as_bytes()).expect("headway reads");
            let output = headway.wait_with_output().expect("headway ends");
            assert!(output.status.success(), "{}:\n{}", page.display(), String::from_utf8_lossy(&output.stderr));
        }
    }
    assert!(count >= 3, "only {count} scenarios were found");
}

#[test]
fn the_glossary_is_in_order_and_each_entry_leads_on() {
    let text = read(Path::new("docs/glossary.md"));
    let entries: Vec<&str> = text.lines().filter(|line| line.starts_with("**")).collect();
    assert!(entries.len() > 50, "{} entries", entries.len());
    let words: Vec<String> = entries
        .iter()
        .map(|entry| entry[2..].split("**").next().expect("a word in bold").to_lowercase())
        .map(|word| word.chars().filter(|character| character.is_alphanumeric() || *character == ' ').collect())
        .collect();
    for (entry, pair) in entries.iter().zip(words.windows(2)) {
        assert!(pair[0] < pair[1], "{:?} stands before {:?}: {entry}", pair[0], pair[1]);
    }
    for entry in entries {
        assert!(!links(entry).is_empty(), "no link to the page that says more: {entry}");
    }
}

#[test]
fn links_are_found_outside_code_only() {
    let text =
        "See [a](a.md), [`b`](b.md#c) and `[x](y)`.\n\n    [code](no.md)\n\n```\n[code](no.md)\n```\n![p](p_(1).svg)\n";
    let found: Vec<String> = links(text).into_iter().map(|(_, target)| target).collect();
    assert_eq!(found, ["a.md", "b.md#c", "p_(1).svg"]);
}

#[test]
fn anchors_are_made_of_headings_as_hosts_of_repositories_do() {
    let text = "# [sweep] and `$name`\n## Two, or more\n## Two, or more\n```\n# not a heading\n```\n#neither\n";
    let expected = ["sweep-and-name", "two-or-more", "two-or-more-1"];
    assert_eq!(anchors(text), expected.into_iter().map(str::to_owned).collect());
}

#[test]
fn a_wrong_link_is_told() {
    let page = Path::new("docs/models/tcp.md");
    assert_eq!(broken(page, "../lanes.md"), None);
    assert_eq!(broken(page, "#stacks"), None);
    assert_eq!(broken(page, "../README.md"), None);
    assert_eq!(broken(page, "lains.md"), Some("there is no such file"));
    assert_eq!(broken(page, "../../../outside.md"), Some("there is no such file"));
    assert_eq!(broken(page, "../lanes.md#judge-sentence"), Some("there is no such heading"));
    assert_eq!(broken(page, "../../Makefile#test"), Some("only pages have anchors"));
}
