//! `svm-train`, `svm-predict` and `scale`: LIBSVM's syntax, lines and files.

use crate::common::{Place, golden};

#[test]
fn training_prints_libsvms_lines() {
    let place = Place::with_data();
    let out = place.ok("svm-train -c 2 -g 0.5 two.svm two.model");
    let starts: Vec<&str> = out.lines().map(|line| line.split([' ', ',']).next().unwrap()).collect();
    assert_eq!(starts, ["*", "optimization", "nu", "obj", "nSV", "Total"], "{out}");
    assert!(place.read("two.model").starts_with("svm_type c_svc\nkernel_type rbf\ngamma 0.5\nnr_class 2\ntotal_sv "));
    assert!(place.read("two.model").contains("\nlabel 1 -1\n"), "+1 comes before -1, whatever appears first");
    golden("svm-predict", &place.ok("svm-predict two.svm two.model two.out"));
    assert_eq!(place.read("two.out").lines().count(), 80);
    assert_eq!(place.ok("svm-train -q two.svm"), "");
    assert!(place.exists("two.svm.model"), "the default name");
}

#[test]
fn every_type_of_machine() {
    let place = Place::with_data();
    let three: String = place
        .read("two.svm")
        .lines()
        .enumerate()
        .map(|(i, line)| format!("{} {}\n", [3, 1, 2][i % 3], line.split_once(' ').unwrap().1))
        .collect();
    place.write("three.svm", &three);
    for (options, file, kind) in [
        ("-s 0 -w1 5", "three.svm", "c_svc"),
        ("-s 1 -n 0.3", "three.svm", "nu_svc"),
        ("-s 2 -n 0.3", "two.svm", "one_class"),
        ("-s 3 -p 0.2", "two.svm", "epsilon_svr"),
        ("-s 4 -t 0", "two.svm", "nu_svr"),
        ("-t 1 -d 2 -r 1 -h 0 -m 50 -e 0.01", "two.svm", "c_svc"),
    ] {
        let out = place.ok(&format!("svm-train {options} {file} m"));
        assert!(out.contains("optimization finished, #iter = ") && out.contains("obj = "), "{out}");
        assert!(place.read("m").starts_with(&format!("svm_type {kind}\n")), "{options}");
        let said = place.ok(&format!("svm-predict {file} m out"));
        assert!(said.contains("Accuracy = ") || said.contains("Mean squared error = "), "{said}");
    }
    let out = place.ok("svm-train -s 0 three.svm m");
    assert_eq!(out.matches("optimization finished").count(), 3, "one block per pair");
    assert!(place.read("m").contains("\nlabel 3 1 2\n"), "classes as they appear");
}

#[test]
fn probabilities_have_a_header() {
    let place = Place::with_data();
    place.ok("svm-train -b 1 -q two.svm m");
    place.ok("svm-predict -b 1 two.svm m out");
    let out = place.read("out");
    assert!(out.starts_with("labels 1 -1\n"));
    let sum: f64 = out.lines().nth(1).unwrap().split(' ').skip(1).map(|word| word.parse::<f64>().unwrap()).sum();
    assert!((sum - 1.0).abs() < 1e-5);
}

/// LIBSVM's grid.py takes the last word of the line with `Cross` in it and drops its last character, the percent sign.
#[test]
fn the_grid_script_can_read_the_accuracy() {
    let place = Place::with_data();
    let out = place.ok("svm-train -v 5 -c 8 -g 0.1 -q two.svm");
    let line = out.lines().find(|line| line.contains("Cross")).unwrap();
    let word = line.split(' ').next_back().unwrap();
    assert!(word.strip_suffix('%').unwrap().parse::<f64>().unwrap() > 50.0, "{out}");
    let out = place.ok("svm-train -v 5 -s 3 -q two.svm");
    assert!(out.starts_with("Cross Validation Mean squared error = "), "{out}");
}

#[test]
fn kernel_values_instead_of_features() {
    let place = Place::new();
    let points: Vec<f64> = (0..30).map(|i| f64::from(i) / 10.0 - 1.45 + if i % 7 == 0 { 0.8 } else { 0.0 }).collect();
    let row = |i: usize| (0..30).map(|j| format!(" {}:{:.4}", j + 1, points[i] * points[j])).collect::<String>();
    let text: String = (0..30).map(|i| format!("{} 0:{}{}\n", if i < 15 { -1 } else { 1 }, i + 1, row(i))).collect();
    place.write("kernel.svm", &text);
    place.ok("svm-train -t 4 -q kernel.svm m");
    assert!(place.ok("svm-predict kernel.svm m out").starts_with("Accuracy = "));
    place.ok("train kernel.svm --kernel precomputed -o native");
    let signs: String = place.read("out");
    assert_eq!(place.ok("predict native kernel.svm"), format!("prediction\n{signs}"));
    assert!(place.ok("evaluate kernel.svm --kernel precomputed --folds 3").contains("accuracy"));
}

#[test]
fn ranges_are_saved_and_restored() {
    let place = Place::with_data();
    let scaled = place.ok("scale -l 0 -u 1 -s ranges two.svm");
    assert!(place.read("ranges").starts_with("x\n0 1 \n1 "));
    assert_eq!(place.ok("scale -r ranges two.svm"), scaled);
    for line in scaled.lines() {
        for cell in line.split(' ').skip(1) {
            let value: f64 = cell.split_once(':').unwrap().1.parse().unwrap();
            assert!((0.0..=1.0).contains(&value), "{line}");
        }
    }
    place.ok("scale flowers.csv -o scaled.csv");
    assert_eq!(place.read("scaled.csv").lines().next(), Some("length,width,petal,label"));
    place.write("short.svm", "1 1:0.5\n");
    place.ok("scale -r ranges short.svm");
}

/// Where LIBSVM's own programs are installed, they and ours must agree on each other's models.
#[test]
fn libsvms_programs_agree() {
    let theirs = |name: &str, place: &Place, words: &str| {
        std::process::Command::new(name)
            .args(words.split(' '))
            .current_dir(place.path("."))
            .output()
            .ok()
            .filter(|output| output.status.success())
    };
    let place = Place::with_data();
    place.ok("svm-train -q -c 3 two.svm ours.model");
    if theirs("svm-predict", &place, "two.svm ours.model a.out").is_none() {
        return;
    }
    place.ok("svm-predict two.svm ours.model b.out");
    assert_eq!(place.read("a.out"), place.read("b.out"));
    theirs("svm-train", &place, "-q -c 3 two.svm theirs.model").unwrap();
    place.ok("svm-predict two.svm theirs.model c.out");
    assert_eq!(place.read("c.out"), place.read("b.out"));
}
