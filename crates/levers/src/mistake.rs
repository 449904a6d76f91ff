//! What is wrong with a record whose keys are all in range.

/// Two keys of a record that contradict each other. Who reads the file knows the place of the record in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// The key to point at, of the record.
    pub key: &'static str,
    /// The mistake, in one sentence.
    pub message: String,
    /// A few words for under the key; may be empty.
    pub label: &'static str,
    /// What to do about it.
    pub help: Option<&'static str>,
}
