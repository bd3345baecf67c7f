import { jsonBody, protobufBody, signals } from "./otlp-bodies.ts";
import { frameOf } from "./otlp-raw-grpc.ts";
import { called, codes, type MakeCase, naming, over } from "./otlp-request.ts";

/** A body behind a `content-length` that is no length. */
function length(text: string): MakeCase {
  return (random) => {
    const { signal, bytes } = jsonBody(random);
    const http = over(signal, { ...naming(signal), "content-length": text }, bytes);
    return { title: `content-length ${text}`, http, expected: 400 };
  };
}

/** Bodies and messages that are not as long as their heads say. */
export const wrongLengths: readonly MakeCase[] = [
  length("-1"),
  length("ten"),
  length("1, 2"),
  function behindTheEnd(random) {
    const { signal, bytes } = jsonBody(random);
    const headers = { ...naming(signal), "content-length": String(bytes.length + 1 + random.below(100)) };
    return { title: "too short a body", http: over(signal, headers, bytes, { ending: "half-closed" }), expected: 400 };
  },
  function beforeTheEnd(random) {
    const { signal, bytes } = jsonBody(random);
    const headers = { ...naming(signal), "content-length": String(random.below(bytes.length)) };
    return { title: "too long a body", http: over(signal, headers, bytes), expected: 400 };
  },
  function badChunk(random) {
    const { signal, bytes } = jsonBody(random);
    const body = Buffer.concat([Buffer.from(`${random.pick("xyz", "-5", "")}\r\n`), bytes]);
    const http = over(signal, { ...naming(signal), "transfer-encoding": "chunked" }, body);
    return { title: "a chunk without a length", http, expected: 400 };
  },
  function framedTwice(random) {
    const { signal, bytes } = jsonBody(random);
    const twice = { "transfer-encoding": "chunked", "content-length": String(bytes.length) };
    return { title: "two lengths", http: over(signal, { ...naming(signal), ...twice }, bytes), expected: 400 };
  },
  function brokenOff(random) {
    const { signal, bytes } = jsonBody(random);
    const headers = { ...naming(signal), "content-length": String(bytes.length + 1) };
    const http = over(signal, headers, bytes, { ending: "broken off" });
    return { title: "a body that breaks off", http, expected: "closed" };
  },
  function cancelled(random) {
    const { signal, bytes } = protobufBody(random);
    const frames = frameOf(bytes, { length: bytes.length + 1 });
    const grpc = { ...called(signal, {}, frames), ending: "cancelled" } as const;
    return { title: "a call that is cancelled", grpc, expected: "reset 8" };
  },
  function noMessage(random) {
    const signal = random.pick(...signals);
    return { title: "no message", grpc: called(signal, {}, Buffer.alloc(0)), expected: codes.invalid };
  },
  function twoMessages(random) {
    const { signal, bytes } = protobufBody(random);
    const frames = Buffer.concat([frameOf(bytes), frameOf(bytes)]);
    return { title: "two messages", grpc: called(signal, {}, frames), expected: codes.invalid };
  },
  function tooShortAMessage(random) {
    const { signal, bytes } = protobufBody(random);
    const frames = frameOf(bytes, { length: bytes.length + 1 + random.below(1000) });
    return { title: "too short a message", grpc: called(signal, {}, frames), expected: codes.invalid };
  },
  function tooLongAMessage(random) {
    const { signal, bytes } = protobufBody(random);
    const frames = frameOf(Buffer.concat([bytes, Buffer.alloc(5 + random.below(20), 0x7f)]), { length: bytes.length });
    return { title: "bytes behind a message", grpc: called(signal, {}, frames), expected: codes.exhausted };
  },
];
