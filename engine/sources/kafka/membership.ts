import { LeftForLater } from "../../core/errors.ts";
import type { Feed } from "../../core/positions.ts";
import { sleep } from "../../flow/sleep.ts";
import type { SourceSignals } from "../../core/source.ts";
import { byHolder } from "./acknowledgements.ts";
import { kafkaPartition } from "./feed.ts";
import { claimText } from "./identity.ts";
import type { KafkaSourceParts } from "./kafka-source-parts.ts";
import { Member, type Commit, type MemberOptions } from "./member.ts";
import type { Opening } from "./opening.ts";
import { judge } from "./ownership.ts";
import type { KafkaPositions } from "./positions.ts";
import type { Troubles } from "./troubles.ts";

export interface MembershipParts extends KafkaSourceParts {
  positions: KafkaPositions;
  opening: Opening;
  troubles: Troubles;
  signals: SourceSignals;
  /** What a member needs, by its number from 1. */
  member(number: number): Omit<MemberOptions, "onAssigned" | "onTrouble">;
  /** These partitions, and no others, may be read. */
  onHeld: (feeds: ReadonlySet<Feed>) => void;
}

/**
 * The members of a pipeline in its consumer group, and the partitions that they hold together. After each join it is
 * checked again whose the group is, and our claim is committed, before any event of a new partition is read.
 */
export class Membership {
  readonly #parts: MembershipParts;
  #members: Member[] = [];
  readonly #held = new Map<Member, readonly Feed[]>();
  /** Counts the assignments: what an older one began gives way to a newer one. */
  #assignment = 0;
  #strangers = "";
  #isClosed = false;
  #working: Promise<void> = Promise.resolve();
  #rejoining: Promise<void> | undefined;

  constructor(parts: MembershipParts) {
    this.#parts = parts;
  }

  join(): void {
    const { replicas, troubles } = this.#parts;
    for (let number = 1; number <= replicas; number += 1) {
      const who = `member ${number} of the consumer group`;
      const member: Member = new Member({
        ...this.#parts.member(number),
        onAssigned: (partitions) => {
          const feeds = this.#feedsOf(partitions);
          if (feeds.length > 0) troubles.clear(who);
          this.#assigned(member, feeds);
        },
        onTrouble: (error, attempt) => troubles.note(who, error, attempt),
      });
      this.#members.push(member);
    }
  }

  /** Commits what is final in partitions, by the members that hold them. Throws what kafkajs throws. */
  async commit(offsets: ReadonlyMap<Feed, number>): Promise<void> {
    const { identity } = this.#parts;
    const commits: Commit[] = [...offsets].map(([feed, offset]) => {
      return { feed, offset, metadata: claimText(identity, offset) };
    });
    const held = byHolder(commits, (feed) => this.#holderOf(feed));
    const { positions } = this.#parts;
    await Promise.all(
      [...held].map(async ([member, own]) => {
        await member.commit(own);
        for (const { feed, offset } of own) positions.said(feed, offset);
      }),
    );
  }

  async leave(): Promise<void> {
    this.#isClosed = true;
    this.#assignment += 1;
    await this.#stopMembers();
    await this.#working;
  }

  async #stopMembers(): Promise<void> {
    const members = this.#members;
    this.#members = [];
    await Promise.all(members.map((member) => member.stop()));
    this.#held.clear();
  }

  /** What a member was given of the topics that are read here. */
  #feedsOf(partitions: Readonly<Record<string, number[]>>): Feed[] {
    const { topics, positions } = this.#parts;
    return [...topics.keys()].flatMap((topic) =>
      (partitions[topic] ?? []).map((partition) => positions.feed(topic, partition)),
    );
  }

  #holderOf(feed: Feed): Member | undefined {
    return [...this.#held].find(([, feeds]) => feeds.includes(feed))?.[0];
  }

  #assigned(member: Member, feeds: readonly Feed[]): void {
    if (this.#isClosed) return;
    this.#held.set(member, feeds);
    const assignment = (this.#assignment += 1);
    this.#working = this.#working.then(() => this.#claim(assignment)).catch(() => undefined);
  }

  /** Checks whose the group is, and says in it that these partitions are ours. */
  async #claim(assignment: number): Promise<void> {
    const { opening, positions, telemetry, pipeline_id, onHeld, troubles } = this.#parts;
    for (let attempt = 1; assignment === this.#assignment; attempt += 1) {
      try {
        const standing = await opening.read();
        if (assignment !== this.#assignment) return;
        const judged = judge(standing, opening.known, false);
        if (judged.kind === "owner") return await this.#giveWay(judged.text);
        this.#tellStrangers(judged.strangers);
        if (opening.known.recreated.size > 0) return await this.rejoin();
        await opening.placeNew(standing, judged);
        const held = new Set([...this.#held.values()].flat());
        await this.commit(new Map([...held].map((feed) => [feed, positions.final(feed)!] as const)));
        if (assignment !== this.#assignment) return;
        troubles.clear("the consumer group");
        telemetry.assigned({ pipeline_id, partitions: byTopic(held) });
        onHeld(held);
        return;
      } catch (error) {
        if (assignment !== this.#assignment) return;
        troubles.note("the consumer group", error, attempt);
        await sleep(Math.min(5_000, 200 * attempt));
      }
    }
  }

  #tellStrangers(members: string[]): void {
    const { telemetry, pipeline_id } = this.#parts;
    const said = members.toSorted().join("\n");
    if (said === this.#strangers) return;
    this.#strangers = said;
    telemetry.strangers({ pipeline_id, members });
  }

  /** A topic that is read was created again: leaves the group, waits for word what follows, and joins again. */
  rejoin(): Promise<void> {
    return (this.#rejoining ??= this.#rejoin().finally(() => (this.#rejoining = undefined)));
  }

  async #rejoin(): Promise<void> {
    const { opening, signals, troubles } = this.#parts;
    const assignment = await this.#leaveGroup();
    for (let attempt = 1; assignment === this.#assignment; attempt += 1) {
      try {
        await opening.checkRange(signals, { isRunning: true });
        opening.wentOn();
        troubles.clear("offsets");
        if (assignment === this.#assignment) this.join();
        return;
      } catch (error) {
        if (error instanceof LeftForLater) return;
        troubles.note("offsets", error, attempt);
        await sleep(Math.min(5_000, 200 * attempt), signals.drain);
      }
    }
  }

  /** Reads nothing any more, and is no member. Resolves with the number of this state of the assignments. */
  async #leaveGroup(): Promise<number> {
    this.#parts.onHeld(new Set());
    const assignment = (this.#assignment += 1);
    await this.#stopMembers();
    return assignment;
  }

  /** The group is another Sluice's: leaves it, reads nothing, and joins again when it is ours. */
  async #giveWay(text: string): Promise<void> {
    const { opening, signals } = this.#parts;
    const assignment = await this.#leaveGroup();
    let reason = text;
    for (let attempt = 1; assignment === this.#assignment; attempt += 1) {
      await opening.wait({ class: "owner", text: reason }, attempt, signals);
      const judged = await opening.read().then(
        (standing) => judge(standing, opening.known, false),
        () => undefined,
      );
      if (judged?.kind === "owner") reason = judged.text;
      if (judged?.kind !== "ours" || assignment !== this.#assignment) continue;
      opening.wentOn();
      this.join();
      return;
    }
  }
}

function byTopic(feeds: Iterable<Feed>): Record<string, number[]> {
  const found: Record<string, number[]> = {};
  for (const feed of feeds) {
    const { topic, partition } = kafkaPartition(feed)!;
    (found[topic] ??= []).push(partition);
  }
  for (const partitions of Object.values(found)) partitions.sort((a, b) => a - b);
  return found;
}
