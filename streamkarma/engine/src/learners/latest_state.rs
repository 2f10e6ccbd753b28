//! The latest events as arrays, and back.

use super::codes::CODES;
use super::latest::{Kept, Latest, WIDEST};
use crate::state::{Refused, State, ensure};

const WHY: &str = "the latest events contradict each other, or do not fit this model";

/// What the labels and the weights of events may be.
pub struct Bounds {
    /// Classes; 0 in a regression.
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

impl Latest {
    /// How many arrays there are.
    pub const ARRAYS: usize = 3;

    /// Put out all but in which leaves events are.
    pub fn put(&self, state: &mut State) {
        let events = || self.events.iter();
        let sizes = events().flat_map(|event| [event.step as i64, self.items(event).count() as i64]);
        state.put_i64s("latest", sizes.collect(), &[events().len(), 2]);
        let lessons = events().flat_map(|event| [event.label, event.weight]);
        state.put_f64s("latest_lessons", lessons.collect(), &[events().len(), 2]);
        let items = events().flat_map(|event| self.items(event));
        let items: Vec<i32> = items.flat_map(|(k, code)| [k as i32, i32::from(code)]).collect();
        let size = items.len() / 2;
        state.put_i32s("latest_codes", items, &[size, 2]);
    }

    /// Take over those of a state; `owners` has the attribute of each coordinate, below 0 for none.
    ///
    /// # Errors
    ///
    /// If the arrays contradict each other.
    pub fn take(&mut self, state: &State, owners: &[i32], bounds: &Bounds) -> Result<(), Refused> {
        let (sizes, lessons) = (state.i64s("latest")?.0, state.f64s("latest_lessons")?.0);
        let (sizes, lessons) = (sizes.as_chunks::<2>(), lessons.as_chunks::<2>());
        let (mut items, rest) = state.i32s("latest_codes")?.0.as_chunks::<2>();
        ensure(sizes.1.is_empty() && lessons.1.is_empty() && rest.is_empty(), WHY)?;
        ensure(sizes.0.len() == lessons.0.len() && sizes.0.len() <= self.most, WHY)?;
        let is_item = |item: &[i32; 2]| {
            let owner = usize::try_from(item[0]).ok().and_then(|k| owners.get(k)).copied().unwrap_or(-1);
            owner >= 0 && (0..i32::from(CODES)).contains(&item[1])
        };
        self.events.clear();
        let mut last = 1;
        for (&[step, size], &[label, weight]) in sizes.0.iter().zip(lessons.0) {
            ensure((last..=bounds.steps as i64).contains(&step), WHY)?;
            ensure(bounds.is_label(label) && bounds.is_weight(weight), WHY)?;
            ensure((0..=WIDEST as i64).contains(&size), WHY)?;
            let (own, others) = items.split_at_checked(size as usize).ok_or(WHY)?;
            ensure(own.iter().all(is_item), WHY)?;
            let (coordinates, codes) = own.iter().map(|&[k, code]| (k as u32, code as u16)).unzip();
            let step = step as u64;
            self.events.push_back(Kept { coordinates, codes, label, weight, step, ..Kept::default() });
            (last, items) = (step as i64, others);
        }
        ensure(items.is_empty(), WHY)
    }
}
