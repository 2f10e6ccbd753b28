//! Experts that hardly help predict one event in several, and rest in between.
//!
//! A resting expert is a specialist that sleeps [F]: its prediction is taken to be that of the others together, so that
//! its weight among them stays the same; in the blend it counts as 0. The gain of an expert is measured where it
//! predicts: by how much more the mixture would have lost without it, with the weights of the others unchanged.
//!
//! - *Experts that learn an event without having predicted it*, see [`Learner::learns_unasked`], go on learning all
//!   events. After each [`SEGMENT`] events, those of them rest whose recent gain is less than [`WORTH`] of the mean
//!   loss. None of them rests for [`PROBATION`] events after errors have risen, see [`Rise`]. After an abrupt change,
//!   an expert that adapts to it has little weight, and would have to gain it in the few events that it predicts.
//!   (Sine, 50,000 events, seeds 102 to 106: in events 200 to 1,000 after the change 3.6 % errors, and 6.0 % without
//!   this. Where 30 % is missing errors rise less: seeds 101 to 108, 18.3 %, and 19.8 % where losses had to be three
//!   times the mean.)
//! - *Experts that have been useless for long* lie dormant: they do not learn the events that they do not predict,
//!   either. See [`Dormancy`].
//!
//! All periods are counted in learned events, so that blocks give the same results as single events. The amount of data
//! is measured by the weights of events: events that share a label are one label.
//!
//! [F] Freund, Schapire, Singer, Warmuth: Using and combining predictors that specialize, STOC 1997.
//!
//! [`Learner::learns_unasked`]: crate::learner::Learner::learns_unasked

use std::ops::Range;

use super::dormancy::{self, Dormancy};
use crate::learner::{Learner, Lesson};
use crate::math::dot;
use crate::rise::Rise;

/// An expert that rests, but learns all events, predicts one in so many.
const PERIOD: u64 = 8;
/// Number of events between two decisions.
pub const SEGMENT: u64 = 256;
/// Window of the means, in events.
const WINDOW: f64 = 2000.0;
/// No expert rests before so many events, nor within so many after errors have risen.
pub const PROBATION: f64 = 1024.0;
/// Minimum probability, so that none is rounded to 0.
pub const UNLIKELY: f64 = 1e-12;
/// An expert predicts all events if it reduces the mixture's loss by this fraction.
const WORTH: f64 = 0.005;

/// The activity of an expert that may rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// It predicts and learns all events.
    Awake,
    /// It learns all events, but predicts only some.
    Unasked,
    /// It learns only the events that it predicts.
    Dormant,
}

impl Rest {
    /// The expert predicts one event in so many.
    pub fn period(self) -> u64 {
        match self {
            Self::Awake => 1,
            Self::Unasked => PERIOD,
            Self::Dormant => dormancy::PERIOD,
        }
    }

    /// Whether the expert predicts the next event after so many were learned.
    pub fn is_asked(self, events: u64) -> bool {
        events.is_multiple_of(self.period())
    }
}

/// An expert that may rest, or several of one learner, which rest together.
#[derive(Clone, Debug, PartialEq)]
pub struct Rester {
    /// The numbers of the experts.
    pub experts: Range<usize>,
    pub learns_unasked: bool,
    /// Recent mean gain, if it learns unasked.
    pub gain: f64,
    /// Mean gain over a longer time, and mean of its square.
    pub long_gain: f64,
    pub long_square: f64,
    pub rest: Rest,
}

impl Rester {
    /// An expert without data.
    pub fn new(experts: Range<usize>, learns_unasked: bool) -> Self {
        Self { experts, learns_unasked, gain: 0.0, long_gain: 0.0, long_square: 0.0, rest: Rest::Awake }
    }
}

/// The gains of the experts that may rest, and which of them rest.
#[derive(Clone, Debug, Default)]
pub struct Resting {
    /// In ascending order of their numbers.
    pub experts: Vec<Rester>,
    /// Total weight of the events learned, each 1 at most.
    pub seen: f64,
    /// Mean loss of the mixture.
    pub loss: f64,
    /// Detects a rise of its errors.
    pub rise: Rise,
    /// No expert that learns unasked rests before `seen` reaches this.
    pub calm_from: f64,
    pub dormancy: Dormancy,
}

impl Resting {
    /// No data yet. The first learner never rests.
    pub fn new(learners: &[Box<dyn Learner>]) -> Self {
        let (mut experts, mut next) = (Vec::new(), 0);
        for learner in learners {
            let (own, learns_unasked) = (next..next + learner.models(), learner.learns_unasked());
            next = own.end;
            if own.start > 0 && (learns_unasked || learner.may_lie_dormant()) {
                experts.push(Rester::new(own, learns_unasked));
            }
        }
        Self { experts, ..Self::default() }
    }

    /// The same experts without data.
    #[must_use]
    pub fn restarted(&self) -> Self {
        let restarted =
            self.experts.iter().map(|each| Rester::new(each.experts.clone(), each.learns_unasked));
        Self { experts: restarted.collect(), ..Self::default() }
    }

    /// The activity of an expert's learner.
    pub fn rest_of(&self, expert: usize) -> Rest {
        let found = self.experts.iter().find(|each| each.experts.contains(&expert));
        found.map_or(Rest::Awake, |each| each.rest)
    }

    /// Number of dormant experts.
    pub fn dormant(&self) -> usize {
        let dormant = self.experts.iter().filter(|each| each.rest == Rest::Dormant);
        dormant.map(|each| each.experts.len()).sum()
    }

    /// Record a loss of the mixture.
    pub fn observe_loss(&mut self, loss: f64, weight: f64) {
        // A probability may be rounded to more than 1.
        let loss = loss.max(0.0);
        self.seen += weight.min(1.0);
        self.loss += rate(weight, self.seen, 1, WINDOW) * (loss - self.loss);
        self.rise.observe(loss, weight);
        if self.rise.is_seen() {
            self.calm_from = self.seen + PROBATION;
        }
        self.dormancy.observe_loss(loss, weight, self.seen);
    }

    /// Record how much more would have been lost in the same event without the experts at `place`.
    pub fn observe_gain(&mut self, place: usize, gain: f64, weight: f64) {
        let own = &mut self.experts[place];
        // Resting experts are observed less often, and each observation has more weight.
        let period = own.rest.period();
        if own.learns_unasked {
            own.gain += rate(weight, self.seen, period, WINDOW) * (gain - own.gain);
        }
        let rate = rate(weight, self.seen, period, dormancy::WINDOW);
        own.long_gain += rate * (gain - own.long_gain);
        own.long_square += rate * (gain * gain - own.long_square);
    }

    /// Decide which experts rest, if it is time.
    pub fn decide(&mut self, events: u64) {
        if events.is_multiple_of(SEGMENT) {
            self.dormancy.decide(&mut self.experts, events, self.seen);
            self.decide_for_unasked();
        }
    }

    /// Decide which of the experts that learn all events rest.
    pub fn decide_for_unasked(&mut self) {
        let least = WORTH * self.loss;
        let may = self.seen >= self.calm_from.max(PROBATION);
        for each in self.experts.iter_mut().filter(|each| each.learns_unasked && each.rest != Rest::Dormant) {
            each.rest = if may && each.gain < least { Rest::Unasked } else { Rest::Awake };
        }
    }
}

/// Number of the next lessons up to the one with which the number of events learned, `events` so far, becomes a
/// multiple of `period`; all of them if there is none.
pub fn lessons_up_to(period: u64, events: u64, lessons: &[Lesson]) -> usize {
    let left = period - events % period;
    let learned = lessons.iter().enumerate().filter(|(_, lesson)| lesson.is_learned());
    learned.map(|(t, _)| t + 1).nth(left as usize - 1).unwrap_or(lessons.len())
}

/// The prediction of a mixture without some `experts`; `prediction` is that with them, `each` has the predictions of
/// the members with these `weights`, and `blend` is the prediction of the last member without them.
pub fn without(experts: Range<usize>, prediction: f64, weights: &[f64], each: &[f64], blend: f64) -> f64 {
    let last = each.len() - 1;
    let (own, weight) =
        (dot(&weights[experts.clone()], &each[experts.clone()]), weights[experts].iter().sum::<f64>());
    (prediction - own + weights[last] * (blend - each[last])) / (1.0 - weight)
}

/// The weight of an event in a mean over the last `window`, of which one in `period` is observed; `seen` is the weight
/// of all events so far, including this one.
pub fn rate(weight: f64, seen: f64, period: u64, window: f64) -> f64 {
    (weight.min(1.0) * period as f64 / window.min(seen)).min(1.0)
}
