//! Result in reading order, from which the documentation page and the views are generated.

use units::Table;

use crate::words::{claims, facts, heading, missed, notes_on_points, points, summary, table, why};
use crate::{ConfigurationFacts, Outcome, StudyResult};

/// Note on how to read the claims.
pub const CLAIMS_NOTE: &str = "Only *predicted* claims count as reproduced: no parameter was chosen to meet them. \
     Parameters were chosen to meet *calibrated* claims, and *inputs* are parameters themselves. \
     Our value is the mean of the runs with a 95 % interval; \"by the mean\": the interval reaches \
     beyond the tolerance.";

/// Result of a study without its claims. Texts are Markdown.
#[derive(Debug)]
pub struct Page {
    /// Command that generates the result again.
    pub command: String,
    /// Program, seed and definitions.
    pub facts: String,
    /// Reproduced work, our deviations, and fitted parameters.
    pub notes: Vec<String>,
    /// Number of met claims.
    pub sentence: String,
    /// Missed claims, with reasons; `None` if there are none.
    pub missed: Option<Section>,
    /// Further results, under headings.
    pub sections: Vec<Section>,
}

/// Part of the page under a heading.
#[derive(Debug)]
pub struct Section {
    /// Heading of the section.
    pub title: String,
    /// Blocks of the section.
    pub blocks: Vec<Block>,
}

/// Block of a section.
#[derive(Debug)]
pub enum Block {
    /// Single paragraph.
    Paragraph(String),
    /// List of items.
    Items(Vec<String>),
    /// Table of values.
    Table(Table),
}

impl Page {
    /// Builds the page of a result.
    pub fn of(result: &StudyResult) -> Self {
        let mut notes = vec![how(result).to_owned(), result.source.clone()];
        notes.extend(result.notes.clone());
        if !result.complete {
            notes.push("**Interrupted: not everything was run.**".to_owned());
        }
        let mut sections = Vec::new();
        sections.extend(
            result.tables.iter().map(|each| Section {
                title: heading(each),
                blocks: vec![Block::Table(table(each))],
            }),
        );
        sections.push(configurations(result));
        sections.extend(steps(result));
        sections.push(sources(result));
        Self {
            command: format!("{} --format markdown", result.command),
            facts: facts(result),
            notes,
            sentence: format!("{}.", summary(result).join(". ")),
            missed: not_met(result),
            sections,
        }
    }

    /// Returns the section of the claims.
    pub fn claims(result: &StudyResult) -> Section {
        let blocks =
            vec![Block::Paragraph(CLAIMS_NOTE.to_owned()), Block::Table(claims(&result.claims))];
        Section { title: "Claims".to_owned(), blocks }
    }
}

const fn how(result: &StudyResult) -> &'static str {
    if result.simulated {
        "Everything here was simulated: none of our numbers was measured on real storage."
    } else {
        "Values of real storage were measured on one computer at one time and will differ on \
         another; everything else was simulated."
    }
}

fn not_met(result: &StudyResult) -> Option<Section> {
    let items: Vec<String> = result
        .claims
        .iter()
        .filter(|claim| claim.outcome != Outcome::Met)
        .map(|claim| {
            let why = why(claim).lines().map(str::trim).collect::<Vec<_>>().join(" ");
            format!("**{}.** {why}", missed(claim)[0])
        })
        .collect();
    let title = "Claims that are not met, with reasons".to_owned();
    (!items.is_empty()).then(|| Section { title, blocks: vec![Block::Items(items)] })
}

fn configurations(result: &StudyResult) -> Section {
    let lines = result.configurations.iter().map(|each| {
        format!(
            "`{}`: {} (array `{}`, tile `{}`{}, {} VM(s) a tile, footprint {}, time {})",
            each.name,
            each.title,
            each.array,
            each.tile,
            operations(each),
            each.vms_per_tile,
            each.footprint,
            each.time
        )
    });
    Section { title: "Configurations".to_owned(), blocks: vec![Block::Items(lines.collect())] }
}

/// Returns the text about the operations of a configuration.
fn operations(of: &ConfigurationFacts) -> String {
    let named = |what, name: &Option<String>| {
        name.as_ref().map_or_else(String::new, |name| format!(", {what} `{name}`"))
    };
    named("operations", &of.operations) + &named("second place", &of.second)
}

fn steps(result: &StudyResult) -> Option<Section> {
    let grid = points(&result.points);
    if grid.is_empty() {
        return None;
    }
    let notes = notes_on_points(&result.points).into_iter().map(|note| Block::Items(vec![note]));
    let blocks = std::iter::once(Block::Table(grid)).chain(notes).collect();
    Some(Section { title: "Steps".to_owned(), blocks })
}

fn sources(result: &StudyResult) -> Section {
    let sources = result.claims.iter().map(|claim| {
        let measure =
            claim.measure.as_deref().map_or_else(String::new, |measure| format!(" `{measure}`"));
        format!("{}: {}.{measure}", claim.id, claim.source.trim().trim_end_matches('.'))
    });
    let warnings =
        result.warnings.iter().map(|own| Block::Paragraph(format!("Warning: {}.", own.text)));
    let blocks = std::iter::once(Block::Items(sources.collect())).chain(warnings).collect();
    Section { title: "Sources and formulas".to_owned(), blocks }
}
