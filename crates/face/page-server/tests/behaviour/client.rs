use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Response, read to its end.
#[derive(Debug)]
pub struct Response {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Response {
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).expect("JSON")
    }
}

/// Sends a request as a browser on this computer does.
pub fn get(port: u16, path: &str) -> Response {
    ask(port, "GET", path, &[("Host", &format!("127.0.0.1:{port}"))])
}

pub fn ask(port: u16, method: &str, path: &str, headers: &[(&str, &str)]) -> Response {
    let mut stream = send(port, method, path, headers);
    read(&mut stream)
}

/// Sends a request, and leaves the answer unread.
pub fn send(port: u16, method: &str, path: &str, headers: &[(&str, &str)]) -> BufReader<TcpStream> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("somebody listens");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a time limit");
    let mut text = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
    for (name, value) in headers {
        text += &format!("{name}: {value}\r\n");
    }
    stream.write_all((text + "\r\n").as_bytes()).expect("a request");
    BufReader::new(stream)
}

/// Reads status and headers.
pub fn head(stream: &mut BufReader<TcpStream>) -> Response {
    let mut line = String::new();
    stream.read_line(&mut line).expect("a status line");
    let status = line.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status");
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).expect("a header");
        match line.trim_end().split_once(": ") {
            Some((name, value)) => headers.push((name.to_lowercase(), value.to_owned())),
            None => break,
        }
    }
    Response { status, headers, body: Vec::new() }
}

fn read(stream: &mut BufReader<TcpStream>) -> Response {
    let mut response = head(stream);
    stream.read_to_end(&mut response.body).expect("a body");
    response
}

/// Reads the next event of a stream: its name and data. `None` at the end.
pub fn event(stream: &mut BufReader<TcpStream>) -> Option<(String, String)> {
    let (mut name, mut data) = (String::new(), None);
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).expect("a line") == 0 {
            return None;
        }
        let line = line.trim_end();
        if let Some(value) = line.strip_prefix("event: ") {
            name = value.to_owned();
        } else if let Some(value) = line.strip_prefix("data: ") {
            data = Some(value.to_owned());
        } else if line.is_empty()
            && let Some(data) = data.take()
        {
            return Some((name, data));
        }
    }
}
