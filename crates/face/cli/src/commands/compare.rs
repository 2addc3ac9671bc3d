//! Compares two sides of runs.

use compare::{Comparison, Decision, Options, Strictness, Subject, Within};
use run_store::rundir::StoredRun;
use serde_json::Value;
use units::Ratio;

use crate::args::{CompareArgs, Format};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{output, stored_runs, text};

/// Compares the runs before `vs` with those after it.
pub fn run(args: &CompareArgs) -> Result<Exit, Failure> {
    let (a, b) = sides(&args.runs)?;
    let open = |names: &[String]| -> Result<Vec<StoredRun>, Failure> {
        let all = names.iter().map(|name| stored_runs::open_all(args.out.as_deref(), name));
        Ok(all.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
    };
    let (a, b) = (open(a)?, open(b)?);
    let (a, b): (Vec<_>, Vec<_>) = (a.iter().collect(), b.iter().collect());
    let comparison = compared(&a, &b, args.min_effect)?;
    match args.format {
        Format::Text => output::show(&text::comparison(&comparison))?,
        Format::Json => output::print_json(&comparison)?,
    }
    let strictness = if args.strict { Strictness::Strict } else { Strictness::Lenient };
    Ok(match comparison.decision(strictness) {
        Decision::Accept => Exit::Success,
        Decision::Worse => Exit::ObjectiveFailed,
        Decision::Inconclusive => Exit::Inconclusive,
    })
}

/// Compares the runs `b` with the runs `a`.
fn compared(a: &[&StoredRun], b: &[&StoredRun], min_effect: Ratio) -> Result<Comparison, Failure> {
    let environments = |runs: &[&StoredRun]| -> Vec<Option<Value>> {
        let value = |run: &&StoredRun| serde_json::to_value(run.environment().ok()?).ok();
        runs.iter().map(value).collect()
    };
    let (environments_a, environments_b) = (environments(a), environments(b));
    let (within_a, within_b) = (within(a)?, within(b)?);
    let a = subjects(a, &environments_a, &within_a)?;
    let b = subjects(b, &environments_b, &within_b)?;
    let options = Options { min_effect, ..Options::default() };
    compare::compare(&a, &b, &options).map_err(|error| Failure::from_error(Exit::Usage, &error))
}

fn subjects<'a>(
    runs: &[&'a StoredRun],
    environments: &'a [Option<Value>],
    within: &'a [Within],
) -> Result<Vec<Subject<'a>>, Failure> {
    runs.iter()
        .zip(environments)
        .zip(within)
        .map(|((stored, environment), within)| {
            let run = stored.run().map_err(stored_runs::failure)?;
            Ok(Subject { run, environment: environment.as_ref(), within: Some(within) })
        })
        .collect()
}

/// Returns the within-run confidence of each run's figures.
fn within(runs: &[&StoredRun]) -> Result<Vec<Within>, Failure> {
    runs.iter()
        .map(|stored| {
            let run = stored.run().map_err(stored_runs::failure)?;
            Within::of(run, stored.path())
                .map_err(|error| Failure::from_error(Exit::Failure, &error))
        })
        .collect()
}

fn sides(runs: &[String]) -> Result<(&[String], &[String]), Failure> {
    match runs.iter().position(|word| word == "vs") {
        Some(at) if at > 0 && at + 1 < runs.len() => Ok((&runs[..at], &runs[at + 1..])),
        None if runs.len() == 2 => Ok((&runs[..1], &runs[1..])),
        _ => Err(Failure::new(Exit::Usage, "the runs of side B are missing")
            .hint(Some("write the runs of side A, then the word vs, then the runs of side B"))),
    }
}
