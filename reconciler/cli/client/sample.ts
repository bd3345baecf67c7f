import type { DeadLetterPage, SourceSample } from "../../../engine/index.ts";
import { isPushed } from "../../../engine/language.ts";
import type { PipelineConfig } from "../../../schemas/index.ts";
import { yamlDocument } from "../../language/yaml-document.ts";
import { eventsOf, type Sample, sampleOf } from "../../pipeline-tests/sample.ts";
import { type ControlClient, daemonOf, pipelineUrl } from "../control/client.ts";
import { CliError } from "../invocation/cli-error.ts";
import { type ExitCode, type Invocation, show } from "../invocation/invocation.ts";
import { printable } from "../invocation/terminal.ts";

/** `sluice sample ID`: what a pipeline has, as the events of a test (docs/pipeline-tests.md). Takes nothing out. */
export async function sample(invocation: Invocation, id: string): Promise<ExitCode> {
  const { settings, terminal } = invocation;
  const daemon = daemonOf(invocation);
  const { sources } = (await daemon.get(pipelineUrl(id))) as PipelineConfig;
  const of = {
    id,
    sources,
    limit: settings.text("sample_count"),
    hidden: fieldsOf([settings.all("sample_redact")[0]?.value ?? []].flat().map(String)),
  };
  const from = settings.text("sample_from");
  const { events, leftOut, absent } =
    from === "dead-letters" ? await ofLetters(daemon, of) : await ofSource(daemon, of, from);
  const tests = { tests: [{ name: `${from === "dead-letters" ? "dead letters" : "events"} of ${id}`, events }] };
  const code = show(invocation, tests, () => yamlDocument(tests).trimEnd());
  if (absent.length > 0) terminal.err(printable(`--redact: no event has ${absent.join(", ")}: is that its name?`));
  if (leftOut > 0) {
    const reasons = "without a value, not UTF-8, beyond 8 MiB together, or with fields that cannot be hidden";
    terminal.err(`Left out: ${leftOut} that a file of tests cannot hold: ${reasons}.`);
  }
  return code;
}

interface Wanted extends Pick<PipelineConfig, "sources"> {
  id: string;
  limit: string;
  hidden: readonly string[];
}

async function ofLetters(daemon: ControlClient, { id, sources, limit, hidden }: Wanted): Promise<Sample> {
  const url = `/control/v1/pipeline/${encodeURIComponent(id)}/dlq/list?limit=${limit}`;
  const { messages } = (await daemon.get(url)) as DeadLetterPage;
  if (messages.length === 0) {
    const other = isPushed({ sources }) ? "stream" : "topic";
    throw new CliError(`${id}: expected dead letters, found none: --from ${other} takes events of its ${other}`);
  }
  return sampleOf(eventsOf(messages), sources, hidden);
}

async function ofSource(daemon: ControlClient, { id, sources, limit, hidden }: Wanted, from: string): Promise<Sample> {
  const its = isPushed({ sources }) ? "stream" : "topic";
  if (from !== its) {
    const [type = "?"] = sources.map((source) => source.type);
    throw new CliError(`--from: expected ${its} for ${id}, whose source is of type ${type}, found ${from}`);
  }
  const url = `/control/v1/pipeline/${encodeURIComponent(id)}/sample?limit=${limit}`;
  const { events, left_out } = (await daemon.get(url)) as SourceSample;
  if (events.length + left_out === 0) throw new CliError(`${id}: ${emptiness[its]}`);
  const made = sampleOf(events, sources, hidden);
  return { ...made, leftOut: made.leftOut + left_out };
}

const emptiness = {
  stream:
    "expected events in its stream that are not settled, found none: an event is there from its arrival until its batch is written",
  topic: "expected events in its topics, found none",
} as const;

function fieldsOf(lists: readonly string[]): string[] {
  return lists
    .flatMap((list) => list.split(","))
    .map((field) => field.trim())
    .filter(Boolean);
}
