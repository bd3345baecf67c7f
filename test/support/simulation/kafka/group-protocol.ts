/** As what a member asks: a static one has an instance id. */
export interface MemberIdentity {
  memberId: string;
  instanceId?: string | undefined;
  generation: number;
}

export interface JoinRequest {
  memberId: string;
  /** Of a static member. */
  instanceId?: string | undefined;
  clientId: string;
  /** Milliseconds. */
  sessionTimeout: number;
  rebalanceTimeout: number;
  protocolType: string;
  /** Assignors that the member offers, the best one first, with what it subscribes to. */
  protocols: readonly { name: string; metadata: Buffer }[];
}

export interface JoinAnswer {
  code: number;
  memberId: string;
  generation: number;
  protocol: string;
  leader: string;
  /** All of them for the leader, who assigns; none for others. */
  members: readonly { memberId: string; instanceId?: string | undefined; metadata: Buffer }[];
}

export interface SyncAnswer {
  code: number;
  assignment: Buffer;
}

export const nothing = Buffer.alloc(0);

export const notAssigned = (code: number): SyncAnswer => ({ code, assignment: nothing });

export function refused(code: number): JoinAnswer {
  return { code, memberId: "", generation: -1, protocol: "", leader: "", members: [] };
}

export function sameProtocols(one: JoinRequest, other: JoinRequest): boolean {
  return (
    one.protocols.length === other.protocols.length &&
    one.protocols.every(({ name, metadata }, at) => {
      const own = other.protocols[at]!;
      return own.name === name && own.metadata.equals(metadata);
    })
  );
}

/** The first that all offer, in the order of the first member. */
export function commonProtocol(members: readonly JoinRequest[]): string {
  const [first, ...others] = members;
  const isOffered = (name: string): boolean =>
    others.every(({ protocols }) => protocols.some((one) => one.name === name));
  return first!.protocols.find(({ name }) => isOffered(name))!.name;
}
