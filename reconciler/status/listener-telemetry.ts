import { Counter, Gauge, type Registry } from "prom-client";
import { GatheredEvents, type Log } from "../../engine/index.ts";

export interface ListenerTelemetry {
  /** A connection was refused or closed before its time. `address` is that of its peer, or its network. */
  refused: (reason: string, address: string) => void;
  close(): void;
}

/** What happens at the listeners: each has telemetry of its own. Labels are closed sets. */
export type ListenersTelemetry = ReturnType<typeof createListenersTelemetry>;

export function createListenersTelemetry(log: Log, registry: Registry, reasons: readonly string[]) {
  const refusals = new Counter({
    name: "sluice_listener_connections_refused_total",
    help: "Connections that a listener refused or closed before their time, by reason.",
    labelNames: ["listener", "reason"],
    registers: [registry],
  });
  const sizes = new Map<string, () => number>();
  const open = new Gauge({
    name: "sluice_listener_connections",
    help: "Open connections of a listener.",
    labelNames: ["listener"],
    registers: [registry],
    collect: () => {
      for (const [listener, size] of sizes) open.set({ listener }, size());
    },
  });
  return {
    /** A listener; `size` counts its connections. */
    of(listener: string, size: () => number): ListenerTelemetry {
      for (const reason of reasons) refusals.inc({ listener, reason }, 0);
      sizes.set(listener, size);
      const warnings = new GatheredEvents<string>((counts, last_from) =>
        log.warn({ listener, ...counts, last_from }, "A listener refuses connections."),
      );
      return {
        refused(reason, address) {
          refusals.inc({ listener, reason });
          warnings.add(reason, address);
        },
        close: () => warnings.close(),
      };
    },

    insecure(listener: string, address: string): void {
      log.warn(
        { listener, address },
        "A listener is plain and not on loopback: all on the way read and change what is sent. Give --tls-cert and --tls-key.",
      );
    },

    open(listener: string, address: string): void {
      log.warn(
        { listener, address },
        "A listener is not on loopback and asks for no token: all who reach it may use it.",
      );
    },

    certificateReloaded(subject: string, until: string): void {
      log.info({ subject, valid_until: until }, "The TLS certificate was read again.");
    },

    certificateRefused(error: string): void {
      log.error({ error }, "The TLS certificate cannot be read again; the earlier one stays in use.");
    },

    tokensUnreadable(setting: string, error: string): void {
      log.error({ setting, error }, "The token of a listener cannot be read; its requests are refused.");
    },
  };
}
