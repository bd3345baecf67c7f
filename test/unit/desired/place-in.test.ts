import { expect, test } from "vitest";
import { load } from "../../../reconciler/desired/load.ts";
import type { Path } from "../../../schemas/index.ts";
import { changed, fileOf } from "../../support/pipeline-file.ts";

const directives = "x-sluice: { create_table: true }\nresources:\n  nats: { stream: { maxAge: 1h } }\n";
const content = `${changed("name: amount, type", "name: total, type").replaceAll("amount", "total")}${directives}`;

test.each<[Path, string]>([
  [["name"], "1:1"],
  [["sink", "table"], "18:10"],
  [["sink", "max_batch_size"], "14:1"],
  [["sink", "mapping", 1, "column_type"], "21:55"],
  [["sources", 0, "schema_fields", 1, "type"], "8:30"],
  [["transforms", 0, "config", "expression"], "13:19"],
  [["x-sluice", "create_table"], "22:27"],
  [["resources", "nats", "stream", "max_age"], "24:29"],
  [["resources", "nats", "stream", "max_bytes"], "24:11"],
  [["resources", "sink", "replicas"], "23:1"],
  [["resources", "transform", 0, "storage", "size"], "23:1"],
])("%j of the config is written at %s", (path, at) => {
  const [pipeline] = load([fileOf(content)]).pipelines;
  const place = pipeline?.place(path);
  expect(`${place?.line}:${place?.column}`).toBe(at);
});
