import { parentPort } from "node:worker_threads";
import { serve } from "../../../system/serve.ts";
import { decode } from "./decode.ts";
import { type Answer, bytesIn, type Question, SharedMemory } from "./messages.ts";

const memory = new SharedMemory();
const allocate = (size: number): Buffer => memory.take(size);

/** The entry of the thread that decodes OTLP bodies. */
serve<Question, Answer>(parentPort!, ({ body, ...request }) => {
  const decoded = decode({ ...request, body: bytesIn(body) }, { allocate });
  if (decoded.kind !== "rows") return { answer: decoded };
  const { push } = decoded;
  const [rows, ends] = [memory.share(push.bytes.length), Uint32Array.from(push.ends)];
  return { answer: { kind: "rows", rows, ends, receivedAt: push.receivedAt, signal: request.signal } };
});
