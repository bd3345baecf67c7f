import { isDeepStrictEqual } from "node:util";
import type { Path } from "../../schemas/index.ts";
import type { Field } from "./field.ts";

/** A part of the v3 document with the v2 fields from which it was made. */
export type Part = ScalarPart | ListPart | MapPart;

interface Origin {
  /** The v2 field that a message about this part points to. */
  readonly at: Path;
  /** The v2 fields whose comments move here. Of parts that want one, the first in the document gets it. */
  readonly keeps: readonly Path[];
}

export interface ScalarPart extends Origin {
  readonly kind: "scalar";
  readonly value: string | number | boolean | null;
}

export interface ListPart extends Origin {
  readonly kind: "list";
  readonly items: readonly Part[];
}

export interface MapPart extends Origin {
  readonly kind: "map";
  readonly members: ReadonlyMap<string, Part>;
}

/** A scalar that replaces `field`, or is made from it. */
export function leaf(value: ScalarPart["value"], field: Field): ScalarPart {
  return { kind: "scalar", value, ...origin(field) };
}

/** The text of a field; undefined if it is empty. */
export function text(field: Field): ScalarPart | undefined {
  return field.text === "" ? undefined : leaf(field.text, field);
}

/** Entries made from `field`; the comments of the fields `around` it move here too. */
export function list(items: readonly Part[], field: Field, around: readonly Field[] = []): ListPart {
  const keeps = [...around, field].map(({ path }) => path).toSorted((a, b) => a.length - b.length);
  return { kind: "list", items, at: field.path, keeps };
}

/**
 * A mapping made from `field`, without what is undefined. Keys that are siblings in `field` keep their order from
 * there, in the positions that they have here.
 */
export function mapping(members: Readonly<Record<string, Part | undefined>>, field: Field): MapPart {
  const given = Object.entries(members).filter((member): member is [string, Part] => member[1] !== undefined);
  return { kind: "map", members: new Map(inOrderOf(field, given)), ...origin(field) };
}

/** The same part without comments. */
export function withoutComments<Kind extends Part>(part: Kind): Kind {
  return { ...part, keeps: [] };
}

/** The unchanged value of a field; undefined if it is empty. */
export function copied(field: Field): Part | undefined {
  return field.exists ? copy(field) : undefined;
}

function copy(field: Field): Part {
  if (Array.isArray(field.value)) return list(field.items().map(copy), field);
  if (typeof field.value !== "object" || field.value === null) return leaf(field.value as ScalarPart["value"], field);
  const members = field.keys().map((key) => [key, copy(field.get(key))] as const);
  return { kind: "map", members: new Map(members), ...origin(field) };
}

function origin({ path }: Field): Origin {
  return { at: path, keeps: [path] };
}

function inOrderOf(field: Field, members: readonly [string, Part][]): [string, Part][] {
  const order = new Map(field.keys().map((key, index) => [key, index]));
  const isSibling = ({ at }: Part) =>
    at.length === field.path.length + 1 && isDeepStrictEqual(at.slice(0, -1), field.path) && order.has(`${at.at(-1)}`);
  const rank = ([, { at }]: [string, Part]): number => order.get(`${at.at(-1)}`) ?? 0;
  const siblings = members.filter(([, part]) => isSibling(part)).toSorted((a, b) => rank(a) - rank(b));
  let next = 0;
  return members.map((member) => (isSibling(member[1]) ? (siblings[next++] ?? member) : member));
}

/** A new plain value. */
export function valueOf(part: Part): unknown {
  if (part.kind === "scalar") return part.value;
  if (part.kind === "list") return part.items.map(valueOf);
  return Object.fromEntries([...part.members].map(([key, member]) => [key, valueOf(member)]));
}
