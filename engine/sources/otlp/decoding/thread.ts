import { parentPort } from "node:worker_threads";
import { serve } from "../../../system/serve.ts";
import { decode } from "./decode.ts";
import { type Answer, type Question, ReadMemories, WrittenMemories } from "./messages.ts";

const [bodies, rows] = [new ReadMemories(), new WrittenMemories()];
const allocate = (size: number): Buffer => rows.take(size);

/** The entry of the thread that decodes OTLP bodies. */
serve<Question, Answer>(parentPort!, ({ body, stored, ...request }) => {
  rows.release(stored);
  const decoded = decode({ ...request, body: bodies.read(body) }, { allocate });
  if (decoded.kind !== "rows") return { answer: decoded };
  const { bytes, ends, ...about } = decoded.push;
  return { answer: { kind: "rows", rows: rows.send(bytes.length), ends: Uint32Array.from(ends), ...about } };
});
