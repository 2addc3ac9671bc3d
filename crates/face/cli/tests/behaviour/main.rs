//! The `tilemark` program as a process: its output, exit codes and leftovers.

extern crate block_server as tilemark_block_server;

mod analyze;
mod arrays;
mod calibrate;
mod calling;
mod commands_documented;
mod deployed;
mod documented;
mod estates;
#[cfg(feature = "hosts")]
mod events;
#[cfg(feature = "hosts")]
mod export_hosts;
mod exports;
mod foreign;
mod help;
#[cfg(feature = "hosts")]
mod hosts;
mod import;
mod interruption;
mod killed;
mod kinds;
mod lab;
mod labels;
mod loops;
#[path = "../../../../storage/block-server/tests/behaviour/machine.rs"]
#[expect(dead_code, clippy::unwrap_used, reason = "the front end's own tests, which use all of it")]
mod machine;
mod messages;
mod modelled_events;
mod monitoring;
#[path = "../../../../storage/block-server/tests/behaviour/client.rs"]
#[expect(dead_code, clippy::unwrap_used, reason = "the front end's own tests, which use all of it")]
mod nbd_client;
mod objectives;
mod operation_faults;
mod operations;
mod operations_disks;
mod over;
mod prepare;
mod recording;
mod redact;
mod refusals;
mod replay;
mod rig;
#[cfg(feature = "hosts")]
mod seeing;
mod servers;
mod serving;
mod settings;
mod simulated;
mod slurm;
mod storage_trouble;
mod studies;
mod terminal;
mod tiers;
mod tiers_coming;
mod tiers_copies;
mod tiers_memory;
mod tiers_moving;
mod tiers_ublk;
mod vm_operations;
#[cfg(feature = "hosts")]
mod watched_hosts;
mod watching;
mod watts;
mod what_if;
mod what_if_watched;
mod whole_run;
mod without_uring;
