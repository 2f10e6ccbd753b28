//! An expert that hardly helps is asked about one event in [`PERIOD`], and rests in between.
//!
//! Only experts that learn an event without having predicted it may rest, see [`Learner::learns_unasked`]; with the
//! others a prediction is part of learning. One that rests is a specialist that sleeps [F]: what the others say
//! together it is taken to have said as well, so that its weight among them stays as it is; in the blend it counts
//! as 0.
//!
//! What an expert brings is measured where it is asked: by how much more the mixture would have lost without it, the
//! weights of the others being what they are. After each [`SEGMENT`] events those rest whose mean gain is below
//! [`WORTH`] of the mean loss. These are counts of events that are learned, so that blocks are as single events.
//!
//! Nobody rests while recent losses are far above the mean loss. After an abrupt change, an expert that follows it has
//! little weight, and would have to gain it in the few events that it is asked about. (Sine, 50,000 events, seeds 102 to
//! 106: in events 200 to 1,000 after the change 3.6 % errors, and 6.0 % without this.)
//!
//! [F] Freund, Schapire, Singer, Warmuth: Using and combining predictors that specialize, STOC 1997.
//!
//! [`Learner::learns_unasked`]: crate::learner::Learner::learns_unasked

/// Who rests is asked about one event in so many.
pub const PERIOD: u64 = 8;
/// Events from one decision to the next.
pub const SEGMENT: u64 = 256;
/// Means are over about so many events.
const WINDOW: f64 = 2000.0;
/// And the mean of recent losses over so many.
const RECENT: f64 = 64.0;
/// All experts are asked where recent losses are more than so many times the mean loss.
const ALARM: f64 = 3.0;
/// Before so many events nobody rests.
const PROBATION: u64 = 1024;
/// No probability is smaller, so that rounding makes none 0.
pub const UNLIKELY: f64 = 1e-12;
/// An expert is asked about all events if it spares the mixture this part of its loss.
const WORTH: f64 = 0.005;

/// What experts that may rest have brought, and which of them rest.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Resting {
    /// Those that may, ascending.
    pub experts: Vec<usize>,
    /// The mean gain of each.
    pub gains: Vec<f64>,
    /// The mean loss of the mixture.
    pub loss: f64,
    /// The same over the latest events.
    pub recent_loss: f64,
    /// Which of them do.
    pub rests: Vec<bool>,
}

impl Resting {
    /// Nothing is known of these experts.
    pub fn new(experts: Vec<usize>) -> Self {
        Self {
            gains: vec![0.0; experts.len()],
            loss: 0.0,
            recent_loss: 0.0,
            rests: vec![false; experts.len()],
            experts,
        }
    }

    /// Whether all experts are asked about the event after so many that were learned.
    pub fn asks_all(&self, events: u64) -> bool {
        events.is_multiple_of(PERIOD) || !self.rests.contains(&true)
    }

    /// Whether an expert is among those that rest.
    pub fn rests(&self, expert: usize) -> bool {
        self.experts.iter().zip(&self.rests).any(|(&each, &rests)| rests && each == expert)
    }

    /// Take note that the mixture lost so much, in event number `events`, from 1.
    pub fn observe_loss(&mut self, loss: f64, weight: f64, events: u64) {
        self.loss += rate(weight, events, 1, WINDOW) * (loss - self.loss);
        self.recent_loss += rate(weight, events, 1, RECENT) * (loss - self.recent_loss);
    }

    /// Take note that it would have lost so much more without the expert at `place`.
    pub fn observe_gain(&mut self, place: usize, gain: f64, weight: f64, events: u64) {
        // Who rests is seen less often, and each time counts more.
        let period = if self.rests[place] { PERIOD } else { 1 };
        self.gains[place] += rate(weight, events, period, WINDOW) * (gain - self.gains[place]);
    }

    /// Decide who rests, if it is time.
    pub fn decide(&mut self, events: u64) {
        if events.is_multiple_of(SEGMENT) {
            self.decide_now(events);
        }
    }

    /// Decide who rests after so many events.
    pub fn decide_now(&mut self, events: u64) {
        let least = WORTH * self.loss;
        let may = events >= PROBATION && self.recent_loss <= ALARM * self.loss;
        self.rests.iter_mut().zip(&self.gains).for_each(|(rests, gain)| *rests = may && *gain < least);
    }
}

/// What a mixture would say without the expert `e`; `said` is what it says, `each` what each member says by its
/// weight, and `blend` what the last of them would say without it.
pub fn without(e: usize, said: f64, weights: &[f64], each: &[f64], blend: f64) -> f64 {
    let last = each.len() - 1;
    let others = said - weights[e] * each[e] + weights[last] * (blend - each[last]);
    others / (1.0 - weights[e])
}

fn rate(weight: f64, events: u64, period: u64, window: f64) -> f64 {
    (weight.min(1.0) * period as f64 / window.min(events as f64)).min(1.0)
}
