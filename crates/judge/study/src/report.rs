use run_store::run::{Interval, Step, Verdict, Warning};
use run_store::rundir::sha256_hex;
use spec::study::formula::{Formula, Function};
use spec::study::{Claim, Kind, ResolvedConfiguration, ResolvedStudy, Table, Tolerance};
use state_machine::GENERATOR;
use units::Ratio;

use super::absent::Number;
use super::evaluate::{Bound, CONFIDENCE, Evaluator, Of, Results};
use super::figures;
use super::judge::{bounds, is_inside};
use super::options::Options;
use super::point::{PointError, Simulate};
use findings::{
    ClaimResult, ConfigurationFacts, KindCount, Outcome, PointFigures, PointResult, PointRun,
    PointVerdict, SCHEMA, StudyResult, Summary, TableResult, TableRow, TierShares,
};

/// Builder of the result from the steps.
pub(super) struct Report<'a> {
    pub study: &'a ResolvedStudy,
    pub options: &'a Options,
    pub results: &'a Results,
    pub simulate: &'a dyn Simulate,
    pub repeats: u32,
    pub seed: u64,
}

/// Returns the cells of a table: configuration and number of tiles.
pub(super) fn cells<'a>(
    study: &'a ResolvedStudy,
    table: &'a Table,
) -> impl Iterator<Item = (&'a str, u32)> {
    columns(study, table).into_iter().flat_map(move |each| {
        let is_row = move |tiles: &u32| {
            table.tiles.as_ref().is_none_or(|rows| rows.numbers().contains(tiles))
        };
        let tiles = each.tiles.iter().copied().filter(is_row);
        tiles.map(|tiles| (each.name.as_str(), tiles))
    })
}

fn columns<'a>(study: &'a ResolvedStudy, table: &Table) -> Vec<&'a ResolvedConfiguration> {
    match &table.configurations {
        None => study.configurations.iter().collect(),
        Some(names) => names.iter().filter_map(|name| study.configuration(name)).collect(),
    }
}

impl Report<'_> {
    pub fn result(&self) -> StudyResult {
        let study = &self.study.study;
        let claims = self.claims();
        let errors = || self.results.values().flatten().filter_map(|result| result.as_ref().err());
        StudyResult {
            schema: SCHEMA.to_owned(),
            name: study.name.clone(),
            title: study.title.clone(),
            source: study.source.trim().to_owned(),
            notes: study.notes.as_deref().map(|notes| notes.trim().to_owned()),
            command: self.command(),
            tool: self.options.tool(),
            random_generator: GENERATOR.to_owned(),
            sha256: definitions_sha256(self.study),
            seed: self.seed,
            repeats: self.repeats,
            complete: !errors().any(|error| *error == PointError::Interrupted),
            simulated: self.options.real.is_none(),
            configurations: self.configurations(),
            points: self.points(),
            tables: self.tables(),
            summary: summary(&claims),
            claims,
            warnings: self.warnings(),
        }
    }

    fn configurations(&self) -> Vec<ConfigurationFacts> {
        // Configurations on real storage are among the others if they are run.
        let is_real = |each: &&ResolvedConfiguration| self.study.real(&each.name).is_some();
        let facts = |each| ConfigurationFacts { real: is_real(&each), ..configuration(each) };
        self.study.configurations.iter().map(facts).collect()
    }

    fn evaluator(&self) -> Evaluator<'_> {
        Evaluator {
            study: self.study,
            results: self.results,
            simulate: Some((self.simulate, self.seed)),
            repeats: self.repeats,
            is_claim: false,
        }
    }

    fn repeat_numbers(&self) -> std::ops::Range<usize> {
        0..usize::try_from(self.repeats).unwrap_or(1)
    }

    fn command(&self) -> String {
        let study = &self.study.study;
        let shipped = spec::shipped::study_files().iter().any(|file| {
            file.name == format!("{}.toml", study.name) && file.text == self.study.file.text
        });
        let name = if shipped { &study.name } else { &self.study.file.name };
        let mut command = format!("tilemark study run {name}");
        for id in &self.options.only {
            command += &format!(" --only {id}");
        }
        if self.options.all {
            command += " --all";
        }
        if let Some(storage) = &self.options.real {
            command += " --real DIR";
            command += if storage.allow_root_fs { " --allow-root-fs" } else { "" };
        }
        if self.repeats != study.repeats {
            command += &format!(" --repeats {}", self.repeats);
        }
        if self.seed != study.seed {
            command += &format!(" --seed {}", self.seed);
        }
        command
    }

    fn claims(&self) -> Vec<ClaimResult> {
        let claims = self.study.study.claims.iter().zip(&self.study.claims);
        let only = &self.options.only;
        claims
            .filter(|(claim, _)| only.is_empty() || only.contains(&claim.id))
            .map(|(claim, formula)| self.claim(claim, formula.as_ref()))
            .collect()
    }

    fn claim(&self, claim: &Claim, formula: Option<&Formula>) -> ClaimResult {
        let evaluator = Evaluator { is_claim: true, ..self.evaluator() };
        let value = |of| match formula {
            Some(formula) => evaluator.value(&formula.root, Bound::default(), of),
            None => Err(super::Absent::because("the study has no formula for it")),
        };
        let repeats: Vec<Number> =
            self.repeat_numbers().map(|repeat| value(Of::Repeat(repeat))).collect();
        // Means are compared, as in publications, including their interval: an order that another
        // seed may reverse does not count.
        let is_order = matches!(claim.tolerance, Tolerance::Order(_));
        let ours = if is_order { value(Of::Intervals) } else { mean(&repeats) };
        let interval = ours.as_ref().ok().filter(|_| !is_order).and_then(|_| interval(&repeats));
        let allowed = bounds(&claim.published, claim.tolerance);
        let inside = |value: f64| allowed.is_some_and(|allowed| is_inside(value, allowed));
        let outcome = match &ours {
            Err(_) => Outcome::NotMeasured,
            Ok(ours) if inside(*ours) => Outcome::Met,
            Ok(_) => Outcome::NotMet,
        };
        ClaimResult {
            id: claim.id.clone(),
            text: claim.text.clone(),
            kind: claim.kind,
            published: claim.published.clone(),
            unit: claim.unit.clone(),
            source: claim.source.clone(),
            tolerance: claim.tolerance,
            measure: claim.measure.clone(),
            interval_inside: interval.as_ref().map(|each| inside(each.low) && inside(each.high)),
            interval,
            repeats: repeats.into_iter().map(Result::ok).collect(),
            met: outcome == Outcome::Met,
            outcome,
            reason: ours.as_ref().err().map(ToString::to_string),
            why: claim
                .why
                .as_deref()
                .map(|why| why.trim().to_owned())
                .filter(|_| outcome != Outcome::Met),
            ours: ours.ok(),
        }
    }

    fn tables(&self) -> Vec<TableResult> {
        if !self.options.only.is_empty() {
            return Vec::new();
        }
        let tables = self.study.study.tables.iter().zip(&self.study.tables);
        tables.map(|(table, formula)| self.table(table, formula)).collect()
    }

    fn table(&self, table: &Table, formula: &Formula) -> TableResult {
        let filled: Vec<(&str, u32)> = cells(self.study, table).collect();
        let mut rows: Vec<u32> = filled.iter().map(|(_, tiles)| *tiles).collect();
        rows.sort_unstable();
        rows.dedup();
        let columns = columns(self.study, table);
        let cell = |configuration: &str, tiles: u32| {
            if !filled.contains(&(configuration, tiles)) {
                return None;
            }
            let bound = Bound { configuration: Some(configuration), tiles: Some(tiles) };
            let value = |repeat| self.evaluator().value(&formula.root, bound, Of::Repeat(repeat));
            let values: Vec<Number> = self.repeat_numbers().map(value).collect();
            mean(&values).ok()
        };
        let row = |tiles: u32| TableRow {
            tiles,
            cells: columns.iter().map(|each| cell(&each.name, tiles)).collect(),
        };
        TableResult {
            title: table.title.clone(),
            unit: table.unit.clone(),
            measure: table.measure.clone(),
            configurations: columns.iter().map(|each| each.name.clone()).collect(),
            rows: rows.into_iter().map(row).collect(),
        }
    }

    fn points(&self) -> Vec<PointResult> {
        let point = |((index, tiles), results): (&(usize, u32), &Vec<Result<Step, PointError>>)| {
            let configuration = &self.study.configurations[*index];
            let runs: Vec<PointRun> = results
                .iter()
                .zip(1..)
                .map(|(result, repeat)| run(result, repeat, configuration))
                .collect();
            PointResult {
                configuration: configuration.name.clone(),
                tiles: *tiles,
                verdict: verdict(results).to_owned(),
                reason: reason(results),
                mean: means(&runs),
                runs,
            }
        };
        self.results.iter().map(point).collect()
    }

    fn warnings(&self) -> Vec<Warning> {
        let steps = self.results.values().flatten().filter_map(|result| result.as_ref().ok());
        let cold = steps.filter(|step| !step.warm_up.reached).count();
        let warning = |id: &str, text: String, hint: &str| Warning {
            id: id.to_owned(),
            text,
            value: None,
            limit: None,
            hint: Some(hint.to_owned()),
        };
        let mut warnings = Vec::new();
        if cold > 0 {
            let text = format!("{cold} run(s) were not steady when they were measured");
            warnings.push(warning("not-steady", text, "a longer measure.warm-up-max may help"));
        }
        let failed = self.results.values().flatten();
        let failed = failed.filter(|result| matches!(result, Err(PointError::Failed(_)))).count();
        if failed > 0 {
            let text = format!("{failed} run(s) could not be simulated");
            warnings.push(warning("not-simulated", text, "the table of steps says why"));
        }
        warnings
    }
}

/// Returns the SHA-256 of the study's file and of all files that it refers to.
pub(super) fn definitions_sha256(study: &ResolvedStudy) -> String {
    let parts = study.configurations.iter().map(|each| (&each.array, &each.tile));
    let parts: Vec<_> = parts.collect();
    let resolved = serde_json::to_vec(&parts).expect("definitions are JSON");
    let mut bytes = study.file.text.clone().into_bytes();
    bytes.extend(resolved);
    sha256_hex(&bytes)
}

fn configuration(each: &ResolvedConfiguration) -> ConfigurationFacts {
    ConfigurationFacts {
        name: each.name.clone(),
        title: each.title.clone(),
        array: each.array_name.clone(),
        tile: each.tile_name.clone(),
        operations: each.operations.clone(),
        second: each.second.clone(),
        vms_per_tile: each.tile.vms(),
        tiles: each.tiles.clone(),
        footprint: each.footprint,
        time: each.time,
        real: false,
    }
}

/// Returns the mean, or the reason why a repeat has no value.
fn mean(values: &[Number]) -> Number {
    let values = values.iter().cloned().collect::<Result<Vec<f64>, _>>()?;
    stats::mean(&values).ok_or_else(|| super::Absent::because("there are no repeats"))
}

fn interval(values: &[Number]) -> Option<Interval> {
    let values: Vec<f64> = values.iter().cloned().collect::<Result<_, _>>().ok()?;
    let found = stats::mean_interval(&values, Ratio::new(CONFIDENCE))?;
    let method = format!("Student's t over {} repeats", values.len());
    Interval::new(found.low, found.high, CONFIDENCE, method)
}

fn run(
    result: &Result<Step, PointError>,
    repeat: u32,
    configuration: &ResolvedConfiguration,
) -> PointRun {
    match result {
        Ok(step) => PointRun {
            repeat,
            verdict: Some(step.verdict),
            error: None,
            figures: Some(point_figures(step, configuration)),
        },
        Err(error) => {
            PointRun { repeat, verdict: None, error: Some(error.to_string()), figures: None }
        }
    }
}

fn point_figures(step: &Step, configuration: &ResolvedConfiguration) -> PointFigures {
    let figure =
        |function, names: &[&str]| figures::figure(function, step, configuration, names).ok();
    let names = step.model.iter().flat_map(|model| &model.tiers).map(|tier| &tier.name);
    let shares = |name: &String| TierShares {
        name: name.clone(),
        hit: figure(Function::Tier, &[name, "hit"]),
        read_hit: figure(Function::Tier, &[name, "read_hit"]),
        write_hit: figure(Function::Tier, &[name, "write_hit"]),
    };
    PointFigures {
        score: figure(Function::Score, &[]),
        operations_per_s: figure(Function::Iops, &[]),
        read_share: figure(Function::ReadShare, &[]),
        bytes_per_s: figure(Function::Bytes, &[]),
        read_ms: figure(Function::LatencyMean, &["read"]),
        write_ms: figure(Function::LatencyMean, &["write"]),
        cpu: figure(Function::Host, &["used"]),
        strain: figure(Function::Strain, &[]),
        tiers: names.map(shares).collect(),
    }
}

/// Returns the means of the figures that all runs have.
fn means(runs: &[PointRun]) -> PointFigures {
    let all: Option<Vec<&PointFigures>> = runs.iter().map(|run| run.figures.as_ref()).collect();
    let Some(all) = all.filter(|all| !all.is_empty()) else { return PointFigures::default() };
    let of = |get: &dyn Fn(&PointFigures) -> Option<f64>| {
        let values: Option<Vec<f64>> = all.iter().map(|figures| get(figures)).collect();
        values.and_then(|values| stats::mean(&values))
    };
    let tier = |(index, tier): (usize, &TierShares)| {
        let share = |get: fn(&TierShares) -> Option<f64>| of(&|f| f.tiers.get(index).and_then(get));
        TierShares {
            name: tier.name.clone(),
            hit: share(|tier| tier.hit),
            read_hit: share(|tier| tier.read_hit),
            write_hit: share(|tier| tier.write_hit),
        }
    };
    PointFigures {
        score: of(&|figures| figures.score),
        operations_per_s: of(&|figures| figures.operations_per_s),
        read_share: of(&|figures| figures.read_share),
        bytes_per_s: of(&|figures| figures.bytes_per_s),
        read_ms: of(&|figures| figures.read_ms),
        write_ms: of(&|figures| figures.write_ms),
        cpu: of(&|figures| figures.cpu),
        strain: of(&|figures| figures.strain),
        tiers: all[0].tiers.iter().enumerate().map(tier).collect(),
    }
}

fn verdict(results: &[Result<Step, PointError>]) -> PointVerdict {
    let is = |verdict| {
        results.iter().any(|result| result.as_ref().is_ok_and(|step| step.verdict == verdict))
    };
    let errors = || results.iter().filter_map(|result| result.as_ref().err());
    if is(Verdict::Failed) {
        PointVerdict::Failed
    } else if errors().any(|error| matches!(error, PointError::DoesNotFit(_))) {
        PointVerdict::DoesNotFit
    } else if errors().any(|error| matches!(error, PointError::NotHere(_))) {
        PointVerdict::LeftOut
    } else if errors().any(|error| matches!(error, PointError::Failed(_))) {
        PointVerdict::NotSimulated
    } else if is(Verdict::Interrupted) || errors().next().is_some() {
        PointVerdict::Interrupted
    } else if is(Verdict::Inconclusive) {
        PointVerdict::Inconclusive
    } else {
        PointVerdict::Passed
    }
}

/// Returns the reason of the first run that did not pass; `None` if all passed.
fn reason(results: &[Result<Step, PointError>]) -> Option<String> {
    results.iter().find_map(|result| match result {
        Ok(step) if step.verdict == Verdict::Passed => None,
        Ok(step) => Some(step.reason.clone()),
        Err(error) => Some(error.to_string()),
    })
}

fn summary(claims: &[ClaimResult]) -> Summary {
    let count = |kind: Kind| {
        let of = |outcome| {
            claims.iter().filter(|claim| claim.kind == kind && claim.outcome == outcome).count()
        };
        KindCount {
            kind,
            met: of(Outcome::Met),
            not_met: of(Outcome::NotMet),
            not_measured: of(Outcome::NotMeasured),
        }
    };
    let kinds: Vec<KindCount> = Kind::ALL
        .map(count)
        .into_iter()
        .filter(|count| count.met + count.not_met + count.not_measured > 0)
        .collect();
    let predicted = kinds.iter().find(|count| count.kind == Kind::Predicted);
    let sentence = match predicted {
        None => "no claim is predicted, so nothing is counted as reproduced".to_owned(),
        Some(count) => {
            let all = count.met + count.not_met + count.not_measured;
            let rest = match count.not_measured {
                0 => String::new(),
                unknown => format!(", {unknown} not measured"),
            };
            format!("{} of {all} predicted claims reproduced{rest}", count.met)
        }
    };
    Summary { kinds, sentence }
}
