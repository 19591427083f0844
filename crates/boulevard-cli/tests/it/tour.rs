//! `demo` and `reproduce`.

use std::io::Write;

use crate::common::{Numbers, Place, golden, self_contained};

#[test]
fn the_tour_is_short_and_leaves_a_page() {
    let place = Place::new();
    let out = place.ok("demo");
    let words: Vec<&str> = out.split_whitespace().collect();
    for word in ["banana", "spiral", "balanced", "SVR", "one-class", "select", "boosted", "gather", "front", "boulevard-demo.html"] {
        assert!(words.iter().any(|known| known.contains(word)), "{word}\n{out}");
    }
    let page = place.read("boulevard-demo.html");
    assert!(page.matches("<figure class=\"picture\"").count() >= 16);
    self_contained(&page);
}

fn pack(path: &std::path::Path, text: &str) {
    let mut out = flate2::write::GzEncoder::new(std::fs::File::create(path).unwrap(), flate2::Compression::fast());
    out.write_all(text.as_bytes()).unwrap();
    out.finish().unwrap();
}

#[test]
fn a_table_is_reproduced_and_resumed() {
    let place = Place::new();
    golden("reproduce-list", &place.ok("reproduce --list"));
    std::fs::create_dir_all(place.path("data/ida")).unwrap();
    let (mut rows, mut splits, mut numbers) = (String::from("x1,x2,label\n"), String::from("split,origin,train\n"), Numbers::new(5));
    for i in 0..60 {
        let sign = if i % 2 == 0 { 1.0 } else { -1.0 };
        rows.push_str(&format!("{:.3},{:.3},{}\n", sign * 0.4 + numbers.next(), numbers.next(), sign));
    }
    for split in 0..12 {
        let train: Vec<String> = (0..60).filter(|row| (row + split) % 3 != 0).map(|row| row.to_string()).collect();
        splits.push_str(&format!("{split},{},{}\n", if split < 4 { "original" } else { "generated" }, train.join(" ")));
    }
    pack(&place.path("data/ida/heart.csv.gz"), &rows);
    pack(&place.path("data/ida/heart.splits.csv.gz"), &splits);
    let words = "reproduce esvm/table2 --data data --quick --only heart --out results --json all.json -q";
    let first = place.ok(words);
    assert!(first.contains("heart") && first.contains("original splits"), "{first}");
    let value: serde_json::Value = serde_json::from_str(&place.read("all.json")).unwrap();
    assert_eq!(value[0]["entries"][0]["splits"], 10);
    for name in ["md", "json", "html"] {
        assert!(place.exists(&format!("results/esvm-table2-quick.{name}")));
    }
    // Finished cells are not computed again, and a changed one is believed.
    let cell = "results/state/esvm-table2/quick/heart.errors.json";
    place.write(cell, &place.read(cell).replacen("0.", "0.0", 1));
    pack(&place.path("data/ida/heart.splits.csv.gz"), &splits);
    place.ok(words);
    assert_eq!(place.ok(&format!("{words} --fresh")), first);
    assert!(place.refused("reproduce esvm/table2 --data data --only banana").contains("banana"));
}

#[test]
fn the_tables_of_the_boosted_machines_are_reproduced() {
    let place = Place::new();
    std::fs::create_dir_all(place.path("data")).unwrap();
    let mut numbers = Numbers::new(9);
    for name in ["scene_train", "scene_test"] {
        let mut rows = String::from("a,b,label_0,label_1,label_2,label_3,label_4,label_5\n");
        for _ in 0..60 {
            let (a, b) = (numbers.next(), numbers.next());
            let label = ((3.0 * a) as usize) + 3 * usize::from(b > 0.5);
            let on: Vec<&str> = (0..6).map(|l| if l == label.min(5) { "1" } else { "0" }).collect();
            rows.push_str(&format!("{a},{b},{}\n", on.join(",")));
        }
        pack(&place.path(&format!("data/{name}.csv.gz")), &rows);
    }
    let out = place.ok("reproduce sab/table1 --data data --quick --only 0 --out results -q");
    assert!(out.contains("our default FN") && out.contains("SAB-WSVM, paper FP"), "{out}");
    let out = place.ok("reproduce sab/figure1 --data data --quick --only scene --out results -q");
    assert!(out.contains("our default") && out.contains("Hamming"), "{out}");
}

#[test]
fn the_fronts_are_drawn() {
    let place = Place::new();
    std::fs::create_dir_all(place.path("data")).unwrap();
    let mut numbers = Numbers::new(4);
    let mut rows = String::from("a,b,c,label\n");
    for i in 0..40 {
        let shift = 0.6 * f64::from(i % 2);
        rows.push_str(&format!("{:.3},{:.3},{:.3},{}\n", numbers.next() + shift, numbers.next() - shift, numbers.next(), i % 2));
    }
    place.write("data/lupus.csv", &rows);
    let out = place.ok("reproduce evo/figure1 --data data --quick --only lupus --out results -q");
    assert!(out.contains("share of the exact hypervolume"), "{out}");
    let page = place.read("results/evo-figure1-quick.html");
    // Two pictures of the row, and the bars of the table.
    assert_eq!(page.matches("<figure class=\"picture\"").count(), 3);
}
