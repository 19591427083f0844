//! Any words on the command line: an answer or one line of complaint. Here and not in `fuzz/`, because the program is no library.

use boulevard_fuzz::drive::{self, Limits};
use boulevard_fuzz::targets::{Target, Way};
use clap::Parser;

use super::{Cli, Command};
use crate::learner::Plan;
use crate::usage_in_one_line;

const SEEDS: [&str; 10] = [
    "train a.csv --method svc --c 10 --gamma 0.5 --scale standard -o m --max-time 3 --memory-limit 2G --threads 2",
    "train a.csv --method svr --epsilon 0.5 --report r.html --kernel poly --degree 2 --coef0 1 --json -q",
    "train a.csv --method select --select kernels --kernels linear,poly:2:1,rbf:0.5 --task t --labels a,b*",
    "train a.csv --method boost --class-weight a=2,b=0.5 --one-hot --drop-missing --max-features 5 --seed 7",
    "evaluate a.csv --method svc --method nu-svc --nu 0.1 --folds 3 --repeats 2 --sizes 1,2,3 --curve c.html",
    "tune a.csv --c-grid 0.1,1,10 --gamma-grid 0.01,1 --folds 10 --format csv --label y --weight w --group g --ignore x*",
    "predict m a.csv --probability --decision -o out.csv",
    "scale a.svm -l 0 -u 1 -y -1 1 -s r -o b.svm",
    "svm-train -s 3 -t 2 -c 10 -w1 5 -v 3 -h 0 -b 1 -q a.svm m",
    "convert a.model b.model --model libsvm --class-labels 1,-1",
];

const WORDS: [&[u8]; 24] = [
    b" --c ",
    b" --nu ",
    b" --gamma ",
    b" --kernel ",
    b" --method ",
    b"linear",
    b"pareto",
    b"induce",
    b"gather",
    b"one-class",
    b" --calibrate ",
    b" --class-weight ",
    b"balanced",
    b" --kernels ",
    b"poly:",
    b"rbf:gamma=",
    b" --max-time ",
    b" --folds ",
    b" -- ",
    b"=",
    b",",
    b" ''",
    b"\xff",
    b" --help",
];

/// One command line; words are separated by white space.
fn arguments(bytes: &[u8]) -> Way {
    let text = String::from_utf8_lossy(bytes);
    let words = std::iter::once("boulevard").chain(text.split_whitespace());
    match Cli::try_parse_from(words) {
        Err(error) => {
            let complaint = usage_in_one_line(&error.to_string());
            assert!(!error.use_stderr() || complaint.lines().count() == 1, "{complaint}");
            Way { taken: false, print: error.kind() as u64 }
        }
        Ok(cli) => {
            let planned = match &cli.command {
                Command::Train(args) => Plan::new(args.method, &args.learner).map(drop),
                Command::Tune(args) => Plan::new(args.method, &args.learner).map(drop),
                Command::Evaluate(args) => Plan::several(&args.method, &args.learner).map(drop),
                Command::SvmTrain(args) => crate::commands::libsvm::train::check(args),
                _ => Ok(()),
            };
            if let Err(error) = &planned {
                let complaint = crate::in_one_line(error);
                assert!(!complaint.is_empty());
            }
            Way { taken: planned.is_ok(), print: 100 + u64::from(planned.is_err()) }
        }
    }
}

#[test]
fn arguments_of_any_kind_are_answered_or_refused() {
    run(&Target { name: "arguments", run: arguments, seeds: || SEEDS.map(|text| text.as_bytes().to_vec()).to_vec(), words: &WORDS });
}

/// Two seconds in the tests; `scripts/fuzz` sets longer times.
#[allow(clippy::print_stdout, reason = "the count is the result")]
pub fn run(target: &Target) {
    // One after the other: the driver has one hook for panics and one clock.
    static ONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _alone = ONE.lock();
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<f64>().ok());
    let limits = Limits {
        seconds: number("BOULEVARD_FUZZ_SECONDS").unwrap_or(2.0),
        executions: number("BOULEVARD_FUZZ_EXECUTIONS").map_or(u64::MAX, |count| count as u64),
        seed: 1,
        failures: std::env::temp_dir().join("boulevard-fuzz-failures"),
    };
    let record = drive::run(target, &[], &limits).unwrap_or_else(|message| panic!("{message}"));
    println!("{record:?}");
    assert!(record.executions > 10 && record.taken > 0, "{record:?}");
}
