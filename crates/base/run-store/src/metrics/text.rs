use std::fmt::Display;
use std::io;

use crate::metrics::{Family, Kind, Sample, Value};
use crate::openmetrics::{END, Times, family, histogram, labels, sample};

/// Encodes families as OpenMetrics text, with classic histograms.
///
/// # Errors
/// None in practice, because the text is written to memory.
pub fn text(families: &[Family]) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    for own in families {
        let (kind, end) = match own.kind {
            Kind::Counter => ("counter", "_total"),
            Kind::Gauge => ("gauge", ""),
            Kind::Histogram => ("histogram", ""),
        };
        family(&mut text, own.name, kind, own.unit, own.help)?;
        let name = format!("{}{end}", own.name);
        own.samples.iter().try_for_each(|own| write(&mut text, &name, own))?;
    }
    text.extend_from_slice(END.as_bytes());
    Ok(text)
}

fn write(to: &mut Vec<u8>, name: &str, own: &Sample) -> io::Result<()> {
    let pairs: Vec<(&str, &dyn Display)> =
        own.labels.iter().map(|(name, value)| (*name, value as &dyn Display)).collect();
    match &own.value {
        Value::Count(count) => sample(to, name, &labels(&pairs), count),
        Value::Number(number) => sample(to, name, &labels(&pairs), format_args!("{number:?}")),
        Value::Times(times) => {
            let count = times.count();
            let above = |limit| count - times.count_within(limit);
            histogram(to, name, &pairs, &Times { count, sum_ns: times.sum_ns, above: &above })
        }
    }
}
