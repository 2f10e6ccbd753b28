//! Events for tests of learners: two numbers and a category, with labels that are not linearly separable.

use crate::block::Event;
use crate::learner::{Learner, Lesson};
use crate::random::Random;
use crate::state::{Array, State};

/// Numbers from 0 to 1, the same each time.
pub struct Numbers(Random);

impl Numbers {
    pub fn new(seed: u64) -> Self {
        Self(Random::new(7, seed))
    }

    pub fn unit(&mut self) -> f64 {
        (self.0.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Two numbers within ±1.7, one of which is sometimes missing, and one of three categories.
pub struct Sample {
    pub attributes: Vec<u32>,
    pub coordinates: Vec<u32>,
    pub values: Vec<f64>,
}

impl Sample {
    pub fn new(numbers: &mut Numbers) -> Self {
        let mut sample = Self { attributes: vec![0], coordinates: vec![0], values: vec![1.0] };
        sample.put(1, 1, 3.4 * numbers.unit() - 1.7);
        if numbers.unit() < 0.7 {
            sample.put(2, 2, 3.4 * numbers.unit() - 1.7);
        }
        sample.put(3, 3 + (3.0 * numbers.unit()) as u32, 1.0);
        sample
    }

    pub fn put(&mut self, attribute: u32, coordinate: u32, value: f64) {
        self.attributes.push(attribute);
        self.coordinates.push(coordinate);
        self.values.push(value);
    }

    pub fn event(&self) -> Event<'_> {
        let Self { attributes, coordinates, values } = self;
        Event::of(attributes, coordinates, values)
    }

    /// The second number, or the value that its absence stands for.
    fn second(&self) -> f64 {
        if self.coordinates[2] == 2 { self.values[2] } else { -1.0 }
    }

    /// Whether the two numbers lie in a box; for the third category, whether they do not.
    fn class(&self) -> bool {
        let third = self.coordinates.last() == Some(&5);
        third != (self.values[1].abs() < 0.6 && self.second() > -0.4)
    }

    pub fn label(&self, task: Task) -> f64 {
        match task {
            Task::Two => {
                if self.class() {
                    1.0
                } else {
                    -1.0
                }
            }
            Task::Many(classes) => ((self.values[1] + 1.7) / 3.4 * classes as f64).floor(),
            Task::Regression => {
                if self.class() {
                    self.second() + 5.0
                } else {
                    -5.0
                }
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Task {
    Two,
    Many(usize),
    Regression,
}

pub const TASKS: [Task; 4] = [Task::Two, Task::Many(3), Task::Many(20), Task::Regression];

/// Learn so many events; returns the mean loss of the last 500.
pub fn teach<L: Learner>(learner: &mut L, task: Task, seed: u64, events: usize) -> f64 {
    let (mut numbers, mut scores, mut total) = (Numbers::new(seed), vec![0.0; learner.classes()], 0.0);
    for t in 0..events {
        let sample = Sample::new(&mut numbers);
        let loss = learner.step(sample.event(), Lesson::of(sample.label(task)), &mut scores);
        assert!(scores.iter().all(|score| score.is_finite()));
        total += if t + 500 >= events { loss } else { 0.0 };
    }
    total / 500.0
}

/// A state with one number changed.
pub fn changed(state: &State, name: &str, at: usize, value: f64) -> State {
    let mut broken = state.clone();
    match broken.0.get_mut(name).unwrap() {
        Array::F64(values, _) => values[at] = value,
        Array::I64(values, _) => values[at] = value as i64,
        Array::I32(values, _) => values[at] = value as i32,
        Array::U64(values, _) => values[at] = value as u64,
        Array::Bool(..) => {}
    }
    broken
}

/// Check that a trained model is restored bit for bit from its state, that both then learn the same, with or without
/// predictions in between, and that the state is rejected by the `other` learner, of another task, or with fewer names.
pub fn assert_resumed<L: Learner + Clone>(model: &mut L, new: &L, other: &L, task: Task) {
    let mut back = new.clone();
    back.restore(&model.state(), 4, 6).unwrap();
    assert_eq!(back.state(), model.state());
    let (mut one, mut two) = (vec![0.0; model.classes()], vec![0.0; model.classes()]);
    let mut numbers = Numbers::new(6);
    for _ in 0..200 {
        let sample = Sample::new(&mut numbers);
        let lesson = Lesson::of(sample.label(task));
        let mut unknown = Sample::new(&mut numbers);
        unknown.put(1 << 30, 1 << 30, 1.0);
        back.step(unknown.event(), Lesson { weight: 0.0, ..lesson }, &mut two);
        back.step(sample.event(), Lesson::NONE, &mut two);
        back.learn_predicted(sample.event(), lesson, &mut two);
        model.step(sample.event(), lesson, &mut one);
        assert_eq!(one, two);
    }
    assert_eq!(back.state(), model.state());
    assert!(other.clone().restore(&model.state(), 4, 6).is_err());
    assert!(back.restore(&model.state(), 4, 5).is_err() && back.restore(&model.state(), 3, 6).is_err());
}
