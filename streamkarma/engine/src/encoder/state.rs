//! The learned state of an encoder, as numbers.

use super::{Encoder, Levels, SeenOnce, Use};
use crate::cleaning::{self, Sentinels, Tally};
use crate::scale::{self, Scale};
use crate::state::{Refused, ensure};
use crate::vocabulary::Vocabulary;

/// Numbers per coordinate.
pub const WIDTH: usize = scale::WIDTH + cleaning::WIDTH + 1;

/// Counts in the state.
pub struct Counts {
    /// Counts of what happened to the values of each attribute.
    pub tallies: Vec<Tally>,
    /// Categories that were seen once.
    pub once: SeenOnce,
    /// When each coordinate last occurred, and how often.
    pub uses: Vec<Use>,
    /// Number of coordinates evicted so far.
    pub evicted: u64,
}

impl Encoder {
    /// Counts of what happened to the values, by attribute.
    pub fn tallies(&self) -> &[Tally] {
        &self.tallies
    }

    /// Categories that were seen once.
    pub fn once(&self) -> &SeenOnce {
        &self.once
    }

    /// When each coordinate last occurred, and how often.
    pub fn uses(&self) -> &[Use] {
        &self.uses
    }

    /// Number of coordinates evicted so far.
    pub fn evicted(&self) -> u64 {
        self.evicted
    }

    /// The running scale and the sentinels of each coordinate, and how often the sample of its values was halved,
    /// concatenated.
    pub fn moments(&self) -> Vec<f64> {
        let rows = self.scales.iter().zip(&self.sentinels).zip(&self.levels);
        let row = |((scale, sentinels), levels): ((&Scale, &Sentinels), &Levels)| {
            scale.row().into_iter().chain(sentinels.row()).chain([f64::from(levels.halvings())])
        };
        rows.flat_map(row).collect()
    }

    /// Coordinates, their distinct values, and how often each occurred.
    pub fn levels(&self) -> impl Iterator<Item = (usize, f64, u64)> {
        let all = self.levels.iter().enumerate();
        all.flat_map(|(coordinate, levels)| {
            levels.values().iter().map(move |&(value, times)| (coordinate, value, times))
        })
    }

    /// Restore names, what was ignored, the rows of `moments` and of `levels`, and the counts.
    ///
    /// # Errors
    ///
    /// If the parts contradict each other or the bounds; the encoder is then unchanged.
    pub fn restore(
        &mut self,
        vocabulary: Vocabulary,
        moments: &[f64],
        levels: &[(usize, f64, u64)],
        counts: Counts,
    ) -> Result<(), Refused> {
        let Counts { tallies, once, uses, evicted } = counts;
        const WHY: &str = "the running statistics do not fit the vocabulary";
        ensure(moments.len() == vocabulary.coordinate_count() * WIDTH, WHY)?;
        ensure(tallies.len() == vocabulary.attribute_count(), WHY)?;
        ensure(uses.len() == vocabulary.coordinate_count(), WHY)?;
        ensure(uses.iter().all(|each| each.last <= tallies[0].values), WHY)?;
        let rows = || moments.chunks_exact(WIDTH).map(|row| row.split_at(scale::WIDTH));
        let scales: Option<Vec<Scale>> = rows().map(|(row, _)| Scale::from_row(row)).collect();
        let sentinels = rows().map(|(_, row)| Sentinels::from_row(&row[..cleaning::WIDTH]));
        let sentinels: Option<Vec<Sentinels>> = sentinels.collect();
        let levels = levels_of(moments, levels)?;
        (self.scales, self.sentinels) = (scales.ok_or(WHY)?, sentinels.ok_or(WHY)?);
        self.levels = levels;
        self.vocabulary = vocabulary;
        (self.tallies, self.once) = (tallies, once);
        (self.uses, self.evicted) = (uses, evicted);
        self.derive();
        Ok(())
    }

    /// Derive everything that follows from restored names and statistics.
    pub(super) fn derive(&mut self) {
        self.has_sentinels = self.sentinels.iter().any(|each| *each != Sentinels::default());
        self.has_prose = self.tallies.iter().any(|tally| tally.prose > 0);
        self.seen = vec![0; self.vocabulary.attribute_count()];
        self.restore_rates();
        self.begin();
    }
}

/// The levels of each coordinate, from the rows of its moments and the observed values.
fn levels_of(moments: &[f64], levels: &[(usize, f64, u64)]) -> Result<Vec<Levels>, Refused> {
    let stored = moments.chunks_exact(WIDTH).map(|row| row[WIDTH - 1]);
    let mut values = vec![Vec::new(); stored.len()];
    for &(coordinate, value, times) in levels {
        let at = values.get_mut(coordinate).ok_or("values are counted for coordinates that do not exist")?;
        at.push((value, times));
    }
    let halvings = |stored: f64| -> Result<u32, Refused> {
        ensure(
            stored.fract() == 0.0 && (0.0..=64.0).contains(&stored),
            "a sample can be halved at most 64 times",
        )?;
        Ok(stored as u32)
    };
    stored.zip(values).map(|(stored, values)| Levels::of(halvings(stored)?, &values)).collect()
}
