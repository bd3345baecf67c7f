/** Refused requests that an address may make at once. */
const burst = 20;

/** Milliseconds after which it may make one more. */
const refill = 3000;

/** Addresses that are remembered; then the one that was refused longest ago is forgotten. */
const remembered = 1024;

/** Refused requests by the address that they came from, so that nobody can try secrets, or keep us reading, for long. */
export class Failures {
  /** The time at which everything is forgiven, by address. */
  readonly #forgiven = new Map<string, number>();

  /** Milliseconds until a request of this address is heard again; 0 where it is heard now. */
  wait(address: string | undefined, now: number): number {
    const forgiven = this.#forgiven.get(networkOf(address)) ?? 0;
    return Math.max(0, forgiven - now - (burst - 1) * refill);
  }

  add(address: string | undefined, now: number): void {
    const network = networkOf(address);
    const forgiven = Math.min(now + burst * refill, Math.max(now, this.#forgiven.get(network) ?? 0) + refill);
    this.#forgiven.delete(network);
    this.#forgiven.set(network, forgiven);
    const [oldest] = this.#forgiven.keys();
    if (this.#forgiven.size > remembered && oldest !== undefined) this.#forgiven.delete(oldest);
  }
}

/** Of an IPv6 address the first 64 bits: everybody has that many to choose from. */
function networkOf(address = ""): string {
  if (!address.includes(":") || address.includes(".")) return address;
  const [head = ""] = address.split("::");
  const groups = head.split(":").map((group) => group || "0");
  return [...groups, "0", "0", "0"].slice(0, 4).join(":");
}
