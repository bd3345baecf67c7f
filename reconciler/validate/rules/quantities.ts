import { parseQuantity } from "../../../schemas/index.ts";
import { found } from "../found.ts";
import type { Problem } from "../problem.ts";
import type { Rule, View } from "../view.ts";

/** Amounts that keep the grammar and hardly mean what they say. */
export const quantityRules: readonly Rule[] = [units, requests];

/** Every component of a pipeline that has resources of its own. */
export function components(document: View): View[] {
  const resources = document.get("resources");
  return [...resources.get("sources").items(), ...resources.get("transform").items(), resources.get("sink")];
}

function sizes(document: View): View[] {
  const stream = document.get("resources", "nats", "stream");
  return [
    stream.get("max_bytes"),
    stream.get("maxBytes"),
    ...components(document).flatMap((component) => [
      component.get("storage", "size"),
      component.get("requests", "memory"),
      component.get("limits", "memory"),
    ]),
  ];
}

/** `128m` is an eighth of a byte, and nearly always meant to be 128 MiB. */
function* units(document: View): Iterable<Problem> {
  for (const size of sizes(document)) {
    const [, amount] = /^\+?([\d.]+)[num]$/.exec(size.text ?? "") ?? [];
    const isStream = size.path.includes("stream");
    if (amount !== undefined) {
      yield size.problem("QUANTITY_UNIT", {
        expected: "a size in bytes or larger units",
        found: `${found(size.value, size.path)}, a fraction of ${amount} bytes`,
        suggestion: `write "${amount}Mi"`,
      });
    } else if (!isStream && size.text !== undefined && parseQuantity(size.text) === 0n) {
      yield size.problem("QUANTITY_UNIT", { expected: "more than 0", found: found(size.value, size.path) });
    }
  }
}

function* requests(document: View): Iterable<Problem> {
  for (const component of components(document)) {
    for (const key of ["cpu", "memory"]) {
      const asked = component.get("requests", key);
      const limit = component.get("limits", key);
      const [more, less] = [parseQuantity(asked.text ?? ""), parseQuantity(limit.text ?? "")];
      if (more === undefined || less === undefined || more <= less) continue;
      yield asked.problem("REQUESTS", {
        expected: `at most the limit of ${found(limit.value, limit.path)}`,
        found: found(asked.value, asked.path),
      });
    }
  }
}
