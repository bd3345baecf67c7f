import type { IncomingMessage } from "node:http";

/** The answer to a probe: its status, and the word that its document says. */
export interface ProbeAnswer {
  status: 200 | 503;
  body: { status: string };
}

/**
 * The probes of the ports that take events: `/healthz` and `/readyz`. A process that answers is healthy, and ready until it is
 * about to stop: then load balancers send no more to it.
 */
export class Probes {
  #isLeaving = false;

  /** From now on the process is not ready, although it still takes all that comes. */
  leaving(): void {
    this.#isLeaving = true;
  }

  get isReady(): boolean {
    return !this.#isLeaving;
  }

  /** Undefined for a path that is no probe. */
  answerTo(path: string): ProbeAnswer | undefined {
    if (path === "/healthz") return { status: 200, body: { status: "ok" } };
    if (path !== "/readyz") return undefined;
    return this.isReady ? { status: 200, body: { status: "ready" } } : { status: 503, body: { status: "not ready" } };
  }
}

/** Whether a request reads, as probes do. */
export function isRead({ method }: Pick<IncomingMessage, "method">): boolean {
  return method === "GET" || method === "HEAD";
}
