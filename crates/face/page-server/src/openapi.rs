//! OpenAPI 3.1 document of the interface, generated from the types of the answers.
//!
//! OpenAPI 3.1 uses JSON Schema 2020-12 unchanged (OpenAPI Specification 3.1.1, 4.8.24), so the
//! types' schemas are included as they are; they are only moved to another place in the document.

use run_store::rundir::Event;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};
use view::View;
use view::document as doc;

use crate::problem::Problem;

/// Version of the interface. Minor versions only add fields and paths.
pub const VERSION: &str = "1.0";

/// Returns the OpenAPI document of the interface.
pub fn document() -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    let mut schemas = settings.into_generator();
    let paths = paths(&mut schemas);
    json!({
        "openapi": "3.1.1",
        "info": {
            "title": "Tilemark",
            "version": VERSION,
            "description": "Runs, stored or live. Everything is read with GET; nothing can be \
                started, changed or deleted. Numbers carry their unit in the name of the field; \
                times on a run's axis are nanoseconds of time under load.",
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "servers": [{ "url": "/", "description": "address from which this document was fetched" }],
        "paths": paths,
        "components": { "schemas": sorted(schemas.take_definitions(true)) },
    })
}

fn sorted(map: Map<String, Value>) -> Map<String, Value> {
    let mut entries: Vec<_> = map.into_iter().collect();
    entries.sort_by(|a, b| a.0.cmp(&b.0));
    entries.into_iter().collect()
}

fn paths(schemas: &mut SchemaGenerator) -> Map<String, Value> {
    let mut paths = Map::new();
    let mut add = |path: &str, operation: Value| {
        paths.insert(path.to_owned(), json!({ "get": operation }));
    };
    add(
        "/api/v1/runs",
        operation("listRuns", "Stored runs, newest first", &[], answer::<doc::RunList>(schemas)),
    );
    add(
        "/api/v1/runs/{id}",
        operation(
            "getRun",
            "Parts of a run that do not depend on the lens",
            &[run_id("id")],
            answer::<doc::RunPage>(schemas),
        ),
    );
    for view in View::ALL {
        let mut parameters = vec![run_id("id")];
        parameters.extend(view.keys().iter().map(|key| lens_key(key)));
        add(
            &format!("/api/v1/runs/{{id}}/{}", view.name()),
            operation(
                &operation_id(view),
                "A view through a lens",
                &parameters,
                view_answer(view, schemas),
            ),
        );
    }
    add(
        "/api/v1/runs/{id}/events",
        operation(
            "listEvents",
            "Events of the run",
            &[run_id("id")],
            answer::<doc::EventList>(schemas),
        ),
    );
    add("/api/v1/runs/{id}/live", live(schemas));
    add(
        "/api/v1/compare",
        operation(
            "compareRuns",
            "Run b compared with run a",
            &[run_query("a"), run_query("b")],
            answer::<doc::ComparePage>(schemas),
        ),
    );
    let runs = json!({ "type": "array", "minItems": 1, "maxItems": 24,
        "items": { "type": "string", "pattern": RUN_ID } });
    let mut run = parameter("run", "query", "Ids of runs, one parameter each", runs);
    run["required"] = true.into();
    add(
        "/api/v1/trend",
        operation(
            "trendRuns",
            "Complete runs side by side, oldest first, each compared with the first",
            &[run],
            answer::<doc::RunsTrend>(schemas),
        ),
    );
    add(
        "/api/v1/studies",
        operation(
            "listStudies",
            "Own and shipped results of studies",
            &[],
            answer::<doc::StudyList>(schemas),
        ),
    );
    let name = parameter("name", "path", "Name of a study", json!({ "type": "string" }));
    add(
        "/api/v1/studies/{name}",
        operation(
            "getStudy",
            "A study's claims, with published and own values",
            &[name],
            answer::<doc::StudyPage>(schemas),
        ),
    );
    // Named here, because no answer contains it.
    let _ = schemas.subschema_for::<Event>();
    let problem = json!({ "application/problem+json": {
        "schema": schemas.subschema_for::<Problem>().to_value() } });
    let problem = json!({ "description": "Reason for the error (RFC 9457)", "content": problem });
    for operation in paths.values_mut() {
        operation["get"]["responses"]["default"] = problem.clone();
    }
    paths
}

fn operation(id: &str, summary: &str, parameters: &[Value], content: Value) -> Value {
    json!({
        "operationId": id,
        "summary": summary,
        "parameters": parameters,
        "responses": { "200": { "description": summary, "content": content } },
    })
}

fn live(schemas: &mut SchemaGenerator) -> Value {
    let schema = schemas.subschema_for::<doc::LiveState>();
    let content = json!({ "text/event-stream": { "schema": schema } });
    let mut operation = operation(
        "watchRun",
        "State of the run, about once a second: events named state; the last one is named end",
        &[run_id("id")],
        content,
    );
    operation["description"] = "Server-sent events; the data of each is one LiveState. Of a run \
        that has ended there is one event, end."
        .into();
    operation
}

fn answer<T: JsonSchema>(schemas: &mut SchemaGenerator) -> Value {
    json!({ "application/json": { "schema": schemas.subschema_for::<T>() } })
}

fn view_answer(view: View, schemas: &mut SchemaGenerator) -> Value {
    match view {
        View::Overview => answer::<doc::Overview>(schemas),
        View::Series | View::Actions | View::Calls => answer::<doc::Series>(schemas),
        View::HeatMap => answer::<doc::HeatMap>(schemas),
        View::Percentiles => answer::<doc::Percentiles>(schemas),
        View::Matrix => answer::<doc::LatencyMatrix>(schemas),
        View::Breaks => answer::<doc::LoadMatrix>(schemas),
        View::Map => answer::<doc::MapPage>(schemas),
        View::Moment => answer::<doc::Moment>(schemas),
        View::Curve => answer::<doc::TileCurve>(schemas),
        View::Tier => answer::<doc::TierPage>(schemas),
        View::Machine => answer::<doc::MachinePage>(schemas),
        View::Access => answer::<doc::AccessPage>(schemas),
        View::Watch => answer::<doc::WatchPage>(schemas),
    }
}

/// Returns the operation id of a view, such as `getHeatmap`.
fn operation_id(view: View) -> String {
    let name = view.name();
    let (first, rest) = name.split_at(1);
    format!("get{}{rest}", first.to_ascii_uppercase())
}

fn parameter(name: &str, place: &str, description: &str, schema: Value) -> Value {
    json!({
        "name": name, "in": place, "required": place == "path",
        "description": description, "schema": schema,
    })
}

fn run_id(name: &str) -> Value {
    parameter(name, "path", "Id of a run", json!({ "type": "string", "pattern": RUN_ID }))
}

fn run_query(name: &str) -> Value {
    let mut value =
        parameter(name, "query", "Id of a run", json!({ "type": "string", "pattern": RUN_ID }));
    value["required"] = true.into();
    value
}

/// Pattern of ids, as [`run_store::rundir::RunId::parse`] reads them.
const RUN_ID: &str = "^[0-9]{8}T[0-9]{6}Z-[a-z0-9-]+-[a-z0-9]{6}$";

/// Returns the schema of a key of the lens, as `view::Request` parses it.
fn lens_key(key: &str) -> Value {
    let text = |pattern: &str| json!({ "type": "string", "pattern": pattern });
    let one_of = |names: &[&str]| json!({ "type": "string", "enum": names });
    let number = |most: u64| json!({ "type": "integer", "minimum": 1, "maximum": most });
    let sizes = "(0k|4k|8k|16k|32k|64k|128k|256k)";
    let (description, schema) = match key {
        "t" => (
            "Time on the run's axis in seconds, from-to or from- to the end [default: all measured \
             time]",
            text(r"^[0-9]+(\.[0-9]{1,3})?-([0-9]+(\.[0-9]{1,3})?)?$"),
        ),
        "step" => ("Step of the ladder, from 1 [default: all]", number(u32::MAX.into())),
        "dir" => ("Reads or writes [default: both]", one_of(&["r", "w"])),
        "bs" => (
            "Classes of sizes by their lower edges, separated by commas [default: all]",
            text(&format!("^{sizes}(,{sizes})*$")),
        ),
        "sel" => (
            "Pairs of direction and class of sizes, separated by commas: w64k,r4k [default: all]",
            text(&format!("^[rw]{sizes}(,[rw]{sizes})*$")),
        ),
        "tile" => (
            "Tiles, from 1, separated by commas [default: all]",
            text("^[1-9][0-9]*(,[1-9][0-9]*)*$"),
        ),
        "host" => (
            "Hosts that drove the load, separated by commas [default: all]",
            json!({ "type": "string" }),
        ),
        "wl" => ("Workloads, separated by commas [default: all]", json!({ "type": "string" })),
        "m" => ("Measured quantity [default: iops]", one_of(&["iops", "bw", "lat"])),
        "by" => (
            "Lines of the diagram [default: rw]",
            one_of(&["none", "rw", "bs", "wl", "tile", "host", "sel"]),
        ),
        "at" => (
            "A moment on the run's axis, seconds [default: the worst]",
            text(r"^[0-9]+(\.[0-9]{1,3})?$"),
        ),
        "points" => ("Maximum number of points over time [default: 600]", number(4000)),
        "rows" => ("Rows of the heat map [default: 120]", number(240)),
        _ => ("", json!({ "type": "string" })),
    };
    parameter(key, "query", description, schema)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_of_a_lens_is_described() {
        for key in View::ALL.iter().flat_map(|view| view.keys()) {
            assert_ne!(lens_key(key)["description"], "", "{key}");
        }
    }

    #[test]
    fn every_reference_leads_somewhere() {
        let document = document();
        let schemas = document["components"]["schemas"].as_object().expect("schemas");
        let text = document.to_string();
        for part in text.split("\"$ref\":\"").skip(1) {
            let reference = part.split('"').next().expect("an end");
            let name = reference.strip_prefix("#/components/schemas/").expect(reference);
            assert!(schemas.contains_key(name), "{reference}");
        }
    }

    #[test]
    fn the_stored_document_is_that_of_the_types() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/schemas/openapi.json");
        let fresh = serde_json::to_string_pretty(&document()).expect("JSON") + "\n";
        if std::env::var_os("TILEMARK_UPDATE").is_some() {
            std::fs::write(path, &fresh).expect("writable docs/schemas");
        }
        let stored = std::fs::read_to_string(path).unwrap_or_default();
        assert!(stored == fresh, "docs/schemas/openapi.json: run this with TILEMARK_UPDATE=1");
    }
}
