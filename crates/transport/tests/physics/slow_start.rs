//! x
use crate::common::*;
