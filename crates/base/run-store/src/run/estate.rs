//! Answer expressed as a number of existing virtual machines.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Bytes;
use units::print::{number, percent, whole};

use super::Answer;

/// Existing virtual machines from which a tile was made.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EstateFacts {
    /// Number of the virtual machines.
    pub vms: u32,
    /// Number of tiles whose load equals the load of all these virtual machines.
    pub tiles: f64,
    /// Bytes that the virtual machines hold.
    pub capacity_bytes: u64,
    /// Share of the virtual machines with measured load, 0 to 1. The load of the others is assumed.
    pub measured: f64,
}

impl EstateFacts {
    /// Returns the answer as a sentence about virtual machines of the estate; `None` if nothing was
    /// decided.
    pub(super) fn told(&self, answer: &Answer, carries: &str) -> Option<String> {
        // If there is room to tell about, the sentence to plan with tells it.
        let by = if answer.capacity.is_some() { ", by speed" } else { "" };
        let mut text = format!("Of the estate{by}: {carries} {}", self.carried(answer)?);
        if self.measured < 1.0 {
            text +=
                &format!("; the load of {} of its VMs is assumed", percent(1.0 - self.measured));
        }
        Some(text + ".")
    }

    fn carried(&self, answer: &Answer) -> Option<String> {
        let held = answer.tiles_held?;
        let interval = answer.tiles_interval;
        let low = interval.map_or(held, |own| own.low);
        let high = interval.map_or(answer.is_bounded().then_some(held), |own| own.high);
        let is_all = f64::from(low) >= self.tiles;
        let first = answer.first_broken.as_ref().filter(|_| !is_all);
        let first =
            first.map_or_else(String::new, |own| format!("; {} breaks first", own.workload));
        Some(self.machines(low, high) + &first)
    }

    /// Converts a range of tiles to virtual machines of the estate, as text: `all 143 VMs and 1.3
    /// to 1.5 times their load`, `91 to 104 of 143 VMs`. `high` is `None` if the range is open.
    pub fn machines(&self, low: u32, high: Option<u32>) -> String {
        let all = whole(self.vms.into());
        if f64::from(low) >= self.tiles {
            return format!("all {all} VMs and {} their load", self.times(low, high));
        }
        let least = whole(self.vms_in(low).into());
        match high {
            Some(high) if f64::from(high) < self.tiles => {
                format!("{} of {all} VMs", self.part(low, high))
            }
            Some(high) => {
                let times = number(f64::from(high) / self.tiles);
                format!(
                    "at least {least} of {all} VMs, and perhaps all of them and {times} times their load"
                )
            }
            None => {
                format!(
                    "at least {least} of {all} VMs, and perhaps all of them; more tiles were not tried"
                )
            }
        }
    }

    fn times(&self, low: u32, high: Option<u32>) -> String {
        let times = |tiles: u32| number(f64::from(tiles) / self.tiles);
        match high {
            Some(high) if high == low => format!("{} times", times(low)),
            Some(high) => format!("{} to {} times", times(low), times(high)),
            None => format!("at least {} times", times(low)),
        }
    }

    fn part(&self, low: u32, high: u32) -> String {
        let (low, high) = (self.vms_in(low), self.vms_in(high));
        if low == high {
            whole(low.into())
        } else {
            format!("{} to {}", whole(low.into()), whole(high.into()))
        }
    }

    /// Returns the whole number of virtual machines in `tiles` tiles, at most all of the estate.
    pub(super) fn vms_in(&self, tiles: u32) -> u32 {
        self.vms_of(f64::from(tiles) / self.tiles)
    }

    /// Returns the whole number of virtual machines whose disks fit into `bytes`, at most all of
    /// the estate.
    pub(super) fn vms_within(&self, bytes: Bytes) -> u32 {
        if bytes.get() >= self.capacity_bytes {
            return self.vms;
        }
        #[expect(clippy::cast_precision_loss, reason = "a share")]
        let share = bytes.get() as f64 / self.capacity_bytes as f64;
        self.vms_of(share)
    }

    fn vms_of(&self, share: f64) -> u32 {
        let vms = share * f64::from(self.vms);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "at most a count of machines"
        )]
        let vms = vms.floor().clamp(0.0, f64::from(self.vms)) as u32;
        vms
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Edge, Figure, Status, TilesInterval};
    use super::*;

    fn answer(held: u32, low: u32, high: Option<u32>) -> Answer {
        Answer {
            status: Status::Complete,
            tiles_held: Some(held),
            vms_held: None,
            tiles_interval: Some(TilesInterval { low, high, most_likely: None, confidence: 0.95 }),
            tiles_max: None,
            capacity: None,
            edge: Edge::LimitBroken,
            sentence: String::new(),
            first_broken: None,
            bottleneck: None,
            score: Figure { value: None, reason: None },
            score_interval: None,
            per_kilowatt: Vec::new(),
            progress: String::new(),
            climb: None,
        }
    }

    #[test]
    fn an_answer_is_told_in_machines_of_the_estate() {
        let estate = EstateFacts { vms: 143, tiles: 11.0, capacity_bytes: 1, measured: 1.0 };
        let told = |held, low, high| {
            estate.carried(&answer(held, low, high)).expect("something was decided")
        };
        assert_eq!(told(15, 14, Some(17)), "all 143 VMs and 1.27 to 1.55 times their load");
        assert_eq!(told(15, 14, None), "all 143 VMs and at least 1.27 times their load");
        assert_eq!(told(7, 7, Some(8)), "91 to 104 of 143 VMs");
        assert_eq!(
            told(10, 9, Some(12)),
            "at least 117 of 143 VMs, and perhaps all of them and 1.09 times their load"
        );
        assert_eq!(
            told(3, 3, None),
            "at least 39 of 143 VMs, and perhaps all of them; more tiles were not tried"
        );
        assert_eq!(told(0, 0, Some(0)), "0 of 143 VMs");
        let mut ended = answer(2, 2, None);
        (ended.tiles_interval, ended.edge) = (None, Edge::LadderEnded);
        let told = estate.carried(&ended).expect("something was decided");
        assert!(
            told.starts_with("at least 26 of 143 VMs"),
            "a range that ended has found no edge: {told}"
        );
    }
}
