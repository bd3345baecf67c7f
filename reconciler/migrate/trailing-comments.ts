import { isCollection, isMap, isPair, isSeq } from "yaml";
import type { Node, YAMLMap, YAMLSeq } from "yaml";
import { lines } from "./comment-lines.ts";

type Block = YAMLMap<Node, Node | null> | YAMLSeq<Node>;

/** A block on the way to a node, with the entry of it that the way goes through. */
interface Step {
  block: Block;
  entry: number;
}

/**
 * The parser gives every comment behind the last field of a block to that block, however little it is indented. This
 * gives each to the block whose indentation it has: above the next entry of it, or at its end.
 */
export function settleTrailingComments(root: Node | null, source: string): void {
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
