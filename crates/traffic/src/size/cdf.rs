//! Sizes as measured: an empirical distribution function.

use headway_engine::Stream;
use headway_units::Bytes;
use thiserror::Error;

use super::{Distribution, whole};

/// The most rows of a table.
const MAX_ROWS: usize = 65_536;

/// The most bytes in a row: up to here every whole number is exact as `f64`.
const MAX_BYTES: u64 = 1 << 53;

const HEADER: &str = "bytes,cumulative";

/// An empirical distribution of sizes.
///
/// # Text format
/// Lines `bytes,cumulative`: a share of `cumulative` of the flows has at most so many `bytes`. Both columns never fall, the
/// last cumulative is 1. A first line `bytes,cumulative` is required, for it says the unit. Blank lines and lines that
/// begin with `#` are skipped.
///
/// # Interpolation
/// Linear in bytes between rows, then rounded up to a whole byte. Rows of the same size are a step: that share of the
/// flows has exactly this size. So is a first row whose cumulative is above 0. The tables of the literature that count in
/// packets are listed in bytes (of 1,460 B packets) and are interpolated like all others, not in whole packets.
#[derive(Debug, Clone, PartialEq)]
pub struct Cdf {
    /// Bytes and cumulative share.
    rows: Vec<(f64, f64)>,
}

/// Why a text is not a distribution of sizes. Lines count from 1.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum CdfError {
    /// No header or nothing after it.
    #[error("no rows; write the line `{HEADER}` and below it for example `1000,0.5` and `2000,1`")]
    Empty,
    /// Something else in place of the header.
    #[error("line {line}: `{found}` where the header `{HEADER}` should be")]
    Header {
        /// Where.
        line: usize,
        /// What is there.
        found: String,
    },
    /// Not two columns.
    #[error("line {line}: `{found}` is not a size and a share with a comma between them")]
    Columns {
        /// Where.
        line: usize,
        /// What is there.
        found: String,
    },
    /// A size that is none.
    #[error("line {line}: `{found}` is not a whole number of bytes up to {MAX_BYTES}")]
    Bytes {
        /// Where.
        line: usize,
        /// What is there.
        found: String,
    },
    /// A share that is none.
    #[error("line {line}: `{found}` is not a share between 0 and 1")]
    Cumulative {
        /// Where.
        line: usize,
        /// What is there.
        found: String,
    },
    /// A row below the one before it.
    #[error("line {line}: {column} falls from {from} to {to}; rows must be in rising order")]
    Falls {
        /// Where.
        line: usize,
        /// Which column.
        column: &'static str,
        /// The row before.
        from: f64,
        /// This row.
        to: f64,
    },
    /// A table that does not say how large the largest flows are.
    #[error("line {line}: the last cumulative is {found}; it must be 1")]
    End {
        /// Where the last row is.
        line: usize,
        /// What it says.
        found: f64,
    },
    /// Flows of nothing.
    #[error("every size is zero")]
    Zero,
    /// More rows than anybody measured.
    #[error("line {line}: more than {MAX_ROWS} rows")]
    TooLong {
        /// The first row too many.
        line: usize,
    },
}

/// Name and text of the tables that come with the program.
const BUILTIN: [(&str, &str); 8] = [
    ("alibaba-storage", include_str!("../../cdf/alibaba-storage.csv")),
    ("datamining-packets", include_str!("../../cdf/datamining-packets.csv")),
    ("facebook-cachefollower", include_str!("../../cdf/facebook-cachefollower.csv")),
    ("facebook-hadoop", include_str!("../../cdf/facebook-hadoop.csv")),
    ("facebook-webserver", include_str!("../../cdf/facebook-webserver.csv")),
    ("google-rpc", include_str!("../../cdf/google-rpc.csv")),
    ("websearch", include_str!("../../cdf/websearch.csv")),
    ("websearch-packets", include_str!("../../cdf/websearch-packets.csv")),
];

impl Cdf {
    /// Reads a table.
    ///
    /// # Errors
    /// [`CdfError`], with the line.
    pub fn parse(text: &str) -> Result<Cdf, CdfError> {
        // Spreadsheets begin their files with a byte order mark.
        let text = text.trim_start_matches('\u{feff}');
        let numbered = text.lines().map(str::trim).zip(1..).map(|(content, line)| (line, content));
        let mut lines = numbered.filter(|(_, content)| !content.is_empty() && !content.starts_with('#'));
        let (line, header) = lines.next().ok_or(CdfError::Empty)?;
        if !header.split(',').map(str::trim).eq(HEADER.split(',')) {
            return Err(CdfError::Header { line, found: shorten(header) });
        }
        let mut rows: Vec<(f64, f64)> = Vec::new();
        let mut last = line;
        for (line, content) in lines {
            if rows.len() == MAX_ROWS {
                return Err(CdfError::TooLong { line });
            }
            let row = row(line, content)?;
            if let Some(&before) = rows.last() {
                for (column, from, to) in [("bytes", before.0, row.0), ("cumulative", before.1, row.1)] {
                    if to < from {
                        return Err(CdfError::Falls { line, column, from, to });
                    }
                }
            }
            rows.push(row);
            last = line;
        }
        let &(most, share) = rows.last().ok_or(CdfError::Empty)?;
        if share < 1.0 {
            return Err(CdfError::End { line: last, found: share });
        }
        if most == 0.0 {
            return Err(CdfError::Zero);
        }
        Ok(Cdf { rows })
    }

    /// The table of this name that comes with the program, if there is one; see [`Cdf::builtin_names`].
    ///
    /// # Panics
    /// Never: the tables are tested.
    pub fn builtin(name: &str) -> Option<Cdf> {
        let (_, text) = BUILTIN.iter().find(|(known, _)| *known == name)?;
        Some(Cdf::parse(text).expect("built-in tables are well-formed"))
    }

    /// The names of the tables that come with the program, in alphabetical order.
    pub fn builtin_names() -> impl Iterator<Item = &'static str> {
        BUILTIN.iter().map(|&(name, _)| name)
    }
}

impl Distribution for Cdf {
    fn draw(&self, stream: &mut Stream) -> Bytes {
        let share = stream.unit();
        // The last row is at 1 and above every draw.
        let above = self.rows.partition_point(|&(_, cumulative)| cumulative <= share);
        let (bytes, cumulative) = self.rows[above];
        let Some(&(bytes_before, before)) = above.checked_sub(1).and_then(|below| self.rows.get(below)) else {
            return whole(bytes);
        };
        whole(bytes_before + (bytes - bytes_before) * ((share - before) / (cumulative - before)))
    }

    fn mean(&self) -> Bytes {
        let mut mean = self.rows[0].0 * self.rows[0].1;
        for pair in self.rows.windows(2) {
            mean += (pair[1].1 - pair[0].1) * f64::midpoint(pair[0].0, pair[1].0);
        }
        Bytes::new((mean + 0.5) as u64)
    }
}

fn row(line: usize, content: &str) -> Result<(f64, f64), CdfError> {
    let columns = || CdfError::Columns { line, found: shorten(content) };
    let (bytes, cumulative) = content.split_once(',').ok_or_else(columns)?;
    if cumulative.contains(',') {
        return Err(columns());
    }
    let (bytes, cumulative) = (bytes.trim(), cumulative.trim());
    let size = bytes.parse::<u64>().ok().filter(|&size| size <= MAX_BYTES);
    let size = size.ok_or_else(|| CdfError::Bytes { line, found: shorten(bytes) })?;
    // A NaN is in no range.
    let share = cumulative.parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share));
    let share = share.ok_or_else(|| CdfError::Cumulative { line, found: shorten(cumulative) })?;
    Ok((size as f64, share))
}

/// The beginning of a text from outside, for messages.
fn shorten(text: &str) -> String {
    text.chars().take(40).collect()
}

#[cfg(test)]
mod tests;
