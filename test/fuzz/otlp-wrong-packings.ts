import { gzipSync } from "node:zlib";
import { jsonBody, protobufBody } from "./otlp-bodies.ts";
import { frameOf } from "./otlp-raw-grpc.ts";
import { called, codes, type MakeCase, naming, over, types } from "./otlp-request.ts";

/** Bodies and messages in an encoding that is broken, unknown or not named. */
export const wrongPackings: readonly MakeCase[] = [
  function truncated(random) {
    const { signal, encoding, bytes } = random.below(2) === 0 ? protobufBody(random) : jsonBody(random);
    const whole = gzipSync(bytes);
    const body = whole.subarray(0, random.below(whole.length));
    const headers = { ...naming(signal), "content-type": types[encoding], "content-encoding": "gzip" };
    return { title: "truncated gzip over HTTP", http: over(signal, headers, body), expected: 400 };
  },
  function truncatedMessage(random) {
    const { signal, bytes } = protobufBody(random);
    const whole = gzipSync(bytes);
    const frames = frameOf(whole.subarray(0, random.below(whole.length)), { isPacked: true });
    return {
      title: "truncated gzip over gRPC",
      grpc: called(signal, { "grpc-encoding": "gzip" }, frames),
      expected: codes.internal,
    };
  },
  function notPacked(random) {
    const { signal, bytes } = jsonBody(random);
    const headers = { ...naming(signal), "content-encoding": "gzip" };
    return { title: "no gzip over HTTP", http: over(signal, headers, bytes), expected: 400 };
  },
  function other(random) {
    const { signal, bytes } = jsonBody(random);
    const encoding = random.pick("zstd", "br", "deflate", "gzip, gzip", "x".repeat(200));
    const http = over(signal, { ...naming(signal), "content-encoding": encoding }, bytes);
    return { title: `encoding ${encoding}`, http, expected: 415 };
  },
  function otherMessage(random) {
    const { signal, bytes } = protobufBody(random);
    const grpc = called(signal, { "grpc-encoding": random.pick("zstd", "br") }, frameOf(bytes, { isPacked: true }));
    return { title: "another encoding over gRPC", grpc, expected: codes.unimplemented };
  },
  function unnamed(random) {
    const { signal, bytes } = protobufBody(random);
    const grpc = called(signal, {}, frameOf(gzipSync(bytes), { isPacked: true }));
    return { title: "packed, without a word in which encoding", grpc, expected: codes.invalid };
  },
];
