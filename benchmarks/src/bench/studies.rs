//! Counts the reproduced claims among the predicted claims of the studies, from the results that
//! the repository keeps.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::Figure;

const RESULTS: &str = "docs/studies";

/// The parts of a study's result that are counted here.
#[derive(Debug, Deserialize)]
struct Study {
    simulated: bool,
    claims: Vec<Claim>,
}

#[derive(Debug, Deserialize)]
struct Claim {
    kind: String,
    /// `None` if the claim could not be judged, which counts as not reproduced.
    met: Option<bool>,
}

pub(crate) fn predicted(name: &str) -> Result<Vec<Figure>> {
    let (met, all) = count(Path::new(RESULTS))?;
    ensure!(all > 0.0, "{RESULTS} has no predicted claim of a simulated study");
    Ok(vec![
        Figure::new(format!("{name}.predicted"), all, "count"),
        Figure::new(format!("{name}.predicted_met"), 100.0 * met / all, "%"),
    ])
}

/// Counts the predicted claims of simulated studies. Returns the number of reproduced claims and
/// the number of all claims.
fn count(folder: &Path) -> Result<(f64, f64)> {
    let (mut met, mut all) = (0.0, 0.0);
    let entries =
        std::fs::read_dir(folder).with_context(|| format!("read {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_none_or(|end| end != "json") {
            continue;
        }
        let text =
            std::fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
        let study: Study = serde_json::from_str(&text)
            .with_context(|| format!("{} as a study's result", path.display()))?;
        // Claims on real storage hold for one host only.
        if !study.simulated {
            continue;
        }
        for claim in study.claims.iter().filter(|claim| claim.kind == "predicted") {
            all += 1.0;
            met += f64::from(u8::from(claim.met == Some(true)));
        }
    }
    Ok((met, all))
}
