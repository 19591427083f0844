//! Every refusal of a card or its driver, without either: `emulate/driver.c` pretends to be a driver, in a process of its own for every case.

#![cfg(target_os = "linux")]
#![allow(clippy::print_stdout)]

use std::path::PathBuf;
use std::process::Command;

use boulevard_cuda::{Card, CudaError};

/// A folder with a driver that pretends; none, and the reason, without a compiler.
fn driver(name: &str, option: &str) -> Option<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    let source = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("emulate/driver.c");
    let mut command = Command::new("cc");
    command.args(["-shared", "-fPIC", "-w", option]).arg(&source).arg("-o").arg(folder.join("libcuda.so.1"));
    match command.status() {
        Ok(status) if status.success() => Some(folder),
        other => {
            println!("skipped: cc cannot build {}: {other:?}", source.display());
            None
        }
    }
}

/// What a process with such a driver answers.
fn answer(folder: &PathBuf, pretend: &str) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "asked", "--ignored", "--nocapture"]).env("LD_LIBRARY_PATH", folder).env("PRETEND", pretend);
    let run = command.output().unwrap();
    let text = String::from_utf8_lossy(&run.stdout).into_owned();
    let found = text.lines().find_map(|line| line.split_once("answer: ").map(|(_, answer)| answer.to_owned()));
    found.unwrap_or_else(|| panic!("{pretend}: no answer\n{text}{}", String::from_utf8_lossy(&run.stderr)))
}

/// One process: opens the card, takes memory, starts kernels until something fails, and once more after that.
#[test]
#[ignore = "started by the test below"]
#[allow(clippy::exit, reason = "after a fork the thread that waits for a test is not there")]
fn asked() {
    let ask = || -> Result<String, CudaError> {
        let card = Card::open(0)?;
        let (free, _) = card.memory()?;
        let card = Card::open(0)?;
        if free < 1 << 30 {
            return Ok("a small card".to_owned());
        }
        let buffers = (0..8).map(|_| card.allocate::<f64>(100)).collect::<Result<Vec<_>, _>>()?;
        for buffer in &buffers {
            card.launch("count_up").items(3).buffer(buffer).count(3).run()?;
        }
        card.synchronize()?;
        Ok(format!("{} works", card.name()))
    };
    let (first, second) = (ask(), ask());
    let words = match first {
        Ok(words) => words,
        Err(error) => {
            assert!(!second.unwrap_err().to_string().contains('\n'));
            error.to_string()
        }
    };
    println!("answer: {words}");
    std::process::exit(0);
}

#[test]
fn every_refusal_is_one_line_that_says_why() {
    let Some(folder) = driver("driver", "-DNEW") else { return };
    let cases = [
        ("", "Pretended card works"),
        ("small", "a small card"),
        ("no_start", "the NVIDIA driver failed in cuInit: CUDA_ERROR_NO_DEVICE (100)"),
        ("no_cards", "there is no card 0: the driver sees 0"),
        ("old_card", "Pretended card is too old: it has compute capability 5.2, 6.0 is needed"),
        (
            "old_text",
            "the NVIDIA driver is too old for the kernels (version 525 or newer is needed): the NVIDIA driver failed in cuModuleLoadDataEx: CUDA_ERROR_UNSUPPORTED_PTX_VERSION (222)",
        ),
        ("taken 3", "the card has no room for 1024 bytes more (8589934592 of 17179869184 are free)"),
        ("lost 2", "the NVIDIA driver failed in cuLaunchKernel: CUDA_ERROR_LAUNCH_FAILED (719)"),
        ("fork", "the card was first used before this process was forked: use it in the child alone, or start processes with spawn"),
    ];
    for (pretend, wanted) in cases {
        assert_eq!(answer(&folder, pretend), wanted, "{pretend}");
    }
    if let Some(folder) = driver("old_driver", "-DOLD") {
        assert_eq!(
            answer(&folder, ""),
            "the NVIDIA driver is too old: it has no cuStreamCreateWithPriority (version 525 or newer is needed)"
        );
    }
    // A library that is none.
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("no_driver");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("libcuda.so.1"), "nothing").unwrap();
    assert_eq!(answer(&folder, ""), "no NVIDIA driver: libcuda.so.1 cannot be loaded");
}
