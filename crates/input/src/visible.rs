//! Text from files, as a terminal may show it.

use std::borrow::Cow;

/// Whether `c` acts on a terminal instead of being shown: a control character (an escape sequence moves the cursor,
/// changes the title, or more), or one that reorders the text around it (Unicode's embeddings, overrides and isolates,
/// UAX #9 §2, with which a text shows other than it reads: CVE-2021-42574). Ends of lines and tabs are text.
pub fn is_hidden(c: char) -> bool {
    let control = c.is_control() && c != '\n' && c != '\t';
    control || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// `text` with a picture of a character in place of each that [`is_hidden`]: `␛` for an escape, `␡` for a delete, `�` for
/// the others that have none.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().map(picture).collect())
}

/// The character that [`visible`] shows for `c`.
pub fn picture(c: char) -> char {
    match c {
        c if !is_hidden(c) => c,
        '\0'..='\u{1f}' => char::from_u32(0x2400 + u32::from(c)).unwrap_or(char::REPLACEMENT_CHARACTER),
        '\u{7f}' => '\u{2421}',
        _ => char::REPLACEMENT_CHARACTER,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_acts_on_a_terminal_is_shown_as_a_picture() {
        assert_eq!(visible("a\x1b[31mb\u{7}\rc\u{7f}"), "a␛[31mb␇␍c␡");
        assert_eq!(visible("\u{9b}2J"), "�2J", "the escape sequence of one character");
        assert_eq!(visible("x\u{202e}y\u{2066}z\u{2069}"), "x�y�z�");
    }

    #[test]
    fn text_of_any_language_stays_as_it_is() {
        let text = "µs, über\t日本語\nعربى שלום e\u{301} 👍\u{200d}";
        assert!(matches!(visible(text), Cow::Borrowed(same) if same == text));
    }
}
