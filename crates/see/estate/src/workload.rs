//! Writes the workload of a class, and the tile of an estate, as definition files.

use std::fmt::Write as _;

use indexmap::IndexMap;
use spec::tile::{self, Tile, TileWorkload};
use spec::workload::{
    Access, Action, Address, Counted, CpuMode, DataPattern, Disk, HotSpot, Limit, Load, Metric, On,
    Role, Size, Step, UserGroup, Vm, Workload,
};
use units::{BlockSize, Nanos, Rate, Ratio};

use crate::class::{Class, mean_size};
use crate::error::EstateError;
use crate::mix::{ClassVms, Estate, bytes};

/// Maximum number of outstanding I/Os of a VM. Our choice: the default queue depth of a virtual
/// disk (64 for VMware's paravirtual controller, less for others).
const OUTSTANDING_MAX: u32 = 64;
/// Hot spot: share of the I/Os, and share of the data that they access; `classes.toml` has the
/// reason.
const HOT: (f64, f64) = (0.9, 0.1);
/// Unit to which disk sizes are rounded.
const WHOLE: f64 = 1_048_576.0;
/// Minimum rate, for a VM without load, because a load needs a rate.
const LEAST_PER_S: f64 = 0.001;

impl Estate {
    /// Returns the files of the estate as names and texts: the tile, and a workload for each class
    /// in the tile.
    ///
    /// # Errors
    /// If a definition would be invalid, which is a bug of this program.
    pub fn files(&self) -> Result<Vec<(String, String)>, EstateError> {
        let mut files = vec![("tile.toml".to_owned(), self.tile_text()?)];
        for part in &self.parts {
            let text = part_text(self, part)?;
            files.push((file_name(part.class()), text));
        }
        Ok(files)
    }

    /// Returns the tile of the estate.
    pub fn tile(&self) -> Tile {
        let part = |part: &ClassVms| TileWorkload {
            workload: file_name(part.class()),
            count: part.in_tile,
        };
        let vms = u32::try_from(self.members.len()).unwrap_or(u32::MAX);
        let measured = self.parts.iter().map(|part| part.measured).sum::<u32>();
        Tile {
            name: self.name.clone(),
            title: format!("{vms} virtual machines as {} tiles", units::print::number(self.tiles)),
            source: format!(
                "made by tilemark estate import of {vms} virtual machines; {measured} of them with a measured load"
            ),
            estate: Some(tile::Estate {
                vms,
                tiles: self.tiles,
                capacity: bytes(self.parts.iter().map(|part| part.bytes).sum()),
                measured: Ratio::new(f64::from(measured) / f64::from(vms.max(1))),
            }),
            workloads: self.parts.iter().map(part).collect(),
        }
    }

    fn tile_text(&self) -> Result<String, EstateError> {
        let tile = self.tile();
        let problems = spec::check::tile(&tile);
        if let Some(problem) = problems.first() {
            return Err(EstateError::Made {
                class: "all".to_owned(),
                what: problem.message.clone(),
            });
        }
        text(
            "# An estate as a tile. Each workload in this directory stands for one class of its \
            VMs.",
            &tile,
            "all",
        )
    }

    /// Returns the share of the estate that is in one tile, 0 to 1.
    pub(crate) fn share(&self) -> f64 {
        1.0 / self.tiles
    }
}

fn file_name(class: &Class) -> String {
    format!("{}.toml", class.name)
}

fn part_text(estate: &Estate, part: &ClassVms) -> Result<String, EstateError> {
    let workload = workload(estate, part);
    let class = part.class();
    if let Some(problem) = spec::check::workload(&workload).first() {
        let what = format!("{}: {}", problem.path, problem.message);
        return Err(EstateError::Made { class: class.name.clone(), what });
    }
    let head = format!(
        "# {} of the estate's {}, as {} of a tile. Rates and sizes are theirs together, divided;\n\
         # what was assumed, and why, stands in `source`.",
        part.vms, class.title, part.in_tile
    );
    text(&head, &workload, &class.name)
}

fn text(
    head: &str,
    definition: &impl serde::Serialize,
    class: &str,
) -> Result<String, EstateError> {
    let made = |error: toml::ser::Error| EstateError::Made {
        class: class.to_owned(),
        what: error.to_string(),
    };
    Ok(format!("{head}\n{}", toml::to_string_pretty(definition).map_err(made)?))
}

/// Makes the workload of a class: one VM with its share of the class's load.
pub(crate) fn workload(estate: &Estate, part: &ClassVms) -> Workload {
    let class = part.class();
    let each = estate.share() / f64::from(part.in_tile);
    let rates = part.rates.times(each);
    let disk = format!("{}-disk", class.name);
    let side =
        |io: f64, moved: f64, sizes| (io > 0.0).then(|| Side { io, mean: moved / io, sizes });
    let reads = side(rates.reads_per_s, rates.read_bytes_per_s, &class.read_sizes);
    let writes = side(rates.writes_per_s, rates.written_bytes_per_s, &class.write_sizes);
    // A VM without any load reads now and then.
    let reads = reads.or_else(|| {
        let idle =
            Side { io: LEAST_PER_S, mean: mean_size(&class.read_sizes), sizes: &class.read_sizes };
        writes.is_none().then_some(idle)
    });
    let sides: Vec<(&str, Side<'_>)> = [("read", reads), ("write", writes)]
        .into_iter()
        .filter_map(|(name, side)| Some((name, side?)))
        .collect();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a count of processors"
    )]
    let vcpus = part.vcpus.round().clamp(1.0, 1024.0) as u32;
    let size = bytes((part.bytes * each / WHOLE).ceil().max(1.0) * WHOLE);
    let machine = Disk { name: disk.clone(), size, role: Role::Data, on: On::First, source: None };
    Workload {
        name: class.name.clone(),
        title: format!("{} of {}: one VM of a tile", part.vms, class.title),
        source: source(part),
        metric: metric(),
        cpu: CpuMode::Delay,
        data: DataPattern::default(),
        endpoints: Vec::new(),
        application: None,
        vms: vec![Vm { name: class.name.clone(), vcpus, disks: vec![machine] }],
        groups: sides.iter().map(|(name, side)| side.group(name, &class.name)).collect(),
        actions: sides.iter().map(|(name, side)| side.action(name, &disk)).collect(),
        limits: sides.iter().map(|(name, _)| limit(name, class)).collect(),
        replay: None,
    }
}

/// One direction of the load: reads, or writes.
#[derive(Clone, Copy)]
struct Side<'a> {
    io: f64,
    /// Mean size in bytes.
    mean: f64,
    /// Mix of sizes of the class.
    sizes: &'a IndexMap<String, f64>,
}

impl Side<'_> {
    fn group(&self, name: &str, vm: &str) -> UserGroup {
        UserGroup {
            name: format!("{name}s"),
            vm: vm.to_owned(),
            load: Load::Open {
                rate: Rate::per_second(self.io.max(LEAST_PER_S)),
                outstanding_max: OUTSTANDING_MAX,
                gaps: None,
                bursts: Vec::new(),
            },
            mix: Some([(name.to_owned(), 1.0)].into_iter().collect()),
            schedule: None,
            phases: Vec::new(),
        }
    }

    fn action(&self, name: &str, disk: &str) -> Action {
        let hot = HotSpot { io: Ratio::new(HOT.0), space: Ratio::new(HOT.1) };
        let access = Access {
            disk: disk.to_owned(),
            size: self.size(),
            address: Address::Hot(vec![hot]),
            count: 1,
            kind: None,
            data: None,
            durable: None,
        };
        let step = if name == "read" { Step::Read(access) } else { Step::Write(access) };
        Action { name: name.to_owned(), weight: 1.0, steps: vec![step] }
    }

    /// Returns the class's mix of sizes if its mean equals the measured mean. Otherwise returns the
    /// two powers of two around the measured mean, weighted so that the mean, and with it the
    /// bytes, are right.
    fn size(&self) -> Size {
        if (mean_size(self.sizes) / self.mean - 1.0).abs() < 1e-6 {
            return match self.sizes.first() {
                Some((size, _)) if self.sizes.len() == 1 => {
                    Size::Fixed(size.parse().unwrap_or(BlockSize::SECTOR))
                }
                _ => Size::Mix(self.sizes.clone()),
            };
        }
        let mean = self.mean.clamp(512.0, 33_554_432.0);
        let below = 2_f64.powf(mean.log2().floor()).max(512.0);
        let above = (mean - below) / below;
        let text = |size: f64| BlockSize::new(bytes(size)).unwrap_or(BlockSize::SECTOR).to_text();
        let weights = [(text(below), 1.0 - above), (text(below * 2.0), above)];
        Size::Mix(weights.into_iter().filter(|(_, weight)| *weight > 0.0).collect())
    }
}

/// Returns the metric of the tile: the I/O rate that storage without any delay would give is one
/// tile's worth.
fn metric() -> Metric {
    Metric {
        unit: "IOPS".to_owned(),
        count: Counted::Io,
        of: None,
        per: Nanos::SECOND,
        divide_by: 1.0,
        reference: None,
    }
}

fn limit(action: &str, class: &Class) -> Limit {
    Limit {
        action: Some(action.to_owned()),
        io: None,
        call: None,
        percentile: None,
        limit: None,
        mean: Some(class.limit.mean),
        max: None,
        source: "the limit of the class, above; counting from the arrival is our choice".to_owned(),
    }
}

fn source(part: &ClassVms) -> String {
    let class = part.class();
    let mut text = format!(
        "{} VMs of an estate, {} of them with a measured load (95th percentile of each, added up \
         as if all were busy at once). For all other VMs, and for missing measurements, rates, \
         shares and sizes are assumed. For all VMs it is assumed that {} % of the I/Os go to {} % \
         of the data.",
        part.vms,
        part.measured,
        HOT.0 * 100.0,
        HOT.1 * 100.0
    );
    let _ = write!(text, "\nThe class: {}", class.source.trim());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_sizes_around_a_mean_have_that_mean() {
        let sizes: IndexMap<String, f64> = [("8k".to_owned(), 1.0)].into_iter().collect();
        for mean in [700.0, 4096.0, 5000.0, 11_571.2, 300_000.0] {
            let side = Side { io: 1.0, mean, sizes: &sizes };
            let Size::Mix(mix) = side.size() else { panic!("{mean} is not the class's") };
            assert!((mean_size(&mix) / mean - 1.0).abs() < 1e-9, "{mean}: {mix:?}");
        }
        let own = Side { io: 1.0, mean: 8192.0, sizes: &sizes };
        assert!(matches!(own.size(), Size::Fixed(_)));
    }
}
