import { lookup, type LookupAddress, type LookupOptions } from "node:dns";
import { BlockList, isIP, type LookupFunction } from "node:net";
import { bracketed, readHost, shownAddress } from "../../schemas/addresses/host.ts";
import { type HostPattern, matchesHost, readHostPattern } from "./host-pattern.ts";

/** Which servers pipelines may connect to, as plain data. */
export interface TargetRules {
  /**
   * Names, in which `*` stands for any characters, addresses and ranges such as `10.0.0.0/8`; a name or an address may
   * have a port. Absent: every host.
   */
  allowed?: readonly string[];
  /** Refuses addresses of this machine and of private networks that `allowed` does not name by address or range. */
  deniesPrivate?: boolean;
}

/** The code of a TargetRefused, which clients keep where they wrap errors. */
export const targetNotAllowed = "TARGET_NOT_ALLOWED";

/** A connection that the operator does not allow. Nothing was sent. */
export class TargetRefused extends Error {
  override readonly name = "TargetRefused";
  readonly code = targetNotAllowed;
}

/** One entry of `allowed`. */
interface Entry extends HostPattern {
  /** Of addresses; undefined for a name. */
  range: BlockList | undefined;
  /** It is a range within those that are no targets, so it was meant. */
  isMeant: boolean;
}

/** Addresses that are no target of any pipeline: link-local ones, and where clouds give machines their credentials. */
const neverTargets = withTranslated([
  "169.254.0.0/16",
  "fe80::/10",
  "100.100.100.200/32",
  "168.63.129.16/32",
  "192.0.0.192/32",
  "fd00:ec2::254/128",
  "fd20:ce::254/128",
]);

/** This machine, and networks and groups that are not reached over the internet. */
const privateNetworks = withTranslated([
  "0.0.0.0/8",
  "127.0.0.0/8",
  "10.0.0.0/8",
  "172.16.0.0/12",
  "192.168.0.0/16",
  "100.64.0.0/10",
  "198.18.0.0/15",
  "224.0.0.0/4",
  "240.0.0.0/4",
  "::/127",
  "fc00::/7",
  "fec0::/10",
  "ff00::/8",
]);

/** Whether an address is of this machine, this link or a private network. */
export function isNear(address: string): boolean {
  return holds(privateNetworks, address) || holds(neverTargets, address);
}

/**
 * Decides which servers pipelines connect to, at the moment of connecting and by the address that is connected to: a
 * name may have another address a moment later.
 */
export class TargetPolicy {
  readonly #entries: readonly Entry[] | undefined;
  readonly #deniesPrivate: boolean;
  readonly #resolve: typeof lookup;

  /** `resolve` finds the addresses of names; by default the system does. Throws an Error for an entry that is none. */
  constructor({ allowed, deniesPrivate = false }: TargetRules = {}, resolve: typeof lookup = lookup) {
    this.#entries = allowed?.map(entryOf);
    this.#deniesPrivate = deniesPrivate;
    this.#resolve = resolve;
  }

  /**
   * Returns the host to connect to, as it was read and checked. Throws TargetRefused for one that is refused whatever its
   * address is, for an address that is, and for a text that is no host.
   */
  check(text: string, port: number): string {
    const host = readHost(text);
    const reason = host === undefined ? notRead(text) : this.#refusalOf(host, port);
    if (host === undefined || reason !== undefined) throw new TargetRefused(reason);
    return host;
  }

  /** Finds the addresses of a host that was checked for a socket, and keeps those that may be connected to. */
  lookupFor(port: number): LookupFunction {
    return (host, options, callback) => {
      const all: LookupOptions & { all: true } = { ...options, all: true };
      this.#resolve(host, all, (error, found) => {
        const allowed = error === null ? found.filter(({ address }) => this.#allows(host, port, address)) : [];
        const [first] = allowed;
        const refused = error ?? (found.length === 0 ? null : this.#refused(host, port, found[0]!));
        if (first === undefined) callback(refused ?? new Error(`host ${host} has no address`), "", 0);
        else if (options.all === true) callback(null, allowed);
        else callback(null, first.address, first.family);
      });
    };
  }

  #allows(host: string, port: number, address: string): boolean {
    return this.#refusal(host, port, address) === undefined;
  }

  #refused(host: string, port: number, { address }: LookupAddress): TargetRefused {
    return new TargetRefused(this.#refusal(host, port, address));
  }

  /** A name that only its address could allow is looked up first. */
  #refusalOf(host: string, port: number): string | undefined {
    if (isIP(host) !== 0) return this.#refusal(host, port, host);
    const allowed = this.#entries?.some((entry) =>
      entry.range === undefined ? is(entry, host, port) : isOfPort(entry, port),
    );
    return allowed === false
      ? `host ${host} is not in targets: ${this.#wayOut(`${bracketed(host)}:${port}`)}`
      : undefined;
  }

  #refusal(name: string, port: number, address: string): string | undefined {
    const entries = this.#entries?.filter((entry) => isOfPort(entry, port));
    const named = entries?.filter(({ range }) => range !== undefined && holds(range, address)) ?? [];
    const what = name === address ? `host ${name}` : `host ${name} has the address ${address}, which`;
    if (holds(neverTargets, address)) {
      if (named.some(({ isMeant }) => isMeant)) return undefined;
      return `${what} is link-local, or where a cloud gives credentials to machines, and no target: ${this.#wayOut(address)}`;
    }
    if (named.length > 0) return undefined;
    if (this.#deniesPrivate && holds(privateNetworks, address)) {
      return `${what} is of this machine or a private network, which private_targets denies: ${this.#wayOut(address)}`;
    }
    if (entries === undefined || entries.some((entry) => is(entry, name, port))) return undefined;
    return `host ${name} is not in targets: ${this.#wayOut(`${bracketed(name)}:${port}`)}`;
  }

  /** Names the line that would allow it. */
  #wayOut(entry: string): string {
    return this.#entries === undefined
      ? `an operator allows it by the line targets: "*, ${entry}" in sluice.yaml`
      : `an operator allows it by adding ${entry} to targets in sluice.yaml`;
  }
}

/** What is wrong with an entry of the rules; undefined where nothing is. */
export function problemOfTargets({ allowed = [] }: TargetRules): string | undefined {
  try {
    allowed.forEach(entryOf);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/** Throws an Error for a text that is neither a name nor an address nor a range. */
function entryOf(text: string): Entry {
  const [network = "", prefix] = text.split("/");
  if (prefix === undefined) {
    const named = readHostPattern(text);
    if (isIP(named.pattern) === 0) return { ...named, range: undefined, isMeant: false };
    return { ...named, range: listOf([named.pattern]), isMeant: holds(neverTargets, named.pattern) };
  }
  const family = isIP(network);
  const isRange = family !== 0 && /^\d{1,3}$/.test(prefix) && Number(prefix) <= (family === 6 ? 128 : 32);
  if (!isRange) throw new Error(`expected a range such as 10.0.0.0/8, found "${text}"`);
  return { pattern: text, port: undefined, range: listOf([text]), isMeant: holds(neverTargets, network) };
}

function notRead(text: string): string {
  return `expected a host name or an address to connect to, found ${shownAddress(text)}`;
}

function isOfPort({ port: wanted }: Entry, port: number): boolean {
  return wanted === undefined || wanted === port;
}

/** Whether a name, or an address as it is written, matches the pattern of an entry. */
function is(entry: Entry, host: string, port: number): boolean {
  return entry.range === undefined && matchesHost(entry, host, port);
}

/** A list of ranges, in which an IPv4 range also stands for the IPv6 addresses that NAT64, 6to4 and older mappings lead there. */
function withTranslated(ranges: readonly string[]): BlockList {
  const translated = ranges.flatMap((text) => {
    const [network = "", prefix = ""] = text.split("/");
    if (isIP(network) !== 4) return [];
    const [a = 0, b = 0, c = 0, d = 0] = network.split(".").map(Number);
    const [high, low] = [a * 256 + b, c * 256 + d].map((part) => part.toString(16));
    return [
      `64:ff9b::${high}:${low}/${96 + Number(prefix)}`,
      `64:ff9b:1::${high}:${low}/${96 + Number(prefix)}`,
      `2002:${high}:${low}::/${16 + Number(prefix)}`,
      `::${high}:${low}/${96 + Number(prefix)}`,
      `::ffff:0:${high}:${low}/${96 + Number(prefix)}`,
    ];
  });
  return listOf([...ranges, ...translated]);
}

/** A list of ranges, and of addresses without a prefix. */
function listOf(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const text of ranges) {
    const [network = "", prefix] = text.split("/");
    const family = isIP(network) === 6 ? "ipv6" : "ipv4";
    list.addSubnet(network, prefix === undefined ? (family === "ipv6" ? 128 : 32) : Number(prefix), family);
  }
  return list;
}

/** An IPv4 address within an IPv6 one counts as that address. */
function holds(list: BlockList, address: string): boolean {
  const bareAddress = address.replace(/%.*$/, "");
  return list.check(bareAddress, isIP(bareAddress) === 6 ? "ipv6" : "ipv4");
}
