//! Random numbers for tests, the same on every machine.

/// xorshift64*, from a seed above 0.
pub struct TestRandom(pub u64);

impl TestRandom {
    /// Uniform from 0 to 1, the latter excluded.
    pub fn unit(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11) as f64 / (1u64 << 53) as f64
    }
}
