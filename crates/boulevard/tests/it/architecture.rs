//! The order of rooms, silence, and where `unsafe` may live.

use std::fs;
use std::path::{Path, PathBuf};

/// Imports go only to the left.
const ROOMS: [&str; 22] = [
    "error",
    "words",
    "picture",
    "atomic_file",
    "heap",
    "memory",
    "check",
    "random",
    "simd",
    "parallel",
    "observe",
    "linalg",
    "data",
    "metrics",
    "kernel",
    "solver",
    "svm",
    "validation",
    "methods",
    "any",
    "gallery",
    "persist",
];

/// The files that may hold `unsafe` code.
const UNSAFE: [&str; 5] = ["heap.rs", "simd/vector.rs", "simd/x86.rs", "parallel/crew.rs", "solver/smo/arena.rs"];

fn sources() -> Vec<(String, String)> {
    sources_of(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"))
}

fn sources_of(root: &Path) -> Vec<(String, String)> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|e| e == "rs") {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    walk(root, &mut found);
    found.sort();
    found
        .iter()
        .map(|path| (path.strip_prefix(root).unwrap().to_string_lossy().replace('\\', "/"), fs::read_to_string(path).unwrap()))
        .collect()
}

/// Lines of code: comments and test modules at the end of a file are left out.
fn code(text: &str) -> impl Iterator<Item = &str> {
    text.split("#[cfg(test)]\nmod tests {").next().unwrap_or("").lines().filter(|line| !line.trim_start().starts_with("//"))
}

#[test]
fn imports_point_only_to_rooms_on_the_left() {
    let place = |room: &str| ROOMS.iter().position(|r| *r == room);
    for (file, text) in sources() {
        let room = file.split(['/', '.']).next().unwrap();
        let Some(own) = place(room) else {
            assert_eq!(file, "lib.rs", "{file} belongs to no room: add it to the list");
            continue;
        };
        if file.contains("tests") {
            continue;
        }
        for line in code(&text) {
            for import in line.split("crate::").skip(1) {
                let name = import.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap();
                let Some(other) = place(name) else { continue };
                assert!(other <= own, "{file}: `{}` imports from the right ({name} comes after {room})", line.trim());
                assert!(
                    !(room == "methods" && name == "methods" && import.matches("::").count() > 1 && !same_method(&file, import)),
                    "{file}: a method imports another"
                );
            }
        }
    }
}

fn same_method(file: &str, import: &str) -> bool {
    let own = file.split('/').nth(1).unwrap_or("");
    import.split("::").nth(1) == Some(own)
}

#[test]
fn the_library_is_silent() {
    // Tests may say what they measured or why they were skipped.
    for (file, text) in sources().into_iter().filter(|(file, _)| !file.contains("tests")) {
        for line in code(&text) {
            for word in ["println!", "eprintln!", "print!(", "dbg!("] {
                assert!(!line.contains(word), "{file}: {}", line.trim());
            }
        }
    }
}

/// Lines from which on a function or a file needs a reason for its length (`// long: reason`): right above or at the top of the function,
/// among the first lines of the file.
const LONG_FUNCTION: usize = 80;
const LONG_FILE: usize = 450;

/// Functions with the line they begin at and their length, by indentation: what `rustfmt` guarantees.
fn functions(text: &str) -> Vec<(usize, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let begins = |line: &str| {
        let bare = line.trim_start();
        let bare = bare.strip_prefix("pub").unwrap_or(bare);
        let bare = if bare.starts_with('(') { bare.split_once(')').map_or("", |(_, rest)| rest) } else { bare }.trim_start();
        ["fn ", "const fn ", "unsafe fn "].iter().any(|word| bare.starts_with(word))
    };
    let mut found = Vec::new();
    for (first, line) in lines.iter().enumerate().filter(|(_, line)| begins(line)) {
        let end = format!("{}}}", &line[..line.len() - line.trim_start().len()]);
        // A declaration without a body ends with a semicolon before any such line.
        if let Some(length) = lines[first..].iter().position(|line| {
            *line == end || line.ends_with(';') && line.starts_with(&end[..end.len() - 1]) && !line[end.len() - 1..].starts_with(' ')
        }) {
            found.push((first, length + 1));
        }
    }
    found
}

#[test]
fn what_is_long_says_why() {
    let apart = |file: &str| file.starts_with("simd/") || file.contains("tests");
    for (file, text) in sources().into_iter().filter(|(file, _)| !apart(file)) {
        let code: &str = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or("");
        let lines: Vec<&str> = code.lines().collect();
        let reason = |lines: &[&str]| lines.iter().any(|line| line.trim_start().starts_with("// long: "));
        assert!(
            lines.len() <= LONG_FILE || reason(&lines[..30]),
            "{file} has {} lines: cut it, or say why not (`// long: reason`)",
            lines.len()
        );
        for (first, length) in functions(code) {
            let near = &lines[first.saturating_sub(3)..(first + 25).min(lines.len())];
            assert!(
                length <= LONG_FUNCTION || reason(near),
                "{file}:{}: a function of {length} lines: cut it, or say why not (`// long: reason`)",
                first + 1
            );
        }
    }
}

#[test]
fn unsafe_code_stays_in_its_files() {
    for (file, text) in sources() {
        let found = code(&text).any(|line| line.contains("unsafe ") && !line.contains("unsafe_"));
        assert_eq!(found, UNSAFE.contains(&file.as_str()), "{file}");
    }
}

/// The driver of a card is a library of C functions: whoever calls it needs `unsafe`, and one file does.
#[test]
fn the_driver_of_a_card_is_called_in_one_file() {
    let found = sources_of(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../boulevard-cuda/src"));
    assert!(found.iter().any(|(file, _)| file == "driver.rs"));
    for (file, text) in found.into_iter().filter(|(file, _)| file != "driver.rs") {
        assert!(!code(&text).any(|line| line.contains("unsafe ") && !line.contains("unsafe_")), "{file} holds unsafe code");
    }
}

/// Functions that may tell kinds of models or learners apart outside the room of kinds.
const MOST_MATCHES: usize = 10;
/// Functions that may ask for one kind by name: pictures, tables and methods that only one kind has.
const MOST_QUESTIONS: usize = 20;

/// The kinds that a line of code names, of models, learners or methods. `methods` are the variants that `Self::` may name in their file.
fn kinds_named(line: &str, methods: &[&str]) -> Vec<String> {
    let word = |text: &str| text.split(|c: char| !c.is_alphanumeric()).next().unwrap_or("").to_owned();
    let enums = ["AnyModel::", "AnyLearner::", "MethodName::"];
    let mut kinds: Vec<String> = enums.iter().flat_map(|name| line.split(name).skip(1).map(word)).collect();
    kinds.extend(line.split("Self::").skip(1).map(word).filter(|name| methods.contains(&name.as_str())));
    for asked in ["get::<", "expect::<"] {
        kinds.extend(line.split(asked).skip(1).map(|rest| word(rest).replace("Model", "")));
    }
    // Constants and functions are no kinds.
    kinds.retain(|kind| kind.chars().next().is_some_and(char::is_uppercase) && kind.chars().any(char::is_lowercase));
    kinds
}

/// What stands outside `any/` asks what a model or a learner can do; few functions look at what it is.
#[test]
fn kinds_are_told_apart_in_one_room() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let (mut matches, mut questions) = (Vec::new(), Vec::new());
    for name in ["boulevard", "boulevard-cli", "boulevard-python"] {
        for (file, text) in sources_of(&crates.join(name).join("src")) {
            if file.starts_with("any/") || file.contains("tests") {
                continue;
            }
            let list = text.split_once("pub enum MethodName {").and_then(|(_, rest)| rest.split_once('}')).map_or("", |(list, _)| list);
            let methods: Vec<&str> =
                list.lines().filter_map(|line| line.trim().strip_suffix(',')).filter(|word| !word.contains(' ')).collect();
            let (mut function, mut kinds): (String, Vec<String>) = (String::new(), Vec::new());
            let mut close = |function: &str, kinds: &mut Vec<String>| {
                kinds.sort();
                kinds.dedup();
                let place = format!("{name}/{file}: {function} names {}", kinds.join(", "));
                match kinds.len() {
                    0 => {}
                    1 => questions.push(place),
                    _ => matches.push(place),
                }
                kinds.clear();
            };
            for line in code(&text) {
                if let Some((before, after)) = line.split_once("fn ")
                    && before.trim_start().split(' ').all(|word| word.is_empty() || word.starts_with("pub") || word == "const")
                {
                    close(&function, &mut kinds);
                    after.split(['(', '<']).next().unwrap_or("").clone_into(&mut function);
                }
                kinds.extend(kinds_named(line, &methods));
            }
            close(&function, &mut kinds);
        }
    }
    assert!(matches.len() <= MOST_MATCHES, "{} functions tell kinds apart:\n{}", matches.len(), matches.join("\n"));
    assert!(questions.len() <= MOST_QUESTIONS, "{} functions ask for one kind:\n{}", questions.len(), questions.join("\n"));
}
