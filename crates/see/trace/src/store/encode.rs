//! Converts records to columns.

use std::sync::{Arc, LazyLock};

use arrow_array::types::UInt16Type;
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, Int32Array, Int64Array, RecordBatch, StringArray,
    UInt16Array,
};
use arrow_schema::SchemaRef;
use untrusted::Malformed;

use super::names::Names;
use super::schema::FLAGS;
use crate::{IoRecord, Operation};

/// Operations in the order of their codes.
pub(super) const OPERATIONS: [Operation; 4] =
    [Operation::Read, Operation::Write, Operation::Flush, Operation::Discard];

static OPERATION_NAMES: LazyLock<Arc<StringArray>> =
    LazyLock::new(|| Arc::new(StringArray::from_iter_values(OPERATIONS.map(Operation::name))));

/// Converts records to columns; the error says why they cannot be stored.
pub(super) fn encode(
    schema: &SchemaRef,
    records: &[IoRecord],
    vms: &Names,
    devices: &Names,
) -> Result<RecordBatch, Malformed> {
    vms.check(records.iter().map(|record| record.vm.0).max().unwrap_or(0))?;
    devices.check(records.iter().map(|record| record.device.0).max().unwrap_or(0))?;
    let mut columns: Vec<ArrayRef> = vec![
        Arc::new(numbers("time of issue", "ns", records.iter().map(|record| record.issue.0))?),
        Arc::new(maybe("queue time", records, |record| record.queue)?),
        Arc::new(maybe("device time", records, |record| record.device_time)?),
        Arc::new(named(records.iter().map(|record| record.vm.0), vms.array())),
        Arc::new(named(records.iter().map(|record| record.device.0), devices.array())),
        Arc::new(named(records.iter().map(|record| record.operation as u16), &OPERATION_NAMES)),
        Arc::new(numbers("offset", "B", records.iter().map(|record| record.offset))?),
        Arc::new(Int64Array::from_iter_values(
            records.iter().map(|record| i64::from(record.length)),
        )),
        Arc::new(
            records.iter().map(|record| record.outstanding.map(i32::from)).collect::<Int32Array>(),
        ),
    ];
    for (_, flag) in FLAGS {
        let bits: Vec<bool> = records.iter().map(|record| record.flags.has(flag)).collect();
        columns.push(Arc::new(BooleanArray::from(bits)));
    }
    Ok(RecordBatch::try_new(Arc::clone(schema), columns)
        .expect("all columns have the same records and match the schema"))
}

fn signed(what: &str, unit: &str, value: u64) -> Result<i64, Malformed> {
    i64::try_from(value).map_err(|_| {
        format!(
            "a record has the {what} {value} {unit}, but the maximum of a trace is {}",
            i64::MAX
        )
        .into()
    })
}

fn numbers(
    what: &str,
    unit: &str,
    values: impl Iterator<Item = u64>,
) -> Result<Int64Array, Malformed> {
    let values: Result<Vec<i64>, Malformed> =
        values.map(|value| signed(what, unit, value)).collect();
    Ok(Int64Array::from(values?))
}

fn maybe(
    what: &str,
    records: &[IoRecord],
    part: impl Fn(&IoRecord) -> Option<units::Nanos>,
) -> Result<Int64Array, Malformed> {
    let values = records.iter().map(|record| part(record).map(|time| signed(what, "ns", time.0)));
    let values: Result<Vec<Option<i64>>, Malformed> = values.map(Option::transpose).collect();
    Ok(Int64Array::from(values?))
}

/// Translates numbers to names; the result is empty if there are no names at all.
fn named(
    keys: impl ExactSizeIterator<Item = u16>,
    names: &Arc<StringArray>,
) -> DictionaryArray<UInt16Type> {
    let keys = if names.value_data().is_empty() && names.value_offsets().len() == 1 {
        UInt16Array::new_null(keys.len())
    } else {
        UInt16Array::from_iter_values(keys)
    };
    DictionaryArray::new(keys, Arc::clone(names) as ArrayRef)
}
