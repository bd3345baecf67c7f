import { readFile } from "node:fs/promises";
import { compile, type JSONSchema } from "json-schema-to-typescript";

const banner = `/** Generated from pipeline-v3.schema.json by \`npm run schemas\`. Change the schema, not this file. */`;

/** The text of `pipeline-v3.d.ts`: the types of a pipeline file as it is written, aliases and optional keys included. */
export async function declarations(): Promise<string> {
  const text = await readFile(new URL("pipeline-v3.schema.json", import.meta.url), "utf8");
  const schema = JSON.parse(text, (_, node: unknown) => withDefault(node)) as JSONSchema & { title: string };
  return compile(schema, schema.title, {
    bannerComment: banner,
    additionalProperties: false,
    ignoreMinAndMaxItems: true,
    style: { printWidth: 120 },
  });
}

/** The default of a field becomes a part of its comment. */
function withDefault(node: unknown): unknown {
  if (typeof node !== "object" || node === null || Array.isArray(node)) return node;
  const { default: constant, "x-default": words, ...rest } = node as Record<string, unknown>;
  const shown = typeof words === "string" ? words : constant === undefined ? undefined : JSON.stringify(constant);
  if (shown === undefined || typeof rest["description"] !== "string") return node;
  return { ...rest, description: `${rest["description"]} Default: ${shown}.` };
}
