const quoted = /('(?:[^'\\]|\\.)*'?|`(?:[^`\\]|\\.)*`?|"(?:[^"\\]|\\.)*"?)/s;

/**
 * A column type with its blanks where ClickHouse puts them, so that `Map(String,String)` and `Map( String, String )` are
 * one text. What stands in quotes stays as it is; whether the type exists is not looked at.
 */
export function canonicalColumnType(text: string): string {
  // Every second part is what stands in quotes.
  const parts = text.split(quoted).map((part, index) => (index % 2 === 1 ? part : spaced(part)));
  return parts.join("").trim();
}

function spaced(part: string): string {
  return part
    .replaceAll(/\s+/g, " ")
    .replaceAll(/ ?([(),]) ?/g, "$1")
    .replaceAll(",", ", ")
    .replaceAll(/ ?= ?/g, " = ");
}
