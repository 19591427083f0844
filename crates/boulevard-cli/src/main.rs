//! The `boulevard` program.

fn main() {}
