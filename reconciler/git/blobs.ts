import type { Git } from "./git.ts";
import { parseBatch } from "./tree.ts";
import type { TreeFile } from "./tree.ts";

/** Contents of the files of the commit that was read last: of the next one, only what is new is read. */
export class Blobs {
  #known: ReadonlyMap<string, Buffer> = new Map();

  /** The contents of `files` from the repository in `folder`, in their order, each as the same buffer as last time. */
  async read(git: Git, folder: string, files: readonly TreeFile[], signal: AbortSignal): Promise<Buffer[]> {
    const contents = new Map<string, Buffer>();
    const unknown = new Map<string, TreeFile>();
    for (const file of files) {
      const known = this.#known.get(file.object);
      if (known === undefined) unknown.set(file.object, file);
      else contents.set(file.object, known);
    }
    if (unknown.size > 0) {
      const output = await git.contents(folder, [...unknown.keys()], signal);
      for (const { object, bytes } of parseBatch(output, [...unknown.values()])) contents.set(object, bytes);
    }
    this.#known = contents;
    return files.map(({ object }) => contents.get(object)!);
  }
}
