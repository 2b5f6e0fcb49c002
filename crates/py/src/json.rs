//! Line breaks and indentation in JSON. Python's encoder in C writes everything on one line, and its
//! encoder in Python, which indents, is ten times as slow.

use pyo3::prelude::*;

const INDENT: usize = 2;

/// JSON without white space between tokens, with an indent of two: what Python's `json.dumps` writes
/// with `indent=2`, but with arrays of numbers, booleans and nulls on one line. `text` must be valid.
#[pyfunction]
pub fn indent_json(text: &str) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    let mut depth = 0;
    let mut rest = text;
    while let Some(at) = rest.find(['"', '{', '[', '}', ']', ',', ':']) {
        out.push_str(&rest[..at]);
        let (token, after) = rest[at..].split_at(1);
        rest = after;
        match token {
            "\"" => {
                let (string, after) = rest.split_at(string_length(rest));
                out.push('"');
                out.push_str(string);
                rest = after;
            }
            "[" if let Some(length) = length_of_scalars(rest) => {
                out.push('[');
                out.push_str(&rest[..length].replace(',', ", "));
                out.push(']');
                rest = &rest[length + 1..];
            }
            "{" | "[" => {
                out.push_str(token);
                if let Some(after) = rest.strip_prefix(['}', ']']) {
                    out.push_str(&rest[..1]);
                    rest = after;
                } else {
                    depth += 1;
                    break_line(&mut out, depth);
                }
            }
            "}" | "]" => {
                depth -= 1;
                break_line(&mut out, depth);
                out.push_str(token);
            }
            "," => {
                out.push(',');
                break_line(&mut out, depth);
            }
            _ => out.push_str(": "),
        }
    }
    out.push_str(rest);
    out
}

/// The bytes up to the end of an array, whose opening bracket came before, if no texts, arrays and objects are in it.
fn length_of_scalars(text: &str) -> Option<usize> {
    text.find(['"', '{', '[', ']']).filter(|&at| text[at..].starts_with(']'))
}

/// The bytes up to the end of a string, its closing quote included, whose opening quote came before.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    text.bytes()
        .position(|byte| {
            let closes = byte == b'"' && !escaped;
            escaped = byte == b'\\' && !escaped;
            closes
        })
        .map_or(text.len(), |at| at + 1)
}

fn break_line(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n(' ', INDENT * depth));
}
