//! Experts that hardly help: when they are asked, and what is made of their silence.

use super::Mixture;
use super::aggregator::{Aggregator, Count, Said};
use super::fixed_share::SHARE;
use super::resting::{PERIOD, Resting, SEGMENT};
use super::tests::{KINDS, Kind};
use crate::block::{Block, Event, Gone};
use crate::learner::{Fact, Learner, Lesson};
use crate::state::{Refused, State};

/// Says values of an event, one for each class, and counts how often it did; the second says nothing unless asked.
#[derive(Clone)]
struct Parrot {
    second: bool,
    classes: usize,
    asked: i64,
}

impl Learner for Parrot {
    fn classes(&self) -> usize {
        self.classes
    }

    fn steps(&self) -> u64 {
        0
    }

    fn learns_unasked(&self) -> bool {
        self.second
    }

    fn step(&mut self, event: Event, lesson: Lesson, scores: &mut [f64]) -> f64 {
        if self.second && !lesson.wants_scores {
            scores.fill(f64::NAN);
        } else {
            self.asked += 1;
            let from = usize::from(self.second) * self.classes;
            scores.copy_from_slice(&event.values[from..from + self.classes]);
        }
        f64::NAN
    }

    fn forget(&mut self, _: &Gone) {}

    fn widen(&mut self, classes: usize) {
        self.classes = classes;
    }

    fn restart(&mut self, _: u64) {}

    fn summary(&self) -> Vec<(&'static str, Fact)> {
        vec![("asked", Fact::Count(self.asked as u64))]
    }

    fn state(&self) -> State {
        let mut state = State::default();
        state.put_i64s("asked", vec![self.asked], &[1]);
        state
    }

    fn restore(&mut self, state: &State, _: usize, _: usize) -> Result<(), Refused> {
        self.asked = state.i64s("asked")?.0[0];
        Ok(())
    }
}

/// Labels, and what two experts say of them: the first knows a little, the second nothing before the turn, and then
/// nearly all.
struct Stream {
    classes: usize,
    labels: Vec<f64>,
    values: Vec<f64>,
    starts: Vec<usize>,
}

const TURN: usize = 3_000;
const EVENTS: usize = 5_000;

impl Stream {
    fn new(kind: Kind) -> Self {
        let classes = if kind == Kind::Several { 3 } else { 1 };
        let mut seed = 7_u64;
        let mut uniform = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            2.0 * ((seed >> 33) as f64 / f64::from(1_u32 << 31)) - 1.0
        };
        let (mut labels, mut values) = (Vec::new(), Vec::new());
        for t in 0..EVENTS {
            let label = match kind {
                Kind::Two => uniform().signum(),
                Kind::Several => (1.5 * (uniform() + 1.0)).floor(),
                Kind::Numbers => uniform(),
            };
            for known in [1.0, if t < TURN { 0.0 } else { 20.0 }] {
                for class in 0..classes {
                    let is_it =
                        if kind == Kind::Several { f64::from(label as usize == class) } else { label };
                    values.push(known * is_it + 2.0 * uniform());
                }
            }
            labels.push(label);
        }
        Self { classes, labels, values, starts: (0..=EVENTS).map(|t| 2 * classes * t).collect() }
    }

    fn mixture(&self, kind: Kind) -> Mixture {
        let parrot = |second| -> Box<dyn Learner> { Box::new(Parrot { second, classes: 1, asked: 0 }) };
        let experts = vec![("first".to_owned(), parrot(false)), ("second".to_owned(), parrot(true))];
        let mut made = Mixture::new(experts, 0, kind == Kind::Numbers, 0.0).unwrap();
        if kind == Kind::Several {
            made.widen(3);
        }
        made
    }

    /// The bits of the scores of the events from `begin` to `end`, every tenth without a label.
    fn run(&self, model: &mut Mixture, begin: usize, end: usize) -> Vec<u64> {
        let coordinates = vec![1; self.values.len()];
        let starts = &self.starts[begin..=end];
        let (attributes, values, gone) = (&coordinates, &self.values, &[]);
        let block = Block { starts, attributes, coordinates: &coordinates, values, gone };
        let label = |t: usize| if t.is_multiple_of(10) { f64::NAN } else { self.labels[t] };
        let lessons: Vec<Lesson> = (begin..end).map(|t| Lesson::of(label(t))).collect();
        let (mut scores, mut losses) = (vec![0.0; (end - begin) * self.classes], vec![0.0; end - begin]);
        model.run(&block, &lessons, &mut scores, &mut losses);
        scores.iter().map(|score| score.to_bits()).collect()
    }
}

/// How often the second expert was asked.
fn asked(model: &Mixture) -> usize {
    match model.learners()[1].summary()[..] {
        [(_, Fact::Count(asked))] => asked as usize,
        _ => panic!(),
    }
}

#[test]
fn who_knows_nothing_is_asked_seldom_until_it_knows_more() {
    for kind in KINDS {
        let stream = Stream::new(kind);
        let mut model = stream.mixture(kind);
        stream.run(&mut model, 0, TURN / 2);
        let before = asked(&model);
        stream.run(&mut model, TURN / 2, TURN);
        let rested = asked(&model) - before;
        assert!(rested < TURN / 2 / (PERIOD as usize - 1), "asked {rested} times");
        stream.run(&mut model, TURN, EVENTS - 1_000);
        let before = asked(&model);
        stream.run(&mut model, EVENTS - 1_000, EVENTS);
        assert_eq!(asked(&model) - before, 1_000);
    }
}

#[test]
fn nobody_rests_while_losses_are_far_above_the_mean() {
    let mut resting = Resting::new(vec![1]);
    let mut observe = |loss: f64, begin: u64, end: u64| {
        (begin..=end).for_each(|t| resting.observe_loss(loss, 1.0, t));
        resting.decide_now(end);
        resting.rests(1)
    };
    assert!(observe(0.1, 1, 4_000));
    // Some thirty events after a change, and until it is what is usual.
    assert!(!observe(1.0, 4_001, 4_032));
    assert!(!observe(1.0, 4_033, 4_500));
    assert!(observe(1.0, 4_501, 8_000));
}

#[test]
fn neither_cuts_nor_states_show_where_an_expert_rests() {
    for kind in KINDS {
        let stream = Stream::new(kind);
        let (mut whole, mut pieces) = (stream.mixture(kind), stream.mixture(kind));
        let bits = stream.run(&mut whole, 0, EVENTS);
        let mut begin = 0;
        for size in [1, 700, 1, 2, 3, SEGMENT as usize, 1_500, 2, 1, 1, EVENTS].into_iter().cycle() {
            let end = (begin + size).min(EVENTS);
            let mut resumed = stream.mixture(kind);
            resumed.restore(&pieces.state(), 0, 0).unwrap();
            pieces = resumed;
            let part = stream.run(&mut pieces, begin, end);
            assert_eq!(part, bits[begin * stream.classes..end * stream.classes]);
            begin = end;
            if begin == EVENTS {
                break;
            }
        }
        assert_eq!(whole.state(), pieces.state());
        assert!(asked(&whole) < EVENTS);
    }
}

#[test]
fn what_is_predicted_first_is_learned_as_if_at_once() {
    for kind in KINDS {
        let stream = Stream::new(kind);
        let (mut at_once, mut in_two) = (stream.mixture(kind), stream.mixture(kind));
        for model in [&mut at_once, &mut in_two] {
            stream.run(model, 0, TURN);
        }
        for t in TURN..TURN + 20 {
            let items = stream.starts[t]..stream.starts[t + 1];
            let coordinates = vec![1; items.len()];
            let (attributes, values) = (&coordinates[..], &stream.values[items]);
            let event = Event { attributes, coordinates: &coordinates, values };
            let (mut one, mut other) = (vec![0.0; stream.classes], vec![0.0; stream.classes]);
            let lesson = Lesson::of(stream.labels[t]);
            at_once.step(event, lesson, &mut one);
            in_two.step(event, Lesson::NONE, &mut other);
            in_two.learn_predicted(event, lesson, &mut other);
            assert_eq!(one, other);
        }
        assert_eq!(at_once.aggregator().state(), in_two.aggregator().state());
    }
}

#[test]
fn who_says_nothing_keeps_its_weight_and_has_no_say() {
    for kind in KINDS {
        let (mut model, classes) = (Aggregator::new(3, kind == Kind::Numbers, 0.0), 3);
        let classes = if kind == Kind::Several { classes } else { 1 };
        model.widen(classes);
        let label = 1.0;
        let mut said: Vec<f64> = (0..3 * classes).map(|place| f64::from(place as u32 % 4) / 4.0).collect();
        let mut mixed = vec![0.0; classes];
        (0..20).for_each(|_| _ = model.step(Said::of(&said), label, Count::of(1.0), &mut mixed));
        let (before, state) = (model.weights()[1], model.state());
        said[classes] = f64::NAN;
        model.step(Said::of(&said), label, Count::of(1.0), &mut mixed);
        let moved = (model.weights()[1] - before).abs();
        assert!(moved <= SHARE, "{moved}");
        let after = model.state();
        let (parameters, old) = (after.f64s("parameters").unwrap().0, state.f64s("parameters").unwrap().0);
        let size = parameters.len() / 3;
        assert_eq!(parameters[size..2 * size], old[size..2 * size]);
        assert_ne!(parameters[..size], old[..size]);
        // Whatever it would have said.
        let mut same = mixed.clone();
        model.step(Said::of(&said), f64::NAN, Count::of(0.0), &mut mixed);
        said[classes..2 * classes].iter_mut().skip(1).for_each(|score| *score = 1e9);
        model.step(Said::of(&said), f64::NAN, Count::of(0.0), &mut same);
        assert_eq!(mixed, same);
    }
}
