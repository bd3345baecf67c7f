/** Texts, comments and quoted names of SQL, and names. A quote within one is doubled or escaped. */
const tokens =
  /'(?:[^'\\]|\\.|'')*'|`((?:[^`\\]|\\.|``)*)`|"((?:[^"\\]|\\.|"")*)"|--[^\n]*|\/\*[^]*?\*\/|[\p{L}_][\p{L}\p{N}_]*/gu;

/** A statement in which names of tables in a database stand without it: they are then those of the test's own. */
export function withoutDatabase(statement: string, database: string): string {
  let text = "";
  let done = 0;
  for (const match of statement.matchAll(tokens)) {
    const [spelled, inBackticks, inQuotes] = match;
    const dot = /^\s*\.\s*(?=[\p{L}_`"])/u.exec(statement.slice(match.index + spelled.length))?.[0];
    const isAlone = !/[.\s]*\.\s*$/.test(statement.slice(Math.max(0, match.index - 20), match.index));
    if (dot === undefined || !isAlone || (inBackticks ?? inQuotes ?? spelled) !== database) continue;
    text += statement.slice(done, match.index);
    done = match.index + spelled.length + dot.length;
  }
  return text + statement.slice(done);
}
