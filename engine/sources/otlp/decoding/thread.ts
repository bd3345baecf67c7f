import { parentPort } from "node:worker_threads";
import { serve } from "../../../system/serve.ts";
import { decode } from "./decode.ts";
import { type Answer, movable, type Question } from "./messages.ts";

/** The entry of the thread that decodes OTLP bodies. */
serve<Question, Answer>(parentPort!, ({ body, ...request }) => {
  const decoded = decode({ ...request, body: Buffer.from(body.buffer, body.byteOffset, body.length) });
  if (decoded.kind !== "rows") return { answer: decoded };
  const bytes = movable(decoded.push.bytes);
  const ends = Uint32Array.from(decoded.push.ends);
  const { receivedAt, signal } = request;
  return { answer: { kind: "rows", bytes, ends, receivedAt, signal }, transfer: [bytes.buffer, ends.buffer] };
});
