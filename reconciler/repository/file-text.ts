import { Document, isMap, isScalar, isSeq, visit } from "yaml";
import { shortDuration, type PipelineV3 } from "../../schemas/index.ts";

/** Keys whose entries fit on a line each. */
const lists = new Set(["schema_fields", "mapping", "output_fields"]);
const durations = new Set(["time_window", "max_delay_time", "max_age"]);
/** Characters of a line. */
const lineWidth = 120;

/** A pipeline as a person writes it, as YAML or as JSON. */
export function fileText(document: PipelineV3, isJson = false): string {
  const written = new Document(document, { aliasDuplicateObjects: false });
  visit(written, {
    Pair(_, { key, value }) {
      if (!isScalar(key)) return;
      if (lists.has(String(key.value)) && isSeq(value)) for (const item of value.items) onOneLine(item);
      if (durations.has(String(key.value)) && isScalar(value) && typeof value.value === "string") {
        value.value = shortDuration(value.value);
      }
    },
  });
  return isJson ? `${JSON.stringify(written.toJS(), undefined, 2)}\n` : written.toString({ lineWidth });
}

function onOneLine(item: unknown): void {
  if (isMap(item)) item.flow = true;
}
