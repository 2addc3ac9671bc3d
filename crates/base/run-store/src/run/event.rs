use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Nanos};

use super::Figure;

/// Event of a host while a step ran. Times are in nanoseconds from the start of the step, as in the
/// series. They are by the controller's clock unless noted otherwise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepEvent {
    /// Kind of the event.
    pub kind: StepEventKind,
    /// Host that the event affected; absent if tiles were moved to spread them evenly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Planned time, from the start of the measured time; absent for unplanned events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned_ns: Option<u64>,
    /// Start of the event: the time of the order or, for a lost host, of its last sign of life.
    pub began_ns: u64,
    /// End of the event: the time at which the last tile, or the host, continued. Absent if that
    /// never happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_ns: Option<u64>,
    /// Time at which the loss of the host was detected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noticed_ns: Option<u64>,
    /// Time from the last sign of life to the detection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detection_ns: Option<u64>,
    /// Moves and stops of the affected tiles; in a simulation, of the affected virtual machines.
    pub tiles: Vec<TileMove>,
    /// Acknowledged writes that were lost with the host, in bytes, because no copy was left. Only
    /// in a simulation; absent if nothing was lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_bytes: Option<u64>,
    /// Effect on the tiles of the other hosts; absent if there are no such tiles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub survivors: Option<Survivors>,
    /// Note for the reader; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Kind of a host event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StepEventKind {
    /// Planned loss of a host.
    LoseHost,
    /// Planned temporary stop of a host.
    StopHost,
    /// Planned move of tiles to spread them evenly.
    Rebalance,
    /// Planned move of all tiles away from a host.
    Drain,
    /// Unplanned loss of a host.
    HostLost,
}

impl StepEventKind {
    /// Returns the name of the kind in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::LoseHost => "lose-host",
            Self::StopHost => "stop-host",
            Self::Rebalance => "rebalance",
            Self::Drain => "drain",
            Self::HostLost => "host-lost",
        }
    }
}

/// Tile that was moved to another host, or stopped for a time. In a simulation, one of its virtual
/// machines.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct TileMove {
    /// Tile, from 0.
    pub tile: u32,
    /// Virtual machine in a simulation, as `workload/VM`; absent if the whole tile moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vm: Option<String>,
    /// Host that drove the tile before the event.
    pub from: String,
    /// Host that drives the tile after the event; absent if none does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Time at which the tile stopped, by the clock of `from`; for a lost host, its last sign of
    /// life.
    pub stood_ns: u64,
    /// Time at which the tile continued, by the clock of `to`; absent if it never did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goes_on_ns: Option<u64>,
    /// Duration of the stop: the switch-over of a move, or the outage of a loss. Its accuracy is
    /// limited by `clock_uncertainty_ns` of the two hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outage_ns: Option<u64>,
    /// True if the users started again from the beginning, because their state was lost. In a
    /// simulation, true if the virtual machine started its interrupted work again.
    pub begins_anew: bool,
    /// Copy of the virtual machine's memory and disks, in a simulation; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy: Option<MoveCopy>,
}

/// Copy of a virtual machine's memory to another host, or of its disks to another pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct MoveCopy {
    /// Bytes of memory that were sent, including memory that changed and was sent again.
    pub bytes: u64,
    /// Bytes of disks that were copied.
    #[serde(default)]
    pub disk_bytes: u64,
    /// Number of rounds of memory while the virtual machine ran.
    pub rounds: u32,
    /// Time from the start of the copy until the virtual machine continued on the new host.
    pub took_ns: u64,
}

/// Response times of the unaffected tiles during an event, compared with the time before. Each kind
/// of work is compared with itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Survivors {
    /// Unaffected tiles, from 0.
    pub tiles: Vec<u32>,
    /// Number of their I/Os and calls in the measured time before the event. Times of other events
    /// are left out.
    pub samples_before: u64,
    /// Number of their I/Os and calls during the event. It covers every slice that overlaps the
    /// event, at least five slices.
    pub samples_during: u64,
    /// Mean response time during the event, divided by the mean of the same mix of I/Os and calls
    /// before the event; 1 is unchanged.
    pub times: Figure,
    /// Lower end of the confidence interval of `times`, by resampling slices; absent with too few
    /// slices.
    pub low: Figure,
    /// Upper end of the confidence interval of `times`, by resampling slices; absent with too few
    /// slices.
    pub high: Figure,
}

impl StepEvent {
    /// Creates an event that has begun, on no host and with no effect yet.
    pub const fn begun(kind: StepEventKind, began_ns: u64) -> Self {
        Self {
            kind,
            host: None,
            planned_ns: None,
            began_ns,
            ended_ns: None,
            noticed_ns: None,
            detection_ns: None,
            tiles: Vec::new(),
            lost_bytes: None,
            survivors: None,
            note: None,
        }
    }

    /// Describes the event in lines: one for the event, one for each tile, and one for the effect
    /// on other tiles.
    pub fn told(&self) -> Vec<String> {
        let host = self.host.as_ref().map_or_else(String::new, |host| format!(" {host}"));
        let mut first = format!("{}{host} after {}", self.kind.name(), Nanos(self.began_ns));
        if let (Some(_), Some(detection)) = (self.noticed_ns, self.detection_ns) {
            first += &format!(", noticed {} after its last sign of life", Nanos(detection));
        }
        if let Some(note) = &self.note {
            first += &format!(": {note}");
        }
        if let Some(lost) = self.lost_bytes {
            let lost = Bytes::new(lost);
            first += &format!("; {lost} of acknowledged writes had no copy left and are lost");
        }
        let mut lines = vec![first];
        lines.extend(self.tiles.iter().map(|tile| format!("  {}", moved(tile))));
        lines.extend(self.survivors.as_ref().map(|own| format!("  {}", felt(own))));
        lines
    }
}

/// Describes the move of a tile: `tile 2: b to a, stood still for 31 ms`.
fn moved(own: &TileMove) -> String {
    let TileMove { tile, vm, from, to, outage_ns, begins_anew, copy, .. } = own;
    let vm = vm.as_ref().map_or_else(String::new, |vm| format!(", {vm}"));
    let tile = format!("tile {}{vm}", tile + 1);
    let (Some(to), Some(outage)) = (to, outage_ns) else {
        return format!("{tile}: lost with {from}, and not restarted before the step ended");
    };
    let outage = Nanos(*outage);
    let copied = copy.map_or_else(String::new, |copy| copied(&copy));
    match (to == from, begins_anew) {
        (true, _) => format!("{tile}: stopped on {from} for {outage}{copied}"),
        (_, true) => format!("{tile}: restarted on {to} after {outage} of outage"),
        (_, false) => format!("{tile}: {from} to {to}, stopped for {outage}{copied}"),
    }
}

/// Describes what was copied: `; 4 GiB of memory and 40 GiB of disks copied in 60 s`.
fn copied(own: &MoveCopy) -> String {
    let parts = [(own.bytes, "memory"), (own.disk_bytes, "disks")].into_iter();
    let parts = parts.filter(|(bytes, _)| *bytes > 0);
    let parts: Vec<String> =
        parts.map(|(bytes, what)| format!("{} of {what}", Bytes::new(bytes))).collect();
    format!("; {} copied in {}", parts.join(" and "), Nanos(own.took_ns))
}

/// Describes the response times of the unaffected tiles, compared with the time before.
fn felt(own: &Survivors) -> String {
    let count = own.tiles.len();
    let others =
        if count == 1 { "the other tile".to_owned() } else { format!("{count} other tiles") };
    match (own.times.value, own.low.value.zip(own.high.value)) {
        (Some(times), Some((low, high))) => format!(
            "{others}: response times {times:.2} times as long as before ({low:.2} to {high:.2})"
        ),
        (Some(times), None) => {
            format!("{others}: response times {times:.2} times as long as before")
        }
        (None, _) => format!("{others}: {}", own.times.reason.as_deref().unwrap_or("not compared")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn event_tells_fate_of_each_tile_and_effect_on_others() {
        let tile = |tile, to: Option<&str>, begins_anew| TileMove {
            tile,
            from: "b".to_owned(),
            to: to.map(str::to_owned),
            stood_ns: 5_000_000_000,
            goes_on_ns: to.map(|_| 9_000_000_000),
            outage_ns: to.map(|_| 4_000_000_000),
            begins_anew,
            ..TileMove::default()
        };
        let survivors = Survivors {
            tiles: vec![0, 2],
            samples_before: 900,
            samples_during: 300,
            times: Figure::of(0.91),
            low: Figure::of(0.8),
            high: Figure::of(1.02),
        };
        let tiles = vec![
            tile(1, Some("a"), true),
            tile(3, None, true),
            tile(5, Some("b"), false),
            tile(7, Some("c"), false),
        ];
        let own = StepEvent {
            kind: StepEventKind::LoseHost,
            host: Some("b".to_owned()),
            planned_ns: Some(3_000_000_000),
            began_ns: 5_000_000_000,
            ended_ns: Some(9_000_000_000),
            noticed_ns: Some(7_000_000_000),
            detection_ns: Some(2_100_000_000),
            tiles,
            lost_bytes: None,
            survivors: Some(survivors),
            note: None,
        };
        assert_eq!(
            own.told().join("\n"),
            "lose-host b after 5 s, noticed 2.1 s after its last sign of life\n  \
             tile 2: restarted on a after 4 s of outage\n  \
             tile 4: lost with b, and not restarted before the step ended\n  \
             tile 6: stopped on b for 4 s\n  \
             tile 8: b to c, stopped for 4 s\n  \
             2 other tiles: response times 0.91 times as long as before (0.80 to 1.02)"
        );
    }

    #[test]
    fn event_of_a_simulation_names_vm_copy_and_lost_writes() {
        let vm = |begins_anew, copy| TileMove {
            tile: 1,
            vm: Some("shop/db".to_owned()),
            from: "host-1".to_owned(),
            to: Some("host-2".to_owned()),
            outage_ns: Some(90_000_000),
            begins_anew,
            copy,
            ..TileMove::default()
        };
        let copy =
            MoveCopy { bytes: 5 << 30, disk_bytes: 7 << 30, rounds: 3, took_ns: 4_500_000_000 };
        let own = StepEvent {
            kind: StepEventKind::LoseHost,
            host: Some("host-1".to_owned()),
            planned_ns: None,
            began_ns: 1_000_000_000,
            ended_ns: None,
            noticed_ns: None,
            detection_ns: None,
            tiles: vec![vm(false, Some(copy)), vm(true, None)],
            lost_bytes: Some(3 << 20),
            survivors: None,
            note: None,
        };
        assert_eq!(
            own.told().join("\n"),
            "lose-host host-1 after 1 s; 3 MiB of acknowledged writes had no copy left and are \
             lost\n  \
             tile 2, shop/db: host-1 to host-2, stopped for 90 ms; 5 GiB of memory and \
             7 GiB of disks copied in 4.5 s\n  \
             tile 2, shop/db: restarted on host-2 after 90 ms of outage"
        );
    }
}
