import type { ComparedSide } from "../../preview/report.ts";
import type { TreeFiles, WorkTree } from "../../work-tree/work-tree.ts";

/** The files of a side, and what it is called. Without a commit they are the files as they are. */
export interface ComparedFiles extends TreeFiles {
  compared: ComparedSide;
}

/**
 * The files of a change: those of `head`, or as they are, and those of the commit at which it left `base`. So what others
 * have merged since is not part of the change. A head that is older than `base`, as for a way back, is compared with
 * `base` itself, and so is one that has no commit in common with it in the clone, with a warning. Throws a SourceError.
 */
export async function comparedFiles(
  tree: WorkTree,
  base: string,
  head: string | undefined,
): Promise<{ base: ComparedFiles; head: ComparedFiles; warning?: string }> {
  const [from, to] = [await tree.commit(base), await tree.commit(head ?? "HEAD")];
  const left = await tree.branchPoint(from, to);
  const isOlder = head !== undefined && left === to;
  const start = left === undefined || isOlder ? from : left;
  const apart = `the clone has no commit that ${base} and the change have in common, so ${base} is compared as it is now: clone the whole history (fetch-depth: 0)`;
  return {
    ...(left === undefined && { warning: apart }),
    base: { ...(await tree.filesAt(start)), compared: { name: base, commit: start } },
    head:
      head === undefined
        ? { ...(await tree.filesNow()), compared: { name: "the files as they are" } }
        : { ...(await tree.filesAt(to)), compared: { name: head, commit: to } },
  };
}
