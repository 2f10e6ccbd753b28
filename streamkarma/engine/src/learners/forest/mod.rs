//! A forest.

mod codes;
mod forgetting;
mod leaf;
mod split;
mod state;
mod tree;

use codes::Codes;
use tree::{Random, Shape, Tree};

use crate::block::{Event, Gone};
use crate::learner::{Fact, Learner, Lesson};
use crate::loss::Loss;
use crate::math::{exp, log};
use crate::state::{Refused, State, ensure};

/// Temporary.
fn t(i: usize) -> f64 {
    static T: std::sync::OnceLock<Vec<f64>> = std::sync::OnceLock::new();
    T.get_or_init(|| {
        let mut values =
            vec![30.0, 4.0, 2.0, 1.2, 0.002, 1.0 / 150.0, 1.35, 1e6, 30.0, 0.5, 4.6, 0.12, 8.0, 1.0];
        if let Ok(given) = std::env::var("FOREST") {
            for each in given.split(',') {
                let (at, value) = each.split_once('=').unwrap();
                values[at.parse::<usize>().unwrap()] = value.parse().unwrap();
            }
        }
        values
    })[i]
}

/// How a forest learns; the same for its whole life.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Whether labels are targets.
    pub regression: bool,
    /// Trees, 1 to 1,000.
    pub trees: usize,
    /// Steps after which what was learned counts half, 1 or more; 0 for never.
    pub half_life: f64,
}

/// Lessons count no more than this.
const LARGEST_WEIGHT: f64 = 1e6;
/// Targets are cut at this, so that their squares stay finite.
const LARGEST_TARGET: f64 = 1e12;

/// The learner.
#[derive(Clone, Debug)]
pub struct Forest {
    settings: Settings,
    steps: u64,
    shape: Shape,
    codes: Codes,
    trees: Vec<Tree>,
    poisson: Vec<u64>,
    slopes: Vec<f64>,
    chances: Vec<f64>,
}

impl Forest {
    /// A learner that knows nothing.
    ///
    /// # Errors
    ///
    /// If there are too few or too many trees.
    pub fn new(settings: Settings) -> Result<Self, Refused> {
        let Settings { regression, trees, half_life } = settings;
        ensure((1..=1000).contains(&trees), &format!("trees must be between 1 and 1000, not {trees}"))?;
        let shape = Shape { regression, classes: if regression { 0 } else { 2 }, half_life };
        Ok(Self {
            settings,
            steps: 0,
            shape,
            codes: Codes::new(),
            trees: (0..trees).map(|tree| Tree::new(&shape, tree as u64)).collect(),
            poisson: poisson(t(13)),
            slopes: vec![0.0],
            chances: Vec::new(),
        })
    }

    fn predict(&mut self, event: &Event, scores: &mut [f64]) {
        let Self { codes, trees, shape, chances, .. } = self;
        codes.read(event);
        chances.clear();
        chances.resize(shape.width(), 0.0);
        let mut total = 0.0;
        for tree in trees {
            let vote = tree.vote();
            total += vote;
            let said = tree.predict(codes, shape);
            chances.iter_mut().zip(said).for_each(|(to, chance)| *to += vote * chance);
        }
        chances.iter_mut().for_each(|chance| *chance /= total);
        if shape.regression {
            scores[0] = chances[0];
        } else if let [score] = scores {
            *score = log((chances[1] + 1e-4) / (chances[0] + 1e-4));
        } else {
            scores.iter_mut().zip(chances).for_each(|(score, chance)| *score = log(*chance + 1e-4));
        }
    }

    fn learn(&mut self, lesson: &Lesson) {
        self.steps += 1;
        let label = if self.shape.regression {
            lesson.label.clamp(-LARGEST_TARGET, LARGEST_TARGET)
        } else if self.slopes.len() == 1 {
            f64::from(u8::from(lesson.label > 0.0))
        } else {
            lesson.label
        };
        let weight = lesson.weight.min(LARGEST_WEIGHT);
        for (number, tree) in self.trees.iter_mut().enumerate() {
            let mut random = Random::new(number as u64, self.steps);
            let drawn = random.next();
            let times = self.poisson.partition_point(|&below| below <= drawn) as f64 / t(13);
            tree.learn(&self.codes, &self.shape, label, times * weight, self.steps, &mut random);
        }
    }
}

/// The chances of fewer than 1, 2, … of a Poisson distribution, out of 2^64.
fn poisson(mean: f64) -> Vec<u64> {
    let (mut chance, mut below, mut thresholds) = (exp(-mean), 0.0, Vec::new());
    for times in 1..=24 {
        below += chance;
        chance *= mean / f64::from(times);
        thresholds.push((below * 18_446_744_073_709_551_616.0) as u64);
    }
    thresholds
}

impl Learner for Forest {
    fn classes(&self) -> usize {
        self.slopes.len()
    }

    fn steps(&self) -> u64 {
        self.steps
    }

    fn step(&mut self, event: Event, lesson: Lesson, scores: &mut [f64]) -> f64 {
        if lesson.is_learned() {
            self.codes.meet(&event);
        }
        self.predict(&event, scores);
        if !lesson.is_labelled() {
            return f64::NAN;
        }
        if lesson.is_learned() {
            self.learn(&lesson);
        }
        let loss = if self.shape.regression { Loss::Squared } else { Loss::Logistic };
        loss.judge(scores, lesson.label, &mut self.slopes)
    }

    fn forget(&mut self, gone: &Gone) {
        for tree in &mut self.trees {
            tree.forget(gone, &self.codes, &self.shape);
        }
        self.codes.forget(gone);
    }

    fn widen(&mut self, classes: usize) {
        let classes = classes.max(self.classes()).max(2);
        self.slopes.resize(classes, 0.0);
        let wider = Shape { classes, ..self.shape };
        self.trees.iter_mut().for_each(|tree| tree.widen(&self.shape, &wider));
        self.shape = wider;
    }

    fn restart(&mut self, steps: u64) {
        if let Ok(fresh) = Self::new(self.settings) {
            *self = Self { steps, ..fresh };
        }
    }

    fn summary(&self) -> Vec<(&'static str, Fact)> {
        let nodes: usize = self.trees.iter().map(|tree| tree.nodes.len()).sum();
        let bytes: usize = self.trees.iter().map(Tree::bytes).sum();
        vec![
            ("nodes", Fact::Count(nodes as u64)),
            ("bytes", Fact::Count((bytes + self.codes.bytes()) as u64)),
        ]
    }

    fn state(&self) -> State {
        self.to_state()
    }

    fn restore(&mut self, state: &State, attributes: usize, coordinates: usize) -> Result<(), Refused> {
        *self = self.restored(state, attributes, coordinates)?;
        Ok(())
    }
}
