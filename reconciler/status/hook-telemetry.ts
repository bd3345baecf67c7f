import { Counter } from "prom-client";
import type { Registry } from "prom-client";
import { GatheredEvents, type Log } from "../../engine/index.ts";

/** The result of a request to the push hook. A closed set: a metric label. */
export type HookResult = (typeof results)[number];

const results = ["accepted", "ignored", "bad_signature", "too_large", "rate_limited", "malformed", "failed"] as const;

export interface HookTelemetry {
  answered(result: HookResult, address: string | undefined): void;
  secretsMissing(error: unknown): void;
  /** Logs what waits to be logged. */
  close(): void;
}

/** What happens at the push hook. Never receives a body, a header or a secret. */
export function createHookTelemetry(log: Log, registry: Registry): HookTelemetry {
  const requests = new Counter({
    name: "sluice_gitops_webhook_requests_total",
    help: "Requests to the push hook, by result.",
    labelNames: ["result"],
    registers: [registry],
  });
  // An alert asks for their increase, which does not see a series begin.
  for (const result of results) requests.inc({ result }, 0);
  const warnings = new GatheredEvents<string | undefined>((counts, last_from) =>
    log.warn({ ...counts, last_from }, "The push hook refuses requests."),
  );
  let missing: string | undefined;
  return {
    answered(result, address) {
      requests.inc({ result });
      if (result !== "failed") missing = undefined;
      log.debug({ result, address }, "The push hook answered.");
      if (result !== "accepted" && result !== "ignored" && result !== "failed") warnings.add(result, address);
    },

    secretsMissing(error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (reason === missing) return;
      missing = reason;
      log.error({ error: reason }, "The push hook cannot read its secret; pushes are found by polling.");
    },

    close: () => warnings.close(),
  };
}
