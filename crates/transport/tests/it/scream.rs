//! SCReAM before its original: the sender in the virtual-time models of the specification, line by
//! line beside logs of the original tools in the same models.

mod golden;
mod model;
mod receiver;
mod targets;
mod v1;
