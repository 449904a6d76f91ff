//! The transport against theory: every expected number is derived beside its test, with the tolerance and its reason.

mod common;

mod physics {
    mod slow_start;
}
