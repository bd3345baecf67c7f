import { setTimeout as sleep } from "node:timers/promises";
import { Metadata } from "@grpc/grpc-js";
import { SeverityNumber } from "@opentelemetry/api-logs";
import { OTLPLogExporter as GrpcExporter } from "@opentelemetry/exporter-logs-otlp-grpc";
import { OTLPLogExporter as HttpExporter } from "@opentelemetry/exporter-logs-otlp-proto";
import { LoggerProvider, type ReadableLogRecord } from "@opentelemetry/sdk-logs";

/** The exporters of the SDK for Node.js. README.md says how it is called. */

const [transport, address = "", pipeline_id = "", sender = "", ...numbers] = process.argv.slice(2);
const [exporters = 1, exports = 1, records = 1, pause = 0, timeoutMillis = 0] = numbers.map(Number);
const headers = { "x-sluice-pipeline-id": pipeline_id };

const stopping = new AbortController();
if (exports === 0) process.stdin.on("end", () => stopping.abort()).resume();

const nothing = (): Promise<void> => Promise.resolve();

function exporter(): HttpExporter | GrpcExporter {
  if (transport === "http") return new HttpExporter({ url: `http://${address}/v1/logs`, headers, timeoutMillis });
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
  return new GrpcExporter({ url: `http://${address}`, metadata, timeoutMillis });
}

function batch(name: string): ReadableLogRecord[] {
  const kept: ReadableLogRecord[] = [];
  const keeper = {
    onEmit: (record: ReadableLogRecord) => void kept.push(record),
    shutdown: nothing,
    forceFlush: nothing,
  };
  const logger = new LoggerProvider({ processors: [keeper] }).getLogger("senders");
  const attributes = { sender, export: name, text: "x".repeat(400) };
  for (let record = 0; record < records; record += 1)
    logger.emit({ timestamp: Date.now(), severityNumber: SeverityNumber.INFO, body: "a record", attributes });
  return kept;
}

async function run(number: number): Promise<void> {
  const sends = exporter();
  for (let count = 0; !stopping.signal.aborted && count < (exports || Infinity); count += 1) {
    const name = `${number}-${count}`;
    const { code, error } = await new Promise<{ code: number; error?: Error }>((resolve) =>
      sends.export(batch(name), resolve),
    );
    console.log(code === 0 ? `${name} accepted` : `${name} refused ${String(error).replaceAll("\n", " ")}`);
    await sleep(pause);
  }
  await sends.shutdown();
}

await Promise.all(Array.from({ length: exporters }, (_, number) => run(number)));
process.stdin.destroy();
