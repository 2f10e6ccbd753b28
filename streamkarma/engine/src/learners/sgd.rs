//! A linear model on the values themselves, by stochastic gradient descent with a constant step: it keeps moving.
//!
//! The steps of the other linear models decay as they learn, so that what they have learned stays. Here each event has
//! as much effect as the first, so that the model follows any change, and never quite settles. Values are not divided
//! by the event's norm: an event with many large values moves the model further.
//!
//! The step is kept below 2 / |phi|² for classes, given by the steepest point of the logistic loss of one of several,
//! and below 1 / (2 |phi|²) for a regression, where an event moves the prediction half of the way to its target: beyond
//! that the model would follow noise, and at 2 / |phi|² diverge.

use crate::block::{Event, Evicted};
use crate::learners::expanded::{Expanded, Expansion, Items};
use crate::learners::explicit::{Explicit, Set, Translated};
use crate::learners::linear::{Step, Update};
use crate::loss::Loss;
use crate::state::{Refused, ensure};
use crate::translation::Translation;

/// Value of the feature that marks an attribute as present: less than 1, because where values are missing at random, or
/// none is, it only adds noise. At 0, 0.5 and 1 the error was 22.9, 8.7 and 8.1 % on a stream of low rank whose
/// missingness depends on the values, and 7.0, 7.4 and 8.1 % on a rotating hyperplane without missing values.
const PRESENCE: f64 = 0.5;

/// The settings of a learner, fixed for its whole life.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Squared loss on targets, otherwise logistic loss on classes.
    pub regression: bool,
    /// The step, above 0.
    pub eta: f64,
    /// Events after which what was learned has half its weight, 1 or more; 0 for never.
    pub half_life: f64,
    /// log2 of the maximum number of weights, those of all classes together: 8 to 30.
    pub table_bits: u32,
}

/// Stochastic gradient descent with a constant step.
pub type Sgd = Expanded<PlainFeatures>;

impl Sgd {
    /// An empty learner.
    ///
    /// # Errors
    ///
    /// If `eta` or `table_bits` is out of range.
    pub fn new(settings: Settings) -> Result<Self, Refused> {
        let Settings { regression, eta, half_life, table_bits } = settings;
        ensure(eta > 0.0 && eta.is_finite(), &format!("eta must be above 0, not {eta}"))?;
        // The error is half the slope of the squared loss.
        let (loss, eta, steepness) =
            if regression { (Loss::Squared, eta / 2.0, 4.0) } else { (Loss::Logistic, eta, 0.5) };
        let step =
            Step { update: Update::Sgd, loss, r: 1.0, eta, rho: 0.0, steepness, half_life, restarts: false };
        Ok(Self::around(Explicit::new(1, false, step, table_bits)?, PlainFeatures))
    }
}

/// The values themselves; coordinate k has index 2 k, and the presence of attribute a has index 2 a + 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlainFeatures;

impl Expansion for PlainFeatures {
    fn expand(&self, event: &Event, into: &mut Items) {
        let mut last = 0;
        for ((&attribute, &coordinate), &value) in
            event.attributes.iter().zip(event.coordinates).zip(event.values)
        {
            if attribute != last {
                into.put(attribute * 2 + 1, PRESENCE);
                last = attribute;
            }
            into.put(coordinate * 2, value);
        }
    }

    fn places(&self, attributes: usize, coordinates: usize) -> usize {
        attributes.max(coordinates).saturating_mul(2)
    }

    /// A shift is carried to the presence of the attribute: exact.
    fn translator<'a>(&'a self, translation: &'a Translation) -> impl FnMut(u32, &mut Vec<Translated>) + 'a {
        move |place, into| {
            let (index, is_presence) = (place / 2, place % 2 == 1);
            if is_presence {
                into.extend(translation.attribute(index).map(|own| Translated::stretched(own * 2 + 1, 1.0)));
            } else if let Some(own) = translation.coordinate(index) {
                let (shift, stretch) =
                    (translation.shift[index as usize], translation.stretch[index as usize]);
                into.push(Translated::stretched(own * 2, stretch));
                let owner =
                    translation.attribute(translation.owners[index as usize]).filter(|_| shift != 0.0);
                into.extend(owner.map(|owner| Translated::shifted(owner * 2 + 1, shift / PRESENCE)));
            }
        }
    }

    fn typical_square(&self, observed: f64) -> f64 {
        (1.0 + PRESENCE * PRESENCE) * observed
    }

    fn speaks_of(&self, place: u32, owner: impl Fn(u32) -> Set) -> Set {
        if place % 2 == 1 { Set::of_one(place / 2) } else { owner(place / 2) }
    }

    fn places_of(&self, evicted: &Evicted, linear: &Explicit) -> Vec<u32> {
        let presence = evicted.attributes.iter().map(|&attribute| attribute * 2 + 1);
        let places = evicted.coordinates.iter().map(|&coordinate| coordinate * 2).chain(presence);
        let known = linear.coordinates() as u32;
        places.filter(|&place| place < known).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learner::{Learner, Lesson};
    use crate::math::logistic;

    fn learner(regression: bool, eta: f64) -> Sgd {
        Sgd::new(Settings { regression, eta, half_life: 0.0, table_bits: 18 }).unwrap()
    }

    fn take(learner: &mut Sgd, x: &[f64], lesson: Lesson) -> f64 {
        let places: Vec<u32> = (0..=x.len() as u32).collect();
        let values: Vec<f64> = std::iter::once(1.0).chain(x.iter().copied()).collect();
        let event = Event::of(&places, &places, &values);
        let mut scores = vec![0.0; learner.classes()];
        learner.step(event, lesson, &mut scores);
        scores[0]
    }

    /// Numbers between -2 and 2, the same in every run.
    fn number(t: u32) -> f64 {
        f64::from(t.wrapping_mul(2_654_435_761) >> 8) / f64::from(1 << 24) * 4.0 - 2.0
    }

    #[test]
    fn steps_match_the_textbook() {
        for regression in [false, true] {
            let eta: f64 = 0.05;
            let (mut learner, mut w) = (learner(regression, eta), [0.0; 5]);
            for t in 0..200 {
                let x = [number(2 * t), number(2 * t + 1)];
                let phi = [1.0, x[0], x[1], PRESENCE, PRESENCE];
                let f: f64 = w.iter().zip(phi).map(|(w, x)| w * x).sum();
                let y = if regression { x[0] - x[1] } else { (x[0] - x[1]).signum() };
                assert!((take(&mut learner, &x, Lesson::of(y)) - f).abs() < 1e-9);
                let slope = if regression { f - y } else { -y * logistic(-y * f) };
                let square: f64 = phi.iter().map(|x| x * x).sum();
                let step = if regression { eta.min(0.5 / square) } else { eta.min(2.0 / square) };
                w.iter_mut().zip(phi).for_each(|(w, x)| *w -= step * slope * x);
            }
        }
    }

    #[test]
    fn follows_sign_flips_after_many_events() {
        let mut learner = learner(false, 0.1);
        for (sign, events) in [(1.0, 20_000), (-1.0, 300)] {
            for t in 0..events {
                take(&mut learner, &[number(t)], Lesson::of((sign * number(t)).signum()));
            }
            assert!(take(&mut learner, &[1.0], Lesson::NONE) * sign > 0.0);
        }
    }

    #[test]
    fn joined_models_equal_separate_ones() {
        let (mut joined, mut alone) = (learner(false, 0.03), [learner(false, 0.03), learner(false, 0.1)]);
        assert!(joined.join(&alone[1]) && joined.models() == 2);
        for t in 0..50 {
            let (x, lesson) = (number(t), Lesson::of(number(t).signum()));
            let (attributes, values) = ([0, 1], [1.0, x]);
            let event = Event::of(&attributes, &attributes, &values);
            let mut scores = [0.0; 2];
            joined.step(event, lesson, &mut scores);
            let apart = alone.each_mut().map(|each| take(each, &[x], lesson));
            assert_eq!(scores.map(f64::to_bits), apart.map(f64::to_bits));
        }
        assert!(!joined.join(&alone[0]));
    }

    #[test]
    fn wide_events_and_heavy_lessons_stay_bounded() {
        for regression in [false, true] {
            let mut learner = learner(regression, 1.0);
            for t in 0..300 {
                let x: Vec<f64> = (0..200).map(|i| 2.5 * number(200 * t + i)).collect();
                let weight = if t % 3 == 0 { 1e100 } else { 1.0 };
                let lesson = Lesson { weight, ..Lesson::of(x[0].signum()) };
                let score = take(&mut learner, &x, lesson);
                assert!(score.abs() < 100.0, "{score}");
            }
        }
    }

    #[test]
    fn weights_halve_after_a_half_life() {
        let settings = Settings { regression: false, eta: 0.1, half_life: 10.0, table_bits: 18 };
        let mut learner = Sgd::new(settings).unwrap();
        take(&mut learner, &[1.5], Lesson::of(1.0));
        let before = take(&mut learner, &[1.5], Lesson::NONE);
        // What is learned here with another value has almost no weight.
        (0..10).for_each(|_| {
            take(&mut learner, &[], Lesson { weight: 1e-12, ..Lesson::of(1.0) });
        });
        assert!((take(&mut learner, &[1.5], Lesson::NONE) / before - 0.5).abs() < 1e-9);
    }
}
