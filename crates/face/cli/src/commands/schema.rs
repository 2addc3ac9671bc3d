//! `schema`: prints JSON Schemas of definition files and results.

use crate::args::{SchemaArgs, SchemaKind};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

/// Prints a schema.
pub fn schema(args: &SchemaArgs) -> Result<Exit, Failure> {
    let schema = match args.kind {
        SchemaKind::Plan => spec::schema(spec::Kind::Plan),
        SchemaKind::Tile => spec::schema(spec::Kind::Tile),
        SchemaKind::Workload => spec::schema(spec::Kind::Workload),
        SchemaKind::Array => spec::schema(spec::Kind::Array),
        SchemaKind::Study => spec::schema(spec::Kind::Study),
        SchemaKind::StudyResult => findings::json_schema(),
        SchemaKind::StudyPart => ::study::part_json_schema(),
        SchemaKind::Run => run_store::run::json_schema(),
        SchemaKind::Compare => compare::json_schema(),
        SchemaKind::WhatIf => whatif::json_schema(),
        SchemaKind::Analysis => ::analyze::json_schema(),
        SchemaKind::HostsAnalysis => ::analyze::hosts_json_schema(),
        SchemaKind::Estate => ::estate::estate_json_schema(),
        SchemaKind::Fit => ::fit::fit_json_schema(),
        SchemaKind::Trace => trace::store::json_schema(),
        SchemaKind::Openapi => page_server::openapi::document(),
    };
    output::print_json(&schema)?;
    Ok(Exit::Success)
}
