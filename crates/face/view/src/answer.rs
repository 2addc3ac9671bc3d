use serde::Serialize;

use crate::document::{
    AccessPage, HeatMap, LatencyMatrix, LoadMatrix, MachinePage, MapPage, Moment, Overview,
    Percentiles, Series, TierPage, TileCurve, WatchPage,
};
use crate::request::{Breakdown, Request, View};
use crate::source::Source;
use crate::views;

/// Answer to a request. As JSON it is only the document.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
#[expect(missing_docs, reason = "each variant is the document of the view of the same name")]
pub enum Document {
    Overview(Overview),
    Series(Series),
    Actions(Series),
    Calls(Series),
    HeatMap(HeatMap),
    Percentiles(Percentiles),
    Matrix(LatencyMatrix),
    Breaks(LoadMatrix),
    Map(MapPage),
    Moment(Moment),
    Curve(TileCurve),
    Tier(TierPage),
    Machine(MachinePage),
    Access(AccessPage),
    Watch(WatchPage),
}

impl Document {
    /// Returns the summary sentence of the answer.
    pub fn sentence(&self) -> &str {
        match self {
            Self::Overview(document) => &document.sentence,
            Self::Series(document) | Self::Actions(document) | Self::Calls(document) => {
                &document.sentence
            }
            Self::HeatMap(document) => &document.sentence,
            Self::Percentiles(document) => &document.sentence,
            Self::Matrix(document) => &document.sentence,
            Self::Breaks(document) => &document.sentence,
            Self::Map(document) => &document.sentence,
            Self::Moment(document) => &document.sentence,
            Self::Curve(document) => &document.sentence,
            Self::Tier(document) => &document.sentence,
            Self::Machine(document) => &document.sentence,
            Self::Access(document) => &document.sentence,
            Self::Watch(document) => &document.sentence,
        }
    }
}

/// Returns the reason why a valid request is refused, as a sentence: the answer would not be true.
pub fn refused(source: &Source, request: &Request) -> Option<String> {
    let lens = &request.lens;
    let is_by_host = !lens.hosts.is_empty() || lens.breakdown == Breakdown::Host;
    (is_by_host && source.hosts().is_moved()).then(|| {
        "tiles of this run moved between hosts while they were measured, so nothing is shown by host. \
         The column host of its series says which host drove them"
            .to_owned()
    })
}

/// Answers a request. Data that a run does not have is no error: lists are empty, and the sentence
/// says so.
pub fn answer(source: &Source, request: &Request) -> Document {
    let lens = &request.lens;
    // Latencies behind tiers, and offsets of I/Os, are in no series, so zooming in would lose them.
    // The view of a watched host reads its store by itself.
    let is_whole = matches!(request.view, View::Tier | View::Curve | View::Access | View::Watch);
    let window = lens.time.filter(|_| !is_whole);
    let window = window.map(|(from, to)| (from, to.unwrap_or(source.rollup().end())));
    let zoomed = window.and_then(|window| source.zoomed(window));
    let source = zoomed.as_ref().unwrap_or(source);
    match request.view {
        View::Overview => Document::Overview(views::overview(source, lens)),
        View::Series => Document::Series(views::series(source, lens)),
        View::Actions => Document::Actions(views::actions(source, lens)),
        View::Calls => Document::Calls(views::calls(source, lens)),
        View::HeatMap => Document::HeatMap(views::heatmap(source, lens)),
        View::Percentiles => Document::Percentiles(views::percentiles(source, lens)),
        View::Matrix => Document::Matrix(views::matrix(source, lens)),
        View::Breaks => Document::Breaks(views::breaks(source, lens)),
        View::Map => Document::Map(views::map(source, lens)),
        View::Moment => Document::Moment(views::moment(source, lens)),
        View::Curve => Document::Curve(views::curve(source)),
        View::Tier => Document::Tier(views::tier(source, lens)),
        View::Machine => Document::Machine(views::machine(source, lens)),
        View::Access => Document::Access(views::access(source).clone()),
        View::Watch => Document::Watch(views::watch(source, lens)),
    }
}
