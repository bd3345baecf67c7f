import { Timezone } from "./zones.ts";

const PER_SECOND = 1_000_000_000n;

/** A span of time in nanoseconds; prints as `1h30m0s`. */
export class Duration {
  readonly nanoseconds: bigint;

  constructor(nanoseconds: bigint) {
    this.nanoseconds = BigInt.asIntN(64, nanoseconds);
  }

  get seconds(): number {
    return Number(this.nanoseconds) / 1e9;
  }

  toString(): string {
    const size = this.nanoseconds < 0n ? -this.nanoseconds : this.nanoseconds;
    const sign = this.nanoseconds < 0n ? "-" : "";
    if (size === 0n) return "0s";
    if (size < 1_000n) return `${sign}${size}ns`;
    if (size < 1_000_000n) return `${sign}${decimal(size, 1_000n)}µs`;
    if (size < PER_SECOND) return `${sign}${decimal(size, 1_000_000n)}ms`;
    const minutes = size / (60n * PER_SECOND);
    const seconds = `${decimal(size % (60n * PER_SECOND), PER_SECOND)}s`;
    if (minutes === 0n) return sign + seconds;
    const hours = minutes / 60n;
    return `${sign}${hours === 0n ? "" : `${hours}h`}${minutes % 60n}m${seconds}`;
  }
}

function decimal(value: bigint, unit: bigint): string {
  const fraction = (value % unit)
    .toString()
    .padStart(unit.toString().length - 1, "0")
    .replace(/0+$/, "");
  return `${value / unit}${fraction === "" ? "" : `.${fraction}`}`;
}

/** A moment, with its time zone for printing. */
export class Time {
  /** Since the epoch. */
  readonly nanoseconds: bigint;
  readonly zone: Timezone;

  constructor(nanoseconds: bigint, zone: Timezone = Timezone.utc) {
    this.nanoseconds = nanoseconds;
    this.zone = zone;
  }

  static fromMilliseconds(milliseconds: number): Time {
    return new Time(BigInt(Math.trunc(milliseconds)) * 1_000_000n);
  }

  /** Whole seconds since the epoch, rounded down. */
  get unix(): number {
    const seconds = this.nanoseconds / PER_SECOND;
    return Number(this.nanoseconds % PER_SECOND < 0n ? seconds - 1n : seconds);
  }

  /** Nanoseconds within the second. */
  get fraction(): number {
    return Number(((this.nanoseconds % PER_SECOND) + PER_SECOND) % PER_SECOND);
  }

  /** The local time of the zone, as a date whose UTC fields hold it. */
  get wall(): Date {
    return new Date((this.unix + this.zone.offset(this.unix)) * 1000);
  }
}
