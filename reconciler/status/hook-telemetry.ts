import { Counter } from "prom-client";
import type { Registry } from "prom-client";
import type { Log } from "../../engine/index.ts";

/** The result of a request to the push hook. A closed set: a metric label. */
export type HookResult = (typeof results)[number];

const results = ["accepted", "ignored", "bad_signature", "too_large", "rate_limited", "malformed", "failed"] as const;

/** Milliseconds between two warnings about refused requests, which any sender can cause. */
const quiet = 60_000;

export interface HookTelemetry {
  answered(result: HookResult, address: string | undefined): void;
  secretsMissing(error: unknown): void;
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
  let warned = -Infinity;
  let missing: string | undefined;
  return {
    answered(result, address) {
      requests.inc({ result });
      if (result !== "failed") missing = undefined;
      log.debug({ result, address }, "The push hook answered.");
      if (result === "accepted" || result === "ignored" || result === "failed") return;
      if (performance.now() - warned < quiet) return;
      warned = performance.now();
      log.warn(
        { result, address },
        "The push hook refused a request; further ones within a minute are only counted in the metrics.",
      );
    },

    secretsMissing(error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (reason === missing) return;
      missing = reason;
      log.error({ error: reason }, "The push hook cannot read its secret; pushes are found by polling.");
    },
  };
}
