import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Status } from "../../../engine/index.ts";
import { Folder } from "../../../reconciler/git/folder/folder.ts";
import { defaultLimits } from "../../../reconciler/git/limits.ts";
import { Registry } from "prom-client";
import { Repository, type RepositoryOptions } from "../../../reconciler/git/repository.ts";
import { Reconciler } from "../../../reconciler/reconciler.ts";
import type { ReconcileSnapshot } from "../../../reconciler/reconciler.ts";
import { TestEngine } from "../../support/engine.ts";
import { serveFaults, type FaultProxy } from "../../support/git-fault-proxy.ts";
import { GitRepository, type FileChange } from "../../support/git-repository.ts";
import { gitInside } from "../../support/git-inside.ts";
import { serveHttp } from "../../support/git-server.ts";
import { pipelineText } from "../../support/pipeline-text.ts";
import { SmallDisk } from "../../support/small-disk.ts";
import { Senders } from "./senders.ts";
import { WitnessedEngine } from "./witnessed-engine.ts";

/** Texts that must stand in no output. */
const canaries = { token: "canary-of-the-webhooks", password: "canary-of-the-repository" };

/** Pipelines that run through every fault, beside the one that each commit edits. */
export const kept = ["kept-1", "kept-2", "kept-3"] as const;
export const edited = "edited";

/** What a pipeline file of the scene says; `expression` is what an edit that needs a restart changes. */
export function fileOf(id: string, over: { tags?: string[]; expression?: string; sluice?: string[] } = {}): string {
  const sluice = ["create_table: true", "access_token: ${T}", ...(over.sluice ?? [])];
  // Few inserts: what a fault does shows in what is accepted, and the rows are counted at the end.
  return pipelineText({ id, expression: "id > 0", ...over, sluice }).replace(
    "max_delay_time: 50ms",
    "max_delay_time: 2s",
  );
}

export interface SceneOptions {
  /** Files that a source may have at most. */
  files: number;
  /** Milliseconds that a Git command may take in all, and without a word from the server. */
  patience: number;
  silence?: number;
  /** Milliseconds between two looks of the reconciler. */
  interval?: number;
}

/** What became of the events that running pipelines accepted, and files of the data dir that hold a secret. */
export interface Fates {
  accepted: number;
  lost: number;
  doubled: number;
  leaked: string[];
}

type Parts = Pick<Scene, "repository" | "proxy" | "gitConfig" | "disk" | "engine" | "witness"> & {
  follow: (what: Followed, inventory: string, registry: Registry) => Reconciler;
};

/** What a reconciler follows: the branch main of the repository, unless it says otherwise; or a folder. */
export type Followed = Partial<Pick<RepositoryOptions, "url" | "branch" | "path">> & {
  folder?: string;
  /** Milliseconds between two looks of the reconciler; by default those of the scene. */
  interval?: number;
};

/** Milliseconds that a folder has to stand still: longer than any fault lasts. */
const settle = 3_600_000;

/** A repository, a reconciler that follows it, the real engine that it drives, and senders whose events never pause. */
export class Scene {
  readonly repository: GitRepository;
  /** Between the reconciler and the server of the repository. */
  readonly proxy: FaultProxy;
  /** A file of settings that Git reads. */
  readonly gitConfig: string;
  /** Where the local copy of the repository is. */
  readonly disk: SmallDisk;
  readonly engine: TestEngine;
  readonly witness: WitnessedEngine;
  readonly senders: Senders;
  readonly #follow: Parts["follow"];
  readonly #close: () => Promise<void>;
  #reconciler!: Reconciler;
  #registry = new Registry();
  #stop: () => Promise<void> = () => Promise.resolve();
  #edits = 0;

  private constructor(parts: Parts, close: () => Promise<void>) {
    this.repository = parts.repository;
    this.proxy = parts.proxy;
    this.gitConfig = parts.gitConfig;
    this.disk = parts.disk;
    this.engine = parts.engine;
    this.witness = parts.witness;
    this.#follow = parts.follow;
    this.#close = close;
    this.senders = new Senders(this.engine, canaries.token, kept);
  }

  static async open({ files, patience, silence = 1_500, interval = 400 }: SceneOptions): Promise<Scene> {
    const repository = await GitRepository.create();
    await repository.commit(Object.fromEntries([...kept, edited].map((id) => [`${id}.yaml`, fileOf(id)])));
    const engine = await TestEngine.open({ secrets: { T: canaries.token } });
    const witness = new WitnessedEngine(engine.engine);
    const server = await serveHttp(repository.path, { user: "sluice", password: canaries.password });
    const proxy = await serveFaults(server);
    const { dataDir, log } = engine;
    const gitConfig = join(dataDir, "gitconfig");
    await writeFile(gitConfig, "");
    const small = join(dataDir, "small");
    await mkdir(small);
    const disk = await SmallDisk.make(small, 32);
    const PATH = await gitInside(disk, small, join(dataDir, "programs"));
    const repositoryOf = (what: Omit<Followed, "folder" | "interval">): Repository =>
      new Repository({
        url: proxy.url.replace("://", `://sluice:${canaries.password}@`),
        branch: "main",
        dataDir: disk.path,
        env: { ...process.env, PATH, GIT_CONFIG_GLOBAL: gitConfig },
        timeouts: { silence, total: patience },
        limits: { ...defaultLimits, files },
        ...what,
      });
    const follow: Parts["follow"] = ({ folder, interval: own = interval, ...what }, inventory, registry) => {
      const source = folder === undefined ? repositoryOf(what) : new Folder({ path: folder, settle });
      return new Reconciler({
        source,
        engine: witness.engine,
        dataDir: inventory,
        log,
        registry,
        interval: own,
        applyTimeout: 500,
      });
    };
    const scene = new Scene({ repository, proxy, gitConfig, disk, engine, witness, follow }, async () => {
      await proxy.close();
      await server.close();
      await disk.remove();
      await engine.close();
      await repository.remove();
    });
    await scene.follow();
    for (const id of [...kept, edited]) await scene.stands(id, "Running");
    return scene;
  }

  get reconciler(): Reconciler {
    return this.#reconciler;
  }

  /** Follows something else from now on, as after a restart of the process with other settings. */
  async follow(what: Followed = {}, inventory = this.engine.dataDir): Promise<void> {
    await this.#stop();
    this.#registry = new Registry();
    const reconciler = this.#follow(what, inventory, this.#registry);
    const ending = new AbortController();
    const run = reconciler.run(ending.signal);
    this.#reconciler = reconciler;
    this.#stop = async () => {
      ending.abort();
      await run;
    };
  }

  get snapshot(): ReconcileSnapshot {
    return this.reconciler.snapshot();
  }

  /** The folder of the local clone. */
  async clone(): Promise<string> {
    const home = join(this.disk.path, "git");
    const [name = ""] = (await readdir(home)).filter((one) => /^[0-9a-f]{16}$/.test(one));
    return join(home, name);
  }

  /** Commits an edit of `edited` that is applied while it runs, with other files. */
  push(files: Record<string, FileChange> = {}): Promise<string> {
    this.#edits += 1;
    return this.repository.commit({ [`${edited}.yaml`]: fileOf(edited, { tags: [`edit-${this.#edits}`] }), ...files });
  }

  /** Resolves when the engine has a pipeline in this status. */
  async stands(pipeline_id: string, status: Status): Promise<void> {
    const isSo = (): boolean =>
      this.engine.engine.list().some((one) => one.pipeline_id === pipeline_id && one.status === status);
    while (!isSo()) await sleep(20);
  }

  /** Resolves when a change of a pipeline is under way. */
  async isChanging(pipeline_id: string): Promise<void> {
    const isSo = (): boolean =>
      this.snapshot.pipelines.some(
        (one) => one.pipeline_id === pipeline_id && one.conditions.some(({ type }) => type === "Reconciling"),
      );
    while (!isSo()) await sleep(20);
  }

  /** Resolves when everything is as a revision says whose id begins so. */
  async isFollowing(revision: string): Promise<void> {
    while (this.snapshot.lastAppliedRevision?.startsWith(revision) !== true) await sleep(20);
  }

  /** Whether the newest edit of `edited` is in the engine, however the rest is. */
  hasApplied(): boolean {
    return this.engine.engine.get(edited).config.metadata.tags.includes(`edit-${this.#edits}`);
  }

  /** Whether everything is as the commit `head` says. */
  hasConverged(head: string): boolean {
    const { lastAppliedRevision, lastAttemptedRevision, conditions } = this.snapshot;
    const isReady = conditions.some(({ type, status }) => type === "Ready" && status === "True");
    return isReady && lastAppliedRevision === `main@sha1:${head}` && lastAttemptedRevision === lastAppliedRevision;
  }

  /** Pipelines that should run through everything, and do not. */
  down(): string[] {
    const running = this.engine.engine.list().filter(({ status }) => status === "Running");
    return kept.filter((id) => running.every(({ pipeline_id }) => pipeline_id !== id));
  }

  /** Outputs in which a secret stands in plain text. */
  async leaks(): Promise<string[]> {
    const { log, registry } = this.engine;
    const texts: [string, string][] = [
      ["the log", JSON.stringify(log.lines)],
      ["the status", JSON.stringify(this.snapshot)],
      ["the metrics of the engine", await registry.metrics()],
      ["the metrics of the reconciler", await this.#registry.metrics()],
    ];
    return texts
      .filter(([, text]) => Object.values(canaries).some((one) => text.includes(one)))
      .map(([where]) => where);
  }

  /** Files of the data dir in which a secret stands in plain text. */
  async #leakedFiles(): Promise<string[]> {
    const { dataDir } = this.engine;
    const entries = await readdir(dataDir, { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
    const leaked: string[] = [];
    for (const file of files) {
      const bytes = await readFile(file).catch(() => Buffer.alloc(0));
      if (Object.values(canaries).some((one) => bytes.includes(one))) leaked.push(file);
    }
    return leaked;
  }

  /** Ends everything; gives what became of the events of the kept pipelines, and files that hold a secret. */
  async close(): Promise<Fates> {
    await this.senders.stop();
    const fates: Fates = { accepted: this.senders.count, lost: 0, doubled: 0, leaked: await this.#leakedFiles() };
    for (const id of kept) {
      await this.engine.until(id, ({ stream, pending_batches }) => stream!.messages + pending_batches === 0);
      const query = `SELECT id, count() AS n FROM ${id.replaceAll("-", "_")} GROUP BY id`;
      const rows = await this.engine.rows<{ id: string; n: string }>(query);
      const times = new Map(rows.map((row) => [Number(row.id), Number(row.n)]));
      fates.lost += this.senders.accepted(id).filter((event) => !times.has(event)).length;
      fates.doubled += [...times.values()].filter((n) => n > 1).length;
    }
    await this.#stop();
    await this.#close();
    return fates;
  }
}
