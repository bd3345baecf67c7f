import type { CompileBudget } from "../../engine/language.ts";
import { tidy, type Path } from "../../schemas/index.ts";
import { printable, problem, pathText, type Place, type Problem } from "./problem.ts";
import {
  duplicates,
  entryOf,
  replaceScalars,
  tokensIn,
  valueOf,
  type Entry,
  type Node,
  type ScalarNode,
  type Token,
} from "./node.ts";
import { placesOf, type Places } from "./places.ts";
import type { SourceText } from "./source-text.ts";

/** One document of a file: its tidied value, and the place of each field. */
export class Document {
  readonly file: string;
  readonly value: unknown;
  /** Problems of its text, such as duplicate keys. The rest of the document is checked anyway. */
  readonly problems: Problem[];
  readonly #source: SourceText;
  readonly #root: Node;

  /** `problems` are known ones; if absent, they are searched. */
  constructor(source: SourceText, root: Node, problems: Problem[] = problemsOfText(source, root)) {
    this.file = source.file;
    this.#source = source;
    this.#root = root;
    this.value = tidy(valueOf(root));
    this.problems = problems;
  }

  /** What compiling the expressions of its file may still cost. */
  get compileBudget(): CompileBudget {
    return this.#source.compileBudget;
  }

  /** The same document with more problems. */
  with(problems: readonly Problem[], root = this.#root): Document {
    return new Document(this.#source, root, [...this.problems, ...problems]);
  }

  /** The same document with other nodes in place of its scalars; itself where none changes. */
  replacing(replace: (scalar: ScalarNode, path: Path) => Node): Document {
    const root = replaceScalars(this.#root, replace);
    return root === this.#root ? this : this.with([], root);
  }

  /** The places of all values. */
  places(): Places {
    return placesOf(this.#source, this.#root, this.value);
  }

  /** The place of the value at `path`; of the key that should hold it if the value is missing or empty. */
  place(path: Path = []): Place {
    return this.#source.place(this.#find(path).at);
  }

  /**
   * The place of character `offset` of the text at `path`; of the text itself if escapes or folded lines prevent that, or
   * if it is not so long: where a key is there twice, it may be that of the other value.
   */
  placeInside(path: Path, offset: number): Place {
    const { at, node } = this.#find(path);
    const start = /["']/.test(this.#source.text.charAt(at)) ? at + 1 : at;
    const value = node?.kind === "scalar" ? String(node.value) : undefined;
    const isVerbatim = value !== undefined && offset <= value.length && this.#source.text.startsWith(value, start);
    return this.#source.place(isVerbatim ? start + offset : at);
  }

  #find(path: Path): { at: number; node: Node | undefined } {
    let node: Node = this.#root;
    let holder = node.at;
    for (const segment of path) {
      const step = stepInto(node, segment);
      if (step === undefined) return { at: holder, node: undefined };
      // An empty entry of a list has no place.
      if (step.at >= 0) holder = step.at;
      node = step.value;
    }
    return { at: node.at < 0 ? holder : node.at, node };
  }

  /** Every text under a key of the root, also where the key stands twice. */
  texts(key: string): string[] {
    const entries = this.#root.kind === "map" ? this.#root.entries : [];
    return entries.flatMap(({ key: own, value }) =>
      own === key && value.kind === "scalar" && typeof value.value === "string" ? [value.value.trim()] : [],
    );
  }

  /** Where the last key of `path` is written. */
  keyPlace(path: Path): Place {
    return this.#source.place(this.offsets(path).key);
  }

  /** Every key and scalar, with its path. What an alias repeats is at its anchor, once for each path. */
  tokens(): Token[] {
    return [...tokensIn(this.#root)];
  }

  placeOf({ at }: Pick<Token, "at">): Place {
    return this.#source.place(at);
  }

  /** Offsets in the file: of the last key of `path`, and of its value or what should hold it. */
  offsets(path: Path): { key: number; at: number } {
    return { key: this.#keyOffset(path), at: this.#find(path).at };
  }

  #keyOffset(path: Path): number {
    let node: Node | undefined = this.#root;
    let at = node.at;
    for (const segment of path) {
      const step: Pick<Entry, "at" | "value"> | undefined = node && stepInto(node, segment);
      if (step !== undefined && step.at >= 0) at = step.at;
      node = step?.value;
    }
    return at;
  }
}

function stepInto(node: Node, segment: string | number): Pick<Entry, "at" | "value"> | undefined {
  if (node.kind === "map") return entryOf(node, String(segment));
  const item = node.kind === "list" && typeof segment === "number" ? node.items[segment] : undefined;
  return item && { at: item.at, value: item };
}

/** Each node once, however many aliases lead to it. */
function problemsOfText(source: SourceText, root: Node): Problem[] {
  return [...duplicateKeys(source, root), ...olderVersion(source, root), ...octalNumbers(source, root)];
}

/** The directive `%YAML 1.1` above a document. */
function olderVersion(source: SourceText, root: Node): Problem[] {
  const head = source.text.slice(0, Math.max(root.at, 0));
  const start = head.lastIndexOf("---");
  const above = head.slice(0, Math.max(start, 0)).split("\n").slice(0, -1);
  for (let index = above.length - 1; index >= 0 && /^(%|[ \t]*(#|\r?$))/.test(above[index]!); index -= 1) {
    const version = /^%YAML[ \t]+(1\.[01])(?!\d)/.exec(above[index]!)?.[1];
    if (version === undefined) continue;
    const at = above.slice(0, index).reduce((sum, line) => sum + line.length + 1, 0);
    const facts = {
      subject: "file",
      expected: "YAML 1.2",
      found: `a document that says it is YAML ${version}, which is read as 1.2`,
    };
    return [
      problem("YAML_1_1", source.place(at), {
        ...facts,
        suggestion: "remove the directive, and put texts such as yes and no in quotes",
      }),
    ];
  }
  return [];
}

/** Numbers such as 0144, which is 100 in YAML 1.1. They are not shown: a password may be a number. */
function octalNumbers(source: SourceText, root: Node): Problem[] {
  const found = new Map<number, Path>();
  replaceScalars(root, (scalar, path) => {
    const { at, value } = scalar;
    if (typeof value === "number" && at >= 0 && /^[-+]?0[0-7]/.test(source.text.slice(at, at + 3))) found.set(at, path);
    return scalar;
  });
  const facts = {
    expected: "a number without zeros in front",
    found: "a number that begins with 0, which YAML 1.2 reads in base 10 and YAML 1.1 in base 8",
    suggestion: "remove the zeros in front, or put it in quotes if it is a text",
  };
  return [...found].map(([at, path]) => problem("YAML_1_1", source.place(at), { path, ...facts }));
}

function duplicateKeys(source: SourceText, root: Node): Problem[] {
  const seen = new Set<Node>();
  const found: Problem[] = [];
  const visit = (node: Node, path: (string | number)[]): void => {
    if (seen.has(node) || node.kind === "scalar") return;
    seen.add(node);
    if (node.kind === "list") return node.items.forEach((item, index) => visit(item, [...path, index]));
    for (const { first, again } of duplicates(node)) {
      const key = [...path, again.key];
      found.push(
        problem("DUPLICATE_KEY", source.place(again.at), {
          path: key,
          expected: "each key once",
          found: `"${printable(again.key)}" again, after line ${source.place(first.at).line}`,
          suggestion: `keep one ${pathText(key)}`,
        }),
      );
    }
    for (const { key, value } of node.entries) visit(value, [...path, key]);
  };
  visit(root, []);
  return found;
}
