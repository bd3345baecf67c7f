import * as fc from "fast-check";
import { type PipelineV3, sourceTypes } from "../../../schemas/index.ts";
import format from "../../../schemas/pipeline-v3.schema.json" with { type: "json" };

const name = fc.stringMatching(/^[a-z][a-z_.]{0,8}$/);
const duration = fc.constantFrom("1h", "60s", "1d12h", "90m", "500ms", "168h", "1.5h", "5000000us");
const size = fc.constantFrom("1Gi", "1024Mi", "10GB", "1.5Gi", "0", "5e9", "128Mi");
const memory = fc.constantFrom("1Gi", "1024Mi", "0.5Gi", "128Mi", "1000000");
const cpu = fc.constantFrom("500m", "0.5", "2", "2000m", "1.25");
const fieldType = fc.constantFrom(
  "string",
  "int64",
  "integer",
  "uint8",
  "float32",
  "number",
  "boolean",
  "object",
  "array",
  "bytes",
  "datetime",
);

/** A record whose keys are each there or not. */
function partly<Shape extends object>(shape: { [Key in keyof Shape]: fc.Arbitrary<Shape[Key]> }): fc.Arbitrary<
  Partial<Shape>
> {
  return fc.record(shape, { requiredKeys: [] }) as fc.Arbitrary<Partial<Shape>>;
}

const fields = fc.uniqueArray(fc.record({ name, type: fieldType }), {
  minLength: 1,
  maxLength: 5,
  selector: (field) => field.name,
});
const component = partly({
  replicas: fc.integer({ min: -1, max: 4 }),
  requests: partly({ cpu, memory }),
  limits: partly({ cpu, memory }),
});

interface Described {
  $ref?: string;
  examples?: readonly unknown[];
  items?: Described;
  required?: readonly string[];
  properties?: Readonly<Record<string, Described & { const?: string; enum?: readonly string[] }>>;
}

const definitions = format.definitions as Readonly<Record<string, Described>>;

/** The smallest value that a part of the schema describes, made of its examples. */
function exampleOf({ $ref, examples, items, required = [], properties = {} }: Described): unknown {
  if ($ref !== undefined) return exampleOf(definitions[$ref.slice("#/definitions/".length)]!);
  if (examples !== undefined) return examples[0];
  if (items !== undefined) return [exampleOf(items)];
  return Object.fromEntries(required.map((key) => [key, exampleOf(properties[key]!)]));
}

function exampleOfType(type: string): object {
  const variant = Object.values(definitions).find(({ properties }) => {
    return properties?.["type"]?.const === type || properties?.["type"]?.enum?.includes(type) === true;
  });
  return { ...(exampleOf(variant!) as object), type };
}

/** Types whose sources are made of the examples of the schema; the others vary. */
const plainTypes = sourceTypes.filter((type) => type !== "kafka" && type !== "webhook");

function source(source_id: string): fc.Arbitrary<object> {
  const connection_params = fc
    .tuple(partly({ mechanism: fc.constant("NO_AUTH"), username: fc.constantFrom("", "sluice") }))
    .map(([rest]) => ({ brokers: ["kafka:9092"], protocol: "PLAINTEXT", ...rest }));
  const extra = partly({
    schema_version: fc.constant("2"),
    consumer_group_initial_offset: fc.constantFrom("latest", "EARLIEST", ""),
  });
  const kafka = fc
    .tuple(fc.record({ connection_params, schema_fields: fields }), extra)
    .map(([one, more]) => ({ type: "kafka", source_id, topic: source_id, ...one, ...more }));
  const webhook = fields.map((schema_fields) => ({ type: "webhook", source_id, schema_fields }));
  const plain = fc.constantFrom(...plainTypes).map((type) => ({ ...exampleOfType(type), source_id }));
  return fc.oneof(webhook, kafka, plain);
}

function transform(source_id: string): fc.Arbitrary<object> {
  const stateless = { transforms: [{ expression: "a", output_name: "b", output_type: "int64" }] };
  return fc.oneof(
    fc.constant({ type: "filter", source_id, config: { expression: "a > 1" } }),
    fc
      .tuple(fc.constantFrom<(string | string[])[]>("a", ["a", "b"]), duration)
      .map(([key, time_window]) => ({ type: "dedup", source_id, config: { key, time_window } })),
    fc.constant({ type: "stateless", source_id, config: stateless }),
  );
}

const side = duration.map((time_window) => ({ source_id: "a", key: "k", time_window }));
const join = fc.record({
  enabled: fc.boolean(),
  type: fc.constantFrom("join", "temporal", ""),
  left_source: side,
  right_source: side,
  output_fields: fc.constant([
    { source_id: "a", name: "x" },
    { source_id: "b", name: "x", output_name: "y" },
  ]),
});

const sink = fc
  .tuple(
    partly({
      port: fc.constant("9000"),
      http_port: fc.constantFrom("", "8123"),
      secure: fc.boolean(),
      password: fc.constant("${env:P}"),
    }),
    partly({
      max_batch_size: fc.integer({ min: 1, max: 10_000 }),
      max_delay_time: fc.oneof(duration, fc.constant("0")),
    }),
  )
  .map(([connection, rest]) => ({
    type: "clickhouse",
    connection_params: { host: "embedded", ...connection },
    table: "t",
    mapping: [
      { name: "a", column_name: "a", column_type: " Int64" },
      { name: "m", column_name: "m", column_type: "Map(String, String)" },
    ],
    ...rest,
  }));

const stream = fc.oneof(
  partly({ max_age: duration, max_bytes: size, max_msgs: fc.integer({ min: -1, max: 99 }) }),
  partly({ maxAge: duration, maxBytes: size, maxMsgs: fc.integer({ min: -1, max: 99 }) }),
);

function resources(source_id: string): fc.Arbitrary<object> {
  const own = component.map((one) => [{ source_id, ...one }]);
  const transforms = fc.tuple(own, partly({ size: memory })).map(([[one], storage]) => [{ ...one, storage }]);
  return partly({ nats: partly({ stream }), sources: own, transform: transforms, sink: component });
}

/** Documents of every shape that the schema allows, as a person might write them: any order, any spelling, much left out. */
export const arbitraryPipeline: fc.Arbitrary<PipelineV3> = fc
  .tuple(
    fc.record({ sources: fc.tuple(source("a"), source("b")), sink }),
    partly({
      name: fc.constantFrom("Orders", "", " "),
      transforms: fc.array(transform("a"), { maxLength: 4 }),
      join,
      metadata: partly({ tags: fc.oneof(fc.constant(null), fc.array(name)) }),
      resources: resources("a"),
    }),
  )
  .map(([must, may]) => ({ version: "v3", pipeline_id: "orders-eu", ...must, ...may }) as unknown as PipelineV3);
