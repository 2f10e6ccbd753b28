//! What a Gaussian process sees of an event: standardised numbers, and indicators of what is missing.

use super::kernel::{Kernel, SHARED};
use crate::block::Gone;
use crate::learners::row::{NOBODY, Row};
use crate::learners::table::Table;
use crate::scale::CLIP;

/// A coordinate that fewer events have is no input, nor is that it is missing in fewer.
pub const RAREST: usize = 2;
/// Most inputs: of more, those that go together with the target most.
pub const MOST: usize = 64;

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Input {
    /// The coordinate, or [`NOBODY`] if it was given up.
    pub coordinate: u32,
    /// Whether it is that the coordinate is missing, and not its value.
    pub is_absence: bool,
    /// What is 0, and by what the rest is multiplied.
    pub mean: f64,
    pub factor: f64,
}

impl Input {
    /// That of numbers, NaN for what is missing, if they vary.
    fn of(coordinate: u32, is_absence: bool, values: impl Iterator<Item = f64> + Clone) -> Option<Self> {
        let there = values.filter(|value| !value.is_nan());
        let count = there.clone().count() as f64;
        let mean = there.clone().sum::<f64>() / count;
        let variance = there.map(|value| (value - mean) * (value - mean)).sum::<f64>() / count;
        let factor = 1.0 / variance.sqrt();
        (variance > 0.0 && factor.is_finite()).then_some(Self { coordinate, is_absence, mean, factor })
    }

    /// What it is of a value; NaN is one that is missing.
    fn standard(&self, value: f64) -> f64 {
        let number = if self.is_absence { f64::from(u8::from(value.is_nan())) } else { value };
        if number.is_nan() { 0.0 } else { ((number - self.mean) * self.factor).clamp(-CLIP, CLIP) }
    }
}

/// All of them.
#[derive(Clone, Debug, Default)]
pub struct Inputs(pub Vec<Input>);

impl Inputs {
    /// Those of a table of events whose standardised targets are these.
    pub fn of(table: &Table, targets: &[f64]) -> Self {
        let mut all: Vec<(f64, Input)> = Vec::new();
        // Attributes that are missing together need one indicator; so do categories of one attribute.
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

    /// Write what they are of the event in hand.
    pub fn read(&self, row: &Row<f64>, z: &mut Vec<f64>) {
        z.clear();
        z.extend(self.0.iter().map(|input| {
            let is_there = input.coordinate != NOBODY;
            input.standard(if is_there { row.of(input.coordinate) } else { f64::NAN })
        }));
    }

    /// What they are of each event of a table, one event after another.
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

    /// The kernel to begin with: what was known of inputs before stays.
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

    /// Know nothing of coordinates that were given up.
    pub fn forget(&mut self, gone: &Gone) {
        for input in &mut self.0 {
            if gone.coordinates.binary_search(&input.coordinate).is_ok() {
                input.coordinate = NOBODY;
            }
        }
    }

    pub fn bytes(&self) -> usize {
        size_of_val(&self.0[..])
    }
}
