//! The declarations records are made with. One declaration gives the type, its reading, printing,
//! defaults, limits and schema, so none of them can disagree.

/// A table with fixed keys. A field without a default is required unless its type says otherwise
/// (`Option`). Behind the fields may stand, in this order:
///
/// * `short "key"`: the table may be shortened to the text behind that key (`lanes = "deadline"` for
///   `lanes = { judge = "deadline" }`);
/// * `renamed { "old" => "new", }`: keys of earlier versions. They are errors that name the new key, which may be a path
///   from this table (`"judge.deadline"`), or, with `../`, from the one around it;
/// * `refused { "key" => REASON, }`: keys that other files have and this one cannot have, with the reason;
/// * `with part: Part`: the keys of another record or choice are keys of this table, too.
#[macro_export]
macro_rules! record {
    (@default) => {
        None
    };
    (@default $default:expr) => {
        Some(|| $default)
    };
    (@tag) => {
        None
    };
    (@tag $Part:ty) => {
        <$Part as $crate::Part>::TAG
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
        $(short $short:literal)?
        $(renamed { $($old:literal => $new:literal),+ $(,)? })?
        $(refused { $($refused:literal => $reason:expr),+ $(,)? })?
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

        impl $crate::Part for $Record {
            const TITLE: &'static str = stringify!($Record);
            const TAG: Option<&'static str> = {
                const SHORT: &[&str] = &[$($short)?];
                match SHORT {
                    [key, ..] => Some(*key),
                    [] => $crate::record!(@tag $($Part)?),
                }
            };

            #[allow(unused_variables, reason = "a record may lack keys or a part")]
            fn keys(table: &$crate::Table, keys: &mut $crate::Keys) {
                $(keys.known.push($crate::key(stringify!($field)));)*
                $(keys.renamed.extend([$(($old, $new)),+]);)?
                $(keys.refused.extend([$(($refused, $reason)),+]);)?
                $(<$Part as $crate::Part>::keys(table, keys);)?
            }

            #[allow(unused_variables, reason = "a record may lack keys or a part")]
            fn read_part(
                table: &$crate::Table,
                at: $crate::At,
                reader: &mut $crate::Reader,
            ) -> Option<$Record> {
                // Everything is read before the first `?`, so that all problems are found.
                $(
                    let name = $crate::key(stringify!($field));
                    let default: Option<fn() -> $type> = $crate::record!(@default $($default)?);
                    let $field = reader.field::<$type>(table, at, &name, concat!($($doc),+), default);
                    $(let $field = reader.limited(table, &name, $field, &$range);)?
                )*
                $(let $part = <$Part as $crate::Part>::read_part(table, at, reader);)?
                Some($Record { $($field: $field?,)* $($part: $part?)? })
            }

            #[allow(unused_variables, reason = "a record may lack keys or a part")]
            fn show_part(&self, shown: &mut Vec<(String, $crate::Shown)>) {
                $($crate::Part::show_part(&self.$part, shown);)?
                $(
                    if let Some(value) = $crate::Field::show(&self.$field) {
                        shown.push(($crate::key(stringify!($field)), value));
                    }
                )*
            }

            #[allow(unused_mut, unused_variables, reason = "a record may lack keys or a part")]
            fn schema_part(
                definitions: &mut $crate::Definitions,
            ) -> Vec<$crate::Alternative> {
                let mut own = $crate::Alternative::default();
                own.about = $crate::sentence(&[$($about),+]);
                $(
                    let name = $crate::key(stringify!($field));
                    let schema = <$type as $crate::Field>::schema(definitions);
                    let default: Option<fn() -> $type> = $crate::record!(@default $($default)?);
                    let default = default.map(|default| default()).or_else(<$type as $crate::Field>::absent);
                    let required = default.is_none();
                    let default = default.and_then(|value| $crate::Field::show(&value));
                    let mut property =
                        $crate::property(schema, &$crate::sentence(&[$($doc),+]), default);
                    $($crate::limit::<$type>(&mut property, &$range);)?
                    if required {
                        own.required.push(name.clone());
                    }
                    own.properties.insert(name, property);
                )*
                let mut all = vec![own];
                $(
                    let others = <$Part as $crate::Part>::schema_part(definitions);
                    all = others.iter().map(|other| all[0].and(other)).collect();
                )?
                all
            }
        }
    };
}

/// One of several records, told apart by a key. With a default, the key may be left out; only without one may the
/// value be shortened to the text behind the key.
#[macro_export]
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
        #[allow(clippy::large_enum_variant, reason = "there are few, and they live as long as the file")]
        pub enum $Choice {
            $($(#[doc = $doc])+ $Variant($Record),)+
        }

        impl $crate::Part for $Choice {
            const TITLE: &'static str = stringify!($Choice);
            const TAG: Option<&'static str> = {
                const DEFAULT: Option<&str> = $crate::choice!(@default $($default)?);
                if DEFAULT.is_none() { Some($tag) } else { None }
            };

            fn keys(table: &$crate::Table, keys: &mut $crate::Keys) {
                keys.known.push($tag.to_owned());
                let default = $crate::choice!(@default $($default)?);
                let chosen = $crate::chosen(table, $tag, default);
                let mut written = None;
                let mut others = Vec::new();
                $(
                    let mut own = $crate::Keys::default();
                    <$Record as $crate::Part>::keys(table, &mut own);
                    if chosen == Some($name) {
                        written = Some(concat!($tag, " = \"", $name, "\""));
                        keys.known.extend(own.known);
                        keys.elsewhere.extend(own.elsewhere);
                        keys.renamed.extend(own.renamed);
                        keys.refused.extend(own.refused);
                        keys.open |= own.open;
                    } else {
                        let owner = concat!($tag, " = \"", $name, "\"");
                        others.extend(own.known.into_iter().map(|key| (key, owner)));
                    }
                )+
                match written {
                    Some(chosen) => {
                        let other = |(key, owner)| $crate::Elsewhere { key, owner, chosen };
                        keys.elsewhere.extend(others.into_iter().map(other));
                    }
                    None => keys.open = true,
                }
            }

            fn read_part(
                table: &$crate::Table,
                at: $crate::At,
                reader: &mut $crate::Reader,
            ) -> Option<$Choice> {
                let default = $crate::choice!(@default $($default)?);
                match $crate::choose(table, at, $tag, default, &[$($name),+], reader)? {
                    $($name => <$Record as $crate::Part>::read_part(table, at, reader).map($Choice::$Variant),)+
                    _ => None,
                }
            }

            fn show_part(&self, shown: &mut Vec<(String, $crate::Shown)>) {
                match self {
                    $($Choice::$Variant(record) => {
                        shown.push(($tag.to_owned(), $crate::Shown::Text($name.to_owned())));
                        $crate::Part::show_part(record, shown);
                    })+
                }
            }

            fn schema_part(
                definitions: &mut $crate::Definitions,
            ) -> Vec<$crate::Alternative> {
                let default: Option<&str> = $crate::choice!(@default $($default)?);
                let mut all = Vec::new();
                $(
                    let about = $crate::sentence(&[$($doc),+]);
                    let mut tag = $crate::Alternative { about: about.clone(), ..Default::default() };
                    tag.properties.insert(
                        $tag.to_owned(),
                        $crate::property($name.into(), &about, None),
                    );
                    if default != Some($name) {
                        tag.required.push($tag.to_owned());
                    }
                    for own in <$Record as $crate::Part>::schema_part(definitions) {
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

/// One of several words. `renamed { "old" => "new", }` behind them: words of earlier versions, which are errors that name
/// the new word.
#[macro_export]
macro_rules! words {
    (
        $(#[doc = $about:literal])+
        pub enum $Words:ident {
            $($(#[doc = $doc:literal])+ $name:literal => $Variant:ident,)+
        }
        $(renamed { $($old:literal => $new:literal),+ $(,)? })?
    ) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $Words {
            $($(#[doc = $doc])+ $Variant,)+
        }

        impl $Words {
            /// The word as it is written.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $($Words::$Variant => $name,)+
                }
            }
        }

        impl $crate::Field for $Words {
            fn read(
                node: &$crate::Node,
                reader: &mut $crate::Reader,
            ) -> Option<$Words> {
                match $crate::word(node, &[$($name),+], &[$($(($old, $new)),+)?], reader)? {
                    $($name => Some($Words::$Variant),)+
                    _ => None,
                }
            }

            fn show(&self) -> Option<$crate::Shown> {
                Some($crate::Shown::Text(self.as_str().to_owned()))
            }

            fn schema(definitions: &mut $crate::Definitions) -> $crate::Json {
                definitions.words(&[$(($name, $crate::sentence(&[$($doc),+]))),+])
            }
        }
    };
}
