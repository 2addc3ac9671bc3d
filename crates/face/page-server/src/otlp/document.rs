use std::time::Duration;

use serde_json::{Value, json};

use crate::figures::{Figure, families};
use crate::provider::Current;

/// Makes an `ExportMetricsServiceRequest` in the JSON encoding of protocol buffers, in which 64-bit
/// integers are strings (OTLP 1.5, "JSON Protobuf Encoding"). Metrics without a value are left out.
pub fn of(runs: &[Current], service: &str, now: Duration) -> Value {
    let now = now.as_nanos().to_string();
    let metrics = families(runs).into_iter().map(|family| {
        let points: Vec<Value> = family.figures.iter().map(|figure| point(figure, &now)).collect();
        let unit = family.unit.map_or("1", |(_, unit)| unit);
        json!({
            "name": family.dotted, "description": family.help, "unit": unit,
            "gauge": { "dataPoints": points },
        })
    });
    let version = env!("CARGO_PKG_VERSION");
    json!({
        "resourceMetrics": [{
            "resource": { "attributes": [
                attribute("service.name", service),
                attribute("service.version", version),
            ] },
            "scopeMetrics": [{
                "scope": { "name": "tilemark", "version": version },
                "metrics": metrics.collect::<Vec<Value>>(),
            }],
        }],
    })
}

fn point(figure: &Figure, now: &str) -> Value {
    let labels = figure.labels.iter().map(|(key, value)| match *key {
        // The only key with a name in the semantic conventions.
        "direction" => attribute("disk.io.direction", value),
        key => attribute(&format!("tilemark.{key}"), value),
    });
    let attributes: Vec<Value> = labels.collect();
    json!({ "timeUnixNano": now, "asDouble": figure.value, "attributes": attributes })
}

fn attribute(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}
