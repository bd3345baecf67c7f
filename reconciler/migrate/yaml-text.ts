import { Document, isCollection, isMap, isScalar, isSeq, type Node, type Pair, parseAllDocuments } from "yaml";
import type { Path } from "../../schemas/index.ts";
import { withLineFeeds } from "../language/source-text.ts";
import { lines, type FieldStyle, SourceStyle } from "./source-style.ts";
import { valueOf, type ListPart, type MapPart, type Part } from "./part.ts";

export interface YamlText {
  text: string;
  /** For each document, the v2 fields whose comments were dropped. */
  lost: Path[][];
}

/**
 * The YAML of a converted file, with the comments, blank lines and styles of the original. A document that was not
 * converted, for which `roots` has undefined, stays exactly as it is.
 */
export function yamlText(given: string, roots: readonly (MapPart | undefined)[]): YamlText {
  const file = withLineFeeds(given);
  const parsed = parseAllDocuments(file, { logLevel: "silent" });
  const documents = (Array.isArray(parsed) ? parsed : []).filter(({ contents }) => !isEmpty(contents));
  const written = roots.map((root, index) => {
    const original = documents.length === roots.length ? documents[index] : undefined;
    if (root !== undefined) return new Writer(root, original, file);
    const [start = 0, , end = file.length] = original?.range ?? [];
    return { text: file.slice(start, end).replace(/^---[ \t]*\r?\n/, ""), lost: [] };
  });
  const text = written.map((one) => one.text.replace(/\n*$/, "\n")).join("---\n");
  return {
    text: file.includes("\r\n") ? text.replaceAll(/\r?\n/g, "\r\n") : text,
    lost: written.map(({ lost }) => lost),
  };
}

function isEmpty(contents: unknown): boolean {
  return contents === null || (isScalar(contents) && contents.source === "");
}

/** Writes one document and moves to it what a person wrote around the fields of the original. */
class Writer {
  readonly text: string;
  readonly lost: Path[];
  readonly #style: SourceStyle;
  readonly #source: string;

  constructor(root: MapPart, original: Document.Parsed | undefined, source: string) {
    this.#source = source;
    this.#style = new SourceStyle(original, source);
    const document = new Document(valueOf(root), { aliasDuplicateObjects: false });
    this.#members(root, document.contents);
    const [first] = isMap(document.contents) ? document.contents.items : [];
    // A comment at the top of a file is about the file, even if the first field was dropped.
    if (isScalar(first?.key)) first.key.commentBefore = lines(this.#style.header, first.key.commentBefore) ?? null;
    document.commentBefore = original?.commentBefore ?? null;
    document.comment = lines(original?.contents?.comment, original?.comment) ?? null;
    this.text = document.toString({ lineWidth: 0 });
    this.lost = this.#style.left();
  }

  #members({ members }: MapPart, node: Node | null): void {
    if (!isMap(node)) return;
    const parts = [...members.values()];
    node.items.forEach((item, index) => {
      const [part, { key, value }] = [parts[index], item as Pair<Node, Node | null>];
      if (part === undefined || value === null) return;
      key.spaceBefore = this.#spaceAbove(part, false);
      const { before, beside, after } = this.#said(part);
      key.commentBefore = before ?? null;
      if (isCollection(value) && this.#flow(part) !== true) {
        value.commentBefore = beside ?? null;
        value.comment = after ?? null;
      } else {
        value.comment = lines(beside, after) ?? null;
      }
      this.#value(part, value);
    });
  }

  #items({ items }: ListPart, node: Node): void {
    if (!isSeq(node)) return;
    node.items.forEach((item, index) => {
      const [part, value] = [items[index], item as Node];
      if (part === undefined) return;
      value.spaceBefore = index > 0 && this.#spaceAbove(part, true);
      const { before, beside, after } = this.#said(part);
      const isBlock = isCollection(value) && this.#flow(part) !== true;
      value.commentBefore = (isBlock ? lines(before, beside) : before) ?? null;
      value.comment = (isBlock ? after : lines(beside, after)) ?? null;
      this.#value(part, value);
    });
    const [first] = node.items;
    // An added field has the style of the original fields.
    for (const item of node.items) if (isMap(first) && isMap(item) && first.flow === true) item.flow ??= true;
  }

  #value(part: Part, node: Node): void {
    const original = this.#style.at(part.at)?.node;
    if (part.kind === "scalar") {
      const isSame = isScalar(original) && isScalar(node) && original.value === part.value;
      if (isSame && original.type !== undefined) node.type = original.type;
      return;
    }
    const flow = this.#flow(part);
    if (isCollection(node) && flow !== undefined) node.flow = flow;
    if (part.kind === "list") this.#items(part, node);
    else this.#members(part, node);
  }

  /** Whether it stood in brackets on one line, and still fits there; undefined if nothing of its kind was there. */
  #flow(part: Part): boolean | undefined {
    const original = this.#style.at(part.at)?.node;
    const isSameKind = part.kind === "list" ? isSeq(original) : part.kind === "map" && isMap(original);
    if (!isSameKind || !isCollection(original)) return undefined;
    const [start = 0, end = 0] = original.range ?? [];
    return original.flow === true && !this.#source.slice(start, end).includes("\n") && isFlat(part);
  }

  /** A blank line is written once, above the first part that was below it. */
  #spaceAbove({ at }: Part, isEntry: boolean): boolean {
    const style = this.#style.at(at);
    if (style?.isEntry !== isEntry || !style.space) return false;
    style.space = false;
    return true;
  }

  /**
   * The comments that move to a part: those of the field that it stands for, above them those of fields around that one,
   * and inside of it those of fields within.
   */
  #said(part: Part): Pick<FieldStyle, "before" | "beside" | "after"> {
    const taken = this.#style.take(part.keeps);
    const own = this.#style.at(part.at);
    const depth = part.at.length;
    const above = taken.filter(({ path }) => path.length < depth).flatMap(commentsOf);
    const within = taken.filter((one) => one !== own && one.path.length >= depth);
    const isOwn = own !== undefined && taken.includes(own);
    const before = lines(...above, isOwn ? own.before : undefined);
    const beside = lines(isOwn ? own.beside : undefined, ...within.flatMap((one) => [one.before, one.beside]));
    const after = lines(...within.map((one) => one.after), isOwn ? own.after : undefined);
    return part.kind === "scalar"
      ? { before, beside: lines(beside, after), after: undefined }
      : { before, beside, after };
  }
}

/** Whether it holds nothing but values and lists of values. */
function isFlat(part: Part): boolean {
  if (part.kind === "scalar") return true;
  if (part.kind === "list") return part.items.every(({ kind }) => kind === "scalar");
  return [...part.members.values()].every((member) => member.kind !== "map" && isFlat(member));
}

function commentsOf({ before, beside, after }: FieldStyle): (string | undefined)[] {
  return [before, beside, after];
}
