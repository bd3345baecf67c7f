import { Fields } from "./fields.ts";
import type { RowWriter } from "./row-writer.ts";

/** Makes rows of the items of one signal: log records, spans or metrics. */
export interface ItemRows {
  /** Writes the rows of the item that lies between `start` and `end` of the request, `depth` messages deep. */
  write(start: number, end: number, depth: number): void;
  /**
   * The fewest bytes that `write` makes of an item whose rows have `shared` bytes of their resource and scope each. Reads
   * only what tells how many rows there are.
   */
  leastBytes(start: number, end: number, depth: number, shared: number): number;
}

/** The structure that all signals share: a request has resources, a resource has scopes, a scope has items. */
const form = { fields: { 1: "message" } } as const;
const resourceForm = { fields: { 1: "message", 2: "message", 3: "text" } } as const;

/** The fewest bytes of an item, with its tag. */
const leastItem = 2;
/** Up to so many bytes that all rows of a scope have of their resource and scope are not counted. */
const uncounted = 1024 * 1024;

/** Writes the rows of a request of any signal, item by item. */
export function writeRequest(row: RowWriter, items: ItemRows): void {
  const { origin } = row;
  eachScope(
    row,
    (resource) => origin.turnToResource(resource, 2),
    (scope) => {
      origin.turnToScope(scope, 3);
      eachSecond(scope, (from, to) => items.write(from, to, 3));
    },
  );
}

/**
 * The fewest bytes that the rows of a request take. Throws OversizedRequest where these are more than they may be: counted
 * before one is written, a refusal costs no more than a look at each item.
 */
export function leastSize(row: RowWriter, items: ItemRows): number {
  const { origin, out } = row;
  let [least, resourceBytes, isTurned] = [0, 0, false];
  eachScope(
    row,
    (resource) => {
      resourceBytes = lengthOf(resource, 1);
      isTurned = false;
    },
    (scope, resource) => {
      let shared = 0;
      if ((resourceBytes + lengthOf(scope, 1)) * (lengthOf(scope, 2) / leastItem + scope.partCount) > uncounted) {
        if (!isTurned) origin.turnToResource(resource, 2);
        isTurned = true;
        origin.turnToScope(scope, 3);
        shared = origin.members.length;
      }
      eachSecond(scope, (from, to) => {
        least += items.leastBytes(from, to, 3, shared);
        out.checkFits(least);
      });
    },
  );
  return least;
}

/** Calls `onResource` with each resource, and then `onScope` with each of its scopes. */
function eachScope(
  { wire }: RowWriter,
  onResource: (resource: Fields) => void,
  onScope: (scope: Fields, resource: Fields) => void,
): void {
  const [request, resource, scope] = [new Fields(form), new Fields(resourceForm), new Fields(resourceForm)];
  request.read(wire, 0, wire.bytes.length, 0);
  for (let at = 0; at < 3 * request.partCount; at += 3) {
    resource.read(wire, request.parts[at + 1]!, request.parts[at + 2]!, 1);
    onResource(resource);
    eachSecond(resource, (start, end) => {
      scope.read(wire, start, end, 2);
      onScope(scope, resource);
    });
  }
}

function eachSecond({ parts, partCount }: Fields, work: (start: number, end: number) => void): void {
  for (let at = 0; at < 3 * partCount; at += 3) {
    if (parts[at] === 2) work(parts[at + 1]!, parts[at + 2]!);
  }
}

/** Bytes of the parts `number` of a message. */
function lengthOf({ parts, partCount }: Fields, number: number): number {
  let length = 0;
  for (let at = 0; at < 3 * partCount; at += 3) {
    if (parts[at] === number) length += parts[at + 2]! - parts[at + 1]!;
  }
  return length;
}
