import { editorSchema, editorSchemaOfTests } from "../../../schemas/index.ts";
import { type ExitCode, type Invocation, show } from "../invocation/invocation.ts";

/** `sluice schema`: prints the JSON Schema of pipeline files, or of files with tests, for editors. */
export async function schema(invocation: Invocation): Promise<ExitCode> {
  const found = invocation.settings.isOn("schema_tests") ? editorSchemaOfTests() : editorSchema();
  return show(invocation, found, () => textOf(found).trimEnd());
}

/** The schemas as files hold them. */
export const schemaTexts = { pipelines: () => textOf(editorSchema()), tests: () => textOf(editorSchemaOfTests()) };

function textOf(printed: object): string {
  return `${JSON.stringify(printed, undefined, 2)}\n`;
}
