//! Boosting: trees in sequence, each following the slopes that those before it leave.
//!
//! With several classes, every leaf has a value for each. Splits are found from the slopes in one direction, a random
//! sign for each class, as in [I], so a histogram is no larger than with two classes.
//!
//! Leaf values come from all events, splits from a sample. (With values from the sample alone, errors were 1 to 1.5 %
//! higher on developers' streams and tables.)
//!
//! [I] Iosipoi, Vakhrushev: SketchBoost: Fast Gradient Boosted Decision Tree for Multioutput Problems, NeurIPS 2022.

use super::columns::Column;
use super::ensemble::Ensemble;
use super::fitting::Task;
use super::growing::{Ground, Grown, Sums};
use crate::math::log;
use crate::random::Random;

/// Number of trees; with more than 16 classes there are fewer, so that the total number of scores is no larger.
const TREES: usize = 50;
const MOST_SCORES: usize = 16 * TREES;
/// Maximum number of columns that may split a tree; if there are more, this many are drawn for each tree, those more
/// often that tell more events apart: a word in one of a hundred events would otherwise be drawn as often as a number.
const TRIED: usize = 32;
/// Fraction of the events from which splits are found, out of 2^32.
const SAMPLED: u64 = 3_435_973_837; // 0.8

impl Task {
    /// Add trees that follow the labels and weights of events.
    pub(super) fn boost(&self, ensemble: &mut Ensemble, lessons: &[[f64; 2]], columns: &[Column]) {
        let mut scores = ensemble.base.repeat(lessons.len());
        let (mut slopes, mut curvatures) = (vec![0.0; scores.len()], vec![0.0; scores.len()]);
        let told_apart: Vec<usize> = columns.iter().map(Column::told_apart).collect();
        for tree in 0..TREES.min(MOST_SCORES / self.width) {
            let rows = slopes.chunks_exact_mut(self.width).zip(curvatures.chunks_exact_mut(self.width));
            let rows = rows.zip(scores.chunks_exact(self.width)).zip(lessons);
            for (((slopes, curvatures), scores), &[label, weight]) in rows {
                self.derivatives(scores, label, weight, slopes, curvatures);
            }
            let grown = self.grow(tree, columns, &told_apart, &slopes, &curvatures);
            if grown.nodes.len() == 1 {
                continue;
            }
            let sums = |numbers: &[f64]| {
                let mut sums = vec![0.0; grown.nodes.len() * self.width];
                for (row, leaf) in numbers.chunks_exact(self.width).zip(&grown.leaves) {
                    let own = &mut sums[*leaf as usize * self.width..][..self.width];
                    own.iter_mut().zip(row).for_each(|(sum, number)| *sum += number);
                }
                sums
            };
            let first = ensemble.values.len();
            ensemble.push(&grown.nodes, &sums(&slopes), &sums(&curvatures));
            for (scores, leaf) in scores.chunks_exact_mut(self.width).zip(&grown.leaves) {
                let values = &ensemble.values[first + *leaf as usize * self.width..];
                scores.iter_mut().zip(values).for_each(|(score, value)| *score += value);
            }
        }
    }

    /// Grow a tree from the slopes of a sample.
    fn grow(
        &self,
        tree: usize,
        columns: &[Column],
        told_apart: &[usize],
        slopes: &[f64],
        curvatures: &[f64],
    ) -> Grown {
        let mut random = Random::new(tree as u64, self.step);
        let signs: Vec<f64> =
            (0..self.width).map(|_| if random.below(2) == 0 { 1.0 } else { -1.0 }).collect();
        let rows = slopes.chunks_exact(self.width).zip(curvatures.chunks_exact(self.width));
        let each = rows.map(|(slopes, curvatures)| Sums {
            slope: slopes.iter().zip(&signs).map(|(slope, sign)| slope * sign).sum(),
            curvature: curvatures.iter().sum(),
        });
        let mut each: Vec<Sums> = each.collect();
        let tried = drawn(told_apart, &mut random);
        each.iter_mut().filter(|_| random.next() >> 32 >= SAMPLED).for_each(|sums| *sums = Sums::default());
        Ground { columns, tried, each: &each }.grow()
    }
}

/// Draw the places of [`TRIED`] columns with these weights, or of all if there are no more; ascending.
///
/// Those with the highest log(u) / weight, for u drawn evenly from (0, 1]: Efraimidis, Spirakis 2006.
fn drawn(weights: &[usize], random: &mut Random) -> Vec<usize> {
    let mut all: Vec<usize> = (0..weights.len()).collect();
    if all.len() > TRIED {
        let keys: Vec<f64> =
            weights.iter().map(|&weight| log(1.0 - random.between(0.0, 1.0)) / weight as f64).collect();
        all.sort_by(|&one, &other| keys[other].total_cmp(&keys[one]));
        all.truncate(TRIED);
        all.sort_unstable();
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_drawn_in_proportion_to_the_events_they_tell_apart() {
        let weights: Vec<usize> = (0..300).map(|place| if place < 6 { 1000 } else { 10 }).collect();
        let (mut common, mut rare) = (0, 0);
        for tree in 0..200 {
            let drawn = drawn(&weights, &mut Random::new(tree, 7));
            assert!(drawn.len() == TRIED && drawn.is_sorted_by(|one, other| one < other));
            common += drawn.iter().filter(|&&place| place < 6).count();
            rare += drawn.iter().filter(|&&place| place >= 6).count();
        }
        assert!(common > 1190 && rare == 200 * TRIED - common, "{common} {rare}");
        assert_eq!(drawn(&[1; TRIED], &mut Random::new(0, 0)), (0..TRIED).collect::<Vec<_>>());
    }
}
