import { Folder } from "../../reconciler/git/folder/folder.ts";

/** A folder whose files are never half of a copy: time stands still, and removals wait for none of it. */
export function settledFolder(path: string): Folder {
  return new Folder({ path, settle: 0, now: () => 0 });
}
