//! Tests of merged intervals and sets against the scores they should have.

use super::{Intervals, Sets};

/// Intervals that continue from others, with scores that fall or grow.
fn taught(base: &Intervals, first: f64, by: f64, events: usize) -> Intervals {
    let mut intervals = base.clone();
    for t in 0..events {
        intervals.step(0.0, first + by * t as f64, true, 0);
    }
    intervals
}

fn merged(base: &Intervals, parts: &[&Intervals]) -> Intervals {
    let mut all = base.clone();
    all.merge(parts).unwrap();
    let mut back = Intervals::new(0.9);
    back.restore(&all.state()).unwrap();
    assert_eq!(back.state(), all.state());
    all
}

fn assert_alike(one: &Intervals, other: &Intervals) {
    assert!((one.calibration.share - other.calibration.share).abs() < 1e-12);
    assert_eq!(one.calibration.window, other.calibration.window);
}

#[test]
fn merging_keeps_the_latest_scores_of_all_parts() {
    let base = taught(&Intervals::new(0.9), 1000.0, 1.0, 400);
    let (one, two) = (taught(&base, 1.0, 2.0, 20), taught(&base, 2.0, 2.0, 500));
    // All 20 of one, and as many of the latest 230 of the other as fit.
    let mut expected: Vec<f64> = (0..20).map(|t| 1.0 + 2.0 * f64::from(t)).collect();
    expected.extend((270..500).map(|t| 2.0 + 2.0 * f64::from(t)));
    expected.sort_by(f64::total_cmp);
    let all = merged(&base, &[&one, &two]);
    assert_eq!(all.calibration.window.sorted(), expected);
    assert_eq!(all.calibration.window.count(), 920);
    let mean = (20.0 * one.calibration.share + 500.0 * two.calibration.share) / 520.0;
    assert!((all.calibration.share - mean).abs() < 1e-12);
    // Where there is capacity, the base's scores are present, once.
    let few = merged(&base, &[&one, &taught(&base, 2.0, 2.0, 20)]);
    let from_base = few.calibration.window.sorted().iter().filter(|&&score| score >= 1000.0).count();
    assert_eq!(from_base, 210);
}

#[test]
fn merge_order_and_grouping_do_not_matter() {
    for (before, events) in [(0, [5, 10, 20]), (100, [40, 80, 60]), (400, [300, 90, 200])] {
        let base = taught(&Intervals::new(0.9), 3.0, 0.5, before);
        let [a, b, c] = [0, 1, 2].map(|m| taught(&base, m as f64, 0.1 * m as f64, events[m]));
        let all = merged(&base, &[&a, &b, &c]);
        assert_alike(&merged(&base, &[&c, &a, &b]), &all);
        assert_alike(&merged(&base, &[&merged(&base, &[&c, &a]), &b]), &all);
        assert_alike(&merged(&base, &[&a, &merged(&base, &[&merged(&base, &[&b]), &c])]), &all);
        assert_alike(&merged(&base, &[&base, &a, &base]), &a);
        taught(&all, 1.0, 1.0, 300);
    }
}

#[test]
fn sets_merge_and_other_coverages_are_refused() {
    let (mut base, mut members) = (Sets::new(0.9), [false; 2]);
    let mut part = base.clone();
    for t in 0..300 {
        part.step((&[0.5], 2), (t % 3 > 0).then_some(t % 2), true, t as u64 + 1, &mut members);
    }
    assert!(base.merge(&[&part, &Sets::new(0.8)]).is_err());
    base.merge(&[&part]).unwrap();
    assert_eq!(base.calibration, part.calibration);
    assert_eq!((base.pending.len(), part.pending.len()), (0, 100));
    assert!(Intervals::new(0.9).merge(&[&Intervals::new(0.95)]).is_err());
}

#[test]
fn states_with_wrong_counts_are_refused() {
    let known = taught(&Intervals::new(0.9), 1.0, 0.5, 30);
    let (mut state, mut back) = (known.state(), Intervals::new(0.9));
    back.restore(&state).unwrap();
    assert_eq!(back.state(), state);
    for wrong in [vec![], vec![30; 31], vec![-1; 30], vec![1 << 53; 30], (0..30).rev().collect()] {
        let size = wrong.len();
        state.put_i64s("learned_at", wrong, &[size]);
        assert!(back.restore(&state).is_err());
    }
    state.0.remove("learned_at");
    assert!(back.restore(&state).is_err());
}
