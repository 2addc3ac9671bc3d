//! A plain model of a run: every row of every slice with its place on the axis. The results of
//! views are computed here again, row by row.

use std::sync::Arc;

use proptest::prelude::*;
use run_store::rollup::Rollup;
use run_store::run::Phase;
use run_store::series::StepKey;
use run_store::slice::{
    Direction, GeneratorRow, InstanceEntry, InstanceId, IoRow, SizeClass, Slice, Topology, VmEntry,
    VmId,
};
use stats::Histogram;
use units::{Bytes, Nanos, Ratio};
use view::sample::Sample;
use view::{Document, Lens, Request, Source, View, answer};

pub const SLICE: u64 = 1_000_000_000;
pub const WORKLOADS: [&str; 2] = ["shop", "mail"];

/// A row of a slice.
#[derive(Debug, Clone)]
pub struct Row {
    pub step: u32,
    pub phase: Phase,
    /// Begin of the slice on the axis.
    pub at: u64,
    /// Number of the tile, from 1.
    pub tile: u32,
    pub workload: &'static str,
    pub direction: Direction,
    pub class: u8,
    pub bytes: u64,
    pub latencies: Vec<u64>,
}

/// A run of one or two steps with two workloads in each tile.
#[derive(Debug, Clone)]
pub struct Plain {
    pub rows: Vec<Row>,
    pub slices: Vec<(u32, Phase, u64)>,
}

impl Plain {
    pub fn rollup(&self) -> Rollup {
        let mut rollup = Rollup::new();
        self.each_slice(|key, topology, slice| rollup.slice(key, topology, slice));
        rollup
    }

    pub fn each_slice(&self, mut take: impl FnMut(StepKey, &Topology, &Slice)) {
        let mut zero = 0;
        let mut last = 0;
        for (step, phase, at) in &self.slices {
            if *step != last {
                (zero, last) = (*at, *step);
            }
            let here = self.rows.iter().filter(|row| row.at == *at);
            let slice = Slice {
                start: Nanos(at - zero),
                width: Nanos(SLICE),
                io: here.map(io_row).collect(),
                generator: GeneratorRow { in_flight_seconds: 3.0, ..GeneratorRow::default() },
                ..Slice::default()
            };
            let key = StepKey { step: *step, tiles: *step, repeat: 1, phase: *phase };
            take(key, &topology(), &slice);
        }
    }

    pub fn source(&self) -> Source {
        let run = Sample { steps: 2, ..Sample::LADDER }.run();
        Source::in_memory(run, Arc::new(self.rollup()))
    }

    /// Source without an answer: no tiles held and no limit broke, so that no step is preferred.
    pub fn unjudged(&self) -> Source {
        let mut run = self.source().run().expect("a run").clone();
        (run.answer.tiles_held, run.answer.first_broken) = (None, None);
        Source::in_memory(run, Arc::new(self.rollup()))
    }

    /// Rows in a lens, computed independently of the view.
    pub fn rows<'a>(
        &'a self,
        lens: &'a Lens,
        measured_only: bool,
    ) -> impl Iterator<Item = &'a Row> {
        let only = measured_only && self.has_measured(lens) && lens.time.is_none();
        self.rows.iter().filter(move |row| {
            let bit = 1 << row.class;
            let is_flush = row.direction == Direction::Flush;
            let is_write = row.direction == Direction::Write;
            (!only || row.phase == Phase::Measured)
                && lens.step.is_none_or(|step| step == row.step)
                && lens.is_write.is_none_or(|wanted| !is_flush && wanted == is_write)
                && (lens.classes == 0 || (!is_flush && lens.classes & bit != 0))
                && (lens.tiles.is_empty() || lens.tiles.contains(&row.tile))
                && (lens.workloads.is_empty() || lens.workloads.iter().any(|w| w == row.workload))
        })
    }

    pub fn has_measured(&self, lens: &Lens) -> bool {
        self.slices.iter().any(|(step, phase, _)| {
            *phase == Phase::Measured && lens.step.is_none_or(|wanted| wanted == *step)
        })
    }
}

fn io_row(row: &Row) -> IoRow {
    let workload = u32::from(row.workload == WORKLOADS[1]);
    let service = histogram(&row.latencies).compact();
    IoRow {
        vm: VmId((row.tile - 1) * 2 + workload),
        kind: 0,
        direction: row.direction,
        class: SizeClass::from_index(row.class).expect("a class"),
        bytes: Bytes::new(row.bytes),
        errors: 0,
        response: service.clone(),
        service,
    }
}

fn topology() -> Topology {
    let mut topology = Topology::default();
    for tile in 0..2 {
        for workload in WORKLOADS {
            let instance = InstanceId(u32::try_from(topology.instances.len()).unwrap());
            topology.vms.push(VmEntry { instance, name: format!("tile-{tile}/{workload}/vm") });
            topology.instances.push(InstanceEntry {
                tile: Some(tile),
                workload: workload.to_owned(),
                copy: 0,
                host: None,
                actions: Vec::new(),
                groups: Vec::new(),
                kinds: vec!["io".to_owned()],
            });
        }
    }
    topology
}

pub fn histogram(latencies: &[u64]) -> Histogram {
    let mut histogram = Histogram::new();
    latencies.iter().for_each(|ns| histogram.record(Nanos(*ns)));
    histogram
}

pub fn merged<'a>(rows: impl Iterator<Item = &'a Row>) -> Histogram {
    let mut all = Histogram::new();
    rows.for_each(|row| all.merge(&histogram(&row.latencies)));
    all
}

pub fn p99(histogram: &Histogram) -> Option<u64> {
    histogram.percentile(Ratio::new(0.99)).map(|value| value.0)
}

/// Random runs of a few steps and slices, with gaps.
pub fn plain() -> impl Strategy<Value = Plain> {
    let cell = (0_u32..2, 0_usize..2, 0_usize..3, 0_u8..8, 1_u64..100_000);
    let latencies = proptest::collection::vec(1_000_u64..3_000_000_000, 1..8);
    let slice = proptest::collection::vec((cell, latencies), 0..5);
    let step = (0_usize..4, proptest::collection::vec(slice, 1..16));
    proptest::collection::vec(step, 1..3).prop_map(|steps| build(&steps))
}

type Cell = ((u32, usize, usize, u8, u64), Vec<u64>);

fn build(steps: &[(usize, Vec<Vec<Cell>>)]) -> Plain {
    let mut plain = Plain { rows: Vec::new(), slices: Vec::new() };
    let mut at = 0;
    for (step, (warm, slices)) in (1_u32..).zip(steps) {
        for (number, cells) in slices.iter().enumerate() {
            let phase = if number < *warm { Phase::WarmUp } else { Phase::Measured };
            plain.slices.push((step, phase, at));
            for ((tile, workload, direction, class, bytes), latencies) in cells {
                plain.rows.push(Row {
                    step,
                    phase,
                    at,
                    // Tiles up to the number of the step.
                    tile: tile % step + 1,
                    workload: WORKLOADS[*workload],
                    direction: Direction::ALL[*direction],
                    class: if *direction == 2 { 0 } else { *class },
                    bytes: if *direction == 2 { 0 } else { *bytes },
                    latencies: latencies.clone(),
                });
            }
            at += SLICE;
        }
    }
    plain
}

/// Random filters of a lens.
pub fn lens() -> impl Strategy<Value = Lens> {
    (
        proptest::option::of(1_u32..3),
        proptest::option::of(any::<bool>()),
        prop_oneof![3 => Just(0_u8), 1 => any::<u8>()],
        prop_oneof![3 => Just(Vec::new()), 1 => Just(vec![1]), 1 => Just(vec![1, 2])],
        prop_oneof![3 => Just(Vec::new()), 1 => Just(vec!["mail".to_owned()])],
    )
        .prop_map(|(step, is_write, classes, tiles, workloads)| Lens {
            step,
            is_write,
            classes,
            tiles,
            workloads,
            ..Lens::default()
        })
}

pub fn ask(source: &Source, view: View, lens: &Lens) -> Document {
    answer(source, &Request { view, lens: lens.clone() })
}

macro_rules! ask_for {
    ($name:ident, $variant:ident, $document:ty) => {
        pub fn $name(source: &Source, lens: &Lens) -> $document {
            match ask(source, View::$variant, lens) {
                Document::$variant(document) => document,
                other => panic!("another view answered: {}", other.sentence()),
            }
        }
    };
}
ask_for!(overview, Overview, view::document::Overview);
ask_for!(series, Series, view::document::Series);
ask_for!(heatmap, HeatMap, view::document::HeatMap);
ask_for!(percentiles, Percentiles, view::document::Percentiles);
ask_for!(matrix, Matrix, view::document::LatencyMatrix);
ask_for!(breaks, Breaks, view::document::LoadMatrix);
ask_for!(map, Map, view::document::MapPage);
ask_for!(moment, Moment, view::document::Moment);
ask_for!(curve, Curve, view::document::TileCurve);
ask_for!(tier, Tier, view::document::TierPage);
ask_for!(machine, Machine, view::document::MachinePage);
ask_for!(access, Access, view::document::AccessPage);
