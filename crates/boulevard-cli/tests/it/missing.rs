//! Missing values: refused, dropped or filled in, and remembered by the model.

use crate::common::Place;

/// Flowers with holes: two rows lose their first value, one its second.
fn with_holes() -> Place {
    let place = Place::with_data();
    let line = |(i, line): (usize, &str)| {
        let mut cells: Vec<&str> = line.split(',').collect();
        match i {
            2 | 40 => cells[0] = "",
            4 => cells[1] = "?",
            _ => {}
        }
        cells.join(",") + "\n"
    };
    let holes: String = place.read("flowers.csv").lines().enumerate().map(line).collect();
    place.write("holes.csv", &holes);
    place
}

/// The middle of a column's values that are there.
fn median(text: &str, column: usize) -> f64 {
    let mut values: Vec<f64> = text.lines().skip(1).filter_map(|line| line.split(',').nth(column)?.parse().ok()).collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { 0.5 * values[middle - 1] + 0.5 * values[middle] }
}

#[test]
fn medians_are_remembered_and_give_the_answers_of_a_filled_file() {
    let place = with_holes();
    let said = place.refused("train holes.csv");
    assert!(said.contains("holes.csv:3: column `length` is missing"), "{said}");
    for scale in ["", " --scale standard"] {
        let trained = place.ok(&format!("train holes.csv --missing median{scale} -o m"));
        assert!(trained.contains("missing values") && trained.contains("the column's median takes their place"), "{trained}");
        assert!(place.ok("inspect m").contains("the column's median takes their place"));
        // The same by hand.
        let text = place.read("holes.csv");
        let (first, second) = (median(&text, 0), median(&text, 1));
        let fill = |line: &str| {
            let line = if line.starts_with(',') { format!("{first}{line}") } else { line.to_owned() };
            line.replace(",?,", &format!(",{second},")) + "\n"
        };
        place.write("filled.csv", &text.lines().map(fill).collect::<String>());
        place.ok(&format!("train filled.csv{scale} -o by_hand"));
        let (ours, by_hand) = (place.ok("predict m holes.csv --decision"), place.ok("predict by_hand filled.csv --decision"));
        assert_eq!(ours.lines().count(), 91);
        assert_eq!(ours, by_hand);
    }
    let said = place.refused("convert m out.model --model libsvm");
    assert!(said.contains("fills in missing values"), "{said}");
}

#[test]
fn other_ways_are_remembered_too_and_mistakes_are_explained() {
    let place = with_holes();
    place.ok("train holes.csv --missing most-frequent -o m");
    assert_eq!(place.ok("predict m holes.csv").lines().count(), 91);
    assert!(place.refused("predict m holes.csv --missing error").contains("is missing"));
    assert!(place.refused("predict m holes.csv --missing median").contains("remembers no values for --missing median"));
    place.ok("train holes.csv --missing drop -o d");
    let run = place.run("predict d holes.csv");
    assert_eq!(run.out.lines().count(), 1 + 87);
    assert!(run.err.contains("3 of 90 rows have missing values and get no answer: lines 3, 5, 41"), "{}", run.err);
    assert!(place.refused("check holes.csv --missing median").contains("belong to train, evaluate and tune"));
    let missing_label = place.read("holes.csv").replacen("setosa", "?", 1);
    place.write("label.csv", &missing_label);
    assert!(place.refused("train label.csv --missing median").contains("column `species` is missing"));
    let two = "a,b,c\n1,?,x\n2,?,y\n3,?,x\n4,?,y\n";
    place.write("empty.csv", two);
    assert!(place.refused("train empty.csv --missing median").contains("column 2 has no value in any row"));
}

#[test]
fn folds_fill_with_what_their_training_rows_have() {
    let place = with_holes();
    let said = place.ok("evaluate holes.csv --missing median --folds 3 --json");
    assert!(said.contains("\"error\"") || said.contains("error"), "{said}");
    place.ok("tune holes.csv --missing median --c-grid 1,10 --gamma-grid 0.1,1 --folds 3 -o t");
    assert_eq!(place.ok("predict t holes.csv").lines().count(), 91);
}

#[test]
fn dermatology_is_no_longer_refused() {
    let Some(folder) = std::env::var_os("BOULEVARD_DATA") else { return };
    let file = std::path::Path::new(&folder).join("dermatology.csv");
    if !file.exists() {
        return;
    }
    let place = Place::new();
    let file = file.display();
    assert!(place.refused(&format!("train {file}")).contains("is missing"));
    place.ok(&format!("train {file} --missing median --scale standard -o m"));
    let run = place.run(&format!("predict m {file}"));
    assert_eq!((run.code, run.out.lines().count()), (0, 367), "{}", run.err);
    assert!(run.err.contains("accuracy 9") || run.err.contains("accuracy 100"), "{}", run.err);
}
