import { pipelineFile } from "../support/daemon.ts";

/** A pipeline whose delivery is put to the test, and the load for it. */
export interface Variant {
  name: string;
  pipeline_id: string;
  /** Lines of the pipeline file: its transforms and what else it has before the sink. */
  rest?: string;
  /** Inserts in flight. */
  replicas?: number;
  /** It drops the later ones of events with one id. */
  dropsRepeats: boolean;
  /** Percent of events with an id that was posted before. */
  repeats: number;
}

const dedup = "  - type: dedup\n    source_id: input\n    config: { key: id, time_window: 1h }";
const stateless = `  - type: stateless
    source_id: input
    config:
      transforms:
        - { expression: id, output_name: id, output_type: string }
        - { expression: n + 1, output_name: n, output_type: int }`;

export const variants: readonly Variant[] = [
  { name: "plain", pipeline_id: "plain", dropsRepeats: false, repeats: 0 },
  {
    name: "stateless, 3 inserts in flight",
    pipeline_id: "stateless",
    rest: `transforms:\n${stateless}`,
    replicas: 3,
    dropsRepeats: false,
    repeats: 0,
  },
  { name: "dedup", pipeline_id: "dedup", rest: `transforms:\n${dedup}`, dropsRepeats: true, repeats: 0 },
  {
    name: "dedup, 10 % repeats",
    pipeline_id: "dedup-repeats",
    rest: `transforms:\n${dedup}`,
    dropsRepeats: true,
    repeats: 10,
  },
  {
    name: "dedup + stateless",
    pipeline_id: "dedup-stateless",
    rest: `transforms:\n${dedup}\n${stateless}`,
    dropsRepeats: true,
    repeats: 0,
  },
  {
    name: "dedup + stateless, 10 % repeats",
    pipeline_id: "dedup-stateless-repeats",
    rest: `transforms:\n${dedup}\n${stateless}`,
    dropsRepeats: true,
    repeats: 10,
  },
];

export function variantOf(name: string): Variant {
  const found = variants.find((variant) => variant.name === name);
  if (found === undefined) throw new Error(`there is no variant "${name}"`);
  return found;
}

export function fileOf({ pipeline_id, rest, replicas = 1 }: Variant): string {
  const text = pipelineFile(pipeline_id, rest === undefined ? {} : { rest });
  return `${text}resources: { sink: { replicas: ${replicas} } }\n`;
}
