import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Repository } from "../../reconciler/git/repository.ts";
import { type Revision, SourceError } from "../../reconciler/git/revision.ts";
import { Random } from "../support/random.ts";
import type { RequestHead } from "../support/simulation/clickhouse/http.ts";
import { digest, type HttpRecord, ReplayedServer } from "./peers-http.ts";
import { Budget, type Certificate, listen } from "./peers-net.ts";
import { within } from "./peers-time.ts";

/** What a true server has answered, and the commit and the texts that were read. */
export interface GitRecord {
  record: HttpRecord;
  path: string;
  sha: string;
  files: string[];
}

const timeouts = { silence: 5_000, total: 20_000 };
const never = new AbortController().signal;

export function gitName({ method, path, query }: RequestHead, body: Buffer): string {
  // The agent of the client is in the body, and differs between machines, not between record and replay.
  return `${method} ${path} ${String(query)} ${digest(body)}`;
}

export function textsOf({ files }: Revision): string[] {
  return files.map((file) => `${file.path} ${Buffer.from(file.bytes).toString("base64")}`);
}

/** Fetches from a server into a new folder. */
export async function fetchFrom<Result>(
  url: string,
  env: NodeJS.ProcessEnv,
  use: (repository: Repository) => Promise<Result>,
): Promise<Result> {
  const dataDir = await mkdtemp(join(tmpdir(), "sluice-fuzz-"));
  try {
    return await use(new Repository({ url, branch: "main", dataDir, env, timeouts }));
  } finally {
    await rm(dataDir, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** One case: a repository whose server mutates some of its answers. Throws where something else comes of it than a SourceError. */
export async function gitCase(
  { record, path, sha, files }: GitRecord,
  certificate: Certificate,
  seed: number,
): Promise<number> {
  const random = new Random(seed);
  const budget = new Budget(random.pick(1, 1, 2, 4), random);
  const server = new ReplayedServer({ record, random, budget, nameOf: gitName });
  const tls = random.below(6) === 0 ? { certificate, budget, random } : undefined;
  const listener = await listen({ onSocket: server.onSocket, ...(tls && { tls }) });
  const url = `${tls ? "https" : "http"}://127.0.0.1:${listener.port}${path}`;
  const env = { ...process.env, GIT_SSL_NO_VERIFY: "1" };
  try {
    await fetchFrom(url, env, async (repository) => {
      const fetched = async (): Promise<Revision | undefined> => {
        try {
          return await within(60_000, repository.fetch(never), () => "git does not end");
        } catch (error) {
          if (error instanceof SourceError) return undefined;
          throw error;
        }
      };
      for (let turn = 0; budget.left > 0 && turn < 6; turn += 1) {
        const revision = await fetched();
        if (revision !== undefined) mustBe(revision, sha, files);
      }
      budget.left = 0;
      const revision = (await fetched()) ?? (await fetched());
      if (revision === undefined) throw new Error("no true answer is taken any more");
      mustBe(revision, sha, files);
    });
  } finally {
    listener.close();
  }
  return budget.spent;
}

/** Objects have checksums: a commit that is read is the one that its name says. */
function mustBe(revision: Revision, sha: string, files: readonly string[]): void {
  if (revision.sha !== sha) return;
  if (JSON.stringify(textsOf(revision)) !== JSON.stringify(files)) throw new Error(`other files were read of ${sha}`);
}
