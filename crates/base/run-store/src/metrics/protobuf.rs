//! Prometheus' protobuf exposition format: messages of `io.prometheus.client`, each preceded by its
//! length. Only fields that are written are declared. Their numbers are taken from `metrics.proto`
//! in Prometheus' `client_model`.

use prost::Message;
use units::Nanos;

use crate::metrics::native::{NativeBuckets, SCHEMA};
use crate::metrics::{Family, Kind, Sample, TimeBuckets, Value};
use crate::openmetrics::BUCKETS_US;

/// Media type of the protobuf format.
pub const MEDIA_TYPE: &str = "application/vnd.google.protobuf; \
                              proto=io.prometheus.client.MetricFamily; encoding=delimited";

/// Width of the bucket for times of zero, as in Prometheus' own clients. A histogram without this
/// field is taken for a classic one.
const ZERO_THRESHOLD: f64 = 1.0 / (1_u128 << 127) as f64 / 2.0;

#[derive(Clone, PartialEq, Message)]
struct MetricFamily {
    #[prost(string, optional, tag = "1")]
    name: Option<String>,
    #[prost(string, optional, tag = "2")]
    help: Option<String>,
    #[prost(enumeration = "MetricType", optional, tag = "3")]
    r#type: Option<i32>,
    #[prost(message, repeated, tag = "4")]
    metric: Vec<Metric>,
    #[prost(string, optional, tag = "5")]
    unit: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, prost::Enumeration)]
enum MetricType {
    Counter = 0,
    Gauge = 1,
    Histogram = 4,
}

#[derive(Clone, PartialEq, Message)]
struct Metric {
    #[prost(message, repeated, tag = "1")]
    label: Vec<LabelPair>,
    #[prost(message, optional, tag = "2")]
    gauge: Option<Number>,
    #[prost(message, optional, tag = "3")]
    counter: Option<Number>,
    #[prost(message, optional, tag = "7")]
    histogram: Option<Histogram>,
}

#[derive(Clone, PartialEq, Message)]
struct LabelPair {
    #[prost(string, optional, tag = "1")]
    name: Option<String>,
    #[prost(string, optional, tag = "2")]
    value: Option<String>,
}

/// Message `Gauge` or `Counter`, which have the same field.
#[derive(Clone, Copy, PartialEq, Message)]
struct Number {
    #[prost(double, optional, tag = "1")]
    value: Option<f64>,
}

#[derive(Clone, PartialEq, Message)]
struct Histogram {
    #[prost(uint64, optional, tag = "1")]
    sample_count: Option<u64>,
    #[prost(double, optional, tag = "2")]
    sample_sum: Option<f64>,
    #[prost(message, repeated, tag = "3")]
    bucket: Vec<Bucket>,
    #[prost(sint32, optional, tag = "5")]
    schema: Option<i32>,
    #[prost(double, optional, tag = "6")]
    zero_threshold: Option<f64>,
    #[prost(uint64, optional, tag = "7")]
    zero_count: Option<u64>,
    #[prost(message, repeated, tag = "12")]
    positive_span: Vec<BucketSpan>,
    #[prost(sint64, repeated, packed = "false", tag = "13")]
    positive_delta: Vec<i64>,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct Bucket {
    #[prost(uint64, optional, tag = "1")]
    cumulative_count: Option<u64>,
    #[prost(double, optional, tag = "2")]
    upper_bound: Option<f64>,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct BucketSpan {
    #[prost(sint32, optional, tag = "1")]
    offset: Option<i32>,
    #[prost(uint32, optional, tag = "2")]
    length: Option<u32>,
}

/// Encodes families as delimited protobuf messages. Histograms are native and classic at once: if
/// Prometheus is not configured to keep native histograms, it keeps the classic ones.
pub fn protobuf(families: &[Family]) -> Vec<u8> {
    families.iter().flat_map(|own| message(own).encode_length_delimited_to_vec()).collect()
}

fn message(family: &Family) -> MetricFamily {
    let (kind, end) = match family.kind {
        Kind::Counter => (MetricType::Counter, "_total"),
        Kind::Gauge => (MetricType::Gauge, ""),
        Kind::Histogram => (MetricType::Histogram, ""),
    };
    MetricFamily {
        // This format knows no names of families apart from those of samples.
        name: Some(format!("{}{end}", family.name)),
        help: Some(family.help.to_owned()),
        r#type: Some(kind.into()),
        metric: family.samples.iter().map(|sample| metric(family.kind, sample)).collect(),
        unit: Some(family.unit.to_owned()).filter(|unit| !unit.is_empty()),
    }
}

fn metric(kind: Kind, sample: &Sample) -> Metric {
    let labels = sample.labels.iter();
    let label = labels.map(|(name, value)| LabelPair {
        name: Some((*name).to_owned()),
        value: Some(value.clone()),
    });
    let mut metric = Metric { label: label.collect(), ..Metric::default() };
    let number = || Some(Number { value: Some(sample.value.number()) });
    match (kind, &sample.value) {
        (_, Value::Times(times)) => metric.histogram = Some(histogram(times)),
        (Kind::Counter, _) => metric.counter = number(),
        (Kind::Gauge | Kind::Histogram, _) => metric.gauge = number(),
    }
    metric
}

fn histogram(times: &TimeBuckets) -> Histogram {
    let native = NativeBuckets::new(times);
    let spans = native.spans.iter();
    let classic = BUCKETS_US.iter().map(|us| Bucket {
        cumulative_count: Some(times.count_within(Nanos::from_micros(*us))),
        #[expect(clippy::cast_precision_loss, reason = "a million is exact")]
        upper_bound: Some(*us as f64 / 1e6),
    });
    Histogram {
        sample_count: Some(times.count()),
        sample_sum: Some(times.sum_seconds()),
        bucket: classic.collect(),
        schema: Some(SCHEMA),
        zero_threshold: Some(ZERO_THRESHOLD),
        zero_count: Some(0),
        positive_span: spans
            .map(|(offset, length)| BucketSpan { offset: Some(*offset), length: Some(*length) })
            .collect(),
        positive_delta: native.deltas,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_delimited_and_hold_both_kinds_of_buckets() {
        let labels = vec![("vm", "web1".to_owned())];
        let buckets = vec![(Nanos::from_micros(700), 3), (Nanos::from_micros(800), 4)];
        let value = Value::Times(TimeBuckets { sum_ns: 5_300_000, buckets });
        let family = |name, kind, unit, value| Family {
            name,
            kind,
            unit,
            help: "Help.",
            samples: vec![Sample { labels: labels.clone(), value }],
        };
        let bytes = protobuf(&[
            family("a_seconds", Kind::Histogram, "seconds", value),
            family("b", Kind::Counter, "", Value::Count(7)),
        ]);
        let mut rest = &bytes[..];
        let first = MetricFamily::decode_length_delimited(&mut rest).expect("a message");
        let second = MetricFamily::decode_length_delimited(&mut rest).expect("a message");
        assert!(rest.is_empty());
        assert_eq!(first.name.as_deref(), Some("a_seconds"));
        assert_eq!(first.unit.as_deref(), Some("seconds"));
        let histogram = first.metric[0].histogram.as_ref().expect("a histogram");
        assert_eq!((histogram.sample_count, histogram.schema), (Some(7), Some(6)));
        assert_eq!(histogram.zero_threshold, Some(2.0_f64.powi(-128)));
        // At most 500 us: none; at most 1 ms: all.
        assert_eq!(histogram.bucket.len(), 12);
        assert_eq!(histogram.bucket[3].cumulative_count, Some(0));
        assert_eq!(histogram.bucket[4].cumulative_count, Some(7));
        assert_eq!(histogram.positive_delta, [3, 1]);
        assert_eq!(second.name.as_deref(), Some("b_total"));
        assert_eq!(second.metric[0].counter.as_ref().and_then(|own| own.value), Some(7.0));
    }
}
