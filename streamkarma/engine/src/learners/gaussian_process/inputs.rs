//! The inputs of a Gaussian process: standardised numbers and missing-value indicators.

use super::kernel::{Kernel, SHARED};
use crate::block::Evicted;
use crate::learners::row::{NOBODY, Row};
use crate::learners::table::Table;
use crate::math::within;
use crate::scale::{CLIP, LARGEST};

/// Coordinates observed in fewer events than this are not inputs, nor are indicators of those missing in fewer.
pub const RAREST: usize = 2;
/// Maximum number of inputs; of more, those most correlated with the target are used.
pub const MOST: usize = 64;

/// An input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Input {
    /// Its coordinate, or [`NOBODY`] if that was evicted.
    pub coordinate: u32,
    /// Whether it is the indicator that the coordinate is missing, instead of its value.
    pub is_absence: bool,
    /// Subtracted from values; the difference is multiplied by `factor`.
    pub mean: f64,
    pub factor: f64,
}

impl Input {
    /// The input for these values, NaN where missing; None if they are constant.
    fn of(coordinate: u32, is_absence: bool, values: impl Iterator<Item = f64> + Clone) -> Option<Self> {
        let there = values.filter(|value| !value.is_nan());
        let count = there.clone().count() as f64;
        // Rounding may take the mean of the largest values beyond their bound.
        let mean = within(there.clone().sum::<f64>() / count, LARGEST);
        let variance = there.map(|value| (value - mean) * (value - mean)).sum::<f64>() / count;
        let factor = 1.0 / variance.sqrt();
        (variance > 0.0 && factor.is_finite()).then_some(Self { coordinate, is_absence, mean, factor })
    }

    /// Standardise a value, NaN if missing.
    fn standard(&self, value: f64) -> f64 {
        let number = if self.is_absence { f64::from(u8::from(value.is_nan())) } else { value };
        if number.is_nan() { 0.0 } else { ((number - self.mean) * self.factor).clamp(-CLIP, CLIP) }
    }
}

/// All inputs.
#[derive(Clone, Debug, Default)]
pub struct Inputs(pub Vec<Input>);

impl Inputs {
    /// Choose the inputs for a table of events with these standardised targets.
    pub fn of(table: &Table, targets: &[f64]) -> Self {
        let mut all: Vec<(f64, Input)> = Vec::new();
        // Attributes always missing together need only one indicator, and so do the categories of one attribute.
        let mut absences: Vec<&[f64]> = Vec::new();
        let is_same = |one: &[f64], other: &[f64]| {
            one.iter().zip(other).all(|(one, other)| one.is_nan() == other.is_nan())
        };
        for (column, &coordinate) in table.coordinates.iter().enumerate() {
            let values = table.column(column);
            let mut put = |input: Input| {
                let together: f64 =
                    values.iter().zip(targets).map(|(&value, target)| input.standard(value) * target).sum();
                all.push((together.abs(), input));
            };
            Input::of(coordinate, false, values.iter().copied()).into_iter().for_each(&mut put);
            let missing = values.iter().filter(|value| value.is_nan()).count();
            if missing >= RAREST && !absences.iter().any(|other| is_same(values, other)) {
                let indicator = values.iter().map(|value| f64::from(u8::from(value.is_nan())));
                Input::of(coordinate, true, indicator).into_iter().for_each(&mut put);
                absences.push(values);
            }
        }
        if all.len() > MOST {
            all.sort_by(|one, other| other.0.total_cmp(&one.0));
            all.truncate(MOST);
            all.sort_by_key(|(_, input)| (input.coordinate, input.is_absence));
        }
        Self(all.into_iter().map(|(_, input)| input).collect())
    }

    /// Write the inputs of the current event.
    pub fn read(&self, row: &Row<f64>, z: &mut Vec<f64>) {
        z.clear();
        z.extend(self.0.iter().map(|input| {
            let is_there = input.coordinate != NOBODY;
            input.standard(if is_there { row.of(input.coordinate) } else { f64::NAN })
        }));
    }

    /// The inputs of all events of a table, event by event.
    pub fn rows(&self, table: &Table) -> Vec<f64> {
        let columns: Vec<(&Input, &[f64])> = self
            .0
            .iter()
            .filter_map(|input| {
                Some((input, table.column(table.coordinates.binary_search(&input.coordinate).ok()?)))
            })
            .collect();
        (0..table.events())
            .flat_map(|event| columns.iter().map(move |(input, values)| input.standard(values[event])))
            .collect()
    }

    /// The initial kernel of a fit: parameters of the previous fit are kept for inputs that had been used there.
    pub fn kernel(&self, before: Option<(&Self, &Kernel)>) -> Kernel {
        let expected = (0..SHARED + self.0.len()).map(|at| Kernel::expected(self.0.len(), at).0);
        let mut logarithms: Vec<f64> = expected.collect();
        if let Some((inputs, kernel)) = before {
            logarithms[..SHARED].copy_from_slice(&kernel.logarithms()[..SHARED]);
            for (own, length) in self.0.iter().zip(&mut logarithms[SHARED..]) {
                let is_own =
                    |input: &Input| input.coordinate == own.coordinate && input.is_absence == own.is_absence;
                if let Some(at) = inputs.0.iter().position(is_own) {
                    *length = kernel.logarithms()[SHARED + at];
                }
            }
        }
        Kernel::new(logarithms)
    }

    /// Treat evicted coordinates as missing.
    pub fn forget(&mut self, evicted: &Evicted) {
        for input in &mut self.0 {
            if evicted.coordinates.binary_search(&input.coordinate).is_ok() {
                input.coordinate = NOBODY;
            }
        }
    }

    pub fn bytes(&self) -> usize {
        size_of_val(&self.0[..])
    }
}
