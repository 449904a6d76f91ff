//! Whether a patch is one, before there is a source to apply it to: unpacking that takes half a minute.
//!
//! The form is that of unified diffs (diff(1), "Detailed Description of Unified Format"): the names of a file before and
//! after, and hunks that say how many lines they have. Text around them, as mails and git have it, is passed over.

/// Checks that `text` is a unified diff whose hunks are whole.
///
/// # Errors
/// What is wrong, with the number of its line.
pub fn check(text: &str) -> Result<(), String> {
    let mut lines = text.lines().enumerate().map(|(index, line)| (index + 1, line));
    let (mut before, mut named, mut hunks, mut of_git) = (false, false, 0, false);
    while let Some((number, line)) = lines.next() {
        of_git |= line.starts_with("diff --git ");
        if line.starts_with("+++ ") && before {
            named = true;
        } else if named && line.starts_with("@@ ") {
            let (old, new) = lengths(line).ok_or_else(|| format!("line {number} is no head of a hunk: {line}"))?;
            hunk(&mut lines, number, (old, new))?;
            hunks += 1;
        }
        before = line.starts_with("--- ");
    }
    // what git renames or makes executable has no hunks
    if hunks > 0 || of_git {
        return Ok(());
    }
    Err("it has no change in unified form (lines `--- a/FILE`, `+++ b/FILE` and `@@ -1,3 +1,4 @@`)".to_owned())
}

/// Reads the lines of the hunk whose head is line `head` and says that it has so many before and after.
fn hunk<'t>(
    lines: &mut impl Iterator<Item = (usize, &'t str)>,
    head: usize,
    (mut old, mut new): (u64, u64),
) -> Result<(), String> {
    while old > 0 || new > 0 {
        let Some((number, line)) = lines.next() else {
            return Err(format!(
                "it ends inside the hunk of line {head}, of which {old} old and {new} new lines are missing"
            ));
        };
        let (of_old, of_new) = match line.as_bytes().first() {
            // mailers cut the blank of empty lines
            Some(b' ') | None => (1, 1),
            Some(b'-') => (1, 0),
            Some(b'+') => (0, 1),
            Some(b'\\') => (0, 0),
            Some(_) => {
                return Err(format!("line {number}, in the hunk of line {head}, starts with none of ` `, `+`, `-`"));
            }
        };
        let rest = |left: u64, taken: u64| left.checked_sub(taken);
        (old, new) = rest(old, of_old)
            .zip(rest(new, of_new))
            .ok_or_else(|| format!("the hunk of line {head} has more lines than it says, from line {number} on"))?;
    }
    Ok(())
}

/// The lines before and after of `@@ -1,3 +1,4 @@`; a length that is left out is 1.
fn lengths(head: &str) -> Option<(u64, u64)> {
    let mut words = head.strip_prefix("@@ ")?.split(' ');
    let mut length = |sign: char| {
        let range = words.next()?.strip_prefix(sign)?;
        let (start, length) = range.split_once(',').unwrap_or((range, "1"));
        start.parse::<u64>().ok()?;
        length.parse::<u64>().ok()
    };
    let lengths = (length('-')?, length('+')?);
    (words.next() == Some("@@")).then_some(lengths)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "From: me\nSubject: [PATCH] tcp: a window of 20\n---\n net/tcp.h | 2 +-\n\n\
        diff --git a/net/tcp.h b/net/tcp.h\n--- a/net/tcp.h\n+++ b/net/tcp.h\n@@ -1,3 +1,4 @@ void f(void)\n one\n-two\n\
        +three\n+four\n five\n@@ -9 +10 @@\n-x\n+y\n\\ No newline at end of file\n-- \n2.39.5\n";

    #[test]
    fn whole_patches_are_taken() {
        check(GOOD).unwrap();
        check("--- /dev/null\n+++ b/new.c\n@@ -0,0 +1 @@\n+a\n").unwrap();
        check("--- a/x\r\n+++ b/x\r\n@@ -1 +1 @@\r\n-a\r\n+b\r\n").unwrap();
        check("diff --git a/s b/t\nsimilarity index 100%\nrename from s\nrename to t\n").unwrap();
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        for (text, reason) in [
            ("", "no change in unified form"),
            ("hello\n", "no change in unified form"),
            ("*** a/x\n--- b/x\n***************\n*** 1 ****\n! a\n", "no change in unified form"),
            ("@@ -1 +1 @@\n-a\n+b\n", "no change in unified form"),
            ("--- a/x\n+++ b/x\n@@ -1,x +1 @@\n", "line 3 is no head of a hunk: @@ -1,x +1 @@"),
            (
                "--- a/x\n+++ b/x\n@@ -1,5 +1,5 @@\n one\n-two\n+three\n",
                "ends inside the hunk of line 3, of which 3 old and 3 new",
            ),
            ("--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n one\n?two\n", "line 5, in the hunk of line 3, starts with none of"),
            ("--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n-one\n-two\n+a\n", "line 3 has more lines than it says, from line 5 on"),
            ("--- a/x\n+++ b/x\n@@ -1,18446744073709551616 +1 @@\n", "line 3 is no head of a hunk"),
        ] {
            let error = check(text).expect_err(text);
            assert!(error.contains(reason), "{error}");
        }
        // any cut of it ends inside a hunk, or has none
        let first = GOOD.find(" five").unwrap();
        assert!(check(&GOOD[..first]).unwrap_err().contains("ends inside"));
    }
}
