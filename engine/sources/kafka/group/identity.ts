/**
 * Identifies the reader: a data dir, and the run of the process that uses it. Each start draws a run id and saves it in
 * the data dir with the earlier ones before it is used. So a data dir recognises its own commits, and a copy of it does
 * not know the later runs of the original.
 */
export interface KafkaIdentity {
  /** Id of the data dir. */
  dataDir: string;
  run: string;
  /** Runs before this one. */
  earlier: ReadonlySet<string>;
}

/** The reader that a commit names. */
export interface Claim {
  dataDir: string;
  run: string;
}

/** The metadata of a committed offset: `<data dir id>:<run>:<offset>`. */
export function claimText({ dataDir, run }: Claim, offset: number): string {
  return `${dataDir}:${run}:${offset}`;
}

/**
 * The Sluice run that committed an offset; undefined where another application did. Tools that move a group keep or
 * empty the metadata, so the offset in it must equal the committed one.
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

/**
 * The name of a member in the group over all runs of a data dir: a run that starts while the group still waits for one that
 * was killed takes its place.
 */
export function instanceId({ dataDir }: Pick<Claim, "dataDir">, member: number): string {
  return `sluice-${dataDir}-${member}`;
}

/** The run of a live member; undefined where it is another application. */
export function memberOf(client: string): Claim | undefined {
  const found = /^sluice-consumer-([0-9a-f]{16})-([0-9a-f]{8})-\d+$/.exec(client);
  return found === null ? undefined : { dataDir: found[1]!, run: found[2]! };
}
