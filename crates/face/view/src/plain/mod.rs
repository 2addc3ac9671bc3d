//! Report without scripts, as one HTML file. It has every number of `run.json` that a reader needs,
//! and all facts that a third party needs. It is written if the program was built without the
//! report page.

mod html;
mod sections;
mod tables;

use run_store::run::Run;
use run_store::rundir::{RunDirError, StoredRun};

use html::{Page, escape};

/// Makes the report of a stored run, from `run.json` and the files beside it.
///
/// # Errors
///
/// `run.json` cannot be read. Other files that are missing are reported as absent.
pub fn report(stored: &StoredRun) -> Result<String, RunDirError> {
    let run = stored.run()?;
    let mut page = Page::new(&format!("Tilemark {}: {}", run.id, run.sentence()));
    sections::answer(&mut page, run);
    sections::expectations(&mut page, run);
    tables::of_steps(&mut page, run);
    sections::warnings(&mut page, run);
    disclosure(&mut page, run, stored);
    Ok(page.finish())
}

/// Adds all facts that are needed to repeat the run and to verify the files.
fn disclosure(page: &mut Page, run: &Run, stored: &StoredRun) {
    sections::facts(page, run);
    tables::of_run(page, run);
    let json = |value: serde_json::Value| {
        serde_json::to_string_pretty(&value).unwrap_or_else(|error| error.to_string())
    };
    let environment = stored.environment().map_err(|error| error.to_string());
    let environment = environment
        .and_then(|found| serde_json::to_value(found).map_err(|error| error.to_string()))
        .map(json);
    let simulated = run.target.is_simulated();
    let files = [
        ("Plan", "plan.toml", stored.plan().map_err(|error| error.to_string())),
        ("Environment", "env.json", environment),
        (
            "Preflight",
            "preflight.json",
            stored.preflight().map(json).map_err(|error| error.to_string()),
        ),
        (
            "Checksums of the run's other files",
            "SHA256SUMS",
            stored.checksums().map_err(|error| error.to_string()),
        ),
    ];
    for (title, name, content) in files {
        page.heading(title);
        match content {
            Ok(text) => {
                page.paragraph(&format!("<code>{}</code>", escape(name)));
                page.block(&text);
            }
            Err(_) if simulated => {
                page.paragraph("A simulation depends on no machine, so there is none to describe.")
            }
            Err(reason) => page.paragraph(&format!("Absent: {}", escape(&reason))),
        }
    }
}

#[cfg(test)]
mod tests;
