import { type Asked, ClickHouseProxy, type Fate, pass } from "../../support/clickhouse-proxy.ts";
import type { ReachableClickHouse } from "../../support/clickhouse.ts";

/** Settings as a profile of the user has them, by their names. */
export type ProfileSettings = Readonly<Record<string, string>>;

/**
 * A server with another settings profile for each run, without a restart: a proxy puts its settings before those that a
 * request brings, which decide over them as over a profile. Sessions get them at their begin, as a `SET` within one lasts.
 */
export class ProfileProxy {
  readonly #server: Pick<ReachableClickHouse, "url">;
  readonly #proxy: ClickHouseProxy;
  readonly #begun = new Set<string>();
  #profile: ProfileSettings = {};

  private constructor(server: Pick<ReachableClickHouse, "url">, proxy: ClickHouseProxy) {
    this.#server = server;
    this.#proxy = proxy;
    proxy.decide((asked) => this.#judge(asked));
  }

  static async start(server: Pick<ReachableClickHouse, "url">): Promise<ProfileProxy> {
    return new ProfileProxy(server, await ClickHouseProxy.start(server.url));
  }

  get url(): string {
    return this.#proxy.url;
  }

  /** From now on, new requests and sessions have this profile. */
  use(profile: ProfileSettings): void {
    this.#profile = profile;
    this.#proxy.handled.length = 0;
  }

  close(): Promise<void> {
    return this.#proxy.close();
  }

  async #judge({ parameters, headers }: Asked): Promise<Fate> {
    const session = parameters.get("session_id");
    if (session === null) return { kind: "pass", profile: this.#profile };
    if (!this.#begun.has(session)) await this.#begin(session, headers.authorization ?? "");
    return pass;
  }

  async #begin(session: string, authorization: string): Promise<void> {
    this.#begun.add(session);
    const list = Object.entries(this.#profile).map(([name, value]) => `${name} = ${quoted(value)}`);
    if (list.length === 0) return;
    const url = `${this.#server.url}/?session_id=${session}&session_timeout=60`;
    const answer = await fetch(url, { method: "POST", headers: { authorization }, body: `SET ${list.join(", ")}` });
    await answer.text();
  }
}

function quoted(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
