import type { ThrottlingBroker } from "../../../core/counters.ts";
import { longestThrottle } from "./kafkajs-patches.ts";

/** Of this time that has passed last, a quota that takes this part is told, in milliseconds. */
const [lately, considerable] = [60_000, 15_000];
/** So many brokers are told. */
const mostTold = 20;

/** From when until when a broker keeps its client waiting, by the monotonic clock in milliseconds. */
interface Wait {
  from: number;
  until: number;
}

/** How long client quotas have kept this client from reading. */
export class Throttling {
  /** By the number of the node, in order and apart from each other. */
  readonly #waits = new Map<number, Wait[]>();
  #untold = 0;

  /** A broker has answered that it keeps its client waiting from now on, or has kept it until now, for so many milliseconds. */
  answered(node: number, { throttleTime, clientSideThrottleTime }: Throttled): void {
    if (throttleTime <= 0) return;
    const now = performance.now();
    const time = Math.min(throttleTime, longestThrottle);
    const from = clientSideThrottleTime > 0 ? now : now - time;
    const waits = (this.#waits.get(node) ?? []).filter(({ until }) => until > now - lately);
    const wait = { from: Math.max(from, waits.at(-1)?.until ?? -Infinity), until: from + time };
    if (wait.until > wait.from) {
      waits.push(wait);
      this.#untold += wait.until - wait.from;
    }
    this.#waits.set(node, waits);
  }

  /** The seconds of all brokers that were not asked for yet. */
  taken(): number {
    const seconds = this.#untold / 1000;
    this.#untold = 0;
    return seconds;
  }

  /** The brokers that have kept the client waiting for a considerable part of the last minute, those that did so most first. */
  get brokers(): ThrottlingBroker[] {
    const now = performance.now();
    const lasted = ({ from, until }: Wait): number => Math.max(0, Math.min(until, now) - Math.max(from, now - lately));
    const found = Array.from(this.#waits, ([broker, waits]) => {
      return { broker, milliseconds: waits.reduce((sum, wait) => sum + lasted(wait), 0) };
    });
    const long = found.filter(({ milliseconds }) => milliseconds >= considerable);
    const told = long.toSorted((a, b) => b.milliseconds - a.milliseconds).slice(0, mostTold);
    return told.map(({ broker, milliseconds }) => ({ broker, seconds: Math.round(milliseconds / 1000) }));
  }
}

/** What an answer says of a quota, in milliseconds: see `FetchResponse`. */
interface Throttled {
  throttleTime: number;
  clientSideThrottleTime: number;
}
