import { editorSchema } from "../../../schemas/index.ts";
import { printableLines } from "../invocation/terminal.ts";
import type { ExitCode, Invocation } from "../invocation/invocation.ts";

/** `sluice schema`: prints the JSON Schema of pipeline files for editors. */
export async function schema({ terminal }: Invocation): Promise<ExitCode> {
  terminal.out(printableLines(schemaText().trimEnd()));
  return 0;
}

/** The schema as a file holds it. */
export function schemaText(): string {
  return `${JSON.stringify(editorSchema(), undefined, 2)}\n`;
}
