import { codes } from "./codes.ts";
import {
  commonProtocol,
  notAssigned,
  nothing,
  refused,
  sameProtocols,
  type JoinAnswer,
  type JoinRequest,
  type MemberIdentity,
  type SyncAnswer,
} from "./group-protocol.ts";

/** A group as `DescribeGroups` names its state. */
export type GroupState = "Empty" | "PreparingRebalance" | "CompletingRebalance" | "Stable";

interface Member extends JoinRequest {
  assignment: Buffer;
  /** Answers its request to join, or to sync, that waits. It does not expire meanwhile. */
  joins?: ((answer: JoinAnswer) => void) | undefined;
  syncs?: ((answer: SyncAnswer) => void) | undefined;
  session?: NodeJS.Timeout | undefined;
}

/** What a coordinator writes into its log, and a new one finds there. */
interface Persisted {
  generation: number;
  leader: string;
  protocol: string;
  members: readonly (JoinRequest & { assignment: Buffer })[];
}

/**
 * A consumer group as its coordinator keeps it.
 *
 * - `Empty`: no members. The first one that joins begins a rebalance.
 * - `PreparingRebalance`: waits until all members have joined again, at most the longest of their rebalance timeouts;
 *   who has not joined by then is none any more. Entered by a join, a leave, an expiry, or a leader that joins again.
 * - `CompletingRebalance`: there is a new generation; waits for the assignment of its leader.
 * - `Stable`: each member has its assignment.
 *
 * A member that is not heard for its session timeout expires, unless one of its requests waits here. A static one has an
 * instance id: who joins with that and without a member id takes its place, in a stable group without a rebalance, and the
 * former one is fenced. Its client id stays there, and the answer names the leader as it was before.
 */
export class Group {
  readonly id: string;
  readonly #onEvent: (event: string) => void;
  readonly #delay: number;
  readonly #members = new Map<string, Member>();
  /** Ids that were handed out to members that have to join once more with them. */
  readonly #announced = new Map<string, NodeJS.Timeout>();
  #persisted: Persisted = { generation: 0, leader: "", protocol: "", members: [] };
  #rebalance: NodeJS.Timeout | undefined;
  #drawn = 0;
  #leader = "";
  #protocol = "";
  state: GroupState = "Empty";
  generation = 0;
  /** Whether a member came by the consumer protocol of KIP-848: then brokers do not describe it as a classic group any more. */
  isConsumer = false;

  /** `delay`: milliseconds for which a group that was empty waits for more members. */
  constructor(id: string, delay: number, onEvent: (event: string) => void) {
    this.id = id;
    this.#delay = delay;
    this.#onEvent = onEvent;
  }

  get members(): readonly (JoinRequest & { assignment: Buffer })[] {
    return [...this.#members.values()];
  }

  get protocol(): string {
    return this.#protocol;
  }

  join(request: JoinRequest): Promise<JoinAnswer> {
    const { memberId, instanceId } = request;
    const member = this.#members.get(memberId);
    if (memberId === "" && instanceId === undefined) return Promise.resolve(this.#announce(request));
    const code = memberId === "" || this.#announced.has(memberId) ? codes.NONE : this.#codeOf(request);
    if (code !== codes.NONE) return Promise.resolve(refused(code));
    if (!this.#isCompatible(request)) return Promise.resolve(refused(codes.INCONSISTENT_GROUP_PROTOCOL));
    if (memberId === "") return this.#joinByInstance({ ...request, memberId: this.#drawId(instanceId!) });
    return member === undefined ? this.#admit(request) : this.#rejoin(member, request);
  }

  sync(as: MemberIdentity, assignments: ReadonlyMap<string, Buffer>): Promise<SyncAnswer> {
    const { memberId } = as;
    const member = this.#members.get(memberId);
    const code = this.#codeIn(as);
    if (member === undefined || code !== codes.NONE) return Promise.resolve(notAssigned(code));
    if (this.state === "PreparingRebalance") return Promise.resolve(notAssigned(codes.REBALANCE_IN_PROGRESS));
    this.#touch(member);
    if (this.state === "Stable") return Promise.resolve({ code: codes.NONE, assignment: member.assignment });
    return new Promise((resolve) => {
      member.syncs = resolve;
      clearTimeout(member.session);
      if (memberId === this.#leader) this.#assign(assignments);
    });
  }

  heartbeat(as: MemberIdentity): number {
    const code = this.#codeIn(as);
    if (code !== codes.NONE) return code;
    this.#touch(this.#members.get(as.memberId)!);
    return this.state === "PreparingRebalance" ? codes.REBALANCE_IN_PROGRESS : codes.NONE;
  }

  /** With an instance id and without a member id: whoever has it. */
  leave(memberId: string, instanceId?: string): number {
    if (this.#forgetAnnounced(memberId)) return codes.NONE;
    const id = memberId === "" && instanceId !== undefined ? this.#ofInstance(instanceId)?.memberId : memberId;
    const code = this.#codeOf({ memberId: id ?? "", instanceId });
    if (code !== codes.NONE) return code;
    this.#onEvent("member left");
    this.#remove(id!, codes.UNKNOWN_MEMBER_ID);
    return codes.NONE;
  }

  /** An operator removes a member; it hears so when it is heard next. */
  kick(memberId: string): void {
    this.#onEvent("member kicked");
    this.#remove(memberId, codes.UNKNOWN_MEMBER_ID);
  }

  /** Whether someone may commit offsets: a member of this generation, or anyone without a generation while it is empty. */
  mayCommit(as: MemberIdentity): number {
    if (as.generation < 0 && as.memberId === "") return this.state === "Empty" ? codes.NONE : codes.UNKNOWN_MEMBER_ID;
    const code = this.#codeIn(as);
    if (code !== codes.NONE) return code;
    if (this.state === "CompletingRebalance") return codes.REBALANCE_IN_PROGRESS;
    this.#touch(this.#members.get(as.memberId)!);
    return codes.NONE;
  }

  /** Another broker coordinates from now on: it knows what was persisted, and who waits here hears `code`. */
  reload(code: number): void {
    this.end(code);
    const { generation, leader, protocol, members } = this.#persisted;
    [this.generation, this.#leader, this.#protocol] = [generation, leader, protocol];
    this.state = members.length === 0 ? "Empty" : "Stable";
    for (const of of members) {
      const member: Member = { ...of };
      this.#members.set(of.memberId, member);
      this.#touch(member);
    }
  }

  /** Answers all that waits, and ends all timers. */
  end(code: number): void {
    clearTimeout(this.#rebalance);
    for (const timer of this.#announced.values()) clearTimeout(timer);
    this.#announced.clear();
    for (const member of this.#members.values()) this.#release(member, code);
    this.#members.clear();
  }

  #codeIn(as: MemberIdentity): number {
    const code = this.#codeOf(as);
    if (code !== codes.NONE) return code;
    return as.generation === this.generation ? codes.NONE : codes.ILLEGAL_GENERATION;
  }

  #codeOf({ memberId, instanceId }: Pick<MemberIdentity, "memberId" | "instanceId">): number {
    const holder = instanceId === undefined ? undefined : this.#ofInstance(instanceId);
    if (holder !== undefined && holder.memberId !== memberId) return codes.FENCED_INSTANCE_ID;
    const isThere = instanceId === undefined ? this.#members.has(memberId) : holder !== undefined;
    return isThere ? codes.NONE : codes.UNKNOWN_MEMBER_ID;
  }

  #ofInstance(instanceId: string): Member | undefined {
    return [...this.#members.values()].find((member) => member.instanceId === instanceId);
  }

  #drawId(name: string): string {
    this.#drawn += 1;
    return `${name}-${String(this.#drawn).padStart(8, "0")}`;
  }

  #isCompatible({ memberId, protocolType, protocols }: JoinRequest): boolean {
    return [...this.#members.values()].every(
      (other) =>
        other.memberId === memberId ||
        (other.protocolType === protocolType &&
          other.protocols.some(({ name }) => protocols.some((own) => own.name === name))),
    );
  }

  #announce({ clientId, sessionTimeout }: JoinRequest): JoinAnswer {
    const memberId = this.#drawId(clientId);
    const timer = setTimeout(() => this.#forgetAnnounced(memberId), sessionTimeout);
    this.#announced.set(memberId, timer);
    return { ...refused(codes.MEMBER_ID_REQUIRED), memberId };
  }

  #forgetAnnounced(memberId: string): boolean {
    clearTimeout(this.#announced.get(memberId));
    const isThere = this.#announced.delete(memberId);
    if (isThere) this.#completeIfAllJoined();
    return isThere;
  }

  #admit(request: JoinRequest): Promise<JoinAnswer> {
    clearTimeout(this.#announced.get(request.memberId));
    this.#announced.delete(request.memberId);
    const member: Member = { ...request, assignment: nothing };
    this.#members.set(request.memberId, member);
    this.#onEvent("member joined");
    return this.#wait(member);
  }

  #joinByInstance(request: JoinRequest): Promise<JoinAnswer> {
    const former = this.#ofInstance(request.instanceId!);
    return former === undefined ? this.#admit(request) : this.#replace(former, request);
  }

  #replace(former: Member, request: JoinRequest): Promise<JoinAnswer> {
    this.#onEvent("member replaced");
    const leader = this.#leader;
    this.#release(former, codes.FENCED_INSTANCE_ID);
    this.#members.delete(former.memberId);
    const member: Member = { ...former, ...request, clientId: former.clientId };
    this.#members.set(member.memberId, member);
    if (leader === former.memberId) this.#leader = member.memberId;
    if (this.state !== "Stable" || commonProtocol(this.members) !== this.#protocol) return this.#wait(member);
    this.#persist();
    this.#touch(member);
    return Promise.resolve({ ...this.#joined(member), leader, members: [] });
  }

  #rejoin(member: Member, request: JoinRequest): Promise<JoinAnswer> {
    const isSame = sameProtocols(member, request);
    Object.assign(member, { ...request, clientId: member.clientId });
    const isLeader = member.memberId === this.#leader;
    if (isSame && (this.state === "CompletingRebalance" || (this.state === "Stable" && !isLeader))) {
      this.#touch(member);
      return Promise.resolve(this.#joined(member));
    }
    return this.#wait(member);
  }

  /** Its join is answered when the rebalance completes; there is one from now on. */
  #wait(member: Member): Promise<JoinAnswer> {
    return new Promise((resolve) => {
      // A join that waited here is one whose connection is gone.
      member.joins = resolve;
      clearTimeout(member.session);
      if (this.state === "PreparingRebalance") this.#completeIfAllJoined();
      else this.#prepare();
    });
  }

  #prepare(): void {
    this.#onEvent("rebalance");
    const wasEmpty = this.state === "Empty";
    for (const member of this.#members.values()) this.#answerSync(member, notAssigned(codes.REBALANCE_IN_PROGRESS));
    this.state = "PreparingRebalance";
    clearTimeout(this.#rebalance);
    this.#rebalance = setTimeout(() => this.#complete(), wasEmpty ? this.#delay : this.#longest);
    if (!wasEmpty) this.#completeIfAllJoined();
  }

  /** How long a rebalance may take, in milliseconds. */
  get #longest(): number {
    return Math.max(0, ...this.members.map(({ rebalanceTimeout }) => rebalanceTimeout));
  }

  #completeIfAllJoined(): void {
    if (this.state !== "PreparingRebalance" || this.#announced.size > 0) return;
    if ([...this.#members.values()].every(({ joins }) => joins !== undefined)) this.#complete();
  }

  #complete(): void {
    clearTimeout(this.#rebalance);
    for (const { memberId, instanceId, joins, session } of this.#members.values()) {
      // A static one has until its session is over.
      if (joins !== undefined || instanceId !== undefined) continue;
      clearTimeout(session);
      this.#onEvent("member too late for a rebalance");
      this.#members.delete(memberId);
    }
    const [first] = [...this.#members.values()].filter(({ joins }) => joins !== undefined);
    if (first === undefined && this.#members.size > 0) {
      this.#rebalance = setTimeout(() => this.#complete(), this.#longest);
      return;
    }
    this.generation += 1;
    if (first === undefined) {
      [this.state, this.#leader, this.#protocol] = ["Empty", "", ""];
      this.#persist();
      return;
    }
    this.state = "CompletingRebalance";
    if (this.#members.get(this.#leader)?.joins === undefined) this.#leader = first.memberId;
    this.#protocol = commonProtocol(this.members);
    for (const member of this.#members.values()) {
      const { joins } = member;
      if (joins === undefined) continue;
      member.joins = undefined;
      member.assignment = nothing;
      this.#touch(member);
      joins(this.#joined(member));
    }
    this.#rebalance = setTimeout(() => this.#expelWithoutSync(), this.#longest);
  }

  #expelWithoutSync(): void {
    if (this.state !== "CompletingRebalance") return;
    const late = [...this.#members.values()].filter(({ syncs }) => syncs === undefined);
    for (const { memberId } of late) this.#remove(memberId, codes.UNKNOWN_MEMBER_ID);
  }

  #joined({ memberId }: Member): JoinAnswer {
    const members = this.members.map((one) => {
      const chosen = one.protocols.find(({ name }) => name === this.#protocol);
      return { memberId: one.memberId, instanceId: one.instanceId, metadata: chosen?.metadata ?? nothing };
    });
    const [generation, protocol, leader] = [this.generation, this.#protocol, this.#leader];
    return { code: codes.NONE, memberId, generation, protocol, leader, members: memberId === leader ? members : [] };
  }

  #assign(assignments: ReadonlyMap<string, Buffer>): void {
    clearTimeout(this.#rebalance);
    this.state = "Stable";
    for (const member of this.#members.values()) {
      member.assignment = assignments.get(member.memberId) ?? nothing;
      this.#answerSync(member, { code: codes.NONE, assignment: member.assignment });
    }
    this.#persist();
  }

  #answerSync(member: Member, answer: SyncAnswer): void {
    const { syncs } = member;
    if (syncs === undefined) return;
    member.syncs = undefined;
    this.#touch(member);
    syncs(answer);
  }

  #persist(): void {
    const members = this.members.map(
      ({ memberId, instanceId, clientId, sessionTimeout, rebalanceTimeout, ...rest }) => {
        const { protocolType, protocols, assignment } = rest;
        return {
          memberId,
          instanceId,
          clientId,
          sessionTimeout,
          rebalanceTimeout,
          protocolType,
          protocols,
          assignment,
        };
      },
    );
    this.#persisted = { generation: this.generation, leader: this.#leader, protocol: this.#protocol, members };
  }

  #touch(member: Member): void {
    clearTimeout(member.session);
    if (member.joins !== undefined || member.syncs !== undefined) return;
    member.session = setTimeout(() => {
      this.#onEvent("member expired");
      this.#remove(member.memberId, codes.UNKNOWN_MEMBER_ID);
    }, member.sessionTimeout);
  }

  #remove(memberId: string, code: number): void {
    const member = this.#members.get(memberId);
    if (member === undefined) return;
    this.#members.delete(memberId);
    this.#release(member, code);
    if (this.#leader === memberId) this.#leader = this.members[0]?.memberId ?? "";
    if (this.state === "PreparingRebalance") this.#completeIfAllJoined();
    else this.#prepare();
  }

  #release(member: Member, code: number): void {
    clearTimeout(member.session);
    member.joins?.(refused(code));
    member.syncs?.(notAssigned(code));
    [member.joins, member.syncs] = [undefined, undefined];
  }
}
