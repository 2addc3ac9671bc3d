use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Nanos;

use super::Figure;

/// Something that happened to hosts while a step ran. Times are nanoseconds from the start of the step,
/// where its rows in the series have 0, by the controller's clock unless they say otherwise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepEvent {
    /// What.
    pub kind: StepEventKind,
    /// To which host; absent where tiles were moved to be spread evenly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// When the plan wanted it, from the beginning of the measured time; absent if nobody planned it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned_ns: Option<u64>,
    /// When it was begun: the order left, or the last sign of life of a host that was lost arrived.
    pub began_ns: u64,
    /// When it was over: the last tile went on, or the host did; absent if it never was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_ns: Option<u64>,
    /// When it was noticed that a host was lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noticed_ns: Option<u64>,
    /// From the last sign of life until that was noticed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detection_ns: Option<u64>,
    /// What became of each tile.
    pub tiles: Vec<TileMove>,
    /// What the tiles of other hosts felt; absent where there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub survivors: Option<Survivors>,
    /// What a reader should know; absent if there is nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// What happened to a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StepEventKind {
    /// It was lost as the plan wanted.
    LoseHost,
    /// It stood still as the plan wanted.
    StopHost,
    /// Tiles moved as the plan wanted.
    Rebalance,
    /// All its tiles moved as the plan wanted.
    Drain,
    /// It was lost, and nobody had planned it.
    HostLost,
}

impl StepEventKind {
    /// As a document writes it.
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

/// A tile that another host drives from then on, or that stood still.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TileMove {
    /// Which, from 0.
    pub tile: u32,
    /// Who drove it.
    pub from: String,
    /// Who drives it; absent if nobody does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Since when it stood still: by the clock of `from`, or the last sign of its life.
    pub stood_ns: u64,
    /// When it went on, by the clock of `to`; absent if it never did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goes_on_ns: Option<u64>,
    /// How long it stood still: the switch-over of a move, the outage of a loss. It is as sure as the two
    /// hosts' clocks are (`clock_uncertainty_ns` of both).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outage_ns: Option<u64>,
    /// Whether its users began anew, because what they were was lost.
    pub begins_anew: bool,
}

/// Response times of the tiles that nothing happened to, during an event against before, kind by kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Survivors {
    /// The tiles, from 0.
    pub tiles: Vec<u32>,
    /// Their I/Os and calls in the measured time before, without the times of other events.
    pub samples_before: u64,
    /// The same during it: of every slice that it touched, and of five slices at least.
    pub samples_during: u64,
    /// Mean response time during it over what the same I/Os and calls would have taken with the means from
    /// before; 1 is as before.
    pub times: Figure,
    /// The lower end of its interval, from slices drawn again; absent with too few.
    pub low: Figure,
    /// The upper end.
    pub high: Figure,
}

impl StepEvent {
    /// In words: what happened, and below it what became of each tile and what the others felt.
    pub fn told(&self) -> Vec<String> {
        let host = self.host.as_ref().map_or_else(String::new, |host| format!(" {host}"));
        let mut first = format!("{}{host} after {}", self.kind.name(), Nanos(self.began_ns));
        if let (Some(_), Some(detection)) = (self.noticed_ns, self.detection_ns) {
            first += &format!(", noticed {} after its last sign of life", Nanos(detection));
        }
        if let Some(note) = &self.note {
            first += &format!(": {note}");
        }
        let mut lines = vec![first];
        lines.extend(self.tiles.iter().map(|tile| format!("  {}", moved(tile))));
        lines.extend(self.survivors.as_ref().map(|own| format!("  {}", felt(own))));
        lines
    }
}

/// `tile 2: b to a, stood still for 31 ms`.
fn moved(own: &TileMove) -> String {
    let TileMove { tile, from, to, outage_ns, begins_anew, .. } = own;
    let tile = tile + 1;
    let (Some(to), Some(outage)) = (to, outage_ns) else {
        return format!("tile {tile}: lost with {from}, and not begun anew before the step ended");
    };
    let outage = Nanos(*outage);
    match (to == from, begins_anew) {
        (true, _) => format!("tile {tile}: stood still on {from} for {outage}"),
        (_, true) => format!("tile {tile}: begun anew on {to} after {outage} without it"),
        (_, false) => format!("tile {tile}: {from} to {to}, stood still for {outage}"),
    }
}

/// How the response times of the other tiles compare with those before.
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
    fn an_event_says_what_became_of_each_tile_and_what_the_others_felt() {
        let tile = |tile, to: Option<&str>, begins_anew| TileMove {
            tile,
            from: "b".to_owned(),
            to: to.map(str::to_owned),
            stood_ns: 5_000_000_000,
            goes_on_ns: to.map(|_| 9_000_000_000),
            outage_ns: to.map(|_| 4_000_000_000),
            begins_anew,
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
            survivors: Some(survivors),
            note: None,
        };
        assert_eq!(
            own.told().join("\n"),
            "lose-host b after 5 s, noticed 2.1 s after its last sign of life\n  \
             tile 2: begun anew on a after 4 s without it\n  \
             tile 4: lost with b, and not begun anew before the step ended\n  \
             tile 6: stood still on b for 4 s\n  \
             tile 8: b to c, stood still for 4 s\n  \
             2 other tiles: response times 0.91 times as long as before (0.80 to 1.02)"
        );
    }
}
