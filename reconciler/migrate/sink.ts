import { clickhouseKeys } from "./decode.ts";
import type { Field } from "./field.ts";
import { copied, leaf, list, mapping, type Part, text } from "./part.ts";
import type { JoinOutput } from "./join.ts";
import { fieldKey, type SchemaEntry } from "./schema-list.ts";
import type { Warn } from "./warning.ts";

/** The sink. `outputs` are the fields of the join, undefined without one. */
export function sinkOf(
  root: Field,
  entries: readonly SchemaEntry[],
  outputs: readonly JoinOutput[] | undefined,
  warn: Warn,
): Part {
  const sink = root.get("sink");
  const delay = sink.get("max_delay_time");
  const members = {
    type: text(sink.get("type")),
    connection_params: connectionOf(sink, warn),
    table: text(sink.get("table")),
    max_batch_size: copied(sink.get("max_batch_size")),
    max_delay_time: leaf(delay.text === "" ? "0s" : delay.text, delay),
    mapping: mappingOf(root, entries, outputs),
  };
  return mapping(members, sink);
}

/** The nested connection if it says anything, else the one beside it: never a mix of both. */
function connectionOf(sink: Field, warn: Warn): Part {
  const nested = sink.get("connection_params");
  const isNested = given(nested).length > 0;
  const ignored = isNested ? given(sink).filter((key) => !given(nested).includes(key)) : [];
  if (ignored.length > 0) {
    warn("V2_DROPPED", nested, {
      expected: "the whole connection in one place",
      found: `${ignored.join(", ")} beside it in sink, which v2 does not read then`,
      suggestion: `move it to connection_params`,
    });
  }
  const from = isNested ? nested : sink;
  const parts = clickhouseKeys.map((key) => {
    const field = from.get(key);
    if (key === "password") return [key, passwordOf(field, warn)];
    return [key, field.value === "" ? undefined : copied(field)];
  });
  const connection = mapping(Object.fromEntries(parts) as Record<string, Part | undefined>, from);
  return isNested ? connection : { ...connection, at: nested.path, keeps: [nested.path] };
}

function given(from: Field): string[] {
  return clickhouseKeys.filter((key) => from.get(key).isGiven);
}

/** The columns: `sink.mapping`, else `sink.table_mapping`, else every field of the schema that has a column. */
function mappingOf(
  root: Field,
  entries: readonly SchemaEntry[],
  outputs: readonly JoinOutput[] | undefined,
): Part | undefined {
  const own = root.get("sink", "mapping");
  if (own.items().length > 0)
    return list(
      own.items().map((field) => columnOf(field.get("name"), field)),
      own,
    );
  const tables = root.get("sink", "table_mapping");
  if (tables.items().length > 0) {
    const nameOf = nameFinder(outputs);
    const columns = tables.items().map((field) => columnOf(nameOf(field), field));
    return list(columns, tables);
  }
  const withColumn = entries.filter(({ column_name }) => column_name.text !== "");
  if (withColumn.length === 0) return undefined;
  // A join calls its fields by their columns.
  const columns = withColumn.map(({ name, column_name, field }) =>
    columnOf(outputs === undefined ? name : column_name, field),
  );
  return list(columns, root.get("schema", "fields"));
}

function columnOf(name: Field, field: Field): Part {
  return mapping(
    {
      name: text(name),
      column_name: text(field.get("column_name")),
      column_type: text(field.get("column_type")),
    },
    field,
  );
}

/** Finds the field of an older mapping as the sink knows it: after a join by its name there. */
function nameFinder(outputs: readonly JoinOutput[] = []): (field: Field) => Field {
  const named = new Map<string, Field>();
  for (const { entry, from } of outputs) {
    const key = fieldKey(entry.source_id, entry.name.text);
    if (from.text !== "" && !named.has(key)) named.set(key, from);
  }
  return (field) => {
    const name = field.get("field_name");
    return named.get(fieldKey(field.get("source_id").text, name.text)) ?? name;
  };
}

/** A password, which is in base64 in v2 and plain in v3. */
function passwordOf(password: Field, warn: Warn): Part | undefined {
  if (password.text === "") return undefined;
  const decoded = decodedBase64(password.text);
  warn("V2_PASSWORD", password, {
    expected: "the password itself, best as a reference such as ${env:NAME}",
    found: decoded === undefined ? unchanged(password.text) : "its base64, as v2 has it, which was decoded",
  });
  return decoded === undefined ? text(password) : leaf(decoded, password);
}

function unchanged(password: string): string {
  return password.includes("${")
    ? "a reference, which was not changed: check that its value is not in base64, as in v2"
    : "a text that is not base64, which was not changed";
}

/** The text that was encoded; undefined if the text is more likely plain, and must stay as it is. */
function decodedBase64(encoded: string): string | undefined {
  const digits = encoded.replaceAll(/[\r\n]/g, "");
  const bytes = Buffer.from(digits, "base64");
  const decoded = bytes.toString("utf8");
  const isSame = bytes.toString("base64") === digits && Buffer.from(decoded, "utf8").equals(bytes);
  return isSame && decoded !== "" && !/\p{Cc}/u.test(decoded) ? decoded : undefined;
}
