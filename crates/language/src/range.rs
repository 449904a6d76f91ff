//! Limits of a value: what is compared with them, and how they are told in words and in the schema.

use std::fmt::Display;
use std::ops::{Bound, RangeBounds};

use headway_units::{Bytes, Rate, Span};
use serde_json::json;

use super::schema::Json;

/// A value that can be held within limits.
pub trait Limited: Sized {
    /// What the limits are made of.
    type Bound: PartialOrd + Display;
    /// The value to compare; `None` if there is none.
    fn bound(&self) -> Option<Self::Bound>;
}

macro_rules! limited {
    ($($type:ty),*) => { $(impl Limited for $type {
        type Bound = $type;
        fn bound(&self) -> Option<$type> {
            Some(*self)
        }
    })* };
}
limited!(u8, u16, u32, u64, f64, Span, Rate, Bytes);

impl<T: Limited> Limited for Option<T> {
    type Bound = T::Bound;
    fn bound(&self) -> Option<T::Bound> {
        self.as_ref().and_then(Limited::bound)
    }
}

/// Everything larger than `least`, but not `least` itself.
pub fn above<T>(least: T) -> (Bound<T>, Bound<T>) {
    (Bound::Excluded(least), Bound::Unbounded)
}

/// The limits in words: `1 to 64`, `more than 0s`.
pub fn describe<T: Display>(range: &impl RangeBounds<T>) -> String {
    use Bound::{Excluded, Included, Unbounded};
    match (range.start_bound(), range.end_bound()) {
        (Included(low), Included(high)) => format!("{low} to {high}"),
        (Included(low), Excluded(high)) => format!("at least {low} and less than {high}"),
        (Included(low), Unbounded) => format!("at least {low}"),
        (Excluded(low), Included(high)) => format!("more than {low}, at most {high}"),
        (Excluded(low), Excluded(high)) => format!("more than {low} and less than {high}"),
        // Nothing is nothing in every unit.
        (Excluded(low), Unbounded) if low.to_string().trim_end_matches(char::is_alphabetic) == "0" => {
            "more than 0".to_owned()
        }
        (Excluded(low), Unbounded) => format!("more than {low}"),
        (Unbounded, Included(high)) => format!("at most {high}"),
        (Unbounded, Excluded(high)) => format!("less than {high}"),
        (Unbounded, Unbounded) => "anything".to_owned(),
    }
}

/// Writes the limits of a key into its schema: as numbers where it is one, in words otherwise.
pub fn limit<T: Limited>(property: &mut Json, range: &impl RangeBounds<T::Bound>) {
    let about = format!("{} ({})", property["description"].as_str().unwrap_or_default(), describe(range));
    property["description"] = json!(about);
    let Some(number) = property.pointer_mut("/anyOf/0").filter(|one| one["type"] != "string") else { return };
    let mut put = |name: &str, bound: &T::Bound| {
        if let Ok(bound) = serde_json::from_str::<Json>(&bound.to_string()) {
            number[name] = bound;
        }
    };
    match range.start_bound() {
        Bound::Included(bound) => put("minimum", bound),
        Bound::Excluded(bound) => put("exclusiveMinimum", bound),
        Bound::Unbounded => {}
    }
    match range.end_bound() {
        Bound::Included(bound) => put("maximum", bound),
        Bound::Excluded(bound) => put("exclusiveMaximum", bound),
        Bound::Unbounded => {}
    }
}
