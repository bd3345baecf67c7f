import type { Random } from "../support/random.ts";
import { texts } from "./seeds.ts";

function characters(text: string): string[] {
  return Array.from(text);
}

/** Characters that are rare in pipeline files and dear to parsers. */
const odd = [
  ...characters("\0\t\r\n\v\u0085\u00a0\u2028\u2029\u202e\ufeff\ufffd\u{1f600}é\"'`{}[]:,-?#&*!|>%@\\$<~="),
  "\r\n",
  "\ud800",
  "---\n",
  "...\n",
  "- ",
  ": ",
  " #",
  "&a ",
  "*a",
  "!!int ",
  "!!binary ",
  "!own ",
  "|\n  ",
  ">-\n",
  "<<: *a\n",
  "${env:X}",
  "${",
  "%YAML 1.1\n---\n",
];
const values = [
  ..."1e999 -0 .inf -.nan 0x7fffffffffffffffff 0o777 99999999999999999999999 1_000 12:30 2026-01-31 null ~ true no [] {} '' \"\"".split(
    " ",
  ),
  "*a",
  "&a [*a]",
  `"\\ud83d"`,
  "1.5d",
  "-1s",
  "1e99Ki",
  "Array(".repeat(50),
  "(".repeat(300),
  "9".repeat(400),
  "x".repeat(5000),
];

type Mutation = (text: string, random: Random) => string;

const mutations: readonly Mutation[] = [
  function cut(text, random) {
    return text.slice(0, random.below(text.length + 1));
  },
  function insert(text, random) {
    const at = random.below(text.length + 1);
    return text.slice(0, at) + random.pick(...odd) + text.slice(at);
  },
  function replaceCharacter(text, random) {
    const at = random.below(text.length + 1);
    return text.slice(0, at) + String.fromCodePoint(random.below(0x250)) + text.slice(at + 1);
  },
  function drop(text, random) {
    const at = random.below(text.length + 1);
    return text.slice(0, at) + text.slice(at + random.below(30));
  },
  function repeat(text, random) {
    const at = random.below(text.length + 1);
    const part = text.slice(at, at + random.below(200));
    return text.slice(0, at) + part.repeat(random.pick(2, 2, 3, 50)) + text.slice(at);
  },
  function spliceLines(text, random) {
    const lines = text.split("\n");
    const others = random.pick(...texts).split("\n");
    const from = random.below(others.length);
    const count = random.below(8);
    return lines.toSpliced(random.below(lines.length), random.below(4), ...others.slice(from, from + count)).join("\n");
  },
  function duplicateLine(text, random) {
    const lines = text.split("\n");
    const at = random.below(lines.length);
    return lines.toSpliced(random.below(lines.length), 0, lines[at] ?? "").join("\n");
  },
  function indent(text, random) {
    const lines = text.split("\n");
    const at = random.below(lines.length);
    return lines.with(at, random.pick(" ", "  ", "\t", "        ") + (lines[at] ?? "")).join("\n");
  },
  function replaceValue(text, random) {
    const spots = [...text.matchAll(/(?<=[:,[-] ?)[^\s,[\]{}:]+/g)];
    const spot = random.oneOf(spots);
    if (spot === undefined) return text;
    return text.slice(0, spot.index) + random.pick(...values) + text.slice(spot.index + spot[0].length);
  },
  function nest(text, random) {
    const depth = random.pick(5, 31, 32, 33, 34, 500);
    const at = random.below(text.length + 1);
    const [open, close] = random.pick<readonly [string, string]>(["[", "]"], ["{a: ", "}"], ["- ", ""], ['{"a":', "}"]);
    return text.slice(0, at) + open.repeat(depth) + random.pick("1", "") + close.repeat(depth) + text.slice(at);
  },
  function otherLineEnds(text, random) {
    return text.replaceAll("\n", random.pick("\r\n", "\r", "\n\n", "\u2028"));
  },
  function anotherDocument(text, random) {
    return `${text}\n---\n${random.pick(...texts)}`;
  },
];

/** The text with one to four small changes. */
export function mutatedText(text: string, random: Random): string {
  let changed = text;
  for (let count = random.pick(1, 1, 2, 4); count > 0; count -= 1) changed = random.pick(...mutations)(changed, random);
  return changed;
}

/** The bytes with a few of them flipped or replaced. */
export function mutatedBytes(bytes: Uint8Array, random: Random): Uint8Array {
  const changed = Uint8Array.from(bytes);
  for (let count = random.below(5); count > 0 && changed.length > 0; count -= 1) {
    const at = random.below(changed.length);
    changed[at] = random.pick((changed[at] ?? 0) ^ (1 << random.below(8)), random.below(256), 0xff, 0);
  }
  return random.below(20) === 0 ? changed.subarray(random.below(changed.length + 1)) : changed;
}
