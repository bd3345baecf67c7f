import type { Feed } from "../../../core/positions.ts";
import type { CommittedPartition, GroupMembers, KafkaClient, OffsetAt, TopicPartition } from "../brokers/client.ts";
import { AdoptionFailure, TopicFailure } from "../brokers/failures.ts";
import { divergences, type ReadUpTo } from "../brokers/divergences.ts";
import { askLeaders } from "../brokers/leaders.ts";
import { kafkaFeed, partitionOf, placeText } from "../positions/feed.ts";
import type { Committed, GroupState, PartitionState } from "../positions/group-state.ts";
import { memberOf } from "./identity.ts";

/** Reads topics and a consumer group without being a member of it. */
export class Group {
  readonly #client: KafkaClient;
  readonly #groupId: string;
  readonly #topics: readonly string[];

  constructor(client: KafkaClient, groupId: string, topics: readonly string[]) {
    this.#client = client;
    this.#groupId = groupId;
    this.#topics = topics;
  }

  /** Feeds have the names that they have where no topic id is known. Throws what the client throws. */
  async read(): Promise<GroupState> {
    const state = await this.ends();
    const places = state.partitions.map(({ feed }) => partitionOf(feed));
    const asked = [this.#client.committed(this.#groupId, places), this.#client.members(this.#groupId)] as const;
    const [committed, members] = await Promise.all(asked);
    const byPlace = committedByPlace(committed);
    const partitions = state.partitions.map((one, index): PartitionState => {
      const own = byPlace.get(placeText(places[index]!));
      return own === undefined ? one : { ...one, committed: own };
    });
    if (partitions.length > 0 && partitions.every(({ missing }) => missing !== undefined)) throw partitions[0]!.missing;
    return { ...state, partitions, members: membersIn(members, committed) };
  }

  /** The same without what the group has committed, and without its members. Throws what the client throws. */
  async ends(): Promise<GroupState> {
    const cluster = await this.#client.cluster(this.#topics);
    const before = await this.topicIds();
    const places = (await Promise.all(this.#topics.map((topic) => this.#placesOf(topic)))).flat();
    const [firsts, ends] = [await this.#client.offsets(places, "first"), await this.#client.offsets(places, "end")];
    const topicIds = await this.topicIds();
    for (const [topic, id] of before) {
      if (topicIds.get(topic) !== id)
        throw new Error(`topic ${topic}: it was created again while its offsets were read`);
    }
    const partitions = places.map((place, index): PartitionState => {
      return { feed: kafkaFeed({ cluster, ...place }), ...rangeOf(firsts[index]!, ends[index]!) };
    });
    return { cluster, partitions, topicIds, members: undefined };
  }

  /**
   * The first offset of each partition with a timestamp at or after a time (ms since the epoch); the end if there is
   * none. Throws what the client throws, also of a single partition.
   */
  async offsetsSince(places: readonly TopicPartition[], time: number): Promise<number[]> {
    const since = await this.#offsets(places, time);
    const ends = since.some((offset) => offset < 0) ? await this.#offsets(places, "end") : [];
    return since.map((offset, index) => (offset < 0 ? ends[index]! : offset));
  }

  /**
   * Of partitions, those whose log is not the one that was read: the offset where they part; or why that is not known (see
   * `divergences`).
   */
  async divergences(read: readonly Omit<ReadUpTo, "leader">[]): Promise<Map<Feed, number | Error>> {
    const places = read.map((one) => ({ ...one, ...partitionOf(one.feed) }));
    const found = await askLeaders(this.#client, places, async (node, led) => {
      const parted = await divergences(this.#client, node, led);
      return led.map(({ feed }) => parted.get(feed));
    });
    return new Map(read.flatMap(({ feed }, index) => (found[index] === undefined ? [] : [[feed, found[index]]])));
  }

  /**
   * What another group has committed in partitions of one topic. Throws where it has or may have members, and where it has
   * committed nothing there.
   */
  async adopted(groupId: string, feeds: readonly Feed[]): Promise<Map<Feed, number>> {
    const places = feeds.map(partitionOf);
    // What a member commits last, before it leaves, is read afterwards.
    const members = await this.#client.members(groupId);
    const committed = await this.#client.committed(groupId, places);
    const group = `consumer group ${groupId}`;
    if (committed.length === 0)
      throw new AdoptionFailure(
        `${group} has no offsets of topic ${places[0]!.topic}`,
        "name another group under adopt_group, or none; it goes on by itself where that group gets offsets",
      );
    const whenEnded = "end what reads there; it goes on by itself then, from where that ended";
    if (!("members" in members))
      throw new AdoptionFailure(
        `${group} has members that cannot be read: ${members.unreadable}`,
        `let the user read that group (READ), and ${whenEnded}`,
      );
    const { length } = members.members;
    if (length > 0)
      throw new AdoptionFailure(`${group} has ${length === 1 ? "a member" : `${length} members`}`, whenEnded);
    const byPlace = committedByPlace(committed);
    return new Map(
      feeds.flatMap((feed, index) => {
        const own = byPlace.get(placeText(places[index]!));
        return own === undefined ? [] : [[feed, own.offset]];
      }),
    );
  }

  /** By topic, as the brokers name them now. Throws what the client throws. */
  async topicIds(): Promise<Map<string, string>> {
    const found = new Map<string, string>();
    for (const topic of this.#topics) {
      const ids = await this.#client.topicIds([topic]).catch((error: unknown) => this.#ofTopic(topic, error));
      for (const [name, id] of ids) found.set(name, id);
    }
    return found;
  }

  async #offsets(places: readonly TopicPartition[], at: OffsetAt): Promise<number[]> {
    const found = await this.#client.offsets(places, at);
    return found.map((offset) => {
      if (offset instanceof Error) throw offset;
      return offset;
    });
  }

  /** In the order of their numbers. Where there are several topics, a failure names its topic. */
  async #placesOf(topic: string): Promise<TopicPartition[]> {
    const leaders = await this.#client.leaders(topic).catch((error: unknown) => this.#ofTopic(topic, error));
    return [...leaders.keys()].toSorted((a, b) => a - b).map((partition) => ({ topic, partition }));
  }

  #ofTopic(topic: string, error: unknown): never {
    throw this.#topics.length === 1 ? error : new TopicFailure(topic, error);
  }
}

/** The offsets that a partition has; or why they are not known. */
function rangeOf(first: number | Error, end: number | Error): Pick<PartitionState, "ends" | "missing"> {
  if (first instanceof Error) return { missing: first };
  return end instanceof Error ? { missing: end } : { ends: { low: first, high: end } };
}

function committedByPlace(found: readonly CommittedPartition[]): Map<string, Committed> {
  return new Map(
    found.map(({ offset, metadata, isByConsumer, ...place }) => [placeText(place), { offset, metadata, isByConsumer }]),
  );
}

/** As client ids; undefined where they cannot be read. A group that nobody knows has no members, unless it has committed something. */
function membersIn(found: GroupMembers, committed: readonly CommittedPartition[]): string[] | undefined {
  // The client id of a static member may be that of an earlier run, whose place this one took.
  if ("members" in found) {
    return found.members.map(({ clientId, userData }) => (memberOf(userData) === undefined ? clientId : userData));
  }
  return found.isAbsent === true && committed.length === 0 ? [] : undefined;
}
