import { access, realpath } from "node:fs/promises";
import { dirname, isAbsolute, join, relative } from "node:path";

/** The nearest folder with `.git`, from `folder` upwards; undefined where there is none. */
export async function workTreeOf(folder: string): Promise<string | undefined> {
  for (let at = await realpath(folder); ; at = dirname(at)) {
    if (await exists(join(at, ".git"))) return at;
    if (dirname(at) === at) return undefined;
  }
}

/** Whether a path, without links, is below a folder. */
export function isWithin(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way !== ".." && !way.startsWith("../") && !isAbsolute(way);
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
