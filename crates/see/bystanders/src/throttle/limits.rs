use spec::study::Limits;
use units::Bytes;

/// Returns the files of version 1 with their lines (Documentation/admin-guide/cgroup-v1/
/// blkio-controller.rst, "Throttling/Upper limit policy files").
pub(super) fn lines_v1(limits: &Limits, device: &str) -> Vec<(&'static str, String)> {
    let line = |value: u64| format!("{device} {value}");
    let files = [
        ("blkio.throttle.read_iops_device", limits.read_iops.map(u64::from)),
        ("blkio.throttle.write_iops_device", limits.write_iops.map(u64::from)),
        ("blkio.throttle.read_bps_device", limits.read_rate.map(Bytes::get)),
        ("blkio.throttle.write_bps_device", limits.write_rate.map(Bytes::get)),
    ];
    files.into_iter().filter_map(|(file, value)| Some((file, line(value?)))).collect()
}

/// Returns the line for `io.max` in version 2 (Documentation/admin-guide/cgroup-v2.rst, "IO").
pub(super) fn line_v2(limits: &Limits, device: &str) -> String {
    let keys = [
        ("riops", limits.read_iops.map(u64::from)),
        ("wiops", limits.write_iops.map(u64::from)),
        ("rbps", limits.read_rate.map(Bytes::get)),
        ("wbps", limits.write_rate.map(Bytes::get)),
    ];
    let parts = keys.into_iter().filter_map(|(key, value)| Some(format!(" {key}={}", value?)));
    parts.fold(device.to_owned(), |line, part| line + &part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_version_gets_its_own_lines() {
        let limits = Limits {
            read_iops: Some(500),
            write_rate: Some(Bytes::new(20 << 20)),
            ..Limits::default()
        };
        let expected = [
            ("blkio.throttle.read_iops_device", "8:16 500".to_owned()),
            ("blkio.throttle.write_bps_device", "8:16 20971520".to_owned()),
        ];
        assert_eq!(lines_v1(&limits, "8:16"), expected);
        assert_eq!(line_v2(&limits, "8:16"), "8:16 riops=500 wbps=20971520");
    }
}
