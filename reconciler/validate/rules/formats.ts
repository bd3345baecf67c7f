import { kindOf } from "../found.ts";
import type { Problem } from "../problem.ts";
import type { Rule, View } from "../view.ts";

/** Rules of the v3 format, section 2.4: what Avro and Protobuf need beside their schema. */
export const formatRules: readonly Rule[] = [avro, protobuf, registry, idleSchema];

/** Characters of an Avro schema at most; a Protobuf schema is limited by the JSON Schema. */
const longestAvro = 65_536;

function ofFormat(document: View, format: string): View[] {
  return document.sources("kafka").filter((source) => source.get("format").text === format);
}

function* avro(document: View): Iterable<Problem> {
  for (const source of ofFormat(document, "avro")) {
    const file = source.get("schema", "file");
    if (file.isBlank) continue;
    const text = file.text ?? "";
    if (text.length > longestAvro)
      yield file.problem("FORMAT", { expected: `at most ${longestAvro} characters`, found: `${text.length}` });
    else yield* mustBeRecord(file, text);
  }
}

function* mustBeRecord(file: View, text: string): Iterable<Problem> {
  const expected = "an Avro schema: JSON, and a record at the top";
  try {
    const root = JSON.parse(text) as { type?: unknown } | null;
    const type = typeof root === "object" && root !== null && !Array.isArray(root) ? root.type : undefined;
    if (type !== "record")
      yield file.problem("FORMAT", { expected, found: type === undefined ? kindOf(root) : "another type at the top" });
  } catch {
    yield file.problem("FORMAT", { expected, found: "a text that is not JSON" });
  }
}

function* protobuf(document: View): Iterable<Problem> {
  for (const source of ofFormat(document, "protobuf")) {
    const message = source.get("schema", "message_type");
    if (message.isBlank)
      yield message.problem("FORMAT", {
        expected: "the name of the root message, which protobuf needs",
        found: "nothing",
      });
    const file = source.get("schema", "file");
    const at = /^[ \t]*import\b/m.exec(file.text ?? "");
    if (at !== null)
      yield file.problemInside(at.index, "FORMAT", { expected: "a schema without imports", found: "an import" });
  }
}

function* registry(document: View): Iterable<Problem> {
  for (const source of [...ofFormat(document, "avro"), ...ofFormat(document, "protobuf")]) {
    const version = source.get("schema_version");
    if (!source.get("schema_registry").exists || version.exists) continue;
    const expected = "the id of the schema in the registry, which a source with schema_registry needs";
    yield version.problem("FORMAT", { expected, found: "nothing", suggestion: 'add schema_version, such as "1"' });
  }
}

function* idleSchema(document: View): Iterable<Problem> {
  for (const source of document.sources("kafka")) {
    const schema = source.get("schema");
    const format = source.get("format").text ?? "json";
    if (!schema.exists || format !== "json") continue;
    yield schema.problem("UNUSED", { expected: "nothing with format json", found: "a schema that nobody uses" });
  }
}
