//! How much of a mixture's prediction for two classes is due to each attribute, and how much of it an event leaves
//! open.
//!
//! If an attribute that hardly matters is missing, little is lost. The prediction of a linear model of independent
//! attributes varies by the sum of what each contributes; if some are missing, the truth differs from the prediction by
//! a deviation of
//!
//! `sqrt(Σ_a missing v_a / Σ_a v_a)`, with v_a the mean square of what attribute a contributes,
//!
//! in units of the total deviation. The papers have nothing of the kind; it is measured as simply as possible. With L
//! the mixture's log-odds less their mean, the contribution is `Σ_j E[z_j L] z_j` over the values z_j of the attribute:
//! values are standardised, and a category contributes the mean of L where it is present. Correlated attributes are
//! each measured as if they stood alone; the number of values, which [`super::completeness`] uses beside this, makes up
//! for it.
//!
//! On 23 development streams with 30 % of the values withheld, this reduced log loss by 0.8 % in the mean, for low rank
//! by 9 %, and where one label in 200 is positive by 2.6 %, with 0.008 more AUC. With the weights of a linear expert in
//! place of covariances it was the same; without the number of values it was a tenth higher on low rank. Regressions
//! gain nothing.

use super::calibration::sanitise;
use crate::block::{Event, Evicted, below, room_for};
use crate::merging::counted_together;
use crate::state::{LARGEST, MOST_COUNTED, Refused, State, count_of, ensure};
use crate::translation::Translation;

/// Window of the means, in events.
const WINDOW: u64 = 1000;
/// Open fractions below this are due to rounding.
const NOTHING: f64 = 1e-9;
/// Why a state is rejected.
const CONTRADICTION: &str = "the statistics of attributes are inconsistent";

/// A running mean, and its number of events.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Mean {
    value: f64,
    events: u64,
}

impl Mean {
    fn add(&mut self, value: f64) {
        self.events += 1;
        self.value += (value - self.value) / self.events.min(WINDOW) as f64;
    }
}

/// What was learned about attributes; see the module's documentation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Relevance {
    /// Mean of the prediction.
    prediction: Mean,
    /// By coordinate: mean of the value times the centred prediction.
    products: Vec<Mean>,
    /// By attribute: mean square of its contribution.
    squares: Vec<Mean>,
    /// The sum of `squares`.
    total: f64,
}

impl Relevance {
    /// The deviation that an event leaves open, from 0 up to 1 if nothing relevant is observed.
    pub fn open(&self, event: &Event) -> f64 {
        if self.total <= 0.0 {
            return 0.0;
        }
        let (mut observed, mut last) = (0.0, u32::MAX);
        for &attribute in event.attributes {
            if attribute != last {
                observed += self.squares.get(attribute as usize).map_or(0.0, |square| square.value);
                last = attribute;
            }
        }
        let open = 1.0 - observed / self.total;
        if open > NOTHING { open.sqrt() } else { 0.0 }
    }

    /// Learn from the prediction for an event.
    pub fn learn(&mut self, event: &Event, prediction: f64) {
        self.make_room(room_for(event.attributes), room_for(event.coordinates));
        self.prediction.add(prediction);
        let away = prediction - self.prediction.value;
        let items = event.attributes.iter().zip(event.coordinates).zip(event.values);
        let mut part = 0.0;
        for (item, ((&attribute, &coordinate), &value)) in items.enumerate() {
            let product = &mut self.products[coordinate as usize];
            // Values that are not standardised may be so large that their squares overflow.
            product.add(sanitise(value * away));
            part = sanitise(part + product.value * value);
            if event.attributes.get(item + 1) != Some(&attribute) {
                let square = &mut self.squares[attribute as usize];
                let before = square.value;
                square.add(part * part);
                self.total += square.value - before;
                part = 0.0;
            }
        }
    }

    fn make_room(&mut self, attributes: usize, coordinates: usize) {
        if self.squares.len() < attributes {
            self.squares.resize(attributes, Mean::default());
        }
        if self.products.len() < coordinates {
            self.products.resize(coordinates, Mean::default());
        }
    }

    /// Forget evicted attributes and coordinates.
    pub fn forget(&mut self, evicted: &Evicted) {
        for &coordinate in below(&evicted.coordinates, self.products.len()) {
            self.products[coordinate as usize] = Mean::default();
        }
        for &attribute in below(&evicted.attributes, self.squares.len()) {
            self.total -= std::mem::take(&mut self.squares[attribute as usize]).value;
        }
    }

    /// Adapt to predictions of the opposite sign.
    pub fn turn(&mut self) {
        self.prediction.value = -self.prediction.value;
        self.products.iter_mut().for_each(|product| product.value = -product.value);
    }

    /// Translate to other names and scales.
    pub fn translate(&mut self, translation: &Translation) {
        let (attributes, coordinates) = translation.known(self.squares.len(), self.products.len());
        let mut translated = Self { prediction: self.prediction, total: self.total, ..Self::default() };
        translated.make_room(attributes, coordinates);
        for (old, &Mean { value, events }) in self.products.iter().enumerate() {
            if let Some(new) = translation.coordinate(old as u32) {
                let value = sanitise(value / translation.stretch[old]);
                translated.products[new as usize] = Mean { value, events };
            }
        }
        for (old, &square) in self.squares.iter().enumerate() {
            match translation.attribute(old as u32) {
                Some(new) => translated.squares[new as usize] = square,
                None => translated.total -= square.value,
            }
        }
        *self = translated;
    }

    /// Average what parts have learned that started from this one, each mean weighted by the events learned since.
    pub fn merge(&mut self, parts: &[&Self]) {
        let before = self.prediction.events;
        let mut learned = parts.iter().filter(|part| part.prediction.events > before);
        if let (Some(&part), None) = (learned.next(), learned.next()) {
            self.clone_from(part);
            return;
        }
        let longest = |of: fn(&Self) -> usize| parts.iter().map(|part| of(part)).max().unwrap_or(0);
        self.make_room(longest(|part| part.squares.len()), longest(|part| part.products.len()));
        merge_mean(&mut self.prediction, parts.iter().map(|part| part.prediction));
        for (k, product) in self.products.iter_mut().enumerate() {
            merge_mean(product, parts.iter().map(|part| part.products.get(k).copied().unwrap_or_default()));
        }
        for (a, square) in self.squares.iter_mut().enumerate() {
            merge_mean(square, parts.iter().map(|part| part.squares.get(a).copied().unwrap_or_default()));
        }
        if self.prediction.events > before {
            self.total = self.squares.iter().map(|square| square.value).sum();
        }
    }

    /// Everything learned.
    pub fn state(&self) -> State {
        let mut state = State::default();
        put(&mut state, "products", &self.products);
        put(&mut state, "squares", &self.squares);
        put(&mut state, "said", &[self.prediction]);
        state.put_f64s("total", vec![self.total], &[1]);
        state
    }

    /// Restore from a state of a model with so many attributes and coordinates.
    ///
    /// # Errors
    ///
    /// If the arrays contradict each other, or contain more of them.
    pub fn restored(state: &State, attributes: usize, coordinates: usize) -> Result<Self, Refused> {
        let (products, squares) = (taken(state, "products")?, taken(state, "squares")?);
        let (prediction, (total, shape)) = (taken(state, "said")?, state.f64s("total")?);
        let all = products.iter().chain(&squares).chain(&prediction);
        let fits = products.len() <= coordinates
            && squares.len() <= attributes
            && shape == [1]
            && total[0].abs() <= LARGEST
            && all.map(|mean| mean.value).all(|value| value.abs() <= LARGEST)
            && squares.iter().all(|square| square.value >= 0.0);
        ensure(fits && prediction.len() == 1 && state.0.len() == 7, CONTRADICTION)?;
        Ok(Self { prediction: prediction[0], products, squares, total: total[0] })
    }

    /// Memory in bytes.
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + size_of_val(&self.products[..]) + size_of_val(&self.squares[..])
    }
}

fn merge_mean(base: &mut Mean, parts: impl Iterator<Item = Mean> + Clone) {
    let before = base.events;
    let since = |part: &Mean| part.events.saturating_sub(before) as f64;
    let total: f64 = parts.clone().map(|part| since(&part)).sum();
    if total > 0.0 {
        base.value = parts.clone().map(|part| since(&part) / total * part.value).sum();
        base.events = counted_together(before, parts.map(|part| part.events));
    }
}

fn put(state: &mut State, name: &str, means: &[Mean]) {
    let (values, events) =
        means.iter().map(|mean| (mean.value, mean.events.min(MOST_COUNTED) as i64)).unzip();
    state.put_f64s(name, values, &[means.len()]);
    state.put_i64s(&format!("{name}_events"), events, &[means.len()]);
}

fn taken(state: &State, name: &str) -> Result<Vec<Mean>, Refused> {
    let ((values, _), (events, _)) = (state.f64s(name)?, state.i64s(&format!("{name}_events"))?);
    ensure(values.len() == events.len(), CONTRADICTION)?;
    let mean = |(&value, &events)| Some(Mean { value, events: count_of(events)? });
    values.iter().zip(events).map(mean).collect::<Option<_>>().ok_or_else(|| CONTRADICTION.to_owned())
}
