//! Runs a study on several hosts, one shard each, and merges the parts.

use run_store::run::ToolFacts;
use spec::study::ResolvedStudy;
use state_machine::GENERATOR;

use super::options::Options;
use super::part::{Job, PART_SCHEMA, PartRun, StudyPart};
use super::point::{Point, PointError, Simulate};
use super::report::definitions_sha256;
use super::run::{Progress, StudyError, Work, all, begun_first, threads};
use super::shard::{Shard, ranges};
use bench::progress::Control;
use findings::StudyResult;

/// Reason why parts cannot be merged. Parts are named by the caller.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// No part was given.
    #[error("no part was given")]
    NoParts,
    /// A part belongs to another result.
    #[error("{part} belongs to another result: {what} is {theirs}, but {expected} {of}")]
    Other {
        /// Name of the part.
        part: String,
        /// Name of the fact that differs.
        what: &'static str,
        /// Value in this part.
        theirs: String,
        /// Expected value.
        expected: String,
        /// Name of the part with the expected value.
        of: String,
    },
    /// A part has another number of shards.
    #[error("{part} is shard {shard}, but {first} is one of {of}")]
    OtherCount {
        /// Name of the part.
        part: String,
        /// Shard of the part.
        shard: Shard,
        /// Name of the first part.
        first: String,
        /// Number of shards of the first part.
        of: u32,
    },
    /// A shard was given twice.
    #[error("{part} and {first} are both shard {shard}")]
    Twice {
        /// Name of the part.
        part: String,
        /// Name of the other part.
        first: String,
        /// Shard of both.
        shard: Shard,
    },
    /// Some shards are missing.
    #[error("of {of} shards these are missing: {numbers}")]
    Missing {
        /// Total number of shards.
        of: u32,
        /// Numbers of the missing shards, as a list of ranges.
        numbers: String,
    },
    /// A part does not have the runs of its shard.
    #[error("{part} does not hold the runs of shard {shard}: the file was changed")]
    OtherRuns {
        /// Name of the part.
        part: String,
        /// Shard of the part.
        shard: Shard,
    },
    /// The study does not have a requested claim.
    #[error(transparent)]
    Study(#[from] StudyError),
}

/// Runs one shard of a study; `None` if interrupted. [`merge`] combines all shards to the result.
/// Real storage is not included.
///
/// # Errors
///
/// If there is no such claim.
pub fn run_shard(
    study: &ResolvedStudy,
    simulate: &dyn Simulate,
    options: &Options,
    shard: Shard,
    control: &Control,
    observe: &mut dyn FnMut(&Progress<'_>),
) -> Result<Option<StudyPart>, StudyError> {
    let work = Work::new(study, options)?;
    let points: Vec<Point<'_>> = share(&work, shard).map(|index| work.points[index]).collect();
    let (runs, threads) = (points.len(), threads(options, points.len()));
    observe(&Progress::Begins { runs, threads });
    let results = all(&points, simulate, threads, control, &mut |told| observe(&told.of(0, runs)));
    if results.contains(&Err(PointError::Interrupted)) {
        return Ok(None);
    }
    let run = |(point, result): (&Point<'_>, _)| PartRun {
        configuration: point.configuration.name.clone(),
        tiles: point.tiles,
        repeat: point.repeat,
        outcome: Into::into(result),
    };
    let options = Options { repeats: Some(work.repeats), seed: Some(work.seed), ..options.clone() };
    Ok(Some(StudyPart {
        schema: PART_SCHEMA.to_owned(),
        job: job(study, &options),
        shard,
        runs: points.iter().zip(results).map(run).collect(),
    }))
}

/// Merges the parts of all shards to the result that a single host would have produced. Each part
/// has a name.
///
/// # Errors
///
/// If the parts are not the complete set, each once, of one result of this study and this program.
pub fn merge(
    study: &ResolvedStudy,
    simulate: &dyn Simulate,
    tool: ToolFacts,
    parts: Vec<(String, StudyPart)>,
) -> Result<StudyResult, MergeError> {
    let Some((_, first)) = parts.first() else { return Err(MergeError::NoParts) };
    let options = Options {
        only: first.job.only.clone(),
        all: first.job.all,
        repeats: Some(first.job.repeats),
        seed: Some(first.job.seed),
        tool: Some(tool),
        ..Options::default()
    };
    check_jobs(&job(study, &options), &parts)?;
    check_shards(&parts)?;
    let work = Work::new(study, &options)?;
    let mut results: Vec<_> = work.points.iter().map(|_| Err(PointError::Interrupted)).collect();
    for (name, part) in parts {
        let share: Vec<usize> = share(&work, part.shard).collect();
        let is_run = |(index, run): (&usize, &PartRun)| {
            let point = &work.points[*index];
            (point.configuration.name.as_str(), point.tiles, point.repeat)
                == (run.configuration.as_str(), run.tiles, run.repeat)
        };
        if share.len() != part.runs.len() || !share.iter().zip(&part.runs).all(is_run) {
            return Err(MergeError::OtherRuns { part: name, shard: part.shard });
        }
        for (index, run) in share.into_iter().zip(part.runs) {
            results[index] = run.outcome.into();
        }
    }
    Ok(work.result(&options, simulate, results))
}

/// Returns the positions of a shard's points.
fn share(work: &Work<'_>, shard: Shard) -> impl Iterator<Item = usize> {
    shard.deal(begun_first(&work.points)).into_iter()
}

/// Returns the facts that all parts of a result share. Seed and repeats come from the options.
fn job(study: &ResolvedStudy, options: &Options) -> Job {
    Job {
        study: study.study.name.clone(),
        sha256: definitions_sha256(study),
        tool: options.tool(),
        random_generator: GENERATOR.to_owned(),
        seed: options.seed.unwrap_or(study.study.seed),
        repeats: options.repeats.unwrap_or(study.study.repeats),
        only: options.only.clone(),
        all: options.all,
    }
}

/// Checks that all parts have the same options as the first, and belong to this study and program.
fn check_jobs(expected: &Job, parts: &[(String, StudyPart)]) -> Result<(), MergeError> {
    for (index, (part, StudyPart { job, .. })) in parts.iter().enumerate() {
        let Some((what, theirs, expected)) = job.difference(expected) else { continue };
        let of = if index == 0 { "here".to_owned() } else { format!("in {}", parts[0].0) };
        return Err(MergeError::Other { part: part.clone(), what, theirs, expected, of });
    }
    Ok(())
}

/// Checks that each shard is given exactly once.
fn check_shards(parts: &[(String, StudyPart)]) -> Result<(), MergeError> {
    let (first, of) = (&parts[0].0, parts[0].1.shard.of());
    let mut known = std::collections::BTreeMap::new();
    for (name, StudyPart { shard, .. }) in parts {
        let (part, shard) = (name.clone(), *shard);
        if shard.of() != of {
            return Err(MergeError::OtherCount { part, shard, first: first.clone(), of });
        }
        if let Some(first) = known.insert(shard.number(), name) {
            return Err(MergeError::Twice { part, first: first.clone(), shard });
        }
    }
    let missing = ranges((1..=of).filter(|number| !known.contains_key(number)));
    if missing.is_empty() { Ok(()) } else { Err(MergeError::Missing { of, numbers: missing }) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use run_store::run::Figure;

    use super::super::part::PartOutcome;
    use super::super::tests::{Fake, claim, study};
    use super::super::{PartError, run};
    use super::*;

    fn two_claims() -> ResolvedStudy {
        study(
            &(claim("X", "predicted", "at-least = 0", "score(\"disks\", 1)")
                + &claim("Y", "predicted", "at-least = 0", "score(\"flash\", 2)")),
        )
    }

    /// Creates a part of a shard, writes it and reads it back. Its name is the shard.
    fn part(study: &ResolvedStudy, options: &Options, shard: &str) -> (String, StudyPart) {
        let shard = shard.parse().expect("a shard");
        let (fake, control) = (Fake::default(), Control::default());
        let part = run_shard(study, &fake, options, shard, &control, &mut |_| {});
        let text = serde_json::to_string(&part.expect("it runs")).expect("JSON");
        (shard.to_string(), StudyPart::parse(&text).expect("a part"))
    }

    fn parts(study: &ResolvedStudy, options: &Options, of: u32) -> Vec<(String, StudyPart)> {
        (1..=of).map(|number| part(study, options, &format!("{number}/{of}"))).collect()
    }

    fn put(
        study: &ResolvedStudy,
        parts: Vec<(String, StudyPart)>,
    ) -> Result<StudyResult, MergeError> {
        merge(study, &Fake::default(), Options::default().tool(), parts)
    }

    fn refused(parts: Vec<(String, StudyPart)>) -> String {
        put(&two_claims(), parts).expect_err("it is refused").to_string()
    }

    #[test]
    fn parts_in_any_order_come_to_the_document_of_one_machine() {
        let study = two_claims();
        for options in [
            Options::default(),
            Options { all: true, repeats: Some(3), seed: Some(7), ..Options::default() },
            Options { only: vec!["Y".to_owned()], ..Options::default() },
        ] {
            let alone = run(&study, &Fake::default(), &options, &Control::default(), &mut |_| {});
            let alone = serde_json::to_string(&alone.expect("it runs")).expect("JSON");
            // The last count exceeds the number of runs.
            for of in [1, 2, 3, 40] {
                let mut parts = parts(&study, &options, of);
                parts.reverse();
                let merged = put(&study, parts).expect("they fit together");
                assert_eq!(serde_json::to_string(&merged).expect("JSON"), alone, "{of} parts");
            }
        }
    }

    #[test]
    fn runs_are_dealt_out_with_most_tiles_first_as_the_format_says() {
        let options = Options { all: true, repeats: Some(2), ..Options::default() };
        let runs = |shard| {
            let runs = part(&two_claims(), &options, shard).1.runs.into_iter();
            let name = |run: PartRun| format!("{} {} {}", run.configuration, run.tiles, run.repeat);
            runs.map(name).collect::<Vec<_>>()
        };
        assert_eq!(runs("1/3"), ["flash 3 1", "disks 2 2", "disks 1 1", "flash 1 2"]);
        assert_eq!(runs("2/3"), ["flash 3 2", "flash 2 1", "disks 1 2"]);
        assert_eq!(runs("3/3"), ["disks 2 1", "flash 2 2", "flash 1 1"]);
    }

    #[test]
    fn what_is_missing_or_there_twice_is_named() {
        let of_five = || parts(&two_claims(), &Options::default(), 5);
        let mut parts = of_five();
        parts.remove(0);
        assert_eq!(refused(parts), "of 5 shards these are missing: 1");
        let parts = of_five().drain(1..2).collect();
        assert_eq!(refused(parts), "of 5 shards these are missing: 1,3-5");
        let mut parts = of_five();
        parts[4] = ("again".to_owned(), parts[1].1.clone());
        assert_eq!(refused(parts), "again and 2/5 are both shard 2/5");
        assert_eq!(refused(Vec::new()), "no part was given");
    }

    #[test]
    fn a_part_of_another_result_is_named_with_what_differs() {
        let study = two_claims();
        let second = |change: &dyn Fn(&mut Job)| {
            let mut parts = parts(&study, &Options::default(), 2);
            change(&mut parts[1].1.job);
            refused(parts)
        };
        let of = "2/2 belongs to another result: ";
        for (change, told) in [
            (&(|job: &mut Job| job.seed = 9) as &dyn Fn(&mut Job), "the seed is 9, but 1 in 1/2"),
            (&|job| job.repeats = 9, "the number of repeats is 9, but 2 in 1/2"),
            (&|job| job.only.push("X".into()), "--only is X, but none in 1/2"),
            (&|job| job.all = true, "--all is true, but false in 1/2"),
            (&|job| job.study = "b".into(), "the study is b, but example in 1/2"),
            (&|job| job.sha256 = "0".into(), "the hash of the definitions is 0, but "),
            (&|job| job.random_generator = "x".into(), "the random generator is x, but "),
            (&|job| job.tool.version = "9".into(), "the program is tilemark 9, commit unknown, "),
        ] {
            let error = second(change);
            assert!(error.starts_with(&format!("{of}{told}")), "{error}");
        }
        let mut all = parts(&study, &Options::default(), 2);
        all.iter_mut().for_each(|(_, part)| part.job.tool.commit = Some("ab".into()));
        let error = refused(all);
        assert!(error.ends_with("commit ab, but tilemark 0.1.0, commit unknown here"), "{error}");
        let mut mixed = parts(&study, &Options::default(), 2);
        mixed[1] = part(&study, &Options::default(), "2/3");
        assert_eq!(refused(mixed), "2/3 is shard 2/3, but 1/2 is one of 2");
    }

    #[test]
    fn a_part_that_somebody_changed_is_refused() {
        let study = two_claims();
        for change in [
            |part: &mut StudyPart| drop(part.runs.pop()),
            |part: &mut StudyPart| part.runs[0].tiles += 1,
            |part: &mut StudyPart| part.runs[0].repeat += 1,
            |part: &mut StudyPart| part.shard = "1/2".parse().expect("a shard"),
        ] {
            let mut parts = parts(&study, &Options::default(), 2);
            parts.swap(0, 1);
            change(&mut parts[0].1);
            let error = refused(parts);
            assert!(
                error.contains("2/2 does not hold the runs") || error.contains("both"),
                "{error}"
            );
        }
        for (text, told) in [
            ("{\"schema\": \"tilemark.study/1.0\"}", "has the schema \"tilemark.study/1.0\""),
            ("{\"schema\": \"tilemark.study-part/1.0\"}", "missing field"),
            ("{}", "has the schema \"\""),
            ("", "reading a part of a study"),
        ] {
            let error: PartError = StudyPart::parse(text).expect_err("it is none");
            assert!(error.to_string().contains(told), "{error}");
        }
    }

    #[test]
    fn an_interrupted_shard_has_no_part() {
        let fake = Fake { interrupt_after: Some(1), ..Fake::default() };
        let shard = "1/1".parse().expect("a shard");
        let options = Options { threads: std::num::NonZeroUsize::new(1), ..Options::default() };
        let (study, control) = (two_claims(), Control::default());
        let part = run_shard(&study, &fake, &options, shard, &control, &mut |_| {});
        assert_eq!(part, Ok(None));
    }

    proptest! {
        /// Checks that numbers survive exactly. A parser with an error in the last bit would change
        /// the document.
        #[test]
        fn numbers_come_back_from_a_part_to_the_bit(value in -1e300..1e300_f64, small in -1.0..1.0_f64) {
            for value in [value, small] {
                let mut step = fixtures::study_step("disks", 1, 1);
                step.generator.in_flight_mean = Figure::of(value);
                let text = serde_json::to_string(&PartOutcome::from(Ok(step))).expect("JSON");
                let back: PartOutcome = serde_json::from_str(&text).expect("an outcome");
                let back: Result<run_store::run::Step, PointError> = back.into();
                let back = back.expect("a step").generator.in_flight_mean.value;
                prop_assert_eq!(back.map(f64::to_bits), Some(value.to_bits()));
            }
        }
    }
}
