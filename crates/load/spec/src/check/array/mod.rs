//! Checks the meaning of arrays, from the hosts to the disks.

mod amounts;
mod disks;
mod parts;
mod power;
mod storage;
mod table;
mod tiers;
mod whole;

pub(crate) use whole::array_findings;
