//! Saving and restoring the latest events.

use super::codes::CODES;
use super::latest::{Latest, LearnedEvent, WIDEST};
use super::row::Cell;
use crate::scale::LARGEST;
use crate::state::{Refused, State, ensure};

const WHY: &str = "the latest events contradict each other, or do not fit this model";

/// Bounds of the labels and the weights of events.
pub struct Bounds {
    /// Number of classes; 0 in a regression.
    pub classes: usize,
    /// The largest target.
    pub target: f64,
    /// The largest weight.
    pub weight: f64,
    /// The step of the last event.
    pub steps: u64,
}

impl Bounds {
    fn is_label(&self, label: f64) -> bool {
        if self.classes == 0 {
            return label.abs() <= self.target;
        }
        (0.0..self.classes as f64).contains(&label) && label.fract() == 0.0
    }

    fn is_weight(&self, weight: f64) -> bool {
        weight > 0.0 && weight <= self.weight
    }
}

/// Cells that can be stored in a state as an array.
pub trait Stored: Cell {
    /// Write them into a state.
    fn put(cells: Vec<Self>, state: &mut State);

    /// Read them from a state.
    ///
    /// # Errors
    ///
    /// If the array is missing, or contains an invalid cell.
    fn take(state: &State) -> Result<Vec<Self>, Refused>;
}

impl Stored for u16 {
    fn put(cells: Vec<Self>, state: &mut State) {
        let size = cells.len();
        state.put_i32s("latest_codes", cells.into_iter().map(i32::from).collect(), &[size]);
    }

    fn take(state: &State) -> Result<Vec<Self>, Refused> {
        let codes = state.i32s("latest_codes")?.0;
        ensure(codes.iter().all(|code| (0..i32::from(CODES)).contains(code)), WHY)?;
        Ok(codes.iter().map(|&code| code as Self).collect())
    }
}

impl Stored for f64 {
    fn put(cells: Vec<Self>, state: &mut State) {
        let size = cells.len();
        state.put_f64s("latest_values", cells, &[size]);
    }

    fn take(state: &State) -> Result<Vec<Self>, Refused> {
        let values = state.f64s("latest_values")?.0;
        ensure(values.iter().all(|value| value.abs() <= LARGEST), WHY)?;
        Ok(values.to_vec())
    }
}

impl<C: Stored> Latest<C> {
    /// Number of arrays.
    pub const ARRAYS: usize = 4;

    /// Write everything but the leaves of events.
    pub fn put(&self, state: &mut State) {
        let events = || self.events.iter();
        let sizes = events()
            .flat_map(|event| [event.step as i64, self.items(event).count() as i64, i64::from(event.width)]);
        state.put_i64s("latest", sizes.collect(), &[events().len(), 3]);
        let lessons = events().flat_map(|event| [event.label, event.weight]);
        state.put_f64s("latest_lessons", lessons.collect(), &[events().len(), 2]);
        let items = events().flat_map(|event| self.items(event));
        let (coordinates, cells): (Vec<i32>, Vec<C>) = items.map(|(k, cell)| (k as i32, cell)).unzip();
        let size = coordinates.len();
        state.put_i32s("latest_items", coordinates, &[size]);
        C::put(cells, state);
    }

    /// Restore the events of a state; `owners` has the attribute of each coordinate, below 0 for none.
    ///
    /// # Errors
    ///
    /// If the arrays contradict each other.
    pub fn take(&mut self, state: &State, owners: &[i32], bounds: &Bounds) -> Result<(), Refused> {
        let (sizes, lessons) = (state.i64s("latest")?.0, state.f64s("latest_lessons")?.0);
        let (sizes, lessons) = (sizes.as_chunks::<3>(), lessons.as_chunks::<2>());
        let (mut items, cells) = (state.i32s("latest_items")?.0, C::take(state)?);
        ensure(sizes.1.is_empty() && lessons.1.is_empty() && items.len() == cells.len(), WHY)?;
        let mut cells = &cells[..];
        ensure(sizes.0.len() == lessons.0.len(), WHY)?;
        ensure(sizes.0.iter().all(|[_, _, width]| (0..=WIDEST as i64).contains(width)), WHY)?;
        self.values = sizes.0.iter().map(|[_, _, width]| *width as usize).sum();
        ensure(self.can_keep(sizes.0.len(), self.values), WHY)?;
        let is_owned = |&coordinate: &i32| {
            let owner = usize::try_from(coordinate).ok().and_then(|k| owners.get(k));
            owner.is_some_and(|&owner| owner >= 0)
        };
        self.events.clear();
        let mut last = 1;
        for (&[step, size, width], &[label, weight]) in sizes.0.iter().zip(lessons.0) {
            ensure((last..=bounds.steps as i64).contains(&step), WHY)?;
            ensure(bounds.is_label(label) && bounds.is_weight(weight), WHY)?;
            ensure((0..=width).contains(&size), WHY)?;
            let (own, others) = items.split_at_checked(size as usize).ok_or(WHY)?;
            let (own_cells, other_cells) = cells.split_at(own.len());
            ensure(own.iter().all(is_owned), WHY)?;
            self.events.push_back(LearnedEvent {
                coordinates: own.iter().map(|&k| k as u32).collect(),
                cells: own_cells.to_vec(),
                label,
                weight,
                step: step as u64,
                width: width as u32,
            });
            (last, items, cells) = (step, others, other_cells);
        }
        ensure(items.is_empty(), WHY)
    }
}
