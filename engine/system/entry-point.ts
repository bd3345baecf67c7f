import { fileURLToPath } from "node:url";

/**
 * Path of the bundled file that a thread or a child process is started from: beside this file when this code runs from
 * the bundle, in `dist/` (made by `npm run build`) when it runs from its sources.
 */
export function entryPoint(name: "thread" | "clickhouse" | "otlp" | "pure" | "files"): string {
  const folder = import.meta.url.endsWith(".ts") ? "../../dist/" : "./";
  return fileURLToPath(new URL(`${folder}${name}.js`, import.meta.url));
}
