import { mkdir } from "node:fs/promises";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import type protobuf from "protobufjs";

/** The static code that protobufjs generates for the request of the logs service. */
export interface StaticType {
  create(properties: object): object;
  encode(message: object): protobuf.Writer;
  decode(bytes: Uint8Array): object;
}

/** Generates static code for the service of logs, where its import of protobufjs is found. */
export async function staticType(): Promise<StaticType> {
  const require = createRequire(import.meta.url);
  const pbjs = require("protobufjs-cli/pbjs") as {
    main: (args: string[], done: (error: Error | null) => void) => void;
  };
  const proto = fileURLToPath(new URL("../../engine/sources/otlp/proto/", import.meta.url));
  const folder = new URL("../../.cache/", import.meta.url);
  await mkdir(folder, { recursive: true });
  const out = fileURLToPath(new URL("otlp-static.cjs", folder));
  const service = `${proto}opentelemetry/proto/collector/logs/v1/logs_service.proto`;
  await new Promise<void>((resolve, reject) => {
    pbjs.main(["-t", "static-module", "-w", "commonjs", "-p", proto, "-o", out, service], (error) =>
      error === null ? resolve() : reject(error),
    );
  });
  const { opentelemetry } = require(out) as {
    opentelemetry: { proto: { collector: { logs: { v1: { ExportLogsServiceRequest: StaticType } } } } };
  };
  return opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest;
}

/**
 * Records of about 400 bytes with 8 attributes, as a service logs its requests: so many, numbered from `first` on. Some
 * services log without a trace.
 */
export function logRequest(count: number, { first = 0, isTraced = true } = {}): object {
  const logRecords = Array.from({ length: count }, (_, place) => logRecord(first + place, isTraced));
  const resource = { attributes: [text("service.name", "checkout"), text("host.name", "node-17")] };
  return { resourceLogs: [{ resource, scopeLogs: [{ scope: { name: "app", version: "1.2.3" }, logRecords }] }] };
}

function logRecord(index: number, isTraced: boolean): object {
  const trace = { traceId: Buffer.alloc(16, (index % 250) + 1), spanId: Buffer.alloc(8, (index % 200) + 1) };
  return {
    timeUnixNano: 1_705_315_800 * 1e9 + index * 1_000_000,
    observedTimeUnixNano: 1_705_315_801 * 1e9 + index * 1_000_000,
    severityNumber: 9,
    severityText: "INFO",
    body: {
      stringValue: `order ${index} of customer ${index * 7} was placed: 3 items, to be sent on the next working day`,
    },
    attributes: [
      text("http.request.method", "POST"),
      text("http.route", "/api/v1/customers/{customer}/orders"),
      { key: "http.response.status_code", value: { intValue: index % 50 === 0 ? 500 : 201 } },
      text("user.id", `user-${index % 1000}`),
      { key: "duration", value: { doubleValue: 1.5 + index / 8 } },
      { key: "cached", value: { boolValue: index % 2 === 0 } },
      text("cloud.region", "eu-central-1"),
      text("request.id", `req-${((index * 2654435761) >>> 0).toString(16).padStart(8, "0")}`),
    ],
    flags: 1,
    ...(isTraced ? trace : {}),
  };
}

function text(key: string, stringValue: string): object {
  return { key, value: { stringValue } };
}
