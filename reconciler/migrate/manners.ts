import { isCollection, isMap, isPair, isScalar, isSeq } from "yaml";
import type { Document, Node, Pair } from "yaml";
import type { Path } from "../../schemas/index.ts";
import { lines } from "./comment-lines.ts";
import { settleTrailingComments } from "./trailing-comments.ts";

/** What a person wrote around a field of a YAML file, and how the field itself is written. */
export interface Manner {
  /** Comment lines above it. */
  before: string | undefined;
  /** The comment at the end of its line. */
  beside: string | undefined;
  /** Comment lines at its end, inside of it. */
  after: string | undefined;
  /** Whether a blank line stands above it. */
  space: boolean;
  /** Whether it is an entry of a list. */
  isEntry: boolean;
  node: Node | undefined;
  path: Path;
}

/** The manners of every field of a document, by its path. */
export class Manners {
  readonly #byPath = new Map<string, Manner>();
  readonly #open = new Set<string>();

  /** The comment at the top of the document. */
  readonly header: string | undefined;

  /** Aliases are not followed: what an anchor holds has its comments where it is written. */
  constructor(document: Document.Parsed | undefined, source: string) {
    const contents = document?.contents;
    if (contents === undefined || contents === null) return;
    settleTrailingComments(contents, source);
    this.#visit(contents, []);
    const [first] = isMap(contents) ? contents.items : [];
    const top = isScalar(first?.key) ? this.at([String(first.key.value)]) : undefined;
    this.header = lines(contents.commentBefore, top?.before);
    if (top !== undefined) top.before = undefined;
  }

  at(path: Path): Manner | undefined {
    return this.#byPath.get(key(path));
  }

  /** The comments of the fields at `paths` that nobody has taken yet. */
  take(paths: readonly Path[]): Manner[] {
    return paths.flatMap((path) => {
      const one = this.#byPath.get(key(path));
      return one !== undefined && this.#open.delete(key(path)) ? [one] : [];
    });
  }

  /** Fields with comments that nobody has taken. */
  left(): Path[] {
    return [...this.#open].flatMap((open) => {
      const one = this.#byPath.get(open);
      return one !== undefined && [one.before, one.beside, one.after].some((text) => text !== undefined)
        ? [one.path]
        : [];
    });
  }

  #visit(node: Node, path: Path): void {
    if (isSeq(node)) {
      node.items.forEach((item, index) => this.#entry(item as Node, [...path, index]));
    } else if (isMap(node)) {
      for (const pair of node.items) if (isPair(pair)) this.#pair(pair as Pair<Node, Node | null>, path);
    }
  }

  #entry(item: Node, path: Path): void {
    const isBlock = isCollection(item) && item.flow !== true;
    this.#note({
      before: item.commentBefore ?? undefined,
      beside: (isBlock ? undefined : item.comment) ?? undefined,
      after: (isBlock ? item.comment : undefined) ?? undefined,
      space: item.spaceBefore === true,
      isEntry: true,
      node: item,
      path,
    });
    this.#visit(item, path);
  }

  #pair({ key: name, value }: Pair<Node, Node | null>, holder: Path): void {
    if (!isScalar(name)) return;
    const path = [...holder, String(name.value)];
    const isBlock = isCollection(value) && value.flow !== true;
    this.#note({
      before: name.commentBefore ?? undefined,
      // Of a block the comment beside its key cannot be told from one above its first field.
      beside: (isBlock ? value.commentBefore : value?.comment) ?? undefined,
      after: (isBlock ? value.comment : undefined) ?? undefined,
      space: name.spaceBefore === true,
      isEntry: false,
      node: value ?? undefined,
      path,
    });
    if (value !== null) this.#visit(value, path);
  }

  #note(manner: Manner): void {
    this.#byPath.set(key(manner.path), manner);
    this.#open.add(key(manner.path));
  }
}

function key(path: Path): string {
  return JSON.stringify(path);
}
