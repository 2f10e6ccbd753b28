//! Random numbers that are the same on every machine, and wherever learning was resumed.

/// Spread the bits of a number (the last steps of SplitMix64).
pub fn mix(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

/// Numbers from a hash of counters.
#[derive(Clone, Copy, Debug)]
pub struct Random(u64);

impl Random {
    /// Those of one of several that draw, such as a tree, at a step.
    pub fn new(number: u64, step: u64) -> Self {
        Self(mix(mix(number + 1) ^ step))
    }

    /// The next one.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// The next one below a limit.
    pub fn below(&mut self, limit: usize) -> usize {
        (((self.next() >> 32) * limit as u64) >> 32) as usize
    }

    /// The next one from the lower to the higher of two numbers, which is left out.
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        let part = (self.next() >> 11) as f64 / (1u64 << 53) as f64;
        let number = low + part * (high - low);
        if number < high { number.max(low) } else { low }
    }
}
