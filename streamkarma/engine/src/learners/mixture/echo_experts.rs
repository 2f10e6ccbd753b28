//! Experts that repeat values of an event, to test which of them are asked when.

use std::ops::Range;

use super::Mixture;
use super::resting::SEGMENT;
use super::tests::Kind;
use crate::block::{Block, Event, Evicted, Terms};
use crate::learner::{Fact, Learner, Lesson};
use crate::state::{Refused, State};

/// Predicts values of an event, one for each class, and counts its predictions.
#[derive(Clone)]
pub struct Parrot {
    /// Position of its values: those of the first expert come first.
    place: usize,
    /// Whether it learns all events, and predicts only if asked.
    learns_unasked: bool,
    classes: usize,
    asked: i64,
    forgotten: i64,
}

impl Learner for Parrot {
    fn classes(&self) -> usize {
        self.classes
    }

    fn steps(&self) -> u64 {
        0
    }

    fn learns_unasked(&self) -> bool {
        self.learns_unasked
    }

    fn step(&mut self, event: Event, lesson: Lesson, scores: &mut [f64]) -> f64 {
        if self.learns_unasked && !lesson.wants_scores {
            scores.fill(f64::NAN);
        } else {
            self.asked += 1;
            let from = self.place * self.classes;
            scores.copy_from_slice(&event.values[from..from + self.classes]);
        }
        f64::NAN
    }

    fn forget(&mut self, _: &Evicted) {
        self.forgotten += 1;
    }

    fn widen(&mut self, classes: usize) {
        self.classes = classes;
    }

    fn restart(&mut self, _: u64) {}

    fn summary(&self) -> Vec<(&'static str, Fact)> {
        vec![("asked", Fact::Count(self.asked as u64)), ("forgotten", Fact::Count(self.forgotten as u64))]
    }

    fn state(&self) -> State {
        let mut state = State::default();
        state.put_i64s("asked", vec![self.asked, self.forgotten], &[2]);
        state
    }

    fn restore(&mut self, state: &State, _: usize, _: usize) -> Result<(), Refused> {
        (self.asked, self.forgotten) = (state.i64s("asked")?.0[0], state.i64s("asked")?.0[1]);
        Ok(())
    }

    fn relabel(&mut self, _: &[usize]) -> Result<(), Refused> {
        Ok(())
    }

    fn merge(&mut self, _: &[&dyn Learner]) -> Result<(), Refused> {
        Ok(())
    }
}

/// Labels, and the experts' predictions: the first expert is slightly informative; the others are useless before the
/// turn, and nearly perfect after it.
pub struct Stream {
    kind: Kind,
    pub experts: usize,
    pub classes: usize,
    pub labels: Vec<f64>,
    pub values: Vec<f64>,
    pub starts: Vec<usize>,
    pub evicted: Vec<Evicted>,
}

impl Stream {
    /// So many events, with the turn at event `turn`.
    pub fn new(kind: Kind, experts: usize, turn: usize, events: usize) -> Self {
        let classes = if kind == Kind::Several { 3 } else { 1 };
        let mut seed = 7_u64;
        let mut uniform = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            2.0 * ((seed >> 33) as f64 / f64::from(1_u32 << 31)) - 1.0
        };
        let (mut labels, mut values) = (Vec::new(), Vec::new());
        for t in 0..events {
            let label = match kind {
                Kind::Two => uniform().signum(),
                Kind::Several => (1.5 * (uniform() + 1.0)).floor(),
                Kind::Numbers => uniform(),
            };
            for expert in 0..experts {
                let known = match expert {
                    0 => 1.0,
                    _ if t < turn => 0.0,
                    _ => 20.0,
                };
                for class in 0..classes {
                    let is_it =
                        if kind == Kind::Several { f64::from(label as usize == class) } else { label };
                    values.push(known * is_it + 2.0 * uniform());
                }
            }
            labels.push(label);
        }
        let starts = (0..=events).map(|t| experts * classes * t).collect();
        Self { kind, experts, classes, labels, values, starts, evicted: Vec::new() }
    }

    /// A mixture of experts, all but the first of which may rest.
    pub fn mixture(&self, learns_unasked: bool) -> Mixture {
        let expert = |place: usize| -> (String, Box<dyn Learner>) {
            let learns_unasked = learns_unasked && place > 0;
            (
                place.to_string(),
                Box::new(Parrot { place, learns_unasked, classes: 1, asked: 0, forgotten: 0 }),
            )
        };
        let experts = (0..self.experts).map(expert).collect();
        let mut made = Mixture::new(experts, 0, self.kind == Kind::Numbers, 0.0).unwrap();
        if self.kind == Kind::Several {
            made.widen(3);
        }
        made
    }

    /// The bits of the scores of the events from `begin` to `end`, every tenth without a label.
    pub fn run(&self, model: &mut Mixture, begin: usize, end: usize) -> Vec<u64> {
        let coordinates = vec![1; self.values.len()];
        let (starts, values) = (&self.starts[begin..=end], &self.values);
        let evicted = &self.evicted;
        let block = Block {
            starts,
            attributes: &coordinates,
            coordinates: &coordinates,
            values,
            raw: values,
            terms: Terms::default(),
            evicted,
        };
        let label = |t: usize| if t.is_multiple_of(10) { f64::NAN } else { self.labels[t] };
        let lessons: Vec<Lesson> = (begin..end).map(|t| Lesson::of(label(t))).collect();
        let (mut scores, mut losses) = (vec![0.0; (end - begin) * self.classes], vec![0.0; end - begin]);
        model.run(&block, &lessons, &mut scores, &mut losses);
        scores.iter().map(|score| score.to_bits()).collect()
    }

    /// Check that from an event on, neither block boundaries, nor saving and restoring states, nor the number of
    /// threads matter.
    pub fn assert_that_cuts_do_not_show(&self, learns_unasked: bool, from: usize) {
        let mut whole = self.mixture(learns_unasked);
        self.run(&mut whole, 0, from);
        let mut pieces = whole.clone();
        whole.set_threads(2);
        let (events, mut begin) = (self.labels.len(), from);
        let bits = self.run(&mut whole, from, events);
        for size in [1, 700, 1, 2, 3, SEGMENT as usize, 1_500, 2, 1, 1, events].into_iter().cycle() {
            let end = (begin + size).min(events);
            let mut resumed = self.mixture(learns_unasked);
            resumed.restore(&pieces.state(), 16, 16).unwrap();
            pieces = resumed;
            let part = self.run(&mut pieces, begin, end);
            assert_eq!(part, bits[(begin - from) * self.classes..(end - from) * self.classes]);
            begin = end;
            if begin == events {
                break;
            }
        }
        assert_eq!(whole.state(), pieces.state());
        assert!(asked(&whole, 1) < events);
    }

    /// Check that events that are predicted, and then learned, have the same effect as single steps on a mixture that has
    /// learned the events before them.
    pub fn assert_learned_as_if_at_once(&self, mut at_once: Mixture, some: Range<usize>) {
        let mut in_two = at_once.clone();
        for t in some {
            let (mut one, mut other) = (vec![0.0; self.classes], vec![0.0; self.classes]);
            let lesson = Lesson::of(self.labels[t]);
            at_once.step(self.event(t), lesson, &mut one);
            in_two.step(self.event(t), Lesson::NONE, &mut other);
            in_two.learn_predicted(self.event(t), lesson, &mut other);
            assert_eq!(one, other);
        }
        assert_eq!(at_once.aggregator.state(), in_two.aggregator.state());
    }

    fn event(&self, t: usize) -> Event<'_> {
        let items = self.starts[t]..self.starts[t + 1];
        let (attributes, coordinates) = (&ONES[..items.len()], &ONES[..items.len()]);
        Event::of(attributes, coordinates, &self.values[items])
    }
}

const ONES: [u32; 16] = [1; 16];

/// How often an expert was asked for a prediction.
pub fn asked(model: &Mixture, expert: usize) -> usize {
    fact(model, expert, "asked")
}

/// A count in an expert's summary.
pub fn fact(model: &Mixture, expert: usize, wanted: &str) -> usize {
    let facts = model.learners()[expert].summary();
    match facts.iter().find(|(name, _)| *name == wanted) {
        Some((_, Fact::Count(count))) => *count as usize,
        _ => panic!("no {wanted}"),
    }
}
