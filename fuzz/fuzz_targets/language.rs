//! The plan language: the first byte chooses the kind of file, the rest is its text. Whatever
//! it is, it loads or is refused with findings.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tilemark_spec::{load_array, load_plan, load_study, load_tile, load_workload};

fuzz_target!(|data: &[u8]| {
    let Some((&choice, rest)) = data.split_first() else { return };
    let Ok(text) = std::str::from_utf8(rest) else { return };
    let refusal = match choice % 5 {
        0 => load_plan("fuzz", text).err(),
        1 => load_tile("fuzz", text).err(),
        2 => load_workload("fuzz", text).err(),
        3 => load_array("fuzz", text).err(),
        _ => load_study("fuzz", text).err(),
    };
    if let Some(error) = refusal {
        assert!(!error.to_string().is_empty());
    }
});
