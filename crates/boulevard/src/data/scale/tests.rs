//! Tests of `scale.rs`.

use super::*;
use proptest::prelude::*;

const UNIT: Scaling = Scaling::MinMax { low: 0.0, high: 1.0 };
const KINDS: [Scaling; 3] = [Scaling::Standard, Scaling::MinMax { low: -1.0, high: 1.0 }, Scaling::MaxAbs];

fn table(rows: &[[f64; 2]]) -> Matrix<'static> {
    Matrix::from_rows(rows).unwrap()
}

fn close(a: &Matrix<'_>, b: &Matrix<'_>, tolerance: f64) -> bool {
    (0..a.rows()).all(|i| (0..a.columns()).all(|j| (a.get(i, j) - b.get(i, j)).abs() <= tolerance * (1.0 + b.get(i, j).abs())))
}

#[test]
fn known_values() {
    let x = table(&[[0.0, -4.0], [2.0, 0.0], [4.0, 2.0]]);
    let standard = Scaler::fit(&x, None, Scaling::Standard).unwrap().transform(&x).unwrap();
    assert!((standard.get(2, 0) - 1.5f64.sqrt()).abs() < 1e-15 && standard.get(1, 0) == 0.0);
    let ranged = Scaler::fit(&x, None, Scaling::MinMax { low: -1.0, high: 1.0 }).unwrap().transform(&x).unwrap();
    assert_eq!(ranged, Matrix::from_rows(&[[-1.0, -1.0], [0.0, -1.0 + 8.0 / 6.0], [1.0, 1.0]]).unwrap());
    let largest = Scaler::fit(&x, None, Scaling::MaxAbs).unwrap().transform(&x).unwrap();
    assert_eq!(largest, table(&[[0.0, -1.0], [0.5, 0.0], [1.0, 0.5]]));
}

#[test]
fn constant_columns_are_safe_and_come_back() {
    // 0.1 three times: the naive variance is not zero.
    let x = table(&[[0.1, 1.0], [0.1, 2.0], [0.1, 4.0]]);
    for scaling in KINDS {
        let scaler = Scaler::fit(&x, None, scaling).unwrap();
        let scaled = scaler.transform(&x).unwrap();
        assert_eq!(scaled.get(0, 0), if scaling == Scaling::MaxAbs { 1.0 } else { 0.0 });
        assert!(close(&scaler.inverse(&scaled).unwrap(), &x, 1e-15));
    }
    let zeros = table(&[[0.0, 0.0]]);
    for scaling in KINDS {
        assert_eq!(Scaler::fit(&zeros, None, scaling).unwrap().transform(&zeros).unwrap(), zeros);
    }
}

#[test]
fn single_precision_stays_single() {
    let x = Matrix::dense_f32(vec![1.0f32, 2.0, 4.0], 3, 1).unwrap();
    let scaler = Scaler::fit(&x, None, UNIT).unwrap();
    let scaled = scaler.transform(&x).unwrap();
    assert_eq!(scaled, Matrix::dense_f32(vec![0.0f32, 1.0 / 3.0, 1.0], 3, 1).unwrap());
    assert_eq!(scaler.inverse(&scaled).unwrap(), x);
}

#[test]
fn a_sparse_table_stays_sparse_or_is_refused() {
    let x = table(&[[0.0, 3.0], [2.0, 0.0], [0.0, 1.0]]).to_sparse();
    let scaled = Scaler::fit(&x, None, Scaling::MaxAbs).unwrap().transform(&x).unwrap();
    assert!(scaled.is_sparse() && scaled.get(2, 1) == 1.0 / 3.0);
    // The smallest value of both columns is zero and goes to zero.
    assert!(Scaler::fit(&x, None, UNIT).unwrap().transform(&x).unwrap().is_sparse());
    let standard = Scaler::fit(&x, None, Scaling::Standard).unwrap();
    let message = standard.transform(&x).unwrap_err().to_string();
    assert!(message.starts_with("a sparse table cannot be scaled and stay sparse: in column 0 zero becomes -0.70"), "{message}");
    assert!(standard.transform(&x.to_dense()).is_ok());
}

#[test]
fn bad_requests_are_errors() {
    let x = table(&[[1.0, 2.0]]);
    assert!(Scaler::fit(&x, None, Scaling::MinMax { low: 1.0, high: 1.0 }).is_err());
    assert!(Scaler::fit(&x, None, Scaling::MinMax { low: 0.0, high: f64::NAN }).is_err());
    assert!(Scaler::fit(&x, Some(&[0.0]), UNIT).is_err());
    assert!(Scaler::fit(&table(&[[1.0, f64::NAN]]), None, UNIT).is_err());
    assert!(Scaler::fit(&table(&[[f64::MAX, 0.0], [f64::MIN, 0.0]]), None, UNIT).is_err());
    let wide = table(&[[0.0, 0.0], [f64::MAX, 0.0]]);
    assert!(Scaler::fit(&wide, None, UNIT).is_ok() && Scaler::fit(&wide, None, KINDS[1]).is_err());
    assert!(Scaler::fit(&Matrix::dense(vec![], 0, 2).unwrap(), None, UNIT).is_err());
    assert!(Scaler::fit(&x, None, UNIT).unwrap().transform(&Matrix::dense(vec![1.0], 1, 1).unwrap()).is_err());
}

#[test]
fn a_saved_scaler_is_the_same_scaler() {
    let x = table(&[[0.1, 1.0], [0.7, 2.0], [0.3, 4.0]]);
    for scaling in KINDS {
        let scaler = Scaler::fit(&x, None, scaling).unwrap();
        let text = serde_json::to_string(&scaler).unwrap();
        assert_eq!(serde_json::from_str::<Scaler>(&text).unwrap(), scaler);
    }
}

fn rows_and_weights() -> impl Strategy<Value = (Vec<[f64; 2]>, Vec<usize>)> {
    (1usize..12).prop_flat_map(|n| {
        let value = prop_oneof![Just(0.0), -10.0..10.0f64];
        (prop::collection::vec([value.clone(), value], n), prop::collection::vec(0usize..4, n))
    })
}

proptest! {
    #[test]
    fn weights_are_repeated_rows_and_order_does_not_matter((rows, counts) in rows_and_weights()) {
        prop_assume!(counts.iter().any(|&count| count > 0));
        let x = table(&rows);
        let weights: Vec<f64> = counts.iter().map(|&count| count as f64).collect();
        let repeated: Vec<usize> = (0..rows.len()).rev().flat_map(|row| std::iter::repeat_n(row, counts[row])).collect();
        for scaling in KINDS {
            let weighted = Scaler::fit(&x, Some(&weights), scaling).unwrap();
            let plain = Scaler::fit(&x.select(&repeated), None, scaling).unwrap();
            let kept: Vec<usize> = (0..rows.len()).filter(|&row| counts[row] > 0).collect();
            let x = x.select(&kept);
            prop_assert!(close(&weighted.transform(&x).unwrap(), &plain.transform(&x).unwrap(), 1e-9));
        }
    }

    #[test]
    fn sparse_and_dense_agree_and_the_inverse_undoes((rows, _) in rows_and_weights()) {
        let x = table(&rows);
        for scaling in KINDS {
            let (dense, sparse) = (Scaler::fit(&x, None, scaling).unwrap(), Scaler::fit(&x.to_sparse(), None, scaling).unwrap());
            let scaled = dense.transform(&x).unwrap();
            prop_assert!(close(&scaled, &sparse.transform(&x).unwrap(), 1e-9));
            prop_assert!(close(&dense.inverse(&scaled).unwrap(), &x, 1e-12));
            if sparse.keeps_zeros() {
                prop_assert!(close(&sparse.transform(&x.to_sparse()).unwrap(), &scaled, 1e-9));
            }
        }
    }
}
