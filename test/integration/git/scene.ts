import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { Repository } from "../../../reconciler/git/repository.ts";
import type { RepositoryOptions } from "../../../reconciler/git/repository.ts";
import { SourceError } from "../../../reconciler/git/revision.ts";
import type { Revision } from "../../../reconciler/git/revision.ts";
import { FileAndEnvSecrets } from "../../../reconciler/secrets/file-and-env.ts";
import { GitRepository } from "../../support/git-repository.ts";

export const signal = new AbortController().signal;

/** A repository to follow, a data dir, and what has to be closed at the end. */
export class Scene {
  readonly origin: GitRepository;
  readonly dataDir: string;
  readonly #cleanups: (() => Promise<unknown>)[] = [];

  private constructor(origin: GitRepository, dataDir: string) {
    this.origin = origin;
    this.dataDir = dataDir;
  }

  static async make(): Promise<Scene> {
    return new Scene(await GitRepository.create(), await mkdtemp(join(tmpdir(), "sluice-data-")));
  }

  /** Closes `thing` when the scene ends. */
  add<Thing extends { close(): Promise<unknown> }>(thing: Thing): Thing {
    this.#cleanups.push(() => thing.close());
    return thing;
  }

  async end(): Promise<void> {
    for (const cleanup of this.#cleanups.splice(0).toReversed()) await cleanup();
    await this.origin.remove();
    await rm(this.dataDir, { recursive: true, force: true });
  }

  /** A source on the repository; a new one on the same data dir is what a restart makes. */
  open(options: Partial<RepositoryOptions> = {}): Repository {
    const secrets = new FileAndEnvSecrets(process.env);
    const branch = options.tag === undefined && options.commit === undefined ? { branch: "main" } : {};
    return new Repository({
      url: this.origin.path,
      dataDir: this.dataDir,
      env: process.env,
      secrets,
      ...branch,
      ...options,
    });
  }

  /** The clone's folder, once there is one. */
  async cloneFolder(): Promise<string> {
    const names = await readdir(join(this.dataDir, "git"));
    return join(this.dataDir, "git", names.find((name) => /^[0-9a-f]+$/.test(name)) ?? "");
  }
}

/** The error of a fetch that must fail. */
export function failure(repository: Repository): Promise<SourceError> {
  return refusal(repository.fetch(signal));
}

export async function refusal(work: Promise<unknown>): Promise<SourceError> {
  const error = await work.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(SourceError);
  return error as SourceError;
}

export const pathsOf = (revision: Revision | undefined) => revision?.files.map(({ path }) => path);
