import { editorSchema } from "../../../schemas/index.ts";
import { type ExitCode, type Invocation, show } from "../invocation/invocation.ts";

/** `sluice schema`: prints the JSON Schema of pipeline files for editors. */
export async function schema(invocation: Invocation): Promise<ExitCode> {
  return show(invocation, editorSchema(), () => schemaText().trimEnd());
}

/** The schema as a file holds it. */
export function schemaText(): string {
  return `${JSON.stringify(editorSchema(), undefined, 2)}\n`;
}
