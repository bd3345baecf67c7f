import { readFile } from "node:fs/promises";

/** A request and its expected result. */
export interface Sample {
  pipeline_id: string;
  expect: "row" | "filtered" | "dead letter" | "refused";
  body: string;
}

export async function readSamples(file: string): Promise<Sample[]> {
  const text = await readFile(file, "utf8");
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Sample);
}

export function count(samples: readonly Sample[], pipeline_id: string, expect: Sample["expect"]): number {
  return samples.filter((sample) => sample.pipeline_id === pipeline_id && sample.expect === expect).length;
}

/** Posts each sample to its pipeline, some at a time; returns how often each status was answered. */
export async function post(
  samples: readonly Sample[],
  events: string,
  tokens: Record<string, string>,
): Promise<Map<number, number>> {
  const answers = new Map<number, number>();
  const waiting = [...samples];
  const sender = async (): Promise<void> => {
    for (let sample = waiting.shift(); sample !== undefined; sample = waiting.shift()) {
      const status = await postOne(sample, events, tokens);
      answers.set(status, (answers.get(status) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: 32 }, sender));
  return answers;
}

async function postOne({ pipeline_id, body }: Sample, events: string, tokens: Record<string, string>): Promise<number> {
  const response = await fetch(`${events}/v1/pipelines/${pipeline_id}/topics/input/events`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-pipeline-access-token": tokens[pipeline_id] ?? "" },
    body,
  });
  await response.arrayBuffer();
  return response.status;
}
