//! Reads a workload fitted to a recording of one VM (`tilemark analyze --to-workload`): its demand
//! is the measured load. The VM is named by the workload, or with the file.

use units::Nanos;

use super::{Format, Input};
use crate::error::ReadError;
use crate::place::Findings;
use crate::row::{Facts, Record};
use crate::vm::Load;

pub(super) struct Fitted;

const NAME: &str = "a workload (TOML) of tilemark analyze --to-workload";
/// Service time assumed for each I/O in a closed loop; `spec::demand` assumes the same for the
/// shipped tiles.
const SERVICE: Nanos = Nanos::from_millis(1);

impl Format for Fitted {
    fn name(&self) -> &'static str {
        NAME
    }

    fn fits(&self, input: &Input<'_>) -> bool {
        input.source.path.extension().is_some_and(|extension| extension == "toml")
    }

    fn read(&self, input: &Input<'_>, _: &mut Findings) -> Result<Vec<Record>, ReadError> {
        let workload = spec::read_workload(&input.source.path)
            .map_err(|error| input.broken("workload", error))?;
        let demand = spec::demand::of_workload(&workload, SERVICE)
            .ok_or_else(|| input.broken("workload", "it has no rate of its own"))?;
        let load = Load {
            reads_per_s: Some(demand.reads_per_s),
            writes_per_s: Some(demand.writes_per_s),
            read_bytes_per_s: Some(demand.read_bytes_per_s),
            written_bytes_per_s: Some(demand.written_bytes_per_s),
            ..Load::default()
        };
        let facts = Facts { load, ..Facts::default() };
        let name = input.source.vm.clone().unwrap_or(workload.name);
        Ok(vec![Record {
            at: input.at("", 1),
            name,
            id: String::new(),
            number: String::new(),
            lists: false,
            facts,
        }])
    }
}
