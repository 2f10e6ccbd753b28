//! Merging mixtures: each expert with its counterparts, and what was learned about the experts.
//!
//! Experts are merged in their own ways. What the mixture has learned about them is averaged, see
//! [`super::averaging`]; a bounded parameter may exceed its bound until the next event is learned. The predictions
//! that await a label in a part are dropped: such events are judged by what the merged mixture predicts when the label
//! arrives.
//!
//! When the targets of a regression change their scale, its predictions stay the same, except for the blend if its
//! weights do not add up to 1.

use super::Mixture;
use super::aggregator::Aggregator;
use super::averaging::{Shared, mean};
use super::calibration::{Calibration, NUMBER_PRIOR_VARIANCE, OF_CLASSES, OF_NUMBERS, OFFSET, SMALLEST};
use super::late::Late;
use super::mean_weight::MeanWeight;
use super::resting::Resting;
use super::ties::Ties;
use crate::learner::Learner;
use crate::merging::{ensure_alike, of_kind, relabelled, relabelled_rows};
use crate::state::Refused;
use crate::translation::Translation;

impl Mixture {
    pub(super) fn relabel_all(&mut self, places: &[usize]) -> Result<(), Refused> {
        self.learners.iter_mut().try_for_each(|learner| learner.relabel(places))?;
        self.aggregator.relabel(places);
        if places == [1, 0] && self.aggregator.is_of_two() {
            self.relevance.turn();
        }
        self.late.relabel(places);
        if let Some(recent) = &mut self.recent {
            recent.relabel(places);
        }
        Ok(())
    }

    pub(super) fn translate_all(&mut self, translation: &Translation) -> Result<(), Refused> {
        self.learners.iter_mut().try_for_each(|learner| learner.translate(translation))?;
        self.relevance.translate(translation);
        if self.aggregator.regression && translation.target != (0.0, 1.0) {
            let before = self.aggregator.unit();
            self.aggregator.translate(translation.target);
            self.late.clear();
            if let Some(recent) = &mut self.recent {
                recent.translate(translation.target, before / self.aggregator.unit());
            }
        }
        Ok(())
    }

    pub(super) fn merge_all(&mut self, parts: &[&dyn Learner]) -> Result<(), Refused> {
        let parts: Vec<&Self> = of_kind(parts)?;
        ensure_alike(parts.iter().all(|part| part.names == self.names && part.farthest == self.farthest))?;
        ensure_alike(parts.iter().all(|part| part.learners.len() == self.learners.len()))?;
        ensure_alike(parts.iter().all(|part| part.recent.is_some() == self.recent.is_some()))?;
        for (number, learner) in self.learners.iter_mut().enumerate() {
            let same: Vec<&dyn Learner> = parts.iter().map(|part| &*part.learners[number]).collect();
            learner.merge(&same)?;
        }
        self.late.merge(&parts.iter().map(|part| &part.late).collect::<Vec<_>>());
        self.relevance.merge(&parts.iter().map(|part| &part.relevance).collect::<Vec<_>>());
        if let Some(recent) = &mut self.recent {
            recent.merge(&parts.iter().filter_map(|part| part.recent.as_ref()).collect::<Vec<_>>());
        }
        self.aggregator.merge(&parts.iter().map(|part| &part.aggregator).collect::<Vec<_>>())
    }
}

impl Aggregator {
    /// Renumber the classes, see [`Learner::relabel`].
    fn relabel(&mut self, places: &[usize]) {
        let known = &mut self.calibration;
        if self.classes > 1 {
            for rows in [&mut known.offsets, &mut known.offset_variances] {
                *rows = relabelled_rows(rows, places);
            }
        } else if places == [1, 0] && !self.regression {
            // All scores change sign, and so does everything that follows from them; only offsets must be negated.
            self.completeness.turn();
            self.succession.turn();
            known.parameters.chunks_exact_mut(OF_CLASSES).for_each(|each| each[OFFSET] = -each[OFFSET]);
            for covariance in known.covariances.chunks_exact_mut(OF_CLASSES * OF_CLASSES) {
                for other in 0..OFFSET {
                    for place in [other * OF_CLASSES + OFFSET, OFFSET * OF_CLASSES + other] {
                        covariance[place] = -covariance[place];
                    }
                }
            }
        }
    }

    /// Switch to another scale of the targets, see [`Translation::target`].
    ///
    /// The new mean square is that of targets whose mean is 0 on the old scale, as it is for standardised ones.
    fn translate(&mut self, (shift, stretch): (f64, f64)) {
        let square = self.calibration.squares[0];
        let unit = ((square + shift * shift) / (stretch * stretch)).max(SMALLEST);
        self.calibration.squares.fill(unit);
        // A prediction p in units of the old root mean square is rate p - away in units of the new one.
        let (rate, away) = (square.sqrt() / (stretch * unit.sqrt()), shift / (stretch * unit.sqrt()));
        self.completeness.translate(rate, away);
        self.scales.translate(rate);
        self.ties.translate(rate);
        let parameters = self.calibration.parameters.as_chunks_mut::<OF_NUMBERS>().0;
        let covariances = self.calibration.covariances.as_chunks_mut::<{ OF_NUMBERS * OF_NUMBERS }>().0;
        for ([slope, offset], covariance) in parameters.iter_mut().zip(covariances) {
            *offset = rate * *offset + away * (*slope - 1.0);
            *covariance = translated(covariance, rate, away);
        }
    }

    /// Merge what the parts have learned since each of them was identical to this aggregator.
    pub(super) fn merge(&mut self, parts: &[&Self]) -> Result<(), Refused> {
        let alike = |part: &&Self| {
            (part.experts, part.classes) == (self.experts, self.classes)
                && (part.regression, part.absolute) == (self.regression, self.absolute)
                && part.forgetting == self.forgetting
                && part.resting.are_of(&self.resting)
        };
        ensure_alike(parts.iter().all(alike))?;
        let learned = parts.iter().map(|part| (*part, part.steps.saturating_sub(self.steps)));
        let learned: Vec<_> = learned.filter(|(_, events)| *events > 0).collect();
        match learned[..] {
            [] => {}
            [(part, _)] => *self = part.clone(),
            _ => {
                self.steps += learned.iter().map(|(_, events)| events).sum::<u64>();
                self.average(&Shared::of(learned));
            }
        }
        Ok(())
    }

    fn average(&mut self, parts: &Shared<Self>) {
        let (size, known) = (self.size(), &mut self.calibration);
        for e in 0..self.experts {
            let (own, square) = (e * size..(e + 1) * size, e * size * size..(e + 1) * size * size);
            let (parameters, covariance) = parts.estimate(|part| {
                (&part.calibration.parameters[own.clone()], &part.calibration.covariances[square.clone()])
            });
            known.parameters[own.clone()].copy_from_slice(&parameters);
            known.covariances[square.clone()].copy_from_slice(&covariance);
        }
        for c in 0..known.offsets.len() {
            let (offset, variance) = parts.estimate(|part| {
                let Calibration { offsets, offset_variances, .. } = &part.calibration;
                (&offsets[c..=c], &offset_variances[c..=c])
            });
            (known.offsets[c], known.offset_variances[c]) = (offset[0], variance[0]);
        }
        (self.blend.mix, self.blend.covariance) =
            parts.estimate(|part| (&part.blend.mix, &part.blend.covariance));
        let completeness = &mut self.completeness;
        let (parameters, covariance) =
            parts.estimate(|part| (&part.completeness.parameters, &part.completeness.covariance));
        completeness.parameters.copy_from_slice(&parameters);
        completeness.covariance.copy_from_slice(&covariance);
        completeness.moments.copy_from_slice(&parts.mean(|part| &part.completeness.moments));
        completeness.bound();
        // The mean of equal numbers may be less than each of them by its last bit.
        known.squares = at_least(SMALLEST, parts.mean(|part| &part.calibration.squares));
        self.shares.means = parts.mean(|part| &part.shares.means);
        self.shares.weights = self.merged_weights(parts);
        self.shares.absent.retain(|&expert| self.shares.weights[expert] == 0.0);
        self.scales.weights = parts.weights(|part| &part.scales.weights);
        self.ties = Ties::merged(parts.0.iter().map(|(part, share)| (part.ties, *share)));
        parts.0.iter().for_each(|(part, _)| self.range.join(&part.range));
        self.succession.merge(parts.0.iter().map(|(part, _)| part.succession));
        self.mean_weight = MeanWeight::merged(parts.0.iter().map(|(part, share)| (part.mean_weight, *share)));
        let resting: Vec<_> = parts.0.iter().map(|(part, share)| (&part.resting, *share)).collect();
        self.resting = Resting::merged(&resting);
    }
}

impl Aggregator {
    /// The merged weights of the members. A part in which a latecomer of another part has made no prediction yet counts
    /// as if it admitted it now.
    fn merged_weights(&self, parts: &Shared<Self>) -> Vec<f64> {
        let is_member = |expert: &usize| parts.0.iter().any(|(part, _)| part.shares.has(*expert));
        let (members, absent): (Vec<usize>, Vec<usize>) =
            self.latecomers.iter().copied().partition(|expert| is_member(expert));
        let admitting = |part: &Self| {
            let mut shares = part.shares.clone();
            members.iter().filter(|&&each| !part.shares.has(each)).for_each(|&each| shares.admit(each));
            shares
        };
        let all: Vec<_> = parts.0.iter().map(|(part, share)| (admitting(part), *share)).collect();
        let all = Shared(all.iter().map(|(shares, share)| (shares, *share)).collect());
        let mut weights = all.weights(|shares| &shares.weights);
        absent.iter().for_each(|&expert| weights[expert] = 0.0);
        weights
    }
}

fn at_least(least: f64, mut numbers: Vec<f64>) -> Vec<f64> {
    numbers.iter_mut().for_each(|each| *each = each.max(least));
    numbers
}

/// The covariance when slope and offset become `[slope, rate offset + away (slope - 1)]`; no variance exceeds its
/// initial value.
fn translated([aa, ab, _, bb]: &[f64; 4], rate: f64, away: f64) -> [f64; 4] {
    let slope = *aa;
    let both = away * aa + rate * ab;
    let offset = away * (away * aa + 2.0 * rate * ab) + rate * rate * bb;
    let narrowed = |variance: f64| (NUMBER_PRIOR_VARIANCE / variance.max(NUMBER_PRIOR_VARIANCE)).sqrt();
    let (a, b) = (narrowed(slope), narrowed(offset));
    [a * a * slope, a * b * both, a * b * both, b * b * offset]
}

impl Late {
    /// Renumber the classes, and drop the events that await their labels.
    fn relabel(&mut self, places: &[usize]) {
        if places.is_sorted() {
            return;
        }
        self.clear();
        let sums = &mut self.dependence.sums;
        match &mut sums[..] {
            [both] => *both = -*both,
            each => *sums = relabelled(each, 1, places),
        }
    }

    /// Average the statistics of late labels, weighted by their numbers, and drop the events that await their labels.
    fn merge(&mut self, parts: &[&Self]) {
        self.clear();
        let before = self.dependence.labels;
        let came = |part: &Self| part.dependence.labels.saturating_sub(before);
        let total: u64 = parts.iter().map(|part| came(part)).sum();
        if total == 0 {
            return;
        }
        let each = || parts.iter().map(|part| (&part.dependence, came(part) as f64 / total as f64));
        let dependence = &mut self.dependence;
        dependence.labels += total;
        dependence.products = each().map(|(own, share)| share * own.products).sum();
        dependence.squares = each().map(|(own, share)| share * own.squares).sum();
        dependence.sums = mean(each().map(|(own, share)| (&own.sums[..], share)));
    }
}
