//! Redfish, by documents like those of DMTF's public mock-ups, with a self-signed certificate.

use tilemark_meter::{Fault, Meter, open};

use crate::server::Server;

const ROOT: (&str, &str) = (
    "/redfish/v1/",
    r#"{"Vendor":"Contoso","Product":"3500","RedfishVersion":"1.15.0",
        "Chassis":{"@odata.id":"/redfish/v1/Chassis"}}"#,
);
const ONE: (&str, &str) =
    ("/redfish/v1/Chassis", r#"{"Members":[{"@odata.id":"/redfish/v1/Chassis/1U"}]}"#);
const CHASSIS: (&str, &str) = (
    "/redfish/v1/Chassis/1U",
    r#"{"Power":{"@odata.id":"/redfish/v1/Chassis/1U/Power"},
        "EnvironmentMetrics":{"@odata.id":"/redfish/v1/Chassis/1U/EnvironmentMetrics"}}"#,
);
const OLD: (&str, &str) = (
    "/redfish/v1/Chassis/1U/Power",
    r#"{"PowerControl":[{"Name":"System Power Control","PowerConsumedWatts":344,
        "PowerMetrics":{"IntervalInMin":30,"MinConsumedWatts":271,"MaxConsumedWatts":489,
        "AverageConsumedWatts":319}}]}"#,
);
const NEW: (&str, &str) = (
    "/redfish/v1/Chassis/1U/EnvironmentMetrics",
    r#"{"PowerWatts":{"DataSourceUri":"/redfish/v1/Chassis/1U/Sensors/TotalPower","Reading":374.2}}"#,
);

fn opened(text: &str) -> Result<Box<dyn Meter>, Fault> {
    open(&text.parse().expect("a meter"))
}

fn watts(meter: &mut Box<dyn Meter>) -> Option<f64> {
    meter.read().expect("it answers")[0].watts
}

/// File with these credentials.
fn credentials() -> tempfile::NamedTempFile {
    let own = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(own.path(), "root:calvin\n").expect("writes");
    own
}

/// Header for `root:calvin`.
const AUTHORIZATION: &str = "Basic cm9vdDpjYWx2aW4=";

#[test]
fn the_newer_resource_is_preferred_and_the_older_one_is_enough() {
    let server = Server::of(&[ROOT, ONE, CHASSIS, OLD, NEW]);
    let mut meter = opened(&format!("redfish:http://{}", server.at)).expect("it opens");
    assert_eq!(watts(&mut meter), Some(374.2));
    assert_eq!(meter.about().model, "Contoso 3500, Redfish 1.15.0");
    let server = Server::of(&[ROOT, ONE, CHASSIS, OLD]);
    let mut meter = opened(&format!("redfish:http://{}", server.at)).expect("it opens");
    assert_eq!(watts(&mut meter), Some(344.0), "the reading, not the mean of half an hour");
    server.set(OLD.0, r#"{"PowerControl":[{"PowerConsumedWatts":null}]}"#);
    assert!(matches!(meter.read(), Err(Fault::Nonsense(_))));
}

#[test]
fn of_several_chassis_none_is_guessed() {
    let both = (
        "/redfish/v1/Chassis",
        r#"{"Members":[{"@odata.id":"/redfish/v1/Chassis/1U"},{"@odata.id":"/redfish/v1/Chassis/2U"}]}"#,
    );
    let second =
        ("/redfish/v1/Chassis/2U", r#"{"Power":{"@odata.id":"/redfish/v1/Chassis/2U/Power"}}"#);
    let power = ("/redfish/v1/Chassis/2U/Power", r#"{"PowerControl":[{"PowerConsumedWatts":9}]}"#);
    let server = Server::of(&[ROOT, both, CHASSIS, OLD, second, power]);
    let fault = opened(&format!("redfish:http://{}", server.at)).err().expect("two of them");
    assert!(fault.to_string().contains("/redfish/v1/Chassis/2U/Power"), "{fault}");
    let one = format!("redfish:http://{}/redfish/v1/Chassis/2U", server.at);
    assert_eq!(watts(&mut opened(&one).expect("it opens")), Some(9.0));
    let server = Server::of(&[ROOT, ONE, ("/redfish/v1/Chassis/1U", "{}")]);
    let fault = opened(&format!("redfish:http://{}", server.at)).err().expect("no reading");
    assert!(fault.to_string().contains("no chassis"), "{fault}");
}

#[test]
fn a_certificate_that_nobody_signed_is_known_by_its_fingerprint() {
    let server = Server::secret(&[ROOT, ONE, CHASSIS, NEW], AUTHORIZATION);
    let secret = credentials();
    let of = |more: &str| {
        let file = secret.path().display();
        opened(&format!("redfish:https://{},credentials={file}{more}", server.at))
    };
    let own = &server.fingerprint;
    let mut meter = of(&format!(",fingerprint={own}")).expect("it is the one");
    assert_eq!(watts(&mut meter), Some(374.2));
    assert!(!format!("{:?}", meter.about()).contains("calvin"));
    let unknown = of("").err().expect("no authority vouches for it").to_string();
    assert!(unknown.contains(&format!("fingerprint={own}")), "{unknown}");
    let other = of(&format!(",fingerprint={}", "ab".repeat(32))).err().expect("another one");
    assert!(other.to_string().contains("another certificate"), "{other}");
    let any = of(",insecure=true").expect("any will do");
    assert!(any.about().notes.iter().any(|note| note.contains("not checked")), "it is said");
}

#[test]
fn who_is_refused_is_told_how_to_say_who_he_is() {
    let server = Server::secret(&[ROOT, ONE, CHASSIS, NEW], AUTHORIZATION);
    let fault = opened(&format!("redfish:https://{},insecure=true", server.at)).err();
    let text = fault.expect("it wants a password").to_string();
    assert!(text.contains("401") && text.contains("credentials=FILE"), "{text}");
}
