//! Lists of kinds.

/// A choice of the language whose kinds all are of one trait: one line for each kind.
macro_rules! kinds {
    (
        $(#[doc = $about:literal])+
        pub enum $Choice:ident of $Kind:ident by $tag:literal {
            $($(#[doc = $doc:literal])+ $name:literal => $Variant:ident($Record:ty),)+
        }
    ) => {
        headway_language::choice! {
            $(#[doc = $about])+
            pub enum $Choice by $tag {
                $($(#[doc = $doc])+ $name => $Variant($Record),)+
            }
        }

        impl $Choice {
            /// The chosen kind.
            pub(crate) fn kind(&self) -> &dyn $Kind {
                match self {
                    $($Choice::$Variant(own) => own,)+
                }
            }
        }
    };
}
pub(crate) use kinds;
