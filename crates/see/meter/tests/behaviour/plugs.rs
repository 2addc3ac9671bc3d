//! Shelly and Tasmota, by documents like those on their makers' API pages.

use tilemark_meter::{Fault, Meter, Sample, open};

use crate::server::Server;

fn opened(text: &str) -> Result<Box<dyn Meter>, Fault> {
    open(&text.parse().expect("a meter"))
}

fn read(meter: &mut Box<dyn Meter>) -> Sample {
    meter.read().expect("it answers")[0]
}

const SWITCH: &str = r#"{"id":0,"source":"init","output":true,"apower":31.4,"voltage":229.9,
    "current":0.15,"aenergy":{"total":6532.547,"by_minute":[45.199,47.141,88.397],
    "minute_ts":1626935779},"temperature":{"tC":42.1,"tF":107.8}}"#;

#[test]
fn a_shelly_of_the_second_generation_shows_power_and_counts() {
    let server = Server::of(&[
        ("/shelly", r#"{"name":null,"id":"shellyplusplugs-1","model":"SNPL-00112EU","gen":2}"#),
        ("/rpc/Switch.GetStatus?id=0", SWITCH),
    ]);
    let mut meter = opened(&format!("shelly:{}", server.at)).expect("it opens");
    assert_eq!(meter.about().model, "Shelly SNPL-00112EU, generation 2");
    let sample = read(&mut meter);
    assert_eq!(sample.watts, Some(31.4));
    assert!((sample.joules.expect("it counts") - 6532.547 * 3600.0).abs() < 1e-3);
    server.set("/rpc/Switch.GetStatus?id=0", r#"{"id":0,"output":true}"#);
    assert!(matches!(meter.read(), Err(Fault::Nonsense(_))));
    server.set("/rpc/Switch.GetStatus?id=0", "<html>");
    assert!(matches!(meter.read(), Err(Fault::Nonsense(_))));
}

#[test]
fn other_components_are_found_and_the_asked_one_is_taken() {
    let about = ("/shelly", r#"{"model":"SPEM-003CEBEU","gen":2}"#);
    let server = Server::of(&[about, ("/rpc/EM1.GetStatus?id=1", r#"{"id":1,"act_power":-2.5}"#)]);
    let mut meter = opened(&format!("shelly:{},id=1", server.at)).expect("it opens");
    assert_eq!(read(&mut meter).watts, Some(-2.5), "the log refuses what cannot be");
    assert!(server.asked().contains(&"/rpc/PM1.GetStatus?id=1".to_owned()));
    let fault = opened(&format!("shelly:{}", server.at)).err().expect("nothing is at 0");
    assert!(fault.to_string().contains("needs another id=N"), "{fault}");
}

#[test]
fn a_shelly_of_the_first_generation_counts_watt_minutes() {
    let status = r#"{"relays":[{"ison":true}],
        "meters":[{"power":43.21,"overpower":0.0,"is_valid":true,"total":120}]}"#;
    let server =
        Server::of(&[("/shelly", r#"{"type":"SHPLG-S","auth":false}"#), ("/status", status)]);
    let mut meter = opened(&format!("shelly:{}", server.at)).expect("it opens");
    let sample = read(&mut meter);
    assert_eq!((sample.watts, sample.joules), (Some(43.21), Some(7200.0)));
    assert_eq!(meter.about().counter_step, Some(60.0));
    server.set("/status", &status.replace("\"is_valid\":true", "\"is_valid\":false"));
    let fault = meter.read().expect_err("its meter says so");
    assert!(fault.to_string().contains("invalid reading"), "{fault}");
}

#[test]
fn a_relay_without_a_meter_is_refused_though_it_says_0_watts() {
    let status = r#"{"meters":[{"power":0.0,"is_valid":true}]}"#;
    let server = Server::of(&[("/shelly", r#"{"type":"SHSW-1"}"#), ("/status", status)]);
    let fault = opened(&format!("shelly:{}", server.at)).err().expect("0 W are no reading");
    assert!(matches!(fault, Fault::Unfit(_)), "{fault}");
}

const STATUS: &str = r#"{"StatusSNS":{"Time":"2026-11-24T04:00:00","ENERGY":{"TotalStartTime":
    "2026-01-01T00:00:00","Total":12.345,"Yesterday":0.1,"Today":0.2,"Power":POWER,
    "ApparentPower":140,"ReactivePower":25,"Factor":0.98,"Voltage":231,"Current":0.594}}}"#;

#[test]
fn tasmota_is_asked_for_either_status_and_channels_are_added_up() {
    let (ten, eight) = ("/cm?cmnd=Status%2010", "/cm?cmnd=Status%208");
    let server = Server::of(&[(ten, &STATUS.replace("POWER", "137"))]);
    let mut meter = opened(&format!("tasmota:{}", server.at)).expect("it opens");
    let sample = read(&mut meter);
    assert_eq!(sample.watts, Some(137.0));
    assert!((sample.joules.expect("it counts") - 12.345 * 3.6e6).abs() < 1e-3);
    let server = Server::of(&[
        (ten, r#"{"Command":"Unknown"}"#),
        (eight, &STATUS.replace("POWER", "[100,37.5]")),
    ]);
    let mut meter = opened(&format!("tasmota:{}", server.at)).expect("it opens");
    assert_eq!(read(&mut meter).watts, Some(137.5));
    let server = Server::of(&[(ten, r#"{"StatusSNS":{}}"#), (eight, "{}")]);
    let fault = opened(&format!("tasmota:{}", server.at)).err().expect("no meter");
    assert!(fault.to_string().contains("no meter"), "{fault}");
}

const PHASES: &str = r#"{"emeters":[
    {"power":100.0,"is_valid":true,"total":10.0},{"power":200.0,"is_valid":true,"total":20.0},
    {"power":300.0,"is_valid":true,"total":30.0}],"total_power":600.0,"relays":[{"ison":true}]}"#;

/// Three phases once gave 100 W of the first, without a warning (seen at e6eaf978).
#[test]
fn several_channels_of_a_shelly_are_their_total_or_one_is_named() {
    let about = ("/shelly", r#"{"type":"SHEM-3","num_emeters":3}"#);
    let server = Server::of(&[about, ("/status", PHASES)]);
    let mut meter = opened(&format!("shelly:{}", server.at)).expect("it tells a total");
    let sample = read(&mut meter);
    assert_eq!((sample.watts, sample.joules), (Some(600.0), Some(60.0 * 3600.0)));
    server.set(
        "/status",
        &PHASES.replacen("\"is_valid\":true,\"total\":20", "\"is_valid\":false,\"total\":20", 1),
    );
    assert!(meter.read().expect_err("a phase").to_string().contains("invalid reading"));
    server.set("/status", PHASES);
    let mut second = opened(&format!("shelly:{},id=1", server.at)).expect("it is there");
    assert_eq!((read(&mut second).watts, read(&mut second).joules), (Some(200.0), Some(72_000.0)));
    server.set("/status", &PHASES.replace("total_power", "other"));
    let fault = opened(&format!("shelly:{}", server.at)).err().expect("no total");
    assert!(
        fault.to_string().contains("3 channels") && fault.to_string().contains("id=N"),
        "{fault}"
    );
}

#[test]
fn several_components_of_a_shelly_must_be_named() {
    let server = Server::of(&[
        ("/shelly", r#"{"model":"SPEM-002CEBEU50","gen":2}"#),
        ("/rpc/EM1.GetStatus?id=0", r#"{"id":0,"act_power":0}"#),
        ("/rpc/EM1.GetStatus?id=1", r#"{"id":1,"act_power":487.2}"#),
    ]);
    let fault = opened(&format!("shelly:{}", server.at)).err().expect("two channels");
    assert!(fault.to_string().contains("EM1 0, EM1 1"), "{fault}");
    let mut meter = opened(&format!("shelly:{},id=1", server.at)).expect("it is there");
    assert_eq!(read(&mut meter).watts, Some(487.2));
    let server = Server::of(&[
        ("/shelly", r#"{"model":"SPEM-003CEBEU","gen":2}"#),
        ("/rpc/EM.GetStatus?id=0", r#"{"id":0,"a_act_power":1.0,"total_act_power":600.5}"#),
    ]);
    let mut meter = opened(&format!("shelly:{}", server.at)).expect("it tells a total");
    assert_eq!(read(&mut meter).watts, Some(600.5));
}

const NEED: &str = r#"{"WARNING":"Need user=<username>&password=<password>"}"#;

/// Name and password once went into a header that no Tasmota reads (seen at e6eaf978).
#[test]
fn tasmota_gets_name_and_password_in_the_query() {
    let (ten, eight) = ("/cm?cmnd=Status%2010", "/cm?cmnd=Status%208");
    let asked = "/cm?user=admin&password=se%20cr%26et&cmnd=Status%2010";
    let server = Server::of(&[(ten, NEED), (eight, NEED), (asked, &STATUS.replace("POWER", "84"))]);
    let directory = tempfile::tempdir().expect("a directory");
    let of = |secret: &str| {
        let path = directory.path().join("secret");
        std::fs::write(&path, secret).expect("writes");
        opened(&format!("tasmota:{},credentials={}", server.at, path.display()))
    };
    let fault = opened(&format!("tasmota:{}", server.at)).err().expect("no password");
    assert!(fault.to_string().contains("it needs a password"), "{fault}");
    let mut meter = of("admin:se cr&et\n").expect("it answers");
    assert_eq!(read(&mut meter).watts, Some(84.0));
    server.set(asked, NEED);
    let fault = meter.read().expect_err("another password by now");
    assert!(fault.to_string().contains("refuses"), "{fault}");
    for secret in ["admin:wrong-one\n", "admin:se cr&et\n"] {
        let fault = of(secret).err().expect("refused").to_string();
        for word in ["wrong-one", "se cr", "se%20", "%26et"] {
            assert!(!fault.contains(word), "{fault}");
        }
    }
}
