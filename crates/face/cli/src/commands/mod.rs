//! Subcommands, one file each. Each takes its arguments and returns an exit code.

mod agent;
mod analyze;
mod app;
mod arrays;
mod calibrate;
mod cleanup;
mod compare;
mod config;
mod demo;
mod doctor;
mod estate;
mod export;
pub mod hosts;
mod import;
mod lab;
mod meter;
mod nfs_client;
mod outline;
mod prepare;
mod preview;
pub mod record;
mod record_hosts;
mod replay;
mod report;
pub mod run;
mod runs;
mod schema;
mod self_description;
mod serve;
mod simulate;
mod study;
mod takeover;
mod there;
mod tier;
mod tier_listen;
mod tiles;
mod verify;
mod verify_report;
mod version;
mod watch;
mod watch_evidence;
mod watch_hosts;
mod watch_rules;
mod watch_show;
mod watch_window;
mod what_if;
mod what_if_watched;

use crate::args::{Cli, Command};
use crate::exit::Exit;
use crate::failure::Failure;

/// Runs the subcommand.
pub fn dispatch(cli: &Cli) -> Result<Exit, Failure> {
    match &cli.command {
        Command::Demo(args) => demo::run(args, cli.color),
        Command::Run(args) => run::run(args, cli.color),
        Command::Plan(args) => preview::plan(args),
        Command::Check(args) => preview::check(args),
        Command::Prepare(args) => prepare::prepare(args, cli.color),
        Command::Simulate(args) => simulate::run(args, cli.color),
        Command::Hosts(args) => hosts::hosts(args),
        Command::Agent(args) => agent::agent(args),
        Command::App(args) => app::app(args),
        Command::NfsClient(args) => nfs_client::run(args),
        Command::Replay(args) => replay::run(args, cli.color),
        Command::WhatIf(args) => what_if::run(args),
        Command::Calibrate(args) => calibrate::run(args),
        Command::Lab(args) => lab::run(args),
        Command::Record(args) if !args.seen.hosts.is_empty() => record_hosts::run(args),
        Command::Record(args) => record::run(args),
        Command::Watch(args) => watch::run(args),
        Command::Analyze(args) => analyze::run(args),
        Command::Import(args) => import::run(args),
        Command::Cleanup(args) if !args.there.hosts.is_empty() => there::cleanup(args),
        Command::Cleanup(args) => cleanup::run(args),
        Command::Verify(args) => verify::run(args),
        Command::Runs(args) => runs::run(args),
        Command::Serve(args) => serve::run(args),
        Command::Report(args) => report::run(args),
        Command::Compare(args) => compare::run(args),
        Command::VerifyReport(args) => verify_report::run(args),
        Command::Export(args) => export::run(args),
        Command::Estate(args) => estate::estate(args),
        Command::Tiles(args) => tiles::tiles(args),
        Command::Array(args) => arrays::arrays(args),
        Command::Study(args) => study::study(args),
        Command::Doctor(args) if !args.there.hosts.is_empty() => there::doctor(args),
        Command::Doctor(args) => doctor::doctor(args),
        Command::Tier(args) => tier::tier(args),
        Command::Meter(args) => meter::meter(args),
        Command::Config(args) => config::run(args),
        Command::Schema(args) => schema::schema(args),
        Command::Completions { shell } => self_description::completions(*shell),
        Command::Man(args) => self_description::manual(args),
        Command::Version(args) => version::run(args),
    }
}
