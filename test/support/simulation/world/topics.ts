import { consumerGroup } from "../../../../engine/core/names.ts";
import type { ForeignMember } from "../kafka/foreign-member.ts";
import type { SimulatedKafka } from "../kafka/simulated-kafka.ts";
import type { TrueRecord } from "../kafka/truth.ts";
import type { Draw } from "../network.ts";
import { partitions } from "./pipelines.ts";

/** How often a consumer tries to commit before it has become a member, in milliseconds. */
const commitWait = 500;

/** What a consumer of another application does in a group. */
export interface Visit {
  /** Whether brokers say who the members are while it is there. */
  isReadable: boolean;
  /** It is an old client, which does not commit the election of what it read. */
  isOld: boolean;
  milliseconds: number;
}

/** A consumer that is no Sluice, in the group of a pipeline. */
interface Visitor {
  member: ForeignMember;
  isOld: boolean;
}

/** A partition of a topic. */
export interface PartitionPlace {
  topic: string;
  partition: number;
}

/** What happens to the topics of a world, and to their groups, beside what is written there and what Sluice does. */
export class Topics {
  readonly #kafka: SimulatedKafka;
  readonly #draw: Draw;
  /** By its topic: the partition that has no leader, and what gives it one again. */
  readonly #unled = new Map<string, { partition: number; timer: NodeJS.Timeout }>();
  /** By the names of pipelines. */
  readonly #visitors = new Map<string, Visitor>();
  /** Pipelines in whose groups others have committed offsets; `as a person`: without the election, by one that has left since. */
  readonly #misled = new Map<string, "by a consumer" | "as a person">();

  constructor(kafka: SimulatedKafka, draw: Draw) {
    this.#kafka = kafka;
    this.#draw = draw;
  }

  /** Whether others have committed offsets in the group of a pipeline, and what it has to take them for. */
  misled(pipeline_id: string): "by a consumer" | "as a person" | undefined {
    return this.#misled.get(pipeline_id);
  }

  /** A partition that a producer can write to: one that has a leader. */
  writable(topic: string): number {
    const unled = this.#unled.get(topic)?.partition;
    const partition = this.#draw(partitions);
    return partition === unled ? (partition + 1) % partitions : partition;
  }

  /** A node is elected for some partition: one that has all records, or one without the newest. */
  elect(topics: readonly string[], { isClean }: { isClean: boolean }): void {
    const { topic, partition } = this.#drawn(topics);
    const { running } = this.#kafka;
    if (this.#unled.get(topic)?.partition === partition || running.length === 0) return;
    this.#electIn({ topic, partition }, running[this.#draw(running.length)]!, isClean);
  }

  /** The beginning of some partition is removed, or the topic is deleted and made again. */
  lose(topics: readonly string[], by: "retention" | "deletion"): void {
    const { topic, partition } = this.#drawn(topics);
    if (by === "retention") {
      this.#kafka.retain(topic, partition, this.#within({ topic, partition }));
      return;
    }
    this.#forgetUnled(topic);
    this.#kafka.recreate(topic);
  }

  /** For so long some partition has no leader; then it has one with all records, or one without the newest. */
  unlead(
    topics: readonly string[],
    { milliseconds, isClean }: { milliseconds: number; isClean: boolean },
  ): PartitionPlace | undefined {
    const place = this.#drawn(topics);
    const { topic, partition } = place;
    if (this.#unled.has(topic)) return undefined;
    this.#kafka.elect(topic, partition, -1);
    this.#unled.set(topic, { partition, timer: setTimeout(() => this.#lead(place, isClean), milliseconds) });
    return place;
  }

  /** Whether a partition has no leader. */
  isUnled({ topic, partition }: PartitionPlace): boolean {
    return this.#kafka.leader(topic, partition) === -1;
  }

  /** A consumer of another application is a member of the group of a pipeline for so long, and commits offsets there. */
  visit(pipeline_id: string, topics: readonly string[], { isReadable, isOld, milliseconds }: Visit): void {
    if (this.#visitors.has(pipeline_id)) return;
    const member = this.#kafka.foreign(consumerGroup(pipeline_id), { clientId: "another", topics, isConsumer: true });
    this.#visitors.set(pipeline_id, { member, isOld });
    if (!isReadable) {
      const error = { kind: "error", code: "GROUP_AUTHORIZATION_FAILED" } as const;
      this.#kafka.trouble("ConsumerGroupDescribe", error, { times: Infinity });
    }
    this.#commitAs(pipeline_id, topics);
    setTimeout(() => this.#visitors.get(pipeline_id)?.member === member && this.#leave(pipeline_id), milliseconds);
  }

  /** Every partition has a leader, and every visitor leaves. */
  mend(): void {
    for (const [topic, { partition }] of this.#unled) this.#lead({ topic, partition }, true);
    for (const pipeline_id of this.#visitors.keys()) this.#leave(pipeline_id);
  }

  /** Whether a partition of these may have other records than were there before, at the same offsets. */
  wasReplaced(topics: readonly string[]): boolean {
    return this.#kafka.truth.records.some(({ topic, lost }) => {
      return topics.includes(topic) && (lost?.by === "truncation" || lost?.by === "recreation");
    });
  }

  /** How many records of topics are where others were that an election has cut off. */
  replacing(topics: readonly string[]): number {
    const places = this.#kafka.truth.records
      .filter(({ topic }) => topics.includes(topic))
      .map(({ topicId, partition, offset }) => `${topicId}/${partition}/${offset}`);
    return places.length - new Set(places).size;
  }

  /** The records of topics, each with whether it may have been lost before a group had read it. */
  *records(topics: readonly string[], pipeline_id: string): Generator<{ record: TrueRecord; mayBeLost: boolean }> {
    if (topics.length === 0) return;
    const group = consumerGroup(pipeline_id);
    const isMisled = this.#misled.has(pipeline_id);
    for (const record of this.#kafka.truth.records) {
      const { topic, offset, lost } = record;
      if (!topics.includes(topic)) continue;
      const isSure = lost?.isReplaced === false && !isMisled;
      const wasRead = isSure && offset < (lost.committed.get(group) ?? 0);
      yield { record, mayBeLost: lost !== undefined && !wasRead };
    }
  }

  #drawn(topics: readonly string[]): PartitionPlace {
    return { topic: topics[this.#draw(topics.length)]!, partition: this.#draw(partitions) };
  }

  /** An offset that a partition has, or its end. */
  #within({ topic, partition }: PartitionPlace): number {
    const { start, end } = this.#kafka.ends(topic, partition);
    return start + this.#draw(end - start + 1);
  }

  #electIn(place: PartitionPlace, node: number, isClean: boolean): void {
    const { topic, partition } = place;
    if (isClean) this.#kafka.elect(topic, partition, node);
    else this.#kafka.truncate(topic, partition, this.#within(place), node);
  }

  #lead(place: PartitionPlace, isClean: boolean): void {
    this.#forgetUnled(place.topic);
    const [node = 1] = this.#kafka.running;
    // A node that came back may have been elected meanwhile.
    if (this.isUnled(place)) this.#electIn(place, node, isClean);
  }

  #forgetUnled(topic: string): void {
    clearTimeout(this.#unled.get(topic)?.timer);
    this.#unled.delete(topic);
  }

  /** Commits in each partition, as soon as it may. */
  #commitAs(pipeline_id: string, topics: readonly string[]): void {
    setTimeout(() => {
      const visitor = this.#visitors.get(pipeline_id);
      if (visitor === undefined) return;
      const { member, isOld } = visitor;
      const places = topics.flatMap((topic) =>
        Array.from({ length: partitions }, (_, partition): PartitionPlace => ({ topic, partition })),
      );
      const taken = places.map((place) => {
        const { topic, partition } = place;
        return this.#isClaimed(pipeline_id, place) && member.commit(topic, partition, this.#within(place), { isOld });
      });
      if (!taken.includes(true)) return this.#commitAs(pipeline_id, topics);
      if (!this.#misled.has(pipeline_id)) this.#misled.set(pipeline_id, "by a consumer");
    }, commitWait);
  }

  /** A pipeline that has no position yet goes on where its group stands, whoever has committed that. */
  #isClaimed(pipeline_id: string, { topic, partition }: PartitionPlace): boolean {
    const committed = this.#kafka.committed(consumerGroup(pipeline_id)).get(`${topic}/${partition}`);
    return (committed?.metadata ?? "") !== "";
  }

  #leave(pipeline_id: string): void {
    const { member, isOld } = this.#visitors.get(pipeline_id)!;
    this.#visitors.delete(pipeline_id);
    member.leave();
    if (isOld && this.#misled.has(pipeline_id)) this.#misled.set(pipeline_id, "as a person");
  }
}
