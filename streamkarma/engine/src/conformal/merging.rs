//! Merging the intervals and sets of models trained separately.
//!
//! Each score keeps its position in the stream, counted back from the end of its part: the latest of each part are the
//! latest of all, and the base's are older than those that came since. Of equally old scores the greatest are kept.
//! The allowed miss rate is the mean of the parts', weighted by their labels since the base. So the result depends
//! neither on the order of the parts nor on whether some were merged before. Events that await their labels are
//! dropped.

use super::calibration::Calibration;
use super::intervals::Intervals;
use super::pending::PendingPredictions;
use super::sets::Sets;
use super::window::Window;
use crate::merging::{Mean, counted_together};
use crate::state::{Refused, ensure};

impl Intervals {
    /// Merge what the parts have learned since each was equal to this one.
    ///
    /// # Errors
    ///
    /// If a part has a different coverage.
    pub fn merge(&mut self, parts: &[&Self]) -> Result<(), Refused> {
        self.pending = PendingPredictions::default();
        self.calibration.merge(&parts.iter().map(|part| &part.calibration).collect::<Vec<_>>())
    }
}

impl Sets {
    /// Merge what the parts have learned since each was equal to this one.
    ///
    /// # Errors
    ///
    /// If a part has a different coverage.
    pub fn merge(&mut self, parts: &[&Self]) -> Result<(), Refused> {
        self.pending = PendingPredictions::default();
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
