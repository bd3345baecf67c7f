import type { Path } from "../../schemas/index.ts";

/** A value of a file with the offset where it is written. Aliases share the node of their anchor. */
export type Node = ScalarNode | ListNode | MapNode;

interface Written {
  at: number;
  /** The names of the variables in it. Absent where there are none. */
  variables?: readonly string[];
}

export interface ScalarNode extends Written {
  kind: "scalar";
  value: string | number | boolean | null;
}

export interface ListNode extends Written {
  kind: "list";
  items: Node[];
}

export interface MapNode extends Written {
  kind: "map";
  entries: Entry[];
}

export interface Entry {
  key: string;
  /** Offset of the key. */
  at: number;
  value: Node;
}

/**
 * The plain value. `__proto__` becomes an ordinary key. Of duplicate keys, which are refused anyway, the last counts.
 */
export function valueOf(node: Node): unknown {
  if (node.kind === "scalar") return node.value;
  if (node.kind === "list") return node.items.map(valueOf);
  return Object.fromEntries(node.entries.map(({ key, value }) => [key, valueOf(value)]));
}

/** The same tree with other nodes in place of scalars; what holds no other one is shared. */
export function replaceScalars(node: Node, replace: (scalar: ScalarNode, path: Path) => Node, path: Path = []): Node {
  if (node.kind === "scalar") return replace(node, path);
  if (node.kind === "list") {
    const items = node.items.map((item, index) => replaceScalars(item, replace, [...path, index]));
    return items.every((item, index) => item === node.items[index]) ? node : { ...node, items };
  }
  const values = node.entries.map(({ key, value }) => replaceScalars(value, replace, [...path, key]));
  if (values.every((value, index) => value === node.entries[index]?.value)) return node;
  return { ...node, entries: node.entries.map((entry, index) => ({ ...entry, value: values[index] ?? entry.value })) };
}

/** A key or a scalar, by its offset in the file. */
export interface Token {
  at: number;
  /** The text of a key; absent for a scalar. */
  key?: string;
  path: Path;
}

/** Every key and scalar below a node. What an alias repeats is at its anchor, once for each path. */
export function* tokensIn(node: Node, path: Path = []): Iterable<Token> {
  if (node.kind === "scalar") {
    if (node.at >= 0) yield { at: node.at, path };
  } else if (node.kind === "list") {
    for (const [index, item] of node.items.entries()) yield* tokensIn(item, [...path, index]);
  } else {
    for (const { key, at, value } of node.entries) {
      yield { at, key, path: [...path, key] };
      yield* tokensIn(value, [...path, key]);
    }
  }
}

const entriesByKey = new WeakMap<MapNode, Map<string, Entry>>();

/** The entry of a key, the last one where the key stands twice. */
export function entryOf(node: MapNode, key: string): Entry | undefined {
  let entries = entriesByKey.get(node);
  if (entries === undefined) {
    entries = new Map(node.entries.map((entry) => [entry.key, entry]));
    entriesByKey.set(node, entries);
  }
  return entries.get(key);
}

/** Entries whose key came before in the same map, each with the entry that was first. */
export function duplicates(node: MapNode): { first: Entry; again: Entry }[] {
  const seen = new Map<string, Entry>();
  const found: { first: Entry; again: Entry }[] = [];
  for (const entry of node.entries) {
    const first = seen.get(entry.key);
    if (first === undefined) seen.set(entry.key, entry);
    else found.push({ first, again: entry });
  }
  return found;
}
