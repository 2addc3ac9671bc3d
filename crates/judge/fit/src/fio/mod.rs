//! Converts a fio job file to a workload: options with an equivalent are converted, and others are
//! listed.
//!
//! It never guesses. An unknown option, or one without an equivalent, is listed with its section,
//! and none is dropped silently. A job that cannot be converted is listed with the reason, and the
//! other jobs are converted.

mod file;
mod job;
mod left;
mod places;
mod quantity;
mod sizes;
mod write;

use indexmap::IndexMap;
use units::Bytes;

use file::{JOBS_MAX, JobFile};
use job::Reader;
use left::left_out;
use write::Writer;

/// Workload made from a job file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FromFio {
    /// Text of the workload's file.
    pub toml: String,
    /// Options that were not converted, with reasons.
    pub left: Vec<LeftOut>,
    /// Notes on options that were converted but have another meaning than their names suggest.
    pub notes: Vec<Note>,
    /// Jobs that could not be converted.
    pub skipped: Vec<FioError>,
}

/// Option that was not converted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Section: `global` or the job's name.
    pub section: String,
    /// Option as given: `ioengine=libaio`.
    pub option: String,
    /// Reason why it was not converted.
    pub why: &'static str,
}

/// Note on an option, for readers of the workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// Name of the job, or of the first of several.
    pub section: String,
    /// Text with the option and its conversion.
    pub text: String,
}

/// Reason why a job file cannot be converted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FioError {
    /// A line is neither a section nor an option.
    #[error("line {line} of the job file: {why}")]
    Line {
        /// Line number, counted from 1.
        line: usize,
        /// Error in the line.
        why: String,
    },
    /// The file has more jobs than fio itself starts.
    #[error("the job file has more than {JOBS_MAX} jobs, the maximum of fio")]
    TooMany,
    /// The file has no job.
    #[error("the job file has no job; a job is a section [NAME] other than [global]")]
    NoJob,
    /// A value is invalid or has no equivalent.
    #[error("job \"{job}\": {option}={value} {why}")]
    Value {
        /// Name of the job.
        job: String,
        /// Name of the option.
        option: &'static str,
        /// Value as given.
        value: String,
        /// Reason, with valid values.
        why: String,
    },
}

impl FioError {
    /// Returns the hint on what to do.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Value { option: "size", value, .. }
                if value.is_empty() || value.ends_with('%') =>
            {
                Some("--size SIZE is used for jobs without a size or with a size in percent")
            }
            _ => None,
        }
    }
}

/// Converts a job file. `name` is the workload's name, and `size` the size of jobs without a size.
///
/// # Errors
///
/// If it is not a job file, or none of its jobs can be converted. The error is the error of the
/// first job.
pub fn workload_of(text: &str, name: &str, size: Option<Bytes>) -> Result<FromFio, FioError> {
    let file = JobFile::parse(text)?;
    let mut left = left_out("global", file.global());
    let (mut notes, mut skipped, mut writer) = (Vec::new(), Vec::new(), Writer::default());
    for section in &file.jobs {
        match Reader::new(&file, section, size).job() {
            Ok(job) => {
                let own = section.own.iter().map(|(key, value)| (key.as_str(), value.as_str()));
                left.extend(left_out(&section.name, own));
                writer.add(&section.name, &job);
                notes.extend(job.notes);
            }
            Err(error) => skipped.push(error),
        }
    }
    if skipped.len() == file.jobs.len() {
        return Err(skipped.swap_remove(0));
    }
    let notes = once_each(notes);
    Ok(FromFio { toml: writer.finish(name), left, notes, skipped })
}

/// Merges equal notes of several jobs, with the names of the first ones.
fn once_each(notes: Vec<Note>) -> Vec<Note> {
    const NAMES_MAX: usize = 3;
    let mut jobs: IndexMap<String, Vec<String>> = IndexMap::new();
    for note in notes {
        jobs.entry(note.text).or_default().push(note.section);
    }
    let named = |(text, mut names): (String, Vec<String>)| {
        if names.len() > NAMES_MAX {
            names.truncate(NAMES_MAX);
            names.push("...".to_owned());
        }
        Note { section: names.join(", "), text }
    };
    jobs.into_iter().map(named).collect()
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
    fn fio_options_with_a_counterpart_convert_and_others_are_named() {
        let made = workload_of(JOB, "from-fio", None).expect("a workload");
        let workload = spec::load_workload("from-fio.toml", &made.toml).expect(&made.toml);
        assert_eq!(spec::check::workload(&workload), [], "{}", made.toml);
        assert_eq!(workload.vms[0].disks[0].size, Bytes::GIB * 8, "two copies of 4 GiB each");
        assert_eq!(workload.groups[1].name, "log");
        assert!(made.toml.contains("users = 32"), "16 deep, twice: {}", made.toml);
        assert!(made.toml.contains("zipf = { exponent = 1.1 }"), "{}", made.toml);
        assert!(made.toml.contains("count = 4 } }, { flush"), "{}", made.toml);
        let left: Vec<String> =
            made.left.iter().map(|own| format!("{} {}", own.section, own.option)).collect();
        assert_eq!(left, ["global ioengine=libaio", "global runtime=60", "log unheard_of=7"]);
        assert_eq!(made.left[2].why, "this option is unknown here");
    }

    #[test]
    fn every_option_is_carried_or_named() {
        for option in
            ["random_distribution=normal:5", "thinktime=10", "offset=1g", "direct=0", "loops"]
        {
            let text = format!("[a]\nrw=read\nsize=1g\n{option}\n");
            let made = workload_of(&text, "a", None).expect("a workload");
            assert_eq!(made.left.len(), 1, "{option}: {:?}", made.left);
        }
    }

    /// Regression: 100,000 empty jobs took more than a minute and 1.5 GB (seen at e6eaf978).
    #[test]
    fn more_jobs_than_fio_starts_are_refused() {
        let jobs = |count: usize| {
            let jobs: String = (0..count).map(|at| format!("[j{at}]\n")).collect();
            workload_of(&format!("[global]\nrw=read\nsize=1m\n{jobs}"), "a", None)
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
            ("[a]\nrw=read\n", "the size of the disk is unknown"),
            ("[a]\nrw=trim\nsize=1g\n", "rw=trim is not one of"),
            ("[a]\nsize=many\n", "is not a size"),
            ("[a]\nsize=${SIZE}\n", "uses a variable"),
            ("[a]\nsize=1g\niodepth=0\n", "is not from 1 to 65536"),
            ("[a]\nsize=1g\nrandom_distribution=zipf:9\n", "is not from 0 to 3"),
        ] {
            let error = workload_of(text, "a", None).expect_err(text).to_string();
            assert!(error.contains(said), "{text:?}: {error}");
        }
    }

    /// Converts a job file. Returns the workload and the notes.
    fn made(text: &str) -> (spec::workload::Workload, FromFio) {
        let made = workload_of(text, "a", None).expect(text);
        let workload = spec::load_workload("a.toml", &made.toml).expect(&made.toml);
        assert_eq!(spec::check::workload(&workload), [], "{}", made.toml);
        (workload, made)
    }

    /// Returns all notes as one text.
    fn notes(made: &FromFio) -> String {
        made.notes.iter().map(|note| format!("[{}] {}\n", note.section, note.text)).collect()
    }

    fn size_of(workload: &spec::workload::Workload) -> Bytes {
        workload.vms.iter().flat_map(|vm| &vm.disks).map(|disk| disk.size).sum()
    }

    #[test]
    fn sizes_are_powers_of_1024_in_any_case() {
        for (bs, size) in [("64KB", "1GB"), ("64kb", "1gb"), ("64k", "1g"), ("65536", "0x40000000")]
        {
            let (workload, made) =
                made(&format!("[a]\ndirect=1\nrw=randread\nbs={bs}\nsize={size}\n"));
            assert_eq!(size_of(&workload), Bytes::GIB, "{size}");
            assert!(made.toml.contains("size = \"64KiB\""), "{}", made.toml);
            assert!(made.notes.is_empty(), "{:?}", made.notes);
        }
        let (_, made) = made("[a]\ndirect=1\nkb_base=1000\nrw=read\nbs=64KiB\nsize=1g\n");
        assert!(made.toml.contains("size = \"64KiB\"") && made.notes.is_empty(), "{}", made.toml);
    }

    #[test]
    fn sizes_that_fio_reads_oddly_are_told() {
        let (_, iec) = made("[a]\nrw=read\nbs=4KiB\nsize=1g\n");
        assert!(iec.toml.contains("size = \"4KiB\""), "4000 B in whole sectors: {}", iec.toml);
        assert!(notes(&iec).contains("bs=4KiB is 4000 B"), "{}", notes(&iec));
        assert!(notes(&iec).contains("page cache"), "fio's default is direct=0: {}", notes(&iec));
        let etcd = "[etcd]\nrw=write\nioengine=sync\nfdatasync=1\nsize=22m\nbs=2300\n";
        let (workload, etcd) = made(etcd);
        assert_eq!(size_of(&workload), Bytes::new(22 << 20));
        assert!(etcd.toml.contains("size = \"2560B\""), "{}", etcd.toml);
        assert!(
            notes(&etcd).contains("bs=2300 is 2300 B: rounded up to 2560 B"),
            "{}",
            notes(&etcd)
        );
    }

    #[test]
    fn rates_are_of_each_direction() {
        use spec::workload::Load;
        let rate = |text: &str| {
            let (workload, _) = made(&format!("[a]\nrw=randrw\nrwmixread=90\nsize=1g\n{text}\n"));
            let group = workload.groups[0].clone();
            let mix = group.mix.unwrap_or_default();
            let Load::Open { rate, .. } = group.load else { panic!("{text}: {:?}", group.load) };
            (rate.to_string(), mix.get("a-read").copied(), mix.get("a-write").copied())
        };
        assert_eq!(rate("rate_iops=90,10"), ("100/s".to_owned(), Some(90.0), Some(10.0)));
        // fio 3.33 gives each direction the rate, whatever the mix.
        assert_eq!(rate("rate_iops=100"), ("200/s".to_owned(), Some(100.0), Some(100.0)));
        assert_eq!(rate("rate=400k,40k"), ("110/s".to_owned(), Some(100.0), Some(10.0)));
        let pair = rate("rate_iops=90,10\nnumjobs=2\nfsync=5");
        assert_eq!(pair, ("184/s".to_owned(), Some(180.0), Some(4.0)), "20 writes are 4 actions");
        let (workload, _) =
            made("[a]\nrw=randrw\nsize=1g\nrate_iops=,10\niodepth=8\nioengine=libaio\n");
        let loads: Vec<&Load> = workload.groups.iter().map(|group| &group.load).collect();
        assert!(
            matches!(loads[..], [Load::Open { .. }, Load::Closed { users: 8, .. }]),
            "{loads:?}"
        );
    }

    #[test]
    fn synchronous_engines_have_one_io_at_a_time() {
        for (engine, users) in [("", 1), ("ioengine=sync\n", 1), ("ioengine=libaio\n", 32)] {
            let (_, made) = made(&format!("[a]\nrw=randread\nsize=1g\niodepth=32\n{engine}"));
            assert!(made.toml.contains(&format!("users = {users} }}")), "{}", made.toml);
            assert_eq!(
                notes(&made).contains("iodepth=32 becomes 1"),
                users == 1,
                "{}",
                notes(&made)
            );
        }
        let (_, made) = made("[a]\nrw=randread\nsize=1g\niodepth=32\nnumjobs=4\n");
        assert!(made.toml.contains("users = 4 }"), "{}", made.toml);
    }

    #[test]
    fn distributions_have_the_values_of_fio() {
        let address = |text: &str| {
            let text = format!("[a]\nrw=randread\nsize=1g\nrandom_distribution={text}\n");
            made(&text).1.toml
        };
        assert!(address("zipf").contains("zipf = { exponent = 1.1 }"));
        assert!(address("zipf:0.8").contains("zipf = { exponent = 0.8 }"));
        let hot = address("pareto");
        assert_eq!(hot, address("pareto:0.2"));
        assert!(hot.contains("hot = [{ io = \"40.96%\", space = \"0.16%\" }"), "{hot}");
        let zones = address("zoned:60/10:30/20:10/70");
        assert!(zones.contains("{ io = \"60%\", space = \"10%\" }, { io = \"30%\""), "{zones}");
        let rest = address("zoned:60/10:30/20:10/");
        assert_eq!(rest, zones, "the last one has what is left");
        let (_, normal) = made("[a]\nrw=randread\nsize=1g\nrandom_distribution=normal\n");
        assert!(normal.left[0].why.contains("uniform"), "{:?}", normal.left);
    }

    #[test]
    fn block_sizes_are_split_for_each_direction() {
        let (_, made) = made(
            "[a]\nrw=randrw\nsize=1g\nbssplit=4k/60:64k/,8k/10:16k/90\n[b]\nrw=read\nsize=1g\n\
             bsrange=4k-16k\n[c]\nrw=rw\nsize=1g\nbs=8k,\n",
        );
        for wanted in [
            "read = { disk = \"a\", size = { \"4KiB\" = 60, \"64KiB\" = 40 }",
            "write = { disk = \"a\", size = { \"8KiB\" = 10, \"16KiB\" = 90 }",
            "size = { \"4KiB\" = 1, \"8KiB\" = 1, \"12KiB\" = 1, \"16KiB\" = 1 }",
            "read = { disk = \"c\", size = \"8KiB\"",
            "write = { disk = \"c\", size = \"4KiB\"",
        ] {
            assert!(made.toml.contains(wanted), "{wanted}: {}", made.toml);
        }
        assert!(made.left.is_empty(), "{:?}", made.left);
    }

    #[test]
    fn files_of_a_job_and_its_copies_add_up() {
        for (text, gib, streams) in [
            ("size=4g\nnrfiles=4", 4, "streams = 4"),
            ("filesize=1g\nnrfiles=4", 4, "streams = 4"),
            ("size=4g\nnumjobs=3", 12, "streams = 3"),
            ("size=4g\nnumjobs=3\nfilename=/dev/sdb", 4, "sequential = {}"),
            ("size=4g\nfilename=a:b", 4, "streams = 2"),
        ] {
            let (workload, made) = made(&format!("[a]\nrw=read\n{text}\n"));
            assert_eq!(size_of(&workload), Bytes::GIB * gib, "{text}");
            assert!(made.toml.contains(streams), "{text}: {}", made.toml);
        }
        let (workload, _) =
            made("[global]\nfilename=/dev/sdb\n[r]\nrw=read\nsize=1g\n[w]\nrw=write\nsize=2g\n");
        assert_eq!(size_of(&workload), Bytes::GIB * 2, "one device for both");
        assert_eq!(workload.vms[0].disks[0].name, "sdb");
    }

    #[test]
    fn a_note_on_many_jobs_is_told_once() {
        let jobs: String = (0..9).map(|at| format!("[j{at}]\nrw=read\nsize=1g\n")).collect();
        let (_, made) = made(&jobs);
        assert_eq!(made.notes.len(), 1, "{:?}", made.notes);
        assert_eq!(made.notes[0].section, "j0, j1, j2, ...");
    }

    #[test]
    fn jobs_keep_their_names() {
        let (workload, _) =
            made("[Random Reads]\nrw=randread\nsize=1g\n[random-reads]\nrw=randread\nsize=1g\n");
        let names: Vec<&str> = workload.groups.iter().map(|group| group.name.as_str()).collect();
        assert_eq!(names, ["random-reads", "random-reads-2"]);
    }

    #[test]
    fn a_job_that_cannot_be_converted_leaves_the_others() {
        let (workload, made) = made(
            "[a]\nrw=randwrite:8\nsize=1g\n[b]\nrw=write:4k\nsize=1g\n[c]\nrw=readwrite\nbs=128k\n\
             size=1g\n[d]\nrw=rw\npercentage_random=30\nsize=1g\n[e]\nrw=trim\nsize=1g\n\
             [f]\nrw=randread\npercentage_random=30\nsize=1g\n[g]\nrw=read\n",
        );
        let names: Vec<&str> = workload.groups.iter().map(|group| group.name.as_str()).collect();
        assert_eq!(names, ["a", "c", "d", "f"]);
        let skipped: Vec<String> = made.skipped.iter().map(ToString::to_string).collect();
        assert!(skipped[0].contains("\"b\": rw=write:4k leaves gaps"), "{skipped:?}");
        assert!(skipped[1].contains("\"e\": rw=trim") && skipped[2].contains("\"g\": size="));
        assert!(made.toml.contains("mixed = { random = \"12.5%\" }"), "{}", made.toml);
        assert!(made.toml.contains("mixed = { random = \"30%\" }"), "{}", made.toml);
        let notes = notes(&made);
        assert!(notes.contains("[d] percentage_random=30 changes random jobs only"), "{notes}");
    }

    #[test]
    fn a_size_is_given_where_the_file_has_none() {
        let text = "[a]\nrw=read\n[b]\nrw=read\nsize=50%\n[c]\nrw=read\nsize=1g\n";
        let made = workload_of(text, "a", Some(Bytes::GIB * 8)).expect("all of them");
        let workload = spec::load_workload("a.toml", &made.toml).expect("it loads");
        let sizes: Vec<Bytes> = workload.vms[0].disks.iter().map(|disk| disk.size).collect();
        assert_eq!(sizes, [Bytes::GIB * 8, Bytes::GIB * 4, Bytes::GIB]);
        let error = workload_of("[a]\nrw=read\n", "a", None).expect_err("no size");
        assert!(error.hint().is_some_and(|hint| hint.contains("--size")));
    }

    /// As in fio 3.33, a job has the options of the `[global]` sections above it.
    #[test]
    fn global_options_hold_below_their_section() {
        let (_, made) = made("[a]\nrw=read\nsize=1g\n[global]\nbs=8k\n[b]\nrw=read\nsize=1g\n");
        assert!(made.toml.contains("disk = \"a\", size = \"4KiB\""), "{}", made.toml);
        assert!(made.toml.contains("disk = \"b\", size = \"8KiB\""), "{}", made.toml);
    }
}
