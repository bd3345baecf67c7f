import { classPath } from "./distribution.ts";
import { runTool } from "../java.ts";

/** What the console producer can be given on a line: no line ends, and in key and headers no tabs. */
export interface JavaMessage {
  key?: string;
  /** `null` for a tombstone. */
  value: string | null;
  headers?: Record<string, string>;
}

export interface JavaOptions {
  compression?: "none" | "gzip" | "snappy" | "lz4" | "zstd";
  /** Properties of the Java producer, such as `batch.size`. */
  properties?: Record<string, string>;
}

const nothing = "<null>";
const readerProperties = ["parse.key=true", "parse.headers=true", `null.marker=${nothing}`];

/** Writes messages with Kafka's own Java client, whose compressed bytes are those that the world's producers send. */
export async function produceByJava(
  brokers: readonly string[],
  topic: string,
  messages: readonly (string | JavaMessage)[],
  { compression = "none", properties = {} }: JavaOptions = {},
): Promise<void> {
  const set = Object.entries(properties).flatMap(([name, value]) => ["--command-property", `${name}=${value}`]);
  const read = readerProperties.flatMap((property) => ["--reader-property", property]);
  const to = ["--bootstrap-server", brokers.join(","), "--topic", topic, "--compression-codec", compression];
  const args = [...to, ...set, ...read];
  const main = "org.apache.kafka.tools.ConsoleProducer";
  await runTool({ classPath: await classPath(), main, args, heapMegabytes: 128 }, messages.map(line).join(""));
}

function line(given: string | JavaMessage): string {
  const { key, value, headers = {} } = typeof given === "string" ? { value: given } : given;
  const pairs = Object.entries(headers).map(([name, text]) => `${name}:${text}`);
  const fields = [pairs.join(",") || nothing, key ?? nothing, value ?? nothing];
  if (fields.some((field) => field.includes("\n")) || fields.slice(0, 2).some((field) => field.includes("\t")))
    throw new Error(`the console producer reads lines of headers, key and value, not ${JSON.stringify(given)}`);
  return `${fields.join("\t")}\n`;
}
