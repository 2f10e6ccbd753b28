//! The three kinds of step.
//!
//! SGD is Algorithm 1 of [H]:
//!
//! ```text
//! w <- (1 - eta rho) w - eta l'(f, y) phi,    eta = 1 / (rho t).
//! ```
//!
//! AROW [C] keeps a variance sigma for each weight, initially 1. An event of weight k has noise r / k. With v = Σ sigma
//! phi² and, where y f < 1,
//!
//! ```text
//! beta = 1 / (v + r / k),  w <- w + beta (1 - y f) y sigma phi,  1 / sigma <- 1 / sigma + phi² k / r.
//! ```
//!
//! Two diagonal forms are in use. This one keeps the diagonal of the inverse covariance; the other keeps that of the
//! covariance itself, sigma <- sigma - beta sigma² phi², with which the variances of a hundred correlated features
//! hardly fall: it made more errors at every r, gamma and scale tried on two low-rank streams of 100,000 events (at r =
//! 1, gamma = 2: 0.1064 against 0.1061 with events of norm 1, 0.123 against 0.113 without).
//!
//! The paper does not cover regression. Here it applies the same gain to the error y - f, at every event: recursive
//! least squares with a diagonal covariance, as in [V]. With several classes the true class and the highest-scoring
//! wrong one are updated, and v is the sum over both.
//!
//! AdaGrad [D] divides the gradient by the root of the sum G of its squares, to which [`START`] is added.
//!
//! - [C] Crammer, Kulesza, Dredze: Adaptive Regularization of Weight Vectors, NIPS 2009.
//! - [V] Vaits, Crammer: Re-adapting the Regularization of Weights for Non-stationary Regression, ALT 2011.
//! - [D] Duchi, Hazan, Singer: Adaptive Subgradient Methods, JMLR 2011.

use pulp::NullaryFnOnce;

use super::{Cell, LARGEST, LARGEST_GROWTH, LinearModel, SMALLEST_SCALE, Update};
use crate::loss::Loss;
use crate::math::dot;

/// What AdaGrad adds to the sums of squared gradients: negligible beside any gradient that matters, so that the first
/// step on a weight is eta whatever the unit of its feature.
pub const START: f64 = 1e-8;

impl LinearModel {
    /// Take a step against the loss with these slopes; `width` is that of the model.
    #[inline(always)]
    pub(super) fn update(&mut self, width: usize, index: &[u32], phi: &[f64], loss: f64, weight: f64) {
        match self.step.update {
            Update::Sgd => self.descend(width, index, phi, weight),
            Update::Arow => self.regularise(width, index, phi, loss, weight),
            Update::Adagrad => self.adapt(width, index, phi, weight),
        }
    }

    #[inline(always)]
    fn descend(&mut self, width: usize, index: &[u32], phi: &[f64], weight: f64) {
        let step = self.step;
        let mut eta = step.eta;
        if eta == 0.0 {
            eta = 1.0 / (step.rho * (self.steps as f64).min(self.memory));
        }
        if step.steepness > 0.0 {
            let vectors = step.loss.vectors_moved(self.classes);
            let curvature = phi.iter().map(|x| x * x).sum::<f64>() * (step.steepness * weight * vectors);
            if curvature * eta > 1.0 {
                eta = 1.0 / curvature;
            }
        }
        self.factor *= if step.rho > 0.0 { 1.0 - eta * step.rho } else { 1.0 / self.growth };
        if self.factor < SMALLEST_SCALE {
            self.rescale();
        }
        for (class, slope) in self.slopes.iter().enumerate() {
            let change = -eta * weight * slope / self.factor;
            if change != 0.0 {
                for (&place, x) in index.iter().zip(phi) {
                    self.cells[place as usize * width + class].weight += change * x;
                }
            }
        }
    }

    #[inline(always)]
    fn regularise(&mut self, width: usize, index: &[u32], phi: &[f64], loss: f64, weight: f64) {
        let (error, noise) = (self.error(loss), self.noise(weight));
        let growth = self.factor;
        let gain = 1.0 / (self.variance(width, index, phi) + noise);
        let [parts, kept] = &mut self.scratch;
        for (class, slope) in self.slopes.iter().enumerate() {
            if *slope == 0.0 {
                continue;
            }
            let cells = Column { cells: &self.cells, width, class };
            if self.classes > 1 {
                cells.gather(growth, index, phi, parts);
            }
            shrink(noise, phi, parts, kept);
            let (change, limit) = (-slope * error * gain, 1.0 / growth);
            for ((&place, part), kept) in index.iter().zip(parts.iter()).zip(kept.iter()) {
                let cell = &mut self.cells[place as usize * width + class];
                cell.weight += change * part;
                // `min` checks for NaN, which takes five times as long.
                let moment = if cell.moment < limit { cell.moment } else { limit };
                cell.moment = moment * kept;
            }
        }
        self.grow();
    }

    /// Take a fraction of an AROW step on the weights, leaving the variances unchanged.
    pub(super) fn correct(&mut self, index: &[u32], phi: &[f64], loss: f64, weight: f64, part: f64) {
        let error = self.error(loss);
        let gain = part / (self.variance(self.width, index, phi) + self.noise(weight));
        let (width, [parts, _]) = (self.width, &mut self.scratch);
        for (class, slope) in self.slopes.iter().enumerate() {
            if *slope == 0.0 {
                continue;
            }
            Column { cells: &self.cells, width, class }.gather(self.factor, index, phi, parts);
            let change = -slope * error * gain;
            for (&place, part) in index.iter().zip(parts.iter()) {
                self.cells[place as usize * width + class].weight += change * part;
            }
        }
    }

    /// What a slope is multiplied by to get the error: a half for the squared loss; for the hinge its loss, the missing
    /// margin.
    fn error(&self, loss: f64) -> f64 {
        if self.step.loss == Loss::Squared { 0.5 } else { loss }
    }

    /// AROW's noise for an event of this weight.
    fn noise(&self, weight: f64) -> f64 {
        (self.step.r / weight).clamp(1.0 / LARGEST, LARGEST)
    }

    /// AROW's v; leaves sigma phi of the last class with a nonzero slope in the first scratch buffer.
    #[inline(always)]
    fn variance(&mut self, width: usize, index: &[u32], phi: &[f64]) -> f64 {
        let (growth, [parts, _]) = (self.factor, &mut self.scratch);
        let mut variance = 0.0;
        for (class, slope) in self.slopes.iter().enumerate() {
            if *slope != 0.0 {
                let cells = Column { cells: &self.cells, width, class };
                cells.gather(growth, index, phi, parts);
                variance += dot(parts, phi);
            }
        }
        variance
    }

    #[inline(always)]
    fn adapt(&mut self, width: usize, index: &[u32], phi: &[f64], weight: f64) {
        let [added, moved] = &mut self.scratch;
        for (class, slope) in self.slopes.iter().enumerate() {
            let slope = (weight * slope).clamp(-LARGEST, LARGEST);
            if slope == 0.0 {
                continue;
            }
            moved.clear();
            moved.extend(index.iter().map(|&place| self.cells[place as usize * width + class].moment));
            added.resize(phi.len(), 0.0);
            let (growth, eta) = (self.factor, self.step.eta);
            self.arch.dispatch(DivideByRoot { growth, eta, slope, phi, added, moved });
            for ((&place, added), moved) in index.iter().zip(added.iter()).zip(moved.iter()) {
                let cell = &mut self.cells[place as usize * width + class];
                cell.moment += added;
                cell.weight -= moved;
            }
        }
        self.grow();
    }

    /// Forget by one step.
    fn grow(&mut self) {
        self.factor *= self.growth;
        if self.factor > LARGEST_GROWTH {
            self.rescale();
        }
    }

    /// Multiply the global factor into the arrays and set it to 1.
    pub(super) fn rescale(&mut self) {
        let (update, factor) = (self.step.update, self.factor);
        self.cells.iter_mut().for_each(|cell| *cell = settled(update, *cell, factor));
        self.factor = 1.0;
    }
}

/// A weight and its second moment, with the global factor multiplied in.
pub(super) fn settled(update: Update, cell: Cell, factor: f64) -> Cell {
    let Cell { weight, moment } = cell;
    match update {
        Update::Sgd => Cell { weight: factor * weight, moment: 0.0 },
        Update::Arow => Cell { weight, moment: (factor * moment).min(1.0) },
        Update::Adagrad => Cell { weight: (1.0 / factor) * weight, moment: moment / factor },
    }
}

/// Write the dot product of each class's weights and phi.
pub(super) fn products(cells: &[Cell], width: usize, index: &[u32], phi: &[f64], products: &mut [f64]) {
    if let [product] = products {
        [*product] = of_adjacent(cells, 1, 0, index, phi);
        return;
    }
    let classes = products.len();
    let (quads, rest) = products.as_chunks_mut::<4>();
    let left = classes - rest.len();
    for (first, quad) in (0..).step_by(4).zip(quads) {
        *quad = of_adjacent(cells, width, first, index, phi);
    }
    for (class, product) in (left..).zip(rest) {
        [*product] = of_adjacent(cells, width, class, index, phi);
    }
}

/// The dot products of `N` classes from the `first` on; for each, four independent sums, so that no addition waits for
/// the previous one.
#[inline(always)] // With one class, no index is multiplied.
fn of_adjacent<const N: usize>(
    cells: &[Cell],
    width: usize,
    first: usize,
    index: &[u32],
    phi: &[f64],
) -> [f64; N] {
    let mut sums = [[0.0; N]; 4];
    let mut add = |sum: usize, place: u32, value: f64| {
        let cells = &cells[place as usize * width + first..][..N];
        sums[sum].iter_mut().zip(cells).for_each(|(sum, cell)| *sum += cell.weight * value);
    };
    let (places, other_places) = index.as_chunks::<4>();
    let (values, other_values) = phi.as_chunks::<4>();
    for (places, values) in places.iter().zip(values) {
        (0..4).for_each(|i| add(i, places[i], values[i]));
    }
    for (&place, &value) in other_places.iter().zip(other_values) {
        add(0, place, value);
    }
    std::array::from_fn(|n| (sums[0][n] + sums[1][n]) + (sums[2][n] + sums[3][n]))
}

/// The cells of one class.
struct Column<'a> {
    cells: &'a [Cell],
    width: usize,
    class: usize,
}

impl Column<'_> {
    /// Write sigma phi.
    #[inline(always)]
    fn gather(&self, growth: f64, index: &[u32], phi: &[f64], parts: &mut Vec<f64>) {
        let moment = |place: u32| self.cells[place as usize * self.width + self.class].moment;
        parts.clear();
        parts.extend(index.iter().zip(phi).map(|(&place, x)| (growth * moment(place)).min(1.0) * x));
    }
}

/// Write the fraction of each sigma that is kept. Separate from the table, so that the divisions can be vectorised.
fn shrink(noise: f64, phi: &[f64], parts: &[f64], kept: &mut Vec<f64>) {
    kept.clear();
    kept.extend(parts.iter().zip(phi).map(|(part, x)| noise / (noise + part * x)));
}

/// Replaces G in `moved` by the steps, and writes what is added to G. Separate from the table, as in [`shrink`].
struct DivideByRoot<'a> {
    growth: f64,
    eta: f64,
    slope: f64,
    phi: &'a [f64],
    added: &'a mut [f64],
    moved: &'a mut [f64],
}

impl NullaryFnOnce for DivideByRoot<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let inverse = 1.0 / self.growth;
        for ((moved, added), x) in self.moved.iter_mut().zip(self.added).zip(self.phi) {
            let gradient = (self.slope * x).clamp(-LARGEST, LARGEST);
            *added = self.growth * gradient * gradient;
            *moved = self.growth * self.eta * gradient / (START + inverse * (*moved + *added)).sqrt();
        }
    }
}
