//! Intervals and sets of models that learned apart, made one.
//!
//! Scores keep how many there were by then, counted back from where their part ended: the latest of each part are the
//! latest of all, and the base's are older than what came since. Of equally old ones the greatest have room. The
//! share that may be missed is the mean of the parts', by the labels since the base. So neither the order of the
//! parts shows, nor whether some were merged before. Nothing waits for its label any more.

use super::calibration::Calibration;
use super::intervals::Intervals;
use super::kept::Kept;
use super::sets::Sets;
use super::window::Window;
use crate::merging::{Mean, counted_together};
use crate::state::{Refused, ensure};

impl Intervals {
    /// Take in what parts have learned since each of them was as this one.
    ///
    /// # Errors
    ///
    /// If a part has another coverage.
    pub fn merge(&mut self, parts: &[&Self]) -> Result<(), Refused> {
        self.kept = Kept::default();
        self.calibration.merge(&parts.iter().map(|part| &part.calibration).collect::<Vec<_>>())
    }
}

impl Sets {
    /// Take in what parts have learned since each of them was as this one.
    ///
    /// # Errors
    ///
    /// If a part has another coverage.
    pub fn merge(&mut self, parts: &[&Self]) -> Result<(), Refused> {
        self.kept = Kept::default();
        self.calibration.merge(&parts.iter().map(|part| &part.calibration).collect::<Vec<_>>())
    }
}

impl Calibration {
    fn merge(&mut self, parts: &[&Self]) -> Result<(), Refused> {
        let alike = parts.iter().all(|part| part.asked == self.asked);
        ensure(alike, "models with different coverages cannot be merged")?;
        let began = self.window.count();
        let count = counted_together(began, parts.iter().map(|part| part.window.count()));
        let mut numbers: Vec<(u64, f64)> = self.window.in_order().collect();
        let mut share = Mean::default();
        for part in parts {
            let ended = part.window.count();
            share.put(ended.saturating_sub(began) as f64, part.share - self.share);
            let since = part.window.in_order().filter(|&(at, _)| at > began);
            numbers.extend(since.map(|(at, number)| (count - (ended - at), number)));
        }
        self.share += share.value();
        numbers.sort_by(|(at, one), (other_at, other)| at.cmp(other_at).then(one.total_cmp(other)));
        let most = self.window.most();
        numbers.drain(..numbers.len().saturating_sub(most));
        self.window = Window::of(most, count, numbers);
        Ok(())
    }
}
