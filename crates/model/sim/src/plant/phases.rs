use cache::tier::{Step, StepDevice, Wait};
use state_machine::Operation;

/// A step and its phase. A phase begins when all steps of the previous phase are done.
#[derive(Debug, Clone, Copy)]
pub struct Planned {
    pub step: Step,
    pub phase: u32,
}

/// Assigns each step its phase and sorts the steps by phase.
pub fn plan(steps: &[Step], planned: &mut Vec<Planned>) {
    // Every earlier step is compared: the first bytes of a request may admit a page that its last
    // bytes evict again.
    let is_awaited = |step: &Step| step.wait == Wait::Request;
    let mut is_mixed = false;
    let mut awaited_phases = 0;
    for step in steps {
        let mut phase = 0;
        for (before, earlier) in planned.iter().enumerate() {
            let left = before.checked_sub(1).map(|before| &steps[before]);
            let other = &earlier.step;
            if depends(step, other) || replaces(step, other, left) {
                phase = phase.max(earlier.phase + 1);
                is_mixed |= is_awaited(step) && !is_awaited(other);
            }
        }
        if is_awaited(step) {
            awaited_phases = awaited_phases.max(phase + 1);
        }
        planned.push(Planned { step: *step, phase });
    }
    if !is_mixed {
        // Background steps follow all steps that the request waits for; their own order stays.
        for planned in planned.iter_mut().filter(|planned| !is_awaited(&planned.step)) {
            planned.phase += awaited_phases;
        }
    }
    planned.sort_by_key(|planned| planned.phase);
}

/// Returns true if a step must wait for an earlier one: if both touch the same bytes of a device
/// and one of them writes, or if the step writes the data that the earlier one reads.
fn depends(step: &Step, earlier: &Step) -> bool {
    let is_write = step.operation == Operation::Write;
    let was_write = earlier.operation == Operation::Write;
    if step.place == earlier.place {
        return (is_write || was_write)
            && overlap((step.offset, step.length), (earlier.offset, earlier.length));
    }
    is_write
        && !was_write
        && overlap((step.address, step.length), (earlier.address, earlier.length))
}

/// Returns true if a step overwrites a tier page that `earlier` destages; `left` is the step before
/// `earlier` that reads the page.
fn replaces(step: &Step, earlier: &Step, left: Option<&Step>) -> bool {
    let is_write = |step: &Step| step.operation == Operation::Write;
    left.is_some_and(|left| {
        is_write(step)
            && is_write(earlier)
            && left.operation == Operation::Read
            && earlier.place == StepDevice::Backing
            && step.place != StepDevice::Backing
            && left.place == step.place
            && left.address == earlier.address
            && overlap((step.offset, step.length), (left.offset, left.length))
    })
}

fn overlap(one: (u64, u32), other: (u64, u32)) -> bool {
    one.0 < other.0 + u64::from(other.1) && other.0 < one.0 + u64::from(one.1)
}

#[cfg(test)]
mod tests {
    use cache::Tier;
    use cache::tier::{Access, Config, Data, HostId, VmId, VmSettings, WriteMode};

    use super::*;

    const BACKING: StepDevice = StepDevice::Backing;
    const TIER: StepDevice = StepDevice::Share(HostId(0));

    fn step(
        place: StepDevice,
        operation: Operation,
        offset: u64,
        address: u64,
        wait: Wait,
    ) -> Step {
        let (by, data, length) = (HostId(0), Data::Request, 4096);
        Step { place, by, operation, offset, address, length, data, wait }
    }

    fn phases(steps: &[Step]) -> Vec<(Step, u32)> {
        let mut planned = Vec::new();
        plan(steps, &mut planned);
        planned.iter().map(|planned| (planned.step, planned.phase)).collect()
    }

    const READ: Operation = Operation::Read;
    const WRITE: Operation = Operation::Write;
    const ASKED: Wait = Wait::Request;
    const LATER: Wait = Wait::Background;

    #[test]
    fn a_write_through_reaches_both_devices_at_the_same_time() {
        let steps = [step(TIER, WRITE, 0, 8192, ASKED), step(BACKING, WRITE, 8192, 8192, ASKED)];
        assert!(phases(&steps).iter().all(|(_, phase)| *phase == 0));
    }

    #[test]
    fn a_fill_follows_the_request_and_its_own_read() {
        let steps = [
            step(BACKING, READ, 8192, 8192, ASKED),
            step(TIER, READ, 0, 40960, LATER),
            step(BACKING, WRITE, 40960, 40960, LATER),
            step(BACKING, READ, 8192, 8192, LATER),
            step(TIER, WRITE, 0, 8192, LATER),
        ];
        let phases: Vec<u32> = phases(&steps).iter().map(|(_, phase)| *phase).collect();
        // The slot is only written when the evicted page is destaged and the new page has been
        // read.
        assert_eq!(phases, [0, 1, 1, 2, 3]);
    }

    #[test]
    fn evicted_page_is_destaged_before_the_request_rereads_it() {
        let steps = [
            step(TIER, READ, 0, 40960, LATER),
            step(BACKING, WRITE, 40960, 40960, LATER),
            step(BACKING, READ, 40960, 40960, ASKED),
        ];
        let phases: Vec<u32> = phases(&steps).iter().map(|(_, phase)| *phase).collect();
        assert_eq!(phases, [0, 1, 2]);
    }

    /// The request is longer than the tier: its first pages are evicted to admit its last pages.
    #[test]
    fn page_admitted_and_evicted_in_a_request_is_written_first() {
        const PAGE: u32 = 64 << 10;
        let vms = VmSettings { write_mode: WriteMode::Back, ..VmSettings::default() };
        let config = Config { vms, ..Config::new(20 * u64::from(PAGE), PAGE) };
        let mut tier = Tier::new(config).expect("a valid tier");
        let mut steps = Vec::new();
        let access = Access { vm: VmId(0), operation: WRITE, offset: 0, length: 50 * PAGE };
        tier.access(&access, &mut steps);
        let planned = phases(&steps);
        let on_tier = |wanted| {
            let is_it =
                move |step: &&(Step, u32)| (step.0.place, step.0.operation) == (TIER, wanted);
            planned.iter().filter(is_it)
        };
        let mut left = 0;
        for (read, phase) in on_tier(READ) {
            let is_same = |step: &&(Step, u32)| step.0.address == read.address;
            let written = on_tier(WRITE).find(is_same).expect("it came in with the request");
            assert!(*phase > written.1, "{read:?} in phase {phase}, {written:?}");
            left += 1;
        }
        assert_eq!(left, 30);
    }
}
