import { rowsOf } from "../../engine/sources/otlp/rows/rows.ts";
import { logRequest, staticType } from "./otlp-requests.ts";

const records = [100, 1000];
/** Runs of each measurement, of which the median counts, and records that one run goes over. */
const [RUNS, PASS] = [7, 100_000];

/**
 * Prints what it costs to make rows of log records, in CPU time, beside decoding them into objects and nothing else, with
 * the static code that protobufjs generates. Both take turns; the first turn, which compiles, is not counted.
 */
export async function run(): Promise<void> {
  const type = await staticType();
  for (const count of records) {
    const request = logRequest(count);
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
