/// Draws values as bars of eight heights. The largest value has the highest bar; any value above
/// zero has at least the lowest bar.
pub(crate) fn sparkline(values: &[f64]) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = values.iter().copied().fold(0.0, f64::max);
    let bar = |value: &f64| {
        if *value <= 0.0 || most <= 0.0 {
            return ' ';
        }
        let height = (value / most * 8.0).ceil();
        let at = (1..8).take_while(|at| f64::from(*at) < height).count();
        BARS[at.min(7)]
    };
    values.iter().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_reach_from_nothing_to_the_largest() {
        assert_eq!(sparkline(&[0.0, 0.1, 4.0, 8.0]), " ▁▄█");
        assert_eq!(sparkline(&[0.0, 0.0]), "  ");
    }
}
