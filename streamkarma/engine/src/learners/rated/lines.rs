//! Least mean squares, which can be merged, for tests.

use std::collections::BTreeMap;

use crate::block::{Event, Evicted};
use crate::learner::{Fact, Learner, Lesson};
use crate::merging::of_kind;
use crate::state::{Refused, State};
use crate::translation::{DROPPED, Translation};

/// Weights for each class.
#[derive(Clone)]
pub struct Lines {
    weights: Vec<BTreeMap<u32, f64>>,
    steps: u64,
}

impl Lines {
    pub fn new() -> Self {
        Self { weights: vec![BTreeMap::new()], steps: 0 }
    }
}

impl Learner for Lines {
    fn classes(&self) -> usize {
        self.weights.len()
    }

    fn steps(&self) -> u64 {
        self.steps
    }

    fn step(&mut self, event: Event, lesson: Lesson, scores: &mut [f64]) -> f64 {
        let (several, items) = (self.classes() > 1, || event.coordinates.iter().zip(event.values));
        for (class, (weights, score)) in self.weights.iter_mut().zip(scores).enumerate() {
            *score = items().map(|(k, value)| weights.get(k).unwrap_or(&0.0) * value).sum();
            let is_own = if lesson.label == class as f64 { 1.0 } else { -1.0 };
            let rate = if lesson.is_learned() { 0.01 * lesson.weight } else { 0.0 };
            let away = if several { is_own } else { lesson.label } - *score;
            items().filter(|_| rate > 0.0).for_each(|(&k, value)| {
                *weights.entry(k).or_default() += rate * away * value;
            });
        }
        self.steps += u64::from(lesson.is_learned());
        f64::NAN
    }

    fn forget(&mut self, _: &Evicted) {}

    fn widen(&mut self, classes: usize) {
        self.weights.resize(classes, BTreeMap::new());
    }

    fn restart(&mut self, steps: u64) {
        (self.steps, self.weights) = (steps, vec![BTreeMap::new()]);
    }

    fn summary(&self) -> Vec<(&'static str, Fact)> {
        Vec::new()
    }

    fn state(&self) -> State {
        let mut state = State::default();
        state.put_i64s("steps", vec![self.steps as i64], &[1]);
        for (class, weights) in self.weights.iter().enumerate() {
            let (places, values): (Vec<i32>, Vec<f64>) = weights.iter().map(|(&k, &w)| (k as i32, w)).unzip();
            state.put_f64s(&format!("weights {class}"), values, &[weights.len()]);
            state.put_i32s(&format!("places {class}"), places, &[weights.len()]);
        }
        state
    }

    fn restore(&mut self, state: &State, _: usize, _: usize) -> Result<(), Refused> {
        self.steps = state.i64s("steps")?.0[0] as u64;
        self.weights = vec![BTreeMap::new(); state.0.len() / 2];
        for (class, weights) in self.weights.iter_mut().enumerate() {
            let values = state.f64s(&format!("weights {class}"))?.0;
            let places = state.i32s(&format!("places {class}"))?.0;
            weights.extend(places.iter().map(|&k| k as u32).zip(values.iter().copied()));
        }
        Ok(())
    }

    fn relabel(&mut self, places: &[usize]) -> Result<(), Refused> {
        if let [weights] = &mut self.weights[..] {
            weights.values_mut().for_each(|weight| *weight = -*weight);
        } else {
            let old = self.weights.clone();
            old.into_iter().zip(places).for_each(|(weights, &place)| self.weights[place] = weights);
        }
        Ok(())
    }

    fn translate(&mut self, translation: &Translation) -> Result<(), Refused> {
        for weights in &mut self.weights {
            for (old, weight) in std::mem::take(weights) {
                let (at, weight) = (old as usize, weight / translation.target.1);
                if translation.coordinates[at] != DROPPED {
                    *weights.entry(translation.coordinates[at]).or_default() +=
                        translation.stretch[at] * weight;
                    *weights.entry(0).or_default() += translation.shift[at] * weight;
                }
            }
            if translation.target.0 != 0.0 {
                *weights.entry(0).or_default() -= translation.target.0 / translation.target.1;
            }
        }
        Ok(())
    }

    fn merge(&mut self, parts: &[&dyn Learner]) -> Result<(), Refused> {
        let parts = of_kind::<Self>(parts)?;
        let since = |part: &Self| (part.steps - self.steps) as f64;
        let total: f64 = parts.iter().map(|part| since(part)).sum();
        let mut weights = vec![BTreeMap::new(); self.classes()];
        for part in parts.iter().filter(|_| total > 0.0) {
            for (to, from) in weights.iter_mut().zip(&part.weights) {
                from.iter().for_each(|(&k, w)| *to.entry(k).or_insert(0.0) += since(part) / total * w);
            }
        }
        if total > 0.0 {
            (self.weights, self.steps) = (weights, self.steps + total as u64);
        }
        Ok(())
    }
}
