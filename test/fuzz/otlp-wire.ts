import protobuf from "protobufjs";
import type { Signal } from "../../engine/core/push.ts";
import type { Random } from "../support/random.ts";
import { randomId } from "./otlp-json.ts";
import { requestTypes } from "./otlp-reference.ts";

const texts = [
  "",
  "a",
  "b",
  "service.name",
  'with "quotes" \\ and\nlines\t\u0001',
  "größe",
  "\u{1f600}",
  "__proto__",
  "1",
];
const doubles = [0, -0, 1, -1.5, 1e21, -1e-7, 5e-324, 1.7976931348623157e308, NaN, Infinity, -Infinity, 2 ** 53, 0.1];
const halves = [0, 1, 9, 127, 128, 1_000_000_000, 2 ** 31 - 1, -(2 ** 31), -1, 0x005fffff];
/** Messages of one request, about. */
const most = 80;

/** A request that is seldom spelled as an exporter would: its fields are shuffled, repeated, in pieces or unknown. */
export function randomRequest(signal: Signal, random: Random): Buffer {
  return message(requestTypes[signal], random, { depth: 0, left: most });
}

/** The request with some bytes changed, left out or put in. */
export function mutated(request: Buffer, random: Random): Buffer {
  const bytes = [...request];
  for (let count = random.below(4) + 1; count > 0 && bytes.length > 0; count -= 1) {
    const at = random.below(bytes.length);
    const byte = random.pick(0, 1, 2, 0x0a, 0x12, 0x7f, 0x80, 0xff, random.below(256));
    if (random.below(12) === 0) bytes.length = at;
    else bytes.splice(at, random.below(3), ...(random.below(2) === 0 ? [byte] : []));
  }
  return Buffer.from(bytes);
}

/** How deep a message is, and how many more there may be. */
interface Room {
  depth: number;
  left: number;
}

function message(type: protobuf.Type, random: Random, room: Room): Buffer {
  const pieces: Buffer[] = [];
  // Requests, resources, scopes and metrics are nothing without what they hold.
  const isOuter = room.depth < 4;
  const outer = type.fieldsArray.filter(({ resolvedType }) => resolvedType instanceof protobuf.Type);
  room.left -= 1;
  room.depth += 1;
  for (let count = room.left < 0 ? 0 : random.below(8) + (isOuter ? 1 : 0); count > 0; count -= 1) {
    const isIn = isOuter && outer.length > 0 && random.below(3) > 0;
    if (random.below(50) === 0) pieces.push(unknown(random));
    else pieces.push(field(random.pick(...(isIn ? outer : type.fieldsArray)), random, room));
  }
  room.depth -= 1;
  if (type.name === "Span" && random.below(8) > 0) {
    for (const name of ["traceId", "spanId"]) pieces.push(field(type.fields[name]!, random, room));
  }
  return Buffer.concat(random.below(2) === 0 ? pieces : random.shuffled([...pieces, ...repeatedOf(pieces)]));
}

/** Pieces that come twice, unless they are long: what holds them may come twice again. */
function repeatedOf(pieces: readonly Buffer[]): readonly Buffer[] {
  return pieces.slice(0, 2).filter(({ length }) => length < 500);
}

/** A field as its type asks for, with seldom another kind of encoding. */
function field({ id, name, type, resolvedType, repeated }: protobuf.Field, random: Random, room: Room): Buffer {
  if (random.below(100) === 0) return other(id, random);
  if (resolvedType instanceof protobuf.Type) return given(id, message(resolvedType, random, room));
  if (type === "string") return given(id, text(random));
  if (type === "bytes" && name.endsWith("Id")) return given(id, randomId(name, random));
  if (type === "bytes") return given(id, Buffer.alloc(random.pick(0, 1, 8, 16), random.pick(0, 7, 0xab)));
  if (repeated && random.below(3) > 0) {
    const count = random.below(4);
    return given(id, Buffer.concat(Array.from({ length: count }, () => scalar(type, random))));
  }
  return Buffer.concat([tag(id, kindOf(type)), scalar(type, random)]);
}

function text(random: Random): Buffer {
  if (random.below(12) === 0) return Buffer.from([0x61, random.pick(0xfe, 0xff), 0xc3]);
  if (random.below(30) === 0) return Buffer.alloc(random.pick(127, 128, 200, random.pick(300, 20_000)), "long ");
  return Buffer.from(random.pick(...texts));
}

function kindOf(type: string): number {
  if (type === "double" || type === "fixed64" || type === "sfixed64") return 1;
  return type === "fixed32" ? 5 : 0;
}

function scalar(type: string, random: Random): Buffer {
  const writer = protobuf.Writer.create();
  const [low, high] = [random.pick(...halves), random.pick(0, 0, 0, ...halves)];
  if (type === "double") writer.double(random.pick(...doubles));
  else if (kindOf(type) === 1) writer.fixed32(low >>> 0).fixed32(high >>> 0);
  else if (type === "fixed32") writer.fixed32(low >>> 0);
  else if (type === "uint64" || type === "int64") writer.uint64(new protobuf.util.Long(low, high, true));
  else writer.int32(random.pick(0, 1, 2, 3, 4, 5, low));
  return Buffer.from(writer.finish());
}

/** A known field's number with a kind that it has not. */
function other(id: number, random: Random): Buffer {
  return random.pick(
    () => Buffer.concat([tag(id, 0), Buffer.from([random.below(128)])]),
    () => Buffer.concat([tag(id, 1), Buffer.alloc(8, random.below(256))]),
    () => Buffer.concat([tag(id, 5), Buffer.alloc(4, random.below(256))]),
    () => given(id, Buffer.alloc(random.below(9), random.below(256))),
    () => Buffer.concat([tag(id, 3), unknown(random), tag(id, 4)]),
  )();
}

function unknown(random: Random): Buffer {
  // Seldom a field that cannot be: without an end, of a kind that is none, or number 0.
  if (random.below(20) === 0) return Buffer.concat([tag(40, random.pick(3, 4, 6, 7)), Buffer.alloc(2)]);
  return other(random.below(20) === 0 ? 0 : random.pick(17, 40, 3000, 2 ** 28), random);
}

function tag(id: number, kind: number): Buffer {
  return Buffer.from(
    protobuf.Writer.create()
      .uint32(((id << 3) | kind) >>> 0)
      .finish(),
  );
}

function given(id: number, content: Uint8Array): Buffer {
  return Buffer.concat([tag(id, 2), Buffer.from(protobuf.Writer.create().bytes(content).finish())]);
}
