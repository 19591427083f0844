//! The targets: one function per parser. Each takes any bytes, and panics where a promise was broken.

use std::path::Path;

use boulevard::data::io::{
    Format, Missing, PrecomputedUse, ReadOptions, Scan, TargetKind, read_precomputed_from, read_whole_from, scan_from,
};
use boulevard::data::{Dataset, RangeFile};
use boulevard::persist::{AnyModel, libsvm_text};

use crate::mutate::Dice;
use crate::{forge, judge, models};

/// Which way an input went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Way {
    /// Whether the parser took it.
    pub taken: bool,
    /// A print of the complaints, without the numbers and words of the input: the same for inputs that failed in the same place.
    pub print: u64,
}

impl Way {
    fn taken() -> Self {
        Self { taken: true, print: 0 }
    }

    fn refused(error: &boulevard::Error) -> Self {
        Self { taken: false, print: print_of(&error.to_string()) }
    }

    fn and(self, other: Self) -> Self {
        Self { taken: self.taken | other.taken, print: self.print.rotate_left(7) ^ other.print }
    }
}

/// A hash of the first letters of a message, less what stands between quotes: where it failed, not with what.
fn print_of(message: &str) -> u64 {
    const LETTERS: usize = 40;
    let mut quoted = false;
    let letters = message.bytes().filter(|&byte| {
        quoted ^= byte == b'`';
        !quoted && byte.is_ascii_alphabetic()
    });
    letters.take(LETTERS).fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// One parser under fire.
pub struct Target {
    /// What it is called, as in `fuzz/corpus`.
    pub name: &'static str,
    /// The function.
    pub run: fn(&[u8]) -> Way,
    /// Inputs to begin with.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Words that mean something to it.
    pub words: &'static [&'static [u8]],
}

/// All targets.
pub fn all() -> Vec<Target> {
    const LIBSVM: &[&[u8]] = &[b"1:", b":", b"qid:1 ", b"cost:2 ", b"0:1 ", b"#", b",", b"\n", b"+1 ", b"1:nan", b"-1:1", b"\r\n"];
    const CSV: &[&[u8]] = &[b",", b"\"", b"\"\"", b";", b"\t", b"\n", b"\r\n", b"?", b"NA", b"label", b"\xef\xbb\xbf", b"\0", b"nan,"];
    const ARFF: &[&[u8]] = &[
        b"@attribute ",
        b"@data\n",
        b"@relation ",
        b"{",
        b"}",
        b"{0 1}",
        b"'",
        b"%",
        b"?",
        b" real\n",
        b" {a,b}\n",
        b"-C -1",
        b"\\'",
        b"date",
        b"string",
    ];
    const MODEL: &[&[u8]] = &[
        b"svm_type ",
        b"kernel_type ",
        b"nr_class ",
        b"total_sv ",
        b"rho ",
        b"label ",
        b"nr_sv ",
        b"SV\n",
        b"gamma ",
        b"degree ",
        b"coef0 ",
        b"probA ",
        b"probB ",
        b"prob_density_marks ",
        b"precomputed",
        b"one_class",
        b"nu_svr",
        b"epsilon_svr",
        b"c_svc",
        b"polynomial",
        b"0:1 ",
    ];
    const RANGE: &[&[u8]] = &[b"x\n", b"y\n", b"-1 1\n", b"#features ", b"1 0 1\n", b" ", b"\n", b"nan", b"inf"];
    const NPY: &[&[u8]] =
        &[b"'<f8'", b"'>f4'", b"'|u1'", b"'<i8'", b"True", b"False", b"(3,)", b"(2, 99999999999)", b"'descr'", b"\x93NUMPY", b"(0, 0)"];
    const NATIVE: &[&[u8]] = &[b"\"", b"{", b"}", b"[", b"]", b"null", b"\"data_offsets\":[0,8]", b"\"F64\"", b"\"shape\":[1]"];
    vec![
        Target { name: "libsvm", run: libsvm, seeds: || texts(&LIBSVM_SEEDS), words: LIBSVM },
        Target { name: "csv", run: csv, seeds: || texts(&CSV_SEEDS), words: CSV },
        Target { name: "arff", run: arff, seeds: || texts(&ARFF_SEEDS), words: ARFF },
        Target { name: "sniffed", run: sniffed, seeds: sniffed_seeds, words: CSV },
        Target { name: "npy", run: npy, seeds: npy_seeds, words: NPY },
        #[cfg(feature = "parquet")]
        Target { name: "parquet", run: parquet, seeds: parquet_seeds, words: &[b"PAR1", b"\0\0\0\0"] },
        Target { name: "libsvm_model", run: libsvm_model, seeds: models::libsvm_files, words: MODEL },
        Target { name: "native_model", run: native_model, seeds: models::native_files, words: NATIVE },
        Target { name: "forged_model", run: forged_model, seeds: || (0..64u8).map(|i| vec![i; 9]).collect(), words: &[] },
        Target { name: "range_file", run: range_file, seeds: || texts(&RANGE_SEEDS), words: RANGE },
    ]
}

const LIBSVM_SEEDS: [&str; 4] = [
    "# sample\n+1 qid:1 1:0.5 3:-2e-3\n-1 2:1.25\n1,2 1:1 # multi\n\n 4:4\n",
    "1 0:1 1:4 2:0.5\n-1 0:2 1:0.5 2:9\n",
    "2.5 1:1 2:2 3:3\n-1e3 1:0.1\n0 3:7\n",
    "1 1:1\n-1 1:2\n1 4294967295:1\n",
];
const CSV_SEEDS: [&str; 4] = [
    "a,\"b \"\"c\"\"\",w,label\n1,2.5,1,yes\n-3e1,.5,2,\"n,o\"\n?,1,1,yes\n",
    "x;y;color;label\r\n1;2;red;a\r\n3;4;blue;b\r\n5;6;red;a\r\n",
    "1,2,3,0\n4,5,6,1\n7,8,9,0\n",
    "a\tb\tlabel\n1\t2\t3.5\n4\t5\t6.5\n",
];
const ARFF_SEEDS: [&str; 3] = [
    "% c\n@relation 'r: -C -1'\n@attribute 'a b' real\n@attribute c {0,1}\n@attribute d {x,'y z'}\n@attribute l {0,1}\n@data\n1.5,1,'y z',0\n2,0,x,1\n",
    "@relation r\n@attribute a real\n@attribute c {1,2}\n@attribute y {p,q}\n@data\n{0 1.5, 2 q}\n{}\n{1 2}\n",
    "@relation m\n@attribute a numeric\n@attribute y numeric\n@data\n1,2\n?,3\n4,5\n",
];
const RANGE_SEEDS: [&str; 3] =
    ["x\n-1 1\n1 0.5 3 \n2 -1 1\n4 0 12\n#features 3\n", "y\n0 1\n-5 5\nx\n-1 1\n1 0 1\n3 2 4\n", "x\n0 1\n7 1e-300 1e300\n"];

fn texts(seeds: &[&str]) -> Vec<Vec<u8>> {
    seeds.iter().map(|text| text.as_bytes().to_vec()).collect()
}

fn sniffed_seeds() -> Vec<Vec<u8>> {
    let mut seeds = [texts(&LIBSVM_SEEDS), texts(&CSV_SEEDS), texts(&ARFF_SEEDS)].concat();
    let data = Dataset::read_from(CSV_SEEDS[2].as_bytes(), "a.csv", &ReadOptions::default());
    if let (Ok(data), Ok(folder)) = (data, tempfile_folder()) {
        let path = folder.join("a.csv.gz");
        if data.write(&path).is_ok()
            && let Ok(bytes) = std::fs::read(&path)
        {
            seeds.push(bytes);
        }
        let _ = std::fs::remove_dir_all(folder);
    }
    seeds
}

fn tempfile_folder() -> std::io::Result<std::path::PathBuf> {
    let folder = std::env::temp_dir().join(format!("boulevard-fuzz-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// Strict reading and scanning must agree on whether a file is sound, and a table must be whole.
fn table(bytes: &[u8], options: &ReadOptions) -> Way {
    let whole = |scan: &Scan| {
        let (data, rows) = (&scan.data, scan.data.len());
        assert_eq!(data.x.rows(), rows);
        assert!(data.target.count().is_none_or(|found| found == rows), "a target for every row");
        assert!(data.weights.as_ref().is_none_or(|weights| weights.len() == rows));
        assert!(data.feature_names.as_ref().is_none_or(|names| names.len() == data.x.columns()));
        assert!(data.x.check_finite("the table").is_ok(), "a table of finite numbers");
    };
    let mut problems = 0;
    let strict = read_whole_from(bytes, "fuzz", options);
    let scan = scan_from(bytes, "fuzz", options, &mut |_| problems += 1);
    match (strict, scan) {
        (Ok(strict), Ok(scan)) => {
            whole(&strict);
            assert_eq!(problems, 0, "a file that is read has no problems");
            assert_eq!(strict.data, scan.data);
            Way::taken()
        }
        (Ok(_), Err(error)) => panic!("read, but not scanned: {error}"),
        (Err(error), Ok(scan)) => {
            whole(&scan);
            assert!(problems > 0, "scanned without a problem, but not read: {error}");
            Way::refused(&error)
        }
        (Err(error), Err(_)) => Way::refused(&error),
    }
}

/// LIBSVM text, as data and as a precomputed kernel.
pub fn libsvm(bytes: &[u8]) -> Way {
    let mut way = Way::default();
    for target in [TargetKind::Auto, TargetKind::Real, TargetKind::Labels] {
        way = way.and(table(bytes, &ReadOptions { format: Some(Format::Libsvm), target, ..ReadOptions::default() }));
    }
    for purpose in [PrecomputedUse::Train, PrecomputedUse::Predict] {
        if let Err(error) = read_precomputed_from(bytes, "fuzz", &ReadOptions::default(), purpose) {
            way = way.and(Way::refused(&error));
        }
    }
    way
}

fn with_columns(bytes: &[u8], format: Option<Format>) -> Way {
    let mut way = Way::default();
    for (one_hot, missing) in [(false, Missing::Error), (true, Missing::DropRow)] {
        way = way.and(table(bytes, &ReadOptions { format, one_hot, missing, ..ReadOptions::default() }));
    }
    way
}

/// CSV, with and without one-hot encoding.
pub fn csv(bytes: &[u8]) -> Way {
    with_columns(bytes, Some(Format::Csv))
}

/// ARFF, with and without one-hot encoding.
pub fn arff(bytes: &[u8]) -> Way {
    with_columns(bytes, Some(Format::Arff))
}

/// Whatever the first bytes say it is, gzip included.
pub fn sniffed(bytes: &[u8]) -> Way {
    with_columns(bytes, None)
}

/// NumPy's arrays.
pub fn npy(bytes: &[u8]) -> Way {
    let options = ReadOptions { format: Some(Format::Npy), ..ReadOptions::default() };
    table(bytes, &options).and(table(bytes, &ReadOptions { target: TargetKind::None, ..options }))
}

fn npy_seeds() -> Vec<Vec<u8>> {
    let file = |kind: &str, order: &str, shape: &str, data: Vec<u8>| {
        let mut header = format!("{{'descr': '{kind}', 'fortran_order': {order}, 'shape': {shape}, }}");
        while !(header.len() + 11).is_multiple_of(64) {
            header.push(' ');
        }
        header.push('\n');
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.bytes());
        bytes.extend(data);
        bytes
    };
    let doubles = [1.0, 2.0, 0.0, 3.0, -4.5, 1.0].iter().flat_map(|v: &f64| v.to_le_bytes()).collect::<Vec<u8>>();
    let singles = [1.0, 2.0, 0.0, 3.0, -4.5, 1.0].iter().flat_map(|v: &f32| v.to_be_bytes()).collect::<Vec<u8>>();
    vec![
        file("<f8", "False", "(2, 3)", doubles.clone()),
        file("<f8", "True", "(3, 2)", doubles),
        file(">f4", "False", "(2, 3)", singles),
        file("|u1", "False", "(2, 3)", vec![1, 2, 0, 3, 4, 1]),
    ]
}

/// Parquet.
#[cfg(feature = "parquet")]
pub fn parquet(bytes: &[u8]) -> Way {
    match read_whole_from(bytes, "fuzz", &ReadOptions { format: Some(Format::Parquet), one_hot: true, ..ReadOptions::default() }) {
        Ok(_) => Way::taken(),
        Err(error) => Way::refused(&error),
    }
}

#[cfg(feature = "parquet")]
fn parquet_seeds() -> Vec<Vec<u8>> {
    let file = |text: &str, name: &str| {
        let data = Dataset::read_from(text.as_bytes(), name, &ReadOptions { one_hot: true, ..ReadOptions::default() }).ok()?;
        let mut bytes = Vec::new();
        data.write_to(&mut bytes, "out", Format::Parquet).ok()?;
        Some(bytes)
    };
    CSV_SEEDS.iter().filter_map(|text| file(text, "a.csv")).collect()
}

/// LIBSVM's model text: what is taken must answer, and be written and read again.
pub fn libsvm_model(bytes: &[u8]) -> Way {
    match libsvm_text::parse(bytes, "fuzz", &libsvm_text::ReadOptions::default()) {
        Ok(model) => {
            judge::answers(&model);
            Way::taken()
        }
        Err(error) => Way::refused(&error),
    }
}

/// Native model files as they come; the checksum refuses nearly all that were changed.
pub fn native_model(bytes: &[u8]) -> Way {
    match AnyModel::from_bytes(bytes) {
        Ok(model) => {
            judge::answers(&model);
            Way::taken()
        }
        Err(error) => Way::refused(&error),
    }
}

/// Native model files with hostile contents and a right checksum: the bytes say which model and how the dice fall.
pub fn forged_model(bytes: &[u8]) -> Way {
    static FILES: std::sync::OnceLock<Vec<Vec<u8>>> = std::sync::OnceLock::new();
    let files = FILES.get_or_init(models::native_files);
    let seed = bytes.iter().fold(0u64, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3).rotate_left(5));
    let mut dice = Dice::new(seed);
    let file = dice.pick(files).clone();
    let Some(file) = forge::forged(&mut dice, &file) else { return Way::default() };
    native_model(&file)
}

/// Range files: what is taken must come back.
pub fn range_file(bytes: &[u8]) -> Way {
    let Ok(text) = std::str::from_utf8(bytes) else { return Way::default() };
    match RangeFile::parse(text, Path::new("fuzz")) {
        Ok(file) => {
            let again = RangeFile::parse(&file.to_text(), Path::new("again")).expect("what was written can be read");
            assert_eq!(file, again);
            // Tables of any width up to what a reader allows.
            if file.columns() <= 1 << 21 {
                let _ = file.scaler(file.columns());
            }
            Way::taken()
        }
        Err(error) => Way::refused(&error),
    }
}
