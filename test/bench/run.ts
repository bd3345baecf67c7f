/** What can be measured, and what each prints. A benchmark is loaded only when it is asked for. */
const benchmarks: Readonly<Record<string, { says: string; load: () => Promise<{ run: () => Promise<void> }> }>> = {
  expressions: {
    says: "a filter, a stateless transform and exact integers, beside JSON.parse of the same events",
    load: () => import("./expressions.ts"),
  },
  ci: {
    says: "what checks a pull request: validate, plan, test and the action, on the example of a repository and on 1,000 files",
    load: () => import("./ci.ts"),
  },
  defaults: {
    says: "the settings that users run: small batches beside large ones, latency, idle pipelines, a restart with 10 million keys",
    load: () => import("./defaults.ts"),
  },
  dedup: {
    says: "dedup with 1 and 10 million keys: CPU, memory, disk, start, beside the journal without keys",
    load: () => import("./dedup.ts"),
  },
  join: {
    says: "two topics joined, 1:1 and 1:10, small and large events, up to 10 million buffered; restart, disk, memory",
    load: () => import("./join.ts"),
  },
  kafka: {
    says: "topics to rows, exactly once, beside kafkajs reading them and ClickHouse loading the same from a file",
    load: () => import("./kafka.ts"),
  },
  otlp: {
    says: "log records over gRPC and HTTP to rows, beside protobufjs decoding them",
    load: () => import("./otlp.ts"),
  },
  "otlp-decode": {
    says: "log records in OTLP to rows, beside protobufjs decoding them and JSON.parse",
    load: () => import("./otlp-decode.ts"),
  },
  reconcile: {
    says: "1,000 and 10,000 pipeline files: start, turns without and with changes, beside git and a YAML parser alone",
    load: () => import("./reconcile.ts"),
  },
  rows: {
    says: "rows made of events' values, beside events whose own bytes are the row",
    load: () => import("./rows.ts"),
  },
  scan: {
    says: "what happens to an event between a source and an insert, stage by stage, beside JSON.parse",
    load: () => import("./scan.ts"),
  },
  stream: {
    says: "a durable stream of a million events: append, open, read, trim, beside plain writes with fdatasync",
    load: () => import("./stream.ts"),
  },
  webhook: {
    says: "events over HTTP to rows, beside a server that only reads the bodies",
    load: () => import("./webhook.ts"),
  },
};

const usage = [
  "usage: npm run bench -- NAME",
  ...Object.entries(benchmarks).map(([name, { says }]) => `  ${name.padEnd(14)} ${says}`),
].join("\n");

const [, , name, ...others] = process.argv;
const asked = name === undefined || !Object.hasOwn(benchmarks, name) ? undefined : benchmarks[name];
if (asked === undefined || others.length > 0) {
  console.error(usage);
  process.exitCode = 1;
} else {
  const { run } = await asked.load();
  await run();
}
