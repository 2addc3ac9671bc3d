//! How a plant behaves, seen from outside: places, times, tiers, laws, repeats.

mod facts;
mod local;
mod places;
mod support;
mod tiers;
