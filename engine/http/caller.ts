import type { ServerResponse } from "node:http";
import type { Caller } from "../core/push.ts";

/** Who waits for an answer over HTTP: it has gone when its connection is closed. */
export class HttpCaller implements Caller {
  readonly #response: ServerResponse;

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  get isGone(): boolean {
    return this.#response.destroyed;
  }
}
