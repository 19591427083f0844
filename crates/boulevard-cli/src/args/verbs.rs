//! The flags of each verb.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgAction, Args};
use clap_complete::Shell;

use super::{DataArgs, LearnerArgs, MethodName, RunArgs};

/// `boulevard demo`
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Where to write the HTML report
    #[arg(short, long, visible_alias = "report", value_name = "FILE", default_value = "boulevard-demo.html")]
    pub output: PathBuf,
    #[command(flatten)]
    pub run: RunArgs,
}

/// `boulevard train`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  boulevard train flowers.csv -o flowers.model
  boulevard train flowers.csv --label species --c 10 --gamma 0.5 --scale standard -o flowers.model
  boulevard train prices.csv --method svr --epsilon 0.5 --report prices.html
  boulevard train rare.csv --class-weight balanced --calibrate -o rare.model
  zcat big.svm.gz | boulevard train - --max-time 60 -o big.model

Ctrl-C stops the solver; with -o the model found so far is saved.")]
pub struct TrainArgs {
    /// Data file (LIBSVM, CSV, ARFF or Parquet, also .gz); `-` is standard input
    #[arg(value_name = "DATA")]
    pub data: PathBuf,
    /// What to learn
    #[arg(short, long, default_value = "svc")]
    pub method: MethodName,
    /// Where to save the model
    #[arg(short, long, value_name = "MODEL")]
    pub output: Option<PathBuf>,
    /// Write a report as an HTML page
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,
    /// Exit with status 1 if the solver did not converge
    #[arg(long)]
    pub strict: bool,
    #[command(flatten)]
    pub learner: LearnerArgs,
    #[command(flatten)]
    pub read: DataArgs,
    #[command(flatten)]
    pub run: RunArgs,
}

/// `boulevard predict`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  boulevard predict flowers.model new.csv
  boulevard predict flowers.model new.csv --probability -o answers.csv
  boulevard predict flowers.model test.csv --label species      prints the accuracy too

Columns are matched by name where both the model and the file have names.")]
pub struct PredictArgs {
    /// Model file
    #[arg(value_name = "MODEL")]
    pub model: PathBuf,
    /// Data file; `-` is standard input
    #[arg(value_name = "DATA")]
    pub data: PathBuf,
    /// Write the predictions to this CSV file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// One column of probability per class (the model must be calibrated)
    #[arg(long)]
    pub probability: bool,
    /// Decision values too
    #[arg(long)]
    pub decision: bool,
    #[command(flatten)]
    pub read: DataArgs,
    #[command(flatten)]
    pub run: RunArgs,
}

/// `boulevard evaluate`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  boulevard evaluate flowers.csv --folds 10
  boulevard evaluate flowers.csv --method svc --method nu-svc --nu 0.1 --repeats 3
  boulevard evaluate prices.csv --method svr --scale standard --json
  boulevard evaluate echoes.csv --method gather --sizes 1,2,3,5,8 --curve echoes.html

Methods are compared on the same folds by the corrected resampled t-test (Nadeau and Bengio 2003).")]
pub struct EvaluateArgs {
    /// Data file; `-` is standard input
    #[arg(value_name = "DATA")]
    pub data: PathBuf,
    /// Method to judge; may be given several times
    #[arg(short, long, default_value = "svc")]
    pub method: Vec<MethodName>,
    /// Folds
    #[arg(long, value_name = "K", default_value_t = 10)]
    pub folds: usize,
    /// How often to repeat with other folds
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub repeats: usize,
    /// Error against samples per decision at these sizes, on the held-out rows (gather)
    #[arg(long, value_name = "SIZES", value_delimiter = ',')]
    pub sizes: Vec<usize>,
    /// Write that curve as an HTML page with a picture
    #[arg(long, value_name = "FILE.html", requires = "sizes")]
    pub curve: Option<PathBuf>,
    /// Write a report as an HTML page
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,
    #[command(flatten)]
    pub learner: LearnerArgs,
    #[command(flatten)]
    pub read: DataArgs,
    #[command(flatten)]
    pub run: RunArgs,
}

/// `boulevard tune`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  boulevard tune flowers.csv -o flowers.model
  boulevard tune flowers.csv --c-grid 0.1,1,10 --gamma-grid 0.01,0.1,1 --folds 10
  boulevard tune flowers.csv --one-se
  boulevard tune prices.csv --method svr --scale standard")]
pub struct TuneArgs {
    /// Data file; `-` is standard input
    #[arg(value_name = "DATA")]
    pub data: PathBuf,
    /// What to learn
    #[arg(short, long, default_value = "svc")]
    pub method: MethodName,
    /// Values of C (of nu for nu-svc) [default: 1/8, 1, ..., 512, for regression times the target's spread; nu: from 0.05 to 0.7]
    #[arg(long, value_name = "VALUES", value_delimiter = ',')]
    pub c_grid: Vec<f64>,
    /// Values of gamma [default: 1/64, 1/16, ..., 4 times the `scale` rule]
    #[arg(long, value_name = "VALUES", value_delimiter = ',')]
    pub gamma_grid: Vec<f64>,
    /// Values of epsilon (svr) [default: 0.03 and 0.24 times the target's spread, unless --epsilon is given]
    #[arg(long, value_name = "VALUES", value_delimiter = ',')]
    pub epsilon_grid: Vec<f64>,
    /// Whether points half a step around the best are tried too [default: where no values are given]
    #[arg(long, value_name = "BOOL")]
    pub refine: Option<bool>,
    /// Choose the smoothest machine within one standard error of the best
    #[arg(long)]
    pub one_se: bool,
    /// Folds
    #[arg(long, value_name = "K", default_value_t = 5)]
    pub folds: usize,
    /// Where to save the model refitted with the best parameters
    #[arg(short, long, value_name = "MODEL")]
    pub output: Option<PathBuf>,
    /// Write a report as an HTML page
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,
    #[command(flatten)]
    pub learner: LearnerArgs,
    #[command(flatten)]
    pub read: DataArgs,
    #[command(flatten)]
    pub run: RunArgs,
}

/// `boulevard explore`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  boulevard explore                                 drop a file on the page, or take a built-in set
  boulevard explore flowers.csv
  boulevard explore flowers.model --data flowers.csv
  boulevard explore --no-open --port 8080

The page is served on this machine only, at the address that is printed; Ctrl-C ends it.")]
pub struct ExploreArgs {
    /// Data file or model file
    #[arg(value_name = "DATA or MODEL")]
    pub file: Option<PathBuf>,
    /// The table that a MODEL learnt from
    #[arg(long, value_name = "DATA")]
    pub data: Option<PathBuf>,
    /// Folder that models are saved to; nothing is written outside it
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub folder: PathBuf,
    /// Do not open a browser
    #[arg(long)]
    pub no_open: bool,
    /// Port to listen on; 0 takes a free one
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub port: u16,
    /// Megabytes that a dropped file may have
    #[arg(long, value_name = "MB", default_value_t = 1024)]
    pub max_upload: u64,
    /// End when the page has been closed for a minute
    #[arg(long)]
    pub exit_when_closed: bool,
}

/// `boulevard inspect`
#[derive(Debug, Args)]
pub struct InspectArgs {
    /// Model file, native or LIBSVM
    #[arg(value_name = "MODEL")]
    pub model: PathBuf,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// `boulevard check`
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Data file; `-` is standard input
    #[arg(value_name = "DATA")]
    pub data: PathBuf,
    /// Read the label as real numbers
    #[arg(long)]
    pub regression: bool,
    #[command(flatten)]
    pub read: DataArgs,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// `boulevard convert`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  boulevard convert flowers.csv flowers.svm
  boulevard convert flowers.svm.gz flowers.arff
  boulevard convert flowers.model flowers.libsvm-model --model libsvm --class-labels 1,2,3
  boulevard convert heart_scale.model heart.model --model native")]
pub struct ConvertArgs {
    /// File to read
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    /// File to write; its extension names the format of data
    #[arg(value_name = "OUT")]
    pub output: PathBuf,
    /// IN is a model; write it in this format
    #[arg(long, value_name = "FORMAT")]
    pub model: Option<ModelFormat>,
    /// Whole numbers for the classes of a LIBSVM model whose names are not numbers, in the model's order
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', requires = "model", allow_negative_numbers = true)]
    pub class_labels: Vec<i32>,
    /// The label is a real number
    #[arg(long)]
    pub regression: bool,
    #[command(flatten)]
    pub read: DataArgs,
}

/// The formats of model files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ModelFormat {
    /// This program's own
    Native,
    /// LIBSVM's text
    Libsvm,
}

/// `boulevard scale`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  boulevard scale -l 0 -u 1 -s range train.svm > train.scaled.svm
  boulevard scale -r range test.svm > test.scaled.svm
  boulevard scale train.csv -o scaled.csv")]
pub struct ScaleArgs {
    /// Data file; `-` is standard input
    #[arg(value_name = "DATA")]
    pub data: PathBuf,
    /// Where the smallest value of a column goes
    #[arg(short, long, value_name = "LOWER", default_value_t = -1.0, allow_negative_numbers = true)]
    pub lower: f64,
    /// Where the largest value of a column goes
    #[arg(short, long, value_name = "UPPER", default_value_t = 1.0, allow_negative_numbers = true)]
    pub upper: f64,
    /// Scale the target to this range too
    #[arg(short = 'y', num_args = 2, value_names = ["LOWER", "UPPER"], allow_negative_numbers = true)]
    pub target: Vec<f64>,
    /// Save the ranges to this file
    #[arg(short, long, value_name = "FILE", conflicts_with = "restore")]
    pub save: Option<PathBuf>,
    /// Use the ranges of this file
    #[arg(short, long, value_name = "FILE")]
    pub restore: Option<PathBuf>,
    /// Write to this file instead of LIBSVM text on standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub read: DataArgs,
}

/// `boulevard reproduce`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  boulevard reproduce --list
  boulevard reproduce esvm/table2 --data datasets --quick
  boulevard reproduce --data datasets --out results --json results.json

Finished cells are kept in the --out folder: a run that was interrupted goes on where it stopped.")]
pub struct ReproduceArgs {
    /// Tables to regenerate (default: all)
    #[arg(value_name = "TABLE")]
    pub tables: Vec<String>,
    /// Folder with the data sets
    #[arg(long, value_name = "DIR", required_unless_present = "list")]
    pub data: Option<PathBuf>,
    /// A few splits instead of all
    #[arg(long)]
    pub quick: bool,
    /// Print what can be regenerated and stop
    #[arg(long)]
    pub list: bool,
    /// Folder for the state and the results (Markdown, JSON, HTML)
    #[arg(long, value_name = "DIR", default_value = "boulevard-reproduce")]
    pub out: PathBuf,
    /// Write all results to this file too
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write all tables and pictures to this HTML page too
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,
    /// Forget finished cells and start again
    #[arg(long)]
    pub fresh: bool,
    /// Only these rows (data sets), separated by commas
    #[arg(long, value_name = "ROWS", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Threads to use (default: all)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=4096))]
    pub threads: Option<u64>,
    /// Say nothing while working
    #[arg(short, long)]
    pub quiet: bool,
}

/// `boulevard svm-train` and `svm-predict`: LIBSVM's own syntax, parsed by hand because `-w1 5` and `-h 0` are not clap's.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub struct LibsvmArgs {
    /// LIBSVM's options and files; `--help` lists them
    #[arg(value_name = "OPTIONS", trailing_var_arg = true, allow_hyphen_values = true, action = ArgAction::Append)]
    pub words: Vec<OsString>,
}

/// `boulevard completions`
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell
    pub shell: Shell,
}

/// `boulevard man`
#[derive(Debug, Args)]
pub struct ManArgs {
    /// Folder to write one page per verb into
    #[arg(value_name = "DIR", default_value = ".")]
    pub folder: PathBuf,
}
