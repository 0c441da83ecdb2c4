//! Names of columns: shown in messages, and found with a hint where they are misspelled.

/// How much of a field or name an error repeats, in characters.
const SHOWN_CHARS: usize = 40;
/// How many names an error lists.
const SHOWN_NAMES: usize = 20;

/// `text` in quotes, with control characters escaped and its tail cut.
pub(super) fn shown(text: &str) -> String {
    let end = text.char_indices().nth(SHOWN_CHARS).map_or(text.len(), |(end, _)| end);
    format!("{:?}{}", &text[..end], if end < text.len() { "..." } else { "" })
}

/// The first names, for an error.
pub(super) fn listed<T: AsRef<str>>(names: &[T]) -> String {
    let first: Vec<String> = names.iter().take(SHOWN_NAMES).map(|name| shown(name.as_ref())).collect();
    let rest = names.len() - first.len();
    first.join(", ") + &if rest > 0 { format!(" and {rest} more") } else { String::new() }
}

/// A number of things, in the plural where it takes one.
pub(crate) fn count(number: usize, what: &str) -> String {
    match (number, what.strip_suffix('y')) {
        (1, _) => format!("1 {what}"),
        (_, Some(stem)) => format!("{number} {stem}ies"),
        _ => format!("{number} {what}s"),
    }
}

/// Why there is no column `wanted`: another separator, no header, or a misspelling; and which columns there are.
pub(super) fn unknown(names: &[&str], wanted: &str) -> String {
    let hint = match names {
        [only] if only.contains([';', '\t', ',', '|']) => {
            "; fields must be separated by commas, semicolons or tabs, in a .tsv by tabs".to_owned()
        }
        _ if names.iter().all(|name| name.parse::<f64>().is_ok()) => "; the first line must be a header".to_owned(),
        // A name with a comma was cut at it.
        _ if names.iter().any(|name| name.split(',').any(|part| part.trim() == wanted)) => {
            "; a name with a comma goes into quotes, as '\"size, m\",color'".to_owned()
        }
        _ => closest(names, wanted).map_or(String::new(), |name| format!("; did you mean {}?", shown(name))),
    };
    format!("no such column{hint} (available columns: {})", listed(names))
}

/// The name that differs from `wanted` in at most a third of its characters, if there is one.
pub(crate) fn closest<'a>(names: &[&'a str], wanted: &str) -> Option<&'a str> {
    let wanted: Vec<char> = wanted.to_lowercase().chars().collect();
    let (edits, name) = names.iter().map(|n| (distance(&n.to_lowercase(), &wanted), n)).min_by_key(|best| best.0)?;
    (edits * 3 <= wanted.len().max(name.chars().count())).then_some(name)
}

/// Levenshtein distance: the fewest characters to insert, remove or replace.
fn distance(from: &str, to: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (a, i) in from.chars().zip(1..) {
        let mut diagonal = std::mem::replace(&mut row[0], i);
        for (j, &b) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}
