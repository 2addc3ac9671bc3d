//! How a plant behaves, seen from outside: places, times, tiers, laws, repeats.

mod balancing;
mod classes;
mod clusters;
mod facts;
mod golden;
mod links;
mod local;
mod moves;
mod places;
mod served;
mod shipped;
mod support;
mod threads;
mod tiers;
mod watts;
