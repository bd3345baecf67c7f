import { isUtf8 } from "node:buffer";
import { mayHoldWide, parseExactly } from "../../../event/exact-json.ts";
import type { Signal } from "../../../core/push.ts";
import { deepest, lengthGiven, MalformedRequest, varint } from "../protobuf/wire.ts";
import { enumScalar, id, scalars } from "./scalars.ts";
import { kindOfScalar, WireWriter } from "../protobuf/wire-writer.ts";
import messagesFile from "../proto/messages.json" with { type: "json" };

/** A field of a message, as its .proto file declares it. */
interface MessageField {
  readonly id: number;
  readonly repeated?: boolean;
  /** Exactly one of these names its type: a scalar type, an enum or a message. */
  readonly scalar?: string;
  readonly enum?: string;
  readonly message?: string;
}

/** The fields of a message by their JSON names: in lower camel case, and as the .proto file spells them. */
type MessageType = ReadonlyMap<string, MessageField>;

const messages: Readonly<Record<string, Readonly<Record<string, MessageField>>>> = messagesFile.messages;

const messageTypes: ReadonlyMap<string, MessageType> = new Map(
  Object.entries(messages).map(([name, fields]) => [
    name,
    new Map(
      Object.entries(fields).flatMap(([key, field]) => [[key, field] as const, [snakeCase(key), field] as const]),
    ),
  ]),
);

/** The numbers of each enum by their names. */
const enumNumbers: Readonly<Record<string, Readonly<Record<string, number>>>> = messagesFile.enums;

const requestTypes: Readonly<Record<Signal, string>> = {
  logs: "ExportLogsServiceRequest",
  traces: "ExportTraceServiceRequest",
  metrics: "ExportMetricsServiceRequest",
};

function snakeCase(key: string): string {
  return key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Fields of bytes that are hexadecimal in OTLP/JSON. */
const ids = new Set(["traceId", "spanId", "parentSpanId", "trace_id", "span_id", "parent_span_id"]);
const enums = new Map(Object.entries(enumNumbers).map(([name, numbers]) => [name, enumScalar(numbers)]));

/** The path to a value: object keys and array indexes. */
type Path = (string | number)[];

/**
 * Encodes an OTLP/JSON request as protobuf. Unknown fields are left out; null counts as absent. Throws MalformedRequest
 * for a body that is not JSON, or has another shape.
 */
export function wireOf(signal: Signal, body: Buffer): Buffer {
  const writer = new WireWriter(body.length + 64);
  writeMessage(writer, requestTypes[signal], parsed(body), [], 0);
  return writer.written();
}

function parsed(body: Buffer): unknown {
  if (!isUtf8(body)) throw new MalformedRequest("the body is not JSON: expected UTF-8, found bytes that are not UTF-8");
  const text = body.toString("utf8");
  try {
    return mayHoldWide(body) ? parseExactly(text) : (JSON.parse(text) as unknown);
  } catch (error) {
    throw new MalformedRequest(`the body is not JSON: ${(error as SyntaxError).message}`, { cause: error });
  }
}

function writeMessage(writer: WireWriter, type: string, value: unknown, path: Path, depth: number): void {
  if (depth > deepest) throw refusal(path, `at most ${deepest} messages inside one another`, "more");
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw refusal(path, "an object", kindOf(value));
  const fields = messageTypes.get(type)!;
  const object = value as Readonly<Record<string, unknown>>;
  // The results of JSON.parse have own keys only.
  for (const key in object) {
    const field = fields.get(key);
    const inner = object[key];
    if (field === undefined || inner === null) continue;
    path.push(key);
    if (field.repeated === true) writeRepeated(writer, field, key, inner, path, depth);
    else writeField(writer, field, key, inner, path, depth);
    path.pop();
  }
}

function writeRepeated(
  writer: WireWriter,
  field: MessageField,
  key: string,
  value: unknown,
  path: Path,
  depth: number,
) {
  if (!Array.isArray(value)) throw refusal(path, "an array", kindOf(value));
  const items: readonly unknown[] = value;
  for (let index = 0; index < items.length; index += 1) {
    path.push(index);
    writeField(writer, field, key, items[index], path, depth);
    path.pop();
  }
}

function writeField(writer: WireWriter, field: MessageField, key: string, value: unknown, path: Path, depth: number) {
  if (field.message !== undefined) {
    writer.tag(field.id, lengthGiven);
    const start = writer.open();
    writeMessage(writer, field.message, value, path, depth + 1);
    writer.close(start);
    return;
  }
  const { scalar } = field;
  writer.tag(field.id, scalar === undefined ? varint : kindOfScalar[scalar]!);
  const write = scalar === undefined ? enums.get(field.enum!)! : ids.has(key) ? id : scalars[scalar]!;
  const expected = write(writer, value);
  if (expected !== undefined) throw refusal(path, expected, kindOf(value));
}

function refusal(path: Path, expected: string, found: string): MalformedRequest {
  const where = path.map((step) => (typeof step === "number" ? `[${step}]` : `.${step}`)).join("");
  return new MalformedRequest(`${where.slice(1) || "the body"}: expected ${expected}, found ${found}`);
}

/** Names the kind of a value. Never quotes a string: it may be a secret. */
function kindOf(value: unknown): string {
  if (Array.isArray(value)) return "an array";
  if (typeof value === "string") return "a string";
  return typeof value === "object" && value !== null ? "an object" : String(value);
}
