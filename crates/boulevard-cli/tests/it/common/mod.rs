//! What the tests share: a folder with small files, the program, and golden files.

use std::fs;
use std::path::PathBuf;

use assert_cmd::Command;
use tempfile::TempDir;

/// A folder that the program runs in.
pub struct Place {
    folder: TempDir,
}

/// What a run left behind.
pub struct Run {
    pub out: String,
    pub err: String,
    pub code: i32,
}

/// Numbers that look random and are the same everywhere.
pub struct Numbers(u64);

impl Numbers {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Uniform in [0, 1), three digits.
    pub fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 % 1000.0 / 1000.0
    }
}

/// A report is one file of bearable size that loads nothing: what it draws with stands in it.
pub fn self_contained(page: &str) {
    for outside in ["<link", "<script src", "<img", "<iframe", "@import"] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert!(page.len() < 1_500_000, "{} bytes", page.len());
}

impl Place {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    /// A folder with `flowers.csv` (3 classes), `two.svm` (-1/+1) and `prices.csv` (regression).
    pub fn with_data() -> Self {
        let place = Self::new();
        let mut numbers = Numbers::new(7);
        let mut flowers = String::from("length,width,petal,species\n");
        for i in 0..90 {
            let class = i % 3;
            let mut value = |center: f64| center + numbers.next() - 0.5;
            let (a, b, c) = (value(5.0 + 0.6 * class as f64), value(3.0), value(1.5 + 0.9 * class as f64));
            flowers.push_str(&format!("{a:.3},{b:.3},{c:.3},{}\n", ["setosa", "versicolor", "virginica"][class]));
        }
        place.write("flowers.csv", &flowers);
        let mut two = String::new();
        for i in 0..80 {
            let sign = if i % 2 == 0 { 1.0 } else { -1.0 };
            let mut value = || sign * 0.3 + 2.0 * numbers.next() - 1.0;
            two.push_str(&format!(
                "{}{} 1:{:.3} 2:{:.3} 4:{:.3}\n",
                if sign > 0.0 { "+" } else { "" },
                sign as i32,
                value(),
                value(),
                value()
            ));
        }
        place.write("two.svm", &two);
        let mut prices = String::from("rooms,age,price\n");
        for _ in 0..60 {
            let (a, b) = (4.0 * numbers.next(), numbers.next());
            prices.push_str(&format!("{a:.3},{b:.3},{:.3}\n", a * a - 2.0 * b + 0.2 * numbers.next()));
        }
        place.write("prices.csv", &prices);
        place
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    pub fn exists(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    /// Names of all files, hidden ones too.
    pub fn files(&self) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(self.folder.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Runs the program in the folder; words are separated by blanks.
    pub fn run(&self, words: &str) -> Run {
        self.run_with(words, "")
    }

    pub fn run_with(&self, words: &str, input: &str) -> Run {
        let mut command = Command::cargo_bin("boulevard").unwrap();
        command.current_dir(self.folder.path()).env("COLUMNS", "100").args(words.split_whitespace()).write_stdin(input);
        let output = command.timeout(std::time::Duration::from_secs(60)).output().unwrap();
        Run {
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
            code: output.status.code().unwrap_or(-1),
        }
    }

    /// Runs and expects success.
    pub fn ok(&self, words: &str) -> String {
        let run = self.run(words);
        assert_eq!(run.code, 0, "{words}\n{}{}", run.out, run.err);
        run.out
    }

    /// Runs and expects one line of complaint and exit code 2.
    pub fn refused(&self, words: &str) -> String {
        let run = self.run(words);
        assert_eq!(run.code, 2, "{words}\n{}{}", run.out, run.err);
        run.err
    }
}

/// Compares with `snapshots/NAME.snap`; `INSTA_UPDATE=always` rewrites the file.
///
/// Times, step counts and last digits differ between machines and are left out; line ends are trimmed.
pub fn golden(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.add_filter(r"(?m)(^| )-?[0-9][0-9.]*(?:e[0-9]+)? m?s\b", "${1}TIME");
    settings.add_filter(r"(?m)(^| )[0-9]+ steps\b", "${1}STEPS");
    settings.add_filter(r"(?m) +$", "");
    settings.bind(|| insta::assert_snapshot!(name, rounded(text)));
}

/// The last digits depend on the vector instructions of the machine: decimals with more than five digits keep four, and what is below
/// one in a scientific notation is rounding. No filter can do that.
fn rounded(text: &str) -> String {
    let word = |word: &str| {
        let bare = word.trim_end_matches([',', '.', ';', ')']);
        let (tail, long) = (&word[bare.len()..], bare.trim_start_matches(['-', '0', '.']).len() > 5 && bare.contains('.'));
        match bare.parse::<f64>() {
            Ok(_) if bare.contains("e-") => format!("TINY{tail}"),
            Ok(number) if long => format!("{number:.3e}{tail}"),
            _ => word.to_owned(),
        }
    };
    let line = |line: &str| line.split(' ').map(word).collect::<Vec<_>>().join(" ");
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}
