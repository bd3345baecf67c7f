/** Takes the place of `chdb` in the program of a server that is a replica: it is what `clickhouse-server` is beyond chDB. */
import { type ChdbResult, type QueryOptions, Session as ChdbSession, type SessionOptions } from "chdb";

/** Set when the program is built: where the configuration is, and which server this one is. */
declare const replicaConfiguration: string;
declare const replicaUuid: string;

export class Session extends ChdbSession {
  /** With a configuration, which holds its ZooKeeper. */
  constructor(folder: string, { connectionArgs = [], ...options }: SessionOptions) {
    super(folder, { ...options, connectionArgs: [...connectionArgs, `--config-file=${replicaConfiguration}`] });
  }

  /** Every chDB says that it is server 0; servers have ids of their own. */
  override queryAsync(sql: string, options?: QueryOptions): Promise<ChdbResult> {
    return super.queryAsync(sql.replaceAll("serverUUID()", `toUUID('${replicaUuid}')`), options);
  }
}
