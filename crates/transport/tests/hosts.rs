//! TCP between hosts whose cards and cores take time. What the model does for single frames is checked against
//! queueing theory beside it (`src/host/tests.rs`); here is what connections make of it.

mod common;

mod hosts {
    mod connections;
    mod nothing_lost;
}
