//! Lossless Ethernet: the settings of switches that follow from their cables.
//!
//! A switch that asks a sender to pause (IEEE 802.1Qbb) still gets what the sender has sent until it obeys. The room for
//! that is the *headroom* of a port and priority. [`standard_headroom`] is the sum of worst cases that vendors print, for
//! real equipment; [`whole_frame_headroom`] is the exact bound where thresholds are compared with whole frames, as in
//! Headway's model. [`Chip::xoff`] is SONiC's, for chips whose constants are published.

mod chip;
mod headroom;
mod marks;

pub use chip::{CHIPS, Chip, cable_delay, cable_metres, cells, filling};
pub use headroom::{
    Cable, PAUSE_FRAME, interface_delay, response_delay, standard_headroom, standard_response, whole_frame_headroom,
};
pub use marks::{Ramp, dcqcn_ramp, dctcp_mark};
