import { Fields } from "./fields.ts";
import type { RowWriter } from "./row-writer.ts";

/** Makes rows of the items of one signal: log records, spans or metrics. */
export interface ItemRows {
  /** Writes the rows of the item that lies between `start` and `end` of the request, `depth` messages deep. */
  write(start: number, end: number, depth: number): void;
}

/** The structure that all signals share: a request has resources, a resource has scopes, a scope has items. */
const form = { fields: { 1: "message" } } as const;
const resourceForm = { fields: { 1: "message", 2: "message", 3: "text" } } as const;

/** Writes the rows of a request of any signal, item by item. */
export function writeRequest(row: RowWriter, items: ItemRows): void {
  const { wire, origin } = row;
  const [request, resource, scope] = [new Fields(form), new Fields(resourceForm), new Fields(resourceForm)];
  request.read(wire, 0, wire.bytes.length, 0);
  for (let at = 0; at < 3 * request.partCount; at += 3) {
    resource.read(wire, request.parts[at + 1]!, request.parts[at + 2]!, 1);
    origin.turnToResource(resource, 2);
    eachSecond(resource, (start, end) => {
      scope.read(wire, start, end, 2);
      origin.turnToScope(scope, 3);
      eachSecond(scope, (from, to) => items.write(from, to, 3));
    });
  }
}

function eachSecond({ parts, partCount }: Fields, work: (start: number, end: number) => void): void {
  for (let at = 0; at < 3 * partCount; at += 3) {
    if (parts[at] === 2) work(parts[at + 1]!, parts[at + 2]!);
  }
}
