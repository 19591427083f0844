//! What hostile testing found in the program, each named after what was wrong.

use crate::common::{Numbers, Place};

/// The lines of standard error.
fn lines(text: &str) -> usize {
    text.lines().count()
}

#[test]
fn usage_errors_had_many_lines() {
    let place = Place::with_data();
    for words in [
        "train",
        "frobnicate",
        "train flowers.csv --bogus",
        "train flowers.csv --c",
        "train flowers.csv --method nope",
        "evaluate flowers.csv --folds x",
        "train flowers.csv --memory-limit 99999999999999999999G",
        "train flowers.csv --class-weight setosa=2,setosa=3",
        "train flowers.csv --threads 0",
        "scale two.svm -s a -r b",
    ] {
        let complaint = place.refused(words);
        assert!(lines(&complaint) == 1 && complaint.starts_with("error: "), "{words}\n{complaint}");
        assert!(complaint.len() > 20 && complaint.trim_end().ends_with("(--help says more)"), "{words}\n{complaint}");
    }
    let complaint = place.refused("train flowers.csv --memory-limit 99999999999999999999G");
    assert!(complaint.contains("below 10^18"), "{complaint}");
    let complaint = place.refused("train flowers.csv --class-weight setosa=2,setosa=3");
    assert!(complaint.contains("`setosa` is named twice"), "{complaint}");
    // Help and the version are no errors.
    assert!(place.ok("--version").starts_with("boulevard "));
    assert!(place.ok("train --help").contains("Usage:"));
}

#[test]
fn a_column_of_tasks_was_ignored_by_methods_without_tasks() {
    let place = Place::with_data();
    for words in ["train flowers.csv --task width", "evaluate flowers.csv --task width", "tune flowers.csv --task width"] {
        let complaint = place.refused(words);
        assert!(complaint.contains("--task") && complaint.contains("select"), "{complaint}");
    }
}

#[test]
fn libsvm_verbs_without_words_succeeded() {
    let place = Place::with_data();
    for words in ["svm-train", "svm-predict"] {
        let complaint = place.refused(words);
        assert!(lines(&complaint) == 1 && complaint.contains("--help"), "{complaint}");
        assert!(place.ok(&format!("{words} --help")).starts_with("Usage: "));
    }
    // Probabilities of a regression model that has none.
    place.ok("svm-train -q -s 3 two.svm m");
    let complaint = place.refused("svm-predict -b 1 two.svm m out");
    assert!(complaint.contains("does not support probability estimates"), "{complaint}");
    // LIBSVM's own models of that kind carry a line that says so.
    let with = place.read("m").replacen("rho ", "probA 0.5\nrho ", 1);
    place.write("with", &with);
    place.ok("svm-predict -b 1 two.svm with out");
}

#[test]
fn one_class_learning_failed_on_a_label_of_text() {
    let place = Place::with_data();
    let run = place.run("train flowers.csv --method one-class -o m");
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.err.contains("holds text: it is taken as a label"), "{}", run.err);
    assert!(place.ok("inspect m").contains("features         3"), "{}", place.ok("inspect m"));
    // The same rows, with and without the label, get the same answers.
    let with = place.ok("predict m flowers.csv -q");
    let without: String = place.read("flowers.csv").lines().map(|line| line.rsplit_once(',').unwrap().0.to_owned() + "\n").collect();
    place.write("bare.csv", &without);
    assert_eq!(with, place.ok("predict m bare.csv -q"));
}

#[test]
fn one_class_learning_took_a_label_of_numbers_as_a_feature_without_a_word() {
    let place = Place::with_data();
    let coded = place.read("flowers.csv").replace("setosa", "0").replace("versicolor", "1").replace("virginica", "2");
    place.write("coded.csv", &coded);
    let run = place.run("train coded.csv --method one-class");
    assert_eq!(run.code, 0);
    assert!(
        run.err.contains("hint: the last column `species` is taken as a feature") && run.err.contains("--label species"),
        "{}",
        run.err
    );
    assert!(!place.run("train coded.csv --method one-class --label species").err.contains("is taken as a feature"));
    // A column of measurements is no label.
    assert!(!place.run("train prices.csv --method one-class").err.contains("is taken as a feature"));
}

#[test]
fn a_label_that_is_not_last_got_no_accuracy() {
    let place = Place::with_data();
    place.ok("train flowers.csv -o m");
    let moved: String = place
        .read("flowers.csv")
        .lines()
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            format!("{},{},{},{}\n", cells[0], cells[3], cells[1], cells[2])
        })
        .collect();
    place.write("moved.csv", &moved);
    let (first, second) = (place.run("predict m flowers.csv"), place.run("predict m moved.csv"));
    assert!(first.err.starts_with("accuracy ") && first.code == 0, "{}", first.err);
    assert_eq!((first.err, first.out), (second.err, second.out));
    // No label at all.
    let bare: String = place.read("flowers.csv").lines().map(|line| line.rsplit_once(',').unwrap().0.to_owned() + "\n").collect();
    place.write("bare.csv", &bare);
    let run = place.run("predict m bare.csv");
    assert_eq!((run.code, run.err.as_str(), run.out.lines().count()), (0, "", 91));
}

#[test]
fn an_empty_label_column_was_refused() {
    let place = Place::with_data();
    place.ok("train flowers.csv -o m");
    let empty: String = place
        .read("flowers.csv")
        .lines()
        .enumerate()
        .map(|(i, line)| if i == 0 { line.to_owned() + "\n" } else { line.rsplit_once(',').unwrap().0.to_owned() + ",\n" })
        .collect();
    place.write("empty.csv", &empty);
    let run = place.run("predict m empty.csv");
    assert_eq!((run.code, run.out.lines().count()), (0, 91), "{}", run.err);
    assert!(run.err.starts_with("warning: the label cannot be read, so there is no score"), "{}", run.err);
    assert_eq!(run.out, place.run("predict m flowers.csv").out);
}

#[test]
fn a_category_that_was_never_seen_became_zeros_without_a_word() {
    let place = Place::new();
    let mut numbers = Numbers::new(3);
    let table = |numbers: &mut Numbers, colors: &[&str]| {
        let mut text = String::from("size,color,label\n");
        for row in 0..40 {
            let size = numbers.next();
            text.push_str(&format!("{size:.3},{},{}\n", colors[row % colors.len()], if size > 0.5 { "big" } else { "small" }));
        }
        text
    };
    place.write("a.csv", &table(&mut numbers, &["red", "blue"]));
    place.write("b.csv", &table(&mut numbers, &["red", "green", "blue", "mauve"]));
    place.ok("train a.csv --one-hot -o m");
    let run = place.run("predict m b.csv");
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.err.contains("warning: 20 of 40 rows have values the model has never seen"), "{}", run.err);
    assert!(run.err.contains("color=green") && run.err.contains("color=mauve"), "{}", run.err);
    assert!(!place.run("predict m a.csv").err.contains("never seen"));
}

#[test]
fn the_limit_on_columns_could_not_be_raised_in_the_shell() {
    let place = Place::new();
    let rows: String = (0..20).map(|row| format!("{} 1:{} {}:1\n", row % 2, row, if row == 7 { 3_000_000 } else { 2 })).collect();
    place.write("wide.svm", &rows);
    let complaint = place.refused("train wide.svm --kernel linear");
    assert!(complaint.contains("3000000") && complaint.contains("max_features"), "{complaint}");
    place.ok("train wide.svm --kernel linear --max-features 3000000");
    assert!(place.refused("train wide.svm --kernel linear --max-features 2999999").contains("max_features"));
}

/// A disk with room for a few kilobytes: the system refuses to let any file grow beyond.
#[cfg(unix)]
#[test]
fn a_full_disk_destroyed_the_range_file() {
    let place = Place::with_data();
    place.ok("train flowers.csv -o m");
    let mut wide = String::new();
    for row in 0..40 {
        wide.push_str(&format!("{}", row % 2));
        (1..200).for_each(|column| wide.push_str(&format!(" {column}:0.{row}{column}1234567")));
        wide.push('\n');
    }
    place.write("wide.svm", &wide);
    let program = assert_cmd::cargo::cargo_bin("boulevard");
    for (words, output) in [
        ("scale wide.svm -s out", "out"),
        ("scale wide.svm -o out.svm", "out.svm"),
        ("train wide.svm -o out", "out"),
        ("train flowers.csv --report out.html", "out.html"),
        ("tune wide.svm --c-grid 1 --gamma-grid 1 --folds 2 -o out", "out"),
        ("predict m flowers.csv --decision -o out.csv", "out.csv"),
        ("convert wide.svm out.csv", "out.csv"),
        ("convert wide.svm out.arff", "out.arff"),
        ("svm-train -q wide.svm out", "out"),
        ("demo -o out.html", "out.html"),
    ] {
        place.write(output, "old");
        let before = place.files();
        // Two blocks of 512 bytes (or of 1024, as shells have it); the signal that comes with the refusal is ignored.
        let script = format!("trap '' XFSZ; ulimit -f 2; exec '{}' {words} >/dev/null", program.display());
        let run = std::process::Command::new("sh").args(["-c", &script]).current_dir(place.path("")).output().unwrap();
        let complaint = String::from_utf8_lossy(&run.stderr);
        assert_eq!(run.status.code(), Some(2), "{words}\n{complaint}");
        assert!(complaint.contains(output), "{words}\n{complaint}");
        assert_eq!((place.read(output).as_str(), place.files()), ("old", before), "{words}");
        std::fs::remove_file(place.path(output)).unwrap();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_device_without_room_is_an_error() {
    let place = Place::with_data();
    place.ok("train flowers.csv -o m");
    for words in ["predict m flowers.csv -o /dev/full", "train flowers.csv -o /dev/full", "scale two.svm -s /dev/full"] {
        let complaint = place.refused(words);
        assert!(complaint.contains("/dev/full") && complaint.to_lowercase().contains("space"), "{words}\n{complaint}");
    }
}
