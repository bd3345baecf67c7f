/**
 * What a range of a class costs beside its instruction, in instructions: `\pL` is a thousand ranges, which are sorted when
 * the pattern is compiled, and walked through for each copy of it when it is first used.
 */
const UNICODE_CLASS = 64;
/** Characters of a range whose other cases are looked up in the time of one instruction. */
const FOLDED_PER_INSTRUCTION = 32;

interface Group {
  size: number;
  /** The size of what a repetition would repeat. */
  last: number;
}

const token = new RegExp(
  [
    String.raw`\\Q(?<quoted>[^]*?)(?:\\E|$)`,
    String.raw`(?<unicode>\\[pP](?:\{[^}]{0,40}\}|[^]))`,
    String.raw`\\x\{[^}]{0,40}\}|\\[^]`,
    String.raw`\[(?<items>\^?\]?(?:\\[pP]\{[^}]{0,40}\}|\\[^]|\[:\^?\w+:\]|[^\]\\])*)\]?`,
    String.raw`(?<open>\((?:\?(?<flags>[a-zA-Z-]*[:)]?|P?<\w*>))?)`,
    String.raw`(?<close>\))`,
    String.raw`\{(?<least>\d+)(?:,(?<most>\d*))?\}`,
    String.raw`(?<repeat>[*+?])`,
    String.raw`(?<bar>\|)`,
    "[^]",
  ].join("|"),
  "gu",
);

const item = /(\\[pP](?:\{[^}]{0,40}\}|[^]))|(\\x\{[^}]{0,40}\}|\\[^]|[^])(?:-(\\x\{[^}]{0,40}\}|\\[^]|[^]))?/gu;

/**
 * About how many instructions a pattern compiles to, with repetitions such as `{1,300}` expanded, and what its classes
 * cost. For a text that is no pattern it is any number.
 */
export function patternSize(source: string): number {
  const groups: Group[] = [{ size: 0, last: 0 }];
  const ignoresCase = /\(\?[a-zA-Z]*i/.test(source);
  for (const { groups: found = {} } of source.matchAll(token)) {
    const group = groups.at(-1)!;
    if (found["open"] !== undefined) {
      // Flags such as (?i) open no group.
      if (found["flags"]?.endsWith(")") !== true) groups.push({ size: 2, last: 0 });
    } else if (found["close"] !== undefined) close(groups);
    else if (found["least"] !== undefined) repeat(group, Number(found["least"]), found["most"]);
    else if (found["repeat"] !== undefined || found["bar"] !== undefined) add(group, 1, group.last + 1);
    else if (found["quoted"] !== undefined) add(group, found["quoted"].length, 1);
    else add(group, sizeOf(found, ignoresCase));
  }
  while (groups.length > 1) close(groups);
  return Math.max(1, groups[0]?.size ?? 1);
}

function add(group: Group, size: number, last = size): void {
  group.size += size;
  group.last = last;
}

function close(groups: Group[]): void {
  if (groups.length === 1) return;
  const { size } = groups.pop()!;
  add(groups.at(-1)!, size);
}

/** `x{2,5}` is `xx(?:x(?:x(?:x)?)?)?`, and `x{2,}` is `xx+`. */
function repeat(group: Group, least: number, most: string | undefined): void {
  const copies = Math.max(1, least, Number(most ?? 0));
  const size = group.last * copies + (most === undefined ? 0 : copies - least);
  add(group, size - group.last, size);
}

/** The size of one character or one class. */
function sizeOf({ unicode, items }: Record<string, string>, ignoresCase: boolean): number {
  if (unicode !== undefined) return UNICODE_CLASS;
  return items === undefined ? 1 : classSize(items, ignoresCase);
}

function classSize(items: string, ignoresCase: boolean): number {
  let size = 1;
  for (const [, unicode, from = "", to] of items.matchAll(item)) {
    if (unicode !== undefined) size += UNICODE_CLASS;
    else if (to !== undefined && ignoresCase)
      size += 1 + Math.max(0, codeOf(to) - codeOf(from)) / FOLDED_PER_INSTRUCTION;
    else size += 1 / 4;
  }
  return Math.ceil(size);
}

function codeOf(written: string): number {
  const hex = /^\\x\{?([\da-fA-F]+)/.exec(written)?.[1];
  return hex === undefined ? (written.replace(/^\\/, "").codePointAt(0) ?? 0) : Number.parseInt(hex, 16);
}
