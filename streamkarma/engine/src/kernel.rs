//! The KARMA kernel [H, Thm 4]: `k((x, o), (x', o')) = G(|o ∩ o'|) Σ x_i x'_i` over `o ∩ o'`.

/// `G(n) = 1 + n + … + n^(gamma-1)`, by Horner's rule.
///
/// For the number of attributes that two events share, this is how many index sequences shorter than `gamma` the two
/// have in common: how often KARMA's feature map repeats every shared coordinate.
pub fn growth(overlap: f64, gamma: u32) -> f64 {
    let mut total = 1.0;
    for _ in 1..gamma {
        total = total * overlap + 1.0;
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_counts_shorter_sequences() {
        assert_eq!(growth(3.0, 4), 40.0); // 1 + 3 + 9 + 27
    }
}
