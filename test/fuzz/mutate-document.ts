import { sourceTypes, transformTypes } from "../../schemas/index.ts";
import type { Random } from "../support/random.ts";
import { documents } from "./seeds.ts";

type Holder = Record<string | number, unknown>;

/** A place in a document: what holds it, and its key there. */
interface Spot {
  holder: Holder;
  key: string | number;
}

function spotsOf(value: unknown, found: Spot[] = []): Spot[] {
  if (typeof value !== "object" || value === null) return found;
  const keys = Array.isArray(value) ? value.keys() : Object.keys(value);
  for (const key of keys) {
    found.push({ holder: value as Holder, key });
    spotsOf((value as Holder)[key], found);
  }
  return found;
}

// prettier-ignore
const odd: readonly unknown[] = [
  null, true, false, 0, -1, 1, 1.5, 65_536, 1_048_449, 2 ** 53, 1e300, "", " ", "0", "x", "v2", "v3", "1d", "1.5d",
  "169h", "-1s", "99999999h", "128m", "10GB", "1e99", "9".repeat(70), "${env:X}", "${", "a.b", "__proto__",
  "constructor", "temporal", ...sourceTypes, ...transformTypes, "avro", "GSSAPI",
  "embedded", "http://u:p@h:1/x", "9000", "9440", "99999", "shop.orders", "Nullable(Array(", "Enum8('a'=1)",
  "\u202e", "\ud83d\ude00", "a\nb", "attributes.x", "true", "a ?? (", '"', "[]string", "earliest",
];

type Mutation = (spot: Spot, all: readonly Spot[], random: Random) => void;

const mutations: readonly Mutation[] = [
  function replace({ holder, key }, _, random) {
    holder[key] = random.pick(...odd, [], {}, [null], { "": {} });
  },
  function remove({ holder, key }) {
    if (Array.isArray(holder)) holder.splice(Number(key), 1);
    else delete holder[key];
  },
  function misspell({ holder, key }, _, random) {
    if (Array.isArray(holder)) return;
    const text = String(key);
    const at = random.below(text.length + 1);
    const other = text.slice(0, at) + random.pick("", "x", "_", "A") + text.slice(at + random.below(2));
    const value = holder[key];
    delete holder[key];
    holder[other] = value;
  },
  function again({ holder, key }) {
    if (Array.isArray(holder)) holder.push(structuredClone(holder[Number(key)]));
  },
  function exchange(spot, all, random) {
    const other = random.oneOf(all);
    if (other === undefined) return;
    // A copy: what holds itself is no document.
    const value = structuredClone(other.holder[other.key]);
    other.holder[other.key] = structuredClone(spot.holder[spot.key]);
    spot.holder[spot.key] = value;
  },
  function transplant({ holder, key }, _, random) {
    const other = random.oneOf(spotsOf(random.pick(...documents)));
    if (other !== undefined) holder[key] = structuredClone(other.holder[other.key]);
  },
  function wrap({ holder, key }, _, random) {
    holder[key] = random.pick<unknown>([holder[key]], { [key]: holder[key] }, String(holder[key]));
  },
  function multiply({ holder, key }, _, random) {
    const value = holder[key];
    if (Array.isArray(value))
      holder[key] = Array.from({ length: random.pick(2, 60, 120) }, () => structuredClone(value)).flat();
    else if (typeof value === "string") holder[key] = value.repeat(random.pick(2, 20, 300));
  },
  function respell({ holder, key }, _, random) {
    const value = holder[key];
    if (typeof value === "string")
      holder[key] = random.pick<unknown>(value.toUpperCase(), ` ${value} `, Number(value), value.slice(1));
    else if (typeof value === "number")
      holder[key] = random.pick<unknown>(String(value), -value, value * 1e9, value + 0.5);
  },
];

/** A document of these with one to five parts changed: still a document, and mostly still nearly a pipeline. */
export function mutatedDocument(random: Random, of: readonly object[] = documents): object {
  const root = { document: structuredClone(random.pick(...of)) };
  for (let count = random.pick(1, 1, 2, 3, 5); count > 0; count -= 1) {
    const all = spotsOf(root.document);
    const spot = random.oneOf(all);
    if (spot !== undefined) random.pick(...mutations)(spot, all, random);
  }
  return root.document;
}
