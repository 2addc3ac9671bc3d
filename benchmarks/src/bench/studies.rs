//! How many of the predicted claims of the studies came out, by the results that the repository keeps.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::Figure;

const RESULTS: &str = "docs/studies";

/// Part of a study's result that counts here.
#[derive(Debug, Deserialize)]
struct Study {
    simulated: bool,
    claims: Vec<Claim>,
}

#[derive(Debug, Deserialize)]
struct Claim {
    kind: String,
    /// Absent where it could not be judged, which counts as not reproduced.
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

/// Predicted claims of simulated studies: those that are met, and all.
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
