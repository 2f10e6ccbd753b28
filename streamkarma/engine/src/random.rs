//! Random numbers that are the same on every machine, also when learning is interrupted and resumed.

/// Mix the bits of a number (the last steps of SplitMix64).
pub fn mix(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

/// Random numbers from hashed counters.
#[derive(Clone, Copy, Debug)]
pub struct Random(u64);

impl Random {
    /// A generator for one consumer of several, such as a tree, at a step.
    pub fn new(number: u64, step: u64) -> Self {
        Self(mix(mix(number + 1) ^ step))
    }

    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// The next number below a limit.
    pub fn below(&mut self, limit: usize) -> usize {
        (((self.next() >> 32) * limit as u64) >> 32) as usize
    }

    /// The next number between two bounds, the higher one excluded.
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        let part = (self.next() >> 11) as f64 / (1u64 << 53) as f64;
        let number = low + part * (high - low);
        if number < high { number.max(low) } else { low }
    }
}
