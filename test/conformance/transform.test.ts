import type { Transform } from "../../engine/core/transform.ts";
import { DeclaredFields } from "../../engine/transforms/declared-fields/declared-fields.ts";
import { DedupTransform } from "../../engine/transforms/dedup/dedup.ts";
import { Fingerprints } from "../../engine/keys/fingerprint.ts";
import { RememberedKeys } from "../../engine/transforms/dedup/remembered-keys.ts";
import { FilterTransform } from "../../engine/transforms/filter/filter.ts";
import type { transforms } from "../../engine/transforms/registry.ts";
import { StatelessTransform } from "../../engine/transforms/stateless/stateless.ts";
import { fields, transformSuite } from "./transform.ts";

interface Declared {
  make: () => Transform;
  remembers?: boolean;
}

/** One line for each transform of the registry, and for the check of declared fields that comes before them. */
const suites: Readonly<Record<keyof typeof transforms | "declared fields", Declared>> = {
  "declared fields": { make: () => new DeclaredFields(fields) },
  filter: { make: () => new FilterTransform(`id > 10 and name startsWith "" and len(tags) < 3`, fields) },
  dedup: { make: dedup, remembers: true },
  stateless: { make: stateless },
};

for (const [name, { make, ...differences }] of Object.entries(suites)) transformSuite(name, make, differences);

function dedup(): Transform {
  const keys = new RememberedKeys({ storage: Infinity, memory: Infinity });
  return new DedupTransform("id", 60_000, keys, new Fingerprints(Buffer.alloc(16, 3)));
}

function stateless(): Transform {
  const outputs = [
    { output_name: "id", expression: "id + 1", output_type: "int" },
    { output_name: "label", expression: `upper(name) + ":" + string(now().Year())`, output_type: "string" },
    { output_name: "tags", expression: "tags", output_type: "array" },
    { output_name: "first", expression: "toJSON(more)", output_type: "string" },
  ];
  return new StatelessTransform(outputs, fields);
}
