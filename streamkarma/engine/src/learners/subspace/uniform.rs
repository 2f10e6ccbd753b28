//! Random initial values.

/// Reproducible uniform numbers: NumPy's `default_rng(1)`, a PCG64 [O].
///
/// [O] O'Neill: PCG: A Family of Simple Fast Space-Efficient Statistically Good Algorithms for Random Number
/// Generation, 2014.
#[derive(Clone, Debug)]
pub struct Uniform {
    state: u128,
    low: f64,
    width: f64,
}

const MULTIPLIER: u128 = 0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645;
/// Increment and state of the generator for seed 1.
const INCREMENT: u128 = 0x922a_f2da_2645_f895_a198_57b9_5740_937b;
const STATE: u128 = 0x9c5b_484b_fedb_756c_2a6e_7d6f_320f_bc7e;

impl Uniform {
    /// Numbers from `low` up to `high`.
    pub fn new(low: f64, high: f64) -> Self {
        Self { state: STATE, low, width: high - low }
    }

    /// The next number.
    pub fn draw(&mut self) -> f64 {
        self.state = self.state.wrapping_mul(MULTIPLIER).wrapping_add(INCREMENT);
        let mixed = (self.state >> 64) as u64 ^ self.state as u64;
        let bits = mixed.rotate_right((self.state >> 122) as u32) >> 11;
        self.low + self.width * (bits as f64 / (1u64 << 53) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::Uniform;

    #[test]
    fn matches_numpy_generator() {
        let mut uniform = Uniform::new(-1.0, 1.0);
        assert_eq!(
            [uniform.draw(), uniform.draw(), uniform.draw()],
            [0.023643249400513433, 0.9009273926518706, -0.7116807745607325]
        );
    }
}
