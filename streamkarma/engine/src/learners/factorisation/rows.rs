//! The parameters of a factorisation machine, and AdaGrad's steps on them.
//!
//! A row has the factors of a coordinate and its weight, stored as differences from their initial values: a weight
//! begins at 0, a factor at ± [`START_FACTOR`], where the sign is a bit of the coordinate's hash, since factors that
//! are all 0 would never move. So a row of zeros has learned nothing, forgetting leads back to the initial values, and
//! coordinates that have to share a row add up what they learned.
//!
//! As in [`crate::learners::linear`], a global factor on 1 / moved and 1 / moments implements forgetting.

use super::Settings;
use crate::learners::explicit::mix;
use crate::learners::linear::{LARGEST, LARGEST_GROWTH};
use crate::math::pow;

/// Number of factors of a coordinate.
pub const RANK: usize = 8;
/// Number of parameters of a row: its factors and, last, its weight.
pub const SLOTS: usize = RANK + 1;
/// log2 of the number of parameters as which a row counts towards the maximum.
const SLOT_BITS: u32 = SLOTS.next_power_of_two().trailing_zeros();
/// The initial absolute value of a factor.
const START_FACTOR: f64 = 0.1;
/// Added to the sums of squared gradients in AdaGrad. With 1e-8, where the first step on a factor is eta whatever its
/// gradient, the log loss was up to 0.01 higher on streams of users and items generated for this choice.
const START_MOMENT: f64 = 0.1;

/// What was learned of a coordinate, for one class.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Row {
    /// The difference of each parameter from its initial value.
    pub moved: [f64; SLOTS],
    /// Sums of squared gradients.
    pub moments: [f64; SLOTS],
}

impl Row {
    /// Add up what was learned in two rows.
    pub fn add(&mut self, other: &Self) {
        self.moved.iter_mut().zip(other.moved).for_each(|(to, moved)| *to += moved);
        self.moments.iter_mut().zip(other.moments).for_each(|(to, moment)| *to += moment);
    }
}

/// The rows of all classes.
#[derive(Clone, Debug)]
pub struct Rows {
    pub(super) settings: Settings,
    /// The growth of the factor per step.
    pub(super) growth: f64,
    pub(super) factor: f64,
    pub(super) classes: usize,
    /// Number of rows per class: 0, or a power of two.
    pub(super) places: usize,
    /// Class by class, `places` each.
    pub(super) rows: Vec<Row>,
}

impl Rows {
    /// Of one class, with no rows yet.
    pub fn new(settings: Settings) -> Self {
        let half_life = settings.half_life;
        let growth = if half_life > 0.0 { pow(2.0, 1.0 / half_life) } else { 1.0 };
        Self { settings, growth, factor: 1.0, classes: 1, places: 0, rows: Vec::new() }
    }

    /// Number of rows of all classes.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Number of rows per class.
    pub fn places(&self) -> usize {
        self.places
    }

    /// Allocate rows for this many coordinates.
    pub fn make_room(&mut self, coordinates: usize) {
        let class_bits = usize::BITS - (self.classes - 1).leading_zeros();
        let most = 1 << self.settings.table_bits.saturating_sub(SLOT_BITS + class_bits);
        self.relocate(coordinates.next_power_of_two().min(most));
    }

    /// Extend to this many classes; new ones have learned nothing.
    ///
    /// Of two, the first gets -w/2, and the second w/2 and the factors, since no factors have the negated scalar
    /// products. So the difference of the two scores does not change, except for the initial factors.
    pub fn widen(&mut self, classes: usize) {
        let (places, had) = (self.places, self.classes);
        self.classes = classes.max(had);
        if had == 1 {
            let mut first = vec![Row::default(); places];
            for (first, second) in first.iter_mut().zip(&mut self.rows) {
                second.moved[RANK] /= 2.0;
                // Subtracted from 0, so that a zero gets no sign: no file preserves it.
                first.moved[RANK] = 0.0 - second.moved[RANK];
                first.moments[RANK] = second.moments[RANK];
            }
            self.rows.splice(..0, first);
        }
        if places > 0 {
            // First fewer places, then more classes, so that the table never exceeds its maximum size.
            self.make_room(places);
        }
        self.rows.resize(self.classes * self.places, Row::default());
    }

    /// Resize to this many places; rows that meet in one are added up.
    fn relocate(&mut self, places: usize) {
        if places == self.places {
            return;
        }
        let have = self.rows.len().checked_div(self.places).unwrap_or(self.classes);
        let mut rows = vec![Row::default(); have * places];
        if self.places > 0 {
            for (old, new) in self.rows.chunks_exact(self.places).zip(rows.chunks_exact_mut(places)) {
                for (place, old) in old.iter().enumerate() {
                    new[place & (places - 1)].add(old);
                }
            }
        }
        (self.rows, self.places) = (rows, places);
    }

    pub(super) fn row(&self, class: usize, coordinate: u32) -> usize {
        class * self.places + (coordinate as usize & (self.places - 1))
    }

    /// Whether anything was learned of a coordinate, or of one that shares its row.
    pub fn has_learned(&self, coordinate: u32) -> bool {
        (0..self.classes).any(|class| self.rows[self.row(class, coordinate)] != Row::default())
    }

    /// The score of a class, and the sums of v x for each of its factors.
    pub fn score(&self, class: usize, items: &[(u32, f64)]) -> (f64, [f64; RANK]) {
        let scale = 1.0 / self.factor;
        let (mut sums, mut squares, mut linear) = ([0.0; RANK], [0.0; RANK], 0.0);
        for &(coordinate, x) in items {
            let row = &self.rows[self.row(class, coordinate)];
            linear += scale * row.moved[RANK] * x;
            if coordinate > 0 {
                let factors = factors(row, coordinate, scale);
                for f in 0..RANK {
                    let part = factors[f] * x;
                    sums[f] += part;
                    squares[f] += part * part;
                }
            }
        }
        let pairs: f64 = (0..RANK).map(|f| sums[f] * sums[f] - squares[f]).sum();
        (linear + 0.5 * pairs, sums)
    }

    /// An item's own part of the score, with half of its product with each other item.
    pub fn part(&self, class: usize, items: &[(u32, f64)], item: usize) -> f64 {
        let (scale, (coordinate, x)) = (1.0 / self.factor, items[item]);
        let row = &self.rows[self.row(class, coordinate)];
        let linear = scale * row.moved[RANK] * x;
        if coordinate == 0 {
            return linear;
        }
        let (own, (_, sums)) = (factors(row, coordinate, scale), self.score(class, items));
        let pairs: f64 = (0..RANK).map(|f| own[f] * x * (sums[f] - own[f] * x)).sum();
        linear + 0.5 * pairs
    }

    /// A step of a class against a slope in its score, with the sums returned by [`Self::score`].
    pub fn descend(&mut self, class: usize, items: &[(u32, f64)], sums: &[f64; RANK], slope: f64) {
        let Settings { eta, shrink, .. } = self.settings;
        let (growth, scale) = (self.factor, 1.0 / self.factor);
        for &(coordinate, x) in items {
            let place = self.row(class, coordinate);
            let row = &mut self.rows[place];
            let mut along = [0.0; SLOTS];
            along[RANK] = 1.0;
            if coordinate > 0 {
                let factors = factors(row, coordinate, scale);
                for f in 0..RANK {
                    along[f] = sums[f] - factors[f] * x;
                }
            }
            for (s, along) in along.iter().enumerate() {
                let gradient = slope * x * along + shrink * scale * row.moved[s];
                let gradient = gradient.clamp(-LARGEST, LARGEST);
                row.moments[s] += growth * gradient * gradient;
                row.moved[s] -= growth * eta * gradient / (START_MOMENT + scale * row.moments[s]).sqrt();
            }
        }
    }

    /// Reset a coordinate, unless there are so many that rows are shared.
    pub fn clear(&mut self, coordinate: u32, coordinates: usize) {
        if coordinates <= self.places {
            self.rows
                .chunks_exact_mut(self.places)
                .for_each(|rows| rows[coordinate as usize] = Row::default());
        }
    }

    /// One step of forgetting.
    pub fn forget(&mut self) {
        self.factor *= self.growth;
        if self.factor > LARGEST_GROWTH {
            self.rescale();
        }
    }

    /// Multiply the global factor into the rows and set it to 1.
    pub(super) fn rescale(&mut self) {
        let scale = 1.0 / self.factor;
        for row in &mut self.rows {
            row.moved.iter_mut().chain(&mut row.moments).for_each(|each| *each *= scale);
        }
        self.factor = 1.0;
    }
}

/// The factors of a coordinate.
pub fn factors(row: &Row, coordinate: u32, scale: f64) -> [f64; RANK] {
    let mut factors = starts(coordinate);
    for (factor, moved) in factors.iter_mut().zip(row.moved) {
        *factor += scale * moved;
    }
    factors
}

/// The initial factors.
pub fn starts(coordinate: u32) -> [f64; RANK] {
    let signs = mix(i64::from(coordinate));
    std::array::from_fn(|f| if signs >> f & 1 == 0 { START_FACTOR } else { -START_FACTOR })
}
