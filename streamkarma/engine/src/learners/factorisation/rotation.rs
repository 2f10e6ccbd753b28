//! Rotations of factors.
//!
//! Scores do not change if all factors are rotated alike, and those of models trained separately end up rotated
//! differently, even from the same start: averaged as they are, they cancel out. So those of each part are first
//! rotated towards the start. On a stream of rank 3 with 30 and 30 categories, 16,000 events in each of 8 parts, 11.5 %
//! of predictions were wrong with factors averaged as they are, 9.8 with rotated ones, 10.0 for a single part.
//!
//! If the sum over rows of g v r', with r the row at the start and g its gain, is symmetric and positive, no rotation
//! brings the factors nearer to the start; a sum of such matrices is one as well. That is why the average of rotated
//! factors, weighted by g, need not be rotated again, and merging is associative.

use super::rows::RANK;

/// A matrix that rows are multiplied by to rotate them.
pub type Square = [[f64; RANK]; RANK];

/// So many steps bring singular values of 1e-14 to 1.
const STEPS: usize = 100;
/// The iteration ends once no cell changes by more than this in a step.
const CLOSE: f64 = 1e-15;
/// Added to the diagonal, so that the matrix is not singular.
const RIDGE: f64 = 1e-14;

/// The weighted sum of the outer products of rows with their targets.
pub fn products(rows: impl Iterator<Item = (f64, [f64; RANK], [f64; RANK])>) -> Square {
    let mut sum = [[0.0; RANK]; RANK];
    for (weight, from, to) in rows {
        for (line, x) in sum.iter_mut().zip(from) {
            line.iter_mut().zip(to).for_each(|(cell, y)| *cell += weight * x * y);
        }
    }
    sum
}

/// The rotation that brings rows with these products nearest to their targets: the orthogonal polar factor, by the
/// Newton-Schulz iteration; None if all products are 0.
pub fn nearest(products: &Square) -> Option<Square> {
    let largest = products.iter().flatten().fold(0.0, |largest: f64, cell| largest.max(cell.abs()));
    if largest == 0.0 || !largest.is_finite() {
        return None;
    }
    // No singular value exceeds the root of the sum of squares.
    let scaled = products.map(|line| line.map(|cell| cell / largest));
    let norm = scaled.iter().flatten().map(|cell| cell * cell).sum::<f64>().sqrt();
    let mut turn = scaled.map(|line| line.map(|cell| cell / norm));
    turn.iter_mut().enumerate().for_each(|(i, line)| line[i] += RIDGE);
    for _ in 0..STEPS {
        let square = self::products(turn.iter().map(|line| (1.0, *line, *line)));
        let cubes = turn.map(|line| turned(&line, &square));
        let mut farthest: f64 = 0.0;
        for (cell, cube) in turn.as_flattened_mut().iter_mut().zip(cubes.as_flattened()) {
            let change = 0.5 * (*cell - cube);
            *cell += change;
            farthest = farthest.max(change.abs());
        }
        if farthest < CLOSE {
            break;
        }
    }
    Some(turn)
}

/// A rotated row.
pub fn turned(row: &[f64; RANK], turn: &Square) -> [f64; RANK] {
    let mut result = [0.0; RANK];
    for (x, line) in row.iter().zip(turn) {
        result.iter_mut().zip(line).for_each(|(to, cell)| *to += x * cell);
    }
    result
}

/// Variances of a row's factors after rotation: each direction contributes its share.
pub fn spread(row: &[f64; RANK], turn: &Square) -> [f64; RANK] {
    turned(row, &turn.map(|line| line.map(|cell| cell * cell)))
}
