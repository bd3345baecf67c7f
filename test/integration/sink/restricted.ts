import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { entryPoint } from "../../../engine/system/entry-point.ts";
import { type TestClickHouse, startClickHouse } from "../../support/clickhouse.ts";

/** What the user of the server may do. */
export interface Rights {
  /** Statements such as `GRANT INSERT ON d.t`; without them it may do everything but manage users. */
  grants?: string[];
  /** Settings and constraints of its profile, as XML. */
  profile?: string;
}

/**
 * A folder of data whose ClickHouse can be started with other rights of its user, one server at a time: what is set up
 * without limits is then met with them, and it is the engine itself that enforces them.
 */
export class RestrictedClickHouse {
  readonly #folder: string;
  #starts = 0;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  static async create(): Promise<RestrictedClickHouse> {
    return new RestrictedClickHouse(await mkdtemp(join(tmpdir(), "sluice-restricted-")));
  }

  /** Runs `work` on a server with these rights. */
  async as<Result>(rights: Rights, work: (server: TestClickHouse) => Promise<Result>): Promise<Result> {
    const entry = await this.#entry(rights);
    const server = await startClickHouse({ dataDir: join(this.#folder, "data"), entry });
    try {
      return await work(server);
    } finally {
      await server.stop();
    }
  }

  async remove(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }

  /** The child's own entry behind a few lines that give its engine a configuration. */
  async #entry({ grants, profile = "" }: Rights): Promise<string> {
    const start = join(this.#folder, `start-${++this.#starts}`);
    const list = (grants ?? []).map((grant) => `<query>${grant}</query>`).join("");
    await writeFile(
      `${start}.users.xml`,
      `<clickhouse><profiles><default>${profile}</default></profiles><quotas><default/></quotas>` +
        `<users><default><password></password><networks><ip>::/0</ip></networks><profile>default</profile>` +
        `<quota>default</quota>${grants === undefined ? "" : `<grants>${list}</grants>`}</default></users></clickhouse>`,
    );
    await writeFile(
      `${start}.xml`,
      `<clickhouse><users_config>${start}.users.xml</users_config>` +
        `<user_directories><users_xml><path>${start}.users.xml</path></users_xml></user_directories>` +
        `<macros><shard>1</shard><replica>one</replica></macros></clickhouse>`,
    );
    await writeFile(
      `${start}.mjs`,
      `import { createRequire } from "node:module";
      const chdb = createRequire(${JSON.stringify(fileURLToPath(import.meta.url))})("chdb");
      chdb.Session = class extends chdb.Session {
        constructor(folder, { connectionArgs }) {
          super(folder, { connectionArgs: [...connectionArgs, ${JSON.stringify(`--config-file=${start}.xml`)}] });
        }
      };
      await import(${JSON.stringify(entryPoint("clickhouse"))});`,
    );
    return `${start}.mjs`;
  }
}
