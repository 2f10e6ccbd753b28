//! The task that trees are fitted to, and the loss that they minimise.

use super::Kind;
use super::columns::columns_of;
use super::ensemble::Ensemble;
use super::randomising::{randomise, table_of};
use crate::learner::Unit;
use crate::learners::refits::Refits;
use crate::loss::Loss;
use crate::math::{log, logistic, within};
use crate::scale::CLIP;

/// Minimum curvature of an event.
const FLATTEST: f64 = 1e-6;
/// Targets are clipped at this, so that squares stay finite.
const LARGEST_TARGET: f64 = 1e12;
/// Minimum deviation of targets.
const NARROWEST: f64 = 1e-9;

/// The task of a fit.
#[derive(Clone, Copy, Debug)]
pub struct Task {
    /// How trees are fitted.
    pub kind: Kind,
    /// Whether labels are targets.
    pub regression: bool,
    /// Number of scores of an event.
    pub width: usize,
    /// The step of the latest event.
    pub step: u64,
    /// The unit of scores, in a regression.
    pub unit: Unit,
}

impl Task {
    /// Fit trees to the events kept.
    pub fn fit(&self, refits: &mut Refits) -> Ensemble {
        let labels = refits.latest.events.iter().map(|event| event.label);
        let lessons: Vec<[f64; 2]> =
            labels.zip(refits.weights()).map(|(label, weight)| [self.target(label), weight]).collect();
        let Refits { latest, row, .. } = refits;
        let mut ensemble = self.base(&lessons);
        match self.kind {
            Kind::Boosted => self.boost(&mut ensemble, &lessons, &columns_of(latest, row)),
            Kind::Randomised => randomise(&mut ensemble, &lessons, &table_of(latest, row), self.step),
        }
        ensemble
    }

    /// The value that trees are to predict for a label.
    pub fn target(&self, label: f64) -> f64 {
        if !self.regression {
            return label;
        }
        // An outlying target affects one leaf where trees are split at random, but all trees where they add up.
        let is_cut = self.kind == Kind::Boosted && self.unit != Unit::NONE;
        within(self.unit.standard(label), if is_cut { CLIP } else { LARGEST_TARGET })
    }

    /// An ensemble without trees that predicts the best constant for all events.
    fn base(&self, lessons: &[[f64; 2]]) -> Ensemble {
        let total: f64 = lessons.iter().map(|[_, weight]| weight).sum();
        if self.regression {
            let mean = lessons.iter().map(|[label, weight]| label * weight).sum::<f64>() / total;
            let squares: f64 =
                lessons.iter().map(|[label, weight]| weight * (label - mean) * (label - mean)).sum();
            return Ensemble::based_on(
                self.kind,
                vec![mean],
                Some(self.unit),
                (squares / total).sqrt().max(NARROWEST),
            );
        }
        let classes = self.width.max(2);
        let mut counts = vec![1.0 / classes as f64; classes];
        lessons.iter().for_each(|[label, weight]| counts[*label as usize] += weight);
        let base = match counts[..] {
            [no, yes] if self.width == 1 => vec![log(yes / no)],
            _ => counts.iter().map(|count| log(count / (total + 1.0))).collect(),
        };
        Ensemble::based_on(self.kind, base, None, 1.0)
    }

    /// The slope of an event's loss in each score, and the curvature, both times the event's weight.
    pub fn derivatives(
        &self,
        scores: &[f64],
        label: f64,
        weight: f64,
        slopes: &mut [f64],
        curvatures: &mut [f64],
    ) {
        if self.regression {
            slopes[0] = weight * (scores[0] - label);
            curvatures[0] = weight;
            return;
        }
        if self.width == 1 {
            let chance = logistic(scores[0]);
            slopes[0] = weight * (chance - label);
            curvatures[0] = weight * (chance * (1.0 - chance)).max(FLATTEST);
            return;
        }
        Loss::Logistic.of_classes(scores, label as usize, slopes);
        for (class, (slope, curvature)) in slopes.iter_mut().zip(curvatures).enumerate() {
            // The slope in the score of the true class is its probability minus 1.
            let chance = if class == label as usize { *slope + 1.0 } else { *slope };
            *curvature = weight * (chance * (1.0 - chance)).max(FLATTEST);
            *slope *= weight;
        }
    }
}
