/// Splits an `http` URL into host with port, and path; `None` for other URLs.
pub fn place(endpoint: &str) -> Option<(String, &str)> {
    let rest = endpoint.strip_prefix("http://")?;
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let is_plain = |text: &str| text.chars().all(|c| c.is_ascii_graphic());
    if host.is_empty() || host.contains('@') || !is_plain(host) || !is_plain(path) {
        return None;
    }
    let has_port = host.rsplit_once(':').is_some_and(|(name, port)| {
        port.parse::<u16>().is_ok()
            && !name.is_empty()
            && (!name.contains(':') || name.ends_with(']'))
    });
    let host = if has_port { host.to_owned() } else { format!("{host}:80") };
    Some((host, if path.is_empty() { "/" } else { path }))
}

#[cfg(test)]
mod tests {
    use super::place;

    #[test]
    fn addresses_have_a_host_a_port_and_a_path() {
        for (endpoint, host, path) in [
            ("http://a:4318/v1/metrics", "a:4318", "/v1/metrics"),
            ("http://a/x", "a:80", "/x"),
            ("http://a", "a:80", "/"),
            ("http://[::1]/x", "[::1]:80", "/x"),
            ("http://[::1]:1/x", "[::1]:1", "/x"),
        ] {
            assert_eq!(place(endpoint), Some((host.to_owned(), path)), "{endpoint}");
        }
        assert_eq!(place("https://a"), None);
        assert_eq!(place("http:///x"), None);
    }
}
