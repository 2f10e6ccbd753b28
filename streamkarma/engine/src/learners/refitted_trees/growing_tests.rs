//! Columns of bins, and splits compared with an exhaustive search.

use super::columns::{Column, columns_of};
use super::ensemble::NONE;
use super::growing::{Ground, Sums};
use super::tests::new;
use crate::learners::samples::{Task, teach};
use crate::random::Random;

#[test]
fn column_cuts_are_midpoints_of_values() {
    let values = [3.0, f64::NAN, 1.0, 1.0, 1.0, 1.0, 2.0, 3.0, 3.0, 1e90, -1e90];
    let column = Column::new(4, &values);
    assert_eq!(column.cuts, [-5e89, 1.5, 2.5, 5e89, 1e100]);
    assert_eq!(column.bins, [3, 5, 1, 1, 1, 1, 2, 3, 3, 4, 0]);
}

#[test]
fn first_split_matches_exhaustive_search() {
    let mut model = new(Task::Two, 0.0);
    teach(&mut model, Task::Two, 5, 300);
    let columns = columns_of(&model.refits.latest, &mut model.refits.row);
    assert!(columns.len() > 4, "some are filled in turn, and one alone");
    let mut random = Random::new(0, 9);
    let mut unit = || (random.next() >> 11) as f64 / (1u64 << 53) as f64;
    for _ in 0..30 {
        let number = |_| Sums { slope: unit() - 0.5, curvature: 0.1 };
        let each: Vec<Sums> = (0..300).map(number).collect();
        let worth = |events: &[usize]| {
            let slope: f64 = events.iter().map(|&event| each[event].slope).sum();
            slope * slope / (0.1 * events.len() as f64 + 1.0)
        };
        let gain = |column: &Column, bin: u8, missing_left: bool| {
            let is_left = |event: &usize| {
                let own = column.bins[*event];
                if usize::from(own) == column.cuts.len() { missing_left } else { own <= bin }
            };
            let (left, right): (Vec<usize>, Vec<usize>) = (0..300).partition(is_left);
            if left.len().min(right.len()) < 10 { 0.0 } else { worth(&left) + worth(&right) }
        };
        let best = columns.iter().flat_map(|column| {
            let gain = &gain;
            (0..column.cuts.len() as u8)
                .flat_map(move |bin| [gain(column, bin, false), gain(column, bin, true)])
        });
        let most = best.fold(0.0, f64::max);
        let tried = (0..columns.len()).collect();
        let grown = Ground { columns: &columns, tried, each: &each }.grow();
        let root = grown.nodes[0];
        let column = columns.iter().find(|column| column.coordinate == root.coordinate).unwrap();
        let bin = column.cuts.iter().position(|&cut| cut == root.cut).unwrap();
        assert!((gain(column, bin as u8, root.missing_left) - most).abs() < 1e-9);
    }
}

#[test]
fn trees_have_more_leaves_where_there_are_many_events() {
    let mut random = Random::new(0, 14);
    for (events, most) in [(300, 16), (3300, 25), (20_000, 128)] {
        let columns: Vec<Column> = (1..4)
            .map(|coordinate| {
                let values: Vec<f64> = (0..events).map(|_| random.between(-1.0, 1.0)).collect();
                Column::new(coordinate, &values)
            })
            .collect();
        let each: Vec<Sums> =
            (0..events).map(|_| Sums { slope: random.between(-1.0, 1.0), curvature: 1.0 }).collect();
        let grown = Ground { columns: &columns, tried: vec![0, 1, 2], each: &each }.grow();
        assert_eq!(grown.nodes.iter().filter(|node| node.coordinate == NONE).count(), most);
        for (event, &leaf) in grown.leaves.iter().enumerate() {
            let mut at = 0;
            while grown.nodes[at].coordinate != NONE {
                let column = &columns[grown.nodes[at].coordinate as usize - 1];
                at = grown.nodes[at].next(column.cuts[usize::from(column.bins[event])]);
            }
            assert_eq!(at, leaf as usize);
        }
    }
}

#[test]
fn a_split_gains_at_least_twice_what_one_of_noise_gains() {
    // Of 500 slopes on each side, so many more are 1 than -1 on the one, and -1 than 1 on the other. The split gains
    // twice the square of this number over 501; twice what noise gains, at slopes of 1, is 2.
    let is_split = |surplus: usize, slope: f64| {
        let sides: Vec<f64> = (0..1000).map(|event| f64::from(event < 500)).collect();
        let sign = |event: usize| if (event % 500 < 250 + surplus / 2) == (event < 500) { 1.0 } else { -1.0 };
        let each: Vec<Sums> =
            (0..1000).map(|event| Sums { slope: sign(event) * slope, curvature: 1.0 }).collect();
        let columns = [Column::new(1, &sides)];
        Ground { columns: &columns, tried: vec![0], each: &each }.grow().nodes.len() == 3
    };
    for slope in [0.01, 1.0, 100.0] {
        assert!(!is_split(22, slope) && is_split(24, slope));
    }
    assert!(!is_split(0, 0.0));
}
