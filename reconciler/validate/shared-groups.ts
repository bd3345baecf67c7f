import { consumerGroup } from "../../engine/language.ts";
import { printable, problem, type Problem } from "../language/problem.ts";
import { pipelineIdOf, type Claims } from "./claims.ts";

/**
 * Kafka pipelines of one cluster with one consumer group: each would take partitions and offsets of the other. Groups without
 * a name in their file are named after 32 bits of a hash, so that this is rare there, and nobody can see it in the files.
 */
export class SharedGroups {
  /** The first by group and broker, and the first of another id: pipelines are in one cluster if they name one broker. */
  readonly #byMember = new Map<string, { first: Claims; other?: Claims }>();

  constructor(all: readonly Claims[]) {
    for (const claims of all) {
      for (const member of membersOf(claims)) {
        const known = this.#byMember.get(member);
        if (known === undefined) this.#byMember.set(member, { first: claims });
        else if (pipelineIdOf(claims) !== pipelineIdOf(known.first)) known.other ??= claims;
      }
    }
  }

  problemsOf(claims: Claims): Problem[] {
    const id = pipelineIdOf(claims);
    const [other] = membersOf(claims).flatMap((member) => this.#otherThan(id, member));
    if (other === undefined || id === undefined) return [];
    const isNamed = claims.group.text !== undefined;
    const { path, place, text } = isNamed ? claims.group : claims.id;
    const { file, line } = (other.group.text === undefined ? other.id : other.group).place;
    const group = printable(groupOf(claims, id));
    return [
      problem("SHARED_GROUP", place, {
        path,
        expected: `${isNamed ? "a consumer group that" : "an id whose consumer group"} no other pipeline of this cluster has`,
        found: `${isNamed ? `"${group}"` : `"${printable(text ?? "")}" with ${group}`}, as ${file}:${line}`,
        suggestion: `neither is applied: give the newer one another ${isNamed ? "consumer_group" : "pipeline_id"}`,
      }),
    ];
  }

  #otherThan(id: string | undefined, member: string): Claims[] {
    const { first, other } = this.#byMember.get(member) ?? {};
    return [first, other].flatMap((one) => (one === undefined || pipelineIdOf(one) === id ? [] : [one]));
  }
}

function groupOf({ group: { text } }: Claims, id: string): string {
  return consumerGroup(id, text === undefined ? {} : { consumer_group: text });
}

function membersOf(claims: Claims): string[] {
  const id = pipelineIdOf(claims);
  if (id === undefined || claims.brokers.length === 0) return [];
  const group = groupOf(claims, id);
  return [...new Set(claims.brokers)].map((broker) => `${group} ${broker}`);
}
