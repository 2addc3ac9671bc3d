/// A function of formulas.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Function {
    /// 1 if every limit is met in every repeat, else 0.
    Passes,
    /// Largest number of tiles in the configuration's list up to which every step passes; 0 if the
    /// first step fails.
    Holds,
    /// Largest ratio of a measured value to its limit, over all limits, or over the limits of a
    /// workload or action. Above 1 a limit is broken.
    Strain,
    /// Application score.
    Score,
    /// Score of infrastructure operations.
    Infrastructure,
    /// Score with operations: the weighted total.
    Total,
    /// Metric of the workload, mean over the tiles.
    Throughput,
    /// Metric of the workload, sum over the tiles.
    ThroughputTotal,
    /// Completed actions per minute and tile.
    Actions,
    /// Completed actions per minute of all tiles.
    ActionsTotal,
    /// Share of intended starts that were dropped.
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
    /// Maximum response time of an action over all tiles.
    Longest,
    /// Share of runs that broke a limit.
    Failed,
    /// Mean power in watts.
    Watts,
    /// Score per kilowatt of power.
    PerKilowatt,
    /// Reads and writes per second.
    Iops,
    /// Number of reads per second.
    ReadIops,
    /// Number of writes per second.
    WriteIops,
    /// Share of reads in reads and writes.
    ReadShare,
    /// Bytes per second, read and written.
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
    /// CPU time of an I/O on real storage.
    CpuPerIo,
    /// Figure of a tier, or of memory that serves reads.
    Tier,
    /// Figure of parts of the model. `*` in the name matches any characters.
    Part,
    /// CPU figure of the hosts.
    Host,
    /// CPU figure of the virtual machines.
    Vm,
    /// Time of the migrations of virtual machines.
    MoveTime,
    /// Bytes of distinct pages touched since the start, over all tiles.
    Touched,
    /// Smallest LRU cache in which a share of the accesses hits. First accesses to a page are not
    /// counted.
    WorkingSet,
    /// Bytes of virtual disks, after scaling.
    Footprint,
    /// Number of virtual machines.
    Vms,
    /// Number of events in the simulation.
    Events,
    /// Number of tiles in the configuration's list at which a formula is largest. The formula
    /// refers to it as `tiles`.
    Argmax,
    /// Largest value of a formula over the configuration's list of tiles.
    Largest,
    /// Smallest value of a formula over the configuration's list of tiles.
    Smallest,
    /// First value divided by the second value.
    Ratio,
    /// Excess of the first value over the second, as a percentage of the second.
    Gain,
    /// Share as a percentage.
    Percent,
    /// 1 if the first value is at least the second and at most the third, else 0.
    Between,
    /// Absolute value of a number.
    Abs,
    /// Nearest whole number to a value.
    Round,
    /// Smallest of any number of values.
    Min,
    /// Largest of any number of values.
    Max,
}

/// Kind of an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Argument {
    /// The name of a configuration.
    Configuration,
    /// A number of tiles.
    Tiles,
    /// Any number.
    Number,
    /// A formula in which `tiles` has a value.
    PerTiles,
    /// The name of a workload of the tile.
    Workload,
    /// The name of an action of that workload.
    Action,
    /// Direction, `read` or `write`.
    Direction,
    /// The name of a tier. `*` matches any characters.
    Tier,
    /// A figure of a tier.
    TierFigure,
    /// The name of a part. `*` matches any characters.
    Part,
    /// A figure of a part.
    PartFigure,
    /// A figure of the hosts.
    HostFigure,
    /// A figure of virtual machines.
    VmFigure,
    /// Objects with power: `servers`, `storage` or `all`.
    Supply,
    /// Program that uses CPU time: `load`, `server` or `initiator`.
    Program,
    /// Workload and virtual machine, `shop/shop-db`. `*` matches any characters.
    Vm,
}

/// Name, arguments and result of a function.
#[derive(Debug, Clone, Copy)]
pub struct Signature {
    /// Name of the function in formulas.
    pub name: &'static str,
    /// Function that the signature describes.
    pub function: Function,
    /// Kinds of the arguments.
    pub arguments: &'static [Argument],
    /// Number of optional arguments, which are the last ones.
    pub optional: usize,
    /// True if the last argument may be repeated.
    pub is_repeated: bool,
    /// Unit of the value; empty if the value has the unit of the arguments.
    pub unit: &'static str,
    /// Description for the user.
    pub meaning: &'static str,
}
