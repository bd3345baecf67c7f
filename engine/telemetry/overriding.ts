import type { Telemetry } from "./telemetry.ts";

/** Telemetry of which some functions do something else. */
export function overriding(telemetry: Telemetry, by: Partial<Telemetry>): Telemetry {
  return new Proxy(telemetry, {
    get: (target, event) => {
      const own = by[event as keyof Telemetry];
      return own ?? (target[event as keyof Telemetry] as (...given: unknown[]) => unknown).bind(target);
    },
  });
}
