//! Bad input: one clear line, exit 2, nothing half-written.

use crate::common::{Place, golden};

#[test]
fn every_complaint_is_one_line() {
    let place = Place::with_data();
    place.ok("train flowers.csv -o flowers.model");
    place.write("empty.csv", "");
    place.write("one.csv", "a,label\n1,x\n2,x\n");
    place.write("cut.model", &"x".repeat(100));
    std::fs::create_dir(place.path("folder")).unwrap();
    let before = place.files();
    let mut text = String::new();
    for words in [
        "train none.csv",
        "train folder",
        "train empty.csv",
        "train one.csv",
        "train flowers.csv -o none/m",
        "train flowers.csv -o folder",
        "train flowers.csv --report none/r.html",
        "train flowers.csv --c -1",
        "train flowers.csv --nu 0.5",
        "train flowers.csv --epsilon 0.5",
        "train flowers.csv --kernel linear --gamma 2",
        "train flowers.csv --kernel poly --degree 100",
        "train flowers.csv --class-weight rose=2",
        "train flowers.csv --method svr",
        "train flowers.csv --method nu-svc --nu 2",
        "train flowers.csv --method one-class --calibrate",
        "train two.svm --weight w",
        "predict none.model flowers.csv",
        "predict flowers.csv flowers.csv",
        "predict cut.model flowers.csv",
        "predict folder flowers.csv",
        "predict flowers.model none.csv",
        "predict flowers.model two.svm",
        "predict flowers.model flowers.csv --probability",
        "predict flowers.model flowers.csv -o none/p.csv",
        "inspect flowers.csv",
        "evaluate flowers.csv --method svc --method svr",
        "evaluate flowers.csv --folds 1",
        "evaluate flowers.csv --folds 1000",
        "evaluate flowers.csv --method svc --method nu-svc --epsilon 1",
        "tune flowers.csv --c 1",
        "tune flowers.csv --method one-class",
        "tune flowers.csv --kernel linear --gamma-grid 1",
        "tune flowers.csv --c-grid 1,-2",
        "check none.csv",
        "check empty.csv",
        "convert flowers.csv flowers.xyz",
        "convert flowers.csv none/x.svm",
        "convert flowers.csv x --model libsvm",
        "convert flowers.model x.libsvm --model libsvm",
        "scale none.svm",
        "scale two.svm -r none.range",
        "scale two.svm -l 1 -u 0",
        "reproduce none/table --data folder",
        "reproduce esvm/table2 --data none",
        "reproduce esvm/table2 --data folder --only rose --out folder",
        "svm-train none.svm",
        "svm-train -s 9 two.svm",
        "svm-train -c x two.svm",
        "svm-predict two.svm none.model out",
        "svm-predict -b 1 two.svm flowers.model out",
    ] {
        let complaint = place.refused(words);
        assert_eq!(complaint.lines().count(), 1, "{words}\n{complaint}");
        text.push_str(&format!("$ boulevard {words}\n{complaint}"));
    }
    golden("errors", &text);
    assert_eq!(place.files(), before, "nothing was written");
}

#[test]
fn bad_lines_are_all_reported() {
    let place = Place::new();
    place.write("bad.csv", "a,b,c,copy,label\n1,2,5,1,x\n2,oops,5,2,y\n3,4000,5,3,x\n4,,5,4,y\n1,2,5,1,y\n7,1\n9,3,5,9,y\n");
    let run = place.run("check bad.csv");
    assert_eq!(run.code, 2);
    golden("check-bad", &format!("{}{}", run.out, run.err));
    let json = place.run("check bad.csv --json");
    let value: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(value["problems"].as_array().unwrap().len(), 3);
    assert_eq!(value["problems"][0]["line"], 3);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let place = Place::with_data();
    for words in ["train flowers.csv -o /dev/full", "demo -o /dev/full", "convert flowers.csv /dev/full"] {
        assert_eq!(place.run(words).code, 2, "{words}");
    }
    assert!(place.refused("train flowers.csv -o /dev/full").contains("/dev/full: No space left on device"));
}
