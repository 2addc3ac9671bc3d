//! `version`: describes this program, for people and for scripts that check it before they start.

use serde::Serialize;

use super::run::tool;
use crate::args::{Format, VersionArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

/// Name and version of the document.
const SCHEMA: &str = "tilemark.version/1.0";

/// Document of this program.
#[derive(Debug, Serialize)]
struct Version {
    schema: &'static str,
    version: String,
    commit: Option<String>,
    features: Vec<&'static str>,
    build: Build,
    schemas: [Written; 10],
}

/// Build of the program.
#[derive(Debug, Serialize)]
struct Build {
    target: &'static str,
    profile: &'static str,
    rustc: &'static str,
}

/// File format that the program writes.
#[derive(Debug, Serialize)]
struct Written {
    of: &'static str,
    schema: &'static str,
}

/// Prints the version.
pub fn run(args: &VersionArgs) -> Result<Exit, Failure> {
    let version = version();
    match if args.json { Format::Json } else { args.format } {
        Format::Json => output::print_json(&version)?,
        Format::Text => output::show(&text(&version))?,
    }
    Ok(Exit::Success)
}

fn version() -> Version {
    let tool = tool();
    Version {
        schema: SCHEMA,
        version: tool.version,
        commit: tool.commit,
        features: features(),
        build: Build {
            target: env!("TILEMARK_TARGET"),
            profile: env!("TILEMARK_PROFILE"),
            rustc: env!("TILEMARK_RUSTC"),
        },
        schemas: schemas().map(|(of, schema)| Written { of, schema }),
    }
}

/// Returns the optional features in this build.
fn features() -> Vec<&'static str> {
    let all = [("page", page_server::has_page()), ("hosts", cfg!(feature = "hosts"))];
    all.into_iter().filter(|(_, has)| *has).map(|(name, _)| name).collect()
}

/// Returns the public file formats, with the version that this program writes.
const fn schemas() -> [(&'static str, &'static str); 10] {
    [
        ("run.json", run_store::run::SCHEMA),
        ("env.json", run_store::env::SCHEMA),
        ("series of a run", run_store::series::SERIES_VERSION),
        ("rollup of a run", run_store::rollup::ROLLUP_VERSION),
        ("trace", trace::store::SCHEMA),
        ("compare", compare::SCHEMA),
        ("analyze", ::analyze::SCHEMA),
        ("what-if", whatif::SCHEMA),
        ("study", findings::SCHEMA),
        ("fit", ::fit::FIT_SCHEMA),
    ]
}

fn text(version: &Version) -> String {
    let none = |list: &[&str]| if list.is_empty() { "none".to_owned() } else { list.join(", ") };
    let mut lines = vec![
        format!("tilemark {}", version.version),
        format!("commit    {}", version.commit.as_deref().unwrap_or("unknown")),
        format!("features  {}", none(&version.features)),
        format!(
            "build     {}, {}, {}",
            version.build.target, version.build.profile, version.build.rustc
        ),
    ];
    lines.extend(version.schemas.iter().map(|of| format!("format    {}: {}", of.of, of.schema)));
    lines.join("\n") + "\n"
}
