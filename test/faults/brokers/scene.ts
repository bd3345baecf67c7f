import type { Daemon } from "../../../examples/quickstart/daemon.ts";
import type { ReachableClickHouse } from "../../support/clickhouse.ts";
import { freeListeners, Workplace } from "../../support/daemon.ts";
import { brokerIds, type KafkaCluster } from "../../support/kafka/cluster.ts";
import type { Random } from "../../support/random.ts";
import type { Started } from "../kafka-subject.ts";
import { type PipelineAudit, type PipelinePlan, WatchedPipeline } from "./watched-pipeline.ts";

/** The servers between which the pipelines stand. */
export interface BrokerServers {
  cluster: KafkaCluster;
  server: ReachableClickHouse;
}

export interface SceneOptions extends BrokerServers {
  plans: readonly PipelinePlan[];
  /** Flags of Sluice beside the usual ones. */
  flags?: readonly string[];
  random: Random;
}

/** Sluice as a process of its own, with pipelines that read from the cluster under load. */
export class BrokerScene {
  readonly cluster: KafkaCluster;
  readonly random: Random;
  /** What was seen that must not be, beside what the audit counts. */
  readonly problems: string[] = [];
  /** What is worth knowing of how it went. */
  readonly notes: string[] = [];
  readonly pipelines: WatchedPipeline[] = [];
  readonly #place: Workplace;
  readonly #started: Started;
  /** When each span of the load began. */
  readonly #begins: number[] = [];
  #daemon: Daemon;

  private constructor({ cluster, random }: SceneOptions, place: Workplace, started: Started, daemon: Daemon) {
    this.cluster = cluster;
    this.random = random;
    this.#place = place;
    this.#started = started;
    this.#daemon = daemon;
  }

  /** Resolves when each pipeline that has a file reads. */
  static async start(options: SceneOptions): Promise<BrokerScene> {
    const { cluster, server, plans, flags = [] } = options;
    const place = await Workplace.make();
    const started = {
      args: ["--dir", place.pipelines, ...flags],
      listeners: await freeListeners(),
      env: { SLUICE_SECRET_CLICKHOUSE: server.password },
    };
    const scene = new BrokerScene(options, place, started, await place.start(started));
    try {
      for (const plan of plans) {
        scene.pipelines.push(await WatchedPipeline.create(cluster, server, place, plan));
      }
      for (const pipeline of scene.pipelines) if (pipeline.plan.isLater !== true) await pipeline.reading(scene.daemon);
      return scene;
    } catch (error) {
      await scene.clean();
      throw error;
    }
  }

  get daemon(): Daemon {
    return this.#daemon;
  }

  /** Of a scene that has one. */
  get pipeline(): WatchedPipeline {
    return this.pipelines[0]!;
  }

  /** A fault begins: what is written from now on belongs to it. */
  begin(): void {
    this.#begins.push(Date.now());
  }

  async restart(signal: "SIGTERM" | "SIGKILL" = "SIGTERM"): Promise<void> {
    await this.#daemon.stop(signal);
    this.#daemon = await this.#place.start(this.#started);
  }

  async audit(patience: number): Promise<PipelineAudit[]> {
    const audits: PipelineAudit[] = [];
    for (const pipeline of this.pipelines) audits.push(await pipeline.audit(this.daemon, this.#begins, patience));
    return audits;
  }

  /** Starts what a fault left away, and resolves when all replicas are in sync. */
  async mend(): Promise<void> {
    const { cluster } = this;
    if (!cluster.isControlled) await cluster.startController();
    for (const id of brokerIds) {
      const broker = cluster.broker(id);
      broker.thaw();
      if (!broker.isRunning) await broker.start();
    }
    await cluster.whole();
  }

  async clean(): Promise<void> {
    await this.#place.clean();
    for (const pipeline of this.pipelines) await pipeline.clean();
  }
}
