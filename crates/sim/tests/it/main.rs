//! Whole runs from scenario text: conservation, determinism, and what arithmetic says of them.

mod ages;
mod analytic;
mod apps;
mod changes;
mod controllers;
mod digests;
mod elements;
mod eras;
mod graphs;
mod invariants;
mod lab;
mod links;
mod measuring;
mod media;
mod netem;
mod offloads;
mod pauses;
mod prague;
mod registry;
mod rtt;
mod sce;
mod scream;
mod shapers;
mod standstill;
mod tunnels;
mod windows;
