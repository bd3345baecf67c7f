import { readFile } from "node:fs/promises";
import { compile, type JSONSchema } from "json-schema-to-typescript";

const banner = `/** Generated from pipeline-v3.schema.json by \`npm run schemas\`. Change the schema, not this file. */`;

/** The text of `pipeline-v3.d.ts`: the types of a pipeline file as it is written, aliases and optional keys included. */
export async function declarations(): Promise<string> {
  const schema = JSON.parse(
    await readFile(new URL("pipeline-v3.schema.json", import.meta.url), "utf8"),
  ) as JSONSchema & { title: string };
  return compile(schema, schema.title, {
    bannerComment: banner,
    additionalProperties: false,
    ignoreMinAndMaxItems: true,
    style: { printWidth: 120 },
  });
}
