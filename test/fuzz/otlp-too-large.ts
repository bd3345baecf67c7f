import { bombs, growingLogs, logsOf, signals } from "./otlp-bodies.ts";
import { frameOf } from "./otlp-raw-grpc.ts";
import { called, codes, type MakeCase, naming, over, types } from "./otlp-request.ts";

const maxBody = 4 * 1024 * 1024;

/** Requests that are larger than they may be, as they are, unpacked or in rows; and some as large as they may be. */
export const tooLarge: readonly MakeCase[] = [
  function large(random) {
    const body = logsOf(maxBody + 1 + random.below(2 ** 20));
    const headers = { ...naming("logs"), "content-type": types.protobuf };
    return { title: "more than 4 MiB over HTTP", http: over("logs", headers, body), expected: 413 };
  },
  function largeMessage(random) {
    const frames = frameOf(logsOf(maxBody + 1 + random.below(2 ** 20)));
    return { title: "more than 4 MiB over gRPC", grpc: called("logs", {}, frames), expected: codes.exhausted };
  },
  function bomb(random) {
    const signal = random.pick(...signals);
    const headers = {
      ...naming(signal),
      "content-encoding": "gzip",
      "content-type": random.pick(...Object.values(types)),
    };
    return { title: "a bomb over HTTP", http: over(signal, headers, random.pick(...bombs)), expected: 413 };
  },
  function bombMessage(random) {
    const signal = random.pick(...signals);
    const frames = frameOf(random.pick(...bombs), { isPacked: true });
    return {
      title: "a bomb over gRPC",
      grpc: called(signal, { "grpc-encoding": "gzip" }, frames),
      expected: codes.exhausted,
    };
  },
  function growing(random) {
    const body = growingLogs();
    const headers = { ...naming("logs"), "content-type": types.protobuf };
    return random.below(2) === 0
      ? { title: "rows without bounds over HTTP", http: over("logs", headers, body), expected: 413 }
      : { title: "rows without bounds over gRPC", grpc: called("logs", {}, frameOf(body)), expected: codes.invalid };
  },
  function justRight(random) {
    const body = logsOf(maxBody);
    const headers = { ...naming("logs"), "content-type": types.protobuf };
    const stored = { signal: "logs", rows: 1, letters: 0 } as const;
    return random.below(2) === 0
      ? { title: "4 MiB over HTTP", http: over("logs", headers, body), expected: 200, stored }
      : { title: "4 MiB over gRPC", grpc: called("logs", {}, frameOf(body)), expected: codes.ok, stored };
  },
];
