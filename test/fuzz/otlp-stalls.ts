import type { Random } from "../support/random.ts";
import { jsonBody } from "./otlp-bodies.ts";
import { frameOf } from "./otlp-raw-grpc.ts";
import { called, codes, naming, over, type RequestCase } from "./otlp-request.ts";

/** Senders that stop in the middle and keep their connection: what they are answered when their time is over. */
export function stalledCases(random: Random): RequestCase[] {
  const { signal, bytes } = jsonBody(random);
  const head = { ...naming(signal), "content-length": String(bytes.length + 1) };
  const ending = "stalled";
  return [
    {
      title: "stalls in its head",
      http: over(signal, naming(signal), bytes, { ending: "in the head" }),
      // A connection without a request is closed after ten seconds.
      expected: "closed",
    },
    { title: "stalls in its body", http: over(signal, head, bytes), expected: 408 },
    { title: "stalls before a body", http: over(signal, head, Buffer.alloc(0)), expected: 408 },
    {
      title: "stalls in a message",
      grpc: { ...called(signal, {}, frameOf(bytes, { length: bytes.length + 1 })), ending },
      expected: codes.late,
    },
    {
      title: "stalls before a message",
      grpc: { ...called(signal, {}, Buffer.from([0])), ending },
      expected: codes.late,
    },
  ];
}
