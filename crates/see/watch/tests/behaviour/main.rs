//! Behaviour of the store, against a plain model and under faults.
#![allow(clippy::unwrap_used)]

mod alertmanager;
mod evidence;
mod faults;
mod hits;
mod model;
mod neighbours;
mod quiet_days;
mod rules;
mod sending;
mod sets;
mod stacked;
mod store;
