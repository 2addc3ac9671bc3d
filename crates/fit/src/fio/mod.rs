//! A fio job file as a workload: what means the same carries over, and what does not is named.
//!
//! What it refuses: guessing. An option that it does not know, or whose meaning has no counterpart,
//! is listed with where it stood; nothing is left out in silence.

use std::fmt::Write as _;

use indexmap::IndexMap;
use units::Bytes;

/// A workload made of a job file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FromFio {
    /// The workload's file.
    pub toml: String,
    /// Options that did not carry over, with why.
    pub left: Vec<LeftOut>,
}

/// An option that did not carry over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// `global` or the job's name.
    pub section: String,
    /// As it stood: `ioengine=libaio`.
    pub option: String,
    /// Why it did not.
    pub why: &'static str,
}

/// Why a job file is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FioError {
    /// A line that is neither a section nor an option.
    #[error("line {line} of the job file: {why}")]
    Line {
        /// From 1.
        line: usize,
        /// What is wrong with it.
        why: String,
    },
    /// More jobs than fio itself starts.
    #[error("the job file has more than {JOBS_MAX} jobs, and fio starts at most so many")]
    TooMany,
    /// Nothing would run.
    #[error("the job file has no job: a section [NAME] beside [global]")]
    NoJob,
    /// A value that cannot be read.
    #[error("job \"{job}\": {option}={value} {why}")]
    Value {
        /// The job.
        job: String,
        /// The option.
        option: &'static str,
        /// As given.
        value: String,
        /// What would do.
        why: String,
    },
}

/// Options of a section with their lines, later ones in the place of earlier ones.
type Options = IndexMap<String, String>;

/// Jobs that fio starts at most (`REAL_MAX_JOBS` of fio 3.33).
const JOBS_MAX: usize = 4096;

/// Options that carry over.
const CARRIED: [&str; 17] = [
    "rw",
    "readwrite",
    "bs",
    "blocksize",
    "size",
    "filesize",
    "numjobs",
    "iodepth",
    "rwmixread",
    "rwmixwrite",
    "rate_iops",
    "fsync",
    "fdatasync",
    "random_distribution",
    "description",
    "name",
    "direct",
];

/// Reads a job file; `name` is what the workload is called.
///
/// # Errors
///
/// If it cannot be read as one.
pub fn workload_of(text: &str, name: &str) -> Result<FromFio, FioError> {
    let sections = sections(text)?;
    let global = sections.get("global").cloned().unwrap_or_default();
    let jobs: Vec<(&String, &Options)> =
        sections.iter().filter(|(name, _)| *name != "global").collect();
    if jobs.is_empty() {
        return Err(FioError::NoJob);
    }
    let mut left = left_out("global", &global);
    let (mut disks, mut parts, mut reference) = (String::new(), String::new(), 0);
    for (at, (job, own)) in jobs.iter().enumerate() {
        left.extend(left_out(job, own));
        let job = Job::of(job, own, &global)?;
        reference += job.reference();
        job.write(&format!("job-{}", at + 1), (&mut disks, &mut parts));
    }
    let toml = format!("{}{disks}{parts}", head(name, jobs.len(), reference));
    Ok(FromFio { toml, left })
}

fn sections(text: &str) -> Result<IndexMap<String, Options>, FioError> {
    let mut sections: IndexMap<String, Options> = IndexMap::new();
    let mut current: Option<String> = None;
    for (at, line) in text.lines().enumerate() {
        let wrong = |why: &str| FioError::Line { line: at + 1, why: why.to_owned() };
        let line = line.split([';', '#']).next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        if let Some(name) = line.strip_prefix('[') {
            let name = name.strip_suffix(']').ok_or_else(|| wrong("a section has no ]"))?.trim();
            if name.is_empty() {
                return Err(wrong("a section has no name"));
            }
            if name != "global" && sections.contains_key(name) {
                return Err(wrong(&format!("a second job has the name \"{name}\"")));
            }
            sections.entry(name.to_owned()).or_default();
            // With [global]; before memory is taken for what cannot run.
            if sections.len() > JOBS_MAX + 1 {
                return Err(FioError::TooMany);
            }
            current = Some(name.to_owned());
            continue;
        }
        let section = current.as_ref().and_then(|name| sections.get_mut(name));
        let section = section.ok_or_else(|| wrong("an option stands before the first section"))?;
        let (key, value) = line.split_once('=').unwrap_or((line, "1"));
        section.insert(key.trim().to_lowercase(), value.trim().to_owned());
    }
    Ok(sections)
}

fn left_out(section: &str, options: &Options) -> Vec<LeftOut> {
    let is_left = |(key, value): &(&String, &String)| {
        !CARRIED.contains(&key.as_str()) || why_value(key, value).is_some()
    };
    let left = |(key, value): (&String, &String)| LeftOut {
        section: section.to_owned(),
        option: format!("{key}={value}"),
        why: why_value(key, value).unwrap_or_else(|| why(key)),
    };
    options.iter().filter(is_left).map(left).collect()
}

/// Why a value of an option that carries over does not.
fn why_value(key: &str, value: &str) -> Option<&'static str> {
    match key {
        "direct" if value == "0" => Some("runs go past the page cache; --buffered goes through it"),
        "random_distribution" if !value.starts_with("zipf") && value != "random" => {
            Some("only random and zipf have the same meaning here; places are uniform instead")
        }
        _ => None,
    }
}

fn why(key: &str) -> &'static str {
    match key {
        "runtime" | "time_based" | "ramp_time" | "loops" | "startdelay" => {
            "how long a step takes is the plan's: --duration, --warm-up-min"
        }
        "filename" | "directory" | "filename_format" | "nrfiles" | "openfiles" => {
            "where disks lie is the datastore that a run names"
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
        | "iodepth_low" => "how load is made is Tilemark's: io_uring, one ring a worker",
        "group_reporting" | "write_bw_log" | "write_lat_log" | "write_iops_log"
        | "log_avg_msec" | "output" | "output-format" | "stonewall" | "new_group" => {
            "results are told in Tilemark's way, and all jobs run at the same time"
        }
        "verify" | "do_verify" | "verify_fatal" | "verify_pattern" => {
            "run --verify checks every block"
        }
        "bssplit" | "blocksize_range" | "bsrange" => {
            "a mix of sizes: write it by hand as size = [{ weight, size }] (docs/language.md)"
        }
        "thinktime" | "thinktime_blocks" | "thinktime_spin" | "rate" | "rate_process" => {
            "when I/Os begin: write it by hand as think or as an open load (docs/language.md)"
        }
        "randrepeat" | "randseed" | "allrandrepeat" | "norandommap" | "random_generator" => {
            "random places come from the run's seed"
        }
        "offset" | "io_size" | "offset_increment" | "zonesize" | "zonemode"
        | "percentage_random" => {
            "where on the disk: write it by hand as within or mixed (docs/language.md)"
        }
        _ => "it is not known here",
    }
}

/// What is carried over of a job.
struct Job {
    name: String,
    reads: u32,
    is_random: bool,
    exponent: Option<f64>,
    read_size: Bytes,
    write_size: Bytes,
    disk: Bytes,
    outstanding: u32,
    rate: Option<u32>,
    flush_every: Option<u32>,
}

impl Job {
    /// A job of its own options; what those do not say is global.
    fn of(name: &str, own: &Options, global: &Options) -> Result<Self, FioError> {
        // Lookups, because a copy of all global options for each job is their product.
        let get = |keys: &[&str]| {
            let found = keys.iter().find_map(|key| own.get(*key).or_else(|| global.get(*key)));
            found.map(String::as_str)
        };
        let wrong = |option, value: &str, why: &str| FioError::Value {
            job: name.to_owned(),
            option,
            value: value.to_owned(),
            why: why.to_owned(),
        };
        let size = |option: &'static str, text: &str| {
            let text = text.trim();
            // fio means powers of 1024 by k, m, g, as the language does by k, M, G.
            let is_bytes = text.chars().all(|c| c.is_ascii_digit());
            let whole = if is_bytes { format!("{text}B") } else { text.to_owned() };
            whole
                .parse::<Bytes>()
                .map_err(|error| wrong(option, text, &format!("is no size: {error}")))
        };
        let number = |option: &'static str, keys: &[&str], least: u32, most: u32| match get(keys) {
            None => Ok(None),
            Some(text) => match text.parse::<u32>() {
                Ok(value) if (least..=most).contains(&value) => Ok(Some(value)),
                _ => Err(wrong(option, text, &format!("is not from {least} to {most}"))),
            },
        };
        let pattern = get(&["rw", "readwrite"]).unwrap_or("read");
        let mixed = || -> Result<u32, FioError> {
            let reads = number("rwmixread", &["rwmixread"], 0, 100)?;
            let writes = number("rwmixwrite", &["rwmixwrite"], 0, 100)?;
            Ok(reads.or(writes.map(|writes| 100 - writes)).unwrap_or(50))
        };
        let (reads, is_random) = match pattern {
            "read" => (100, false),
            "write" => (0, false),
            "randread" => (100, true),
            "randwrite" => (0, true),
            "rw" | "readwrite" => (mixed()?, false),
            "randrw" => (mixed()?, true),
            other => {
                let known = "is none of read, write, randread, randwrite, rw, randrw";
                return Err(wrong("rw", other, known));
            }
        };
        let blocks = get(&["bs", "blocksize"]).unwrap_or("4k");
        let mut sizes = blocks.split(',');
        let read_size = size("bs", sizes.next().unwrap_or("4k"))?;
        let write_size = sizes.next().map_or(Ok(read_size), |text| size("bs", text))?;
        let depth = number("iodepth", &["iodepth"], 1, 65_536)?.unwrap_or(1);
        let jobs = number("numjobs", &["numjobs"], 1, 65_536)?.unwrap_or(1);
        let exponent =
            match get(&["random_distribution"]).and_then(|text| text.strip_prefix("zipf:")) {
                None => None,
                Some(theta) => match theta.parse::<f64>() {
                    Ok(theta) if (0.0..=3.0).contains(&theta) => Some(theta),
                    _ => return Err(wrong("random_distribution", theta, "is not from 0 to 3")),
                },
            };
        Ok(Self {
            name: name.to_owned(),
            reads,
            is_random,
            exponent,
            read_size,
            write_size,
            disk: match get(&["size", "filesize"]) {
                Some(text) => size("size", text)?,
                None => return Err(wrong("size", "", "is absent: how large is the disk?")),
            },
            outstanding: depth.saturating_mul(jobs),
            rate: number("rate_iops", &["rate_iops"], 1, 10_000_000)?.map(|rate| rate * jobs),
            flush_every: number("fsync", &["fsync", "fdatasync"], 1, 1_000_000)?,
        })
    }

    fn write(&self, id: &str, (disks, parts): (&mut String, &mut String)) {
        let _ = writeln!(
            disks,
            "\n# fio job: {}\n[[vm.disk]]\nname = \"{id}\"\nsize = \"{}\"",
            one_line(&self.name),
            self.disk.to_text()
        );
        let load = match self.rate {
            Some(rate) => format!("open = {{ rate = \"{rate}/s\" }}"),
            None => format!("closed = {{ users = {} }}", self.outstanding),
        };
        let _ = writeln!(parts, "\n[[users]]\nname = \"{id}\"\nvm = \"fio\"\nload = {{ {load} }}");
        // After so many writes comes a flush, so that such an action is as many I/Os.
        let writes = f64::from(100 - self.reads) / f64::from(self.flush_every.unwrap_or(1));
        let all = [("read", f64::from(self.reads)), ("write", writes)];
        let actions: Vec<_> = all.iter().filter(|(_, weight)| *weight > 0.0).collect();
        let mix = actions.iter().map(|(verb, weight)| format!("{id}-{verb} = {weight:?}"));
        let _ = writeln!(parts, "mix = {{ {} }}", mix.collect::<Vec<_>>().join(", "));
        for (verb, _) in actions {
            let steps = self.steps(id, verb);
            let _ = writeln!(parts, "\n[[action]]\nname = \"{id}-{verb}\"\nsteps = [{steps}]");
        }
    }

    fn steps(&self, id: &str, verb: &str) -> String {
        let size = if verb == "read" { self.read_size } else { self.write_size };
        let flushed = self.flush_every.filter(|_| verb == "write");
        let count = flushed.map_or_else(String::new, |every| format!(", count = {every}"));
        let (size, address) = (size.to_text(), self.address());
        let io = format!("{{ {verb} = {{ disk = \"{id}\", size = \"{size}\"{address}{count} }} }}");
        match flushed {
            Some(_) => format!("{io}, {{ flush = {{ disk = \"{id}\" }} }}"),
            None => io,
        }
    }

    /// What counts as one tile's worth: a rate that was asked for, or what so many outstanding
    /// I/Os reach when each takes 10 ms, as of every shipped load without think time.
    fn reference(&self) -> u64 {
        u64::from(self.rate.unwrap_or(self.outstanding.saturating_mul(100)))
    }

    fn address(&self) -> String {
        match (self.is_random, self.exponent) {
            (false, _) => ", address = { sequential = {} }".to_owned(),
            (true, Some(exponent)) => {
                format!(", address = {{ zipf = {{ exponent = {exponent:?} }} }}")
            }
            (true, None) => String::new(),
        }
    }
}

fn head(name: &str, jobs: usize, reference: u64) -> String {
    format!(
        "# Made of a fio job file. What did not carry over was listed when it was made.\nname = \"{name}\"\n\
         title = \"{jobs} fio jobs as one machine\"\n\
         source = \"a fio job file; it has no limits: add [[limit]] for what users of this machine bear\"\n\n\
         [metric]\nunit = \"IOPS\"\ncount = \"io\"\n\
         # What the outstanding I/Os reach when each takes 10 ms, and rates as they are.\n\
         reference = {reference}\n\n[[vm]]\nname = \"fio\"\n"
    )
}

fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOB: &str = "\
; a database beside its log
[global]
ioengine=libaio
direct=1
runtime=60
[database]
rw=randrw
rwmixread=70
bs=8k
size=4g
iodepth=16
numjobs=2
random_distribution=zipf:1.1
[log]
rw=write
bs=16K
size=512m
fsync=4
unheard_of=7
";

    #[test]
    fn what_means_the_same_carries_over_and_everything_else_is_named() {
        let made = workload_of(JOB, "from-fio").expect("a workload");
        let workload = spec::load_workload("from-fio.toml", &made.toml).expect(&made.toml);
        assert_eq!(spec::check::workload(&workload), [], "{}", made.toml);
        assert_eq!(workload.vms[0].disks[0].size, Bytes::GIB * 4);
        assert!(made.toml.contains("users = 32"), "16 deep, twice: {}", made.toml);
        assert!(made.toml.contains("zipf = { exponent = 1.1 }"), "{}", made.toml);
        assert!(made.toml.contains("count = 4 } }, { flush"), "{}", made.toml);
        let left: Vec<String> =
            made.left.iter().map(|own| format!("{} {}", own.section, own.option)).collect();
        assert_eq!(left, ["global ioengine=libaio", "global runtime=60", "log unheard_of=7"]);
        assert_eq!(made.left[2].why, "it is not known here");
    }

    #[test]
    fn every_option_is_carried_or_named() {
        for option in ["bssplit=4k/60:8k/40", "thinktime=10", "offset=1g", "direct=0", "loops"] {
            let text = format!("[a]\nrw=read\nsize=1g\n{option}\n");
            let made = workload_of(&text, "a").expect("a workload");
            assert_eq!(made.left.len(), 1, "{option}: {:?}", made.left);
        }
    }

    /// Seen at e6eaf978: 100,000 empty jobs took more than a minute and 1.5 GB.
    #[test]
    fn more_jobs_than_fio_starts_are_refused() {
        let jobs = |count: usize| {
            let jobs: String = (0..count).map(|at| format!("[j{at}]\n")).collect();
            workload_of(&format!("[global]\nrw=read\nsize=1m\n{jobs}"), "a")
        };
        assert_eq!(jobs(JOBS_MAX + 1), Err(FioError::TooMany));
        let made = jobs(JOBS_MAX).expect("as many as fio starts");
        assert_eq!(spec::load_workload("a.toml", &made.toml).expect("loads").actions.len(), 4096);
    }

    #[test]
    fn what_is_no_job_file_says_where() {
        for (text, said) in [
            ("", "no job"),
            ("[global]\nrw=read\n", "no job"),
            ("rw=read\n", "line 1"),
            ("[a\n", "has no ]"),
            ("[a]\n[a]\n", "line 2"),
            ("[a]\nrw=read\n", "how large is the disk?"),
            ("[a]\nrw=trim\nsize=1g\n", "rw=trim is none of"),
            ("[a]\nsize=many\n", "is no size"),
            ("[a]\nsize=1g\niodepth=0\n", "is not from 1 to 65536"),
            ("[a]\nsize=1g\nrandom_distribution=zipf:9\n", "is not from 0 to 3"),
        ] {
            let error = workload_of(text, "a").expect_err(text).to_string();
            assert!(error.contains(said), "{text:?}: {error}");
        }
    }
}
