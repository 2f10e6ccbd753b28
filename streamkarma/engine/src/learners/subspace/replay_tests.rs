use std::collections::VecDeque;

use super::examples::{Examples, MOST, MOST_ITEMS};
use super::replay::{DECAY, PART, WORST};
use super::tests::{SETTINGS, Stream, in_each_form, low_rank};
use super::*;

/// Learn events, one in `every` with its label; returns the scores.
fn teach(model: &mut Subspace, stream: &Stream, events: std::ops::Range<usize>, every: usize) -> Vec<f64> {
    let mut score = [0.0];
    let scores = events.map(|t| {
        let label = if t.is_multiple_of(every) { stream.labels[t] } else { f64::NAN };
        model.step(stream.block().event(t), Lesson::of(label), &mut score);
        score[0]
    });
    scores.collect()
}

/// Weights without replay and with it, trained by hand.
struct Reference {
    subspace: Subspace,
    models: [LinearModel; 2],
    losses: [f64; 2],
    kept: VecDeque<usize>,
    labelled: usize,
    due: f64,
    next: usize,
}

impl Reference {
    fn new(settings: Settings) -> Self {
        let model = LinearModel::new(settings.step(), 1, settings.rank);
        let (models, subspace) = ([model.clone(), model], Subspace::new(settings));
        Self { subspace, models, losses: [0.0; 2], kept: VecDeque::new(), labelled: 0, due: 0.0, next: 0 }
    }

    fn write(&mut self, event: &Event) {
        self.subspace.write_features(event);
        let places = self.subspace.heads[0].model.places();
        self.models.iter_mut().for_each(|model| model.resize(places));
    }

    fn step(&mut self, stream: &Stream, t: usize, label: f64) -> f64 {
        let event = stream.block().event(t);
        if !label.is_nan() {
            self.subspace.admit(&event);
        }
        self.write(&event);
        let trusted = usize::from(self.losses[1] <= WORST * self.losses[0]);
        let mut scores = [[0.0]; 2];
        let Subspace { index, phi, .. } = &self.subspace;
        for ((model, score), sum) in self.models.iter_mut().zip(&mut scores).zip(&mut self.losses) {
            let loss = model.step(index, phi, &Lesson::of(label), score);
            if !label.is_nan() {
                *sum = DECAY * *sum + loss;
            }
        }
        self.subspace.observe(&event);
        if label.is_nan() {
            self.replay(stream);
        } else {
            self.labelled += 1;
            self.kept.push_back(t);
            if self.kept.len() > MOST {
                self.kept.pop_front();
                self.next = self.next.saturating_sub(1);
            }
        }
        scores[trusted][0]
    }

    fn replay(&mut self, stream: &Stream) {
        self.due += self.kept.len() as f64 / self.labelled.max(1) as f64;
        if self.due >= 1.0 {
            self.due -= 1.0;
            let at = self.next % self.kept.len();
            self.next = at + 1;
            self.write(&stream.block().event(self.kept[at]));
            let (Subspace { index, phi, .. }, mut score) = (&self.subspace, [0.0]);
            self.models[1].predict(index, phi, &mut score);
            self.models[1].repeat(index, phi, &score, &Lesson::of(stream.labels[self.kept[at]]), PART);
        }
    }
}

#[test]
fn replay_matches_reference() {
    let stream = low_rank(3000, 10);
    in_each_form(|settings| {
        let (mut model, mut reference) = (Subspace::new(settings), Reference::new(settings));
        for t in 0..3000 {
            let label = if t % 5 % 2 == 1 || t > 2600 { stream.labels[t] } else { f64::NAN };
            let mut score = [0.0];
            model.step(stream.block().event(t), Lesson::of(label), &mut score);
            assert_eq!(score[0], reference.step(&stream, t, label), "event {t}");
        }
        assert!(reference.labelled > MOST);
        assert_eq!(model.steps(), reference.labelled as u64);
        for (model, by_hand) in model.models().zip(&reference.models) {
            (0..model.places())
                .for_each(|place| assert_eq!(model.weight(0, place), by_hand.weight(0, place)));
        }
    });
}

#[test]
fn replay_helps_with_few_labels() {
    let stream = low_rank(6000, 10);
    let wrong = |scores: Vec<f64>| {
        let late = scores.iter().zip(&stream.labels).skip(1000);
        late.filter(|(score, label)| **score * **label <= 0.0).count()
    };
    let mut model = Subspace::new(SETTINGS);
    let replayed = wrong(teach(&mut model, &stream, 0..6000, 50));
    let mut plain = Subspace::new(SETTINGS);
    let unreplayed = (0..6000).map(|t| {
        let (event, mut score) = (stream.block().event(t), [0.0]);
        let label = if t % 50 == 0 { stream.labels[t] } else { f64::NAN };
        plain.step(event, Lesson { weight: 0.0, ..Lesson::of(f64::NAN) }, &mut score);
        if label.is_nan() {
            plain.observe(&event);
        } else {
            plain.step(event, Lesson::of(label), &mut [0.0]);
        }
        score[0]
    });
    let unreplayed = wrong(unreplayed.collect());
    assert!(10 * replayed < 9 * unreplayed, "{replayed} {unreplayed}");
}

#[test]
fn fully_labelled_streams_keep_no_examples() {
    let stream = low_rank(200, 10);
    let mut model = Subspace::new(SETTINGS);
    stream.teach(&mut model, 0..200);
    assert!(model.examples.all.is_empty() && model.heads[0].replayed.is_none());
    assert!(model.state().0.keys().all(|name| !name.contains('.')));
}

#[test]
fn replay_is_not_trusted_after_labels_flip() {
    let mut stream = low_rank(4000, 10);
    stream.labels[3000..].iter_mut().for_each(|label| *label = -*label);
    let mut model = Subspace::new(SETTINGS);
    teach(&mut model, &stream, 0..3000, 10);
    let is_trusted = |model: &Subspace| model.heads[0].replayed.as_ref().unwrap().is_trusted();
    assert!(is_trusted(&model));
    teach(&mut model, &stream, 3000..4000, 10);
    assert!(!is_trusted(&model));
}

#[test]
fn state_round_trip_with_examples() {
    let stream = low_rank(1500, 10);
    in_each_form(|settings| {
        for classes in [2, 4] {
            let (mut one, mut other) = (Subspace::new(settings), Subspace::new(settings));
            teach(&mut one, &stream, 0..700, 3);
            other.restore(&one.state(), 11, 11).unwrap();
            assert_eq!(one.state(), other.state());
            if classes > 2 {
                [&mut one, &mut other].into_iter().for_each(|model| model.widen(classes));
                assert!(one.examples.all.iter().all(|each| [0.0, 1.0].contains(&each.label)));
            }
            let mut scores = vec![vec![0.0; one.classes()]; 2];
            for t in 700..1500 {
                let class = if classes > 2 { (t % classes) as f64 } else { stream.labels[t] };
                let lesson = Lesson::of(if t % 2 == 0 { class } else { f64::NAN });
                one.step(stream.block().event(t), lesson, &mut scores[0]);
                other.step(stream.block().event(t), lesson, &mut scores[1]);
                assert_eq!(scores[0], scores[1]);
            }
            let mut again = Subspace::new(settings);
            again.restore(&one.state(), 11, 11).unwrap();
            assert_eq!(one.state(), other.state());
            assert_eq!(again.state(), other.state());
        }
    });
}

#[test]
fn kept_examples_are_bounded() {
    let places: Vec<u32> = (0..MOST_ITEMS as u32 + 1).collect();
    let values = vec![1.0; places.len()];
    let mut examples = Examples::default();
    for t in 0..3000 {
        let size = [1, 40, 3000, MOST_ITEMS, MOST_ITEMS + 1][if t < 2000 { t % 2 } else { t % 5 }];
        let event = Event::of(&places[..size], &places[..size], &values[..size]);
        examples.keep(&event, &Lesson::of(1.0));
        assert!(examples.all.len() <= MOST && examples.items <= MOST_ITEMS);
        assert_eq!(examples.items, examples.all.iter().map(|each| each.values.len()).sum::<usize>());
    }
}
