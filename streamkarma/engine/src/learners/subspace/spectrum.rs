//! Eigenvalues of symmetric matrices, and rotations.
//!
//! nalgebra's decompositions add, multiply and take square roots in the same order on every processor.

use nalgebra::{DMatrix, SVD, SymmetricEigen};

use super::matrix::Matrix;
use crate::cholesky::add_four;

/// Maximum number of iterations per eigenvalue; two or three are needed.
const PATIENCE: usize = 100;

/// Eigenvalues in descending order, with their eigenvectors. None if they cannot be found.
fn decompose(matrix: &Matrix) -> Option<Vec<(f64, Vec<f64>)>> {
    let size = matrix.width();
    if size == 0 || !matrix.values().iter().all(|entry| entry.is_finite()) {
        return None;
    }
    let copy = DMatrix::from_column_slice(size, size, matrix.values());
    let found = SymmetricEigen::try_new(copy, f64::EPSILON, PATIENCE * size)?;
    let vectors = found.eigenvectors.as_slice().chunks_exact(size).map(<[f64]>::to_vec);
    let mut pairs: Vec<_> = found.eigenvalues.iter().copied().zip(vectors).collect();
    pairs.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    Some(pairs)
}

/// The part of a symmetric matrix that stands out, positive semidefinite, and tau: minus the lowest eigenvalue, if that
/// is below 0. If the eigenvalues cannot be found, nothing stands out.
pub fn project(matrix: &Matrix) -> (Matrix, f64) {
    let mut projected = Matrix::zeros(matrix.width(), matrix.width());
    let Some(pairs) = decompose(matrix) else { return (projected, 0.0) };
    let tau = pairs.last().map_or(0.0, |(lowest, _)| (-lowest).max(0.0));
    let kept = pairs.partition_point(|(value, _)| *value > tau);
    let (quads, rest) = pairs[..kept].as_chunks::<4>();
    for i in 0..matrix.width() {
        let row = &mut projected.row_mut(i)[..=i];
        for quad in quads {
            let scaled = quad.each_ref().map(|(value, vector)| value * vector[i]);
            add_four(row, scaled, quad.each_ref().map(|(_, vector)| vector.as_slice()));
        }
        for (value, vector) in rest {
            let scaled = value * vector[i];
            row.iter_mut().zip(vector).for_each(|(entry, x)| *entry += scaled * x);
        }
    }
    mirror(&mut projected);
    (projected, tau)
}

/// The rotation or reflection R that maximises the trace of R' A: U V' of A = U S V'.
///
/// The identity if it cannot be found.
pub fn nearest_rotation(matrix: &Matrix) -> Matrix {
    let size = matrix.width();
    let mut rotation = Matrix::zeros(size, size);
    let found = (size > 0 && matrix.values().iter().all(|entry| entry.is_finite())).then(|| {
        // Read column by column, the values are A'.
        let copy = DMatrix::from_column_slice(size, size, matrix.values());
        SVD::try_new_unordered(copy, true, true, f64::EPSILON, PATIENCE * size)
    });
    let Some(SVD { u: Some(right), v_t: Some(left), .. }) = found.flatten() else {
        (0..size).for_each(|i| rotation.row_mut(i)[i] = 1.0);
        return rotation;
    };
    for i in 0..size {
        for (j, entry) in rotation.row_mut(i).iter_mut().enumerate() {
            *entry = (0..size).map(|n| left[(n, i)] * right[(j, n)]).sum();
        }
    }
    rotation
}

/// Copy what is below the diagonal to above it.
fn mirror(matrix: &mut Matrix) {
    let size = matrix.width();
    let values = matrix.values_mut();
    for i in 0..size {
        for j in 0..i {
            values[j * size + i] = values[i * size + j];
        }
    }
}
