//! Check of the fitted array: compares a step of a shipped tile on the storage with the same step
//! on the array. Loops of one size and kind differ from the load of virtual machines.

use std::path::Path;

use run_store::run::Step;
use spec::ResolvedTile;
use spec::array::{Array, TileCheck};
use units::{Bytes, Nanos};

use super::error::CalibrateError;
use super::sweep::Contact;
use bench::BenchError;
use bench::fleet::{StepOrder, fleet, round};
use bench::progress::{NoObserver, about};
use bench::rig::Rig;
use bench::run::{TileLoad, fill};
use bench::simulate::{Settings, Stage};
use bench::step::{Nowhere, StepBench, place_now, step_at_most};

/// Tile for the check: two VMs that read and write randomly all the time, in two sizes, each with
/// its own queue. It has neither phases nor bursts, so a few seconds are sufficient.
const TILE: &str = "general";

/// Measurement time of the step, in multiples of a loop's time; the next constants are its bounds.
/// Our choice.
const TIMES: u64 = 10;
const TIME: (Nanos, Nanos) = (Nanos::from_secs(2), Nanos::from_secs(10));

/// Returns the settings of the step for loops of this time.
fn settings(point: Nanos) -> Settings {
    let duration = Nanos(point.0.saturating_mul(TIMES)).clamp(TIME.0, TIME.1);
    Settings {
        warm_up_min: Nanos(duration.0 / 4),
        warm_up_max: duration,
        duration,
        lengthen_max: 1,
        slice: Nanos(duration.0 / 20),
        footprint: 1.0,
        time: 1.0,
    }
}

fn tile() -> Result<ResolvedTile, CalibrateError> {
    spec::resolve_tile(TILE, Path::new(""))
        .map_err(|error| CalibrateError::CheckTile { tile: TILE, source: Box::new(error) })
}

/// Prepares the step, with disks that are together about as large as the loops' disk.
pub fn stage(span: Bytes, point: Nanos) -> Result<Stage, CalibrateError> {
    let (tile, settings) = (tile()?, settings(point));
    let plan = settings.plan("any", &tile).map_err(BenchError::from)?;
    let full = TileLoad::of(&plan)?.bytes;
    let footprint = (span.get() as f64 / full.get() as f64).min(1.0);
    Ok(Stage::new(&tile, &Settings { footprint, ..settings })?)
}

/// Returns the total size of the step's disks.
pub fn disks(span: Bytes) -> Result<Bytes, CalibrateError> {
    Ok(TileLoad::of(stage(span, TIME.0)?.plan())?.bytes)
}

/// Runs the step on both. The rig's slices must be as long as in the plan.
pub fn check<R: Rig>(
    rig: &mut R,
    stage: &Stage,
    (array, seed): (&Array, u64),
    (control, tell): Contact<'_>,
) -> Result<TileCheck, BenchError> {
    let at_most = about(step_at_most(stage.plan()));
    tell(&format!("one tile {TILE} on the storage and on the model, at most {at_most}"));
    let mut plan = stage.plan().clone();
    plan.seed = seed;
    let fleet = fleet(&plan, StepOrder::whole(&plan, 1, round(1, 0)))?;
    let needs: Vec<_> = fleet.disks().cloned().collect();
    fill(rig, &needs, control, &mut NoObserver)?;
    let mut bench = StepBench {
        plan: &plan,
        references: stage.references(),
        rig,
        control,
        observer: &mut NoObserver,
        series: &mut Nowhere,
    };
    let measured = bench.alone(&fleet, &place_now(1, 1, 1, 1))?;
    let modelled = stage.step(array, (1, 0), seed, control)?;
    let (measured_rate, measured_time) = rate_and_time(&measured);
    let (modelled_rate, modelled_time) = rate_and_time(&modelled);
    if measured_rate <= 0.0 || modelled_rate <= 0.0 {
        return Err(BenchError::Silent(plan.duration));
    }
    let tile = TILE.to_owned();
    Ok(TileCheck { tile, measured_rate, modelled_rate, measured_time, modelled_time })
}

/// Returns IOPS and mean latency.
fn rate_and_time(step: &Step) -> (f64, Nanos) {
    let sums = step.io.iter().fold((0.0, 0.0), |(count, time), io| {
        let own = io.operations_per_s;
        let mean = Nanos(io.service.mean_ns.unwrap_or(0)).as_secs_f64();
        (count + own, time + own * mean)
    });
    let mean = if sums.0 > 0.0 { sums.1 / sums.0 } else { 0.0 };
    (step.throughput.operations_per_s, Nanos::from_secs_f64(mean))
}

#[cfg(test)]
mod tests {
    use hardware::ServersParameters;

    use bench::progress::Control;
    use bench::rig::SimRig;

    use super::*;
    use crate::{DiskModel, model_disk, place};

    /// Returns a fitted array of one server with this service time.
    fn server(service: Nanos) -> Array {
        let disk = ServersParameters::plain(Bytes::GIB * 4, 1, (service, service), 1e12);
        place::array("fitted", &model_disk(&DiskModel::Servers(disk)))
    }

    fn checked(array: &Array) -> TileCheck {
        let stage = stage(Bytes::GIB, Nanos::SECOND).expect("it is shipped");
        let storage = server(Nanos::from_millis(1));
        let mut rig = SimRig::new(&storage, stage.plan());
        let contact: Contact<'_> = (&Control::default(), &mut |_| {});
        check(&mut rig, &stage, (array, 7), contact).expect("both answer")
    }

    /// Regression: a model that matched the loops but not a tile was saved without a warning.
    #[test]
    fn a_model_is_checked_with_a_tile_on_the_storage_and_on_itself() {
        let right = checked(&server(Nanos::from_millis(1)));
        let (low, high) = right.factors();
        assert!(low > 0.9 && high < 1.1, "{right:?}");
        let too_fast = checked(&server(Nanos::from_micros(250)));
        let (low, high) = too_fast.factors();
        assert!((0.2..0.35).contains(&low) && high < 1.1, "{too_fast:?}");
        assert_eq!(too_fast.tile, TILE);
    }

    #[test]
    fn check_disks_are_about_as_large_as_the_loop_disk() {
        let bytes = disks(Bytes::GIB).expect("it is shipped");
        assert!(bytes >= Bytes::new(900 << 20) && bytes <= Bytes::GIB + Bytes::MIB, "{bytes}");
    }
}
