//! Readers of traces: the first byte chooses the format, detection, or the histograms of
//! vscsiStats; the rest is the file. Whatever is read is in order and within its bounds.
#![no_main]

use std::io::Cursor;
use std::path::Path;

use libfuzzer_sys::fuzz_target;
use tilemark_trace::{Format, OpenOptions, open_stream, vscsi_stats};

fuzz_target!(|data: &[u8]| {
    let Some((&choice, file)) = data.split_first() else { return };
    if choice == u8::MAX {
        for histogram in vscsi_stats::parse(&String::from_utf8_lossy(file)).all {
            let _ = histogram.total();
        }
        return;
    }
    let format = Format::all().nth(usize::from(choice));
    let options = OpenOptions { format, max_bad: u64::MAX };
    let reader = Cursor::new(file.to_vec());
    let Ok(mut source) = open_stream(reader, Path::new("fuzz"), &options) else { return };
    let (mut batch, mut last) = (Vec::new(), None);
    while source.read(&mut batch).is_ok() && !batch.is_empty() {
        for record in &batch {
            assert!(last.is_none_or(|last| last <= record.issue), "records are in order");
            assert!(record.offset.checked_add(u64::from(record.length)).is_some());
            last = Some(record.issue);
        }
        let info = source.info();
        for record in &batch {
            assert!(usize::from(record.device.0) < info.devices.len());
            assert!(usize::from(record.vm.0) < info.vms.len());
        }
    }
});
