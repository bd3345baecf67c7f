import type { Git, RemoteArguments } from "./git.ts";
import { patternsOf, readTip, type Reference, type Tip } from "./reference.ts";
import type { Remote } from "./remote.ts";
import { type RequestListener, SourceError } from "./revision.ts";

/** Asks a remote, in one round trip, for the present commit of a reference. */
export class Lookup {
  readonly #reference: Reference;
  readonly #folder: string;
  readonly #git: Git;
  readonly #remote: Remote;

  /** `folder`: where git runs; it need not be a repository. */
  constructor(reference: Reference, folder: string, git: Git, remote: Remote) {
    this.#reference = reference;
    this.#folder = folder;
    this.#git = git;
    this.#remote = remote;
  }

  /** Throws SourceError, which lists the existing ones, if the remote has no such branch or tag. */
  async tip(signal: AbortSignal, onRequest?: RequestListener): Promise<Tip> {
    const patterns = patternsOf(this.#reference);
    const list = () => this.#list(patterns ?? [], signal);
    const output = patterns === undefined ? "" : await timed("ls-remote", onRequest, list);
    const tip = readTip(this.#reference, output);
    if (tip === undefined) throw await this.#missing(signal);
    return tip;
  }

  #list(patterns: string[], signal: AbortSignal): Promise<string> {
    const args: RemoteArguments = (url, options) => ["ls-remote", "--symref", ...options, "--", url, ...patterns];
    return this.#git.exchange(this.#folder, args, signal);
  }

  async #missing(signal: AbortSignal): Promise<SourceError> {
    const { kind } = this.#reference;
    const isTag = kind === "tag" || kind === "tags";
    const [noun, under] = isTag ? (["tag", "refs/tags/"] as const) : (["branch", "refs/heads/"] as const);
    const output = await this.#list(["refs/heads/*", "refs/tags/*"], signal);
    if (output.trim() === "") {
      return this.#error(
        "RepositoryEmpty",
        "a repository with commits",
        "it has no branch at all: commit a first pipeline file",
      );
    }
    const names = namesUnder(output, under);
    const has = names.length === 0 ? `no ${noun}` : names.slice(0, 10).join(", ");
    const wished = this.#wished(noun);
    const way = `push the ${noun}, or name one of these with --${noun}`;
    const found = `it has ${has}${names.length > 10 ? ", …" : ""}: ${way}`;
    return this.#error(isTag ? "TagNotFound" : "BranchNotFound", wished, found);
  }

  #wished(noun: string): string {
    const reference = this.#reference;
    if (reference.kind === "tags") return `a tag that ${reference.name} asks for`;
    return reference.kind === "branch" || reference.kind === "tag" ? `${noun} ${reference.name}` : "a default branch";
  }

  #error(reason: SourceError["reason"], expected: string, found: string): SourceError {
    return new SourceError(reason, `${this.#remote.display}: expected ${expected}, but ${found}`);
  }
}

function namesUnder(listing: string, under: string): string[] {
  const refs = [...listing.matchAll(/\t(refs\/\S+)$/gm)].map(([, ref = ""]) => ref);
  return refs.filter((ref) => ref.startsWith(under) && !ref.endsWith("^{}")).map((ref) => ref.slice(under.length));
}

/** Reports the duration and the result of `work` to `listener`. */
export async function timed<Result>(
  op: Parameters<RequestListener>[0],
  listener: RequestListener | undefined,
  work: () => Promise<Result>,
): Promise<Result> {
  const start = performance.now();
  let result: "success" | "error" = "error";
  try {
    const value = await work();
    result = "success";
    return value;
  } finally {
    listener?.(op, result, (performance.now() - start) / 1000);
  }
}
