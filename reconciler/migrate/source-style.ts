import {
  type Document,
  isCollection,
  isMap,
  isPair,
  isScalar,
  isSeq,
  type Node,
  type Pair,
  type YAMLMap,
  type YAMLSeq,
} from "yaml";
import type { Path } from "../../schemas/index.ts";

/** The comments around a field of a YAML file, and the style of the field. */
export interface FieldStyle {
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

/** The styles of the fields of a document, by path. */
export class SourceStyle {
  readonly #byPath = new Map<string, FieldStyle>();
  readonly #open = new Set<string>();

  /** The comment at the top of the document. */
  readonly header: string | undefined;

  /** Aliases are not followed: the comments of an anchor belong to the anchor itself. */
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

  at(path: Path): FieldStyle | undefined {
    return this.#byPath.get(key(path));
  }

  /** Takes the comments of the fields at `paths` that were not taken yet. */
  take(paths: readonly Path[]): FieldStyle[] {
    return paths.flatMap((path) => {
      const one = this.#byPath.get(key(path));
      return one !== undefined && this.#open.delete(key(path)) ? [one] : [];
    });
  }

  /** Fields with comments that were not taken. */
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
    const isBlockStyle = isCollection(item) && item.flow !== true;
    this.#note({
      before: item.commentBefore ?? undefined,
      beside: (isBlockStyle ? undefined : item.comment) ?? undefined,
      after: (isBlockStyle ? item.comment : undefined) ?? undefined,
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
    const isBlockStyle = isCollection(value) && value.flow !== true;
    this.#note({
      before: name.commentBefore ?? undefined,
      // The parser gives a comment beside the key of a block as a comment above its first field.
      beside: (isBlockStyle ? value.commentBefore : value?.comment) ?? undefined,
      after: (isBlockStyle ? value.comment : undefined) ?? undefined,
      space: name.spaceBefore === true,
      isEntry: false,
      node: value ?? undefined,
      path,
    });
    if (value !== null) this.#visit(value, path);
  }

  #note(style: FieldStyle): void {
    this.#byPath.set(key(style.path), style);
    this.#open.add(key(style.path));
  }
}

function key(path: Path): string {
  return JSON.stringify(path);
}

type Block = YAMLMap<Node, Node | null> | YAMLSeq<Node>;

/** A block on the path to a node, with its entry on that path. */
interface Step {
  block: Block;
  entry: number;
}

/**
 * The parser gives every comment after the last field of a block to that block, however little it is indented. This
 * gives each to the block whose indentation it has: above the next entry of it, or at its end.
 */
function settleTrailingComments(root: Node | null, source: string): void {
  if (isBlock(root)) visit(root, [], source);
}

function visit(block: Block, way: readonly Step[], source: string): void {
  block.items.forEach((item, entry) => {
    const below = isPair(item) ? item.value : item;
    if (isBlock(below)) visit(below, [...way, { block, entry }], source);
  });
  const [start = 0, end = 0, last = 0] = block.range ?? [];
  if (typeof block.comment !== "string" || last <= end) return;
  const written = commentLines(source.slice(end, last));
  const own = column(source, start);
  const outside = written.findIndex(({ indent }) => indent !== undefined && indent < own);
  if (outside < 0) return;
  block.comment = textOf(written.slice(0, outside)) ?? null;
  settle(written.slice(outside), way, source);
}

/** Lines of one indentation, and the blank lines among them, go together. */
function settle(written: readonly Line[], way: readonly Step[], source: string): void {
  const [first] = written;
  const indent = first?.indent;
  if (first === undefined || indent === undefined) return;
  const holder = way.findLastIndex(({ block }) => column(source, block.range?.[0] ?? 0) <= indent);
  const limit = column(source, way[holder]?.block.range?.[0] ?? 0);
  const next = written.findIndex((line) => line.indent !== undefined && line.indent < limit);
  const [here, further] = next < 0 ? [written, []] : [written.slice(0, next), written.slice(next)];
  const step = way[holder];
  if (step !== undefined) give(step, here, first.isAfterBlank);
  settle(further, way.slice(0, Math.max(holder, 0)), source);
}

function give({ block, entry }: Step, written: readonly Line[], space: boolean): void {
  const item = block.items[entry + 1];
  const node = isPair(item) ? item.key : item;
  if (node === undefined) {
    block.comment = lines(block.comment, textOf(written)) ?? null;
    return;
  }
  const target: Node = node;
  target.commentBefore = lines(textOf(written), target.commentBefore) ?? null;
  if (space) target.spaceBefore = true;
}

interface Line {
  /** Undefined of a blank line. */
  indent: number | undefined;
  text: string;
  isAfterBlank: boolean;
}

function commentLines(raw: string): Line[] {
  const found: Line[] = [];
  let isAfterBlank = false;
  for (const line of raw.split(/\r?\n/)) {
    const indent = line.indexOf("#");
    if (indent >= 0) found.push({ indent, text: line.slice(indent + 1), isAfterBlank });
    else if (found.length > 0) found.push({ indent: undefined, text: "", isAfterBlank });
    isAfterBlank = indent < 0;
  }
  return found;
}

/** Without blank lines at the end. */
function textOf(written: readonly Line[]): string | undefined {
  const last = written.findLastIndex(({ indent }) => indent !== undefined);
  return last < 0
    ? undefined
    : written
        .slice(0, last + 1)
        .map(({ text }) => text)
        .join("\n");
}

function isBlock(node: unknown): node is Block {
  return isCollection(node) && (isMap(node) || isSeq(node)) && node.flow !== true;
}

function column(source: string, offset: number): number {
  return offset - source.lastIndexOf("\n", offset - 1) - 1;
}

/** Comments one below the other; undefined if there is none. */
export function lines(...texts: readonly (string | null | undefined)[]): string | undefined {
  const given = texts.filter((text) => text !== undefined && text !== null && text !== "");
  return given.length === 0 ? undefined : given.join("\n");
}
