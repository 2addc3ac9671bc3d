//! Joins the rows of files to virtual machines.

use std::collections::HashMap;

use units::Bytes;

use crate::place::{BadRows, Findings, RowLocation};
use crate::row::{Facts, LeftOut, Record};
use crate::vm::Vm;

/// Virtual machines, and counts of those that were left out.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Inventory {
    /// VMs that are part of the load, in the order of the files.
    pub vms: Vec<Vm>,
    /// Number of VMs left out, by reason.
    pub left_out: Vec<(LeftOut, u32)>,
    /// Bytes of raw disks, which belong to another array and are not counted.
    pub raw: Bytes,
    /// Unusable rows.
    pub bad: BadRows,
    /// Sentences about each file: its contribution, and how it was read.
    pub notes: Vec<String>,
}

impl Inventory {
    /// Returns the number of listed VMs, including those left out.
    pub fn listed(&self) -> usize {
        self.vms.len() + self.left_out.iter().map(|(_, count)| *count as usize).sum::<usize>()
    }

    /// Describes the VMs left out: `3 templates, 12 not running`.
    pub fn left_out_text(&self) -> String {
        let parts: Vec<String> =
            self.left_out.iter().map(|(why, count)| format!("{count} {}", why.words())).collect();
        if parts.is_empty() { "nothing was left out".to_owned() } else { parts.join(", ") }
    }
}

struct Entry {
    name: String,
    id: String,
    number: String,
    /// File that listed the VM first.
    file: usize,
    facts: Facts,
    /// File with the VM's load.
    load_of: Option<usize>,
}

/// Joins rows, starting with the tables that list VMs. With `all`, VMs that are off are kept.
pub(crate) fn join(
    files: &[String],
    records: Vec<Record>,
    mut found: Findings,
    all: bool,
) -> Inventory {
    let (listing, adding): (Vec<_>, Vec<_>) = records.into_iter().partition(|record| record.lists);
    let mut entries = Entries { adds: vec![false; files.len()], ..Entries::default() };
    listing.into_iter().for_each(|record| entries.list(record, &mut found));
    let has_list = !entries.all.is_empty();
    for record in adding {
        match entries.find(&record) {
            NameMatch::One(at) => entries.add(at, record, &mut found),
            NameMatch::None if !has_list => entries.list(record, &mut found),
            NameMatch::None => {
                found.bad.add(&record.at, format!("no VM \"{}\" is listed", record.name))
            }
            NameMatch::Several => found.bad.add(&record.at, several(&record.name)),
        }
    }
    entries.tell(files, &mut found);
    entries.finish(found, all)
}

fn several(name: &str) -> String {
    format!("several VMs are called \"{name}\", and the file does not say which one it means")
}

#[derive(Default)]
struct Entries {
    all: Vec<Entry>,
    by_id: HashMap<String, usize>,
    /// Index by number and name, because a number is unique only in one cluster.
    by_number: HashMap<(String, String), usize>,
    /// Index by name in lower case, of all VMs; the next two are of VMs without an id, and without
    /// a number.
    by_name: HashMap<String, Vec<usize>>,
    without_id: HashMap<String, Vec<usize>>,
    without_number: HashMap<String, Vec<usize>>,
    /// For each file, true if it added something new.
    adds: Vec<bool>,
    /// VMs of one name in two lists with agreeing sizes; `other` is VMs of one name with different
    /// sizes.
    same: Vec<(usize, usize, String)>,
    other: Vec<(usize, usize, String)>,
}

enum NameMatch {
    One(usize),
    None,
    Several,
}

fn key(name: &str) -> String {
    name.to_lowercase()
}

impl Entries {
    fn find(&self, record: &Record) -> NameMatch {
        if let Some(at) = self.by_id.get(&record.id).filter(|_| !record.id.is_empty()) {
            return NameMatch::One(*at);
        }
        let name = key(&record.name);
        let numbered = (record.number.clone(), name.clone());
        if let Some(at) = self.by_number.get(&numbered).filter(|_| !record.number.is_empty()) {
            return NameMatch::One(*at);
        }
        // A row with an identity does not match another VM of the same name that has one.
        let named = match (record.id.is_empty(), record.number.is_empty()) {
            (true, true) => &self.by_name,
            (false, _) => &self.without_id,
            (true, false) => &self.without_number,
        };
        let named = named.get(&name).map_or(&[][..], Vec::as_slice);
        let is_written_so = |at: &&usize| self.all[**at].name == record.name;
        match named {
            [] => NameMatch::None,
            [at] => NameMatch::One(*at),
            // Names that differ only in case are two VMs if one is written exactly like this.
            several => match several.iter().filter(is_written_so).collect::<Vec<_>>()[..] {
                [at] => NameMatch::One(*at),
                _ => NameMatch::Several,
            },
        }
    }

    /// Handles a row that lists a VM. In one file a VM has one row; another file may add facts.
    fn list(&mut self, record: Record, found: &mut Findings) {
        let at = match self.find(&record) {
            NameMatch::None => return self.begin(record),
            NameMatch::Several => match self.of_its_size(&record) {
                Some(at) => at,
                None => return found.bad.add(&record.at, several(&record.name)),
            },
            NameMatch::One(at) => at,
        };
        let entry = &self.all[at];
        let (first, second) = (entry.file, record.at.file);
        if first == second {
            // A name with another spelling belongs to another VM.
            if entry.name != record.name {
                return self.begin(record);
            }
            let what = format!("VM \"{}\" is listed twice", record.name);
            return found.bad.add(&record.at, what);
        }
        let is_known = !record.id.is_empty() && entry.id == record.id;
        if !is_known && !entry.facts.agrees(&record.facts) {
            self.other.push((first, second, record.name.clone()));
            return self.begin(record);
        }
        if !is_known && entry.facts.has_size() && record.facts.has_size() {
            self.same.push((first, second, record.name.clone()));
        }
        self.add(at, record, found);
    }

    /// Returns the only VM of the row's name whose size agrees with the row.
    fn of_its_size(&self, record: &Record) -> Option<usize> {
        let named = self.by_name.get(&key(&record.name))?;
        let fits = |at: &&usize| {
            let entry = &self.all[**at];
            entry.file != record.at.file && entry.facts.agrees(&record.facts)
        };
        let mut fitting = named.iter().filter(fits);
        let first = fitting.next()?;
        fitting.next().is_none().then_some(*first)
    }

    fn begin(&mut self, record: Record) {
        let at = self.all.len();
        let Record { name, id, number, facts, at: RowLocation { file, .. }, .. } = record;
        let written = key(&name);
        match id.is_empty() {
            true => self.without_id.entry(written.clone()).or_default().push(at),
            false => drop(self.by_id.insert(id.clone(), at)),
        }
        match number.is_empty() {
            true => self.without_number.entry(written.clone()).or_default().push(at),
            false => drop(self.by_number.insert((number.clone(), written.clone()), at)),
        }
        self.by_name.entry(written).or_default().push(at);
        let load_of = facts.load.is_known().then_some(file);
        self.adds[file] = true;
        self.all.push(Entry { name, id, number, file, facts, load_of });
    }

    fn add(&mut self, at: usize, record: Record, found: &mut Findings) {
        let entry = &mut self.all[at];
        let Record { at: place, id, number, facts, .. } = record;
        let name = key(&entry.name);
        let leaves = |of: &mut HashMap<String, Vec<usize>>| {
            if let Some(named) = of.get_mut(&name) {
                named.retain(|own| *own != at);
            }
        };
        if entry.id.is_empty() && !id.is_empty() {
            leaves(&mut self.without_id);
            entry.id.clone_from(&id);
            self.by_id.insert(id, at);
            self.adds[place.file] = true;
        }
        if entry.number.is_empty() && !number.is_empty() {
            leaves(&mut self.without_number);
            entry.number.clone_from(&number);
            self.by_number.insert((number, name), at);
        }
        if facts.load.is_known() {
            if entry.load_of.is_some_and(|file| file != place.file) {
                let what = format!("VM \"{}\" has a load from another file already", entry.name);
                return found.bad.add(&place, what);
            }
            entry.load_of = Some(place.file);
        }
        self.adds[place.file] |= !facts.is_empty();
        entry.facts.add(facts);
    }

    /// Reports files that add nothing, and how VMs in two lists were joined.
    fn tell(&self, files: &[String], found: &mut Findings) {
        let told =
            |notes: &[String], file: &String| notes.iter().any(|note| note.contains(file.as_str()));
        for (file, _) in files.iter().zip(&self.adds).filter(|(_, adds)| !**adds) {
            if !told(&found.notes, file) {
                found.note(format!("{file} adds nothing to this estate"));
            }
        }
        let mut tell = |pairs: &[(usize, usize, String)], what: &str| {
            let mut by_files: Vec<((usize, usize), Vec<&str>)> = Vec::new();
            for (first, second, name) in pairs {
                match by_files.iter_mut().find(|(own, _)| *own == (*first, *second)) {
                    Some((_, names)) => names.push(name),
                    None => by_files.push(((*first, *second), vec![name])),
                }
            }
            for ((first, second), names) in by_files {
                found.note(format!(
                    "{} in {} and in {} {what} ({})",
                    units::print::count(names.len() as u64, "VM"),
                    files[first],
                    files[second],
                    first_names(&names)
                ));
            }
        };
        tell(&self.same, "have the same name and matching sizes, and count as one VM");
        tell(&self.other, "have the same name but different sizes, and count as two VMs");
    }

    fn finish(self, found: Findings, all: bool) -> Inventory {
        let mut inventory =
            Inventory { bad: found.bad, notes: found.notes, ..Inventory::default() };
        let mut out: Vec<(LeftOut, u32)> = Vec::new();
        let mut seen: HashMap<String, u32> = HashMap::new();
        for entry in self.all {
            // Off in one list and running in another means that the VM was moved.
            let is_kept = |why: &LeftOut| *why == LeftOut::Off && (all || entry.facts.is_on);
            if let Some(why) = entry.facts.out.filter(|why| !is_kept(why)) {
                match out.iter_mut().find(|(own, _)| *own == why) {
                    Some((_, count)) => *count += 1,
                    None => out.push((why, 1)),
                }
                continue;
            }
            inventory.raw = Bytes::new(
                inventory.raw.get().saturating_add(entry.facts.raw.map_or(0, Bytes::get)),
            );
            let number = seen.entry(entry.name.clone()).and_modify(|own| *own += 1).or_insert(1);
            let name = if *number == 1 { entry.name } else { format!("{} ({number})", entry.name) };
            let id = if entry.id.is_empty() { entry.number } else { entry.id };
            inventory.vms.push(entry.facts.into_vm(name, id));
        }
        out.sort();
        inventory.left_out = out;
        inventory
    }
}

/// Lists the first names, and the number of further ones.
pub(crate) fn first_names(names: &[&str]) -> String {
    const NAMED: usize = 3;
    let mut text = names.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    if names.len() > NAMED {
        text += &format!(" and {} more", names.len() - NAMED);
    }
    text
}

/// Reads files and joins their rows. With `all`, VMs that are off are kept.
///
/// # Errors
/// If a file cannot be read at all; errors of single rows are in the inventory.
pub fn collect(
    files: &[crate::read::Source],
    reading: &crate::read::Reading,
    all: bool,
) -> Result<Inventory, crate::ReadError> {
    let mut found = Findings::default();
    let mut records = Vec::new();
    for (number, source) in files.iter().enumerate() {
        records.extend(crate::read::read(number, source, reading, &mut found)?);
    }
    let files: Vec<String> = files.iter().map(|source| source.path.display().to_string()).collect();
    Ok(join(&files, records, found, all))
}
