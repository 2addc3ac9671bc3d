//! Options that are not converted, with reasons.

use super::LeftOut;

/// Options that are converted. The job reports a value that cannot be converted.
const CARRIED: [&str; 28] = [
    "rw",
    "readwrite",
    "bs",
    "blocksize",
    "bssplit",
    "bsrange",
    "blocksize_range",
    "size",
    "filesize",
    "file_size",
    "nrfiles",
    "nr_files",
    "numjobs",
    "iodepth",
    "rwmixread",
    "rwmixwrite",
    "rate",
    "rate_iops",
    "fsync",
    "fdatasync",
    "random_distribution",
    "percentage_random",
    "kb_base",
    "description",
    "name",
    "direct",
    "buffered",
    "unit_base",
];

/// Returns the options of a section that were not converted.
pub(super) fn left_out<'a>(
    section: &str,
    options: impl Iterator<Item = (&'a str, &'a str)>,
) -> Vec<LeftOut> {
    let left = |(key, value): (&str, &str)| {
        let why = why_value(key, value).or_else(|| (!CARRIED.contains(&key)).then(|| why(key)))?;
        Some(LeftOut { section: section.to_owned(), option: format!("{key}={value}"), why })
    };
    options.filter_map(left).collect()
}

/// Returns the reason why a value of a convertible option is not converted.
fn why_value(key: &str, value: &str) -> Option<&'static str> {
    match (key, value) {
        ("direct", "0") | ("buffered", "1") => {
            Some("runs bypass the page cache; --buffered uses it")
        }
        ("random_distribution", value) if !is_known_distribution(value) => {
            Some("only random, zipf, pareto and zoned are supported; offsets are uniform instead")
        }
        _ => None,
    }
}

fn is_known_distribution(value: &str) -> bool {
    let kind = value.split(':').next().unwrap_or_default();
    matches!(kind, "random" | "zipf" | "pareto") || kind == "zoned" && !value.contains(',')
}

fn why(key: &str) -> &'static str {
    match key {
        "runtime" | "time_based" | "ramp_time" | "loops" | "startdelay" | "number_ios" => {
            "the plan sets the length of a step: --duration, --warm-up-min"
        }
        "filename" | "directory" | "filename_format" | "openfiles" => {
            "the datastore of the run determines the location of disks"
        }
        "ioengine"
        | "thread"
        | "invalidate"
        | "hipri"
        | "sqthread_poll"
        | "registerfiles"
        | "fixedbufs"
        | "iodepth_batch"
        | "iodepth_batch_submit"
        | "iodepth_batch_complete"
        | "iodepth_batch_complete_min"
        | "iodepth_batch_complete_max"
        | "iodepth_low" => "Tilemark makes load in its own way: io_uring, one ring per worker",
        "group_reporting" | "write_bw_log" | "write_lat_log" | "write_iops_log"
        | "log_avg_msec" | "output" | "output-format" | "stonewall" | "new_group" => {
            "Tilemark reports results in its own way, and all jobs run at the same time"
        }
        "verify" | "do_verify" | "verify_fatal" | "verify_pattern" => {
            "run --verify checks every block"
        }
        "thinktime" | "thinktime_blocks" | "thinktime_spin" | "rate_process" => {
            "start times of I/Os: write them by hand as think or as an open load (docs/language.md)"
        }
        "randrepeat" | "randseed" | "allrandrepeat" | "norandommap" | "random_generator" => {
            "random offsets come from the run's seed"
        }
        "offset" | "io_size" | "offset_increment" | "zonesize" | "zonemode" => {
            "offsets on the disk: write them by hand as within or mixed (docs/language.md)"
        }
        _ => "this option is unknown here",
    }
}
