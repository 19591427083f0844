//! Round trips to the bit, and files that are damaged in every way.
