//! Helpers for merging learners: checks that the parts are of one kind, and averages of what they have learned.

#[cfg(test)]
pub mod checks;

use std::any::Any;

use crate::learner::Learner;
use crate::state::{Refused, ensure};
use crate::translation::Translation;

/// Downcast the parts to learners of one kind.
///
/// # Errors
///
/// If a part is of another kind.
pub fn of_kind<'a, T: Learner>(parts: &[&'a dyn Learner]) -> Result<Vec<&'a T>, Refused> {
    let own = |part: &&'a dyn Learner| (*part as &dyn Any).downcast_ref::<T>();
    let all: Option<Vec<&T>> = parts.iter().map(own).collect();
    all.ok_or_else(|| "models of different learners cannot be merged".to_owned())
}

/// Check that the parts learn with the same settings.
///
/// # Errors
///
/// If they do not.
pub fn ensure_alike(alike: bool) -> Result<(), Refused> {
    ensure(alike, "models that learn with different settings cannot be merged")
}

/// Check that nothing hashed has to move.
///
/// # Errors
///
/// If it has to.
pub fn ensure_movable(hashed: bool, translation: &Translation) -> Result<(), Refused> {
    let why = "a model whose table is hashed can only be merged with models that have the same names in the \
               same places; begin them from a common base that knows all of them";
    ensure(!hashed || !translation.moves_names(), why)
}

/// The parts that have learned anything since `base`, and from how many events each.
///
/// # Errors
///
/// If a part is another kind of learner, is not `alike` in its settings, or has other classes.
pub fn learned_since<'a, T: Learner>(
    base: &T,
    parts: &[&'a dyn Learner],
    alike: impl Fn(&T) -> bool,
) -> Result<Vec<(&'a T, u64)>, Refused> {
    let parts = of_kind::<T>(parts)?;
    ensure_alike(parts.iter().all(|part| alike(part)))?;
    let same_classes = parts.iter().all(|part| part.classes() == base.classes());
    ensure(same_classes, "models of different classes cannot be merged")?;
    let events = parts.into_iter().map(|part| (part, part.steps().saturating_sub(base.steps())));
    Ok(events.filter(|&(_, events)| events > 0).collect())
}

/// The count of the base plus what each part has counted since.
pub fn counted_together(base: u64, parts: impl Iterator<Item = u64>) -> u64 {
    /// Maximum count in a state.
    const MOST: u64 = (1 << 53) - 1;
    parts.fold(base, |total, part| total.saturating_add(part.saturating_sub(base))).min(MOST)
}

/// Reorder rows, `cells` per class, by the new positions of the classes after [`Learner::relabel`].
pub fn relabelled<T: Clone>(rows: &[T], cells: usize, places: &[usize]) -> Vec<T> {
    let mut moved = rows.to_vec();
    for (row, &place) in rows.chunks_exact(cells.max(1)).zip(places) {
        moved[place * cells..][..cells].clone_from_slice(row);
    }
    moved
}

/// Reorder the numbers in each row of a table with one column per class, see [`relabelled`].
pub fn relabelled_rows<T: Copy>(table: &[T], places: &[usize]) -> Vec<T> {
    let mut moved = table.to_vec();
    let width = places.len().max(1);
    for (row, to) in table.chunks_exact(width).zip(moved.chunks_exact_mut(width)) {
        row.iter().zip(places).for_each(|(&number, &place)| to[place] = number);
    }
    moved
}

/// A mean of changes, each weighted by something additive, such as the information gained.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mean {
    weight: f64,
    sum: f64,
}

impl Mean {
    /// Add a change.
    pub fn put(&mut self, weight: f64, change: f64) {
        self.weight += weight;
        self.sum += weight * change;
    }

    /// The mean; 0 if nothing has a weight.
    pub fn value(self) -> f64 {
        if self.weight > 0.0 { self.sum / self.weight } else { 0.0 }
    }
}
