/** A value of a file with the offset where it is written. Aliases share the node of their anchor. */
export type Node = ScalarNode | ListNode | MapNode;

export interface ScalarNode {
  kind: "scalar";
  at: number;
  value: string | number | boolean | null;
}

export interface ListNode {
  kind: "list";
  at: number;
  items: Node[];
}

export interface MapNode {
  kind: "map";
  at: number;
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
