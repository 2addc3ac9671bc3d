//! What a tier with a log ([`super::log`]) does with requests, and how its log reaches the backing store.

mod access;
mod destage;
