import { parentPort } from "node:worker_threads";
import { serve } from "../../../system/serve.ts";
import { decode } from "./decode.ts";
import { type Answer, bytesIn, isKept, type Question, SharedMemory } from "./messages.ts";

const memory = new SharedMemory();
/** What was sent last: each time it arrives, the garbage collector of the other thread counts all of its bytes anew. */
let sent: SharedArrayBuffer | undefined;
const allocate = (size: number): Buffer => memory.take(size);

/** The entry of the thread that decodes OTLP bodies. */
serve<Question, Answer>(parentPort!, ({ body, ...request }) => {
  const decoded = decode({ ...request, body: bytesIn(body) }, { allocate });
  if (decoded.kind !== "rows") return { answer: decoded };
  const { push } = decoded;
  const { memory: written, length } = memory.share(push.bytes.length);
  const rows = written === sent ? { length } : { memory: written, length };
  sent = isKept(written) ? written : undefined;
  const ends = Uint32Array.from(push.ends);
  return { answer: { kind: "rows", rows, ends, receivedAt: push.receivedAt, signal: request.signal } };
});
