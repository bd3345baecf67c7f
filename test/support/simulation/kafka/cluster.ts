import type { Draw } from "../network.ts";
import { codes, type RequestName } from "./codes.ts";
import { Group } from "./group.ts";
import type { LogEvents } from "./log.ts";
import { Partition, topicIdOf, type Topic } from "./topics.ts";
import { Truth } from "./truth.ts";

export interface CommittedOffset {
  /** The next offset to read. */
  offset: number;
  metadata: string;
  /** The election in which the record before it was written, as consumers say it. */
  epoch?: number;
}

/** A group, the node that coordinates it, and what it has committed. */
export interface CoordinatedGroup {
  group: Group;
  /** -1 where none does. */
  coordinator: number;
  /** Until then (performance.now) the coordinator loads the group, and answers that it does. */
  loadsUntil: number;
  /** By `topic/partition`. */
  offsets: Map<string, CommittedOffset>;
}

export interface ClusterOptions {
  draw: Draw;
  nodes: number;
  /** Milliseconds within which the others notice that a node is gone, and elect new leaders. */
  electionDelay: number;
  /** Milliseconds for which nodes may say who led before an election, or a move. */
  metadataLag: number;
  rebalanceDelay: number;
  /** Whether another node leads a partition whose node is gone; else none does until it is back. */
  isReplicated: boolean;
  /** Where nodes are: followers are read from then, as leaders name them to clients of their rack. */
  racks: Readonly<Record<number, string>>;
  onEvent: (event: string) => void;
  /** The newest versions that are offered, where they are not those that are understood. */
  newest: Readonly<Partial<Record<RequestName, number>>>;
}

/** What the nodes of a cluster know together: topics, who leads them, groups, who coordinates these. */
export class ClusterState {
  readonly nodes: readonly number[];
  readonly topics = new Map<string, Topic>();
  readonly groups = new Map<string, CoordinatedGroup>();
  readonly truth = new Truth();
  readonly newest: ClusterOptions["newest"];
  readonly #options: ClusterOptions;
  /** Nodes that run, and those that the metadata names: it takes some time until it is noticed that one is gone. */
  readonly #running: Set<number>;
  readonly listed: Set<number>;
  #topicIds = 0;

  constructor(options: ClusterOptions) {
    this.#options = options;
    this.newest = options.newest;
    this.nodes = Array.from({ length: options.nodes }, (_, at) => at + 1);
    this.#running = new Set(this.nodes);
    this.listed = new Set(this.nodes);
  }

  create(name: string, partitions: number): Topic {
    this.#topicIds += 1;
    const topic: Topic = { name, id: topicIdOf(this.#topicIds), partitions: [] };
    this.topics.set(name, topic);
    this.grow(topic, partitions);
    return topic;
  }

  /** A topic has so many partitions from now on. */
  grow(topic: Topic, partitions: number): void {
    const running = [...this.#running];
    for (let number = topic.partitions.length; number < partitions; number += 1) {
      const leader = running[number % running.length] ?? -1;
      topic.partitions.push(new Partition(number, leader, this.#eventsOf(topic, number)));
    }
  }

  /** Deletes a topic, and what groups have committed in it. */
  delete(topic: Topic): void {
    this.topics.delete(topic.name);
    for (const partition of topic.partitions) {
      partition.log.vanish();
      for (const { offsets } of this.groups.values()) offsets.delete(`${topic.name}/${partition.number}`);
      partition.changed();
    }
  }

  /** The topic with an id. */
  byId(id: string): Topic | undefined {
    return [...this.topics.values()].find((topic) => topic.id === id);
  }

  partition(topic: string, number: number): Partition | undefined {
    return this.topics.get(topic)?.partitions[number];
  }

  group(id: string): CoordinatedGroup {
    const found = this.groups.get(id);
    if (found !== undefined) return found;
    const { rebalanceDelay, onEvent } = this.#options;
    const group = new Group(id, rebalanceDelay, onEvent);
    const coordinator = [...this.#running][this.groups.size % this.#running.size] ?? -1;
    const made: CoordinatedGroup = { group, coordinator, loadsUntil: 0, offsets: new Map() };
    this.groups.set(id, made);
    return made;
  }

  /** What a node answers that is asked for a group: 0 where it coordinates it. */
  coordinates(node: number, { coordinator, loadsUntil }: CoordinatedGroup): number {
    if (coordinator !== node) return codes.NOT_COORDINATOR;
    return performance.now() < loadsUntil ? codes.COORDINATOR_LOAD_IN_PROGRESS : codes.NONE;
  }

  moveLeader(partition: Partition, node: number): void {
    if (partition.leader === node) return;
    this.#options.onEvent("leader moved");
    this.elect(partition, node);
  }

  /** Elects a leader, which may be the one before. */
  elect(partition: Partition, node: number): void {
    const { draw, metadataLag } = this.#options;
    partition.elect(node, this.nodes, () => draw(metadataLag + 1));
  }

  /** `load`: milliseconds that the new coordinator takes to load the group. */
  moveCoordinator(of: CoordinatedGroup, node: number, load: number): void {
    this.#options.onEvent("coordinator moved");
    of.coordinator = node;
    of.loadsUntil = performance.now() + load;
    of.group.reload(codes.NOT_COORDINATOR);
  }

  down(node: number): void {
    this.#running.delete(node);
    setTimeout(() => this.#elect(), this.#options.draw(this.#options.electionDelay + 1));
  }

  up(node: number): void {
    this.#running.add(node);
    this.#elect();
  }

  isRunning(node: number): boolean {
    return this.#running.has(node);
  }

  /** Where a node is. */
  rackOf(node: number): string | undefined {
    return this.#options.racks[node];
  }

  /** Who is gone leads and coordinates nothing any more, as long as there is another one. */
  #elect(): void {
    this.listed.clear();
    for (const node of this.nodes) if (this.#running.has(node)) this.listed.add(node);
    for (const { partitions } of this.#options.isReplicated ? this.topics.values() : []) {
      for (const partition of partitions) {
        if (!this.#running.has(partition.leader)) this.moveLeader(partition, this.#anyRunning());
      }
    }
    for (const of of this.groups.values()) {
      if (this.#running.has(of.coordinator) || (this.listed.size === 0 && of.coordinator === -1)) continue;
      this.moveCoordinator(of, this.#anyRunning(), 0);
    }
  }

  #anyRunning(): number {
    const running = [...this.listed];
    return running.length === 0 ? -1 : running[this.#options.draw(running.length)]!;
  }

  #eventsOf({ name, id }: Topic, partition: number): LogEvents {
    const place = { topic: name, topicId: id, partition };
    return {
      visible: (records) => this.truth.visible(place, records),
      lost: (records, by) => {
        this.#options.onEvent(`records lost by ${by}`);
        this.truth.lost(records, by, this.#committedIn(`${name}/${partition}`));
      },
    };
  }

  #committedIn(place: string): Map<string, number> {
    const found = new Map<string, number>();
    for (const [id, { offsets }] of this.groups) {
      const committed = offsets.get(place);
      if (committed !== undefined) found.set(id, committed.offset);
    }
    return found;
  }
}
