use std::time::Duration;

/// Default interval of pushes (OpenTelemetry specification, `OTEL_METRIC_EXPORT_INTERVAL`).
const INTERVAL: Duration = Duration::from_secs(60);
/// Default time limit of a push (`OTEL_EXPORTER_OTLP_TIMEOUT`).
const TIMEOUT: Duration = Duration::from_secs(10);

/// Address and interval of pushes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// URL, such as `http://127.0.0.1:4318/v1/metrics`.
    pub endpoint: String,
    /// Additional HTTP headers of each push.
    pub headers: Vec<(String, String)>,
    /// Interval of pushes.
    pub interval: Duration,
    /// Time limit of a push.
    pub timeout: Duration,
    /// Name of the pushing program.
    pub service: String,
}

/// Error for a variable that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name} is `{value}`; {expected}")]
pub struct SettingsError {
    name: &'static str,
    value: String,
    expected: &'static str,
}

impl Settings {
    /// Reads the environment variables that OpenTelemetry defines; `None` if no push is configured.
    /// `variable` returns the value of a variable; an empty value counts as absent.
    ///
    /// # Errors
    ///
    /// If a variable is invalid.
    pub fn from_variables(
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Self>, SettingsError> {
        let get = |name: &'static str| variable(name).filter(|value| !value.trim().is_empty());
        let is_off = |name, value| get(name).is_some_and(|found| found.eq_ignore_ascii_case(value));
        if is_off("OTEL_SDK_DISABLED", "true") || is_off("OTEL_METRICS_EXPORTER", "none") {
            return Ok(None);
        }
        let (name, endpoint) = if let Some(own) = get("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT") {
            ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", own.trim().to_owned())
        } else if let Some(base) = get("OTEL_EXPORTER_OTLP_ENDPOINT") {
            let base = base.trim().trim_end_matches('/');
            ("OTEL_EXPORTER_OTLP_ENDPOINT", format!("{base}/v1/metrics"))
        } else {
            return Ok(None);
        };
        if super::address::place(&endpoint).is_none() {
            let expected = "http://HOST:PORT is expected, without a user; https is not built in";
            // Text before the host may be a password.
            let host = endpoint.rsplit_once('@').map(|(_, host)| format!("***@{host}"));
            return Err(SettingsError { name, value: host.unwrap_or(endpoint), expected });
        }
        let millis = |name: &'static str, usual: Duration| match get(name) {
            None => Ok(usual),
            Some(value) => match value.trim().parse() {
                Ok(millis @ 1..) => Ok(Duration::from_millis(millis)),
                _ => Err(SettingsError { name, value, expected: "milliseconds are expected" }),
            },
        };
        Ok(Some(Self {
            endpoint,
            headers: headers(&get("OTEL_EXPORTER_OTLP_HEADERS").unwrap_or_default())?,
            interval: millis("OTEL_METRIC_EXPORT_INTERVAL", INTERVAL)?,
            timeout: millis("OTEL_EXPORTER_OTLP_TIMEOUT", TIMEOUT)?,
            service: get("OTEL_SERVICE_NAME").unwrap_or_else(|| "tilemark".to_owned()),
        }))
    }
}

/// Parses `key=value,key=value`, values percent-encoded (W3C Baggage).
fn headers(text: &str) -> Result<Vec<(String, String)>, SettingsError> {
    let pairs = text.split(',').map(str::trim).filter(|pair| !pair.is_empty());
    let header = |pair: &str| {
        let (key, value) = pair.split_once('=')?;
        let (key, value) = (key.trim().to_owned(), decoded(value.trim())?);
        let is_token = |c: char| c.is_ascii_alphanumeric() || "-_.!#$%&'*+^`|~".contains(c);
        let is_value = |c: char| c == ' ' || c.is_ascii_graphic();
        let is_good = !key.is_empty() && key.chars().all(is_token) && value.chars().all(is_value);
        is_good.then_some((key, value))
    };
    pairs
        .map(|pair| {
            header(pair).ok_or_else(|| SettingsError {
                name: "OTEL_EXPORTER_OTLP_HEADERS",
                // The value of a header may be secret.
                value: pair.split('=').next().unwrap_or_default().to_owned(),
                expected: "key=value,key=value is expected, with values percent-encoded",
            })
        })
        .collect()
}

fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || char::from(rest.next()?).to_digit(16);
        bytes.push(u8::try_from(digit()? * 16 + digit()?).ok()?);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<Option<Settings>, SettingsError> {
        Settings::from_variables(|name| {
            pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    const BASE: (&str, &str) = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318/");

    #[test]
    fn nothing_is_pushed_unless_an_endpoint_is_named() {
        assert_eq!(read(&[]), Ok(None));
        assert_eq!(read(&[("OTEL_EXPORTER_OTLP_ENDPOINT", " ")]), Ok(None));
        assert_eq!(read(&[BASE, ("OTEL_SDK_DISABLED", "TRUE")]), Ok(None));
        assert_eq!(read(&[BASE, ("OTEL_METRICS_EXPORTER", "none")]), Ok(None));
    }

    #[test]
    fn the_usual_variables_are_understood() {
        let found = read(&[BASE]).expect("good").expect("one");
        assert_eq!(found.endpoint, "http://collector:4318/v1/metrics");
        assert_eq!((found.interval, found.timeout), (INTERVAL, TIMEOUT));
        assert_eq!(found.service, "tilemark");
        let found = read(&[
            BASE,
            ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://[::1]:80/own"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "a=b, authorization=Bearer%20x%3D"),
            ("OTEL_METRIC_EXPORT_INTERVAL", "250"),
            ("OTEL_SERVICE_NAME", "lab"),
        ]);
        let found = found.expect("good").expect("one");
        assert_eq!(found.endpoint, "http://[::1]:80/own");
        let header = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(found.headers, [header("a", "b"), header("authorization", "Bearer x=")]);
        assert_eq!((found.interval, found.service.as_str()), (Duration::from_millis(250), "lab"));
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        for (name, value) in [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "https://collector:4318"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://a b:1"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://user@host:1"),
            ("OTEL_METRIC_EXPORT_INTERVAL", "1s"),
            ("OTEL_METRIC_EXPORT_INTERVAL", "0"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "secret"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "a=b%0d%0aX: y"),
        ] {
            let error = read(&[(name, value), BASE]).expect_err(value);
            assert!(error.to_string().starts_with(name), "{error}");
        }
    }
}
