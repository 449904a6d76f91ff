//! What the results must show.

use headway_units::Span;

use crate::language::{Map, Name, Quantity, SweepValues, above, record};

record! {
    /// Something the results must show; exactly one of `less`, `greater` and `between`.
    pub struct ClaimRecord {
        /// The claim in words.
        pub text: String,
        /// The sweep points it is about: names of the sweep with a value, a list or a range; all when left out.
        pub at: Map<SweepValues> = Map::new(),
        /// The first is less than the second (times `by`).
        pub less: Option<[OperandRecord; 2]>,
        /// The first is greater than the second (times `by`).
        pub greater: Option<[OperandRecord; 2]>,
        /// Multiplies the second operand of `less` or `greater`.
        #[range(above(0.0))]
        pub by: f64 = 1.0,
        /// A result lies between two values.
        pub between: Option<BetweenRecord>,
    }
}

record! {
    /// A number from the results.
    pub struct OperandRecord {
        /// The policy it is about.
        pub policy: Name,
        /// The traffic it is about, as it is reported; may be left out where there is only one.
        pub traffic: Option<String>,
        /// What is measured, by the name of its metric ("fct.p95").
        pub value: String,
        /// Only what happens from this time on.
        pub from: Option<Span>,
        /// Only what happens before this time.
        pub to: Option<Span>,
    }
}

record! {
    /// A result lies between two values.
    pub struct BetweenRecord {
        /// It is not less than this.
        pub low: Quantity,
        /// It is not more than this.
        pub high: Quantity,
    }
    with /// The result.
    operand: OperandRecord
}
