import {
  type AliasEvent,
  boolCoreTag,
  type Event,
  EVENT_ID,
  floatCoreTag,
  getScalarValue,
  intCoreTag,
  type MappingEvent,
  NOT_RESOLVED,
  nullCoreTag,
  parseEvents,
  SCALAR_STYLE,
  type ScalarEvent,
  type SequenceEvent,
  YAMLException,
} from "js-yaml";
import { printable, problem, type Problem } from "./problem.ts";
import { maxDepth, maxDocuments, maxFileValues, maxValues } from "./limits.ts";
import type { Entry, Node } from "./node.ts";
import { Refusal } from "./refusal.ts";
import type { SourceText } from "./source-text.ts";

const scalarTags = [nullCoreTag, boolCoreTag, intCoreTag, floatCoreTag];
const tagged: Readonly<Record<string, readonly (typeof scalarTags)[number][]>> = {
  "!!str": [],
  "!!null": [nullCoreTag],
  "!!bool": [boolCoreTag],
  "!!int": [intCoreTag],
  "!!float": [floatCoreTag],
};

/** The documents of a YAML 1.2 text, empty ones left out, or the one problem that stopped the reading. */
export function parseYaml(source: SourceText): Node[] | Problem {
  try {
    return Refusal.caught(() => new Composer(source, parseEvents(source.text, { maxDepth })).documents());
  } catch (error) {
    if (error instanceof YAMLException) return syntaxProblem(source, error);
    throw error;
  }
}

/** Makes nodes from the parser's flat list of events. */
class Composer {
  readonly #source: SourceText;
  readonly #events: readonly Event[];
  readonly #anchors = new Map<string, { node: Node | undefined; size: number }>();
  #next = 0;
  /** In the present document. */
  #values = 0;
  #valuesBefore = 0;

  constructor(source: SourceText, events: readonly Event[]) {
    this.#source = source;
    this.#events = events;
  }

  documents(): Node[] {
    const roots: Node[] = [];
    while (this.#events[this.#next]?.type === EVENT_ID.DOCUMENT) {
      this.#next += 1;
      this.#anchors.clear();
      this.#valuesBefore += this.#values;
      this.#values = 0;
      const root = this.#node();
      this.#next += 1;
      if (root === undefined || (root.kind === "scalar" && root.at < 0)) continue;
      roots.push(root);
      if (roots.length > maxDocuments)
        this.#refuse("TOO_MANY_VALUES", root.at, `at most ${maxDocuments} documents`, "more");
    }
    return roots;
  }

  /** The next node; undefined at the end of its collection. */
  #node(): Node | undefined {
    const event = this.#events[this.#next];
    if (event === undefined || event.type === EVENT_ID.POP || event.type === EVENT_ID.DOCUMENT) return undefined;
    this.#next += 1;
    if (event.type === EVENT_ID.ALIAS) return this.#alias(event);
    const name = event.anchorStart < 0 ? undefined : this.#source.text.slice(event.anchorStart, event.anchorEnd);
    if (name !== undefined) this.#anchors.set(name, { node: undefined, size: 0 });
    const before = this.#values;
    this.#count(1, event.type === EVENT_ID.SCALAR ? event.valueStart : event.start);
    const node = this.#content(event);
    if (name !== undefined) this.#anchors.set(name, { node, size: this.#values - before });
    return node;
  }

  #content(event: ScalarEvent | SequenceEvent | MappingEvent): Node {
    if (event.type === EVENT_ID.SCALAR) return this.#scalar(event);
    this.#checkTag(event, event.type === EVENT_ID.SEQUENCE ? "!!seq" : "!!map");
    return event.type === EVENT_ID.SEQUENCE
      ? { kind: "list", at: event.start, items: this.#items() }
      : { kind: "map", at: event.start, entries: this.#entries() };
  }

  #items(): Node[] {
    const items: Node[] = [];
    for (let item = this.#node(); item !== undefined; item = this.#node()) items.push(item);
    this.#next += 1;
    return items;
  }

  #entries(): Entry[] {
    const entries: Entry[] = [];
    const merged: Entry[] = [];
    for (
      let isMerge = this.#isMerge, key = this.#node();
      key !== undefined;
      isMerge = this.#isMerge, key = this.#node()
    ) {
      if (key.kind !== "scalar") this.#refuse("YAML_SYNTAX", key.at, "a text as key", `a ${key.kind}`);
      const value = this.#node();
      if (value === undefined) continue;
      if (isMerge) merged.push(...this.#toMerge(value, key.at));
      else entries.push({ key: String(key.value), at: Math.max(key.at, 0), value });
    }
    this.#next += 1;
    return merged.length === 0 ? entries : withMerged(entries, merged);
  }

  /** Whether the next node is a merge key: `<<` without quotes, as YAML 1.1 and most tools have it. */
  get #isMerge(): boolean {
    const event = this.#events[this.#next];
    return (
      event?.type === EVENT_ID.SCALAR &&
      event.style === SCALAR_STYLE.PLAIN &&
      this.#source.text.slice(event.valueStart, event.valueEnd) === "<<"
    );
  }

  /** The entries of a mapping, or of a list of mappings. */
  #toMerge(value: Node, at: number): Entry[] {
    return (value.kind === "list" ? value.items : [value]).flatMap((one) =>
      one.kind === "map"
        ? one.entries
        : this.#refuse("YAML_SYNTAX", at, "a mapping, or a list of mappings, to merge by <<", `a ${one.kind}`),
    );
  }

  #alias(event: AliasEvent): Node {
    const name = this.#source.text.slice(event.anchorStart, event.anchorEnd);
    const anchor = this.#anchors.get(name);
    if (anchor === undefined) {
      return this.#refuse("YAML_ALIAS", event.anchorStart, "the name of an anchor above it", `"*${printable(name)}"`);
    }
    if (anchor.node === undefined) {
      return this.#refuse(
        "YAML_ALIAS",
        event.anchorStart,
        "an anchor that has ended",
        `"*${printable(name)}" inside itself`,
      );
    }
    this.#count(anchor.size, event.anchorStart);
    return anchor.node;
  }

  #scalar(event: ScalarEvent): Node {
    const text = event.valueStart < 0 ? "" : getScalarValue(this.#source.text, event);
    const quoted = event.style === SCALAR_STYLE.SINGLE_QUOTED || event.style === SCALAR_STYLE.DOUBLE_QUOTED;
    const at = quoted ? event.valueStart - 1 : event.valueStart;
    if (event.tagStart >= 0) return { kind: "scalar", at, value: this.#tagged(event, text) };
    if (event.style !== SCALAR_STYLE.PLAIN) return { kind: "scalar", at, value: text };
    for (const tag of scalarTags) {
      const value = tag.resolve(text, false, tag.tagName);
      if (value !== NOT_RESOLVED) return { kind: "scalar", at, value };
    }
    return { kind: "scalar", at, value: text };
  }

  #tagged(event: ScalarEvent, text: string): string | number | boolean | null {
    const name = this.#checkTag(event, ...Object.keys(tagged));
    const [tag] = tagged[name] ?? [];
    const value = tag === undefined ? text : tag.resolve(text, true, tag.tagName);
    return value === NOT_RESOLVED
      ? this.#refuse("YAML_TAG", event.tagStart, `a value of its tag ${name}`, "another one")
      : value;
  }

  #checkTag(event: { tagStart: number; tagEnd: number }, ...known: string[]): string {
    if (event.tagStart < 0) return "";
    const tag = this.#source.text.slice(event.tagStart, event.tagEnd);
    return known.includes(tag)
      ? tag
      : this.#refuse("YAML_TAG", event.tagStart, "plain YAML without own tags", `"${printable(tag)}"`);
  }

  #count(values: number, at: number): void {
    this.#values += values;
    if (this.#values > maxValues) {
      this.#refuse("TOO_MANY_VALUES", Math.max(at, 0), `at most ${maxValues} values, aliases written out`, "more");
    }
    if (this.#valuesBefore + this.#values > maxFileValues) {
      const expected = `at most ${maxFileValues} values in all documents, aliases written out`;
      this.#refuse("TOO_MANY_VALUES", Math.max(at, 0), expected, "more");
    }
  }

  #refuse(code: Problem["code"], at: number, expected: string, found: string): never {
    throw new Refusal(problem(code, this.#source.place(at), { subject: "file", expected, found }));
  }
}

/** Entries with those that they lack: of two that are merged, the first one counts. */
function withMerged(entries: readonly Entry[], merged: readonly Entry[]): Entry[] {
  const [all, keys] = [[...entries], new Set(entries.map(({ key }) => key))];
  for (const entry of merged) {
    if (keys.has(entry.key)) continue;
    keys.add(entry.key);
    all.push(entry);
  }
  return all;
}

/** The parser's error as a problem, without its excerpt of the file, which may hold a secret. */
function syntaxProblem(source: SourceText, error: YAMLException): Problem {
  const at = Math.min(error.mark?.position ?? 0, source.text.length);
  if (error.reason.startsWith("nesting exceeded")) {
    const expected = `at most ${maxDepth} collections inside each other`;
    return problem("NESTING", source.place(at), { subject: "file", expected, found: "more" });
  }
  const line = source.before(at);
  const indent = /^\s*/.exec(line)?.[0] ?? "";
  const tab = indent.indexOf("\t");
  if (tab >= 0 || source.text[at] === "\t") {
    const place = source.place(tab >= 0 ? at - line.length + tab : at);
    return problem("YAML_TAB", place, { subject: "file", expected: "spaces as indentation", found: "a tab" });
  }
  return problem("YAML_SYNTAX", source.place(at), {
    subject: "file",
    expected: "valid YAML",
    found: error.reason,
    suggestion: quotingHint(source.text, at),
  });
}

function quotingHint(text: string, at: number): string | undefined {
  if (/^[@`%]/.test(text.slice(at))) return `put a value that begins with ${text[at]} in quotes`;
  if (text.slice(Math.max(0, at - 1), at + 1).includes("{")) return "put ${…} in quotes where it stands in [ ] or { }";
  if (at >= text.trimEnd().length) return "look for a quote or a bracket that is not closed";
  return text[at] === ":" ? 'put a value that holds ": " in quotes' : undefined;
}
