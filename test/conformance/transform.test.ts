import { DedupTransform } from "../../engine/transforms/dedup/dedup.ts";
import { Fingerprints } from "../../engine/transforms/dedup/fingerprint.ts";
import { RememberedKeys } from "../../engine/transforms/dedup/remembered-keys.ts";
import { DeclaredFields } from "../../engine/transforms/declared-fields/declared-fields.ts";
import { FilterTransform } from "../../engine/transforms/filter/filter.ts";
import { StatelessTransform } from "../../engine/transforms/stateless/stateless.ts";
import { fields, transformSuite } from "./transform.ts";

transformSuite("declared fields", () => new DeclaredFields(fields));

transformSuite("filter", () => new FilterTransform(`id > 10 and name startsWith "" and len(tags) < 3`, fields));

transformSuite(
  "dedup",
  () => {
    const keys = new RememberedKeys({ storage: Infinity, memory: Infinity });
    return new DedupTransform("id", 60_000, keys, new Fingerprints(Buffer.alloc(16, 3)));
  },
  { remembers: true },
);

transformSuite(
  "stateless",
  () =>
    new StatelessTransform(
      [
        { output_name: "id", expression: "id + 1", output_type: "int" },
        { output_name: "label", expression: `upper(name) + ":" + string(now().Year())`, output_type: "string" },
        { output_name: "tags", expression: "tags", output_type: "array" },
        { output_name: "first", expression: "toJSON(more)", output_type: "string" },
      ],
      fields,
    ),
);
