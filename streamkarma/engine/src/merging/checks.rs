//! Helpers shared by tests of merging.

use crate::learner::Learner;
use crate::state::Array;

/// The base with the parts merged into it.
pub fn merged<L: Learner + Clone>(base: &L, parts: &[&L]) -> L {
    let mut all = base.clone();
    let parts: Vec<&dyn Learner> = parts.iter().map(|&part| part as &dyn Learner).collect();
    all.merge(&parts).unwrap();
    all
}

/// Assert that two learners have learned the same, with numbers equal up to `within`, absolute or relative.
pub fn assert_same(one: &impl Learner, other: &impl Learner, within: f64) {
    let (one, other) = (one.state(), other.state());
    assert!(one.0.keys().eq(other.0.keys()));
    for (name, array) in &one.0 {
        match (array, &other.0[name]) {
            (Array::F64(one, shape), Array::F64(other, other_shape)) => {
                assert_eq!(shape, other_shape, "{name}");
                for (a, b) in one.iter().zip(other) {
                    assert!((a - b).abs() <= within * (1.0 + b.abs()), "{name}: {a} and not {b}");
                }
            }
            (one, other) => assert_eq!(one, other, "{name}"),
        }
    }
}
