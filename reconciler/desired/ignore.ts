import ignore from "ignore";
import type { SourceFile } from "../language/source-text.ts";

/** The name of a file with patterns, in the syntax of `.gitignore`, of files in its folder that are no pipelines. */
export const ignoreFile = ".sluiceignore";

/** Bounds on patterns, as each is tried on each path. Longer ones are not applied. */
const [mostBytes, longestLine, mostStars] = [64 * 1024, 200, 8];

/** Files, without those that a `.sluiceignore` in a folder above them names. */
export function withoutIgnored<File extends SourceFile>(files: readonly File[]): { files: File[]; ignored: string[] } {
  const rules = files.filter(({ path }) => nameOf(path) === ignoreFile).map(rulesOf);
  if (rules.length === 0) return { files: [...files], ignored: [] };
  const ignored = new Set(files.map(({ path }) => path).filter((path) => rules.some((isIgnored) => isIgnored(path))));
  return { files: files.filter(({ path }) => !ignored.has(path)), ignored: [...ignored] };
}

function rulesOf({ path, bytes }: SourceFile): (path: string) => boolean {
  const folder = path.slice(0, -ignoreFile.length);
  const lines = Buffer.from(bytes.subarray(0, mostBytes)).toString("utf8").split(/\r?\n/);
  const patterns = ignore().add(lines.filter(isBounded));
  return (one) => one !== path && one.startsWith(folder) && patterns.ignores(one.slice(folder.length));
}

function isBounded(line: string): boolean {
  return line.length <= longestLine && line.split("*").length - 1 <= mostStars;
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
