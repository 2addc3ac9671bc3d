use std::sync::Arc;

use arrow_array::builder::{Float64Builder, ListBuilder};
use arrow_array::types::{Float64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, BinaryArray, Float64Array, ListArray};
use arrow_array::{PrimitiveArray, RecordBatch, StringArray, UInt32Array, UInt64Array};
use arrow_schema::{Field, Schema};
use stats::Compact;
use units::Nanos;
use untrusted::Malformed;

use crate::hdr_v2;
use crate::quantile::Summary;

/// Suffix of the names of histogram columns.
pub(super) const HISTOGRAM: &str = "_histogram";

/// Function that reads one value of a summary.
type Part = fn(&Summary) -> Nanos;

/// Columns of one batch, in the order of the file.
#[derive(Default)]
pub(super) struct Columns {
    fields: Vec<Field>,
    arrays: Vec<ArrayRef>,
}

impl Columns {
    fn push(&mut self, name: impl Into<String>, array: ArrayRef, nullable: bool) {
        self.fields.push(Field::new(name, array.data_type().clone(), nullable));
        self.arrays.push(array);
    }

    pub(super) fn u32(&mut self, name: &str, values: impl Iterator<Item = u32>) {
        self.push(name, Arc::new(UInt32Array::from_iter_values(values)), false);
    }

    pub(super) fn maybe_u32(&mut self, name: &str, values: impl Iterator<Item = Option<u32>>) {
        self.push(name, Arc::new(values.collect::<UInt32Array>()), true);
    }

    pub(super) fn u64(&mut self, name: impl Into<String>, values: impl Iterator<Item = u64>) {
        self.push(name, Arc::new(UInt64Array::from_iter_values(values)), false);
    }

    fn maybe_u64(&mut self, name: String, values: impl Iterator<Item = Option<u64>>) {
        self.push(name, Arc::new(values.collect::<UInt64Array>()), true);
    }

    pub(super) fn f64(&mut self, name: &str, values: impl Iterator<Item = f64>) {
        self.push(name, Arc::new(Float64Array::from_iter_values(values)), false);
    }

    pub(super) fn text<'a>(&mut self, name: &str, values: impl Iterator<Item = &'a str>) {
        self.push(name, Arc::new(StringArray::from_iter_values(values)), false);
    }

    pub(super) fn maybe_text<'a>(
        &mut self,
        name: &str,
        values: impl Iterator<Item = Option<&'a str>>,
    ) {
        self.push(name, Arc::new(values.collect::<StringArray>()), true);
    }

    pub(super) fn f64_lists<'a>(&mut self, name: &str, lists: impl Iterator<Item = &'a Vec<f64>>) {
        let mut builder = ListBuilder::new(Float64Builder::new());
        for list in lists {
            builder.values().append_slice(list);
            builder.append(true);
        }
        self.push(name, Arc::new(builder.finish()), false);
    }

    /// Adds the columns of a latency: its summary, its exact sum, and its histogram.
    pub(super) fn latency(&mut self, prefix: &str, histograms: &[&Compact]) {
        let summaries: Vec<Option<Summary>> = histograms.iter().map(|h| Summary::of(h)).collect();
        let parts: [(&str, Part); 7] = [
            ("min", |s| s.min),
            ("mean", |s| s.mean),
            ("p50", |s| s.p50),
            ("p95", |s| s.p95),
            ("p99", |s| s.p99),
            ("p999", |s| s.p999),
            ("max", |s| s.max),
        ];
        for (name, part) in parts {
            let values = summaries.iter().map(|summary| summary.as_ref().map(|s| part(s).0));
            self.maybe_u64(format!("{prefix}_{name}_ns"), values);
        }
        let sums = histograms.iter().map(|h| h.sum().0);
        self.u64(format!("{prefix}_sum_ns"), sums);
        self.u64(format!("{prefix}_over_1h"), histograms.iter().map(|h| h.saturated));
        let bytes = BinaryArray::from_iter_values(histograms.iter().map(|h| hdr_v2::encode(h)));
        self.push(format!("{prefix}{HISTOGRAM}"), Arc::new(bytes), false);
    }

    pub(super) fn into_batch(self) -> RecordBatch {
        RecordBatch::try_new(Arc::new(Schema::new(self.fields)), self.arrays)
            .expect("all columns were made from the same rows")
    }
}

/// Columns of a batch that was read. They are looked up by name, so that later minor versions may
/// add columns.
pub(super) struct BatchColumns<'a>(pub(super) &'a RecordBatch);

impl BatchColumns<'_> {
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.column_by_name(name).is_some()
    }

    fn array<T: Array + 'static>(&self, name: &str) -> Result<&T, Malformed> {
        let column = self.0.column_by_name(name);
        let column = column.ok_or_else(|| format!("there is no column \"{name}\""))?;
        column
            .as_any()
            .downcast_ref()
            .ok_or_else(|| format!("column \"{name}\" has the type {}", column.data_type()).into())
    }

    fn values<T: ArrowPrimitiveType>(&self, name: &str) -> Result<&[T::Native], Malformed> {
        Ok(self.array::<PrimitiveArray<T>>(name)?.values())
    }

    pub(super) fn u32(&self, name: &str) -> Result<&[u32], Malformed> {
        self.values::<UInt32Type>(name)
    }

    pub(super) fn maybe_u32(&self, name: &str) -> Result<Vec<Option<u32>>, Malformed> {
        Ok(self.array::<UInt32Array>(name)?.iter().collect())
    }

    pub(super) fn u64(&self, name: &str) -> Result<&[u64], Malformed> {
        self.values::<UInt64Type>(name)
    }

    pub(super) fn f64(&self, name: &str) -> Result<&[f64], Malformed> {
        self.values::<Float64Type>(name)
    }

    pub(super) fn text(&self, name: &str) -> Result<&StringArray, Malformed> {
        self.array(name)
    }

    pub(super) fn f64_lists(&self, name: &str) -> Result<Vec<Vec<f64>>, Malformed> {
        let lists: &ListArray = self.array(name)?;
        let unexpected = || format!("column \"{name}\" is not a list of numbers");
        (0..lists.len())
            .map(|row| {
                let list = lists.value(row);
                let list = list.as_any().downcast_ref::<Float64Array>().ok_or_else(unexpected)?;
                Ok(list.values().to_vec())
            })
            .collect()
    }

    pub(super) fn latency(&self, prefix: &str) -> Result<Vec<Compact>, Malformed> {
        let name = format!("{prefix}{HISTOGRAM}");
        let bytes: &BinaryArray = self.array(&name)?;
        let sums = self.u64(&format!("{prefix}_sum_ns"))?;
        let over = self.u64(&format!("{prefix}_over_1h"))?;
        (0..bytes.len())
            .map(|row| {
                let mut histogram = hdr_v2::decode(bytes.value(row)).map_err(|reason| {
                    format!("column \"{name}\", row {row} of a batch: {reason}")
                })?;
                (histogram.sum_ns, histogram.saturated) = (sums[row].into(), over[row]);
                Ok(histogram)
            })
            .collect()
    }
}
