import { EngineError } from "../../../engine/language.ts";
import { readReference } from "../../../schemas/index.ts";
import { filesOf } from "../../git/revision.ts";
import { isLoopback } from "../../listeners/address.ts";
import type { LiveState } from "../../preview/live-state.ts";
import type { ComparedSide } from "../../preview/report.ts";
import { LiveStateError, readLiveState } from "../../preview/read-live-state.ts";
import { Rest, RestError } from "../../pull-request/rest.ts";
import { FileAndEnvSecrets } from "../../secrets/file-and-env.ts";
import { WorkTree } from "../../work-tree/work-tree.ts";
import { CliError } from "../invocation/cli-error.ts";
import type { Invocation } from "../invocation/invocation.ts";
import type { Settings } from "../invocation/settings.ts";
import { printable } from "../invocation/terminal.ts";
import type { ComparedFiles } from "./compared-files.ts";

/** Where the status API says what a plan depends on. */
const path = "/api/v1/actual";
/** The most bytes of its answer: 10,000 pipelines of 10 kB each. */
const mostBytes = 100 * 1024 * 1024;
const timeout = 30_000;

/** What runs, and what it is called in a report. */
interface Live {
  live: LiveState;
  compared: ComparedSide;
}

/** What runs, as the status API at `server` answers. Throws CliError, which names the address and never the token. */
export async function liveStateAt(
  server: string,
  { settings, env }: Pick<Invocation, "settings" | "env">,
): Promise<Live> {
  const address = addressOf(server, settings);
  const token = await tokenOf(settings, env);
  if (token !== undefined) refuseToShow(address, settings);
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
  try {
    const { body } = await new Rest({ address: nameOf(address), headers, timeout, mostBytes }).call("GET", path);
    const live = readLiveState(body);
    const [, commit] = /sha1:([0-9a-f]{40,64})$/.exec(live.revision ?? "") ?? [];
    return { live, compared: { name: nameOf(address), ...(commit !== undefined && { commit }) } };
  } catch (error) {
    throw explained(error, nameOf(address), settings);
  }
}

function addressOf(server: string, settings: Settings): URL {
  const found = URL.canParse(server) ? new URL(server) : undefined;
  const expected = `${settings.origin("plan_server")}: expected the URL of a status API, such as "http://127.0.0.1:8081", found`;
  if (found === undefined) throw new CliError(`${expected} a text that is no URL`);
  if (found.username === "" && found.password === "" && found.search === "" && found.hash === "") return found;
  throw new CliError(`${expected} one with a user, a query or a fragment: a token is given by --server-token`);
}

/** Without a slash at its end. */
function nameOf({ origin, pathname }: URL): string {
  return `${origin}${pathname}`.replace(/\/+$/, "");
}

/** Of several, one a line, the first: all of them are valid during a rotation. */
async function tokenOf(settings: Settings, env: Invocation["env"]): Promise<string | undefined> {
  const given = settings.optional("server_token");
  if (given === undefined) return undefined;
  const origin = settings.origin("server_token");
  if (readReference(given) === undefined) {
    throw new CliError(
      `${origin}: expected \${env:NAME} or \${file:/path}, found a text that is not exactly one reference`,
    );
  }
  try {
    const [first = ""] = (await new FileAndEnvSecrets(env).resolve(given)).trim().split(/\s*\n\s*/);
    if (/^[\x21-\x7e]+$/.test(first)) return first;
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    throw new CliError(`${origin}: ${error.message}`, { cause: error });
  }
  throw new CliError(`${origin}: ${given}: expected a token without blanks, as "openssl rand -hex 32" gives`);
}

function refuseToShow({ protocol, hostname, host }: URL, settings: Settings): void {
  const name = hostname.replace(/^\[|\]$/g, "");
  const isHere = name === "localhost" || (/^[\d.]+$|:/.test(name) && isLoopback(name));
  if (protocol === "https:" || isHere || settings.isOn("insecure")) return;
  throw new CliError(
    `${settings.origin("plan_server")}: expected https, found http to ${host}, where all on the way would read the token: give a URL with https, or --insecure`,
  );
}

function explained(error: unknown, address: string, settings: Settings): unknown {
  if (error instanceof LiveStateError) {
    const what = `${address}${path}: expected what runs, as a sluice of this version answers, found something else`;
    return new CliError(printable(`${what}: ${error.message}`), { cause: error });
  }
  if (!(error instanceof RestError)) return error;
  return new CliError(printable(`${error.message}${wayOutOf(error, settings)}`), { cause: error });
}

function wayOutOf({ status, isForbidden }: RestError, settings: Settings): string {
  if (isForbidden) {
    return settings.optional("server_token") === undefined
      ? ": give its token with --server-token"
      : ": --server-token has another token than this API expects";
  }
  if (status === 404) return ": is this the status API (--api) of a sluice of this version?";
  return status === undefined ? ": is --server the address of its status API (--api)?" : "";
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
    const { Folder } = await import("../../git/folder.ts");
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
