use calibrate::{Calibration, PointFacts, ROUNDS, Side};
use units::{Bytes, Nanos};

use super::{Table, latency, number};

/// Formats a calibration: the measured values beside the model's values, and the model's errors.
pub fn calibration(found: &Calibration) -> String {
    let mut lines = head(found);
    lines.push(String::new());
    lines.extend(points(&found.points));
    lines.push(String::new());
    lines.push(
        "demerit: root mean square distance of the two latency distributions, as a share of the \
         measured mean"
            .to_owned(),
    );
    lines.push(
        "to p99: the same distance for the fastest 99 % of both, which the search minimised"
            .to_owned(),
    );
    lines.extend(demerits(found));
    lines.push(String::new());
    lines.extend(candidates(found));
    lines.push(String::new());
    lines.extend(noise(found));
    for warning in &found.warnings {
        let value = warning.value.as_ref().zip(warning.limit.as_ref());
        let value = value.map(|(value, limit)| format!(": {value}, limit {limit}"));
        lines.push(format!(
            "warning: {}{} [{}]",
            warning.text,
            value.unwrap_or_default(),
            warning.id
        ));
        lines.extend(warning.hint.as_ref().map(|hint| format!("hint: {hint}")));
    }
    lines.push(format!("checked   {}", found.calibrated.sentence()));
    lines.push(format!("saved     {}", found.path.display()));
    if found.calibrated.is_too_far_off() {
        lines.push("this model cannot answer: it is off by more than a factor of 2".to_owned());
        return lines.join("\n") + "\n";
    }
    lines.push(format!("use       tilemark simulate --array {} ...", array_name(found)));
    lines.join("\n") + "\n"
}

/// Returns the array's name as `simulate` takes it.
fn array_name(found: &Calibration) -> String {
    let is_found_by_name =
        calibrate::user_arrays().is_ok_and(|directory| found.path.starts_with(directory));
    if is_found_by_name { found.name.clone() } else { found.path.display().to_string() }
}

fn head(found: &Calibration) -> Vec<String> {
    let mode = match (found.read_only, found.quick) {
        (true, _) => ", reads only",
        (false, true) => ", quick",
        (false, false) => "",
    };
    vec![
        format!("measured  {}  {}", found.target, found.target_summary),
        format!("machine   {}", found.machine.sentence()),
        format!(
            "loops     {} of {} in {ROUNDS} rounds on {}{mode}; seed {}; took {}",
            found.points.len(),
            Nanos(found.point_ns),
            Bytes::new(found.span_bytes),
            found.seed,
            Nanos(found.elapsed_ns)
        ),
        format!("model     {}", found.chosen),
    ]
}

fn points(points: &[PointFacts]) -> Vec<String> {
    let mut table = Table::new(&[
        "mix", ">block", ">depth", ">IOPS", ">model", ">mean", ">model", ">p99", ">model",
        ">demerit", ">to p99", ">floor", ">to p99", "half",
    ]);
    for point in points {
        let (measured, model) = (&point.measured, &point.model);
        table.row(vec![
            point.mix.name().to_owned(),
            Bytes::new(point.block_bytes).to_string(),
            point.depth.to_string(),
            number(measured.iops),
            number(model.iops),
            mean(measured),
            mean(model),
            latency(measured.p99_ns),
            latency(model.p99_ns),
            percent(point.demerit),
            percent(point.demerit_p99),
            percent(point.floor),
            percent(point.floor_p99),
            if point.training { "fitted" } else { "unseen" }.to_owned(),
        ]);
    }
    table.lines()
}

fn mean(side: &Side) -> String {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "casts saturate")]
    let ns = side.mean_ns.map(|ns| ns as u64);
    latency(ns)
}

fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| "-".to_owned(), |share| format!("{:.1} %", share * 100.0))
}

fn demerits(found: &Calibration) -> Vec<String> {
    let mut table =
        Table::new(&["loops", ">fitted", ">unseen", ">all", ">to p99", ">floor", ">to p99"]);
    for mix in &found.demerits.mixes {
        let values = [mix.training, mix.validation, mix.all, mix.all_p99, mix.floor, mix.floor_p99];
        let values = values.map(percent);
        table.row(std::iter::once(mix.mix.name().to_owned()).chain(values).collect());
    }
    let all = &found.demerits;
    let floor = found.noise.floor;
    let values = [all.training, all.validation, all.all, all.all_p99, floor, all.floor_p99];
    let values = values.map(percent);
    table.row(std::iter::once("all".to_owned()).chain(values).collect());
    let mut lines = table.lines();
    lines.push(format!(
        "the worst loop is off by {}; all columns show rounds 2 and 4, which were not used for the \
        fit",
        percent(all.worst)
    ));
    lines.push(
        "unseen: error of a model fitted without these loops; floor: error of rounds 1 and 3 \
         themselves, used in place of a model"
            .to_owned(),
    );
    lines
}

fn candidates(found: &Calibration) -> Vec<String> {
    let mut table = Table::new(&["model", ">fitted", ">unseen", ">tried"]);
    for candidate in &found.candidates {
        table.row(vec![
            candidate.name.to_owned(),
            percent(candidate.training),
            percent(candidate.validation),
            candidate.evaluations.to_string(),
        ]);
    }
    table.lines()
}

fn noise(found: &Calibration) -> Vec<String> {
    let mut lines = vec![format!(
        "noise     steal {}, other processes {} of the CPU; busiest generator thread {}",
        percent(found.noise.steal),
        percent(found.noise.others),
        percent(Some(found.noise.worker_cpu))
    )];
    lines.extend(found.drift.map(|drift| {
        format!(
            "drift     the last round compared with the first: {:.2} times the IOPS, demerit {}",
            drift.iops,
            percent(drift.demerit)
        )
    }));
    lines
}
