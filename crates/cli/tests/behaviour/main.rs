//! The `tilemark` program as a process: what it prints, how it ends, what it leaves behind.

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
mod help;
#[cfg(feature = "hosts")]
mod hosts;
mod import;
mod interruption;
mod killed;
mod lab;
mod labels;
mod loops;
mod monitoring;
mod objectives;
mod operation_faults;
mod operations;
mod operations_disks;
mod prepare;
mod recording;
mod redact;
mod refusals;
mod replay;
mod rig;
#[cfg(feature = "hosts")]
mod seeing;
mod serving;
mod settings;
mod simulated;
mod slurm;
mod storage_trouble;
mod studies;
mod terminal;
mod vm_operations;
mod watts;
mod what_if;
mod whole_run;
mod without_uring;
