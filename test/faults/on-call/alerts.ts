import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { prometheus } from "../../support/prometheus.ts";
import { freeAddress } from "../../support/ports.ts";

/** Milliseconds that Prometheus is given to start. */
const starting = 30_000;

/** An alert that fires. */
export interface FiringAlert {
  name: string;
  /** Such as `orders`; absent where it is about the whole process. */
  pipeline_id?: string;
  summary: string;
}

/** A Prometheus with the alerts of the examples, in which what lasts minutes there lasts seconds. */
export class Alerts {
  readonly #server: ChildProcess;
  readonly #address: string;

  private constructor(server: ChildProcess, address: string) {
    this.#server = server;
    this.#address = address;
  }

  /** Watches the metrics at an address, such as `127.0.0.1:8081`. Throws where Prometheus cannot be had. */
  static async watching(target: string, folder: string): Promise<Alerts> {
    const program = await prometheus();
    if ("obstacle" in program) throw new Error(program.obstacle);
    const rules = await readFile(new URL("../../../examples/monitoring/alerts.yaml", import.meta.url), "utf8");
    await writeFile(join(folder, "alerts.yaml"), rules.replaceAll(/\bfor: \d+m/g, "for: 2s"));
    const config = {
      global: { scrape_interval: "1s", evaluation_interval: "1s" },
      rule_files: ["alerts.yaml"],
      scrape_configs: [{ job_name: "sluice", static_configs: [{ targets: [target] }] }],
    };
    const file = join(folder, "prometheus.yaml");
    await writeFile(file, JSON.stringify(config));
    const address = await freeAddress();
    const flags = [`--config.file=${file}`, `--storage.tsdb.path=${join(folder, "tsdb")}`];
    const server = spawn(program.path, [...flags, `--web.listen-address=${address}`], { stdio: "ignore" });
    const alerts = new Alerts(server, address);
    for (const end = Date.now() + starting; Date.now() < end; await sleep(100)) {
      if (await alerts.firing().catch(() => undefined)) return alerts;
    }
    await alerts.close();
    throw new Error("Prometheus did not start in time");
  }

  async firing(): Promise<FiringAlert[]> {
    const response = await fetch(`http://${this.#address}/api/v1/alerts`);
    const { data } = (await response.json()) as { data: { alerts: Found[] } };
    return data.alerts
      .filter(({ state }) => state === "firing")
      .map(({ labels, annotations }) => ({
        name: labels["alertname"]!,
        ...(labels["pipeline_id"] !== undefined && { pipeline_id: labels["pipeline_id"] }),
        summary: annotations["summary"] ?? annotations["description"] ?? "",
      }));
  }

  async close(): Promise<void> {
    const ended = once(this.#server, "exit");
    if (this.#server.kill()) await ended;
  }
}

interface Found {
  state: string;
  labels: Record<string, string>;
  annotations: Record<string, string>;
}
