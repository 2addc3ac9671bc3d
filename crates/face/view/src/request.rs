//! Requests for a view through a lens. The page's address, the interface and the report use the
//! same grammar, which is documented in `docs/formats/view.md`:
//!
//! | key | value | default |
//! |---|---|---|
//! | `t` | `40-75`, `12.5-`: begin and end, in seconds on the run's axis | all measured time |
//! | `step` | a step of the ladder, from 1 | all steps |
//! | `dir` | `r` or `w` | both |
//! | `bs` | size classes by their lower edge: `0k,4k,8k,16k,32k,64k,128k,256k` | all |
//! | `sel` | pairs of direction and class: `w64k,r4k` | all |
//! | `tile` | tiles, from 1: `3,4` | all |
//! | `host` | hosts that drove the load: `pve1,pve2` | all |
//! | `wl` | workloads: `shop,web` | all |
//! | `m` | `iops`, `bw` or `lat` | `iops` |
//! | `by` | `none`, `rw`, `bs`, `wl`, `tile`, `host` or `sel` | `rw` |
//! | `at` | a moment, in seconds on the run's axis | the worst moment |
//! | `points` | number of points over time, 1 to 4000 | 600 |
//! | `rows` | number of rows of the heat map, 1 to 240 | 120 |
//!
//! Unknown keys are ignored, so that an old address still opens. The canonical text of a request
//! omits keys that its view does not use.

use std::fmt;

use units::Nanos;

/// Labels of the size classes in addresses, smallest first.
pub(crate) const CLASSES: [&str; 8] = ["0k", "4k", "8k", "16k", "32k", "64k", "128k", "256k"];
/// Maximum number of points of a series.
const POINTS_MAX: u32 = 4000;
/// Maximum number of rows of a heat map.
const ROWS_MAX: u32 = 240;

/// View that can be requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum View {
    /// Answers with [`crate::document::Overview`].
    Overview,
    /// Answers with [`crate::document::Series`].
    Series,
    /// Answers with [`crate::document::Series`], of actions.
    Actions,
    /// Answers with [`crate::document::Series`], of calls to endpoints by kind.
    Calls,
    /// Answers with [`crate::document::HeatMap`].
    HeatMap,
    /// Answers with [`crate::document::Percentiles`].
    Percentiles,
    /// Answers with [`crate::document::LatencyMatrix`].
    Matrix,
    /// Answers with [`crate::document::LoadMatrix`].
    Breaks,
    /// Answers with [`crate::document::MapPage`].
    Map,
    /// Answers with [`crate::document::Moment`].
    Moment,
    /// Answers with [`crate::document::TileCurve`].
    Curve,
    /// Answers with [`crate::document::TierPage`].
    Tier,
    /// Answers with [`crate::document::MachinePage`].
    Machine,
    /// Answers with [`crate::document::AccessPage`].
    Access,
    /// Answers with [`crate::document::WatchPage`].
    Watch,
}

impl View {
    /// All views, in the order of the page.
    pub const ALL: [Self; 15] = [
        Self::Overview,
        Self::Series,
        Self::Actions,
        Self::Calls,
        Self::HeatMap,
        Self::Percentiles,
        Self::Matrix,
        Self::Breaks,
        Self::Map,
        Self::Moment,
        Self::Curve,
        Self::Tier,
        Self::Machine,
        Self::Access,
        Self::Watch,
    ];

    /// Returns the name of the view in addresses.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Overview => "overview",
            Self::Series => "series",
            Self::Actions => "actions",
            Self::Calls => "calls",
            Self::HeatMap => "heatmap",
            Self::Percentiles => "percentiles",
            Self::Matrix => "matrix",
            Self::Breaks => "breaks",
            Self::Map => "map",
            Self::Moment => "moment",
            Self::Curve => "curve",
            Self::Tier => "tier",
            Self::Machine => "machine",
            Self::Access => "access",
            Self::Watch => "watch",
        }
    }

    /// Returns the view with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|view| view.name() == name)
    }

    /// Returns the keys of the lens that the view uses.
    pub const fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Overview | Self::Breaks | Self::Map => {
                &["t", "step", "dir", "bs", "sel", "tile", "host", "wl"]
            }
            Self::Matrix => &["t", "step", "tile", "host", "wl"],
            Self::Series => {
                &["t", "step", "dir", "bs", "sel", "tile", "host", "wl", "m", "by", "points"]
            }
            Self::Actions | Self::Calls => &["t", "step", "wl", "m", "points"],
            Self::HeatMap => {
                &["t", "step", "dir", "bs", "sel", "tile", "host", "wl", "points", "rows"]
            }
            Self::Percentiles => &["t", "step", "dir", "bs", "sel", "tile", "host", "wl", "by"],
            Self::Moment => &["t", "step", "dir", "bs", "sel", "tile", "host", "wl", "at"],
            Self::Curve | Self::Access => &[],
            Self::Tier | Self::Machine => &["t", "step", "points"],
            Self::Watch => &["t", "wl", "points"],
        }
    }
}

/// Measure of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Measure {
    /// I/Os per second.
    #[default]
    Iops,
    /// Bytes per second.
    Throughput,
    /// Service time of I/Os.
    Latency,
}

/// Breakdown of a series into lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Breakdown {
    /// A single line.
    None,
    /// Lines of reads and writes.
    #[default]
    Direction,
    /// Lines of size classes.
    Size,
    /// Lines of workloads; in a recorded trace of VMs.
    Workload,
    /// Lines of tiles.
    Tile,
    /// Lines of hosts that drove the load.
    Host,
    /// Lines of the pairs of `sel`.
    Selection,
}

/// Filter of a run's data, with the measure, breakdown and resolution.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Lens {
    /// Begin and end on the run's axis; without them all measured time.
    pub time: Option<(Nanos, Option<Nanos>)>,
    /// Only this step of the ladder.
    pub step: Option<u32>,
    /// Only reads (false) or writes (true).
    pub is_write: Option<bool>,
    /// Only these size classes, as bits by position; all if none is set.
    pub classes: u8,
    /// Only these pairs: bits of size classes of reads, then of writes; all if none is set.
    pub selection: (u8, u8),
    /// Only these tiles, from 1, ascending; all if empty.
    pub tiles: Vec<u32>,
    /// Only the tiles of these hosts; all if empty.
    pub hosts: Vec<String>,
    /// Only these workloads; all if empty.
    pub workloads: Vec<String>,
    /// Measure over time.
    pub measure: Measure,
    /// Breakdown into lines.
    pub breakdown: Breakdown,
    /// Time of [`View::Moment`].
    pub at: Option<Nanos>,
    /// Maximum number of points over time.
    pub points: u32,
    /// Number of rows of the heat map.
    pub rows: u32,
}

impl Default for Lens {
    fn default() -> Self {
        Self {
            time: None,
            step: None,
            is_write: None,
            classes: 0,
            selection: (0, 0),
            tiles: Vec::new(),
            hosts: Vec::new(),
            workloads: Vec::new(),
            measure: Measure::default(),
            breakdown: Breakdown::default(),
            at: None,
            points: 600,
            rows: 120,
        }
    }
}

/// A view through a lens.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Request {
    /// Requested view.
    pub view: View,
    /// Lens of the view.
    pub lens: Lens,
}

/// Reason why a request is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// No view has this name.
    #[error("there is no view `{0}`")]
    View(String),
    /// The value of a key is invalid.
    #[error("`{key}={value}`: {expected}")]
    Value {
        /// Name of the key.
        key: &'static str,
        /// Value as it was given.
        value: String,
        /// Allowed values, as text.
        expected: &'static str,
    },
}

impl Request {
    /// Parses a view's name and the decoded pairs of its query.
    pub fn parse<'a>(
        view: &str,
        query: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, RequestError> {
        let view = View::named(view).ok_or_else(|| RequestError::View(view.to_owned()))?;
        let mut lens = Lens::default();
        for (key, value) in query {
            if view.keys().contains(&key) && !value.is_empty() {
                lens.set(key, value)?;
            }
        }
        Ok(Self { view, lens })
    }

    /// Returns the canonical text, such as `series?by=bs&m=lat`: keys in alphabetical order,
    /// without defaults. Equal requests have equal texts.
    pub fn canonical(&self) -> String {
        self.to_string()
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.view.name())?;
        let mut mark = '?';
        let mut keys: Vec<_> = self.view.keys().to_vec();
        keys.sort_unstable();
        for key in keys {
            if let Some(value) = self.lens.get(key) {
                write!(f, "{mark}{key}={value}")?;
                mark = '&';
            }
        }
        Ok(())
    }
}

impl Lens {
    fn set(&mut self, key: &str, value: &str) -> Result<(), RequestError> {
        let wrong = |key: &'static str, expected: &'static str| RequestError::Value {
            key,
            value: value.to_owned(),
            expected,
        };
        match key {
            "t" => {
                self.time = Some(span(value).ok_or_else(|| {
                    wrong("t", "from and to in seconds, as 40-75, or 40- to the end")
                })?);
            }
            "step" => {
                self.step =
                    Some(number(value).ok_or_else(|| wrong("step", "a step, counted from 1"))?);
            }
            "dir" => {
                self.is_write = match value {
                    "r" => Some(false),
                    "w" => Some(true),
                    _ => return Err(wrong("dir", "r or w")),
                };
            }
            "bs" => {
                self.classes = classes(value)
                    .ok_or_else(|| wrong("bs", "some of 0k,4k,8k,16k,32k,64k,128k,256k"))?;
            }
            "sel" => {
                self.selection = selection(value)
                    .ok_or_else(|| wrong("sel", "pairs of direction and size, as r4k,w64k"))?;
            }
            "tile" => {
                self.tiles =
                    tiles(value).ok_or_else(|| wrong("tile", "tiles, counted from 1, as 3,4"))?;
            }
            "host" => self.hosts = names(value),
            "wl" => self.workloads = names(value),
            "m" => {
                self.measure = match value {
                    "iops" => Measure::Iops,
                    "bw" => Measure::Throughput,
                    "lat" => Measure::Latency,
                    _ => return Err(wrong("m", "iops, bw or lat")),
                };
            }
            "by" => {
                self.breakdown = match value {
                    "none" => Breakdown::None,
                    "rw" => Breakdown::Direction,
                    "bs" => Breakdown::Size,
                    "wl" => Breakdown::Workload,
                    "tile" => Breakdown::Tile,
                    "host" => Breakdown::Host,
                    "sel" => Breakdown::Selection,
                    _ => return Err(wrong("by", "none, rw, bs, wl, tile, host or sel")),
                };
            }
            "at" => {
                self.at = Some(
                    seconds(value).ok_or_else(|| wrong("at", "a moment in seconds, as 52.5"))?,
                );
            }
            "points" => {
                self.points = number(value)
                    .filter(|points| *points <= POINTS_MAX)
                    .ok_or_else(|| wrong("points", "1 to 4000"))?;
            }
            "rows" => {
                self.rows = number(value)
                    .filter(|rows| *rows <= ROWS_MAX)
                    .ok_or_else(|| wrong("rows", "1 to 240"))?;
            }
            _ => {}
        }
        Ok(())
    }

    fn get(&self, key: &str) -> Option<String> {
        let usual = Self::default();
        match key {
            "t" => self.time.map(|(from, to)| match to {
                Some(to) => format!("{}-{}", text_of(from), text_of(to)),
                None => format!("{}-", text_of(from)),
            }),
            "step" => self.step.map(|step| step.to_string()),
            "dir" => self.is_write.map(|is_write| if is_write { "w" } else { "r" }.to_owned()),
            "bs" => (self.classes != 0).then(|| labels(self.classes, "")),
            "sel" => {
                let (reads, writes) = self.selection;
                let both = [labels(reads, "r"), labels(writes, "w")];
                let filled: Vec<_> = both.into_iter().filter(|text| !text.is_empty()).collect();
                (!filled.is_empty()).then(|| filled.join(","))
            }
            "tile" => (!self.tiles.is_empty())
                .then(|| self.tiles.iter().map(u32::to_string).collect::<Vec<_>>().join(",")),
            "host" => (!self.hosts.is_empty()).then(|| self.hosts.join(",")),
            "wl" => (!self.workloads.is_empty()).then(|| self.workloads.join(",")),
            "m" => match self.measure {
                Measure::Iops => None,
                Measure::Throughput => Some("bw".to_owned()),
                Measure::Latency => Some("lat".to_owned()),
            },
            "by" => match self.breakdown {
                Breakdown::Direction => None,
                Breakdown::None => Some("none".to_owned()),
                Breakdown::Size => Some("bs".to_owned()),
                Breakdown::Workload => Some("wl".to_owned()),
                Breakdown::Tile => Some("tile".to_owned()),
                Breakdown::Host => Some("host".to_owned()),
                Breakdown::Selection => Some("sel".to_owned()),
            },
            "at" => self.at.map(text_of),
            "points" => (self.points != usual.points).then(|| self.points.to_string()),
            "rows" => (self.rows != usual.rows).then(|| self.rows.to_string()),
            _ => None,
        }
    }
}

/// Parses a positive whole number.
fn number(text: &str) -> Option<u32> {
    text.parse().ok().filter(|number| *number > 0)
}

/// Parses seconds with at most three decimals, exactly.
fn seconds(text: &str) -> Option<Nanos> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let is_plain = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || part.len() > 3 || !is_plain(whole) || !is_plain(part) {
        return None;
    }
    let millis: u64 = format!("{part:0<3}").parse().ok()?;
    let millis = whole.parse::<u64>().ok()?.checked_mul(1000)?.checked_add(millis)?;
    millis.checked_mul(1_000_000).map(Nanos)
}

fn text_of(time: Nanos) -> String {
    let millis = time.0 / 1_000_000;
    match millis % 1000 {
        0 => (millis / 1000).to_string(),
        part => format!("{}.{part:03}", millis / 1000).trim_end_matches('0').to_owned(),
    }
}

fn span(text: &str) -> Option<(Nanos, Option<Nanos>)> {
    let (from, to) = text.split_once('-')?;
    let from = seconds(from)?;
    if to.is_empty() {
        return Some((from, None));
    }
    let to = seconds(to)?;
    (from < to).then_some((from, Some(to)))
}

fn class(label: &str) -> Option<u8> {
    let position = CLASSES.iter().position(|known| *known == label)?;
    u8::try_from(position).ok().map(|position| 1 << position)
}

fn classes(text: &str) -> Option<u8> {
    text.split(',').try_fold(0, |bits, label| Some(bits | class(label)?))
}

fn selection(text: &str) -> Option<(u8, u8)> {
    text.split(',').try_fold((0, 0), |(reads, writes), pair| {
        if let Some(label) = pair.strip_prefix('r') {
            return Some((reads | class(label)?, writes));
        }
        Some((reads, writes | class(pair.strip_prefix('w')?)?))
    })
}

fn labels(bits: u8, prefix: &str) -> String {
    let set = (0..8).filter(|position| bits & (1 << position) != 0);
    set.map(|position| format!("{prefix}{}", CLASSES[position])).collect::<Vec<_>>().join(",")
}

fn tiles(text: &str) -> Option<Vec<u32>> {
    let mut tiles: Vec<_> = text.split(',').map(number).collect::<Option<_>>()?;
    tiles.sort_unstable();
    tiles.dedup();
    Some(tiles)
}

fn names(text: &str) -> Vec<String> {
    let mut names: Vec<_> = text.split(',').map(str::to_owned).collect();
    names.sort_unstable();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(view: &str, query: &[(&str, &str)]) -> Result<String, RequestError> {
        Request::parse(view, query.iter().copied()).map(|request| request.canonical())
    }

    #[test]
    fn equal_requests_have_one_text_and_defaults_leave_no_trace() {
        let text = canonical(
            "series",
            &[("m", "lat"), ("by", "rw"), ("points", "600"), ("bs", "256k,64k"), ("dir", "w")],
        );
        assert_eq!(text.as_deref(), Ok("series?bs=64k,256k&dir=w&m=lat"));
        assert_eq!(canonical("overview", &[("m", "lat"), ("zoo", "1")]).as_deref(), Ok("overview"));
    }

    #[test]
    fn times_keep_milliseconds_and_open_ends() {
        let text = canonical("heatmap", &[("t", "1.5-"), ("rows", "60")]);
        assert_eq!(text.as_deref(), Ok("heatmap?rows=60&t=1.5-"));
        assert_eq!(canonical("moment", &[("at", "52.010")]).as_deref(), Ok("moment?at=52.01"));
    }

    #[test]
    fn a_selection_keeps_direction_and_class_together() {
        let text = canonical("series", &[("sel", "w64k,r4k,w4k"), ("by", "sel")]);
        assert_eq!(text.as_deref(), Ok("series?by=sel&sel=r4k,w4k,w64k"));
    }

    #[test]
    fn values_that_make_no_sense_say_what_is_expected() {
        for (key, value) in [
            ("t", "9-3"),
            ("t", "abc"),
            ("dir", "x"),
            ("bs", "5k"),
            ("sel", "64k"),
            ("tile", "0"),
            ("points", "5000"),
            ("points", "0"),
            ("at", "-1"),
        ] {
            let view = if key == "at" { "moment" } else { "series" };
            let error = canonical(view, &[(key, value)]).expect_err(value);
            assert!(error.to_string().starts_with(&format!("`{key}={value}`: ")), "{error}");
        }
        assert_eq!(canonical("pie", &[]), Err(RequestError::View("pie".to_owned())));
    }
}
