/**
 * The two functions that are made from text. V8 learns the shape of a record per function, and closures of one origin
 * share what it learnt; so each key gets a reader of its own, ten times as fast as a shared one. The only
 * part of the text that is not fixed is a name, and it enters as a literal that `JSON.stringify` wrote.
 */

type Reader = (record: Record<string, unknown>) => unknown;
type Maker = (values: readonly unknown[]) => Record<string, unknown>;

/** Reads one key that no object inherits; undefined where the record lacks it. */
export function keyReader(name: string): Reader {
  return generated("record", `return record[${JSON.stringify(name)}];`) as Reader;
}

/** Makes a record of `names` in their order; the value of a name is at its index in `indexes`. */
export function recordMaker(names: readonly string[], indexes: readonly number[]): Maker {
  const members = names.map((name, index) => {
    const key = JSON.stringify(name);
    // In brackets it is a key like any other; without, it would be the prototype.
    return `${name === "__proto__" ? `[${key}]` : key}: values[${indexes[index] ?? 0}]`;
  });
  return generated("values", `return { ${members.join(", ")} };`) as Maker;
}

function generated(parameter: string, body: string): unknown {
  // oxlint-disable-next-line no-new-func, typescript/no-implied-eval -- see above: no text of a stranger gets here but as a literal
  return new Function(parameter, `"use strict"; ${body}`);
}
