//! What looks inside a pipeline, measures it or makes something of it: each by means of a session, none
//! needed for a run.

mod cut;
pub mod index;
pub mod inspect;
pub(crate) mod kind;
pub mod peek;
pub mod scan;
pub mod sheet;
pub mod verify;

pub mod calibrate;
mod noise;
pub mod profile;
pub mod tune;
pub(crate) mod view;

pub mod build;
pub(crate) mod lints;
pub mod reference;
