import { member, truncated } from "../values/access.ts";
import type { Call, FunctionDefinition } from "./catalog.ts";
import { byte } from "../values/named.ts";
import { byteAt } from "../values/text.ts";
import { Time } from "../values/time.ts";
import { arrayOf, itemOf, text, unknown } from "../values/types.ts";
import { isMap, kindOf, pairs } from "../values/values.ts";
import { Timezone } from "../values/zones.ts";

type AnyMap = Parameters<typeof pairs>[0];

/** An array made from the pairs of a map, in the order of its keys. */
function listed(make: (pair: [unknown, unknown]) => unknown, gives = arrayOf(unknown)): FunctionDefinition {
  return {
    takes: ["map"],
    gives,
    run: ({ budget }, map) => {
      const found = pairs(map as AnyMap);
      budget.step(found.length);
      return found.map(make);
    },
  };
}

function fromPairs({ budget, fail }: Call, list: unknown): unknown {
  const made = new Map<unknown, unknown>();
  budget.step((list as readonly unknown[]).length);
  for (const pair of list as readonly unknown[]) {
    if (!Array.isArray(pair) || pair.length !== 2)
      return fail(`fromPairs expects arrays of two, found ${kindOf(pair)}`);
    const [key, value] = pair as [unknown, unknown];
    if (typeof key === "object" && key !== null) return fail(`a key is a text, number or bool, found ${kindOf(key)}`);
    made.set(key, value);
  }
  return made;
}

/** An item, a byte or the value of a key; nil where there is none, and for what has none. */
function get({ fail }: Call, container: unknown, key: unknown): unknown {
  if (isMap(container)) return member(container, key, fail);
  if (Array.isArray(container)) return (container.at(truncated(key, fail)) as unknown) ?? null;
  if ((container instanceof Time || container instanceof Timezone) && typeof key !== "string")
    return fail(`get expects an array or a map, found ${kindOf(container)}`);
  if (typeof container !== "string") return null;
  const found = byteAt(container, truncated(key, fail));
  return found === undefined ? null : byte(found);
}

/** The functions of maps. */
export const mapFunctions: Readonly<Record<string, FunctionDefinition>> = {
  keys: listed(([key]) => key, arrayOf(text)),
  values: listed(([, value]) => value),
  toPairs: listed((pair) => pair),
  fromPairs: { takes: ["array"], gives: { kind: "map", item: unknown }, run: fromPairs },
  get: {
    takes: ["container", "any"],
    gives: ([container]) =>
      container?.kind === "array" || container?.item !== undefined ? itemOf(container) : unknown,
    run: get,
  },
};
