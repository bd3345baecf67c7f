import type { Feed } from "../../../core/positions.ts";
import type { Leader } from "../brokers/client.ts";

/** After this time the leader is asked again whether the replica is still the one to read from, as by Java's client. */
const lease = 5 * 60_000;
/**
 * How long the leader is read after a replica has failed: longer than a cluster takes to notice that a broker is gone. After each
 * further failure it is twice as long, up to the lease. In milliseconds.
 */
const firstRest = 10_000;

/** A replica that a partition is read from, as the leader says that it is closer (KIP-392). */
export interface PreferredReplica {
  readonly node: number;
  /** The leadership in which it was named. */
  readonly leader: Leader;
  /** When the leader is asked again, by the monotonic clock in milliseconds. */
  readonly until: number;
  /** The end of the log, as far as it is known: a replica may lag behind its leader. */
  end: number;
  /** The end of the log by its leader when that was asked last; undefined before. */
  endOfLeader: number | undefined;
  /** Whether its last answer, since the leader was asked for the end, said that there is nothing more. */
  isDry: boolean;
}

/** What failed, how often in a row, and until when the leader is read, by the monotonic clock in milliseconds. */
interface Rest {
  times: number;
  until: number;
}

/**
 * The replicas that partitions are read from in place of their leaders, where the leaders name some. A partition whose replica
 * has failed is read from its leader for a while.
 */
export class PreferredReplicas {
  readonly #rack: string | undefined;
  readonly #replicas = new Map<Feed, PreferredReplica>();
  readonly #rests = new Map<Feed, Rest>();

  /** `rack`: where this machine is; undefined where nobody says. */
  constructor(rack: string | undefined) {
    this.#rack = rack;
  }

  /** Undefined: the partition is read from its leader. */
  of(feed: Feed): PreferredReplica | undefined {
    return this.#replicas.get(feed);
  }

  get all(): [Feed, PreferredReplica][] {
    return [...this.#replicas];
  }

  /** Those of them that are read from a node. */
  at(node: number): Map<Feed, PreferredReplica> {
    return new Map(this.all.filter(([, replica]) => replica.node === node));
  }

  /** The rack to name in a fetch of these partitions: none where one is to be read from its leader, as that reads nothing then. */
  rackFor(feeds: Iterable<Feed>): string | undefined {
    return this.#rests.size > 0 && [...feeds].some((feed) => this.#isResting(feed)) ? undefined : this.#rack;
  }

  /** The leader has named a node. Returns whether the partition is read from there: not where it failed a moment ago. */
  prefer(feed: Feed, node: number, leader: Leader, end: number): boolean {
    if (this.#isResting(feed)) return false;
    this.#replicas.set(feed, {
      node,
      leader,
      until: performance.now() + lease,
      end,
      endOfLeader: undefined,
      isDry: false,
    });
    return true;
  }

  /** The partition is read from its leader, until that names a replica again. */
  leave(feed: Feed): void {
    this.#replicas.delete(feed);
  }

  /** The replica has what comes next. */
  delivered(feed: Feed): void {
    this.#rests.delete(feed);
  }

  /** The replica cannot be read, or does not have what comes next. */
  failed(feed: Feed): void {
    this.leave(feed);
    const times = (this.#rests.get(feed)?.times ?? 0) + 1;
    this.#rests.set(feed, { times, until: performance.now() + Math.min(lease, firstRest * 2 ** (times - 1)) });
  }

  /** The partition begins anew. */
  forget(feed: Feed): void {
    this.leave(feed);
    this.#rests.delete(feed);
  }

  #isResting(feed: Feed): boolean {
    return performance.now() < (this.#rests.get(feed)?.until ?? -Infinity);
  }
}
