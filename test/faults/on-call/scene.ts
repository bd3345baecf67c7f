import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { ReconcileSnapshot } from "../../../reconciler/reconciler.ts";
import { startClickHouse, type TestClickHouse } from "../../support/clickhouse.ts";
import type { Daemon, Listeners } from "../../../examples/quickstart/daemon.ts";
import { freeListeners, sluice, Workplace } from "../../support/daemon.ts";
import { GitRepository, type FileChange } from "../../support/git-repository.ts";
import { OutageProxy } from "../../support/outage-proxy.ts";
import { pipelineText, type PipelineText } from "../../support/pipeline-text.ts";
import { Alerts } from "./alerts.ts";

export const token = "a-token-of-the-tests";

/** What a command printed, and its exit code. */
export interface Said {
  code: number;
  text: string;
}

/** A daemon that follows a repository, a ClickHouse behind a proxy, and a Prometheus, as an on-call finds them. */
export class Scene {
  readonly repository: GitRepository;
  readonly server: TestClickHouse;
  readonly proxy: OutageProxy;
  readonly alerts: Alerts;
  readonly #workplace: Workplace;
  readonly #listeners: Listeners;
  daemon!: Daemon;

  private constructor(parts: Pick<Scene, "repository" | "server" | "proxy" | "alerts">, place: [Workplace, Listeners]) {
    this.repository = parts.repository;
    this.server = parts.server;
    this.proxy = parts.proxy;
    this.alerts = parts.alerts;
    [this.#workplace, this.#listeners] = place;
  }

  static async open(): Promise<Scene> {
    const workplace = await Workplace.make();
    const listeners = await freeListeners();
    const server = await startClickHouse();
    const parts = {
      repository: await GitRepository.create(),
      server,
      proxy: await OutageProxy.start(server.url),
      alerts: await Alerts.watching(listeners.api, workplace.path),
    };
    const scene = new Scene(parts, [workplace, listeners]);
    await scene.setPassword(server.password);
    await scene.repository.commit({ "orders.yaml": scene.fileOf("orders"), "sales.yaml": scene.fileOf("sales") });
    await scene.restart();
    return scene;
  }

  /** The file of the secret that the pipelines name. */
  get secretFile(): string {
    return join(this.#workplace.path, "password");
  }

  setPassword(text: string): Promise<void> {
    return writeFile(this.secretFile, text);
  }

  /** The text of a pipeline's file; `sluice` are further lines of `x-sluice`. */
  fileOf(id: string, over: Partial<PipelineText> = {}): string {
    const { username } = this.server;
    const login = [`port: "9000"`, `http_port: "${this.proxy.port}"`, `username: ${username}`];
    return pipelineText({
      id,
      expression: "id > 0",
      ...over,
      connection: [...login, `password: \${file:${this.secretFile}}`],
      sluice: ["create_table: true", "access_token: ${env:SLUICE_SECRET_TOKEN}", ...(over.sluice ?? [])],
    }).replace("host: embedded", "host: 127.0.0.1");
  }

  /** Starts the daemon again, following the branch main or what `args` say. */
  async restart(args: string[] = ["--branch", "main"]): Promise<void> {
    await this.daemon?.stop();
    const references = ["--reference", "${env:SLUICE_SECRET_*}=*", "--reference", `\${file:${this.secretFile}}=*`];
    this.daemon = await this.#workplace.start({
      args: ["--repo", this.repository.path, "--max-deletions", "0", ...references, ...args],
      listeners: this.#listeners,
      env: { SLUICE_SECRET_TOKEN: token },
    });
  }

  commit(files: Record<string, FileChange>): Promise<string> {
    return this.repository.commit(files);
  }

  /** Sends an event to a pipeline; gives the status of the answer. */
  async send(id: string, event: unknown): Promise<number> {
    const { status } = await fetch(`${this.daemon.events}/v1/pipelines/${id}/topics/input/events`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-pipeline-access-token": token },
      body: JSON.stringify(event),
    });
    return status;
  }

  /** Runs a command of `sluice` as the on-call types it. */
  command(...args: string[]): Promise<Said> {
    return new Promise((resolve) => {
      const argv = [sluice, ...args, "--data-dir", this.#workplace.dataDir];
      execFile(process.execPath, argv, (error, stdout, stderr) => {
        const code = typeof error?.code === "number" ? error.code : error === null ? 0 : 1;
        resolve({ code, text: `${stdout}${stderr}`.trimEnd() });
      });
    });
  }

  snapshot(): Promise<ReconcileSnapshot> {
    return this.daemon.get("/api/v1/reconcile");
  }

  /** Resolves with whether it becomes so within a time. */
  async within(milliseconds: number, isSo: () => Promise<boolean>): Promise<boolean> {
    for (const end = Date.now() + milliseconds; Date.now() < end; await sleep(200)) {
      if (await isSo().catch(() => false)) return true;
    }
    return false;
  }

  async close(): Promise<void> {
    await this.#workplace.clean();
    await this.alerts.close();
    await this.proxy.close();
    await this.server.stop();
    await this.repository.remove();
  }
}
