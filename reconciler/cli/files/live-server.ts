import { filesOf } from "../../git/revision.ts";
import type { LiveState } from "../../preview/live-state.ts";
import type { ComparedSide } from "../../preview/report.ts";
import { LiveStateError, readLiveState } from "../../preview/read-live-state.ts";
import { WorkTree } from "../../work-tree/work-tree.ts";
import { CliError } from "../invocation/cli-error.ts";
import type { Invocation } from "../invocation/invocation.ts";
import { printable } from "../invocation/terminal.ts";
import type { ComparedFiles } from "./compared-files.ts";
import { serverApi } from "./server-api.ts";

/** Where the status API says what a plan depends on. */
const path = "/api/v1/actual";
/** The most bytes of its answer: 10,000 pipelines of 10 kB each. */
const mostBytes = 100 * 1024 * 1024;

/** What runs, and what it is called in a report. */
interface Live {
  live: LiveState;
  compared: ComparedSide;
}

/** What runs, as the status API at `server` answers. Throws CliError, which names the address and never the token. */
export async function liveStateAt(server: string, invocation: Pick<Invocation, "settings" | "env">): Promise<Live> {
  const api = await serverApi(server, "plan_server", invocation, mostBytes);
  const answer = await api.get(path);
  try {
    const live = readLiveState(answer);
    const [, commit] = /^(?!dir@).*sha(?:1|256):([0-9a-f]{40,64})$/.exec(live.revision ?? "") ?? [];
    return { live, compared: { name: api.name, ...(commit !== undefined && { commit }) } };
  } catch (error) {
    if (!(error instanceof LiveStateError)) throw error;
    const what = `${api.name}${path}: expected what runs, as a sluice of this version answers, found something else`;
    throw new CliError(printable(`${what}: ${error.message}`), { cause: error });
  }
}

/**
 * The files of the head, with their paths as the server names them: from the top of the repository, or of the folder that
 * it follows. Throws CliError and SourceError.
 */
export async function headFor(
  { source }: LiveState,
  folder: string,
  head: string | undefined,
  env: Invocation["env"],
  signal: AbortSignal,
): Promise<{ head: ComparedFiles; tree?: WorkTree; warning?: string }> {
  const compared = { name: "the files as they are" };
  if (source.kind === "dir") {
    if (head !== undefined)
      throw new CliError("--head: expected a server that follows a repository, found one with --dir");
    const { Folder } = await import("../../git/folder/folder.ts");
    const revision = await new Folder({ path: folder }).fetch(signal);
    return { head: { files: filesOf(revision), skipped: revision.skipped, compared } };
  }
  const tree = await WorkTree.around(folder, env, signal);
  const warning = otherFolder(source.path, tree.under);
  const commit = head === undefined ? undefined : await tree.commit(head);
  const files =
    commit === undefined
      ? { ...(await tree.filesNow()), compared }
      : { ...(await tree.filesAt(commit)), compared: { name: head ?? commit, commit } };
  return { head: files, tree, ...(warning !== undefined && { warning }) };
}

function otherFolder(followed: string, here: string): string | undefined {
  if (followed === here) return undefined;
  return `the server follows the folder ${followed} of its repository, and ${here} is compared: pipelines of other files look removed, or new`;
}
