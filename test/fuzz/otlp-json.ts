import protobuf from "protobufjs";
import type { Signal } from "../../engine/core/push.ts";
import type { Random } from "../support/random.ts";
import { requestTypes } from "./otlp-reference.ts";

type Message = Record<string, unknown>;

const texts = ["", "a", 'say "x"\n', "größe", "\u{1f600}", "__proto__"];
const ids = new Set(["traceId", "spanId", "parentSpanId"]);

/** A request as protobufjs takes it: whole numbers of 64 bits are texts, enums numbers and bytes buffers. */
export function randomMessage(signal: Signal, random: Random): Message {
  return message(requestTypes[signal], random, 0);
}

export function wireOfMessage(signal: Signal, request: Message): Buffer {
  const type = requestTypes[signal];
  return Buffer.from(type.encode(type.fromObject(request)).finish());
}

/** The request in OTLP/JSON, each part of it spelled in one of the ways that there are. */
export function spelled(signal: Signal, request: Message, random: Random): string {
  return object(requestTypes[signal], request, random);
}

/** The text with some characters changed, left out or put in. */
export function mutatedText(text: string, random: Random): string {
  const characters = Array.from(text);
  for (let count = random.below(3) + 1; count > 0 && characters.length > 0; count -= 1) {
    const put = random.pick("", "", "0", "-", '"', "[", "{}", "null", "1e999", "true", "\\", ",", "9".repeat(30));
    characters.splice(random.below(characters.length), random.below(3), put);
  }
  return characters.join("");
}

function message(type: protobuf.Type, random: Random, depth: number): Message {
  const made: Message = {};
  for (const field of type.fieldsArray) {
    // Without these a span is no row.
    const isNeeded = field.name === "spanId" || field.name === "traceId";
    const isChosen = field.partOf === null || !field.partOf.fieldsArray.some(({ name }) => Object.hasOwn(made, name));
    const isDeep = field.resolvedType instanceof protobuf.Type && depth > 9;
    const isOften = depth < 3 || field.partOf !== null;
    if (!isChosen || isDeep || (!isNeeded && random.below(isOften ? 5 : 2) === 0)) continue;
    const count = field.repeated ? random.below(3) : 1;
    const values = Array.from({ length: count }, () => value(field, random, depth));
    made[field.name] = field.repeated ? values : values[0];
  }
  return made;
}

function value({ name, type, resolvedType }: protobuf.Field, random: Random, depth: number): unknown {
  if (resolvedType instanceof protobuf.Type) return message(resolvedType, random, depth + 1);
  if (resolvedType instanceof protobuf.Enum) return random.pick(...Object.values(resolvedType.values));
  if (type === "string") return random.pick(...texts);
  if (ids.has(name)) return randomId(name, random);
  if (type === "bytes") return Buffer.alloc(random.pick(0, 8, 16), random.pick(0, 7, 0xfb));
  if (type === "bool") return random.below(2) === 0;
  if (type === "double") return random.pick(0, 1.5, -2, 1e300, NaN, Infinity, -Infinity, 2 ** 60);
  if (type === "sint32" || type === "int32") return random.pick(0, -1, 2 ** 31 - 1, -(2 ** 31));
  if (type.endsWith("32")) return random.pick(0, 1, 2 ** 32 - 1);
  if (type === "int64" || type === "sfixed64")
    return random.pick("0", "-1", "9223372036854775807", "-9007199254740993");
  return random.pick("0", "7", "1700000000123456789", "18446744073709551615");
}

/** The bytes of an id, which are seldom invalid. */
export function randomId(name: string, random: Random): Buffer {
  const length = name === "traceId" ? 16 : 8;
  return random.below(8) > 0
    ? Buffer.alloc(length, random.pick(7, 0xab))
    : Buffer.alloc(random.pick(0, 1, 8, 16), random.pick(0, 7));
}

function object(type: protobuf.Type, made: Message, random: Random): string {
  const members = Object.entries(made).map(([name, inner]) => {
    const field = type.fields[name]!;
    const key = random.below(4) === 0 ? snakeCase(name) : name;
    const items = Array.isArray(inner) ? inner.map((item) => json(field, item, random)) : [];
    return `${JSON.stringify(key)}:${field.repeated ? `[${items.join()}]` : json(field, inner, random)}`;
  });
  if (random.below(6) === 0) members.push('"unknownField":{"deep":[1,{"timeUnixNano":true}]}');
  if (random.below(6) === 0) members.push(`"schemaUrl":null`);
  const space = random.pick("", "", " ", "\n  ");
  return `{${space}${members.join(`,${space}`)}${space}}`;
}

function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function json({ name, type, resolvedType }: protobuf.Field, inner: unknown, random: Random): string {
  if (resolvedType instanceof protobuf.Type) return object(resolvedType, inner as Message, random);
  if (resolvedType instanceof protobuf.Enum) {
    return random.below(2) === 0 ? String(inner) : JSON.stringify(resolvedType.valuesById[inner as number]);
  }
  if (type === "bytes") return JSON.stringify(bytesText(name, inner as Buffer, random));
  if (type === "double" && !Number.isFinite(inner)) return JSON.stringify(String(inner));
  const isText = type === "string" || type === "bool" || (type !== "double" && random.below(2) === 0);
  return isText ? JSON.stringify(type === "bool" ? inner : String(inner)) : String(inner);
}

function bytesText(name: string, bytes: Buffer, random: Random): string {
  const hex = bytes.toString("hex");
  return ids.has(name) ? random.pick(hex, hex.toUpperCase()) : bytes.toString(random.pick("base64", "base64url"));
}
