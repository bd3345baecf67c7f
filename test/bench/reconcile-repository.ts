import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const execute = promisify(execFile);
/** Files of one folder, as of one team. */
const perFolder = 100;
/** What pushes come from, and what reads a topic: of ten pipelines one reads, and is stopped as there is no Kafka. */
const examples = [
  "quickstart/pipelines/checkout-orders",
  "quickstart/pipelines/app-errors",
  "otlp/pipelines/app-logs",
  "quickstart/pipelines/checkout-orders",
  "otlp/pipelines/app-traces",
  "quickstart/pipelines/app-errors",
  "otlp/pipelines/app-metrics",
  "quickstart/pipelines/checkout-orders",
  "quickstart/pipelines/app-errors",
  "kafka/pipelines/shop-orders",
].map((name) => ({
  id: name.replace(/.*\//, ""),
  text: readFileSync(new URL(`../../examples/${name}.yaml`, import.meta.url), "utf8"),
}));

/** A real repository with so many pipeline files below `pipelines`, each made of an example. */
export class PipelineRepository {
  readonly path: string;
  readonly #editions: number[];

  private constructor(path: string, count: number) {
    this.path = path;
    this.#editions = Array.from({ length: count }, () => 0);
  }

  static async make(count: number): Promise<PipelineRepository> {
    const path = await mkdtemp(join(tmpdir(), "sluice-bench-repository-"));
    const made = new PipelineRepository(path, count);
    await made.#git("init", "--quiet", "--initial-branch=main");
    const folders = Math.ceil(count / perFolder);
    for (let team = 0; team < folders; team += 1)
      await mkdir(join(path, "pipelines", folderOf(team)), { recursive: true });
    for (let index = 0; index < count; index += 1) await made.#write(index);
    await made.#commit();
    return made;
  }

  /** Commits another edition of the first `count` files, or one that changes none. */
  async change(count: number): Promise<void> {
    for (let index = 0; index < count; index += 1) {
      this.#editions[index]! += 1;
      await this.#write(index);
    }
    await this.#commit();
  }

  /** What is committed from now on is on a branch of its own. */
  branch(name: string): Promise<void> {
    return this.#git("checkout", "--quiet", "-b", name);
  }

  remove(): Promise<void> {
    return rm(this.path, { recursive: true, force: true });
  }

  async #write(index: number): Promise<void> {
    const { id, text } = examples[index % examples.length]!;
    const own = `${id}-${String(index).padStart(5, "0")}`;
    const table = id.replaceAll("-", "_");
    const renamed = text
      .replace(`pipeline_id: ${id}`, `pipeline_id: ${own}`)
      .replace(`table: ${table}`, `table: ${own.replaceAll("-", "_")}`)
      .replace(/max_batch_size: (\d+)/, (_, size) => `max_batch_size: ${Number(size) + this.#editions[index]!}`)
      .replace(/^ {2}access_token: .*\n/m, "");
    const isAtRest = renamed.includes("type: kafka");
    const path = join(this.path, "pipelines", folderOf(Math.floor(index / perFolder)), `${own}.yaml`);
    await writeFile(path, `${renamed}${isAtRest ? "  state: Stopped\n" : ""}`);
  }

  async #commit(): Promise<void> {
    await this.#git("add", "--all");
    await this.#git("commit", "--quiet", "--allow-empty", "--message", "Another edition");
  }

  /** Knows nothing of the machine's own settings. */
  async #git(...args: string[]): Promise<void> {
    const own = { GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" };
    const ada = { GIT_AUTHOR_NAME: "Ada", GIT_AUTHOR_EMAIL: "ada@example.test" };
    const committer = { GIT_COMMITTER_NAME: "Ada", GIT_COMMITTER_EMAIL: "ada@example.test" };
    await execute("git", args, { cwd: this.path, env: { ...process.env, ...own, ...ada, ...committer } });
  }
}

function folderOf(team: number): string {
  return `team-${String(team).padStart(3, "0")}`;
}
