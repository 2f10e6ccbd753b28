//! What an encoder has learned, as numbers.

use super::{Encoder, Once, Use};
use crate::cleaning::{self, Sentinels, Tally};
use crate::scale::{self, Scale};
use crate::state::{Refused, ensure};
use crate::vocabulary::Vocabulary;

/// How many numbers are kept of a coordinate.
pub const WIDTH: usize = scale::WIDTH + cleaning::WIDTH;

impl Encoder {
    /// What became of the values of each attribute, one after another.
    pub fn tallies(&self) -> &[Tally] {
        &self.tallies
    }

    /// Which categories came once.
    pub fn once(&self) -> &Once {
        &self.once
    }

    /// When each coordinate was there last, and how often.
    pub fn uses(&self) -> &[Use] {
        &self.uses
    }

    /// How many coordinates were given up so far.
    pub fn evicted(&self) -> u64 {
        self.evicted
    }

    /// The running scale and the sentinels of each coordinate, one after another.
    pub fn moments(&self) -> Vec<f64> {
        let rows = self.scales.iter().zip(&self.sentinels);
        rows.flat_map(|(scale, sentinels)| scale.row().into_iter().chain(sentinels.row())).collect()
    }

    /// Take over names, what was ignored, the rows of `moments`, those of the tallies, what came once, and
    /// what is known of the uses.
    ///
    /// # Errors
    ///
    /// If the parts contradict each other or the bounds; the encoder is then as it was.
    pub fn restore(
        &mut self,
        vocabulary: Vocabulary,
        moments: &[f64],
        tallies: Vec<Tally>,
        once: Once,
        uses: Vec<Use>,
        evicted: u64,
    ) -> Result<(), Refused> {
        const WHY: &str = "the running statistics do not fit the vocabulary";
        ensure(moments.len() == vocabulary.coordinate_count() * WIDTH, WHY)?;
        ensure(tallies.len() == vocabulary.attribute_count(), WHY)?;
        ensure(uses.len() == vocabulary.coordinate_count(), WHY)?;
        ensure(uses.iter().all(|each| each.last <= tallies[0].values), WHY)?;
        let rows = || moments.chunks_exact(WIDTH).map(|row| row.split_at(scale::WIDTH));
        let scales: Option<Vec<Scale>> = rows().map(|(row, _)| Scale::from_row(row)).collect();
        let sentinels: Option<Vec<Sentinels>> = rows().map(|(_, row)| Sentinels::from_row(row)).collect();
        (self.scales, self.sentinels) = (scales.ok_or(WHY)?, sentinels.ok_or(WHY)?);
        self.has_sentinels = self.sentinels.iter().any(|each| *each != Sentinels::default());
        self.vocabulary = vocabulary;
        (self.tallies, self.once) = (tallies, once);
        (self.uses, self.evicted) = (uses, evicted);
        self.seen = vec![0; self.vocabulary.attribute_count()];
        self.begin();
        Ok(())
    }
}
