//! Recorder of the completions of one slice. An I/O costs one array access and no lock; memory is
//! allocated only for the first I/O of a kind. I/Os are added to their cells in batches, so that
//! the processor loads the memory of a whole batch in parallel.

use std::collections::BTreeMap;

use state_machine::CallError;
use stats::Histogram;
use units::{Bytes, Nanos};

use crate::slice::{
    ActionRow, CallRow, Direction, GeneratorRow, InstanceId, IoRow, OPEN_AGE_MIN, OpenRow,
    SizeClass, Slice, Unfinished, VmId,
};

/// Properties of an instance that a recorder needs before the start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstanceShape {
    /// Number of the instance in the run.
    pub instance: InstanceId,
    /// VM of each disk, by disk index in the instance.
    pub disk_vms: Vec<VmId>,
    /// Number of kinds of I/O and calls, together.
    pub kinds: u16,
    /// Number of actions.
    pub actions: u16,
    /// Number of user groups.
    pub groups: u16,
}

/// Completed I/O, to be recorded.
#[derive(Debug, Clone, Copy)]
pub struct IoDone {
    /// Index of the instance in the recorder's shapes.
    pub instance: usize,
    /// Index of the disk in the instance.
    pub disk: u16,
    /// Index of the kind in the instance.
    pub kind: u16,
    /// Direction of the I/O.
    pub direction: Direction,
    /// Requested length, in bytes.
    pub length: u32,
    /// Service time: from submission to completion.
    pub service: Nanos,
    /// Response time: from the intended start to completion.
    pub response: Nanos,
    /// True if the I/O succeeded.
    pub ok: bool,
}

/// Completed call, to be recorded.
#[derive(Debug, Clone, Copy)]
pub struct CallDone {
    /// Index of the instance in the recorder's shapes.
    pub instance: usize,
    /// Index of the kind in the instance.
    pub kind: u16,
    /// Service time: from the call to its answer.
    pub service: Nanos,
    /// Response time: from the intended start to completion.
    pub response: Nanos,
    /// Bytes of the answer, or the class of the error.
    pub result: Result<u64, CallError>,
}

/// Completed or dropped action, to be recorded.
#[derive(Debug, Clone, Copy)]
pub struct ActionSample {
    /// Index of the instance in the recorder's shapes.
    pub instance: usize,
    /// Index of the action in the instance.
    pub action: u16,
    /// Index of the user group in the instance.
    pub group: u16,
    /// Service time: from the first step to the last answer.
    pub service: Nanos,
    /// Response time: from the intended start to the last answer.
    pub response: Nanos,
    /// True if every I/O and call of the action succeeded.
    pub ok: bool,
}

#[derive(Debug)]
struct Cell {
    bytes: u64,
    errors: u64,
    dropped: u64,
    service: Histogram,
    response: Histogram,
}

impl Cell {
    fn new() -> Box<Self> {
        Box::new(Self {
            bytes: 0,
            errors: 0,
            dropped: 0,
            service: Histogram::new(),
            response: Histogram::new(),
        })
    }

    fn clear(&mut self) {
        (self.bytes, self.errors, self.dropped) = (0, 0, 0);
        self.service.clear();
        self.response.clear();
    }
}

/// Counts of the calls of one kind in one slice.
#[derive(Debug)]
struct CallCell {
    is_touched: bool,
    bytes: u64,
    errors: [u64; CallError::ALL.len()],
    service: Histogram,
    response: Histogram,
}

impl Default for CallCell {
    fn default() -> Self {
        let (service, response) = (Histogram::new(), Histogram::new());
        Self { is_touched: false, bytes: 0, errors: [0; 5], service, response }
    }
}

impl CallCell {
    fn clear(&mut self) {
        (self.is_touched, self.bytes, self.errors) = (false, 0, [0; 5]);
        self.service.clear();
        self.response.clear();
    }
}

/// Cells by index. A cell is allocated at its first use. The list has the cells used in this slice.
#[derive(Debug, Default)]
struct Cells {
    cells: Vec<Option<Box<Cell>>>,
    is_touched: Vec<bool>,
    touched: Vec<u32>,
}

impl Cells {
    fn reserve(&mut self, count: usize) {
        self.cells.resize_with(count, || None);
        self.is_touched.resize(count, false);
    }

    #[inline]
    fn at(&mut self, index: usize) -> &mut Cell {
        if !self.is_touched[index] {
            self.is_touched[index] = true;
            self.touched.push(u32::try_from(index).expect("fewer than 2^32 cells"));
        }
        self.cells[index].get_or_insert_with(Cell::new)
    }

    /// Reads the memory that recording this I/O will change, so that it is loaded into the
    /// processor's cache.
    #[inline]
    fn look_ahead(&self, index: usize, done: &IoDone) -> u32 {
        let Some(cell) = &self.cells[index] else { return 0 };
        let buckets = (cell.service.held(done.service), cell.response.held(done.response));
        buckets.0.wrapping_add(buckets.1)
    }

    fn drain(&mut self, mut take: impl FnMut(usize, &mut Cell)) {
        self.touched.sort_unstable();
        for index in self.touched.drain(..) {
            let index = index as usize;
            self.is_touched[index] = false;
            let cell = self.cells[index].as_mut().expect("a touched cell exists");
            take(index, cell);
            cell.clear();
        }
    }
}

/// Recorder of the completions of one slice.
#[derive(Debug)]
pub struct Recorder {
    shapes: Vec<InstanceShape>,
    /// Index of the first I/O cell of each instance; the cells are ordered by disk, kind, direction
    /// and class.
    io_base: Vec<usize>,
    action_base: Vec<usize>,
    io: Cells,
    /// Completed I/Os that are not added to their cells yet, with the index of each cell.
    fresh: Vec<(usize, IoDone)>,
    /// Cells of calls, ascending. A map, because only few kinds of few instances make calls.
    calls: BTreeMap<(usize, u16), CallCell>,
    actions: Cells,
    /// Ages of unfinished work at the last observation.
    open: BTreeMap<(usize, Unfinished), Vec<Nanos>>,
}

const DIRECTIONS: usize = Direction::ALL.len();

/// Number of I/Os in a batch: more than the loads that a processor can have in flight.
const TOGETHER: usize = 32;

impl Recorder {
    /// Creates a recorder for these instances.
    pub fn new(shapes: Vec<InstanceShape>) -> Self {
        let mut recorder = Self {
            shapes,
            io_base: Vec::new(),
            action_base: Vec::new(),
            io: Cells::default(),
            fresh: Vec::with_capacity(TOGETHER),
            calls: BTreeMap::new(),
            actions: Cells::default(),
            open: BTreeMap::new(),
        };
        let (mut io, mut actions) = (0, 0);
        for shape in &recorder.shapes {
            recorder.io_base.push(io);
            recorder.action_base.push(actions);
            io += shape.disk_vms.len() * usize::from(shape.kinds) * DIRECTIONS * SizeClass::COUNT;
            actions += usize::from(shape.actions) * usize::from(shape.groups);
        }
        recorder.io.reserve(io);
        recorder.actions.reserve(actions);
        recorder
    }

    /// Records a completed I/O.
    #[inline]
    pub fn io(&mut self, done: &IoDone) {
        let shape = &self.shapes[done.instance];
        let row = usize::from(done.disk) * usize::from(shape.kinds) + usize::from(done.kind);
        let column = done.direction as usize * SizeClass::COUNT
            + usize::from(SizeClass::of(done.length).index());
        let index = self.io_base[done.instance] + row * DIRECTIONS * SizeClass::COUNT + column;
        self.fresh.push((index, *done));
        if self.fresh.len() == TOGETHER {
            self.put_in_cells();
        }
    }

    fn put_in_cells(&mut self) {
        let ahead: u32 = self
            .fresh
            .iter()
            .fold(0_u32, |sum, (index, done)| sum.wrapping_add(self.io.look_ahead(*index, done)));
        // The sum is not used. Computing it has loaded the memory, and `black_box` keeps the
        // compiler from removing that.
        std::hint::black_box(ahead);
        for (index, done) in self.fresh.drain(..) {
            let cell = self.io.at(index);
            if done.ok {
                cell.bytes += u64::from(done.length);
                cell.service.record(done.service);
                cell.response.record(done.response);
            } else {
                cell.errors += 1;
            }
        }
    }

    /// Records a completed call.
    pub fn call(&mut self, done: &CallDone) {
        let cell = self.calls.entry((done.instance, done.kind)).or_default();
        cell.is_touched = true;
        match done.result {
            Ok(bytes) => {
                cell.bytes += bytes;
                cell.service.record(done.service);
                cell.response.record(done.response);
            }
            Err(error) => cell.errors[error as usize] += 1,
        }
    }

    /// Records a completed action.
    pub fn action(&mut self, done: &ActionSample) {
        let cell = self.action_cell(done.instance, done.action, done.group);
        if done.ok {
            cell.service.record(done.service);
            cell.response.record(done.response);
        } else {
            cell.errors += 1;
        }
    }

    /// Records an intended start that was dropped. It counts for the first action of the group.
    pub fn dropped(&mut self, instance: usize, group: u16) {
        self.action_cell(instance, 0, group).dropped += 1;
    }

    /// Clears the unfinished work of the last observation, before a new observation is recorded.
    pub fn look_anew(&mut self) {
        self.open.values_mut().for_each(Vec::clear);
    }

    /// Records unfinished work and its age. Work younger than [`OPEN_AGE_MIN`] is ignored.
    pub fn unfinished(&mut self, instance: usize, what: Unfinished, age: Nanos) {
        if age >= OPEN_AGE_MIN {
            self.open.entry((instance, what)).or_default().push(age);
        }
    }

    fn open_rows(&mut self) -> Vec<OpenRow> {
        let mut ages = Histogram::new();
        let mut rows = Vec::new();
        for ((instance, what), found) in self.open.iter_mut().filter(|(_, f)| !f.is_empty()) {
            ages.clear();
            found.drain(..).for_each(|age| ages.record(age));
            let instance = self.shapes[*instance].instance;
            rows.push(OpenRow { instance, what: *what, ages: ages.compact() });
        }
        rows
    }

    fn action_cell(&mut self, instance: usize, action: u16, group: u16) -> &mut Cell {
        let groups = usize::from(self.shapes[instance].groups);
        let index = usize::from(action) * groups + usize::from(group);
        self.actions.at(self.action_base[instance] + index)
    }

    /// Returns all completions since the last call as a slice.
    pub fn take(&mut self, start: Nanos, width: Nanos, generator: GeneratorRow) -> Slice {
        self.put_in_cells();
        let open = self.open_rows();
        let mut slice = Slice { start, width, open, generator, ..Slice::default() };
        let (shapes, io_base, action_base) = (&self.shapes, &self.io_base, &self.action_base);
        self.io.drain(|index, cell| {
            let instance = io_base.partition_point(|base| *base <= index) - 1;
            let shape = &shapes[instance];
            let within = index - io_base[instance];
            let (row, column) = (
                within / (DIRECTIONS * SizeClass::COUNT),
                within % (DIRECTIONS * SizeClass::COUNT),
            );
            let (disk, kind) = (row / usize::from(shape.kinds), row % usize::from(shape.kinds));
            let class = u8::try_from(column % SizeClass::COUNT).expect("below eight");
            slice.io.push(IoRow {
                vm: shape.disk_vms[disk],
                kind: u16::try_from(kind).expect("kinds are numbered by u16"),
                direction: Direction::ALL[column / SizeClass::COUNT],
                class: SizeClass::from_index(class).expect("below eight"),
                bytes: Bytes::new(cell.bytes),
                errors: cell.errors,
                service: cell.service.compact(),
                response: cell.response.compact(),
            });
        });
        for ((instance, kind), cell) in self.calls.iter_mut().filter(|(_, cell)| cell.is_touched) {
            slice.calls.push(CallRow {
                instance: shapes[*instance].instance,
                kind: *kind,
                bytes: Bytes::new(cell.bytes),
                errors: cell.errors,
                service: cell.service.compact(),
                response: cell.response.compact(),
            });
            cell.clear();
        }
        self.actions.drain(|index, cell| {
            let instance = action_base.partition_point(|base| *base <= index) - 1;
            let groups = usize::from(shapes[instance].groups);
            let within = index - action_base[instance];
            slice.actions.push(ActionRow {
                instance: shapes[instance].instance,
                action: u16::try_from(within / groups).expect("actions are numbered by u16"),
                group: u16::try_from(within % groups).expect("groups are numbered by u16"),
                errors: cell.errors,
                dropped: cell.dropped,
                service: cell.service.compact(),
                response: cell.response.compact(),
            });
        });
        slice
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(instance: u32, vms: &[u32]) -> InstanceShape {
        InstanceShape {
            instance: InstanceId(instance),
            disk_vms: vms.iter().map(|vm| VmId(*vm)).collect(),
            kinds: 3,
            actions: 2,
            groups: 2,
        }
    }

    #[test]
    fn each_io_lands_in_the_row_of_its_vm_kind_direction_and_class() {
        let mut recorder = Recorder::new(vec![shape(4, &[10]), shape(5, &[11, 12])]);
        let done = IoDone {
            instance: 1,
            disk: 1,
            kind: 2,
            direction: Direction::Write,
            length: 8192,
            service: Nanos::from_micros(100),
            response: Nanos::from_micros(300),
            ok: true,
        };
        recorder.io(&done);
        recorder.io(&IoDone { ok: false, ..done });
        let slice = recorder.take(Nanos::ZERO, Nanos::SECOND, GeneratorRow::default());
        assert_eq!(slice.io.len(), 1);
        let row = &slice.io[0];
        assert_eq!((row.vm, row.kind, row.direction), (VmId(12), 2, Direction::Write));
        assert_eq!((row.class.name(), row.bytes.get(), row.errors), ("8-<16 KiB", 8192, 1));
        assert_eq!((row.service.count(), row.response.sum_ns), (1, 300_000));
        let empty = recorder.take(Nanos::SECOND, Nanos::SECOND, GeneratorRow::default());
        assert!(empty.io.is_empty(), "a slice starts with nothing");
    }

    #[test]
    fn calls_are_counted_by_kind_and_their_errors_by_class() {
        let mut recorder = Recorder::new(vec![shape(4, &[10]), shape(5, &[])]);
        let (service, response) = (Nanos::from_micros(100), Nanos::from_micros(300));
        let done = CallDone { instance: 1, kind: 2, service, response, result: Ok(700) };
        recorder.call(&done);
        recorder.call(&CallDone { result: Err(CallError::Status), ..done });
        let slice = recorder.take(Nanos::ZERO, Nanos::SECOND, GeneratorRow::default());
        assert_eq!((slice.calls.len(), slice.io.len()), (1, 0));
        let row = &slice.calls[0];
        assert_eq!((row.instance, row.kind, row.bytes.get()), (InstanceId(5), 2, 700));
        assert_eq!((row.errors, row.service.count()), ([0, 0, 0, 1, 0], 1));
        let empty = recorder.take(Nanos::SECOND, Nanos::SECOND, GeneratorRow::default());
        assert!(empty.calls.is_empty(), "a slice starts with nothing");
    }

    #[test]
    fn a_dropped_start_is_counted_for_its_group() {
        let mut recorder = Recorder::new(vec![shape(0, &[0])]);
        recorder.dropped(0, 1);
        let slice = recorder.take(Nanos::ZERO, Nanos::SECOND, GeneratorRow::default());
        assert_eq!((slice.actions[0].group, slice.actions[0].dropped), (1, 1));
        assert_eq!(slice.actions[0].response.count(), 0);
    }
}
