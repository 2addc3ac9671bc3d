use std::os::unix::fs::symlink;
use std::path::Path;

use tilemark_run_store::run::Phase;
use tilemark_run_store::rundir::{RunDir, RunDirError, RunId, files};
use tilemark_run_store::series::{
    ActionRecord, CallRecord, GaugeRecord, GeneratorRecord, IoRecord, OpenOn, OpenRecord, Record,
    SeriesError, Slices, StepKey, StoredSlice, Writer, read_run,
};
use tilemark_run_store::slice::{CallRow, InstanceId, IoRow, Unfinished, VmId};
use units::{Bytes, Nanos};

use crate::sample;

fn key(step: u32, phase: Phase) -> StepKey {
    StepKey { step, tiles: 2, repeat: 1, phase }
}

fn rows<R: Record>(directory: &Path) -> Vec<R> {
    read_run(directory).expect("opens").collect::<Result<_, _>>().expect("reads")
}

fn write(writer: &mut Writer, step: u32, seconds: u64) {
    for second in 0..seconds {
        let phase = if second < 2 { Phase::WarmUp } else { Phase::Measured };
        let slice = sample::slice(second);
        writer.append(key(step, phase), &sample::topology(), &slice).expect("appends");
        writer.gauges(key(step, phase), &slice, &sample::gauges()).expect("appends");
    }
}

#[test]
fn every_row_of_every_series_reads_back_as_it_was_reported() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut writer = Writer::create(dir.path()).expect("creates");
    write(&mut writer, 1, 4);
    write(&mut writer, 2, 3);
    writer.finish().expect("finishes");
    assert!(!dir.path().join(files::PARTS).exists());

    let io: Vec<IoRecord> = rows(dir.path());
    assert_eq!(io.len(), 7 * 8);
    let (record, row): (_, IoRow) = (&io[4 * 8 + 3], sample::slice(0).io[3].clone());
    assert_eq!(record.key, key(2, Phase::WarmUp));
    assert_eq!((record.start, record.width), (Nanos::ZERO, Nanos::SECOND));
    assert_eq!((record.vm.as_str(), record.kind.as_str()), ("tile-0/shop/web", "log-append"));
    assert_eq!((record.direction, record.class), (row.direction, row.class));
    assert_eq!((record.bytes, record.errors), (row.bytes, row.errors));
    assert_eq!((&record.service, &record.response), (&row.service, &row.response));

    let actions: Vec<ActionRecord> = rows(dir.path());
    assert_eq!(actions.len(), 7 * 2);
    assert_eq!((actions[1].tile, actions[1].action.as_str()), (Some(1), "browse"));
    assert_eq!((actions[1].dropped, actions[1].response.count()), (2, 0));

    let generator: Vec<GeneratorRecord> = rows(dir.path());
    assert_eq!(generator.len(), 7);
    assert_eq!(generator[6].row, sample::slice(2).generator);

    let open: Vec<OpenRecord> = rows(dir.path());
    assert_eq!(open.len(), 7);
    assert_eq!(
        (open[0].tile, open[0].name.as_str(), open[0].on),
        (Some(1), "order", OpenOn::Action)
    );
    assert_eq!(open[0].ages, sample::slice(0).open[0].ages);

    let gauges: Vec<GaugeRecord> = rows(dir.path());
    assert_eq!(gauges.len(), 7 * 2);
    assert_eq!(gauges[1].gauge, sample::gauges()[1]);
    let slices: Vec<StoredSlice> =
        Slices::of(dir.path()).expect("opens").collect::<Result<_, _>>().expect("reads");
    assert!(slices.iter().all(|slice| slice.open.len() == 1 && slice.gauges == sample::gauges()));
}

#[test]
fn calls_have_a_file_of_their_own_where_there_are_any() {
    let (without, with) = (tempfile::tempdir().expect("one"), tempfile::tempdir().expect("two"));
    let mut writer = Writer::create(without.path()).expect("creates");
    write(&mut writer, 1, 1);
    writer.finish().expect("finishes");
    assert!(!without.path().join(files::CALLS).exists());
    assert_eq!(rows::<CallRecord>(without.path()), []);

    let mut slice = sample::slice(0);
    let (service, response) = (slice.io[0].service.clone(), slice.io[0].response.clone());
    let call = CallRow {
        instance: InstanceId(1),
        kind: 0,
        bytes: Bytes::new(700),
        errors: [1, 2, 3, 4, 5],
        service,
        response,
    };
    slice.calls.push(call.clone());
    slice.open[0].what = Unfinished::Call(0);
    let mut writer = Writer::create(with.path()).expect("creates");
    writer.append(key(1, Phase::Measured), &sample::topology(), &slice).expect("appends");
    writer.finish().expect("finishes");
    let records: Vec<CallRecord> = rows(with.path());
    let record = &records[0];
    assert_eq!((records.len(), record.tile, record.bytes), (1, Some(1), call.bytes));
    assert_eq!(record.kind, sample::topology().instances[1].kinds[0]);
    assert_eq!((record.errors, &record.service), (call.errors, &call.service));
    assert_eq!(record.response, call.response);
    assert_eq!(rows::<OpenRecord>(with.path())[0].on, OpenOn::Call);
    let stored: Vec<StoredSlice> =
        Slices::of(with.path()).expect("opens").collect::<Result<_, _>>().expect("reads");
    assert_eq!(stored[0].calls, records);
}

#[test]
fn a_killed_run_keeps_every_part_that_was_complete() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut writer = Writer::create(dir.path()).expect("creates");
    write(&mut writer, 1, 3);
    write(&mut writer, 2, 1);
    std::mem::forget(writer);
    let io: Vec<IoRecord> = rows(dir.path());
    assert_eq!(io.len(), 3 * 8, "step 1 is whole, step 2 was open");
    assert!(io.iter().all(|record| record.key.step == 1));
}

#[test]
fn a_dropped_writer_completes_what_it_had() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut writer = Writer::create(dir.path()).expect("creates");
    write(&mut writer, 1, 3);
    drop(writer);
    assert_eq!(rows::<IoRecord>(dir.path()).len(), 3 * 8);
}

#[test]
fn a_run_without_rows_has_files_without_rows() {
    let dir = tempfile::tempdir().expect("a directory");
    Writer::create(dir.path()).expect("creates").finish().expect("finishes");
    assert!(dir.path().join(files::SERIES).exists());
    assert_eq!(rows::<IoRecord>(dir.path()), []);
}

#[test]
fn parts_are_completed_every_minute_of_load() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut writer = Writer::create(dir.path()).expect("creates");
    write(&mut writer, 1, 200);
    std::mem::forget(writer);
    assert_eq!(rows::<IoRecord>(dir.path()).len(), 182 * 8, "2 s of warm-up and three minutes");
}

#[test]
fn a_full_disk_is_named_and_the_run_stays_partial() {
    let base = tempfile::tempdir().expect("a directory");
    let id = RunId::new("full", jiff::Timestamp::UNIX_EPOCH).expect("random letters");
    let dir = RunDir::create(base.path(), &id).expect("creates");
    let mut writer = dir.series().expect("creates");
    let part = dir.path().join(files::PARTS).join("series-00001.parquet.tmp");
    symlink("/dev/full", &part).expect("links");
    write(&mut writer, 1, 2);
    let next = writer.append(key(2, Phase::Measured), &sample::topology(), &sample::slice(0));
    let error = next.expect_err("no space");
    assert!(error.to_string().contains("series-00001.parquet"), "{error}");
    assert!(error.to_string().contains("No space left"), "{error}");
    assert!(error.hint().is_some(), "{error:?}");
    assert!(matches!(writer.finish(), Err(SeriesError::Broken { .. })));
    assert!(matches!(dir.finish(), Err(RunDirError::SeriesOpen { .. })));
}

#[test]
fn a_slice_that_names_an_unknown_vm_is_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut writer = Writer::create(dir.path()).expect("creates");
    let mut slice = sample::slice(0);
    slice.io[0].vm = VmId(9);
    let error = writer.append(key(1, Phase::Measured), &sample::topology(), &slice);
    assert_eq!(
        error.expect_err("unknown").to_string(),
        "a slice has VM 9, but its step has only 4 of them"
    );
}

#[test]
fn a_file_that_is_no_series_is_refused_with_its_name() {
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::write(dir.path().join(files::SERIES), "not parquet").expect("writes");
    let error = read_run::<IoRecord>(dir.path()).expect("opens").next().expect("an item");
    assert!(error.expect_err("refused").to_string().contains(files::SERIES));
}

/// `docs/formats/series.md` must list every column with type and unit.
#[test]
fn every_column_is_documented_in_its_order() {
    let dir = tempfile::tempdir().expect("a directory");
    Writer::create(dir.path()).expect("creates").finish().expect("finishes");
    let doc = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/formats/series.md");
    let doc = std::fs::read_to_string(doc).expect("the document");
    for file in [files::SERIES, files::ACTIONS, files::GENERATOR] {
        let section = doc.split("\n## ").find(|text| text.starts_with(&format!("`{file}`")));
        let documented: Vec<&str> = section
            .expect("a section")
            .lines()
            .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
            .collect();
        let path = dir.path().join(file);
        let reader = parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder::try_new(
            std::fs::File::open(path).expect("opens"),
        );
        let schema = reader.expect("a Parquet file").schema().clone();
        let columns: Vec<&str> = schema.fields().iter().map(|f| f.name().as_str()).collect();
        assert_eq!(documented, columns, "{file}");
    }
}

/// Latencies like those of a device: most near 200 us, a tail to 100 ms.
fn scattered(state: &mut u64, count: u32) -> stats::Compact {
    let mut histogram = stats::Histogram::new();
    for _ in 0..count {
        // xorshift64, Marsaglia 2003.
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        let spread = if state.is_multiple_of(50) { 100_000_000 } else { 200_000 };
        histogram.record(Nanos(100_000 + (*state >> 8) % spread));
    }
    histogram.compact()
}

/// A measurement, not a check: `cargo test -- --ignored --nocapture cost_of`.
#[test]
#[ignore = "a measurement"]
fn cost_of_a_second_of_320_vms() {
    const SECONDS: u32 = 60;
    let dir = tempfile::tempdir().expect("a directory");
    let mut writer = Writer::create(dir.path()).expect("creates");
    let (topology, mut slice, mut state) = (sample::topology(), sample::slice(0), 88_172_645_463);
    let row = slice.io[0].clone();
    slice.io = vec![row; 320 * 6];
    let mut spent = std::time::Duration::ZERO;
    for second in 0..SECONDS {
        slice.start = Nanos::from_secs(second.into());
        for row in &mut slice.io {
            row.service = scattered(&mut state, 30);
            row.response = scattered(&mut state, 30);
        }
        let began = std::time::Instant::now();
        writer.append(key(1, Phase::Measured), &topology, &slice).expect("appends");
        spent += began.elapsed();
    }
    let began = std::time::Instant::now();
    writer.finish().expect("finishes");
    let joined = began.elapsed();
    let size = std::fs::metadata(dir.path().join(files::SERIES)).expect("a file").len();
    let began = std::time::Instant::now();
    let read = rows::<IoRecord>(dir.path()).len();
    eprintln!(
        "{} rows a slice: append {:?} a slice, finish {joined:?}, read {:?} for {read} rows, \
         {} B a row",
        slice.io.len(),
        spent / SECONDS,
        began.elapsed(),
        size / read as u64,
    );
}
