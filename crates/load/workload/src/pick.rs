use state_machine::Stream;

/// Random choice among weighted items in constant time: the alias method (Walker 1977), with tables
/// built as by Vose (1991).
#[derive(Debug, Clone)]
pub struct Pick {
    columns: Box<[Column]>,
}

#[derive(Debug, Clone, Copy)]
struct Column {
    /// Threshold for the fraction, in units of 2^-64. Smaller fractions choose the column's own
    /// item.
    own_below: u64,
    alias: u32,
}

impl Pick {
    /// Creates a table for these weights; `None` if a weight is negative or not finite, or if all
    /// are zero.
    pub fn new(weights: &[f64]) -> Option<Self> {
        let total: f64 = weights.iter().sum();
        let is_valid = weights.iter().all(|weight| *weight >= 0.0) && total.is_finite();
        if !is_valid || total <= 0.0 || u32::try_from(weights.len()).is_err() {
            return None;
        }
        Some(Self { columns: columns(weights, total) })
    }

    /// Draws the position of an item. Uses one random number, or none if there is only one item.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "high and low half of a product")]
    pub fn draw(&self, stream: &mut Stream) -> usize {
        if self.columns.len() == 1 {
            return 0;
        }
        let product = u128::from(stream.bits()) * self.columns.len() as u128;
        let (column, fraction) = ((product >> 64) as usize, product as u64);
        let chosen = self.columns[column];
        if fraction < chosen.own_below { column } else { chosen.alias as usize }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a table has far fewer than 2^53 entries")]
fn columns(weights: &[f64], total: f64) -> Box<[Column]> {
    let mut shares: Vec<f64> =
        weights.iter().map(|weight| weight / total * weights.len() as f64).collect();
    let own = |item: usize| Column { own_below: u64::MAX, alias: index(item) };
    let mut columns: Vec<Column> = (0..weights.len()).map(own).collect();
    let (mut small, mut large): (Vec<usize>, Vec<usize>) =
        (0..weights.len()).partition(|item| shares[*item] < 1.0);
    while let (Some(poor), Some(rich)) = (small.pop(), large.pop()) {
        columns[poor] = Column { own_below: fraction(shares[poor]), alias: index(rich) };
        shares[rich] -= 1.0 - shares[poor];
        if shares[rich] < 1.0 {
            small.push(rich);
        } else {
            large.push(rich);
        }
    }
    // Rounding can leave an item without weight alone among the small ones.
    for item in small.into_iter().filter(|item| weights[*item] == 0.0) {
        let heaviest = (0..weights.len()).max_by(|a, b| weights[*a].total_cmp(&weights[*b]));
        columns[item] = Column { own_below: 0, alias: index(heaviest.unwrap_or(item)) };
    }
    columns.into_boxed_slice()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share below 1 of 2^64; the cast saturates"
)]
fn fraction(share: f64) -> u64 {
    (share * 18_446_744_073_709_551_616.0) as u64
}

fn index(item: usize) -> u32 {
    u32::try_from(item).expect("the index was checked when the table was made")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use state_machine::Purpose;

    #[test]
    fn impossible_weights_make_no_table() {
        for weights in [&[][..], &[0.0, 0.0], &[1.0, -1.0], &[f64::NAN], &[f64::INFINITY]] {
            assert!(Pick::new(weights).is_none(), "{weights:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn items_come_in_the_shares_of_their_weights(
            weights in proptest::collection::vec(0_u32..20, 1..12), seed: u64
        ) {
            let weights: Vec<f64> = weights.into_iter().map(f64::from).collect();
            let total: f64 = weights.iter().sum();
            prop_assume!(total > 0.0);
            let pick = Pick::new(&weights).expect("some weight");
            let mut stream = Stream::derive(seed, &[], Purpose::User);
            let mut counts = vec![0_u32; weights.len()];
            let draws = 20_000.0;
            for _ in 0..20_000 {
                counts[pick.draw(&mut stream)] += 1;
            }
            for (weight, count) in weights.iter().zip(&counts) {
                let share = weight / total;
                // Six standard errors: far rarer than one failure in all runs together.
                let error = 6.0 * (share * (1.0 - share) / draws).sqrt();
                prop_assert!((f64::from(*count) / draws - share).abs() <= error);
            }
        }
    }
}
