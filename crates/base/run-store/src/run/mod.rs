//! `run.json`: the results of a run in one small, versioned document with a stable format.

mod answer;
mod call;
mod climb;
mod document;
mod estate;
mod event;
mod expected;
mod figure;
mod generator;
mod headline;
mod hosts;
mod labels;
mod latency;
mod model;
mod operations;
mod plan;
mod pooled;
mod power;
mod read;
mod replay;
mod resource;
mod sentence;
mod step;
mod tier;
mod verdict;
mod warning;
mod workload;

pub use answer::{Answer, BrokenLimit, Capacity, Edge, Status};
pub use call::{CallErrors, CallTotal};
pub use climb::{
    ClimbEnd, ClimbFacts, Hysteresis, LeftOut, ModelError, NextStep, OutOfTime, Stop, TilesInterval,
};
pub use document::{
    EngineFacts, OperationsFacts, Origin, PlanValue, Prefill, RateFacts, Resized, Run, SIMULATED,
    ScaleFacts, ServedOver, ServedTier, TargetFacts, TileFacts, ToolFacts,
};
pub use estate::EstateFacts;
pub use event::{MoveCopy, StepEvent, StepEventKind, Survivors, TileMove};
pub use expected::Expected;
pub use figure::{Figure, Interval};
pub use generator::GeneratorHealth;
pub use hosts::{AgainstOthers, HostStep, LoadHost};
pub use labels::{Labels, tag};
pub use latency::Latency;
pub use model::{HostFacts, ModelFacts, PartFacts, PartKind, PlaceFacts, VmFacts};
pub use pooled::PooledLimit;
pub use power::{
    EnergyBy, MeterEnergy, MeterFacts, MeterMethod, MeterScope, PerKilowatt, PowerCategory,
    PowerPolicies, PowerPolicy, StepPower,
};
pub use read::{ReadError, SCHEMA, json_schema, parse};
pub use replay::{PlayedTrace, ReplayFacts};
pub use resource::{Bottleneck, Resource, Wait, Waited, told_waits};
pub use sentence::capital;
pub use step::{
    CHECK_WARNING, Cause, Check, Disturbance, IoTotal, Phase, PooledAction, Score, Steady, Step,
    Throughput, TileScore, UnderOperations, WarmUp,
};
pub use tier::{CopyCounts, TierCounts, TierFacts};
pub use verdict::Verdict;
pub use warning::{Known, Warning};
pub use workload::{
    ActionResult, LimitOn, LimitResult, MetricResult, ReferenceOrigin, Statistic, WorkloadResult,
    limit_name,
};
