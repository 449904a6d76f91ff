//! Words and commands as a shell takes them.

use std::path::Path;

/// `path` as a shell takes it.
pub fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_alphanumeric() || "/._-+:,@%=".contains(c);
    if !text.is_empty() && text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

/// `words` as a shell takes them, each with a space before it.
pub fn behind(words: &[String]) -> String {
    words.iter().flat_map(|word| [" ".to_owned(), quoted(Path::new(word))]).collect()
}

/// The command that goes on with the run in `path`.
pub fn resume_command(path: &Path) -> String {
    format!("headway run --resume {}", quoted(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_quoted_where_a_shell_needs_it() {
        assert_eq!(quoted(Path::new("results/lanes-l7")), "results/lanes-l7");
        assert_eq!(quoted(Path::new("my results")), "'my results'");
        assert_eq!(quoted(Path::new("it's")), r"'it'\''s'");
    }
}
