//! Converts columns to records.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, UInt16Type};
use arrow_array::{Array, ArrayRef, BooleanArray, PrimitiveArray, RecordBatch};
use units::Nanos;
use untrusted::Malformed;

use super::encode::OPERATIONS;
use super::schema;
use crate::{DeviceIndex, Flags, IoRecord, Operation, TraceInfo, VmIndex};

/// Indices of the names in each column.
#[derive(Debug)]
pub(super) struct Lookup {
    vms: BTreeMap<String, u16>,
    devices: BTreeMap<String, u16>,
    operations: BTreeMap<String, u16>,
}

impl Lookup {
    pub(super) fn new(info: &TraceInfo) -> Self {
        fn index<'a>(names: impl Iterator<Item = &'a str>) -> BTreeMap<String, u16> {
            (0..=u16::MAX).zip(names).map(|(index, name)| (name.to_owned(), index)).collect()
        }
        Self {
            vms: index(info.vms.iter().map(String::as_str)),
            devices: index(info.devices.iter().map(|device| device.name.as_str())),
            operations: index(OPERATIONS.iter().map(|operation| operation.name())),
        }
    }

    fn of(&self, column: &str) -> &BTreeMap<String, u16> {
        match column {
            schema::VM => &self.vms,
            schema::DEVICE => &self.devices,
            _ => &self.operations,
        }
    }

    /// Returns the index of a name in a column; the error describes an unknown name.
    pub(super) fn index(&self, column: &str, name: &str) -> Result<u16, Malformed> {
        let index = self.of(column).get(name).copied();
        index.ok_or_else(|| format!("column \"{column}\" has the unknown name \"{name}\"").into())
    }
}

/// Converts batches of one row group to records.
#[derive(Debug)]
pub(super) struct Decoder {
    lookup: Arc<Lookup>,
    /// Values that all records of the row group share, so that their columns need not be read.
    template: IoRecord,
    vms: Translation,
    devices: Translation,
    operations: Translation,
}

/// Translation of a column's dictionary to indices, for the last batch.
#[derive(Debug, Default)]
struct Translation {
    dictionary: Option<ArrayRef>,
    indices: Vec<u16>,
}

impl Decoder {
    pub(super) fn new(lookup: Arc<Lookup>, template: IoRecord) -> Self {
        Self {
            lookup,
            template,
            vms: Translation::default(),
            devices: Translation::default(),
            operations: Translation::default(),
        }
    }

    /// Appends the batch's records.
    pub(super) fn append(
        &mut self,
        batch: &RecordBatch,
        out: &mut Vec<IoRecord>,
    ) -> Result<(), Malformed> {
        let first = out.len();
        out.resize(first + batch.num_rows(), self.template);
        let records = &mut out[first..];
        let schema = batch.schema();
        for (field, column) in schema.fields().iter().zip(batch.columns()) {
            self.column(field.name(), column, records)
                .map_err(|reason| format!("column \"{}\": {reason}", field.name()))?;
        }
        Ok(())
    }

    fn column(
        &mut self,
        name: &str,
        column: &ArrayRef,
        records: &mut [IoRecord],
    ) -> Result<(), Malformed> {
        match name {
            schema::ISSUE => unsigned(column, records, |record, value| record.issue = Nanos(value)),
            schema::OFFSET => unsigned(column, records, |record, value| record.offset = value),
            schema::LENGTH => length(column, records),
            schema::QUEUE => maybe(column, records, |record| &mut record.queue),
            schema::DEVICE_TIME => maybe(column, records, |record| &mut record.device_time),
            schema::OUTSTANDING => outstanding(column, records),
            schema::VM => self.vms.column(&self.lookup.vms, column, records, |record, index| {
                record.vm = VmIndex(index);
            }),
            schema::DEVICE => {
                self.devices.column(&self.lookup.devices, column, records, |record, index| {
                    record.device = DeviceIndex(index);
                })
            }
            schema::OPERATION => {
                self.operations.column(&self.lookup.operations, column, records, |record, index| {
                    record.operation = operation(index);
                })
            }
            other => match schema::FLAGS.iter().find(|(flag, _)| *flag == other) {
                Some((_, flag)) => flags(column, *flag, records),
                None => Err("the column was not requested".into()),
            },
        }
    }
}

/// Returns the operation of an index from [`Lookup`].
pub(super) fn operation(index: u16) -> Operation {
    OPERATIONS[usize::from(index).min(OPERATIONS.len() - 1)]
}

fn numbers<T: arrow_array::ArrowPrimitiveType>(
    column: &ArrayRef,
) -> Result<&PrimitiveArray<T>, Malformed> {
    column
        .as_primitive_opt()
        .ok_or_else(|| format!("it has the type {}", column.data_type()).into())
}

/// Returns the values of a column; fails if one is missing or negative.
fn values(column: &ArrayRef) -> Result<&[i64], Malformed> {
    let array = numbers::<Int64Type>(column)?;
    if array.null_count() > 0 {
        return Err("a value is missing".into());
    }
    not_negative(array.values())?;
    Ok(array.values())
}

fn not_negative(values: &[i64]) -> Result<(), Malformed> {
    let any = values.iter().fold(0, |any, value| any | value);
    if any < 0 { Err("a value is negative".into()) } else { Ok(()) }
}

fn unsigned(
    column: &ArrayRef,
    records: &mut [IoRecord],
    set: impl Fn(&mut IoRecord, u64),
) -> Result<(), Malformed> {
    for (record, value) in records.iter_mut().zip(values(column)?) {
        set(record, value.cast_unsigned());
    }
    Ok(())
}

fn length(column: &ArrayRef, records: &mut [IoRecord]) -> Result<(), Malformed> {
    let values = values(column)?;
    let mut is_long = false;
    for (record, value) in records.iter_mut().zip(values) {
        let length = u32::try_from(*value);
        is_long |= length.is_err();
        record.length = length.unwrap_or(u32::MAX);
    }
    if is_long { Err(format!("a value is above {}", u32::MAX).into()) } else { Ok(()) }
}

fn maybe(
    column: &ArrayRef,
    records: &mut [IoRecord],
    part: impl Fn(&mut IoRecord) -> &mut Option<Nanos>,
) -> Result<(), Malformed> {
    let array = numbers::<Int64Type>(column)?;
    if array.null_count() == 0 {
        not_negative(array.values())?;
        for (record, value) in records.iter_mut().zip(array.values()) {
            *part(record) = Some(Nanos(value.cast_unsigned()));
        }
        return Ok(());
    }
    for (record, value) in records.iter_mut().zip(array) {
        let time = value.map(u64::try_from).transpose();
        *part(record) = time.map_err(|_| "a value is negative")?.map(Nanos);
    }
    Ok(())
}

fn outstanding(column: &ArrayRef, records: &mut [IoRecord]) -> Result<(), Malformed> {
    let array = numbers::<Int32Type>(column)?;
    let wrong = |value| format!("the value {value} is not from 0 to {}", u16::MAX);
    if array.null_count() == 0 {
        let any = array.values().iter().fold(0, |any, value| any | value);
        u16::try_from(any).map_err(|_| wrong(any))?;
        for (record, value) in records.iter_mut().zip(array.values()) {
            record.outstanding = u16::try_from(*value).ok();
        }
        return Ok(());
    }
    for (record, value) in records.iter_mut().zip(array) {
        record.outstanding = match value {
            None => None,
            Some(value) => Some(u16::try_from(value).map_err(|_| wrong(value))?),
        };
    }
    Ok(())
}

fn flags(column: &ArrayRef, flag: Flags, records: &mut [IoRecord]) -> Result<(), Malformed> {
    let array: &BooleanArray =
        column.as_boolean_opt().ok_or_else(|| format!("it has the type {}", column.data_type()))?;
    for index in array.values().set_indices() {
        records[index].flags = records[index].flags.with(flag);
    }
    Ok(())
}

impl Translation {
    fn column(
        &mut self,
        known: &BTreeMap<String, u16>,
        column: &ArrayRef,
        records: &mut [IoRecord],
        set: impl Fn(&mut IoRecord, u16),
    ) -> Result<(), Malformed> {
        let array = column
            .as_dictionary_opt::<UInt16Type>()
            .ok_or_else(|| format!("it has the type {}", column.data_type()))?;
        self.update(known, array.values())?;
        let keys = array.keys();
        if keys.null_count() == 0 {
            for (record, key) in records.iter_mut().zip(keys.values()) {
                set(record, self.indices[usize::from(*key)]);
            }
            return Ok(());
        }
        for (record, key) in records.iter_mut().zip(keys) {
            set(record, key.map_or(0, |key| self.indices[usize::from(key)]));
        }
        Ok(())
    }

    fn update(
        &mut self,
        known: &BTreeMap<String, u16>,
        dictionary: &ArrayRef,
    ) -> Result<(), Malformed> {
        if self.dictionary.as_ref().is_some_and(|last| Arc::ptr_eq(last, dictionary)) {
            return Ok(());
        }
        let names = dictionary
            .as_string_opt::<i32>()
            .ok_or_else(|| format!("its names have the type {}", dictionary.data_type()))?;
        let indices = names.iter().map(|name| {
            let name = name.unwrap_or_default();
            known
                .get(name)
                .copied()
                .ok_or_else(|| Malformed::from(format!("\"{name}\" is unknown")))
        });
        self.indices = indices.collect::<Result<_, _>>()?;
        self.dictionary = Some(Arc::clone(dictionary));
        Ok(())
    }
}
