import { randomBytes } from "node:crypto";
import type { Readiness } from "../core/readiness.ts";
import type { Sink } from "../core/sink.ts";
import type { SourceSample } from "../event/newest-events.ts";
import { foreignText } from "../peers/foreign-text.ts";
import { storageError } from "../state/storage-error.ts";
import { type AnyTools, checkSource, sampleSource } from "../sources/open.ts";
import { compilePipeline, compileSides, createKeys } from "./compile.ts";
import type { ThreadMachine } from "./host.ts";
import type { CheckedSpec, SampledSpec } from "./protocol.ts";

/** How long the servers may take to answer, in milliseconds. */
const patience = 15_000;

/** Whether a pipeline could run with this config: it compiles, its target takes its rows, and its source can be read. */
export async function checkPipeline(
  spec: CheckedSpec,
  { log, ...machine }: ThreadMachine & Pick<AnyTools, "log">,
): Promise<Readiness> {
  const { config } = spec;
  let sink: Sink;
  try {
    const given = { ...spec, ...machine, revision: 0, keys: createKeys(config), salt: randomBytes(16), log };
    ({ sink } = compilePipeline(given));
    if (config.join !== undefined) compileSides(given, unopened);
  } catch (error) {
    return { kind: "refused", text: foreignText(error) };
  }
  const signal = AbortSignal.timeout(patience);
  try {
    const found = await Promise.all([checkTarget(sink, signal), checkSource(spec, { ...machine, log }, signal)]);
    return found.find(({ kind }) => kind === "refused") ?? found.find(({ kind }) => kind !== "ready") ?? found[0];
  } catch (error) {
    // Thrown on, it would end the thread, and with it the checks of other pipelines.
    return { kind: "unreachable", text: foreignText(error) };
  } finally {
    await sink.close();
  }
}

/** A check compiles the sides of a join, and opens nothing. */
const unopened: Parameters<typeof compileSides>[1] = {
  open: () => Promise.reject(new Error("expected a join that is only compiled")),
  onStep: () => undefined,
};

async function checkTarget(sink: Sink, signal: AbortSignal): Promise<Readiness> {
  const answer = await sink.check(signal);
  if (answer.kind === "ok") return { ...answer, kind: "ready" };
  const { failure } = answer;
  return { kind: failure.class === "transient" ? "unreachable" : "refused", text: failure.text };
}

/** The newest events of a source. Throws where it cannot be read, or takes too long. */
export function samplePipeline(spec: SampledSpec, tools: ThreadMachine & Pick<AnyTools, "log">): Promise<SourceSample> {
  return inTime(
    (signal) =>
      sampleSource(spec, tools, signal).catch((error: unknown) => {
        throw spec.stream === undefined ? error : storageError(error);
      }),
    ", or for fewer events",
  );
}

/** The answer of servers, unless it takes too long. `else`: what to do then, besides asking again. */
export function inTime<Answer>(ask: (signal: AbortSignal) => Promise<Answer>, orElse = ""): Promise<Answer> {
  const signal = AbortSignal.timeout(patience);
  const late = new Promise<never>((_resolve, reject) => {
    const text = `expected an answer within ${patience / 1000} s, found none: ask again${orElse}`;
    signal.addEventListener("abort", () => reject(new Error(text)), { once: true });
  });
  return Promise.race([ask(signal), late]);
}
