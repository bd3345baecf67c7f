import type { DeadLetterPage } from "../../../engine/index.ts";
import type { PipelineConfig } from "../../../schemas/index.ts";
import { yamlDocument } from "../../language/yaml-document.ts";
import { sampleOf } from "../../pipeline-tests/sample.ts";
import { daemonOf, pipelineUrl } from "../control/client.ts";
import { CliError } from "../invocation/cli-error.ts";
import { type ExitCode, type Invocation, show } from "../invocation/invocation.ts";

/** `sluice sample ID`: dead letters as the events of a test (docs/pipeline-tests.md). Takes nothing out. */
export async function sample(invocation: Invocation, id: string): Promise<ExitCode> {
  const { settings, terminal } = invocation;
  const daemon = daemonOf(invocation);
  const { sources } = (await daemon.get(pipelineUrl(id))) as PipelineConfig;
  if (sources.some(({ type }) => type.startsWith("otlp.")))
    throw new CliError(`${id}: expected a pipeline of a webhook or Kafka: dead letters of OTLP are no export requests`);
  const limit = settings.text("sample_count");
  const url = `/control/v1/pipeline/${encodeURIComponent(id)}/dlq/list?limit=${limit}`;
  const { messages } = (await daemon.get(url)) as DeadLetterPage;
  if (messages.length === 0) throw new CliError(`expected dead letters of ${id}, found none`);
  const { events, leftOut } = sampleOf(messages, sources, fieldsOf(settings.optional("sample_redact")));
  const tests = { tests: [{ name: `dead letters of ${id}`, events }] };
  const code = show(invocation, tests, () => yamlDocument(tests).trimEnd());
  if (leftOut > 0)
    terminal.err(`Left out: ${leftOut} that a file of tests cannot hold, or whose fields cannot be hidden.`);
  return code;
}

function fieldsOf(list = ""): string[] {
  return list
    .split(",")
    .map((field) => field.trim())
    .filter(Boolean);
}
