import { daemonOf } from "../control/client.ts";
import type { ExitCode, Invocation } from "../invocation/invocation.ts";
import { printableLines } from "../invocation/terminal.ts";

/** `sluice sql QUERY`: asks the embedded ClickHouse. Formats for people are made safe to print, others stay as they are. */
export async function sql(invocation: Invocation, query: string): Promise<ExitCode> {
  const format = invocation.settings.text("sql_format");
  const answer = await daemonOf(invocation).postForText("/control/v1/sql", { query, format });
  const text = answer.replace(/\n$/, "");
  if (text !== "") invocation.terminal.out(/^(?:Pretty|Vertical)/.test(format) ? printableLines(text) : text);
  return 0;
}
