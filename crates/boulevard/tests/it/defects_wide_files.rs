//! Files of a few bytes that name a huge column: refused by a limit that can be raised, and never an allocation by the largest number.

use boulevard::data::io::{Format, ReadOptions, scan_from};
use boulevard::data::{Csr, Dataset, Matrix};
use boulevard::persist::libsvm_text;
use boulevard::prelude::*;

fn options() -> ReadOptions {
    ReadOptions { format: Some(Format::Libsvm), ..ReadOptions::default() }
}

#[test]
fn a_huge_index_in_a_libsvm_file_is_refused_by_a_limit_that_can_be_raised() {
    for index in [3_000_000usize, 30_000_000, 1_000_000_000, 4_294_967_295, 4_294_967_296] {
        let text = format!("1 1:1\n-1 1:2\n1 {index}:1\n");
        let message = Dataset::read_from(text.as_bytes(), "x.svm", &options()).unwrap_err().to_string();
        assert!(message.starts_with("x.svm:3: ") && message.contains(&index.to_string()), "{message}");
        assert!(message.contains("2097152") && message.contains("max_features"), "{message}");
        let raised = ReadOptions { max_features: Some(index), ..options() };
        assert_eq!(Dataset::read_from(text.as_bytes(), "x.svm", &raised).unwrap().x.columns(), index);
        // Who says how many columns there are has said it is meant.
        let counted = ReadOptions { n_features: Some(index), ..options() };
        assert_eq!(Dataset::read_from(text.as_bytes(), "x.svm", &counted).unwrap().x.columns(), index);
        let lowered = ReadOptions { max_features: Some(index - 1), ..options() };
        assert!(Dataset::read_from(text.as_bytes(), "x.svm", &lowered).unwrap_err().to_string().contains("max_features"));
    }
    // Column numbers have 32 bits: beyond them no limit helps, and the message does not offer one.
    let raised = ReadOptions { max_features: Some(1 << 41), ..options() };
    let message = Dataset::read_from(&b"1 1:1\n-1 1099511627776:1\n"[..], "x.svm", &raised).unwrap_err().to_string();
    assert!(message.starts_with("x.svm:2: ") && message.contains("4294967296") && !message.contains("max_features"), "{message}");
}

#[test]
fn a_scan_leaves_the_row_with_the_huge_index_out() {
    let mut lines = Vec::new();
    let text = "1 1:1\n2:1\n1 4294967295:1\n-1 1:2 3:1\n";
    let scan = scan_from(text.as_bytes(), "x.svm", &options(), &mut |problem| lines.push(problem.line)).unwrap();
    lines.sort_unstable();
    assert_eq!(lines, [2, 3], "the row without a label, and the wide one");
    assert_eq!((scan.problems, scan.data.len(), scan.data.x.columns()), (2, 2, 3));
    let classes = scan.data.expect_classes().unwrap();
    assert_eq!(classes.codes().iter().map(|&code| classes.names()[code as usize].as_str()).collect::<Vec<_>>(), ["1", "-1"]);
    assert_eq!(scan.data.x.get(1, 2), 1.0);
}

#[test]
fn many_values_earn_a_file_many_columns() {
    let rows: String = (0..20_000).map(|row| format!("{} {}:1 {}:2\n", row % 2, 1 + row, 500 * (row + 1))).collect();
    assert_eq!(Dataset::read_from(rows.as_bytes(), "x.svm", &options()).unwrap().x.columns(), 10_000_000);
}

#[test]
fn kernels_of_sparse_tables_need_no_room_for_columns_that_hold_nothing() {
    // Four values in 2^32 columns: a line of four numbers per column would be 137 gigabytes.
    let wide = |last: u32, columns: usize| {
        Csr::new(vec![0, 2, 3, 4, 6], vec![0, last, 1, 0, 1, last], vec![1.0, 2.0, -1.0, 0.5, 1.0, 1.5], columns).unwrap()
    };
    let target = Target::Classes(Categories::new(vec![0, 1, 1, 0], vec!["a".into(), "b".into()]).unwrap());
    let fit = |last, columns| {
        let data = Dataset::new(Matrix::Sparse(wide(last, columns)), target.clone());
        let model = Svc { kernel: Kernel::rbf(0.3), ..Svc::default() }.fit(&data).unwrap();
        model.decision_values(&data.x).unwrap()
    };
    let narrow = fit(600, 2000);
    let huge = fit(u32::MAX, 1 << 32);
    assert_eq!(narrow.iter().map(|v| v.to_bits()).collect::<Vec<_>>(), huge.iter().map(|v| v.to_bits()).collect::<Vec<_>>());
}

#[test]
fn a_huge_column_in_a_libsvm_model_is_refused_unless_it_is_meant() {
    let text = "svm_type c_svc\nkernel_type rbf\ngamma 0.5\nnr_class 2\ntotal_sv 2\nrho 0.1\nlabel 1 -1\nnr_sv 1 1\nSV\n1 1:1\n-1 2:1 100000000:1\n";
    let parse = |features| libsvm_text::parse(text.as_bytes(), "m", &libsvm_text::ReadOptions { features });
    let message = parse(None).unwrap_err().to_string();
    assert!(message.starts_with("m:11: column 100000000 is beyond 2097152"), "{message}");
    let model = parse(Some(100_000_000)).unwrap();
    // Judged by the columns that occur.
    let rows = 149;
    let x = Csr::new((0..=rows).collect::<Vec<_>>(), (0..rows as u32).collect::<Vec<_>>(), vec![1.0; rows], 100_000_000).unwrap();
    let boulevard::persist::AnyModel::Svc(model) = model else { panic!("a classifier") };
    assert!(model.decision_values(&Matrix::Sparse(x)).unwrap().iter().all(|v| v.is_finite()));
}
