/** What a SELECT reads from. */
export interface Readable {
  /** Rows of a table such as `system.parts`; throws the server's error where there is none. */
  rows(database: string, table: string): Record<string, unknown>[];
  /** The value of a function without arguments, such as `uptime`; undefined if there is none. */
  constant(name: string): unknown;
}

interface Scope {
  readable: Readable;
  row: Record<string, unknown>;
  /** The rows of the group, for aggregates. */
  rows: readonly Record<string, unknown>[];
}

type Expression = (scope: Scope) => unknown;
/** Runs a SELECT that was compiled. */
export type CompiledSelect = (readable: Readable) => Record<string, unknown>[];

interface Item {
  name: string;
  value: Expression;
}

/** A statement that this simulation does not understand, as opposed to one that the server refuses. */
export class NotUnderstood extends Error {}

/** Compiles a SELECT of the small dialect that is sent to system tables. Throws `NotUnderstood`. */
export function compileSelect(text: string): CompiledSelect {
  const parser = new SelectParser(text);
  const select = parser.select();
  parser.expectEnd();
  return select;
}

const tokens = /\s*(?:(\d+(?:\.\d+)?)|'((?:[^'\\]|\\.|'')*)'|`((?:[^`\\]|\\.|``)*)`|(\w+)|(<=|>=|!=|<>|\S))/gsy;
const aggregates: Record<string, (values: unknown[]) => unknown> = {
  max: (values) => values.reduce((most, value) => (Number(value) > Number(most) ? value : most), values[0] ?? 0),
  min: (values) => values.reduce((least, value) => (Number(value) < Number(least) ? value : least), values[0] ?? 0),
  sum: (values) => values.reduce<number>((sum, value) => sum + Number(value), 0),
  count: (values) => values.length,
  any: (values) => values[0] ?? 0,
  groupArray: (values) => values,
};
/** Moments are milliseconds since the epoch, whatever their type is in ClickHouse. */
const functions: Record<string, (value: unknown) => unknown> = {
  toString: String,
  toUnixTimestamp: (moment) => Math.floor(Number(moment) / 1000),
  toUnixTimestamp64Milli: Number,
  toInt64: (value) => Math.trunc(Number(value)),
  toUInt64: (value) => Math.trunc(Number(value)),
};
const operators: readonly Record<string, (left: unknown, right: unknown) => unknown>[] = [
  { OR: (left, right) => Boolean(left) || Boolean(right) },
  { AND: (left, right) => Boolean(left) && Boolean(right) },
  {
    "=": (left, right) => left === right,
    "!=": (left, right) => left !== right,
    "<": (left, right) => Number(left) < Number(right),
    ">": (left, right) => Number(left) > Number(right),
    "<=": (left, right) => Number(left) <= Number(right),
    ">=": (left, right) => Number(left) >= Number(right),
    IN: (left, right) => (right as unknown[]).includes(left),
  },
  { "+": (left, right) => Number(left) + Number(right), "-": (left, right) => Number(left) - Number(right) },
  { "*": (left, right) => Number(left) * Number(right), "/": (left, right) => Number(left) / Number(right) },
];

interface Token {
  kind: "number" | "text" | "name" | "word" | "sign";
  text: string;
}

class SelectParser {
  readonly #text: string;
  readonly #tokens: Token[];
  #at = 0;
  #hasAggregate = false;

  constructor(text: string) {
    this.#text = text;
    this.#tokens = [...text.matchAll(tokens)].map(([, number, literal, quoted, word, sign]) => {
      if (number !== undefined) return { kind: "number", text: number };
      if (literal !== undefined) return { kind: "text", text: literal.replace(/\\(.)|''/gs, (_, one) => one ?? "'") };
      if (quoted !== undefined) return { kind: "name", text: quoted.replace(/\\(.)|``/gs, (_, one) => one ?? "`") };
      return word === undefined ? { kind: "sign", text: sign ?? "" } : { kind: "word", text: word };
    });
  }

  expectEnd(): void {
    if (this.#at < this.#tokens.length) this.#refuse();
  }

  select(): CompiledSelect {
    const outer = this.#hasAggregate;
    this.#hasAggregate = false;
    this.#expect("SELECT");
    const items = this.#list(() => this.#item());
    const from = this.#take("FROM") ? this.#source() : () => [{}];
    const where = this.#take("WHERE") ? this.#operation(0) : undefined;
    const keys = this.#take("GROUP") ? (this.#expect("BY"), this.#list(() => this.#operation(0))) : undefined;
    const isGrouped = this.#hasAggregate || keys !== undefined;
    this.#hasAggregate = outer;
    return (readable) => {
      const all = from(readable);
      const rows = where === undefined ? all : all.filter((row) => where({ readable, row, rows: all }));
      if (!isGrouped) return rows.map((row) => project(items, { readable, row, rows }));
      return groups(rows, keys, readable).map((group) =>
        project(items, { readable, row: group[0] ?? {}, rows: group }),
      );
    };
  }

  #item(): Item {
    const first = this.#at;
    const value = this.#operation(0);
    const spelled = this.#tokens.slice(first, this.#at).map(({ text }) => text);
    return { name: this.#take("AS") ? this.#next().text : spelled.join(""), value };
  }

  #source(): CompiledSelect {
    if (this.#take("(")) {
      const inner = this.select();
      this.#expect(")");
      return inner;
    }
    const database = this.#next().text;
    this.#expect(".");
    const table = this.#next().text;
    return (readable) => readable.rows(database, table);
  }

  #operation(level: number): Expression {
    const signs = operators[level];
    if (signs === undefined) return this.#primary();
    let left = this.#operation(level + 1);
    for (;;) {
      const token = this.#tokens[this.#at];
      const operate = token === undefined || token.kind === "text" ? undefined : signs[token.text.toUpperCase()];
      if (operate === undefined) return left;
      this.#at += 1;
      const [one, other] = [left, this.#operation(level + 1)];
      left = (scope) => operate(one(scope), other(scope));
    }
  }

  #primary(): Expression {
    const token = this.#next();
    switch (token.kind) {
      case "number":
        return constant(Number(token.text));
      case "text":
        return constant(token.text);
      case "name":
        return column(token.text);
      case "word":
        return this.#take("(") ? this.#call(token.text) : column(token.text);
      default:
        return this.#bracket(token.text);
    }
  }

  #bracket(sign: string): Expression {
    if (sign === "[") return tuple(this.#listUntil("]"));
    if (sign !== "(") return this.#refuse();
    if (this.#tokens[this.#at]?.text.toUpperCase() === "SELECT") {
      const inner = this.select();
      this.#expect(")");
      return ({ readable }) => Object.values(inner(readable)[0] ?? {})[0] ?? null;
    }
    const parts = this.#listUntil(")");
    return parts.length === 1 && !this.#isAfterIn() ? parts[0]! : tuple(parts);
  }

  /** `x IN ('a')` has a list of one, not a value in brackets. */
  #isAfterIn(): boolean {
    let depth = 0;
    for (let at = this.#at - 1; at >= 0; at -= 1) {
      const { text } = this.#tokens[at]!;
      if (text === ")") depth += 1;
      if (text === "(" && --depth === 0) return this.#tokens[at - 1]?.text.toUpperCase() === "IN";
    }
    return false;
  }

  #call(name: string): Expression {
    const aggregate = Object.hasOwn(aggregates, name) ? aggregates[name] : undefined;
    if (aggregate !== undefined) this.#hasAggregate = true;
    if (this.#take("*")) this.#expect(")");
    const [first] = this.#tokens[this.#at - 1]?.text === ")" ? [] : this.#listUntil(")");
    if (aggregate !== undefined) {
      return ({ readable, rows }) => aggregate(rows.map((row) => first?.({ readable, row, rows: [row] })));
    }
    const apply = Object.hasOwn(functions, name) ? functions[name] : undefined;
    if (first !== undefined && apply !== undefined) return (scope) => apply(first(scope));
    return ({ readable }) => {
      const value = readable.constant(name);
      if (value === undefined) throw new NotUnderstood(`the function ${name}`);
      return value;
    };
  }

  #listUntil(end: string): Expression[] {
    if (this.#take(end)) return [];
    const list = this.#list(() => this.#operation(0));
    this.#expect(end);
    return list;
  }

  #list<Part>(part: () => Part): Part[] {
    const list = [part()];
    while (this.#take(",")) list.push(part());
    return list;
  }

  #take(text: string): boolean {
    const token = this.#tokens[this.#at];
    if (token === undefined || token.kind === "text" || token.text.toUpperCase() !== text) return false;
    this.#at += 1;
    return true;
  }

  #expect(text: string): void {
    if (!this.#take(text)) this.#refuse();
  }

  #next(): Token {
    return this.#tokens[this.#at++] ?? this.#refuse();
  }

  #refuse(): never {
    const near = this.#tokens.slice(this.#at, this.#at + 5).map(({ text }) => text);
    throw new NotUnderstood(`near ${near.join(" ") || "the end"} of: ${this.#text}`);
  }
}

function constant(value: unknown): Expression {
  return () => value;
}

function column(name: string): Expression {
  return ({ row }) => {
    if (!Object.hasOwn(row, name)) throw new NotUnderstood(`the column ${name}`);
    return row[name];
  };
}

function tuple(parts: readonly Expression[]): Expression {
  return (scope) => parts.map((part) => part(scope));
}

function project(items: readonly Item[], scope: Scope): Record<string, unknown> {
  return Object.fromEntries(items.map(({ name, value }) => [name, value(scope)]));
}

/** Without keys there is one group, also of no rows at all. */
function groups(
  rows: readonly Record<string, unknown>[],
  keys: readonly Expression[] | undefined,
  readable: Readable,
): (readonly Record<string, unknown>[])[] {
  if (keys === undefined) return [rows];
  const found = new Map<string, Record<string, unknown>[]>();
  for (const row of rows) {
    const key = JSON.stringify(keys.map((of) => of({ readable, row, rows })));
    const group = found.get(key);
    if (group === undefined) found.set(key, [row]);
    else group.push(row);
  }
  return [...found.values()];
}
