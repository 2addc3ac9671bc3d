/// A function of formulas.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Function {
    /// 1 if every limit held in every repeat.
    Passes,
    /// Most tiles of the configuration's list up to which every step passes; 0 if its first fails.
    Holds,
    /// Largest share that a measured value is of its limit, over all limits or those of a workload or an action; above 1 a limit is broken.
    Strain,
    /// Application score.
    Score,
    /// Score of infrastructure operations.
    Infrastructure,
    /// Score with operations.
    Total,
    /// The workload's metric, mean of the tiles.
    Throughput,
    /// The workload's metric, sum of the tiles.
    ThroughputTotal,
    /// Finished actions per minute and tile.
    Actions,
    /// Finished actions per minute of all tiles.
    ActionsTotal,
    /// Intended starts that were given up, as a share of all.
    Dropped,
    /// Mean response time of an action over all tiles.
    Mean,
    /// Median of the response time of an action over all tiles.
    P50,
    /// 95th percentile of the response time of an action over all tiles.
    P95,
    /// 99th percentile of the response time of an action over all tiles.
    P99,
    /// 99.9th percentile of the response time of an action over all tiles.
    P999,
    /// Longest response time of an action over all tiles.
    Longest,
    /// Runs that broke a limit, as a share of all.
    Failed,
    /// Mean watts.
    Watts,
    /// Score per kilowatt.
    PerKilowatt,
    /// Reads and writes per second.
    Iops,
    /// Reads per second.
    ReadIops,
    /// Writes per second.
    WriteIops,
    /// Reads as a share of reads and writes.
    ReadShare,
    /// Bytes per second, both ways.
    Bytes,
    /// Bytes read per second.
    ReadBytes,
    /// Bytes written per second.
    WriteBytes,
    /// Mean service time of reads or writes.
    LatencyMean,
    /// Median of the service time.
    LatencyP50,
    /// 95th percentile of the service time.
    LatencyP95,
    /// 99th percentile of the service time.
    LatencyP99,
    /// 99.9th percentile of the service time.
    LatencyP999,
    /// Mean number of I/Os in flight.
    Outstanding,
    /// What a tier, or memory that answers reads, did.
    Tier,
    /// What parts of the model did; `*` in the name stands for any letters.
    Part,
    /// What the hosts' processors did.
    Host,
    /// What virtual machines' processors did.
    Vm,
    /// Bytes of different pages touched since the start, all tiles.
    Touched,
    /// Smallest LRU memory with which a share of what is not a first reference hits.
    WorkingSet,
    /// Bytes of virtual disks, as scaled.
    Footprint,
    /// Virtual machines.
    Vms,
    /// Events the simulation handled.
    Events,
    /// Number of tiles of the configuration's list at which a formula, in which it is called tiles, is largest.
    Argmax,
    /// Largest value of a formula over the configuration's list of tiles.
    Largest,
    /// Smallest value of a formula over the configuration's list of tiles.
    Smallest,
    /// First divided by second.
    Ratio,
    /// How much more the first is than the second, as a percentage of the second.
    Gain,
    /// A share as a percentage.
    Percent,
    /// 1 if the first is at least the second and at most the third.
    Between,
    /// Without its sign.
    Abs,
    /// Nearest whole number.
    Round,
    /// Smallest of any number of values.
    Min,
    /// Largest of any number of values.
    Max,
}

/// What an argument is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Argument {
    /// The name of a configuration.
    Configuration,
    /// A number of tiles.
    Tiles,
    /// A number.
    Number,
    /// A formula in which `tiles` has a value.
    PerTiles,
    /// The name of a workload of the tile.
    Workload,
    /// The name of an action of that workload.
    Action,
    /// `read` or `write`.
    Direction,
    /// The name of a tier, with `*` for any letters.
    Tier,
    /// A figure of a tier.
    TierFigure,
    /// The name of a part, with `*` for any letters.
    Part,
    /// A figure of a part.
    PartFigure,
    /// A figure of the hosts.
    HostFigure,
    /// A figure of virtual machines.
    VmFigure,
    /// `servers`, `storage` or `all`.
    Supply,
    /// Workload and virtual machine, `shop/shop-db`, with `*` for any letters.
    Vm,
}

/// How a function is called.
#[derive(Debug, Clone, Copy)]
pub struct Signature {
    /// Its name.
    pub name: &'static str,
    /// The function.
    pub function: Function,
    /// What its arguments are.
    pub arguments: &'static [Argument],
    /// How many of the last may be left out.
    pub optional: usize,
    /// Whether the last may come any number of times.
    pub is_repeated: bool,
    /// Unit of its value; empty where it is that of its arguments.
    pub unit: &'static str,
    /// What it is, for people.
    pub meaning: &'static str,
}
