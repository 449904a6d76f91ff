//! A judge that a program gives.

use headway_control::lanes::{Judge, Own};
use headway_language::{Name, Parameters, record};

use super::{Judges, Sampling};

record! {
    /// The program that runs the scenario decides that a connection is long. For modelled hosts alone.
    pub struct OwnJudgeRecord {
        /// The judge, as the program calls it.
        pub name: Name,
        /// Its settings by name.
        pub parameters: Parameters = Parameters::new(),
    }
}

impl Judges for OwnJudgeRecord {
    /// One that knows no more than its name: the program is not there where a file is read.
    fn judge(&self, _: Sampling) -> Judge {
        Own::absent(&self.name).into()
    }
}
