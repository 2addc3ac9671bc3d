//! The result as a page of the documentation.

use crate::document::{Outcome, StudyResult};
use crate::words::{claims, facts, heading, missed, notes_on_points, points, summary, table};

const fn how(result: &StudyResult) -> &'static str {
    if result.simulated {
        "Everything here was simulated: no number of ours was measured on real storage."
    } else {
        "What is of real storage was measured on one machine at one time and will differ on \
         another; everything else was simulated."
    }
}

/// The page, which begins with the command that makes it.
pub fn markdown(result: &StudyResult) -> String {
    let mut parts = vec![
        format!("# {}", result.title),
        format!("Made by `{} --format markdown`; do not edit. {}.", result.command, facts(result)),
        how(result).to_owned(),
        result.source.clone(),
    ];
    parts.extend(result.notes.clone());
    if !result.complete {
        parts.push("**Interrupted: not everything was run.**".to_owned());
    }
    parts.push(format!("**{}.**", summary(result).join(". ")));
    parts.push("## Claims".to_owned());
    parts.push(
        "Only what is *predicted* counts as reproduced: nothing was chosen to make it come out. \
         Parameters were chosen so that *calibrated* claims come out, and *inputs* were put in. \
         Ours is the mean of the runs with a 95 % interval; \"by the mean\": the interval reaches \
         beyond the tolerance."
            .to_owned(),
    );
    parts.push(claims(&result.claims).markdown().trim_end().to_owned());
    let missed_ones: Vec<String> = result
        .claims
        .iter()
        .filter(|claim| claim.outcome != Outcome::Met)
        .map(|claim| {
            let lines = missed(claim);
            let rest: Vec<&str> = lines[1..].iter().map(|line| line.trim()).collect();
            format!("- **{}.** {}", lines[0], rest.join(" "))
        })
        .collect();
    if !missed_ones.is_empty() {
        parts.push("## What is not met, and why".to_owned());
        parts.push(missed_ones.join("\n"));
    }
    for each in &result.tables {
        parts.push(format!("## {}", heading(each)));
        parts.push(table(each).markdown().trim_end().to_owned());
    }
    parts.push("## Configurations".to_owned());
    let lines = result.configurations.iter().map(|each| {
        format!(
            "- `{}`: {} (array `{}`, tile `{}`, {} VM(s) a tile, footprint {}, time {})",
            each.name,
            each.title,
            each.array,
            each.tile,
            each.vms_per_tile,
            each.footprint,
            each.time
        )
    });
    parts.push(lines.collect::<Vec<_>>().join("\n"));
    if !points(&result.points).is_empty() {
        parts.push("## Steps".to_owned());
        parts.push(points(&result.points).markdown().trim_end().to_owned());
        parts.extend(notes_on_points(&result.points).iter().map(|note| format!("- {note}")));
    }
    let sources = result.claims.iter().map(|claim| {
        let measure =
            claim.measure.as_deref().map_or_else(String::new, |measure| format!(" `{measure}`"));
        format!("- {}: {}.{measure}", claim.id, claim.source.trim().trim_end_matches('.'))
    });
    parts.push("## Sources and formulas".to_owned());
    parts.push(sources.collect::<Vec<_>>().join("\n"));
    for warning in &result.warnings {
        parts.push(format!("Warning: {}.", warning.text));
    }
    parts.join("\n\n") + "\n"
}
