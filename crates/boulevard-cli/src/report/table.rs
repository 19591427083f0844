//! Tables of text: for the terminal, for Markdown and for HTML.

use super::html::escape;

/// A table; numbers go to the right.
#[derive(Clone, Debug, Default)]
pub struct Table {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub fn new<S: Into<String>>(head: impl IntoIterator<Item = S>) -> Self {
        Self { head: head.into_iter().map(Into::into).collect(), rows: Vec::new() }
    }

    pub fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        let mut cells: Vec<String> = cells.into_iter().map(Into::into).collect();
        cells.resize(self.head.len(), String::new());
        self.rows.push(cells);
    }

    /// Columns whose every cell starts like a number (or is empty) are aligned to the right.
    fn right(&self, column: usize) -> bool {
        let numeric = |cell: &String| {
            cell.is_empty() || cell == "-" || cell.trim_start_matches(['-', '+', '.']).starts_with(|c: char| c.is_ascii_digit())
        };
        column > 0 && !self.rows.is_empty() && self.rows.iter().all(|row| numeric(&row[column]))
    }

    pub fn text(&self) -> String {
        let width = |column: usize| {
            let cells = self.rows.iter().map(|row| row[column].chars().count());
            cells.chain([self.head[column].chars().count()]).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.head.len()).map(width).collect();
        let line = |cells: &[String]| {
            let mut text = String::new();
            for (column, cell) in cells.iter().enumerate() {
                let gap = " ".repeat(widths[column] - cell.chars().count());
                let cell = if self.right(column) { format!("{gap}{cell}") } else { format!("{cell}{gap}") };
                text.push_str(if column > 0 { "  " } else { "" });
                text.push_str(&cell);
            }
            text.trim_end().to_owned() + "\n"
        };
        let rule: Vec<String> = widths.iter().map(|&width| "-".repeat(width)).collect();
        let mut text = line(&self.head) + &rule.join("  ") + "\n";
        self.rows.iter().for_each(|row| text.push_str(&line(row)));
        text
    }

    pub fn markdown(&self) -> String {
        let line =
            |cells: &[String]| format!("| {} |\n", cells.iter().map(|cell| cell.replace('|', "\\|")).collect::<Vec<_>>().join(" | "));
        let marks: Vec<String> = (0..self.head.len()).map(|c| if self.right(c) { "---:".into() } else { "---".into() }).collect();
        let mut text = line(&self.head) + &format!("|{}|\n", marks.join("|"));
        self.rows.iter().for_each(|row| text.push_str(&line(row)));
        text
    }

    /// Whether a phone has no room for the columns side by side: there the table becomes a list in which every cell says its column. Words
    /// may be parted, numbers may not; characters of 7.4 pixels, 11 around each cell, and 360 in all.
    fn is_wide(&self) -> bool {
        let longest = |text: &str| text.split_whitespace().map(|word| word.chars().count()).max().unwrap_or(0);
        let least = |column: usize| {
            let cell = |row: &Vec<String>| if self.right(column) { row[column].chars().count() } else { longest(&row[column]) };
            self.rows.iter().map(cell).max().unwrap_or(0).max(longest(&self.head[column]))
        };
        (0..self.head.len()).map(|column| 7.4 * least(column) as f64 + 11.0).sum::<f64>() > 360.0
    }

    pub fn html(&self) -> String {
        let wide = self.is_wide();
        let cells = |row: &[String], tag: &str| {
            let cell = |(column, text): (usize, &String)| {
                let class = if self.right(column) { " class=\"n\"" } else { "" };
                let named = if wide && tag == "td" { format!(" data-name=\"{}\"", escape(&self.head[column])) } else { String::new() };
                format!("<{tag}{class}{named}>{}</{tag}>", escape(text))
            };
            format!("<tr>{}</tr>\n", row.iter().enumerate().map(cell).collect::<String>())
        };
        let body: String = self.rows.iter().map(|row| cells(row, "td")).collect();
        format!(
            "<div class=\"scroll{}\" tabindex=\"0\" role=\"group\" aria-label=\"table\"><table><thead>{}</thead><tbody>\n{body}</tbody></table></div>\n",
            if wide { " wide" } else { "" },
            cells(&self.head, "th")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::Table;

    #[test]
    fn numbers_stand_on_the_right() {
        let mut table = Table::new(["name", "error"]);
        table.row(["a|b", "10.5 %"]);
        table.row(["c", "-"]);
        assert_eq!(table.text(), "name   error\n----  ------\na|b   10.5 %\nc          -\n");
        assert_eq!(table.markdown(), "| name | error |\n|---|---:|\n| a\\|b | 10.5 % |\n| c | - |\n");
        assert!(table.html().contains("<td class=\"n\">10.5 %</td>"));
    }

    #[test]
    fn a_table_too_wide_for_a_phone_says_its_columns_in_every_cell() {
        let mut table = Table::new(["method", "fits", "not converged", "time per fit", "largest gap"]);
        table.row(["FeatureInduction", "5", "0", "12.5 ms", "3e-5"]);
        table.row(["svc", "5", "0", "1.2 ms", "3e-5"]);
        assert!(table.html().contains("<td data-name=\"method\">svc</td>"));
        let mut table = Table::new(["a", "b", "c", "d", "e", "f"]);
        table.row(["1", "2", "3", "4", "5", "6"]);
        assert!(!table.html().contains("data-name"), "six narrow columns have room");
    }
}
