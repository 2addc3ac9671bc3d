//! Reads power distribution units by SNMP version 2c (RFC 3416). It reads one object once a period,
//! and a scale converts the number to watts.
//!
//! The unit's manual or MIB names the object; the guide lists some. The community is `public`
//! unless `credentials` contain another. The number may be an integer of any kind or a text.

mod ber;

use std::net::UdpSocket;
use std::time::Duration;

use http_client::{Secret, host_and_port};
use spec::meter::Meter as Spec;
use units::Nanos;

use crate::kinds::period;
use crate::kinds::snmp::ber::{Value, answer, question};
use crate::{About, Fault, Meter, Sample, monotonic};

/// Object `sysDescr.0` (RFC 3418): the unit's own description.
const DESCRIPTION: &str = "1.3.6.1.2.1.1.1.0";

/// Longest wait for an answer. There are several attempts, because a datagram may be lost.
const ANSWER_MAX: Duration = Duration::from_millis(800);
const TRIES: u32 = 2;

/// Default period. Units update their readings every second or two. Our choice.
const PERIOD: Nanos = Nanos::from_secs(2);

struct Pdu {
    socket: UdpSocket,
    community: String,
    asked: i32,
    oid: Vec<u32>,
    scale: f64,
    model: String,
    period: Nanos,
}

pub(super) fn open(spec: &Spec) -> Result<Box<dyn Meter>, Fault> {
    let (host, port) = host_and_port(&spec.at, 161)?;
    let secret = spec.credentials.as_deref().map(Secret::read).transpose()?;
    let failed = |error: std::io::Error| Fault::Unanswered(error.to_string());
    let any = if host.contains(':') { "[::]:0" } else { "0.0.0.0:0" };
    let socket = UdpSocket::bind(any).map_err(failed)?;
    socket.connect((host.as_str(), port)).map_err(failed)?;
    socket.set_read_timeout(Some(ANSWER_MAX)).map_err(failed)?;
    let mut pdu = Pdu {
        socket,
        community: secret.as_ref().map_or("public", Secret::reveal).to_owned(),
        asked: 0,
        oid: oid(spec.oid.as_deref().unwrap_or_default())?,
        scale: spec.scale.unwrap_or(1.0),
        model: String::new(),
        period: period(spec, PERIOD),
    };
    // An answer with watts is enough; some units have no description.
    pdu.watts()?;
    pdu.model = match pdu.ask(&oid(DESCRIPTION)?) {
        Ok(Value::Text(text)) => {
            // A unit's description may repeat the whole request, including the community.
            let text = secret.as_ref().map_or_else(|| text.clone(), |own| own.hide(&text));
            untrusted::shown(&text).into_owned()
        }
        _ => "an SNMP unit without a description".to_owned(),
    };
    Ok(Box::new(pdu))
}

/// Parses `1.3.6.1.4`, with or without a dot before it.
fn oid(text: &str) -> Result<Vec<u32>, Fault> {
    let arcs: Option<Vec<u32>> =
        text.trim_start_matches('.').split('.').map(|arc| arc.parse().ok()).collect();
    arcs.filter(|arcs| arcs.len() >= 2 && arcs[0] <= 2 && arcs[1] < 40)
        .ok_or_else(|| Fault::Unfit(format!("\"{}\" is no OID", untrusted::shown(text))))
}

impl Pdu {
    fn ask(&mut self, oid: &[u32]) -> Result<Value, Fault> {
        let mut why = Fault::Unanswered("no answer".to_owned());
        for _ in 0..TRIES {
            self.asked = self.asked.wrapping_add(1) & i32::MAX;
            match self.ask_once(oid) {
                Ok(value) => return Ok(value),
                Err(fault) => why = fault,
            }
        }
        Err(why)
    }

    fn ask_once(&self, oid: &[u32]) -> Result<Value, Fault> {
        let failed = |error: std::io::Error| Fault::Unanswered(error.to_string());
        self.socket.send(&question(&self.community, self.asked, oid)).map_err(failed)?;
        let mut datagram = [0; 2048];
        loop {
            let read = self.socket.recv(&mut datagram).map_err(failed)?;
            let (asked, value) = answer(&datagram[..read])
                .ok_or_else(|| Fault::Nonsense("its answer is not SNMP".to_owned()))?;
            // An answer that comes after the next request belongs to the former one.
            if asked == self.asked {
                return value.map_err(|why| Fault::Nonsense(format!("SNMP: {why}")));
            }
        }
    }

    fn watts(&mut self) -> Result<f64, Fault> {
        let oid = self.oid.clone();
        let number = match self.ask(&oid)? {
            Value::Number(number) => Some(number),
            Value::Text(text) => text.trim().parse().ok(),
        };
        let number =
            number.ok_or_else(|| Fault::Nonsense("the object is not a number".to_owned()))?;
        Ok(number * self.scale)
    }
}

impl Meter for Pdu {
    fn about(&self) -> About {
        About {
            resolution_watts: Some(self.scale),
            ..About::measured(self.model.clone(), self.period)
        }
    }

    fn read(&mut self) -> Result<Vec<Sample>, Fault> {
        let asked = monotonic();
        let watts = self.watts()?;
        let at = Nanos(asked.0.midpoint(monotonic().0));
        Ok(vec![Sample::watts(at, watts)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Starts a responder. It answers every request for watts with the next of these values, and
    /// any other request with a name.
    fn responder(values: Vec<Vec<u8>>) -> u16 {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("binds");
        let port = socket.local_addr().expect("bound").port();
        std::thread::spawn(move || {
            let (mut datagram, mut at) = ([0; 2048], 0);
            while let Ok((read, from)) = socket.recv_from(&mut datagram) {
                let question = &datagram[..read];
                let is_watts = question.windows(4).any(|own| own == [4, 1, 0x82, 0x3e]);
                let value = if is_watts {
                    values[at % values.len()].clone()
                } else {
                    vec![4, 3, b'P', b'D', b'U']
                };
                at += usize::from(is_watts);
                let _ = socket.send_to(&ber::tests::reply(question, &value), from);
            }
        });
        port
    }

    fn meter(port: u16) -> Result<Box<dyn Meter>, Fault> {
        let spec = format!("snmp:127.0.0.1:{port},oid=1.3.6.1.4.1.318.1.1,scale=0.1");
        open(&spec.parse().expect("a meter"))
    }

    #[test]
    fn watts_are_the_objects_number_times_its_scale() {
        // Gauge32 4321, INTEGER 100, and a text.
        let values =
            vec![vec![0x42, 2, 0x10, 0xe1], vec![2, 1, 100], vec![4, 4, b'1', b'2', b'.', b'5']];
        let mut meter = meter(responder(values)).expect("it answers");
        assert_eq!(meter.about().model, "PDU");
        let mut watts = || meter.read().expect("it answers")[0].watts.expect("watts");
        assert!((watts() - 10.0).abs() < 1e-9);
        assert!((watts() - 1.25).abs() < 1e-9);
        assert!((watts() - 432.1).abs() < 1e-9);
    }

    #[test]
    fn an_object_that_is_not_there_is_no_zero() {
        let fault = meter(responder(vec![vec![0x80, 0]])).err().expect("noSuchObject");
        assert!(fault.to_string().contains("no such object"), "{fault}");
        let fault = meter(responder(vec![vec![4, 1, b'x']])).err().expect("a text");
        assert!(matches!(fault, Fault::Nonsense(_)), "{fault}");
    }

    #[test]
    fn an_oid_has_numbers() {
        assert_eq!(oid(".1.3.6.1"), Ok(vec![1, 3, 6, 1]));
        assert!(oid("1").is_err() && oid("enterprises.318").is_err() && oid("1.40.1").is_err());
    }
}
