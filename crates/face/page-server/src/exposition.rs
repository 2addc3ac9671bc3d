use axum::http::HeaderMap;
use axum::http::header::ACCEPT;

const PROTOBUF: &str = "application/vnd.google.protobuf";
const MESSAGE: &str = "io.prometheus.client.MetricFamily";
const OPENMETRICS: &str = "application/openmetrics-text";

/// Format in which metrics are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exposition {
    /// OpenMetrics text, with classic histograms.
    Text,
    /// Delimited protobuf messages, with native histograms.
    Protobuf,
}

impl Exposition {
    /// Returns the format that a scraper prefers, by the request's `Accept` headers (RFC 9110,
    /// section 12.5.1). A scraper that does not name protobuf gets text.
    pub fn of_request(headers: &HeaderMap) -> Self {
        let (mut protobuf, mut text) = (0, 0);
        let values = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
        for range in values.flat_map(|value| value.split(',')) {
            let mut parts = range.split(';').map(str::trim);
            let media = parts.next().unwrap_or_default();
            let parameters: Vec<(&str, &str)> = parts
                .filter_map(|own| own.split_once('='))
                .map(|(k, v)| (k.trim(), v.trim()))
                .collect();
            let of =
                |name| parameters.iter().find(|(own, _)| *own == name).map(|(_, value)| *value);
            let quality = of("q").map_or(1000, thousandths);
            if media.eq_ignore_ascii_case(PROTOBUF)
                && of("proto") == Some(MESSAGE)
                && matches!(of("encoding"), None | Some("delimited"))
            {
                protobuf = protobuf.max(quality);
            } else if media.eq_ignore_ascii_case(OPENMETRICS) {
                text = text.max(quality);
            }
        }
        if protobuf > 0 && protobuf >= text { Self::Protobuf } else { Self::Text }
    }
}

/// Parses a weight, in thousandths; 0 if it is invalid.
fn thousandths(quality: &str) -> u16 {
    let quality: f64 = quality.parse().unwrap_or(0.0);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 1000")]
    let thousandths = (quality.clamp(0.0, 1.0) * 1000.0).round() as u16;
    thousandths
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(accept: &str) -> Exposition {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, accept.parse().expect("a header"));
        Exposition::of_request(&headers)
    }

    #[test]
    fn protobuf_is_for_scrapers_that_like_it_best() {
        let prometheus_2_42 = "application/vnd.google.protobuf;\
            proto=io.prometheus.client.MetricFamily;encoding=delimited,\
            application/openmetrics-text;version=1.0.0;q=0.8,\
            application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        let message = "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily";
        for accept in [prometheus_2_42, message, &format!("{message}; encoding=delimited;q=0.3")] {
            assert_eq!(of(accept), Exposition::Protobuf, "{accept}");
        }
        for accept in [
            "*/*",
            "text/plain",
            "application/vnd.google.protobuf",
            "application/vnd.google.protobuf; proto=other.Message",
            &format!("{message}; encoding=text"),
            &format!("{message}; q=0"),
            &format!("{message}; q=NaN"),
            &format!("{message}; q=0.4, application/openmetrics-text; q=0.5"),
        ] {
            assert_eq!(of(accept), Exposition::Text, "{accept}");
        }
        assert_eq!(Exposition::of_request(&HeaderMap::new()), Exposition::Text);
    }
}
