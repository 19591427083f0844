//! Any file under any name dropped on the page: a table or a refusal in words, and nothing outside the folder for dropped files.

use std::hash::{DefaultHasher, Hash, Hasher};

use boulevard_fuzz::targets::{Target, Way};
use clap::Parser;

use super::*;
use crate::args::{Cli, Command, fuzz};

const SEEDS: [&str; 6] = [
    "two.csv\na,b,class\n1,2,x\n2,1,y\n3,5,x\n0,1,y\n",
    "words.csv\nsize;color;class\n1;red;x\n2;blue;y\n3;red;x\n4;blue;y\n",
    "rows.svm\n+1 1:0.5 3:2\n-1 2:1\n+1 1:1\n-1 3:0.25\n",
    "../table.arff\n@relation r\n@attribute a numeric\n@attribute class {x,y}\n@data\n1,x\n2,y\n3,x\n4,y\n",
    "numbers.csv\na,y\n1,2.5\n2,3.5\n3,4.1\n4,5.9\n",
    "\n",
];

const WORDS: [&[u8]; 12] = [b".csv", b".gz\n", b"..", b"/", b"\\", b"\0", b"\n", b",", b"@data", b"\xff\xfe", b"\x1f\x8b", b"\x93NUMPY"];

/// One dropped file: its name up to the first line's end, then what it holds. It goes the way of a real one.
fn dropped(bytes: &[u8]) -> Way {
    thread_local! {
        static SERVER: (tempfile::TempDir, Server, tokio::runtime::Runtime) = {
            let folder = tempfile::tempdir().expect("a folder");
            let words = ["boulevard", "explore", "--no-open", "--folder", folder.path().to_str().expect("a plain path")];
            let Ok(Cli { command: Command::Explore(args), .. }) = Cli::try_parse_from(words) else { panic!("explore takes a folder") };
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            (folder, Arc::new(Shared::new(&args).expect("an empty page")), runtime)
        };
    }
    let cut = bytes.iter().position(|&byte| byte == b'\n').unwrap_or(bytes.len());
    let name = String::from_utf8_lossy(&bytes[..cut]).into_owned();
    let body = Body::from(bytes.get(cut + 1..).unwrap_or_default().to_vec());
    SERVER.with(|(folder, shared, runtime)| {
        let answer = runtime.block_on(upload(State(Arc::clone(shared)), Query(Named { name }), HeaderMap::new(), body));
        let files = |folder: &std::path::Path| std::fs::read_dir(folder).expect("it is there").map(|one| one.expect("a file").path());
        assert_eq!(files(folder.path()).count(), 0, "nothing is written beside the dropped files");
        for file in files(shared.uploads.path()) {
            assert!(file.is_file(), "{} is no file", file.display());
            std::fs::remove_file(file).expect("it can go");
        }
        match answer {
            Ok(_) => Way { taken: true, print: 0 },
            Err(Refusal(status, words)) => {
                assert!(status.is_client_error() && !words.is_empty() && words.lines().count() == 1, "{status}: {words}");
                // The same for files that failed in the same place: without the numbers and names of the input.
                let mut print = DefaultHasher::new();
                words.split_whitespace().filter(|word| word.chars().all(char::is_alphabetic)).for_each(|word| word.hash(&mut print));
                Way { taken: false, print: print.finish() }
            }
        }
    })
}

#[test]
fn files_of_any_kind_are_taken_or_refused() {
    fuzz::run(&Target { name: "upload", run: dropped, seeds: || SEEDS.map(|text| text.as_bytes().to_vec()).to_vec(), words: &WORDS });
}
