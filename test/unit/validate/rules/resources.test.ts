import { describe, expect, test } from "vitest";
import { goodPipeline, kafkaPipeline } from "../../../support/pipeline-file.ts";
import { remarks, said } from "./remarks.ts";

const sink = (line: string) => `${goodPipeline}  ${line}\n`;
const stream = (limits: string) => `${goodPipeline}resources: { nats: { stream: { ${limits} } } }\n`;
const component = (of: string) => `${goodPipeline}resources: { sink: { ${of} } }\n`;
const kafka = (resources: string) => `${kafkaPipeline}resources: { ${resources} }\n`;

describe("batches and the stream before them", () => {
  remarks([
    {
      title: "a batch beyond one block",
      content: sink("max_batch_size: 1048449"),
      code: "VALUE",
      path: "sink.max_batch_size",
      at: "1048449",
      found: "the number 1048449",
    },
    {
      title: "a batch of a few rows",
      content: sink("max_batch_size: 99"),
      code: "BATCH",
      path: "sink.max_batch_size",
      at: "99",
      found: "the number 99",
    },
    {
      title: "a delay of 0",
      content: sink("max_delay_time: 0s"),
      code: "BATCH",
      path: "sink.max_delay_time",
      at: "0s",
      found: '"0s", which means 60s',
    },
    {
      title: "a delay as long as events are kept",
      content: sink("max_delay_time: 1d"),
      code: "BATCH",
      path: "sink.max_delay_time",
      at: "1d",
      found: "a delay of 1d and an age of 24h",
    },
    {
      title: "events that are kept shorter than a delay",
      content: stream("maxAge: 59s"),
      code: "BATCH",
      path: "resources.nats.stream.maxAge",
      at: "59s",
      found: "a delay of 60s and an age of 59s",
    },
    {
      title: "a stream that is full before a batch is",
      content: stream("max_msgs: 999"),
      code: "BATCH",
      path: "resources.nats.stream.max_msgs",
      at: "999",
      found: "the number 999",
    },
    {
      title: "a stream smaller than an event may be",
      content: stream("max_bytes: 1000k"),
      code: "BATCH",
      path: "resources.nats.stream.max_bytes",
      at: "1000k",
      found: '"1000k"',
    },
  ]);

  test.each([
    ["the largest batch", sink("max_batch_size: 1048448")],
    ["a small batch that is still one", sink("max_batch_size: 100")],
    ["a stream without limits", stream('max_bytes: "0", max_msgs: -1')],
    ["the default of max_msgs", stream("max_msgs: 0")],
    ["a stream of one batch", stream("max_msgs: 1000, max_bytes: 1Mi, max_age: 61s")],
  ])("nothing is said about %s", (_, content) => {
    expect(said(content)).toEqual([]);
  });

  test("limits of a stream that Kafka does not have are not weighed", () => {
    const told = said(kafka("nats: { stream: { max_msgs: 1, max_age: 1s, max_bytes: 1k } }"));
    expect(told.map(({ code, path }) => [code, path])).toEqual([["NO_EFFECT", "resources.nats.stream"]]);
  });
});

describe("amounts", () => {
  remarks([
    {
      title: "memory in thousandths of a byte",
      content: component("limits: { memory: 128m }"),
      code: "QUANTITY_UNIT",
      path: "resources.sink.limits.memory",
      at: "128m",
      found: '"128m", a fraction of 128 bytes',
      suggestion: 'write "128Mi"',
    },
    {
      title: "a stream in millionths",
      content: stream("maxBytes: 10u"),
      code: "QUANTITY_UNIT",
      path: "resources.nats.stream.maxBytes",
      at: "10u",
      found: '"10u", a fraction of 10 bytes',
    },
    {
      title: "a store for nothing",
      content: kafka('transform: [{ source_id: orders, storage: { size: "0" } }]'),
      code: "QUANTITY_UNIT",
      path: "resources.transform[0].storage.size",
      at: '"0"',
      found: '"0"',
    },
    {
      title: "more memory asked for than allowed",
      content: component("requests: { memory: 2Gi }, limits: { memory: 2G }"),
      code: "REQUESTS",
      path: "resources.sink.requests.memory",
      at: "2Gi",
      found: '"2Gi"',
    },
    {
      title: "more cpu asked for than allowed",
      content: component('requests: { cpu: "2" }, limits: { cpu: 1500m }'),
      code: "REQUESTS",
      path: "resources.sink.requests.cpu",
      at: '"2"',
      found: '"2"',
    },
    {
      title: "an amount with a blank",
      content: component("limits: { memory: 1 Gi }"),
      code: "QUANTITY",
      path: "resources.sink.limits.memory",
      at: "1 Gi",
      found: '"1 Gi"',
      suggestion: 'write "1Gi"',
    },
    {
      title: "memory with the unit of a stream",
      content: component("limits: { memory: 1GB }"),
      code: "QUANTITY",
      path: "resources.sink.limits.memory",
      at: "1GB",
      found: '"1GB"',
      suggestion: 'write "1Gi"',
    },
    {
      title: "cpu as a number",
      content: component("limits: { cpu: 2 }"),
      code: "TYPE",
      path: "resources.sink.limits.cpu",
      at: "2 }",
      found: "the number 2",
      suggestion: 'write "2"',
    },
  ]);

  test.each(["1.5Gi", "0.5Gi", "5e8", "1024", "+1Gi", "128Mi", "1e9"])("%s of memory is good", (memory) => {
    expect(said(component(`limits: { memory: "${memory}" }`))).toEqual([]);
  });
});

describe("components", () => {
  remarks([
    {
      title: "of no source",
      content: kafka("transform: [{ source_id: order }]"),
      code: "SOURCE_REFERENCE",
      path: "resources.transform[0].source_id",
      at: "order }",
      found: '"order"',
      suggestion: 'did you mean "orders"?',
    },
    {
      title: "twice for a source",
      content: kafka("sources: [{ source_id: orders }, { source_id: orders }]"),
      code: "DUPLICATE_NAME",
      path: "resources.sources[1].source_id",
      at: "orders }]",
      found: '"orders" again, after line 43',
    },
    {
      title: "that the format does not have",
      content: kafka("join: { replicas: 1 }"),
      code: "UNKNOWN_KEY",
      path: "resources.join",
      at: "join: {",
      found: 'the key "join"',
    },
    {
      title: "more replicas than make sense",
      content: component("replicas: 101"),
      code: "REPLICAS",
      path: "resources.sink.replicas",
      at: "101",
      found: "the number 101, all in one process",
    },
    {
      title: "replicas below 1",
      content: component("replicas: -1"),
      code: "REPLICAS",
      path: "resources.sink.replicas",
      at: "-1",
      found: "the number -1, which acts as 1",
    },
    {
      title: "two aliases that differ",
      content: stream("max_msgs: 2000, maxMsgs: 3000"),
      code: "ALIAS_CONFLICT",
      path: "resources.nats.stream.maxMsgs",
      at: "3000",
      found: "the number 3000 beside the number 2000",
      suggestion: "keep max_msgs alone",
    },
    {
      title: "fewer messages than none",
      content: stream("max_msgs: -2"),
      code: "VALUE",
      path: "resources.nats.stream.max_msgs",
      at: "-2",
      found: "the number -2",
    },
  ]);

  test("aliases that mean the same are no conflict", () => {
    expect(said(stream("max_age: 24h, maxAge: 1d, max_bytes: 1Gi, maxBytes: 1024MB"))).toEqual([]);
  });
});

describe("what has no effect in one process", () => {
  remarks([
    {
      title: "a stream before Kafka",
      content: kafka("nats: { stream: { max_age: 1h } }"),
      code: "NO_EFFECT",
      path: "resources.nats.stream",
      at: "{ max_age",
      found: "kafka, whose log is the queue: it has no effect here",
    },
    {
      title: "replicas of a webhook",
      content: `${goodPipeline}resources: { sources: [{ source_id: orders, replicas: 2 }] }\n`,
      code: "NO_EFFECT",
      path: "resources.sources[0].replicas",
      at: "2 }",
      found: "a webhook, which is one listener: it has no effect here",
    },
    {
      title: "workers for no transform",
      content: `${goodPipeline.replace(/transforms:[^]*(?=sink:)/, "")}resources: { transform: [{ source_id: orders, replicas: 2 }] }\n`,
      code: "NO_EFFECT",
      path: "resources.transform[0]",
      at: "{ source_id: orders, replicas",
      found: "none: it has no effect here",
    },
    {
      title: "a token without a webhook",
      content: `${kafkaPipeline}x-sluice: { access_token: "\${env:T}" }\n`,
      code: "UNUSED",
      path: "x-sluice.access_token",
      at: '"${env:T}"',
      found: "none",
    },
    ...["start: latest", "take_over: 7f3c0a1b"].map((line) => ({
      title: `${line} without Kafka`,
      content: `${goodPipeline}x-sluice: { ${line} }\n`,
      code: "UNUSED" as const,
      path: `x-sluice.${line.split(":")[0]}`,
      at: line.split(" ")[1] ?? "",
      found: "none",
    })),
  ]);

  test("cpu is told once for a document", () => {
    const cpu = "requests: { cpu: 1m }, limits: { cpu: 2m }";
    const told = said(kafka(`sources: [{ source_id: orders, ${cpu} }], sink: { ${cpu} }`));
    expect(told.map(({ code, severity, path }) => [code, severity, path])).toEqual([
      ["CPU_NOT_ENFORCED", "info", "resources.sources[0].requests.cpu"],
    ]);
  });
});
