//! Where bytes come from: files, standard input or memory, through gzip if they are gzip, and what format they look like.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

use super::options::Format;
use super::room::Place;
use crate::error::{Error, Result};

/// Bytes read at a time; the first of these tell the format.
const BUFFER: usize = 1 << 16;

/// Bytes to be parsed, unpacked, without a byte order mark.
pub(super) type Source<'a> = Box<dyn BufRead + 'a>;

/// A file and how far it has been read, or standard input if the path is `-`.
pub(super) fn open(path: &Path) -> Result<(Source<'static>, Place)> {
    let failed = |source| Error::io(path, source);
    if path.as_os_str() == "-" {
        return unpack(io::stdin().lock()).map(|source| (source, Place::default())).map_err(failed);
    }
    let file = File::open(path).map_err(failed)?;
    let facts = file.metadata().map_err(failed)?;
    if facts.is_dir() {
        return Err(Error::file(path, "is a folder, not a file"));
    }
    let place = if facts.is_file() { Place::of(facts.len()) } else { Place::default() };
    Ok((unpack(place.follow(file)).map_err(failed)?, place))
}

/// Any reader: gzip is recognised by its two magic bytes, whatever the name says, and a byte order mark is skipped.
pub(super) fn unpack<'a>(raw: impl Read + 'a) -> io::Result<Source<'a>> {
    let raw = peek(raw)?;
    if raw.get_ref().0.get_ref().starts_with(&[0x1f, 0x8b]) {
        let unpacked = peek(MultiGzDecoder::new(BufReader::with_capacity(BUFFER, raw)))?;
        Ok(Box::new(BufReader::with_capacity(BUFFER, skip_mark(unpacked))))
    } else {
        Ok(Box::new(BufReader::with_capacity(BUFFER, skip_mark(raw))))
    }
}

/// A reader with its first bytes in memory.
type Peeked<R> = io::Chain<Cursor<Vec<u8>>, R>;

/// Reads the first bytes, as many as a format is told by, and puts them back in front. A plain `fill_buf` would not do: from a slow pipe
/// it may hold a single byte.
fn peek<R: Read>(mut raw: R) -> io::Result<Peeked<R>> {
    let mut head = Vec::new();
    raw.by_ref().take(BUFFER as u64).read_to_end(&mut head)?;
    Ok(Cursor::new(head).chain(raw))
}

fn skip_mark<R: Read>(mut peeked: Peeked<R>) -> Peeked<R> {
    let head = peeked.get_mut().0;
    if head.get_ref().starts_with(&[0xef, 0xbb, 0xbf]) {
        head.set_position(3);
    }
    peeked
}

/// The format the first bytes look like. What is not Parquet, ARFF or CSV is LIBSVM.
pub(super) fn sniff(source: &mut Source<'_>) -> io::Result<Format> {
    let head = source.fill_buf()?;
    if head.starts_with(super::npy::MAGIC) {
        return Ok(Format::Npy);
    }
    if head.starts_with(b"PAR1") {
        return Ok(Format::Parquet);
    }
    for line in head.split(|&byte| byte == b'\n') {
        let line = line.trim_ascii();
        match line.first() {
            None | Some(b'#') => continue,
            Some(b'%') => return Ok(Format::Arff),
            Some(b'@') => return Ok(Format::Arff),
            Some(_) => return Ok(if looks_like_csv(line) { Format::Csv } else { Format::Libsvm }),
        }
    }
    Ok(Format::Libsvm)
}

/// A header row: has a separator, and no `number:` at the start of its first or second word.
fn looks_like_csv(line: &[u8]) -> bool {
    let has_index = |word: &[u8]| {
        let digits = word.iter().take_while(|byte| byte.is_ascii_digit()).count();
        (digits > 0 && word.get(digits) == Some(&b':')) || word.starts_with(b"qid:")
    };
    let words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    !words.take(2).any(has_index) && line.iter().any(|byte| matches!(byte, b',' | b';' | b'\t'))
}

/// Lines of a source, through one buffer that is used again.
pub(super) struct Lines<'a> {
    source: Source<'a>,
    buffer: Vec<u8>,
    /// 1-based number of the line that was read last.
    pub(super) number: usize,
}

impl<'a> Lines<'a> {
    pub(super) fn new(source: Source<'a>) -> Self {
        Self { source, buffer: Vec::new(), number: 0 }
    }

    /// The next line without its line end (`\n` or `\r\n`), or `None` at the end.
    pub(super) fn next_line(&mut self) -> io::Result<Option<&[u8]>> {
        self.buffer.clear();
        if self.source.read_until(b'\n', &mut self.buffer)? == 0 {
            return Ok(None);
        }
        self.number += 1;
        let line = self.buffer.strip_suffix(b"\n").unwrap_or(&self.buffer);
        Ok(Some(line.strip_suffix(b"\r").unwrap_or(line)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn text(bytes: &[u8]) -> String {
        let mut out = String::new();
        unpack(bytes).unwrap().read_to_string(&mut out).unwrap();
        out
    }

    #[test]
    fn gzip_and_byte_order_marks_are_looked_through() {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(b"\xef\xbb\xbfhello").unwrap();
        assert_eq!(text(&gzip.finish().unwrap()), "hello");
        assert_eq!(text(b"\xef\xbb\xbfhello"), "hello");
        assert_eq!(text("\u{f000}x".as_bytes()), "\u{f000}x");
        for short in [&b""[..], b"h", b"hi"] {
            assert_eq!(text(short).as_bytes(), short);
        }
    }

    #[test]
    fn formats_are_told_by_their_first_bytes() {
        let of = |bytes: &'static [u8]| sniff(&mut unpack(bytes).unwrap()).unwrap();
        assert_eq!(of(b"PAR1....PAR1"), Format::Parquet);
        assert_eq!(of(b"% a comment, with commas\n@relation x"), Format::Arff);
        assert_eq!(of(b"\n@RELATION x"), Format::Arff);
        assert_eq!(of(b"a,b\n1,2"), Format::Csv);
        assert_eq!(of(b"a;b\n1;2"), Format::Csv);
        assert_eq!(of(b"# hi\n1,3 2:0.5"), Format::Libsvm);
        assert_eq!(of(b"+1\t1:1\t2:3"), Format::Libsvm);
        assert_eq!(of(b"1\n"), Format::Libsvm);
        assert_eq!(of(b""), Format::Libsvm);
    }

    #[test]
    fn lines_end_in_either_way() {
        let mut lines = Lines::new(unpack(&b"a\r\n\nb"[..]).unwrap());
        assert_eq!(lines.next_line().unwrap(), Some(&b"a"[..]));
        assert_eq!(lines.next_line().unwrap(), Some(&b""[..]));
        assert_eq!(lines.next_line().unwrap(), Some(&b"b"[..]));
        assert_eq!(lines.next_line().unwrap(), None);
        assert_eq!(lines.number, 3);
    }
}
