import { mkdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { createRequire } from "node:module";
import type protobuf from "protobufjs";
import { rowsOf } from "../../engine/sources/otlp/rows/rows.ts";

const records = [100, 1000];
/** Runs of each measurement, of which the median counts, and records that one run goes over. */
const [RUNS, PASS] = [7, 100_000];

interface StaticType {
  create(properties: object): object;
  encode(message: object): protobuf.Writer;
  decode(bytes: Uint8Array): object;
}

/**
 * Prints what it costs to make rows of log records, in CPU time, beside decoding them into objects and nothing else, with
 * the static code that protobufjs generates. Both take turns; the first turn, which compiles, is not counted.
 */
export async function run(): Promise<void> {
  const type = await staticType();
  for (const count of records) {
    const request = requestOf(count);
    const body = Buffer.from(type.encode(request).finish());
    const json = Buffer.from(JSON.stringify(request, jsonValue));
    console.log(
      `${count} log records a request, ${Math.round(body.length / count)} bytes each, medians of ${RUNS} runs`,
    );
    report(count, {
      "protobuf: decode alone": () => type.decode(body),
      "protobuf: decode + rows": () => rowsOf("logs", body, "protobuf", 0),
      "JSON: parse alone": () => JSON.parse(json.toString()) as unknown,
      "JSON: parse + rows": () => rowsOf("logs", json, "json", 0),
    });
  }
}

/** Generates static code for the service of logs, where its import of protobufjs is found. */
async function staticType(): Promise<StaticType> {
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

/** Records of about 400 bytes with 8 attributes, as a service logs its requests. */
function requestOf(count: number): object {
  const logRecords = Array.from({ length: count }, (_, index) => ({
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
    traceId: Buffer.alloc(16, (index % 250) + 1),
    spanId: Buffer.alloc(8, (index % 200) + 1),
  }));
  const resource = { attributes: [text("service.name", "checkout"), text("host.name", "node-17")] };
  return { resourceLogs: [{ resource, scopeLogs: [{ scope: { name: "app", version: "1.2.3" }, logRecords }] }] };
}

function text(key: string, stringValue: string): object {
  return { key, value: { stringValue } };
}

/** Ids are hexadecimal in OTLP/JSON, and times are texts. */
function jsonValue(key: string, value: unknown): unknown {
  if (key.endsWith("UnixNano")) return String(BigInt(value as number));
  const isBytes = typeof value === "object" && value !== null && (value as { type?: string }).type === "Buffer";
  return isBytes ? Buffer.from((value as unknown as { data: number[] }).data).toString("hex") : value;
}

function report(count: number, works: Readonly<Record<string, () => unknown>>): void {
  const costs = Object.keys(works).map((name) => ({ name, runs: [] as number[] }));
  for (let turn = 0; turn <= RUNS; turn += 1) {
    for (const { name, runs } of costs) {
      const before = process.cpuUsage();
      for (let pass = 0; pass < PASS / count; pass += 1) works[name]!();
      const { user, system } = process.cpuUsage(before);
      if (turn > 0) runs.push((user + system) / PASS);
    }
  }
  for (const { name, runs } of costs) {
    const cost = runs.toSorted((a, b) => a - b)[RUNS >> 1]!;
    console.log(
      `  ${name.padEnd(26)} ${cost.toFixed(3).padStart(8)} us/record ${(1000 / cost).toFixed(0).padStart(6)}k records/s`,
    );
  }
}
