// Preloaded into a process (`node --import`): writes the URL or path of every module that the process loads to the file
// that LOADED_MODULES names, one a line.
import { appendFileSync } from "node:fs";
import { createRequire, register } from "node:module";

const file = process.env.LOADED_MODULES;

const hooks = `
import { appendFileSync } from "node:fs";
let file;
export function initialize(data) { file = data; }
export function load(url, context, next) {
  appendFileSync(file, url + "\\n");
  return next(url, context);
}`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`, { data: file });

// The hooks see what is imported; what a package in CommonJS requires is in the cache of its loader.
const { cache } = createRequire(import.meta.url);
process.on("exit", () =>
  appendFileSync(
    file,
    Object.keys(cache)
      .map((path) => `${path}\n`)
      .join(""),
  ),
);
