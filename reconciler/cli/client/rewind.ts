import type { RewindPlan } from "../../../engine/index.ts";
import { readRewind, type RewindTo } from "../../../schemas/index.ts";
import { daemonOf } from "../control/client.ts";
import { CliError } from "../invocation/cli-error.ts";
import { type ExitCode, type Invocation, show } from "../invocation/invocation.ts";
import { parseMoment } from "../invocation/settings.ts";
import { columns, printable } from "../invocation/terminal.ts";
import { asker } from "./suspend.ts";

/** `sluice rewind ID --to TIME|earliest|OFFSETS`: a pipeline reads its topics again, from there on. */
export async function rewind(invocation: Invocation, id: string): Promise<ExitCode> {
  const { settings } = invocation;
  const text = settings.optional("rewind_to");
  const to = text === undefined ? undefined : rewindTo(text);
  if (to === undefined) throw new CliError(`--to: ${expected}, found ${text === undefined ? "none" : printable(text)}`);
  const [dry_run, reason] = [settings.isOn("rewind_dry_run"), settings.optional("rewind_reason")];
  const body = { ...asker(invocation), to, dry_run, ...(reason !== undefined && { reason }) };
  const url = `/control/v1/pipeline/${encodeURIComponent(id)}/rewind`;
  const plan = (await daemonOf(invocation).post(url, body)) as RewindPlan;
  return show(invocation, plan, () => planText(plan, dry_run, invocation));
}

const expected =
  'expected earliest, a time in ISO 8601, how long ago, such as "2h", or offsets, such as "orders/0=1200,orders/1=900"';

function rewindTo(text: string): RewindTo | undefined {
  const moment = parseMoment(text, Date.now());
  return moment === undefined ? readRewind(text) : { kind: "time", time: Date.parse(moment) };
}

function planText(plan: RewindPlan, isDry: boolean, { terminal }: Invocation): string {
  const { pipeline_id, partitions, events, keys, recent = 0 } = plan;
  const table = columns(
    ["PARTITION", "NEXT OFFSET", "REWOUND TO", "FIRST OFFSET"],
    partitions.map(({ topic, partition, from, to, first }) => [
      `${topic}/${partition}`,
      String(from),
      String(to),
      String(first),
    ]),
    terminal,
  );
  const what = isDry ? "would read" : "reads";
  const dedup =
    keys === undefined
      ? "It has no dedup: each event becomes a row, or a dead letter, once more."
      : `Dedup remembers ${keys} keys, and drops those of these events that have one: about ${recent}, as so many offsets are within its window. The others become rows once more.`;
  return printable(`${pipeline_id} ${what} ${events} offsets again.`) + `\n${dedup}\n${table}`;
}
