//! Cards that pace: times of frames by arithmetic, and gap frames that are computed beside those that are sent. What the
//! arithmetic itself keeps is tested in `headway-control`.

mod common;

mod cards {
    mod equal;
    mod hierarchy;
    mod spacing;
    mod transports;
}
