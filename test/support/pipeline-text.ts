/** What a test says of a pipeline file; what it leaves out is small and valid. */
export interface PipelineText {
  id: string;
  name?: string;
  /** Reads this topic instead of a webhook. */
  topic?: string;
  /** Further topics, each the source_id of its source, through no transform. */
  topics?: string[];
  /** Lines of a source of type kafka besides its topic, such as `consumer_group_initial_offset: latest`. */
  kafka?: string[];
  /**
   * Joins its topic with the one of `topics`, without a filter. `left`: key and window of the left side. `brokers`: those of
   * the right topic, if they are others.
   */
  join?: { left?: string; brokers?: string[] };
  /** Default: `kafka:9092`. */
  brokers?: string[];
  expression?: string;
  tags?: string[];
  /** Transforms besides the filter, such as `{ type: dedup, … }`. */
  transforms?: string[];
  /** Lines of `x-sluice`, such as `state: Stopped`. */
  sluice?: string[];
  /** Lines of `connection_params` besides the host, such as `password: x`. */
  connection?: string[];
  max_batch_size?: number;
  table?: string;
  /** Lines of the root, such as `resources: {…}`. */
  root?: string[];
}

/** A dedup of the source that `pipelineText` has, by a key, over a day. */
export function dedupOf(key: string): string {
  return `{ type: dedup, source_id: input, config: { key: ${key}, time_window: 24h } }`;
}

/** A webhook pipeline with a filter, or one that reads a topic, as a person writes it. */
export function pipelineText(of: PipelineText): string {
  const { id, name, expression = 'level == "error"', tags, transforms = [] } = of;
  const { sluice = [], connection = [], root = [] } = of;
  return [
    "version: v3",
    `pipeline_id: ${id}`,
    ...(name === undefined ? [] : [`name: ${name}`]),
    "sources:",
    ...sourceLines(of),
    fields,
    ...(of.topics ?? []).flatMap((topic) => [...kafkaLines({ ...of, ...of.join, topic }, topic), fields]),
    ...(of.join === undefined || transforms.length > 0 ? ["transforms:"] : []),
    ...(of.join === undefined
      ? ["  - type: filter", "    source_id: input", "    config:", `      expression: ${JSON.stringify(expression)}`]
      : []),
    ...transforms.map((transform) => `  - ${transform}`),
    ...joinLines(of),
    "sink:",
    "  type: clickhouse",
    "  connection_params:",
    "    host: embedded",
    "    database: default",
    ...connection.map((line) => `    ${line}`),
    `  table: ${of.table ?? id.replaceAll("-", "_")}`,
    `  max_batch_size: ${of.max_batch_size ?? 1000}`,
    "  max_delay_time: 50ms",
    "  mapping:",
    "    - { name: id, column_name: id, column_type: Int64 }",
    "    - { name: level, column_name: level, column_type: String }",
    ...(tags === undefined ? [] : ["metadata:", `  tags: [${tags.join(", ")}]`]),
    ...(sluice.length === 0 ? [] : ["x-sluice:", ...sluice.map((line) => `  ${line}`)]),
    ...root,
    "",
  ].join("\n");
}

function joinLines({ join, topics: [right] = [] }: PipelineText): string[] {
  if (join === undefined) return [];
  return [
    "join:",
    "  enabled: true",
    `  left_source: { source_id: input, ${join.left ?? "key: id, time_window: 1h"} }`,
    `  right_source: { source_id: ${right}, key: id, time_window: 24h }`,
    "  output_fields:",
    "    - { source_id: input, name: id }",
    `    - { source_id: ${right}, name: level }`,
  ];
}

const fields = "    schema_fields: [{ name: id, type: int }, { name: level, type: string }]";

function sourceLines(of: PipelineText): string[] {
  if (of.topic === undefined) return ["  - type: webhook", "    source_id: input"];
  return [...kafkaLines(of, "input"), ...(of.kafka ?? []).map((line) => `    ${line}`)];
}

function kafkaLines({ topic, brokers = ["kafka:9092"] }: PipelineText, source_id: string): string[] {
  const connection = `    connection_params: { brokers: [${brokers.map((one) => `"${one}"`).join(", ")}], protocol: PLAINTEXT }`;
  return ["  - type: kafka", `    source_id: ${source_id}`, connection, `    topic: ${topic}`];
}
