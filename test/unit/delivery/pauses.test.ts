import { expect, test } from "vitest";
import { LeftForLater } from "../../../engine/core/errors.ts";
import { Pauses } from "../../../engine/delivery/pauses.ts";
import { RetryPause } from "../../../engine/flow/retry-pause.ts";
import type { Telemetry } from "../../../engine/telemetry/telemetry.ts";

test("a hundred inserts that wait at the same time, until the pipeline leaves, warn of no leak", async () => {
  const warnings: Error[] = [];
  const note = (warning: Error): void => void warnings.push(warning);
  process.on("warning", note);
  const [leave, drain] = [new AbortController(), new AbortController()];
  const telemetry = { paused: () => undefined } as unknown as Telemetry;
  const pauses = new Pauses(new RetryPause("p", telemetry), { leave: leave.signal, drain: drain.signal });
  const failure = { class: "transient", text: "connection refused" } as const;
  const waits = Array.from({ length: 100 }, () => pauses.wait(failure, 10).catch((error: unknown) => error));
  leave.abort();
  drain.abort();
  for (const ended of await Promise.all(waits)) expect(ended).toBeInstanceOf(LeftForLater);
  // Node emits warnings in a later turn.
  await new Promise((resolve) => setImmediate(resolve));
  process.off("warning", note);
  expect(warnings).toEqual([]);
});
