use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::{HeaderValue, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use tokio::sync::watch;

use super::api::run_id;
use crate::app::{App, Watching};
use crate::live::LiveUpdate;
use crate::problem::Problem;

/// Interval of comments while there is no event. They keep proxies from closing the connection.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// Sends `state` about once a second, then `end`.
pub async fn live(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let run = run_id(&id)?;
    let asked = run.clone();
    let now = app.ask(move |provider| provider.live(&asked)).await?;
    let watcher = match now {
        Some(_) => {
            Watcher::Told { told: app.hub.subscribe(&run), is_seen: false, watching: app.watch() }
        }
        None => Watcher::Over,
    };
    let events = stream::unfold(watcher, |watcher| watcher.next());
    let mut response =
        Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

enum Watcher {
    /// Subscription to the live states; `is_seen` is true if the present state was sent.
    Told {
        told: watch::Receiver<LiveUpdate>,
        is_seen: bool,
        watching: Watching,
    },
    /// The run had ended before the request.
    Over,
    Done,
}

impl Watcher {
    async fn next(self) -> Option<(Result<Event, Infallible>, Self)> {
        let end = |data: &str| Some((Ok(Event::default().event("end").data(data)), Self::Done));
        let (mut told, mut is_seen, watching) = match self {
            Self::Done => return None,
            Self::Over => return end("null"),
            Self::Told { told, is_seen, watching } => (told, is_seen, watching),
        };
        loop {
            if is_seen && told.changed().await.is_err() {
                return None;
            }
            is_seen = true;
            let now = told.borrow_and_update().clone();
            match now {
                LiveUpdate::State(state) => {
                    let event = Event::default().event("state").data(state.as_ref());
                    return Some((Ok(event), Self::Told { told, is_seen, watching }));
                }
                LiveUpdate::End(last) => return end(last.as_deref().unwrap_or("null")),
                LiveUpdate::Nothing => {}
            }
        }
    }
}
