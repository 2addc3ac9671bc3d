//! Documents of the answers, as written to JSON. Times on the run's axis are nanoseconds of time
//! under load: the steps of the run one after the other, without the pauses between them.

mod access;
mod compare;
mod curve;
mod headline;
mod latency;
mod machine;
mod map;
mod moment;
mod overview;
mod runs;
mod series;
mod study;
mod tier;
mod trend;
mod watch;

pub use access::AccessPage;
pub use compare::{
    CompareMetric, ComparePage, CompareReason, CompareSide, CurveOfSide, DifferenceRow,
};
pub use curve::{CurveLimit, CurvePoint, TileCurve};
pub use headline::{Doubt, Fact, FoldedWarning, Headline};
pub use latency::{
    HeatMap, LatencyMatrix, LoadCell, LoadMatrix, MatrixPanel, PercentileCurve, PercentilePoint,
    Percentiles,
};
pub use machine::{DisturbedSpan, MachineGauge, MachinePage};
pub use map::{LimitHeld, MapItem, MapPage, TrailPoint};
pub use moment::{Moment, MomentEvent};
pub use overview::{Finding, Hero, Overview, SizeRow};
pub use runs::{
    Dimensions, EventList, HostRate, LiveLimit, LivePhase, LiveState, RunKind, RunList, RunPage,
    RunRow, RunState, StepSpan,
};
pub use series::{Group, Series};
pub use study::{StudyClaim, StudyList, StudyPage, StudyRow, StudySection, StudyTally};
pub use tier::{TierHero, TierPage, TierRates, TierSeries, TierShares, TierSteps, WritePolicy};
pub use trend::{PricePer, RunsTrend, TrendFigure, TrendPoint, TrendRow};
pub use watch::{LatencySplit, SetSpanLines, WatchPage, WatchedHost, WatchedLoad, WatchedSets};
