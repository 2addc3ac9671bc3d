use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, RawQuery, State};
use axum::http::{HeaderValue, header};
use axum::response::Response;
use run_store::rundir::RunId;
use serde::Serialize;
use view::Request;

use crate::app::App;
use crate::openapi;
use crate::problem::{Kind, Problem};
use crate::provider::ProviderError;

type Answer = Result<Response, Problem>;

/// Maximum number of runs side by side. The series of each is read for its intervals, and more
/// lines in one diagram cannot be told apart.
const TREND_RUNS_MAX: usize = 24;

pub async fn runs(State(app): State<Arc<App>>) -> Answer {
    json(&app.ask(|provider| provider.runs()).await?)
}

pub async fn page(State(app): State<Arc<App>>, Path(id): Path<String>) -> Answer {
    let run = run_id(&id)?;
    json(&app.ask(move |provider| provider.page(&run)).await?)
}

pub async fn events(State(app): State<Arc<App>>, Path(id): Path<String>) -> Answer {
    let run = run_id(&id)?;
    json(&app.ask(move |provider| provider.events(&run)).await?)
}

pub async fn view(
    State(app): State<Arc<App>>,
    Path((id, view)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Answer {
    let run = run_id(&id)?;
    if view::View::named(&view).is_none() {
        return Err(Problem::new(Kind::UnknownPath, format!("there is no view `{view}`")));
    }
    let pairs = pairs(query.as_deref());
    let pairs = pairs.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    let request = Request::parse(&view, pairs)
        .map_err(|error| Problem::new(Kind::Request, error.to_string()))?;
    json(&app.ask(move |provider| provider.answer(&run, &request)).await?)
}

pub async fn compare(State(app): State<Arc<App>>, RawQuery(query): RawQuery) -> Answer {
    let pairs = pairs(query.as_deref());
    let side = |name: &str| {
        let id = pairs.iter().find(|(key, _)| key == name).map(|(_, id)| id.as_str());
        let id = id.ok_or_else(|| {
            Problem::new(Kind::Request, format!("`{name}` is missing: compare?a=ID&b=ID"))
        })?;
        run_id(id)
    };
    let (a, b) = (side("a")?, side("b")?);
    json(&app.ask(move |provider| provider.compare(&a, &b)).await?)
}

pub async fn trend(State(app): State<Arc<App>>, RawQuery(query): RawQuery) -> Answer {
    let pairs = pairs(query.as_deref());
    let ids = pairs.iter().filter(|(key, _)| key == "run");
    let runs = ids.map(|(_, id)| run_id(id)).collect::<Result<Vec<_>, _>>()?;
    if runs.is_empty() || runs.len() > TREND_RUNS_MAX {
        let detail = format!(
            "{} runs: name 1 to {TREND_RUNS_MAX} runs, as in trend?run=ID&run=ID",
            runs.len()
        );
        return Err(Problem::new(Kind::Request, detail));
    }
    json(&app.ask(move |provider| provider.trend(&runs)).await?)
}

pub async fn studies(State(app): State<Arc<App>>) -> Answer {
    json(&app.ask(|provider| provider.studies()).await?)
}

pub async fn study(State(app): State<Arc<App>>, Path(name): Path<String>) -> Answer {
    let is_name = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    if !is_name {
        return Err(ProviderError::UnknownStudy(name).into());
    }
    json(&app.ask(move |provider| provider.study(&name)).await?)
}

pub async fn openapi() -> Answer {
    json(&openapi::document())
}

/// Parses a run id; only a valid id becomes a part of a path.
pub fn run_id(text: &str) -> Result<RunId, Problem> {
    RunId::parse(text)
        .ok_or_else(|| Problem::new(Kind::UnknownRun, format!("`{text}` is not the id of a run")))
}

/// Decodes the pairs of a query.
fn pairs(query: Option<&str>) -> Vec<(String, String)> {
    form_urlencoded::parse(query.unwrap_or_default().as_bytes()).into_owned().collect()
}

fn json(value: &impl Serialize) -> Answer {
    let text = serde_json::to_vec(value)
        .map_err(|error| Problem::new(Kind::Internal, format!("making JSON: {error}")))?;
    let mut response = Response::new(Body::from(text));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    Ok(response)
}
