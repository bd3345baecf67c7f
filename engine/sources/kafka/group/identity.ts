/**
 * Who reads: a data dir, and the run of the process that holds it. A run id is drawn at each start and kept in the data
 * dir with its earlier ones, before it is used, so that a data dir knows what it said itself, and a copy of it does not
 * know what the original said later.
 */
export interface KafkaIdentity {
  /** Id of the data dir. */
  dataDir: string;
  run: string;
  /** Runs before this one. */
  earlier: ReadonlySet<string>;
}

/** What a commit says of who made it. */
export interface Claim {
  dataDir: string;
  run: string;
}

/** The metadata of a committed offset: `<data dir id>:<run>:<offset>`. */
export function claimText({ dataDir, run }: Claim, offset: number): string {
  return `${dataDir}:${run}:${offset}`;
}

/**
 * Who committed an offset; undefined where no Sluice did. Tools that move a group keep or empty the metadata, so the
 * offset in it has to be the one that was committed.
 */
export function claimOf(metadata: string | null | undefined, offset: number): Claim | undefined {
  const found = /^([0-9a-f]{16}):([0-9a-f]{8}):(\d{1,16})$/.exec(metadata ?? "");
  if (found === null || Number(found[3]) !== offset) return undefined;
  return { dataDir: found[1]!, run: found[2]! };
}

/** The client id of a member of the group: it holds the run, so that live members of this data dir are recognised. */
export function clientId({ dataDir, run }: Claim, member: number): string {
  return `sluice-consumer-${dataDir}-${run}-${member}`;
}

/** The run of a live member; undefined where it is another application. */
export function memberOf(client: string): Claim | undefined {
  const found = /^sluice-consumer-([0-9a-f]{16})-([0-9a-f]{8})-\d+$/.exec(client);
  return found === null ? undefined : { dataDir: found[1]!, run: found[2]! };
}
