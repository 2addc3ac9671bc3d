//! Figures in the OpenMetrics text format.

use std::fmt;
use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};

use crate::figures::{KINDS, figures};
use crate::provider::Current;

/// OpenMetrics 1.0, as Prometheus asks for it.
pub const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

type Labels = Vec<(&'static str, String)>;
type Numbers = Family<Labels, Gauge<f64, AtomicU64>>;

/// What is known of these runs.
pub fn text(runs: &[Current]) -> Result<String, fmt::Error> {
    let figures = figures(runs);
    let mut registry = Registry::with_prefix("tilemark");
    for kind in &KINDS {
        let family = Numbers::default();
        for figure in figures.iter().filter(|figure| figure.kind == kind) {
            family.get_or_create(&figure.labels).set(figure.value);
        }
        match kind.unit {
            Some((unit, _)) => {
                let unit = match unit {
                    "seconds" => Unit::Seconds,
                    other => Unit::Other(other.to_owned()),
                };
                registry.register_with_unit(kind.name, kind.help, unit, family);
            }
            None => registry.register(kind.name, kind.help, family),
        }
    }
    let mut text = String::new();
    encode(&mut text, &registry)?;
    Ok(text)
}
