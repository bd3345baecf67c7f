import type { Path } from "../../schemas/index.ts";
import type { Node } from "../desired/node.ts";
import type { Part } from "./part.ts";

/** Where a field of the v2 document is written: offsets of its key, and of its value. */
export interface Written {
  key: number;
  at: number;
}

/** The part as if it had been read from a file, each piece where `written` says that its v2 field stands. */
export function nodeOf(part: Part, written: (path: Path) => Written): Node {
  const { at } = written(part.at);
  if (part.kind === "scalar") return { kind: "scalar", at, value: part.value };
  if (part.kind === "list") return { kind: "list", at, items: part.items.map((item) => nodeOf(item, written)) };
  const entries = [...part.members].map(([key, member]) => {
    return { key, at: written(member.at).key, value: nodeOf(member, written) };
  });
  return { kind: "map", at, entries };
}
