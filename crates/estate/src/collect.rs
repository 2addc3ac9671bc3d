//! From what rows of files say to virtual machines.

use std::collections::HashMap;

use units::Bytes;

use crate::place::{BadRows, Place};
use crate::row::{Facts, LeftOut, Record};
use crate::vm::Vm;

/// Virtual machines, and what was left aside.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Inventory {
    /// Machines that make load, in the order of the files.
    pub vms: Vec<Vm>,
    /// Machines that do not, by reason.
    pub left_out: Vec<(LeftOut, u32)>,
    /// Bytes of raw disks, which are another array's and are not counted.
    pub raw: Bytes,
    /// Rows that could not be used.
    pub bad: BadRows,
}

impl Inventory {
    /// Machines that were listed, also those left out.
    pub fn listed(&self) -> usize {
        self.vms.len() + self.left_out.iter().map(|(_, count)| *count as usize).sum::<usize>()
    }

    /// What was left out, in words: `3 templates, 12 not running`.
    pub fn left_out_text(&self) -> String {
        let parts: Vec<String> =
            self.left_out.iter().map(|(why, count)| format!("{count} {}", why.words())).collect();
        if parts.is_empty() { "nothing was left out".to_owned() } else { parts.join(", ") }
    }
}

struct Entry {
    name: String,
    id: String,
    /// The file that listed it.
    file: usize,
    facts: Facts,
    /// The file that its load is from.
    load_of: Option<usize>,
}

/// Puts rows together, those that list machines first; with `all`, machines that are off are kept.
pub(crate) fn join(records: Vec<Record>, mut bad: BadRows, all: bool) -> Inventory {
    let (listing, adding): (Vec<_>, Vec<_>) = records.into_iter().partition(|record| record.lists);
    let mut entries = Entries::default();
    listing.into_iter().for_each(|record| entries.list(record, &mut bad));
    let has_list = !entries.all.is_empty();
    for record in adding {
        match entries.find(&record) {
            Found::One(at) => entries.add(at, record, &mut bad),
            Found::None if !has_list => entries.list(record, &mut bad),
            Found::None => bad.add(&record.at, format!("no machine \"{}\" is listed", record.name)),
            Found::Several => bad.add(&record.at, several(&record.name)),
        }
    }
    entries.finish(bad, all)
}

fn several(name: &str) -> String {
    format!("several machines are called \"{name}\", and it does not say which")
}

#[derive(Default)]
struct Entries {
    all: Vec<Entry>,
    by_id: HashMap<String, usize>,
    by_name: HashMap<String, Vec<usize>>,
}

enum Found {
    One(usize),
    None,
    Several,
}

impl Entries {
    fn find(&self, record: &Record) -> Found {
        if let Some(at) = self.by_id.get(&record.id) {
            return Found::One(*at);
        }
        let named = self.by_name.get(&record.name).map_or(&[][..], Vec::as_slice);
        // What has an identity of its own is not another of the same name. An entry without one is
        // the first of its name, because a second would have been taken for it.
        match named {
            [] => Found::None,
            [first, ..] if !record.id.is_empty() => match self.all[*first].id.is_empty() {
                true => Found::One(*first),
                false => Found::None,
            },
            [at] => Found::One(*at),
            _ => Found::Several,
        }
    }

    /// A row that lists a machine. In one file a machine has one row; another file may know more of it.
    fn list(&mut self, record: Record, bad: &mut BadRows) {
        match self.find(&record) {
            Found::None => self.begin(record),
            Found::One(at) if self.all[at].file != record.at.file => self.add(at, record, bad),
            Found::One(_) => {
                bad.add(&record.at, format!("machine \"{}\" is listed twice", record.name))
            }
            Found::Several => bad.add(&record.at, several(&record.name)),
        }
    }

    fn begin(&mut self, record: Record) {
        let at = self.all.len();
        let Record { name, id, facts, at: Place { file, .. }, .. } = record;
        if !id.is_empty() {
            self.by_id.insert(id.clone(), at);
        }
        self.by_name.entry(name.clone()).or_default().push(at);
        let load_of = facts.load.is_known().then_some(file);
        self.all.push(Entry { name, id, file, facts, load_of });
    }

    fn add(&mut self, at: usize, record: Record, bad: &mut BadRows) {
        let entry = &mut self.all[at];
        let Record { at: place, id, facts, .. } = record;
        if entry.id.is_empty() && !id.is_empty() {
            entry.id.clone_from(&id);
            self.by_id.insert(id, at);
        }
        if facts.load.is_known() {
            if entry.load_of.is_some_and(|file| file != place.file) {
                let what =
                    format!("machine \"{}\" has a load from another file already", entry.name);
                return bad.add(&place, what);
            }
            entry.load_of = Some(place.file);
        }
        entry.facts.add(facts);
    }

    fn finish(self, bad: BadRows, all: bool) -> Inventory {
        let mut inventory = Inventory { bad, ..Inventory::default() };
        let mut out: Vec<(LeftOut, u32)> = Vec::new();
        let mut seen: HashMap<String, u32> = HashMap::new();
        for entry in self.all {
            if let Some(why) = entry.facts.out.filter(|why| !(all && *why == LeftOut::Off)) {
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
            inventory.vms.push(entry.facts.into_vm(name, entry.id));
        }
        out.sort();
        inventory.left_out = out;
        inventory
    }
}

/// Reads files and puts together what they say; with `all`, machines that are off are kept.
///
/// # Errors
/// When a file cannot be read at all; what is wrong with single rows is in the inventory.
pub fn collect(
    files: &[crate::read::Source],
    columns: &[crate::read::NamedColumn],
    all: bool,
) -> Result<Inventory, crate::ReadError> {
    let mut bad = BadRows::default();
    let mut records = Vec::new();
    for (number, source) in files.iter().enumerate() {
        records.extend(crate::read::read(number, source, columns, &mut bad)?);
    }
    Ok(join(records, bad, all))
}
