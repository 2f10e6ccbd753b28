//! Experts that hardly help are asked about one event in several, and rest in between.
//!
//! One that rests is a specialist that sleeps [F]: what the others say together it is taken to have said as well, so
//! that its weight among them stays as it is; in the blend it counts as 0. What an expert brings is measured where it is
//! asked: by how much more the mixture would have lost without it, the weights of the others being what they are.
//!
//! - *Those that learn an event without having predicted it*, see [`Learner::learns_unasked`], go on learning all events.
//!   Of these rest, after each [`SEGMENT`] events, those that brought less than [`WORTH`] of the mean loss of late.
//!   Nobody of them rests for [`PROBATION`] events after errors have risen, see [`Rise`]. After an abrupt change, an
//!   expert that follows it has little weight, and would have to gain it in the few events that it is asked about.
//!   (Sine, 50,000 events, seeds 102 to 106: in events 200 to 1,000 after the change 3.6 % errors, and 6.0 % without
//!   this. Where 30 % is missing errors rise less: seeds 101 to 108, 18.3 %, and 19.8 % where losses had to be three
//!   times the mean.)
//! - *Those that have been of no use for long* lie dormant: of what they are not asked about they learn nothing either.
//!   See [`Dormancy`].
//!
//! All periods are counts of events that are learned, so that blocks are as single events. How much is known is counted
//! by their weights: events that share a label are one label.
//!
//! [F] Freund, Schapire, Singer, Warmuth: Using and combining predictors that specialize, STOC 1997.
//!
//! [`Learner::learns_unasked`]: crate::learner::Learner::learns_unasked

use std::ops::Range;

use super::dormancy::{self, Dormancy};
use crate::learner::{Learner, Lesson};
use crate::math::dot;
use crate::rise::Rise;

/// Who rests, but learns all events, is asked about one in so many.
const PERIOD: u64 = 8;
/// Events from one decision to the next.
pub const SEGMENT: u64 = 256;
/// Means are over about so many events.
const WINDOW: f64 = 2000.0;
/// Before so many events nobody rests, nor until so many after errors have risen.
pub const PROBATION: f64 = 1024.0;
/// No probability is smaller, so that rounding makes none 0.
pub const UNLIKELY: f64 = 1e-12;
/// An expert is asked about all events if it spares the mixture this part of its loss.
const WORTH: f64 = 0.005;

/// What an expert that may rest does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// It predicts and learns all events.
    Awake,
    /// It learns all events.
    Unasked,
    /// It learns those that it is asked about.
    Dormant,
}

impl Rest {
    /// It is asked about one event in so many.
    pub fn period(self) -> u64 {
        match self {
            Self::Awake => 1,
            Self::Unasked => PERIOD,
            Self::Dormant => dormancy::PERIOD,
        }
    }

    /// Whether it is asked about the event after so many that were learned.
    pub fn is_asked(self, events: u64) -> bool {
        events.is_multiple_of(self.period())
    }
}

/// An expert that may rest, or several of one learner, which rest together.
#[derive(Clone, Debug, PartialEq)]
pub struct Rester {
    /// Their numbers.
    pub experts: Range<usize>,
    pub learns_unasked: bool,
    /// What it has brought of late, in the mean, if it learns unasked.
    pub gain: f64,
    /// What it has brought for longer, and the mean of its square.
    pub long_gain: f64,
    pub long_square: f64,
    pub rest: Rest,
}

impl Rester {
    /// One of which nothing is known.
    pub fn new(experts: Range<usize>, learns_unasked: bool) -> Self {
        Self { experts, learns_unasked, gain: 0.0, long_gain: 0.0, long_square: 0.0, rest: Rest::Awake }
    }
}

/// What experts that may rest have brought, and which of them rest.
#[derive(Clone, Debug, Default)]
pub struct Resting {
    /// By their numbers, ascending.
    pub experts: Vec<Rester>,
    /// The weight of the events learned, each 1 at most.
    pub seen: f64,
    /// The mean loss of the mixture.
    pub loss: f64,
    /// Of its errors.
    pub rise: Rise,
    /// None of those that learn unasked rests before so much was seen.
    pub calm_from: f64,
    pub dormancy: Dormancy,
}

impl Resting {
    /// Nothing is known of the experts. The first learner never rests.
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

    /// The same experts, of which nothing is known.
    #[must_use]
    pub fn restarted(&self) -> Self {
        let restarted =
            self.experts.iter().map(|each| Rester::new(each.experts.clone(), each.learns_unasked));
        Self { experts: restarted.collect(), ..Self::default() }
    }

    /// What the learner of an expert does.
    pub fn rest_of(&self, expert: usize) -> Rest {
        let found = self.experts.iter().find(|each| each.experts.contains(&expert));
        found.map_or(Rest::Awake, |each| each.rest)
    }

    /// How many experts lie dormant.
    pub fn dormant(&self) -> usize {
        let dormant = self.experts.iter().filter(|each| each.rest == Rest::Dormant);
        dormant.map(|each| each.experts.len()).sum()
    }

    /// Take note that the mixture lost so much.
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

    /// Take note that in the same event it would have lost so much more without the experts at `place`.
    pub fn observe_gain(&mut self, place: usize, gain: f64, weight: f64) {
        let own = &mut self.experts[place];
        // Who rests is seen less often, and each time counts more.
        let period = own.rest.period();
        if own.learns_unasked {
            own.gain += rate(weight, self.seen, period, WINDOW) * (gain - own.gain);
        }
        let rate = rate(weight, self.seen, period, dormancy::WINDOW);
        own.long_gain += rate * (gain - own.long_gain);
        own.long_square += rate * (gain * gain - own.long_square);
    }

    /// Decide who rests, if it is time.
    pub fn decide(&mut self, events: u64) {
        if events.is_multiple_of(SEGMENT) {
            self.dormancy.decide(&mut self.experts, events, self.seen);
            self.decide_for_unasked();
        }
    }

    /// Decide who rests of those that learn all events.
    pub fn decide_for_unasked(&mut self) {
        let least = WORTH * self.loss;
        let may = self.seen >= self.calm_from.max(PROBATION);
        for each in self.experts.iter_mut().filter(|each| each.learns_unasked && each.rest != Rest::Dormant) {
            each.rest = if may && each.gain < least { Rest::Unasked } else { Rest::Awake };
        }
    }
}

/// How many of the lessons that come next end with the one by which the number of events learned, `events` by now, is
/// a multiple of `period`; all of them if none does.
pub fn lessons_up_to(period: u64, events: u64, lessons: &[Lesson]) -> usize {
    let left = period - events % period;
    let learned = lessons.iter().enumerate().filter(|(_, lesson)| lesson.is_learned());
    learned.map(|(t, _)| t + 1).nth(left as usize - 1).unwrap_or(lessons.len())
}

/// What a mixture would say without some `experts`; `said` is what it says, `each` what each member says by its weight,
/// and `blend` what the last of them would say without them.
pub fn without(experts: Range<usize>, said: f64, weights: &[f64], each: &[f64], blend: f64) -> f64 {
    let last = each.len() - 1;
    let (own, weight) =
        (dot(&weights[experts.clone()], &each[experts.clone()]), weights[experts].iter().sum::<f64>());
    (said - own + weights[last] * (blend - each[last])) / (1.0 - weight)
}

/// How much an event counts in a mean over the last `window`, of which one in `period` is known; `seen` with it is the
/// weight of all events so far.
pub fn rate(weight: f64, seen: f64, period: u64, window: f64) -> f64 {
    (weight.min(1.0) * period as f64 / window.min(seen)).min(1.0)
}
