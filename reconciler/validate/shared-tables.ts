import { printable, problem, type Problem } from "../language/problem.ts";
import type { Claims } from "./claims.ts";

/** The documents that write to one table. */
interface Writers {
  all: Claims[];
  first: Claims;
  /** The first whose mapping is not that of `first`. */
  different?: Claims;
}

/**
 * One table for two pipelines is sometimes intended, and often a copied file. Reported for each, with the difference where
 * their mappings differ.
 */
export class SharedTables {
  readonly #byTable = new Map<string, Writers>();

  constructor(all: readonly Claims[]) {
    for (const claims of all) if (claims.table.key !== undefined) this.#add(claims.table.key, claims);
  }

  #add(key: string, claims: Claims): void {
    const writers = this.#byTable.get(key);
    if (writers === undefined) {
      this.#byTable.set(key, { all: [claims], first: claims });
      return;
    }
    writers.all.push(claims);
    if (claims.mapping.text !== writers.first.mapping.text) writers.different ??= claims;
  }

  problemsOf(claims: Claims): Problem[] {
    const { key } = claims.table;
    const writers = key === undefined ? undefined : this.#byTable.get(key);
    if (writers === undefined) return [];
    return otherMapping(claims, writers) ?? sameMapping(claims, writers.all);
  }
}

function otherMapping(claims: Claims, { first, different }: Writers): Problem[] | undefined {
  const { path, place, text } = claims.mapping;
  const other = text === first.mapping.text ? different : first;
  // A copy with the same pipeline_id is refused as such.
  if (other === undefined || other.written === claims.written) return undefined;
  const { file, line } = other.mapping.place;
  const expected = `the columns and types of ${file}:${line}, which writes to the same table`;
  const suggestion = "give both one mapping, or one of them another table";
  const found = differences(columnsOf(claims), columnsOf(other));
  return [problem("SHARED_TABLE_MAPPING", place, { path, expected, found, suggestion })];
}

function sameMapping(claims: Claims, all: readonly Claims[]): Problem[] {
  const { path, place } = claims.table;
  const other = all.find((one) => one !== claims && one.written !== claims.written);
  if (other === undefined) return [];
  const { file, line } = other.table.place;
  const more = all.length > 2 ? `, and ${all.length - 2} more` : "";
  const expected = "a table that no other pipeline writes to";
  return [problem("SHARED_TABLE", place, { path, expected, found: `the one of ${file}:${line}${more}` })];
}

type Columns = ReadonlyMap<string, string>;

/** Undefined where only the digest of a long mapping was kept. */
function columnsOf({ mapping }: Claims): Columns | undefined {
  const { text } = mapping;
  return text?.startsWith("[") === true ? new Map(JSON.parse(text) as [string, string][]) : undefined;
}

/** `amount as Float64 instead of Int64; id only here; user only there`, of each at most a few. */
function differences(here: Columns | undefined, there: Columns | undefined): string {
  if (here === undefined || there === undefined) return "other columns or types";
  const types = [...here].flatMap(([name, type]) => {
    const other = there.get(name);
    return other === undefined || other === type
      ? []
      : [`${printable(name)} as ${printable(type)} instead of ${printable(other)}`];
  });
  const parts = [listOf(types), onlyIn(here, there, "only here"), onlyIn(there, here, "only there")];
  const said = parts.filter((part) => part !== "");
  return said.length === 0 ? "another number of columns" : said.join("; ");
}

function onlyIn(columns: Columns, others: Columns, where: string): string {
  const names = [...columns.keys()].filter((name) => !others.has(name));
  return names.length === 0 ? "" : `${listOf(names.map((name) => printable(name)))} ${where}`;
}

const mostNamed = 3;

function listOf(texts: readonly string[]): string {
  const more = texts.length > mostNamed ? ` and ${texts.length - mostNamed} more` : "";
  return `${texts.slice(0, mostNamed).join(", ")}${more}`;
}
