use units::{Bytes, Nanos};

use super::{ActionRow, CallRow, InstanceId, IoRow, Slice, VmId};

impl Slice {
    /// Returns the end of the slice, relative to the start of the step.
    pub fn end(&self) -> Nanos {
        self.start + self.width
    }

    /// Merges the slice with another driver's slice of the same time; see [`Slice::merged`].
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        Self::merged([self, other]).unwrap_or_default()
    }

    /// Merges several drivers' slices of the same time; `None` without slices. Rows of the same VM,
    /// kind, direction and size class become one row; calls and actions likewise. The numbers of
    /// the generators are added. Unfinished work is only collected, because each instance is driven
    /// by one driver. Rows are sorted once for any number of drivers.
    pub fn merged(parts: impl IntoIterator<Item = Self>) -> Option<Self> {
        let mut parts = parts.into_iter();
        let mut whole = parts.next()?;
        for part in parts {
            whole.append(part);
        }
        whole.fold_rows();
        Some(whole)
    }

    /// Appends the rows of another driver's slice.
    fn append(&mut self, mut other: Self) {
        let (start, end) = (self.start.min(other.start), self.end().max(other.end()));
        (self.start, self.width) = (start, end.saturating_sub(start));
        self.io.append(&mut other.io);
        self.calls.append(&mut other.calls);
        self.actions.append(&mut other.actions);
        self.open.append(&mut other.open);
        let (own, others) = (&mut self.generator, &mut other.generator);
        own.submitted += others.submitted;
        own.completed += others.completed;
        own.in_flight += others.in_flight;
        own.in_flight_seconds += others.in_flight_seconds;
        own.queued += others.queued;
        own.lateness.merge(&others.lateness);
        own.worker_cpu.append(&mut others.worker_cpu);
        own.away = own.away.max(others.away);
    }

    /// Sorts the rows, and merges rows of the same key.
    fn fold_rows(&mut self) {
        let key = |row: &IoRow| (row.vm, row.kind, row.direction, row.class);
        self.io.sort_by_key(key);
        self.io.dedup_by(|later, row| {
            let same = key(row) == key(later);
            if same {
                row.bytes = Bytes::new(row.bytes.get() + later.bytes.get());
                row.errors += later.errors;
                row.service.merge(&later.service);
                row.response.merge(&later.response);
            }
            same
        });
        let key = |row: &CallRow| (row.instance, row.kind);
        self.calls.sort_by_key(key);
        self.calls.dedup_by(|later, row| {
            let same = key(row) == key(later);
            if same {
                row.merge(later);
            }
            same
        });
        let key = |row: &ActionRow| (row.instance, row.action, row.group);
        self.actions.sort_by_key(key);
        self.actions.dedup_by(|later, row| {
            let same = key(row) == key(later);
            if same {
                row.errors += later.errors;
                row.dropped += later.dropped;
                row.service.merge(&later.service);
                row.response.merge(&later.response);
            }
            same
        });
    }

    /// Renumbers instances and VMs: number `n` becomes entry `n` of the list. `None` if a number is
    /// beyond the end of its list.
    #[must_use]
    pub fn renumbered(mut self, instances: &[InstanceId], vms: &[VmId]) -> Option<Self> {
        let instance = |own: InstanceId| instances.get(own.0 as usize).copied();
        for row in &mut self.io {
            row.vm = *vms.get(row.vm.0 as usize)?;
        }
        for row in &mut self.calls {
            row.instance = instance(row.instance)?;
        }
        for row in &mut self.actions {
            row.instance = instance(row.instance)?;
        }
        for row in &mut self.open {
            row.instance = instance(row.instance)?;
        }
        Some(self)
    }

    /// Merges the slice with the next one of the same driver. Unfinished work and the number in
    /// flight are taken from the later slice. The CPU share of each worker is the mean over both.
    #[must_use]
    pub fn followed_by(self, later: Self) -> Self {
        let (before, after) = (self.width.as_secs_f64(), later.width.as_secs_f64());
        let (in_flight, cpu) = (later.generator.in_flight, later.generator.worker_cpu.clone());
        let mean = |(a, b): (&f64, &f64)| (a * before + b * after) / (before + after);
        let worker_cpu = self.generator.worker_cpu.iter().zip(&cpu).map(mean).collect();
        let open = later.open.clone();
        let away = self.generator.away.saturating_add(later.generator.away);
        let mut both = self.merge(later);
        both.open = open;
        both.generator.in_flight = in_flight;
        both.generator.worker_cpu = worker_cpu;
        both.generator.away = away;
        both
    }
}

#[cfg(test)]
mod tests {
    use stats::Histogram;

    use super::super::*;

    fn slice(start: u64, vm: u32, latencies: &[u64]) -> Slice {
        let mut service = Histogram::new();
        latencies.iter().for_each(|ns| service.record(Nanos(*ns)));
        let response = service.compact();
        let io = IoRow {
            vm: VmId(vm),
            kind: 1,
            direction: Direction::Read,
            class: SizeClass::of(8192),
            bytes: Bytes::new(8192 * latencies.len() as u64),
            errors: 0,
            service: response.clone(),
            response: response.clone(),
        };
        let open = OpenRow {
            instance: InstanceId(vm),
            what: Unfinished::Io(1, Direction::Read),
            ages: response.clone(),
        };
        let action = ActionRow {
            instance: InstanceId(vm),
            action: 0,
            group: 0,
            errors: 1,
            dropped: 2,
            service: response.clone(),
            response,
        };
        let generator = GeneratorRow {
            submitted: latencies.len() as u64,
            in_flight: u64::from(vm),
            worker_cpu: vec![f64::from(vm) / 4.0],
            ..GeneratorRow::default()
        };
        let (start, width) = (Nanos(start), Nanos(1_000));
        let (io, actions, open) = (vec![io], vec![action], vec![open]);
        let call = CallRow {
            instance: InstanceId(vm),
            kind: 2,
            bytes: Bytes::new(100),
            errors: [1, 0, 0, 2, 0],
            service: actions[0].service.clone(),
            response: actions[0].response.clone(),
        };
        Slice { start, width, io, calls: vec![call], actions, open, generator }
    }

    #[test]
    fn slices_of_two_drivers_add_up_rows_of_one_vm() {
        let both = slice(0, 1, &[5, 7]).merge(slice(0, 2, &[9]));
        assert_eq!((both.io.len(), both.actions.len(), both.open.len()), (2, 2, 2));
        assert_eq!((both.generator.submitted, both.generator.in_flight), (3, 3));
        let same = slice(0, 1, &[5, 7]).merge(slice(0, 1, &[9]));
        assert_eq!((same.io.len(), same.io[0].service.count()), (1, 3));
        assert_eq!(same.io[0].bytes, Bytes::new(3 * 8192));
        assert_eq!((same.actions[0].errors, same.actions[0].dropped), (2, 4));
        assert_eq!((both.calls.len(), same.calls.len()), (2, 1));
        let call = &same.calls[0];
        assert_eq!((call.bytes, call.errors), (Bytes::new(200), [2, 0, 0, 4, 0]));
        assert_eq!((call.service.count(), call.failed()), (3, 6));
    }

    #[test]
    fn many_drivers_at_once_are_what_they_are_one_after_the_other() {
        let parts =
            || [slice(0, 3, &[5, 7]), slice(0, 1, &[9]), slice(1_000, 3, &[2]), slice(0, 2, &[1])];
        let one_by_one = parts().into_iter().reduce(Slice::merge);
        assert_eq!(Slice::merged(parts()), one_by_one);
        assert_eq!(Slice::merged([]), None);
    }

    #[test]
    fn open_work_after_two_slices_is_that_at_their_end() {
        let both = slice(0, 1, &[5]).followed_by(slice(1_000, 1, &[7]));
        assert_eq!((both.start, both.end()), (Nanos(0), Nanos(2_000)));
        assert_eq!(both.open, slice(1_000, 1, &[7]).open);
        assert_eq!((both.generator.in_flight, both.generator.worker_cpu), (1, vec![0.25]));
    }

    #[test]
    fn a_slice_of_a_part_gets_the_numbers_of_the_whole_or_is_none() {
        let (instances, vms) = ([InstanceId(7), InstanceId(4)], [VmId(30), VmId(9)]);
        let whole = slice(0, 1, &[5]).renumbered(&instances, &vms).expect("both are known");
        assert_eq!((whole.io[0].vm, whole.actions[0].instance), (VmId(9), InstanceId(4)));
        assert_eq!(
            (whole.open[0].instance, whole.calls[0].instance),
            (InstanceId(4), InstanceId(4))
        );
        assert_eq!(whole.io[0].service, slice(0, 1, &[5]).io[0].service);
        for (instances, vms) in [(&instances[..1], &vms[..]), (&instances, &vms[..1]), (&[], &[])] {
            assert_eq!(slice(0, 1, &[5]).renumbered(instances, vms), None);
        }
    }

    #[test]
    fn a_slice_is_the_same_after_a_message() {
        let sent = slice(12_345_678_901, 3, &[1, 130, 4_000_000_000_123]);
        let text = serde_json::to_string(&sent).expect("serialises");
        assert_eq!(serde_json::from_str::<Slice>(&text).expect("reads back"), sent);
        let unknown = text.replace(r#""class":2"#, r#""class":8"#);
        assert!(serde_json::from_str::<Slice>(&unknown).is_err());
    }
}
