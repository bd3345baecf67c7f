import { readFileSync } from "node:fs";
import { Agent, request } from "node:http";

export interface Load {
  url: string;
  headers: Record<string, string>;
  connections: number;
  bodies: readonly string[];
}

export interface Answers {
  seconds: number;
  /** Milliseconds, ascending. */
  latencies: number[];
}

/** Posts every body over some connections, each of which waits for its answer. Throws if one is not 202. */
export async function post({ url, headers, connections, bodies }: Load): Promise<Answers> {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const latencies: number[] = [];
  const started = performance.now();
  let next = 0;
  const sender = async (): Promise<void> => {
    for (let body = bodies[next++]; body !== undefined; body = bodies[next++]) {
      const sent = performance.now();
      const status = await postOne(url, headers, agent, body);
      if (status !== 202) throw new Error(`expected 202, got ${status}`);
      latencies.push(performance.now() - sent);
    }
  };
  await Promise.all(Array.from({ length: connections }, sender));
  agent.destroy();
  return { seconds: (performance.now() - started) / 1000, latencies: latencies.toSorted((a, b) => a - b) };
}

function postOne(url: string, headers: Record<string, string>, agent: Agent, body: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const length = { "content-length": Buffer.byteLength(body) };
    const sent = request(url, { method: "POST", agent, headers: { ...headers, ...length } }, (response) => {
      response.resume().on("end", () => resolve(response.statusCode ?? 0));
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

/** CPU seconds that a process has used, user and system. Linux only. */
export function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ");
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

/** The most memory that a process has used at one moment, in bytes. Linux only. */
export function peakMemory(pid: number): number {
  const kilobytes = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Number(kilobytes) * 1024;
}
