//! Tests of `pareto.rs` and `hypervolume.rs`.

use super::*;
use proptest::prelude::*;

const INF: f64 = f64::INFINITY;

/// Ranks, crowding of the first front and hypervolume above the origin, from an independent reference program.
#[test]
fn reference_values_in_two_objectives() {
    let spread = [
        [0.9225663685230072, 0.4582898056421142],
        [0.03513659988393858, 0.9587646415812708],
        [0.07954386413322045, 0.42851352366437634],
        [0.7375172775993794, 0.12794747296438014],
        [0.33029607367370695, 0.05387955502050279],
    ];
    check(&spread, &[0, 0, 1, 1, 2], &[INF, INF], Some(0.44038774578473394));
    check(&[[0.034830089744002146, 0.4106483288112729]], &[0], &[INF], Some(0.014302918145721141));
    let halves = [
        [2.5, 2.0],
        [0.0, 2.5],
        [2.5, 0.5],
        [1.0, 1.5],
        [1.5, 2.0],
        [0.5, 1.5],
        [2.5, 1.0],
        [0.0, 3.0],
        [1.5, 2.5],
        [1.0, 2.5],
        [0.0, 1.5],
        [2.0, 0.5],
    ];
    check(&halves, &[0, 2, 2, 2, 1, 3, 1, 0, 0, 1, 4, 3], &[INF, INF, 2.0], Some(5.75));
    // With ties and duplicates.
    let tied = [
        [0.5, 2.0],
        [2.5, 0.5],
        [2.0, 1.5],
        [2.0, 0.5],
        [1.0, 1.0],
        [0.0, 2.0],
        [0.5, 0.5],
        [0.5, 3.0],
        [1.5, 1.5],
        [1.0, 0.0],
        [0.0, 2.0],
        [1.5, 1.0],
        [2.0, 2.5],
        [1.5, 2.5],
        [1.5, 0.5],
        [1.5, 1.5],
        [2.5, 0.0],
        [2.0, 3.0],
        [2.0, 2.5],
        [2.0, 1.5],
        [2.5, 1.5],
        [0.5, 1.0],
        [1.5, 1.5],
        [0.5, 2.5],
        [2.5, 1.0],
        [1.5, 1.0],
        [2.5, 2.5],
        [2.5, 1.5],
        [1.5, 2.5],
        [1.0, 1.5],
    ];
    let ranks = [4, 3, 2, 4, 5, 5, 7, 1, 3, 6, 5, 4, 1, 2, 5, 3, 4, 0, 1, 2, 1, 6, 3, 3, 2, 4, 0, 1, 2, 4];
    check(&tied, &ranks, &[INF, INF], Some(7.25));
}

#[test]
fn reference_values_in_three_objectives() {
    let points = [
        [3.0, 0.5, 0.0],
        [0.5, 0.5, 0.5],
        [3.0, 0.5, 2.5],
        [3.0, 2.5, 2.5],
        [2.0, 0.5, 0.5],
        [1.5, 1.5, 2.5],
        [0.0, 3.0, 2.5],
        [2.5, 1.5, 2.5],
        [2.5, 2.5, 3.0],
        [2.0, 2.5, 0.0],
        [1.0, 1.0, 2.0],
        [2.5, 3.0, 0.5],
        [1.0, 0.0, 2.5],
        [2.0, 2.0, 1.5],
        [1.0, 1.5, 2.5],
        [1.0, 1.0, 1.5],
        [2.5, 1.5, 1.0],
        [1.0, 0.0, 2.0],
        [1.0, 1.5, 2.5],
        [3.0, 2.5, 2.0],
    ];
    let ranks = [2, 6, 1, 0, 3, 2, 0, 1, 0, 2, 4, 0, 4, 2, 3, 5, 2, 5, 3, 1];
    check(&points, &ranks, &[INF; 4], None);
}

fn check<const M: usize>(points: &[[f64; M]], ranks: &[usize], crowding: &[f64], volume: Option<f64>) {
    assert_eq!(non_dominated_ranks(points).unwrap(), ranks);
    let front: Vec<[f64; M]> = non_dominated_fronts(points).unwrap()[0].iter().map(|&i| points[i]).collect();
    assert_eq!(crowding_distance(&front, CrowdingScale::Range).unwrap(), crowding);
    if let Some(volume) = volume {
        for points in [points, &front] {
            let found = hypervolume(points, &[0.0; M]).unwrap();
            assert!((found - volume).abs() < 1e-14 * volume.max(1.0), "{found} {volume}");
        }
    }
}

#[test]
fn crowding_by_hand() {
    let front = [[0.0, 4.0], [1.0, 2.0], [3.0, 1.0], [4.0, 0.0]];
    assert_eq!(crowding_distance(&front, CrowdingScale::Range).unwrap(), [INF, 0.75 + 0.75, 0.75 + 0.5, INF]);
    assert_eq!(crowding_distance(&front, CrowdingScale::Raw).unwrap(), [INF, 6.0, 5.0, INF]);
    assert_eq!(crowding_distance(&[[1.0, 1.0]; 3], CrowdingScale::Range).unwrap(), [INF, 0.0, INF]);
    assert!(crowding_distance::<[f64; 2]>(&[], CrowdingScale::Range).unwrap().is_empty());
}

#[test]
fn volumes_by_hand() {
    assert_eq!(hypervolume(&[[3.0], [5.0]], &[1.0]).unwrap(), 4.0);
    assert_eq!(hypervolume(&[[2.0, 1.0], [1.0, 2.0]], &[0.0, 0.0]).unwrap(), 3.0);
    assert_eq!(hypervolume(&[[2.0, 1.0], [1.0, 2.0]], &[-1.0, -1.0]).unwrap(), 8.0);
    assert_eq!(hypervolume(&[[2.0, 1.0], [-1.0, 5.0], [3.0, 0.0]], &[0.0, 0.0]).unwrap(), 2.0);
    // 2x2x1, 2x1x2 and 1x2x2 cover 7 of the 8 unit cubes.
    assert_eq!(hypervolume(&[[2.0, 2.0, 1.0], [2.0, 1.0, 2.0], [1.0, 2.0, 2.0]], &[0.0; 3]).unwrap(), 7.0);
    assert_eq!(hypervolume::<[f64; 2]>(&[], &[0.0; 2]).unwrap(), 0.0);
}

#[test]
fn bad_input_is_an_error() {
    assert!(non_dominated_ranks(&[vec![1.0, 2.0], vec![1.0]]).is_err());
    assert!(non_dominated_ranks(&[vec![]]).is_err());
    assert!(non_dominated_ranks(&[[f64::NAN, 1.0]]).unwrap_err().to_string().contains("row 0, column 0"));
    assert!(hypervolume(&[[1.0; 4]], &[0.0; 4]).is_err());
    assert!(hypervolume(&[[1.0; 2]], &[0.0; 3]).is_err());
    assert!(hypervolume(&[[1.0; 2]], &[0.0, INF]).is_err());
    assert!(non_dominated_ranks::<[f64; 2]>(&[]).unwrap().is_empty() && non_dominated_fronts::<[f64; 2]>(&[]).unwrap().is_empty());
}

/// The rank by its definition: one more than the highest rank among those that dominate.
fn slow_rank(points: &[Vec<f64>], i: usize) -> usize {
    (0..points.len()).filter(|&j| dominates(&points[j], &points[i])).map(|j| slow_rank(points, j) + 1).max().unwrap_or(0)
}

fn grid_points(objectives: usize) -> impl Strategy<Value = Vec<Vec<f64>>> {
    prop::collection::vec(prop::collection::vec((0i32..5).prop_map(f64::from), objectives), 0..12)
}

proptest! {
    #[test]
    fn ranks_follow_the_definition(points in (1usize..5).prop_flat_map(grid_points)) {
        let ranks = non_dominated_ranks(&points).unwrap();
        prop_assert_eq!(&ranks, &(0..points.len()).map(|i| slow_rank(&points, i)).collect::<Vec<_>>());
        let reversed: Vec<Vec<f64>> = points.iter().rev().cloned().collect();
        prop_assert_eq!(ranks, non_dominated_ranks(&reversed).unwrap().into_iter().rev().collect::<Vec<_>>());
    }

    #[test]
    fn volumes_count_unit_cells(points in (1usize..4).prop_flat_map(grid_points)) {
        let count = points.first().map_or(1, Vec::len);
        let cells = (0..5usize.pow(count as u32)).filter(|&cell| {
            let corner: Vec<f64> = (0..count).map(|axis| (cell / 5usize.pow(axis as u32) % 5) as f64).collect();
            points.iter().any(|point| point.iter().zip(&corner).all(|(value, corner)| value > corner))
        });
        prop_assert_eq!(hypervolume(&points, &vec![0.0; count]).unwrap(), cells.count() as f64);
    }

    #[test]
    fn crowding_does_not_depend_on_order(mut points in grid_points(3)) {
        points.sort_by(|a, b| a.partial_cmp(b).unwrap());
        points.dedup();
        let reversed: Vec<Vec<f64>> = points.iter().rev().cloned().collect();
        let backwards: Vec<f64> = crowding_distance(&reversed, CrowdingScale::Range).unwrap().into_iter().rev().collect();
        prop_assert_eq!(crowding_distance(&points, CrowdingScale::Range).unwrap(), backwards);
    }
}
