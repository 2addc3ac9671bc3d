//! Tables of the lists in `run.json`. Each column has a heading and a path of fields; the unit of a
//! value follows from the field's name.

use run_store::run::{Run, Step};
use serde::Serialize;
use serde_json::{Value, json};
use units::print::{bytes_per_second, iops, number, percent, whole};
use units::{Bytes, Nanos};

use super::html::{Cell, Page};

/// A table with rows of each step.
struct StepTable {
    title: &'static str,
    about: &'static str,
    /// Function that returns the rows of a step.
    rows: fn(&Step) -> Vec<Value>,
    /// Heading and path of each column, after the step's columns.
    columns: &'static [(&'static str, &'static str)],
}

const STEP_TABLES: [StepTable; 11] = [
    StepTable {
        title: "Steps",
        about: "In the order in which they ran.",
        rows: |step| list(std::slice::from_ref(step)),
        columns: &[
            ("order", "/order"),
            ("VMs", "/vms"),
            ("verdict", "/verdict"),
            ("why", "/reason"),
            ("I/O", "/throughput/operations_per_s"),
            ("throughput", "/throughput/bytes_per_s"),
            ("actions", "/throughput/actions_per_s"),
            ("score", "/score/total"),
            ("of applications", "/score/applications"),
            ("of operations", "/score/infrastructure"),
            ("warm-up", "/warm_up/duration_ns"),
            ("measured", "/measured_ns"),
        ],
    },
    StepTable {
        title: "Limits",
        about: "All tiles together; these results decide a step. An interval covers the true value \
                with the confidence beside it.",
        rows: |step| list(&step.limits),
        columns: &[
            ("workload", "/workload"),
            ("limit on", "/result/name"),
            ("statistic", "/result/statistic"),
            ("allowed", "/result/limit_ns"),
            ("measured", "/result/measured_ns"),
            ("interval from", "/result/interval_low_ns"),
            ("to", "/result/interval_high_ns"),
            ("confidence", "/result/confidence"),
            ("samples", "/result/samples"),
            ("verdict", "/result/verdict"),
            ("why", "/result/reason"),
            ("room", "/result/margin"),
            ("worst tile", "/worst_tile"),
        ],
    },
    StepTable {
        title: "Hosts",
        about: "Duration of a host's I/Os, divided by that of the same kinds on all other hosts: 1 \
                is equal. A host that breaks a limit fails the step.",
        rows: |step| list(&step.hosts),
        columns: &[
            ("host", "/host"),
            ("its tiles", "/tiles"),
            ("I/Os and calls", "/operations_per_s"),
            ("times the others'", "/against_others/times"),
            ("interval from", "/against_others/low"),
            ("to", "/against_others/high"),
            ("samples", "/against_others/samples"),
            ("began late", "/began_late_ns"),
            ("slices requested again", "/slices_fetched"),
        ],
    },
    StepTable {
        title: "Limits of each host's tiles together",
        about: "A host that breaks a limit fails the step.",
        rows: |step| {
            let of_host = |host: &run_store::run::HostStep| {
                let named = |limit| json!({ "host": host.host, "limit": limit });
                host.limits.iter().map(named).collect::<Vec<_>>()
            };
            step.hosts.iter().flat_map(of_host).collect()
        },
        columns: &[
            ("host", "/host"),
            ("workload", "/limit/workload"),
            ("limit on", "/limit/result/name"),
            ("statistic", "/limit/result/statistic"),
            ("allowed", "/limit/result/limit_ns"),
            ("measured", "/limit/result/measured_ns"),
            ("verdict", "/limit/result/verdict"),
        ],
    },
    StepTable {
        title: "Events",
        about: "Duration of I/Os and calls of tiles not affected by the event, divided by that of \
                the same kinds before it: 1 is unchanged.",
        rows: |step| step.events.iter().map(|own| json!({ "text": own.told() })).collect(),
        columns: &[("what happened", "/text")],
    },
    StepTable {
        title: "Cost of infrastructure operations",
        about: "Mean response times of the tiles' actions in slices in which an operation did \
                I/O, divided by those in the other slices.",
        rows: |step| list(step.under_operations.as_slice()),
        columns: &[
            ("operations, share of time", "/share_of_time"),
            ("slowdown of tiles' actions", "/against_rest/times"),
            ("interval from", "/against_rest/low"),
            ("to", "/against_rest/high"),
            ("samples", "/against_rest/samples"),
        ],
    },
    StepTable {
        title: "Energy of the measured time",
        about: "Readings of each meter.",
        rows: |step| step.power.as_ref().map_or_else(Vec::new, |power| list(&power.meters)),
        columns: &[
            ("meter", "/meter"),
            ("mean W", "/mean_watts"),
            ("most W", "/most_watts"),
            ("J", "/joules"),
            ("by", "/by"),
            ("samples", "/samples"),
            ("longest gap", "/gap_max_ns"),
            ("faults", "/faults"),
        ],
    },
    StepTable {
        title: "I/O of the measured time",
        about: "Service time: from submission to completion. Percentiles are at most 0.8 % too \
            long.",
        rows: |step| list(&step.io),
        columns: &[
            ("direction", "/direction"),
            ("number", "/count"),
            ("failed", "/errors"),
            ("rate", "/operations_per_s"),
            ("throughput", "/bytes_per_s"),
            ("median", "/service/p50_ns"),
            ("p95", "/service/p95_ns"),
            ("p99", "/service/p99_ns"),
            ("p99.9", "/service/p999_ns"),
            ("longest", "/service/max_ns"),
        ],
    },
    StepTable {
        title: "Calls of the measured time",
        about: "Service time: from sent to answered. Failed calls have none.",
        rows: |step| list(&step.calls),
        columns: &[
            ("workload", "/workload"),
            ("call", "/kind"),
            ("answered", "/count"),
            ("failed", "/errors"),
            ("rate", "/calls_per_s"),
            ("size", "/bytes"),
            ("median", "/service/p50_ns"),
            ("p95", "/service/p95_ns"),
            ("p99", "/service/p99_ns"),
            ("p99.9", "/service/p999_ns"),
            ("longest", "/service/max_ns"),
        ],
    },
    StepTable {
        title: "Work of each workload",
        about: "A step's score is the sum over its tiles of the geometric mean of the column \"of \
                it\". Rows without a tile are infrastructure operations.",
        rows: |step| list(&step.workloads),
        columns: &[
            ("tile", "/tile"),
            ("workload", "/workload"),
            ("copy", "/copy"),
            ("did", "/metric/value"),
            ("in", "/metric/unit"),
            ("one tile's worth", "/metric/reference"),
            ("of it", "/metric/normalised"),
            ("done", "/actions/0/count"),
            ("failed", "/actions/0/errors"),
        ],
    },
    StepTable {
        title: "Checks of the measurement against itself",
        about: "A step with a failed check says so.",
        rows: |step| list(&step.checks),
        columns: &[
            ("check", "/id"),
            ("expected", "/expected"),
            ("found", "/found"),
            ("in", "/unit"),
            ("tolerance", "/tolerance"),
            ("passed", "/passed"),
        ],
    },
];

/// Adds tables of all lists of the run's steps; empty tables are left out.
pub fn of_steps(page: &mut Page, run: &Run) {
    for StepTable { title, about, rows, columns } in &STEP_TABLES {
        let mut head = vec![("step, repeat", ""), ("tiles", "")];
        head.extend_from_slice(columns);
        let row = |step: &Step, value: &Value| {
            let place = [format!("{}, {}", step.step, step.repeat), step.tiles.to_string()];
            let cells = columns.iter().map(|(_, path)| cell(value, path));
            place.map(Cell::number).into_iter().chain(cells).collect()
        };
        let of_step =
            |step: &Step| rows(step).iter().map(|value| row(step, value)).collect::<Vec<_>>();
        let rows: Vec<Vec<Cell>> = run.steps.iter().flat_map(of_step).collect();
        write(page, (title, about), &head, rows);
    }
}

/// Adds tables of the meters, and of the plan's values.
pub fn of_run(page: &mut Page, run: &Run) {
    let mut table = |title, about, values: &[Value], columns: &[(&str, &str)]| {
        let row = |value| columns.iter().map(|(_, path)| cell(value, path)).collect();
        write(page, (title, about), columns, values.iter().map(row).collect());
    };
    let columns = [
        ("meter", "/name"),
        ("scope", "/scope"),
        ("what it is", "/model"),
        ("notes", "/notes"),
        ("method", "/method"),
        ("every", "/period_ns"),
        ("resolution, W", "/resolution_watts"),
        ("uncertainty", "/uncertainty"),
        ("idle W", "/idle_watts"),
    ];
    table("Meters", "Power meters read during the run.", &list(&run.meters), &columns);
    let columns = [("key", "/key"), ("value", "/value"), ("origin", "/origin")];
    table("Values of the plan", "Each value with its origin.", &list(&run.plan), &columns);
}

fn write(
    page: &mut Page,
    (title, about): (&str, &str),
    head: &[(&str, &str)],
    rows: Vec<Vec<Cell>>,
) {
    if !rows.is_empty() {
        page.heading(title);
        page.table(about, &head.iter().map(|(head, _)| *head).collect::<Vec<_>>(), rows);
    }
}

fn list<T: Serialize>(items: &[T]) -> Vec<Value> {
    items.iter().map(|item| serde_json::to_value(item).unwrap_or_default()).collect()
}

fn cell(row: &Value, path: &str) -> Cell {
    let name = path.rsplit('/').next().unwrap_or_default();
    match row.pointer(path) {
        Some(value) if value.is_string() || value.is_array() => Cell::text(text(name, value)),
        Some(value) => Cell::number(text(name, value)),
        None => Cell::text("none"),
    }
}

/// Formats a value by the field's name: `_ns` is a time, a share a percentage.
fn text(name: &str, value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::Bool(is_so) => if *is_so { "yes" } else { "no" }.to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            items.iter().map(|item| text(name, item)).collect::<Vec<_>>().join("; ")
        }
        // A figure is a value, or the reason why there is none.
        Value::Object(fields) => match (fields.get("value"), fields.get("reason")) {
            (Some(Value::Null) | None, Some(reason)) => text(name, reason),
            (Some(value), _) => text(name, value),
            (None, None) => {
                let fields = fields.iter().map(|(key, value)| text(key, value));
                fields.collect::<Vec<_>>().join(" ")
            }
        },
        Value::Number(number) => match number.as_u64() {
            Some(whole) => whole_text(name, whole),
            None => fraction_text(name, number.as_f64().unwrap_or(f64::NAN)),
        },
    }
}

fn whole_text(name: &str, value: u64) -> String {
    match name {
        _ if name.ends_with("_ns") => Nanos(value).to_string(),
        "bytes" => Bytes::new(value).to_string(),
        // Tiles are numbered from 0 in files, and from 1 for people.
        "tile" | "tiles" | "worst_tile" => whole(value.saturating_add(1)),
        _ => whole(value),
    }
}

fn fraction_text(name: &str, value: f64) -> String {
    match name {
        "operations_per_s" => iops(value),
        "bytes_per_s" => bytes_per_second(value),
        "calls_per_s" | "actions_per_s" => format!("{}/s", number(value)),
        "share_of_time" | "normalised" | "tolerance" | "margin" | "confidence" | "uncertainty" => {
            percent(value)
        }
        _ => number(value),
    }
}
