//! Sections and options of a job file.

use indexmap::IndexMap;

use super::FioError;

/// Options of a section; later ones replace earlier ones.
pub(super) type Options = IndexMap<String, String>;

/// Maximum number of jobs that fio starts (`REAL_MAX_JOBS` of fio 3.33).
pub(super) const JOBS_MAX: usize = 4096;

/// Parsed job file.
#[derive(Debug, Default)]
pub(super) struct JobFile {
    pub jobs: Vec<JobSection>,
    /// Values of `[global]` by option, each with the number of its `[global]` section. A job has
    /// the values of the sections above it (fio's HOWTO, "Job file format").
    global: IndexMap<String, Vec<(usize, String)>>,
}

/// Job section with its own options.
#[derive(Debug)]
pub(super) struct JobSection {
    pub name: String,
    pub own: Options,
    /// Number of `[global]` sections above it.
    globals: usize,
}

impl JobFile {
    /// Parses a job file.
    pub fn parse(text: &str) -> Result<Self, FioError> {
        let mut file = Self::default();
        let (mut globals, mut place) = (0, FioSection::Nowhere);
        let mut names = std::collections::HashSet::new();
        for (at, line) in text.lines().enumerate() {
            let wrong = |why: &str| FioError::Line { line: at + 1, why: why.to_owned() };
            let line = line.split([';', '#']).next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            if let Some(name) = line.strip_prefix('[') {
                let name =
                    name.strip_suffix(']').ok_or_else(|| wrong("a section has no ]"))?.trim();
                if name.is_empty() {
                    return Err(wrong("a section has no name"));
                }
                if name == "global" {
                    globals += 1;
                    place = FioSection::Global;
                    continue;
                }
                if !names.insert(name.to_owned()) {
                    return Err(wrong(&format!("a second job has the name \"{name}\"")));
                }
                // Checked before memory is allocated for jobs that cannot run.
                if file.jobs.len() == JOBS_MAX {
                    return Err(FioError::TooMany);
                }
                let name = name.to_owned();
                file.jobs.push(JobSection { name, own: Options::new(), globals });
                place = FioSection::Job;
                continue;
            }
            let (key, value) = line.split_once('=').unwrap_or((line, "1"));
            let (key, value) = (key.trim().to_lowercase(), value.trim().to_owned());
            match (place, file.jobs.last_mut()) {
                (FioSection::Global, _) => {
                    file.global.entry(key).or_default().push((globals, value))
                }
                (FioSection::Job, Some(job)) => {
                    job.own.insert(key, value);
                }
                _ => return Err(wrong("an option stands before the first section")),
            }
        }
        if file.jobs.is_empty() {
            return Err(FioError::NoJob);
        }
        Ok(file)
    }

    /// Returns all options of `[global]`, with the last value of each.
    pub fn global(&self) -> impl Iterator<Item = (&str, &str)> {
        self.global.iter().filter_map(|(key, values)| {
            let (_, value) = values.last()?;
            Some((key.as_str(), value.as_str()))
        })
    }

    /// Returns the value of an option for a job, under any of its names. Global options are looked
    /// up and not copied into each job, because the size would be the product of options and jobs.
    pub fn get<'a>(&'a self, job: &'a JobSection, names: &[&str]) -> Option<&'a str> {
        let own = names.iter().find_map(|name| job.own.get(*name)).map(String::as_str);
        own.or_else(|| names.iter().find_map(|name| self.global_of(job, name)))
    }

    fn global_of(&self, job: &JobSection, name: &str) -> Option<&str> {
        let values = self.global.get(name)?;
        let above = values.partition_point(|(number, _)| *number <= job.globals);
        above.checked_sub(1).map(|at| values[at].1.as_str())
    }
}

/// Section that a line starts.
#[derive(Clone, Copy)]
enum FioSection {
    Nowhere,
    Global,
    Job,
}
