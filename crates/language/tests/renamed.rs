//! Keys and words of earlier versions are errors that name the present ones, and keys of other files errors with a reason.

use headway_language::{Field, Never, Parse, choice, record, words};
use headway_units::Span;

record! {
    /// The top.
    pub struct Top {
        /// Has the other records.
        pub inner: Inner,
        /// A word.
        pub colour: Colour = Colour::Red,
    }
}

record! {
    /// A table whose keys have moved.
    pub struct Inner {
        /// A choice.
        pub kind: Option<Kind>,
        /// A time, or none.
        pub rest: Never = Never::Never,
    }
    short "kind"
    renamed { "size" => "kind.size", "tint" => "../colour" }
    refused { "weight" => "nothing is weighed here" }
}

choice! {
    /// A choice.
    pub enum Kind by "name" {
        /// One with a size.
        "box" => Box(BoxRecord),
    }
}

record! {
    /// A box.
    pub struct BoxRecord {
        /// Its size.
        pub size: u32 = 1,
    }
    renamed { "width" => "size" }
}

words! {
    /// A colour.
    pub enum Colour {
        /// Red.
        "red" => Red,
        /// Blue.
        "blue" => Blue,
    }
    renamed { "azure" => "blue" }
}

fn read(text: &str) -> Result<Top, Vec<(String, String)>> {
    let Ok(Parse { tree, mut reader }) = Parse::new(text, "x.toml", 1000) else { panic!("not TOML: {text}") };
    match Top::read(&tree, &mut reader) {
        Some(top) if reader.problems() == 0 => Ok(top),
        _ => {
            let said = |problem: &headway_language::Problem| {
                (problem.message().to_owned(), problem.help().unwrap_or_default().to_owned())
            };
            Err(reader.into_problems().iter().map(said).collect())
        }
    }
}

fn refused(text: &str, message: &str, help: &str) {
    assert_eq!(read(text), Err(vec![(message.to_owned(), help.to_owned())]), "{text}");
}

#[test]
fn an_old_key_names_the_new_one_wherever_it_went() {
    refused("inner = { size = 2 }", "`inner.size` is no longer a key", "it is called `inner.kind.size` now");
    refused("inner = { tint = \"red\" }", "`inner.tint` is no longer a key", "it is called `colour` now");
    let (message, help) = ("`inner.kind.width` is no longer a key", "it is called `inner.kind.size` now");
    refused("inner = { kind = { name = \"box\", width = 2 } }", message, help);
}

#[test]
fn an_old_word_names_the_new_one() {
    refused("inner = {}\ncolour = \"azure\"", "`colour` = \"azure\" is called \"blue\" now", "write \"blue\"");
}

#[test]
fn a_key_that_cannot_be_had_says_why() {
    refused("inner = { weight = 1 }", "`inner.weight` cannot be had here", "nothing is weighed here");
}

#[test]
fn a_table_is_shortened_to_the_text_of_one_key_which_may_be_a_choice_itself() {
    let whole = read("inner = { kind = { name = \"box\", size = 1 } }");
    assert_eq!(read("inner = \"box\""), whole);
    assert_eq!(read("inner = { kind = \"box\" }"), whole);
}

#[test]
fn never_is_a_word_and_not_a_flag() {
    assert_eq!(read("inner = { rest = \"1s\" }").unwrap().inner.rest, Never::After(Span::from_secs(1)));
    assert_eq!(read("inner = { rest = \"never\" }").unwrap().inner.rest.get(), None);
    refused("inner = { rest = false }", "`inner.rest` must be a time, or \"never\"", "write \"never\"");
}
