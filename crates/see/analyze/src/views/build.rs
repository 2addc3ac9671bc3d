use trace::Clock;
use units::Nanos;

use crate::classes::{USUAL_LIMIT, USUAL_LIMIT_SOURCE};
use crate::document::{Analysis, FilterFacts, Limit, Remark, SCHEMA, SourceFacts};
use crate::findings;
use crate::fold::{Filter, Fold, Vm};
use crate::material::{ALL, COARSE, Material, Scope, Subject, View, name};
use crate::views::{matrix, rows, storage, time};

/// Options of the answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Name and version of the program.
    pub tool: String,
    /// Requested views. Findings use all views, requested or not.
    pub views: Vec<View>,
    /// Limit for 99th percentiles.
    pub limit: Limit,
    /// Filter of the records.
    pub filter: Filter,
}

impl Limit {
    /// Returns the default limit, [`USUAL_LIMIT`].
    pub fn usual() -> Self {
        let source = format!("{USUAL_LIMIT_SOURCE}; --limit changes it");
        Self { ns: USUAL_LIMIT.0, source }
    }

    /// Makes a limit from the user's value.
    pub fn asked(limit: Nanos) -> Self {
        Self { ns: limit.0, source: "--limit".to_owned() }
    }
}

/// Makes the answer.
pub fn analyse(mut fold: Fold, subject: &Subject, options: &Options) -> Analysis {
    fold.settle();
    let known: Vec<(usize, &Vm)> =
        fold.vms.iter().enumerate().filter_map(|(at, vm)| Some((at, vm.as_deref()?))).collect();
    let all = sum(&known, &fold);
    let mut scopes: Vec<Scope> = known
        .iter()
        .map(|(at, vm)| Scope {
            name: name(&subject.info.vms, *at, "vm"),
            index: u16::try_from(*at).ok(),
            vm,
        })
        .collect();
    if known.len() != 1 {
        scopes.insert(0, Scope { name: ALL.to_owned(), index: None, vm: &all });
    }
    let has_times = matches!(subject.info.clock, Clock::Real { .. });
    let span = fold.first.map(|first| fold.last.saturating_sub(first));
    let span = span.filter(|span| has_times && span.0 > 0);
    let material = Material { fold: &fold, subject, limit: &options.limit, scopes, span };
    assemble(&material, options)
}

fn sum(vms: &[(usize, &Vm)], fold: &Fold) -> Vm {
    let mut all = Vm::default();
    if vms.len() > 1 {
        vms.iter().for_each(|(_, vm)| all.add(vm));
        all.bursts = fold.bursts;
    }
    all
}

fn assemble(material: &Material, options: &Options) -> Analysis {
    let wants = |view: View| options.views.contains(&view);
    let sizes = rows::sizes(material);
    let overview = rows::overview(material);
    let bursts = rows::bursts(material);
    let beside_large = rows::beside_large(material);
    let matrix_outstanding = matrix::outstanding(material);
    let breaks = matrix::breaks(material);
    let storage = storage::views(material, wants(View::WorkingSet) || wants(View::Findings));
    let mut answer = Analysis {
        schema: SCHEMA.to_owned(),
        tool: options.tool.clone(),
        source: source(material),
        filter: filter(material, &options.filter),
        limit: options.limit.clone(),
        findings: Vec::new(),
        cannot_say: cannot_say(material),
        overview,
        bursts,
        alignment: rows::alignment(material),
        sizes,
        beside_large,
        matrix_latency: matrix::latency(material),
        matrix_outstanding,
        breaks,
        histograms: Vec::new(),
        slice_ns: material.fold.slices.width().0,
        time: Vec::new(),
        working_set: storage.working_set,
        miss_ratio: storage.miss_ratio,
        knees: storage.knees,
        tiers: storage.tiers,
    };
    if wants(View::Findings) {
        answer.findings = findings::find(material, &answer);
    }
    if wants(View::Histograms) {
        answer.histograms = rows::histograms(material);
    }
    if wants(View::Time) {
        answer.time = time::rows(material);
    }
    leave_out(&mut answer, wants);
    answer
}

/// Empties the lists that belong to no requested view.
fn leave_out(answer: &mut Analysis, wants: impl Fn(View) -> bool) {
    if !wants(View::Overview) {
        answer.overview.clear();
        answer.bursts.clear();
        answer.alignment.clear();
    }
    if !wants(View::Sizes) && !wants(View::Latency) {
        answer.sizes.clear();
    }
    if !wants(View::Latency) {
        answer.beside_large.clear();
    }
    if !wants(View::Matrix) {
        answer.matrix_latency.clear();
        answer.matrix_outstanding.clear();
        answer.breaks.clear();
    }
    if !wants(View::WorkingSet) {
        answer.working_set.clear();
        answer.miss_ratio.clear();
        answer.knees.clear();
        answer.tiers.clear();
    }
}

fn source(material: &Material) -> SourceFacts {
    let info = &material.subject.info;
    let fold = material.fold;
    SourceFacts {
        name: material.subject.name.clone(),
        format: info.format.to_owned(),
        has_times: material.has_times(),
        resolution_ns: material.resolution().map(|step| step.0),
        has_latency: info.has_latency,
        started_unix_ns: info.started_unix_ns,
        records: fold.records,
        filtered: fold.filtered,
        first_ns: fold.first.map(|first| first.0),
        last_ns: fold.first.map(|_| fold.last.0),
        vms: (0..info.vms.len()).map(|at| material.vm_name(at)).collect(),
        devices: (0..info.devices.len()).map(|at| material.device_name(at)).collect(),
        bad: info.losses.bad,
        dropped: info.losses.dropped,
        disordered: info.losses.disordered,
        skipped: info.losses.skipped,
        examples: info.losses.examples.clone(),
    }
}

fn filter(material: &Material, filter: &Filter) -> FilterFacts {
    let vms = filter.vms.iter().flatten().map(|at| material.vm_name(usize::from(*at)));
    let devices = filter.devices.iter().flatten().map(|at| material.device_name(usize::from(*at)));
    FilterFacts {
        vms: vms.collect(),
        devices: devices.collect(),
        direction: filter.direction.map(|direction| direction.name().to_owned()),
        from_ns: filter.from.map(|from| from.0),
        to_ns: filter.to.map(|to| to.0),
    }
}

/// Lists the questions that the source cannot answer.
fn cannot_say(material: &Material) -> Vec<Remark> {
    let mut remarks = material.subject.remarks.clone();
    let mut say = |what: &str, why: String| {
        remarks.push(Remark { what: what.to_owned(), why });
    };
    if !material.subject.info.has_latency {
        say(
            "latency, its causes, the matrix",
            format!("the format {} has no latencies", material.subject.info.format),
        );
    }
    match material.resolution() {
        None => say(
            "rates, bursts, times between I/Os, working sets of windows",
            "records are only in order and have no times".to_owned(),
        ),
        Some(step) if step > COARSE => {
            say("bursts, times between I/Os", format!("the clock's step is {step}"))
        }
        Some(_) => {}
    }
    let fold = material.fold;
    if fold.unseen > 0 {
        say(
            "outstanding I/Os exactly",
            format!(
                "{} I/Os were in flight for long across the border between two parts that were \
                read at once",
                fold.unseen
            ),
        );
    }
    if fold.pages.share() < 1.0 && fold.records > 0 {
        say(
            "working sets exactly",
            format!("pages were sampled, 1 in {:.0}", 1.0 / fold.pages.share()),
        );
    }
    remarks
}
