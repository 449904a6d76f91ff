//! The declarations records are made with. One declaration gives the type, its reading, printing,
//! defaults, limits and schema, so none of them can disagree.

/// A table with fixed keys. A field without a default is required unless its type says otherwise
/// (`Option`). `with part: Part` at the end takes the keys of another record or choice into the same table.
macro_rules! record {
    (@default) => {
        None
    };
    (@default $default:expr) => {
        Some(|| $default)
    };
    (
        $(#[doc = $about:literal])+
        pub struct $Record:ident {
            $(
                $(#[doc = $doc:literal])+
                $(#[range($range:expr)])?
                pub $field:ident: $type:ty $(= $default:expr)?,
            )*
        }
        $(with $(#[doc = $part_doc:literal])+ $part:ident: $Part:ty)?
    ) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone, PartialEq)]
        pub struct $Record {
            $(
                $(#[doc = $doc])+
                $(#[doc = concat!("\n\nDefault: `", stringify!($default), "`.")])?
                pub $field: $type,
            )*
            $(
                $(#[doc = $part_doc])+
                pub $part: $Part,
            )?
        }

        impl $crate::language::Part for $Record {
            const TITLE: &'static str = stringify!($Record);
            $(const TAG: Option<&'static str> = <$Part as $crate::language::Part>::TAG;)?

            #[allow(unused_variables, reason = "a record may lack keys or a part")]
            fn keys(table: &$crate::language::Table, keys: &mut $crate::language::Keys) {
                $(keys.known.push($crate::language::key(stringify!($field)));)*
                $(<$Part as $crate::language::Part>::keys(table, keys);)?
            }

            #[allow(unused_variables, reason = "a record may lack keys or a part")]
            fn read_part(
                table: &$crate::language::Table,
                at: $crate::language::At,
                reader: &mut $crate::language::Reader,
            ) -> Option<$Record> {
                // Everything is read before the first `?`, so that all problems are found.
                $(
                    let name = $crate::language::key(stringify!($field));
                    let default: Option<fn() -> $type> = $crate::language::record!(@default $($default)?);
                    let $field = reader.field::<$type>(table, at, &name, concat!($($doc),+), default);
                    $(let $field = reader.limited(table, &name, $field, &$range);)?
                )*
                $(let $part = <$Part as $crate::language::Part>::read_part(table, at, reader);)?
                Some($Record { $($field: $field?,)* $($part: $part?)? })
            }

            #[allow(unused_variables, reason = "a record may lack keys or a part")]
            fn show_part(&self, shown: &mut Vec<(String, $crate::language::Shown)>) {
                $($crate::language::Part::show_part(&self.$part, shown);)?
                $(
                    if let Some(value) = $crate::language::Field::show(&self.$field) {
                        shown.push(($crate::language::key(stringify!($field)), value));
                    }
                )*
            }

            #[allow(unused_mut, unused_variables, reason = "a record may lack keys or a part")]
            fn schema_part(
                definitions: &mut $crate::language::Definitions,
            ) -> Vec<$crate::language::Alternative> {
                let mut own = $crate::language::Alternative::default();
                own.about = $crate::language::sentence(&[$($about),+]);
                $(
                    let name = $crate::language::key(stringify!($field));
                    let schema = <$type as $crate::language::Field>::schema(definitions);
                    let default: Option<fn() -> $type> = $crate::language::record!(@default $($default)?);
                    let default = default.map(|default| default()).or_else(<$type as $crate::language::Field>::absent);
                    let required = default.is_none();
                    let default = default.and_then(|value| $crate::language::Field::show(&value));
                    let mut property =
                        $crate::language::property(schema, &$crate::language::sentence(&[$($doc),+]), default);
                    $($crate::language::limit::<$type>(&mut property, &$range);)?
                    if required {
                        own.required.push(name.clone());
                    }
                    own.properties.insert(name, property);
                )*
                let mut all = vec![own];
                $(
                    let others = <$Part as $crate::language::Part>::schema_part(definitions);
                    all = others.iter().map(|other| all[0].and(other)).collect();
                )?
                all
            }
        }
    };
}

/// One of several records, told apart by a key. With a default, the key may be left out; only without one may the
/// value be shortened to the text behind the key.
macro_rules! choice {
    (@default) => {
        None
    };
    (@default $default:literal) => {
        Some($default)
    };
    (
        $(#[doc = $about:literal])+
        pub enum $Choice:ident by $tag:literal $(default $default:literal)? {
            $($(#[doc = $doc:literal])+ $name:literal => $Variant:ident($Record:ty),)+
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone, PartialEq)]
        #[allow(clippy::large_enum_variant, reason = "there are few, and they live as long as the scenario")]
        pub enum $Choice {
            $($(#[doc = $doc])+ $Variant($Record),)+
        }

        impl $crate::language::Part for $Choice {
            const TITLE: &'static str = stringify!($Choice);
            const TAG: Option<&'static str> = {
                const DEFAULT: Option<&str> = $crate::language::choice!(@default $($default)?);
                if DEFAULT.is_none() { Some($tag) } else { None }
            };

            fn keys(table: &$crate::language::Table, keys: &mut $crate::language::Keys) {
                keys.known.push($tag.to_owned());
                let default = $crate::language::choice!(@default $($default)?);
                let chosen = $crate::language::chosen(table, $tag, default);
                let mut written = None;
                let mut others = Vec::new();
                $(
                    let mut own = $crate::language::Keys::default();
                    <$Record as $crate::language::Part>::keys(table, &mut own);
                    if chosen == Some($name) {
                        written = Some(concat!($tag, " = \"", $name, "\""));
                        keys.known.extend(own.known);
                        keys.elsewhere.extend(own.elsewhere);
                        keys.open |= own.open;
                    } else {
                        let owner = concat!($tag, " = \"", $name, "\"");
                        others.extend(own.known.into_iter().map(|key| (key, owner)));
                    }
                )+
                match written {
                    Some(chosen) => {
                        let other = |(key, owner)| $crate::language::Elsewhere { key, owner, chosen };
                        keys.elsewhere.extend(others.into_iter().map(other));
                    }
                    None => keys.open = true,
                }
            }

            fn read_part(
                table: &$crate::language::Table,
                at: $crate::language::At,
                reader: &mut $crate::language::Reader,
            ) -> Option<$Choice> {
                let default = $crate::language::choice!(@default $($default)?);
                match $crate::language::choose(table, at, $tag, default, &[$($name),+], reader)? {
                    $($name => <$Record as $crate::language::Part>::read_part(table, at, reader).map($Choice::$Variant),)+
                    _ => None,
                }
            }

            fn show_part(&self, shown: &mut Vec<(String, $crate::language::Shown)>) {
                match self {
                    $($Choice::$Variant(record) => {
                        shown.push(($tag.to_owned(), $crate::language::Shown::Text($name.to_owned())));
                        $crate::language::Part::show_part(record, shown);
                    })+
                }
            }

            fn schema_part(
                definitions: &mut $crate::language::Definitions,
            ) -> Vec<$crate::language::Alternative> {
                let default: Option<&str> = $crate::language::choice!(@default $($default)?);
                let mut all = Vec::new();
                $(
                    let about = $crate::language::sentence(&[$($doc),+]);
                    let mut tag = $crate::language::Alternative { about: about.clone(), ..Default::default() };
                    tag.properties.insert(
                        $tag.to_owned(),
                        $crate::language::property($name.into(), &about, None),
                    );
                    if default != Some($name) {
                        tag.required.push($tag.to_owned());
                    }
                    for own in <$Record as $crate::language::Part>::schema_part(definitions) {
                        let mut whole = tag.and(&own);
                        whole.about.clone_from(&tag.about);
                        all.push(whole);
                    }
                )+
                all
            }
        }
    };
}

/// One of several words.
macro_rules! words {
    (
        $(#[doc = $about:literal])+
        pub enum $Words:ident {
            $($(#[doc = $doc:literal])+ $name:literal => $Variant:ident,)+
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $Words {
            $($(#[doc = $doc])+ $Variant,)+
        }

        impl $Words {
            /// The word as it is written in a scenario.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $($Words::$Variant => $name,)+
                }
            }
        }

        impl $crate::language::Field for $Words {
            fn read(
                node: &$crate::language::Node,
                reader: &mut $crate::language::Reader,
            ) -> Option<$Words> {
                match $crate::language::word(node, &[$($name),+], reader)? {
                    $($name => Some($Words::$Variant),)+
                    _ => None,
                }
            }

            fn show(&self) -> Option<$crate::language::Shown> {
                Some($crate::language::Shown::Text(self.as_str().to_owned()))
            }

            fn schema(definitions: &mut $crate::language::Definitions) -> $crate::language::Json {
                let words = [$(
                    serde_json::json!({ "const": $name, "description": $crate::language::sentence(&[$($doc),+]) }),
                )+];
                definitions.scalar(&serde_json::json!({ "oneOf": words }))
            }
        }
    };
}

pub(crate) use {choice, record, words};
