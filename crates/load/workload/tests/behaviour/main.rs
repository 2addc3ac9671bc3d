//! How workloads behave when run in virtual time.

mod addresses;
mod commits;
mod dialogues;
mod loads;
mod operations;
mod repeatability;
mod replay;
mod saving;
mod schedules;
mod shipped;
mod support;
