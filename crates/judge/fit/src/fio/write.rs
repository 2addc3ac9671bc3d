//! Writer of a workload's file from jobs.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

use units::Bytes;

use super::job::{Job, Places, Stream};

/// Writer of a workload's file, job by job.
#[derive(Default)]
pub(super) struct Writer {
    disks: Vec<Disk>,
    /// Disks for files that jobs share, keyed by the names of the files.
    shared: HashMap<String, usize>,
    disk_names: Names,
    job_names: Names,
    parts: String,
    jobs: usize,
    reference: f64,
}

struct Disk {
    name: String,
    about: String,
    size: Bytes,
}

impl Writer {
    /// Adds a job with this name.
    pub fn add(&mut self, name: &str, job: &Job) {
        let id = self.job_names.free(name);
        let disk = self.disk(name, job);
        self.jobs += 1;
        let is_open = |stream: &&Stream| stream.rate.is_some();
        let open: Vec<&Stream> = job.streams.iter().filter(is_open).collect();
        let closed: Vec<&Stream> = job.streams.iter().filter(|stream| !is_open(stream)).collect();
        let is_both = !open.is_empty() && !closed.is_empty();
        if !open.is_empty() {
            let group =
                if is_both { self.job_names.free(&format!("{id}-rate")) } else { id.clone() };
            self.open(&group, &id, &open);
        }
        if !closed.is_empty() {
            self.closed(&id, job.outstanding, &closed);
        }
        for stream in &job.streams {
            let (verb, steps) = (stream.direction.verb(), steps(stream, &disk));
            let _ = writeln!(self.parts, "\n[[action]]\nname = \"{id}-{verb}\"\nsteps = [{steps}]");
        }
    }

    /// Returns the name of a job's disk. Adds or enlarges the disk if necessary.
    fn disk(&mut self, name: &str, job: &Job) -> String {
        let size = job.data.size;
        let known = job.data.shared.as_ref().and_then(|files| self.shared.get(files));
        if let Some(disk) = known.and_then(|at| self.disks.get_mut(*at)) {
            disk.size = disk.size.max(size);
            disk.about = format!("{}, {}", disk.about, one_line(name));
            return disk.name.clone();
        }
        let wanted = match &job.data.shared {
            Some(files) => files.rsplit('/').next().unwrap_or(files),
            None => name,
        };
        let own = self.disk_names.free(wanted);
        if let Some(files) = &job.data.shared {
            self.shared.insert(files.clone(), self.disks.len());
        }
        let about = format!("fio job: {}", one_line(name));
        self.disks.push(Disk { name: own.clone(), about, size });
        own
    }

    fn open(&mut self, group: &str, id: &str, streams: &[&Stream]) {
        let rate: f64 = streams.iter().filter_map(|stream| stream.rate).sum();
        self.reference += rate;
        // A flush follows after so many writes, so one action is as many I/Os.
        let actions = |stream: &Stream| stream.rate.unwrap_or(0.0) / ios(stream);
        let arrivals: f64 = streams.iter().map(|stream| actions(stream)).sum();
        let load = format!("open = {{ rate = \"{}/s\" }}", short(arrivals));
        self.users(group, &load, &mix(id, streams, actions));
    }

    fn closed(&mut self, id: &str, users: u32, streams: &[&Stream]) {
        // Without a rate: the rate of so many outstanding I/Os of 10 ms each, as for every shipped
        // load without think time.
        self.reference += f64::from(users) * 100.0;
        let load = format!("closed = {{ users = {users} }}");
        self.users(id, &load, &mix(id, streams, |stream| stream.share / ios(stream)));
    }

    fn users(&mut self, name: &str, load: &str, mix: &str) {
        let _ = writeln!(
            self.parts,
            "\n[[users]]\nname = \"{name}\"\nvm = \"fio\"\nload = {{ {load} }}\nmix = {{ {mix} }}"
        );
    }

    /// Returns the text of the file for the workload `name`.
    pub fn finish(self, name: &str) -> String {
        let (jobs, reference) = (self.jobs, short(self.reference.max(1.0).round()));
        let mut toml = format!(
            "# Made of a fio job file. What did not carry over was listed when it was made.\nname = \"{name}\"\n\
             title = \"{jobs} fio jobs as one machine\"\n\
             source = \"a fio job file; it has no limits: add [[limit]] for what users of this machine bear\"\n\n\
             [metric]\nunit = \"IOPS\"\ncount = \"io\"\n\
             # What the outstanding I/Os reach when each takes 10 ms, and rates as they are.\n\
             reference = {reference}\n\n[[vm]]\nname = \"fio\"\n"
        );
        for Disk { name, about, size } in &self.disks {
            let size = size.to_text();
            let _ =
                writeln!(toml, "\n# {about}\n[[vm.disk]]\nname = \"{name}\"\nsize = \"{size}\"");
        }
        toml + &self.parts
    }
}

/// Returns the number of I/Os per action.
fn ios(stream: &Stream) -> f64 {
    f64::from(stream.flush_every.unwrap_or(1))
}

fn mix(id: &str, streams: &[&Stream], weight: impl Fn(&Stream) -> f64) -> String {
    let one = |stream: &&Stream| format!("{id}-{} = {:?}", stream.direction.verb(), weight(stream));
    streams.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn steps(stream: &Stream, disk: &str) -> String {
    let (verb, address) = (stream.direction.verb(), address(&stream.places));
    let count = stream.flush_every.map_or_else(String::new, |every| format!(", count = {every}"));
    let size = size(&stream.sizes);
    let io = format!("{{ {verb} = {{ disk = \"{disk}\", size = {size}{address}{count} }} }}");
    match stream.flush_every {
        Some(_) => format!("{io}, {{ flush = {{ disk = \"{disk}\" }} }}"),
        None => io,
    }
}

fn size(sizes: &[(u64, f64)]) -> String {
    let text = |size: &u64| format!("\"{}\"", Bytes::new(*size).to_text());
    match sizes {
        [(size, _)] => text(size),
        mix => {
            let one = |(size, weight): &(u64, f64)| format!("{} = {}", text(size), short(*weight));
            format!("{{ {} }}", mix.iter().map(one).collect::<Vec<_>>().join(", "))
        }
    }
}

fn address(places: &Places) -> String {
    match places {
        Places::Uniform => String::new(),
        Places::Sequential { streams: 0 | 1 } => ", address = { sequential = {} }".to_owned(),
        Places::Sequential { streams } => {
            format!(", address = {{ sequential = {{ streams = {streams} }} }}")
        }
        Places::Mixed { random } => {
            format!(", address = {{ mixed = {{ random = \"{}%\" }} }}", short(*random))
        }
        Places::Zipf { exponent } => {
            format!(", address = {{ zipf = {{ exponent = {exponent:?} }} }}")
        }
        Places::Hot(spots) => {
            let one = |(io, space): &(f64, f64)| {
                format!("{{ io = \"{}%\", space = \"{}%\" }}", short(*io), short(*space))
            };
            let spots: Vec<String> = spots.iter().map(one).collect();
            format!(", address = {{ hot = [{}] }}", spots.join(", "))
        }
    }
}

/// Formats a number with at most six significant decimals.
fn short(number: f64) -> String {
    let text = format!("{number:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Generator of distinct valid names from any texts.
#[derive(Default)]
struct Names {
    /// Number of uses of each name.
    asked: BTreeMap<String, u32>,
}

impl Names {
    fn free(&mut self, wanted: &str) -> String {
        let fine = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.".contains(c);
        let lower = wanted.to_lowercase();
        let name: String = lower.chars().map(|c| if fine(c) { c } else { '-' }).take(64).collect();
        let name = if name.is_empty() { "job".to_owned() } else { name };
        let mut own = name.clone();
        while self.asked.contains_key(&own) {
            let count = self.asked.entry(name.clone()).or_default();
            *count += 1;
            own = format!("{name}-{}", *count + 1);
        }
        self.asked.insert(own.clone(), 0);
        own
    }
}
