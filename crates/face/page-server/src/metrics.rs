//! Metrics in the OpenMetrics text format.

use std::fmt::Display;
use std::io;

use run_store::openmetrics::{END, family, labels, sample};

use crate::figures::families;
use crate::provider::Current;

/// Returns the metrics of these runs as text.
pub fn text(runs: &[Current]) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    for of in families(runs) {
        let unit = of.unit.map_or("", |(unit, _)| unit);
        family(&mut text, &of.name, "gauge", unit, &format!("{}.", of.help))?;
        for figure in &of.figures {
            let pairs = figure.labels.iter().map(|(name, value)| (*name, value as &dyn Display));
            let labels = labels(&pairs.collect::<Vec<_>>());
            sample(&mut text, &of.name, &labels, format_args!("{:?}", figure.value))?;
        }
    }
    text.extend_from_slice(END.as_bytes());
    Ok(text)
}
