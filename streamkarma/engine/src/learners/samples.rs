//! Events that tests of learners learn from: two numbers and a category, and labels that no line tells.

use crate::block::Event;
use crate::chance::Random;
use crate::learner::{Learner, Lesson};

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

/// Two numbers within ±1.7, of which one is missing at times, and a category of three.
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
        Event { attributes, coordinates, values }
    }

    /// The second number, or what its absence says.
    fn second(&self) -> f64 {
        if self.coordinates[2] == 2 { self.values[2] } else { -1.0 }
    }

    /// In a box of the two numbers, unless the category is the third.
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
