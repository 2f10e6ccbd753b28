//! Experts that share the features of an event give the same results as alone.

use super::Mixture;
use super::aggregator::{Aggregator, Count, ExpertScores};
use super::relevance::Relevance;
use crate::block::{Block, Terms};
use crate::learner::{Learner, Lesson};
use crate::learners::explicit::Explicit;
use crate::learners::linear::{Step, Update};
use crate::learners::products::Products;
use crate::learners::subspace::{Settings, Subspace};
use crate::loss::Loss;
use crate::state::State;

const EVENTS: usize = 300;
const ATTRIBUTES: u32 = 9;

/// Events with the constant and some of nine attributes, more of them as time goes by, and their labels.
struct Stream {
    starts: Vec<usize>,
    attributes: Vec<u32>,
    values: Vec<f64>,
    labels: Vec<f64>,
}

impl Stream {
    fn new(classes: usize) -> Self {
        let mut seed = 7_u64;
        let mut uniform = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            2.0 * ((seed >> 33) as f64 / f64::from(1_u32 << 31)) - 1.0
        };
        let (mut attributes, mut values, mut starts) = (Vec::new(), Vec::new(), vec![0]);
        let mut labels = Vec::new();
        for t in 0..EVENTS {
            let latent = uniform();
            attributes.push(0);
            values.push(1.0);
            for attribute in 1..=ATTRIBUTES.min(2 + t as u32 / 20) {
                if uniform() > 0.0 {
                    attributes.push(attribute);
                    values.push(latent + 0.2 * uniform());
                }
            }
            starts.push(values.len());
            let class = ((latent + 1.0) * classes as f64 / 2.0).floor();
            labels.push(if classes > 2 { class } else { latent.signum() });
        }
        Self { starts, attributes, values, labels }
    }

    fn block(&self, begin: usize, end: usize) -> Block<'_> {
        Block {
            starts: &self.starts[begin..=end],
            attributes: &self.attributes,
            coordinates: &self.attributes,
            values: &self.values,
            raw: &self.values,
            terms: Terms::default(),
            evicted: &[],
        }
    }

    fn lessons(&self) -> Vec<Lesson<'_>> {
        let label = |t: usize| if t.is_multiple_of(9) { f64::NAN } else { self.labels[t] };
        (0..EVENTS).map(|t| Lesson { label: label(t), weight: (t % 4) as f64, ..Lesson::NONE }).collect()
    }
}

/// Three that share, after one whose completion has another setting.
fn subspaces(max_pairwise_coordinates: usize, regression: bool) -> Vec<Box<dyn Learner>> {
    let (indicators, shrink, half_life, weights_half_life, rank) = (false, 5.0, 40.0, 0.0, 3);
    let plain = Settings {
        regression,
        r: 3.0,
        indicators,
        shrink,
        half_life,
        weights_half_life,
        max_pairwise_coordinates,
        rank,
    };
    let each = [
        Settings { shrink: 1.0, ..plain },
        plain,
        Settings { indicators: true, r: 1.0, ..plain },
        Settings { weights_half_life: 7.0, ..plain },
    ];
    each.into_iter().map(|settings| Box::new(Subspace::new(settings)) as Box<dyn Learner>).collect()
}

/// Three that share, before one of another order; with 8 bits, the table is too small for all features.
fn explicits(table_bits: u32, regression: bool) -> Vec<Box<dyn Learner>> {
    let losses = if regression { [Loss::Squared; 3] } else { [Loss::Hinge, Loss::Logistic, Loss::Logistic] };
    let updates = [Update::Arow, Update::Adagrad, Update::Sgd].into_iter().zip(losses);
    let step = |(update, loss)| Step {
        update,
        loss,
        r: 2.0,
        eta: 0.1,
        rho: 0.1,
        steepness: 6.0,
        half_life: 40.0,
        restarts: false,
    };
    let steps: Vec<Step> = updates.map(step).collect();
    let orders = [2, 2, 2, 3].into_iter().zip([steps[0], steps[1], steps[2], steps[0]]);
    let learner = |(gamma, step)| Explicit::new(gamma, true, step, table_bits).unwrap();
    orders.map(|each| Box::new(learner(each)) as Box<dyn Learner>).collect()
}

/// Their mixture, which is checked to have so many learners.
fn mixture(experts: Vec<Box<dyn Learner>>, classes: usize, regression: bool, learners: usize) -> Mixture {
    let named = experts.into_iter().enumerate().map(|(number, each)| (number.to_string(), each)).collect();
    let mut mixture = Mixture::new(named, 0, regression, 0.0).unwrap().without_recent();
    assert_eq!(mixture.learners().len(), learners);
    if classes > 2 {
        mixture.widen(classes);
    }
    mixture
}

/// The mixed predictions of experts that learn separately.
fn expected(experts: Vec<Box<dyn Learner>>, stream: &Stream, classes: usize, regression: bool) -> Vec<f64> {
    let mut mixing = Aggregator::new(experts.len(), regression, 0.0);
    let columns = if classes > 2 { classes } else { 1 };
    mixing.widen(columns);
    let lessons = stream.lessons();
    let mut all_scores = Vec::new();
    for mut expert in experts {
        if columns > 1 {
            expert.widen(columns);
        }
        let (mut scores, mut losses) = (vec![0.0; EVENTS * columns], vec![0.0; EVENTS]);
        expert.run(&stream.block(0, EVENTS), &lessons, &mut scores, &mut losses);
        all_scores.push(scores);
    }
    let mut relevance = Relevance::default();
    let mut mixed = vec![0.0; EVENTS * columns];
    for (t, (lesson, mixed)) in lessons.iter().zip(mixed.chunks_exact_mut(columns)).enumerate() {
        let row: Vec<f64> =
            all_scores.iter().flat_map(|each| &each[t * columns..][..columns]).copied().collect();
        let event = stream.block(t, t + 1).event(0);
        let observed = [event.len() as f64, -relevance.open(&event)];
        mixing.step(ExpertScores { scores: &row, observed }, lesson.label, Count::of(lesson.weight), mixed);
        if mixing.is_of_two() && lesson.is_learned() {
            relevance.learn(&event, mixed[0]);
        }
    }
    mixed
}

/// Predict and then learn each event separately; the model is saved and restored at times.
fn one_by_one(make: impl Fn() -> Mixture, stream: &Stream) -> (Vec<f64>, State) {
    let mut mixture = make();
    let columns = mixture.classes();
    let mut all_scores = vec![0.0; EVENTS * columns];
    for (t, (lesson, scores)) in stream.lessons().iter().zip(all_scores.chunks_exact_mut(columns)).enumerate()
    {
        let block = stream.block(t, t + 1);
        mixture.step(block.event(0), Lesson::NONE, scores);
        if t % 50 == 1 {
            let state = mixture.state();
            mixture = make();
            mixture.restore(&state, ATTRIBUTES as usize + 1, ATTRIBUTES as usize + 1).unwrap();
            mixture.step(block.event(0), *lesson, scores);
        } else {
            mixture.learn_predicted(block.event(0), *lesson, scores);
        }
    }
    (all_scores, mixture.state())
}

fn check(experts: impl Fn(bool) -> Vec<Box<dyn Learner>>, learners: usize) {
    for (classes, regression) in [(2, false), (4, false), (2, true)] {
        let stream = Stream::new(classes);
        let make = || mixture(experts(regression), classes, regression, learners);
        let alone = expected(experts(regression), &stream, classes, regression);
        let (mut whole, mut scores) = (make(), vec![0.0; alone.len()]);
        whole.set_threads(2);
        whole.run(&stream.block(0, EVENTS), &stream.lessons(), &mut scores, &mut vec![0.0; EVENTS]);
        assert!(scores == alone);
        // Not `assert_eq`, which would print everything.
        assert!(one_by_one(make, &stream) == (alone, whole.state()));
        let broken: Vec<String> = whole.state().0.keys().filter(|key| key.contains(".1.")).cloned().collect();
        for key in broken {
            let mut state = whole.state();
            state.0.remove(&key);
            assert!(make().restore(&state, 10, 10).is_err(), "no {key}");
        }
    }
}

#[test]
fn subspaces_share_their_completion() {
    check(|regression| subspaces(64, regression), 2);
    check(|regression| subspaces(5, regression), 2);
}

#[test]
fn other_learners_share_nothing() {
    let products = |regression| -> Vec<Box<dyn Learner>> {
        let loss = if regression { Loss::Squared } else { Loss::Hinge };
        let step = Step::arow(loss, 2.0);
        vec![Box::new(Products::new(step, 18).unwrap()), Box::new(Products::new(step, 9).unwrap())]
    };
    check(products, 2);
}

#[test]
fn explicit_forms_share_their_features() {
    check(|regression| explicits(18, regression), 2);
    check(|regression| explicits(8, regression), 2);
}

#[test]
fn trained_experts_share_nothing() {
    let stream = Stream::new(2);
    let mut experts = subspaces(64, false);
    let lesson = Lesson::of(1.0);
    experts[2].step(stream.block(0, 1).event(0), lesson, &mut [0.0]);
    mixture(experts, 2, false, 4);
}
