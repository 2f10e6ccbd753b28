//! A mixture of experts that repeat values of an event.

use super::aggregator::{Aggregator, Count, ExpertScores};
use super::completeness::{Completeness, Observed};
use super::relevance::Relevance;
use super::{Calibrated, Mixture};
use crate::block::{Block, Event, Evicted, Terms};
use crate::learner::{Fact, Learner, Lesson, Unit};
use crate::learners::transformed_target::{Point, TransformedTarget};
use crate::math::log1p;
use crate::state::{Array, Refused, State};

pub(super) const EVENTS: usize = 400;
/// Arrays of a state that may contain any finite numbers.
const HARMLESS: [&str; 20] = [
    "labels",
    "errors_scatter",
    "recent.parameters",
    "recent.residuals",
    "recent.labels",
    "recent.variance",
    "recent.spread",
    "parameters",
    "adjusting",
    "offsets",
    "mix",
    "squares",
    "mean_losses",
    "long_gains",
    "long_squares",
    "late.sums",
    "relevance.products",
    "relevance.said",
    "relevance.squares",
    "relevance.total",
];

/// Predicts the values of an event from `at` on, one for each class, and counts events.
#[derive(Clone)]
struct Parrot {
    at: usize,
    classes: usize,
    steps: u64,
}

impl Learner for Parrot {
    fn classes(&self) -> usize {
        self.classes
    }

    fn steps(&self) -> u64 {
        self.steps
    }

    fn step(&mut self, event: Event, lesson: Lesson, scores: &mut [f64]) -> f64 {
        scores.copy_from_slice(&event.values[self.at..self.at + self.classes]);
        self.steps += u64::from(lesson.is_learned());
        f64::NAN
    }

    fn forget(&mut self, _: &Evicted) {}

    fn widen(&mut self, classes: usize) {
        self.classes = classes;
    }

    fn restart(&mut self, steps: u64) {
        (self.steps, self.classes) = (steps, 1);
    }

    fn summary(&self) -> Vec<(&'static str, Fact)> {
        vec![("bytes", Fact::Count(100))]
    }

    fn state(&self) -> State {
        let mut state = State::default();
        state.put_i64s("seen", vec![self.steps as i64, self.classes as i64], &[2]);
        state
    }

    fn restore(&mut self, state: &State, _: usize, _: usize) -> Result<(), Refused> {
        let seen = state.i64s("seen")?.0;
        (self.steps, self.classes) = (seen[0] as u64, seen[1] as usize);
        Ok(())
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    Two,
    Several,
    Numbers,
}

pub(super) const KINDS: [Kind; 3] = [Kind::Two, Kind::Several, Kind::Numbers];

/// Every seventh event is predicted first, and the third after it has its label.
fn ticket_of(t: usize) -> u64 {
    match t % 7 {
        0 => t as u64 + 1,
        3 => t as u64 - 2,
        _ => 0,
    }
}

/// Labels, and events of 9 to 11 values: scores of three experts of increasing quality, and some that are not used.
pub(super) struct Stream {
    pub labels: Vec<f64>,
    values: Vec<f64>,
    coordinates: Vec<u32>,
    starts: Vec<usize>,
}

impl Stream {
    pub fn new(kind: Kind) -> Self {
        let mut seed = 5_u64;
        let mut uniform = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            2.0 * ((seed >> 33) as f64 / f64::from(1_u32 << 31)) - 1.0
        };
        let (mut labels, mut values, mut starts) = (Vec::new(), Vec::new(), vec![0]);
        for t in 0..EVENTS {
            let label = match kind {
                Kind::Two => uniform().signum(),
                Kind::Several => (1.5 * (uniform() + 1.0)).floor(),
                Kind::Numbers => uniform(),
            };
            for value in 0..9 {
                let knows =
                    if kind != Kind::Several { label } else { f64::from(label as usize == value % 3) };
                values.push((value / 3) as f64 * knows + 3.0 * uniform());
            }
            values.extend(&[0.0; 2][..t * t % 5 % 3]);
            labels.push(label);
            starts.push(values.len());
        }
        let coordinates = starts.windows(2).flat_map(|ends| 0..(ends[1] - ends[0]) as u32).collect();
        Self { labels, values, coordinates, starts }
    }

    /// The events from `begin` to `end`.
    pub fn block(&self, begin: usize, end: usize) -> Block<'_> {
        Block {
            starts: &self.starts[begin..=end],
            attributes: &self.coordinates,
            coordinates: &self.coordinates,
            values: &self.values,
            raw: &self.values,
            terms: Terms::default(),
            evicted: &[],
        }
    }

    /// The predictions of the three experts and of one external expert for event `t`.
    pub fn scores(&self, t: usize, classes: usize) -> Vec<f64> {
        let values = &self.values[self.starts[t]..];
        [0, 3, 6, 0].iter().flat_map(|&at| &values[at..at + classes]).copied().collect()
    }

    /// How much of event `t` is observed.
    pub fn observed(&self, t: usize, relevance: &Relevance) -> Observed {
        let event = self.block(t, t + 1).event(0);
        [event.len() as f64, -relevance.open(&event)]
    }

    pub fn lessons(&self) -> Vec<Lesson<'_>> {
        let lesson = |t: usize| Lesson {
            wants_scores: true,
            label: if t.is_multiple_of(7) { f64::NAN } else { self.labels[t] },
            weight: (t % 5) as f64 / 2.0,
            ticket: ticket_of(t),
            observed_before: false,
            shares_label: false,
            target: f64::NAN,
            unit: Unit::NONE,
            external_scores: &self.values[self.starts[t]..][..3],
        };
        (0..EVENTS).map(lesson).collect()
    }
}

pub(super) fn mixture(kind: Kind, external_experts: usize) -> Mixture {
    let parrot = |e: usize| -> Box<dyn Learner> { Box::new(Parrot { at: 3 * e, classes: 1, steps: 0 }) };
    let experts = (0..3).map(|e| (format!("expert {e}"), parrot(e))).collect();
    let mut made = Mixture::new(experts, external_experts, kind == Kind::Numbers, 0.0).unwrap();
    if kind == Kind::Several {
        made.widen(3);
    }
    made
}

/// The bits of the scores and losses of events from `begin` to `end`.
pub(super) fn run(model: &mut dyn Learner, stream: &Stream, begin: usize, end: usize) -> Vec<u64> {
    let (mut scores, mut losses) = (vec![0.0; (end - begin) * model.classes()], vec![0.0; end - begin]);
    model.run(&stream.block(begin, end), &stream.lessons()[begin..end], &mut scores, &mut losses);
    scores.iter().chain(&losses).map(|each| each.to_bits()).collect()
}

#[test]
fn blocks_restores_and_threads_do_not_affect_results() {
    for kind in KINDS {
        let (stream, mut whole, mut pieces) = (Stream::new(kind), mixture(kind, 1), mixture(kind, 1));
        let mut abreast = mixture(kind, 1);
        abreast.set_threads(2);
        let bits = run(&mut whole, &stream, 0, EVENTS);
        assert_eq!(bits, run(&mut abreast, &stream, 0, EVENTS));
        for (begin, end) in [(0, 1), (1, 1), (1, 2), (2, 150), (150, EVENTS)] {
            let mut resumed = mixture(kind, 1);
            resumed.restore(&pieces.state(), 16, 16).unwrap();
            pieces = resumed;
            let part = run(&mut pieces, &stream, begin, end);
            let classes = whole.classes();
            assert_eq!(part[..(end - begin) * classes], bits[begin * classes..end * classes]);
        }
        assert_eq!(whole.state(), pieces.state());
        assert_eq!(whole.state(), abreast.state());
    }
}

#[test]
fn predict_then_learn_equals_one_step() {
    let parrot: Box<dyn Learner> = Box::new(Parrot { at: 6, classes: 1, steps: 0 });
    let transformed = TransformedTarget::new(parrot, Point::Mean).unwrap();
    let mut once = Mixture::new(vec![("bent".to_owned(), Box::new(transformed))], 0, true, 0.0).unwrap();
    let (mut twice, stream) = (once.clone(), Stream::new(Kind::Numbers));
    for t in 0..EVENTS {
        let block = stream.block(t, t + 1);
        let (lesson, mut scores) = (Lesson::of(stream.labels[t]), [[0.0]; 2]);
        let losses = [once.step(block.event(0), lesson, &mut scores[0]), {
            twice.step(block.event(0), Lesson::NONE, &mut scores[1]);
            twice.learn_predicted(block.event(0), lesson, &mut scores[1])
        }];
        assert_eq!((losses[0], scores[0]), (losses[1], scores[1]));
    }
    assert_eq!(once.state(), twice.state());
}

#[test]
fn mixture_equals_experts_plus_aggregator() {
    for kind in KINDS {
        let (stream, mut whole) = (Stream::new(kind), mixture(kind, 1).without_recent());
        let classes = whole.classes();
        let mut alone = Aggregator::new(4, kind == Kind::Numbers, 0.0);
        alone.widen(classes);
        let mut relevance = Relevance::default();
        let mut expected = Vec::new();
        let mut losses = Vec::new();
        for (t, lesson) in stream.lessons().iter().enumerate() {
            let mut mixed = vec![0.0; classes];
            let expert_scores =
                ExpertScores { scores: &stream.scores(t, classes), observed: stream.observed(t, &relevance) };
            losses.push(alone.step(expert_scores, lesson.label, Count::of(lesson.weight), &mut mixed));
            if kind == Kind::Two && lesson.is_learned() {
                relevance.learn(&stream.block(t, t + 1).event(0), mixed[0]);
            }
            expected.extend(mixed);
        }
        let bits: Vec<u64> = expected.iter().chain(&losses).map(|each| each.to_bits()).collect();
        let (mut scores, mut losses) = (vec![0.0; EVENTS * classes], vec![0.0; EVENTS]);
        let lessons: Vec<Lesson> =
            stream.lessons().into_iter().map(|each| Lesson { ticket: 0, ..each }).collect();
        whole.run(&stream.block(0, EVENTS), &lessons, &mut scores, &mut losses);
        assert!(scores.iter().chain(&losses).map(|each| each.to_bits()).eq(bits));
        assert_eq!(whole.aggregator.weights(), alone.weights());
    }
}

#[test]
fn informative_experts_gain_weight() {
    let (stream, mut model) = (Stream::new(Kind::Two), mixture(Kind::Two, 0));
    let (mut scores, mut losses) = (vec![0.0; EVENTS], vec![0.0; EVENTS]);
    let lessons: Vec<Lesson> = stream.labels.iter().map(|&label| Lesson::of(label)).collect();
    model.run(&stream.block(0, EVENTS), &lessons, &mut scores, &mut losses);
    for (&loss, &label, &score) in losses.iter().zip(&stream.labels).zip(&scores).map(|((a, b), c)| (a, b, c))
    {
        assert!((loss - log1p(libm::exp(-label * score))).abs() < 1e-9);
    }
    assert!(losses[200..].iter().sum::<f64>() < 0.45 * 200.0);
    let facts = &model.summary()[..];
    let [(_, Fact::Numbers(weights)), (_, Fact::Count(bytes)), (_, Fact::Number(_)), (_, Fact::Count(0))] =
        facts
    else {
        panic!()
    };
    assert_eq!(weights.iter().map(|(name, _)| &name[..]).collect::<Vec<_>>()[2..], ["expert 2", "blend"]);
    assert!(weights[2].1 + weights[3].1 > 0.9);
    let known_of_names = 72 + 16 * 2 * 10;
    let of_last_errors = 8 * (9 + 9 * 9 + 4 + 4 + 2 * 2 + 4);
    assert_eq!(
        *bytes,
        300 + 8 * (3 + 9 + 27 + 4 + 4 + 3 + 9 + 1 + 28) + 8 * 4 + known_of_names + of_last_errors
    );
}

#[test]
fn extreme_scores_and_weights_stay_finite() {
    for kind in KINDS {
        for score in [0.0, 1e-300, -1e300, f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
            for weight in [1e-300, 1.0, 1e300] {
                let mut model = Aggregator::new(2, kind == Kind::Numbers, 0.0);
                model.widen(if kind == Kind::Several { 3 } else { 1 });
                let classes = model.classes();
                let mut expert_scores = vec![1.0; 2 * classes];
                expert_scores[0] = score;
                let mut mixed = vec![0.0; classes];
                for t in 0..60 {
                    let label = if kind == Kind::Several { f64::from(t % 3) } else { f64::from(t % 2) - 0.5 };
                    let loss =
                        model.step(ExpertScores::of(&expert_scores), label, Count::of(weight), &mut mixed);
                    assert!(loss.is_finite() && mixed.iter().all(|each| each.is_finite()));
                }
                model.clone().restore(&model.state()).unwrap();
            }
        }
    }
}

/// The uncertainty of an expert's calibration after labels that each came in so many parts.
fn uncertainty(regression: bool, parts: u32, shares_label: bool) -> f64 {
    let parrot: Box<dyn Learner> = Box::new(Parrot { at: 0, classes: 1, steps: 0 });
    let mut model = Mixture::new(vec![("parrot".to_owned(), parrot)], 0, regression, 400.0).unwrap();
    for t in 0..1500 {
        let score = f64::from(t % 5) - 2.0;
        let label = if t % 3 == 0 { -1.0 } else { score.signum() };
        let values = [score];
        let event = Event::of(&[0], &[0], &values);
        for _ in 0..parts {
            let lesson = Lesson { weight: 1.0 / f64::from(parts), shares_label, ..Lesson::of(label) };
            model.step(event, lesson, &mut [0.0]);
        }
    }
    let size = model.aggregator.size();
    model.aggregator.calibration.covariances.iter().step_by(size + 1).sum()
}

#[test]
fn split_labels_fade_estimates_no_more_than_whole_ones() {
    for regression in [false, true] {
        let once = uncertainty(regression, 1, false);
        // The warm-up of two classes goes by steps, and so is shorter. For a number, all parts but the first are
        // predicted well, which indicates that there is less noise.
        assert!((0.75..1.1).contains(&(uncertainty(regression, 20, true) / once)));
        assert!(uncertainty(regression, 20, false) > 2.0 * once);
    }
}

#[test]
fn widening_keeps_the_odds_and_restart_resets() {
    let (stream, mut model) = (Stream::new(Kind::Two), mixture(Kind::Two, 0));
    run(&mut model, &stream, 0, EVENTS);
    // For several classes, the number of observed values is not used.
    model.aggregator.completeness = Completeness::new();
    let odds = f64::from_bits(run(&mut model, &stream, 7, 8)[0]);
    let expert_scores: Vec<f64> =
        (0..3).flat_map(|e| [-0.5, 0.5].map(|half| half * stream.values[stream.starts[7] + 3 * e])).collect();
    let mut mixed = [0.0; 2];
    model.aggregator.widen(2);
    assert!(
        model
            .aggregator
            .step(ExpertScores::of(&expert_scores), f64::NAN, Count::of(1.0), &mut mixed)
            .is_nan()
    );
    assert!((mixed[1] - mixed[0] - odds).abs() < 1e-9);
    model.restart(7);
    assert_eq!((model.steps(), model.classes()), (7, 1));
    assert_eq!(model.aggregator.weights(), [0.25; 4]);
}

#[test]
fn states_that_contradict_themselves_are_refused() {
    for kind in KINDS {
        let (stream, mut model) = (Stream::new(kind), mixture(kind, 0));
        run(&mut model, &stream, 0, EVENTS);
        let good = model.state();
        // Older files lack the targets' ties and their range; see there for what is refused.
        let is_required = |name: &str| !["ties", "range"].contains(&name);
        for name in good.0.keys().filter(|name| is_required(name)) {
            let mut fewer = good.clone();
            fewer.0.remove(name);
            assert!(mixture(kind, 0).restore(&fewer, 16, 16).is_err(), "no {name}");
            let Array::F64(values, shape) = &good.0[name] else { continue };
            for change in [-1.0, f64::NAN, 1e9, f64::INFINITY] {
                let wild: Vec<f64> = values.iter().map(|each| each * change).collect();
                let harmless = HARMLESS.contains(&&name[..]);
                if values.iter().all(|&each| each == 0.0) || change.is_finite() && harmless {
                    continue;
                }
                let mut state = good.clone();
                state.put_f64s(name, wild, shape);
                assert!(mixture(kind, 0).restore(&state, 16, 16).is_err(), "{name} times {change}");
            }
        }
        for (name, array) in good.0.iter().filter(|(name, _)| is_required(name)) {
            let Array::F64(_, shape) = array else { continue };
            let mut state = good.clone();
            state.put_f64s(name, Vec::new(), &vec![0; shape.len()]);
            let was_empty = shape.contains(&0);
            assert!(was_empty || mixture(kind, 0).restore(&state, 16, 16).is_err(), "{name} empty");
        }
        let mut more = good.clone();
        more.put_f64s("3.seen", vec![], &[0]);
        assert!(model.restore(&more, 16, 16).is_err());
        assert_eq!((model.steps(), model.classes()), (0, 1));
    }
    assert!(mixture(Kind::Two, 0).restore(&mixture(Kind::Several, 0).state(), 16, 16).is_ok());
    assert!(mixture(Kind::Two, 0).restore(&mixture(Kind::Numbers, 0).state(), 16, 16).is_err());
}

#[test]
fn a_calibrated_learner_has_its_own_summary() {
    let mut model = Calibrated::new(Box::new(Parrot { at: 6, classes: 1, steps: 0 }), 50.0).unwrap();
    run(&mut model, &Stream::new(Kind::Two), 0, EVENTS);
    assert_eq!(model.summary(), [("bytes", Fact::Count(100))]);
    assert!(Mixture::new(Vec::new(), 0, false, 0.0).is_err());
}

#[test]
fn target_unit_respects_event_weights() {
    let mut aggregator = Aggregator::new(2, true, 0.0);
    for t in 0..100 {
        let target = f64::from(t % 5) - 2.0;
        aggregator.step(ExpertScores::of(&[target, 0.0]), target, Count::of(1.0), &mut [0.0]);
    }
    let unit = aggregator.calibration.squares[0];
    aggregator.step(ExpertScores::of(&[0.0, 0.0]), 1e6, Count::of(1e-9), &mut [0.0]);
    assert!((aggregator.calibration.squares[0] - unit).abs() < 1e-6 * unit);
}
