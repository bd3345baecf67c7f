import type { Signal } from "../../engine/core/push.ts";
import { jsonBody, protobufBody } from "./otlp-bodies.ts";
import { exportPath, frameOf } from "./otlp-raw-grpc.ts";
import { called, codes, type Headers, type MakeCase, naming, over } from "./otlp-request.ts";

/** Requests for no pipeline, or one that takes no such signal. */
export const wrongNames: readonly MakeCase[] = [
  function none(random) {
    const { signal, bytes } = jsonBody(random);
    const headers: Headers = random.pick<Headers>({}, { "x-sluice-pipeline-id": "" }, { "x-pipeline-id": "fuzz-logs" });
    return { title: "no name over HTTP", http: over(signal, headers, bytes), expected: 400 };
  },
  function noneOverGrpc(random) {
    const { signal, bytes } = protobufBody(random);
    const grpc = { path: exportPath(signal), headers: {}, frames: frameOf(bytes) };
    return { title: "no name over gRPC", grpc, expected: codes.invalid };
  },
  function unknown(random) {
    const { signal, bytes } = jsonBody(random);
    const name = random.pick("no-such-one", "../fuzz-logs", "FUZZ-LOGS", "__proto__", "x".repeat(4000));
    const http = over(signal, { "x-sluice-pipeline-id": name }, bytes);
    return { title: `name ${name} over HTTP`, http, expected: 404 };
  },
  function unknownOverGrpc(random) {
    const { signal, bytes } = protobufBody(random);
    const name = random.pick("no-such-one", "constructor", "x".repeat(4000));
    const grpc = called(signal, { "x-sluice-pipeline-id": name }, frameOf(bytes));
    return { title: `name ${name} over gRPC`, grpc, expected: codes.notFound };
  },
  function otherSignal(random) {
    const { signal, bytes } = jsonBody(random);
    const http = over(signal, naming(another(signal)), bytes);
    return { title: `${signal} for another signal over HTTP`, http, expected: 400 };
  },
  function otherSignalOverGrpc(random) {
    const { signal, bytes } = protobufBody(random);
    const grpc = called(signal, naming(another(signal)), frameOf(bytes));
    return { title: `${signal} for another signal over gRPC`, grpc, expected: codes.invalid };
  },
];

function another(signal: Signal): Signal {
  return signal === "logs" ? "traces" : "logs";
}
