import { mkdir, readdir, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Git } from "./git.ts";

/** The files of the object store of a repository by path, with the bytes that each takes on disk. */
export type ObjectFiles = ReadonlyMap<string, number>;

/** Bytes that the smallest file takes. */
const block = 4096;

/** Empty where there is no object store. A file that goes away meanwhile is left out. */
export async function objectFiles(folder: string): Promise<ObjectFiles> {
  const found = new Map<string, number>();
  const entries = await readdir(join(folder, "objects"), { recursive: true, withFileTypes: true }).catch(() => []);
  for (const entry of entries) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const { size } = (await stat(path).catch(() => undefined)) ?? {};
    if (size !== undefined) found.set(path, Math.ceil(size / block) * block);
  }
  return found;
}

export function bytesOf(files: ObjectFiles): number {
  return [...files.values()].reduce((sum, bytes) => sum + bytes, 0);
}

/** Removes what came into the object store since `before`. */
export async function removeNewer(folder: string, before: ObjectFiles): Promise<void> {
  for (const path of (await objectFiles(folder)).keys()) if (!before.has(path)) await rm(path, { force: true });
}

/** Removes unfinished packs and objects: each may be as large as the remote made it, and git never reads it again. */
export async function removeUnfinished(folder: string): Promise<void> {
  for (const under of ["objects", join("objects", "pack")]) {
    const names = await readdir(join(folder, under)).catch(() => []);
    const unfinished = names.filter((name) => name.startsWith("tmp_"));
    for (const name of unfinished) await rm(join(folder, under, name), { recursive: true, force: true });
  }
}

/** Each fetch adds a pack; from this number on, they are repacked into one, or fetched anew. */
const packsAtMost = 50;

/** Whether a store has to be made smaller before the next fetch. */
export async function isFull(folder: string, maxSize: number): Promise<boolean> {
  const files = await objectFiles(folder);
  const packs = [...files.keys()].filter((path) => isPack(folder, path));
  return packs.length > packsAtMost || bytesOf(files) > maxSize;
}

function isPack(folder: string, path: string): boolean {
  return path.startsWith(join(folder, "objects", "pack")) && !/\.(idx|rev|keep|bitmap|mtimes|promisor)$/.test(path);
}

/** How a repository hashes its objects. Git cannot fetch from one format into another. */
export type ObjectFormat = "sha1" | "sha256";

/** The format of the repository that an object comes from, by the digits of its hash. */
export function objectFormatOf(sha: string): ObjectFormat {
  return sha.length === 64 ? "sha256" : "sha1";
}

/** Whether the repository in `folder` is of this format. */
export async function isOfFormat(folder: string, format: ObjectFormat): Promise<boolean> {
  const config = await readFile(join(folder, "config"), "utf8").catch(() => "");
  const found = /^\s*objectformat\s*=\s*(\w+)/im.exec(config)?.[1]?.toLowerCase() ?? "sha1";
  return found === format;
}

/** Makes an empty bare repository in `folder`, in place of what is there. */
export async function makeRepository(
  folder: string,
  format: ObjectFormat,
  git: Git,
  signal: AbortSignal,
): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await git.text(folder, ["init", "--quiet", "--bare", "--template=", `--object-format=${format}`], signal);
}
