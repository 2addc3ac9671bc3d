use run_store::slice::InstanceId;
use spec::workload::{
    Access, Action, Address, Counted, CpuMode, DataPattern, Disk, Load, Metric, On, Role, Size,
    Step, Time, UserGroup, Vm, Workload,
};
use units::{BlockSize, Bytes, Nanos};
use workload::{BuildError, InstancePlan};

use super::matrix::{Mix, Point};
use bench::fleet::{DiskNeed, Driven, FleetInstance, Member, shape};

/// Disk on which the loops run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Size of the disk.
    pub size: Bytes,
    /// Seed of random numbers.
    pub seed: u64,
}

impl Span {
    /// Returns the requirements of the disk, which are the same for every point.
    pub fn disk(self) -> DiskNeed {
        DiskNeed {
            name: "calibrate/disk".to_owned(),
            size: self.size,
            data: DataPattern::default(),
            disk: "disk".to_owned(),
            role: Role::Data,
            vm: 0,
            tile: Some(0),
            on: On::First,
        }
    }

    /// Creates the state machine of a point. Another round has other addresses.
    pub fn machine(self, point: &Point, round: u64) -> Result<Driven, BuildError> {
        let workload = workload_of(point, self.size);
        let built = workload::build(&InstancePlan {
            workload: &workload,
            seed: self.seed,
            round,
            tile: 0,
            position: 0,
            copy: 0,
            footprint: 1.0,
            time_scale: 1.0,
            cpu: None,
            schedule: None,
        })?;
        let instance = FleetInstance {
            endpoints: Vec::new(),
            protocols: Vec::new(),
            asks: Vec::new(),
            application: None,
            copy_kinds: Vec::new(),
            shape: shape(InstanceId(0), 0, &built),
            disks: vec![DiskNeed { size: built.disks[0].size, ..self.disk() }],
            member: Member { tile: Some(0), workload: 0, copy: 0 },
            workload: workload.name.clone(),
            vms: built.vms.clone(),
            vcpus: vec![1],
            users: point.depth,
        };
        Ok(Driven { instance, machine: built.machine })
    }
}

fn workload_of(point: &Point, size: Bytes) -> Workload {
    let action = |name: &str, weight: f64, step: Step| Action {
        name: name.to_owned(),
        weight,
        steps: vec![step],
    };
    let access = || access(point.block);
    let actions = match point.mix {
        Mix::Read => vec![action("read", 1.0, Step::Read(access()))],
        Mix::Write => vec![action("write", 1.0, Step::Write(access()))],
        Mix::Mixed => vec![
            action("read", point.mix.reads(), Step::Read(access())),
            action("write", 1.0 - point.mix.reads(), Step::Write(access())),
        ],
    };
    let disk =
        Disk { name: "disk".to_owned(), size, role: Role::Data, on: On::First, source: None };
    let load = Load::Closed { users: point.depth, think: Time::default() };
    Workload {
        endpoints: Vec::new(),
        application: None,
        name: "calibrate".to_owned(),
        title: "A closed loop".to_owned(),
        source: "made by tilemark calibrate".to_owned(),
        metric: Metric {
            unit: "I/Os/s".to_owned(),
            count: Counted::None,
            of: None,
            per: Nanos::SECOND,
            divide_by: 1.0,
            reference: None,
        },
        cpu: CpuMode::Delay,
        data: DataPattern::default(),
        vms: vec![Vm { name: "vm".to_owned(), vcpus: 1, disks: vec![disk] }],
        groups: vec![UserGroup {
            name: "users".to_owned(),
            vm: "vm".to_owned(),
            load,
            mix: None,
            schedule: None,
            phases: Vec::new(),
        }],
        actions,
        limits: Vec::new(),
        replay: None,
    }
}

fn access(block: Bytes) -> Access {
    Access {
        disk: "disk".to_owned(),
        size: Size::Fixed(BlockSize::new(block).expect("the matrix has whole sectors")),
        address: Address::Uniform,
        count: 1,
        kind: None,
        data: None,
        durable: None,
    }
}
