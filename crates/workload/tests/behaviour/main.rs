//! How workloads behave when run in virtual time.

mod addresses;
mod dialogues;
mod loads;
mod repeatability;
mod replay;
mod schedules;
mod shipped;
mod support;
